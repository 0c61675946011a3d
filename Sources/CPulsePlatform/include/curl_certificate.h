// SPDX-License-Identifier: MIT
//
// What a server says about the client's certificate, and whether that can be read, by the OpenSSL that libcurl has
// loaded.

#ifndef PULSE_CURL_CERTIFICATE_H
#define PULSE_CURL_CERTIFICATE_H

#include <stdbool.h>

#include "curl_abi.h"

/// What the TLS of one connection has been told, shared by the connection and those whose requests it carries.
/// libcurl's own errors tell it only if reading fails before writing does.
struct pulse_tls_notes;

/// Begins to take notes for the connection that libcurl is about to secure with `context`, as CURLOPT_SSL_CTX_FUNCTION
/// hands it over. NULL without memory. To be released.
struct pulse_tls_notes *pulse_tls_notes_begin(void *context);

/// The notes of the transfer's connection, NULL if there are none. To be released.
struct pulse_tls_notes *pulse_tls_notes_of(PulseCURL *easy);

void pulse_tls_notes_release(struct pulse_tls_notes *notes);

/// Whether the server has asked for a certificate, and there was none to show.
bool pulse_tls_notes_lack_certificate(const struct pulse_tls_notes *notes);

/// The fatal alert that came last (RFC 8446, section 6); 0 if there was none.
int pulse_tls_notes_alert(const struct pulse_tls_notes *notes);

/// Whether the server has closed TLS with its alert, so that what came before it is whole (RFC 8446, section 6.1).
bool pulse_tls_notes_are_closed(const struct pulse_tls_notes *notes);

/// What is wrong with a certificate and key in PKCS #12; NULL if they can be read, or if there is no OpenSSL to read
/// them.
const char *pulse_tls_certificate_problem(const void *bytes, size_t count, const char *password);

#endif
