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

/// The authorities that a context trusts, the argument of CURLOPT_SSL_CTX_FUNCTION. They are for other contexts with the
/// same policy. NULL without OpenSSL. Release them after use.
void *pulse_tls_trust_of(void *context);

/// Makes a context trust these authorities in place of its own. False without OpenSSL or memory: nothing has changed.
bool pulse_tls_trust(void *context, void *authorities);

void pulse_tls_trust_release(void *authorities);

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
