// SPDX-License-Identifier: MIT
//
// What a server reports about the client's certificate, whether that certificate is readable, and the authorities that
// connections share, through the OpenSSL that libcurl has loaded.

#ifndef PULSE_CURL_CERTIFICATE_H
#define PULSE_CURL_CERTIFICATE_H

#include <stdbool.h>

#include "curl_abi.h"

/// What the TLS of one connection has recorded, shared by the connection and the transfers that it carries. libcurl's
/// own errors include it only if a read fails before a write.
struct pulse_tls_notes;

/// Creates the notes of a connection that libcurl is about to secure with `context`, the argument of
/// CURLOPT_SSL_CTX_FUNCTION. NULL without memory. Release it after use.
struct pulse_tls_notes *pulse_tls_notes_begin(void *context);

/// Where libcurl reads the system's authorities; either may be NULL. False if it does not tell, or without OpenSSL.
bool pulse_tls_system_authorities(const char **file, const char **directory);

/// The authorities of a file and a directory, for connections that share them: libcurl would read them for each, which
/// takes twenty times as long as the rest of a handshake.
struct pulse_tls_authorities;

/// NULL without memory. Free it after use; it may be used by several threads.
struct pulse_tls_authorities *pulse_tls_authorities_create(const char *file, const char *directory);

void pulse_tls_authorities_free(struct pulse_tls_authorities *authorities);

/// Makes a context, the argument of CURLOPT_SSL_CTX_FUNCTION, trust the authorities in place of its own. They are read
/// if the file or the directory has changed since the last time. Returns a CURLcode.
int pulse_tls_trust(void *context, struct pulse_tls_authorities *authorities);

/// How often the file or the directory was found changed, also by this call if it `looks`.
unsigned long pulse_tls_authorities_changes(struct pulse_tls_authorities *authorities, bool looks);

/// The notes of the transfer's connection; NULL if there are none. Release it after use.
struct pulse_tls_notes *pulse_tls_notes_of(PulseCURL *easy);

void pulse_tls_notes_release(struct pulse_tls_notes *notes);

/// Whether the server has requested a certificate and the client had none.
bool pulse_tls_notes_lack_certificate(const struct pulse_tls_notes *notes);

/// The latest fatal alert (RFC 8446, section 6); 0 without one.
int pulse_tls_notes_alert(const struct pulse_tls_notes *notes);

/// Whether the server has sent the TLS close alert, so that all bytes before it are complete (RFC 8446, section 6.1).
bool pulse_tls_notes_are_closed(const struct pulse_tls_notes *notes);

/// What is wrong with a certificate and key in PKCS #12; NULL if they are readable, or without OpenSSL.
const char *pulse_tls_certificate_problem(const void *bytes, size_t count, const char *password);

#endif
