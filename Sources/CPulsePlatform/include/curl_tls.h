// SPDX-License-Identifier: MIT
//
// The few functions of OpenSSL that pinning and uploads need, from the libssl and libcrypto that libcurl has loaded.

#ifndef PULSE_CURL_TLS_H
#define PULSE_CURL_TLS_H

#include <stdbool.h>

#include "curl_abi.h"

/// Whether libcurl's TLS is an OpenSSL whose verified chain can be read.
bool pulse_tls_can_pin(void);

/// The state of unread bytes in the TLS of a transfer's connection.
enum pulse_tls_state {
    /// No bytes in the TLS; there may be some in the socket.
    PULSE_TLS_NOTHING_PENDING,
    /// Bytes are decrypted and unread.
    PULSE_TLS_PENDING,
    /// HTTP/2, where the server may send frames at any time, which do not pass for a response.
    PULSE_TLS_MULTIPLEXED,
};

enum pulse_tls_state pulse_tls_state(PulseCURL *easy);

/// The `SSL *` of the transfer's connection; NULL without TLS, or with another TLS library.
void *pulse_tls_session(PulseCURL *easy);

/// Makes the transfer's connection survive a failed write: later writes are discarded, and reads continue. A server
/// that refuses a request closes the connection with unread bytes. That fails the next write although the response is
/// readable (RFC 9112, section 9.5). No effect without OpenSSL.
void pulse_tls_outlast_writing(PulseCURL *easy);

/// Whether a write has failed on the transfer's connection, so that its bytes are discarded.
bool pulse_tls_has_outlasted_writing(PulseCURL *easy);

enum { PULSE_KEY_HASH_LENGTH = 32 };

/// The SHA-256 of the SubjectPublicKeyInfo of each certificate in the verified chain of this transfer's connection,
/// leaf first.
///
/// Returns the number of hashes; 0 if the peer was not verified, or in a resumed session, which has no such chain. At
/// most `capacity` are written.
int pulse_tls_verified_key_hashes(PulseCURL *easy, uint8_t *hashes, int capacity);

#endif
