// SPDX-License-Identifier: MIT
//
// Test certificates, created by the system's libcrypto. Thread-safe.

#ifndef PULSE_TLS_IDENTITY_H
#define PULSE_TLS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present. Call the function below only after it has returned true.
bool pulse_tls_can_generate(void);

/// NUL-terminated bytes; release with `free`.
struct pulse_tls_text {
    char *bytes;
    size_t count;
};

/// A new authority and the certificates that it has issued, each with a key of its own.
struct pulse_tls_identity {
    /// The certificate of the authority, in PEM.
    struct pulse_tls_text authority;
    /// The certificate and the key of a server, in PEM.
    struct pulse_tls_text certificate, key;
    /// The certificate and key of a client, in PKCS #12.
    struct pulse_tls_text client;
};

/// What is wrong, or unusual, with the certificate of a server.
enum pulse_tls_oddity {
    PULSE_TLS_USUAL,
    /// It is issued by an intermediate, whose certificate follows the server's.
    PULSE_TLS_INTERMEDIATE,
    /// As above, and the intermediate may issue for names in `example.com` only.
    PULSE_TLS_CONSTRAINED,
    /// As above, and the intermediate is not an authority.
    PULSE_TLS_NO_AUTHORITY,
    /// Its extended key usage is for clients.
    PULSE_TLS_FOR_CLIENTS,
    /// It is signed with SHA-1.
    PULSE_TLS_SHA1,
    /// It has a 1024-bit RSA key.
    PULSE_TLS_SHORT_KEY,
};

/// Creates an identity.
///
/// - `names`: the server's names, as in the configuration of OpenSSL: `DNS:localhost,IP:127.0.0.1`.
/// - `start` and `end`: the validity, in seconds from now.
/// - `password`: that of the client's PKCS #12.
///
/// Returns false if out of memory or for invalid names; then there is nothing to free.
bool pulse_tls_identity_generate(
    const char *names, long start, long end, const char *password, enum pulse_tls_oddity oddity,
    struct pulse_tls_identity *identity);

#endif
