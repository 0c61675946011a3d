// SPDX-License-Identifier: MIT
//
// Certificates for tests, made by the libcrypto that libcurl has loaded. Thread-safe.

#ifndef PULSE_TLS_IDENTITY_H
#define PULSE_TLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all functions that are used are there. The function below may be called only after it has given true.
bool pulse_tls_can_generate(void);

/// Bytes for `free`, with a NUL behind them.
struct pulse_tls_text {
    char *bytes;
    size_t count;
};

/// An authority of its own, and what it has issued, each with a key that exists nowhere else.
struct pulse_tls_identity {
    /// The certificate of the authority, in PEM.
    struct pulse_tls_text authority;
    /// The certificate and the key of a server, in PEM.
    struct pulse_tls_text certificate, key;
    /// The certificate and key of a client, in PKCS #12.
    struct pulse_tls_text client;
};

/// Makes an identity.
///
/// - `names`: the server's names, as in the configuration of OpenSSL: `DNS:localhost,IP:127.0.0.1`.
/// - `start` and `end`: the validity, in seconds from now.
/// - `password`: that of the client's PKCS #12.
///
/// Gives false without memory, or for names that are none; nothing is to be freed then.
bool pulse_tls_identity_generate(
    const char *names, long start, long end, const char *password, struct pulse_tls_identity *identity);

#endif
