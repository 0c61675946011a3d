// SPDX-License-Identifier: MIT
//
// SHA-256, HMAC-SHA256 and MD5 of OpenSSL, from the libcrypto that libcurl has loaded. Thread-safe, as long as only one
// thread at a time uses a `pulse_sha256`.

#ifndef PULSE_HASH_H
#define PULSE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PULSE_HASH_LENGTH = 32, PULSE_MD5_LENGTH = 16 };

/// Whether all functions that are used are there. The functions below may be called only after it has given true.
bool pulse_hash_load(void);

/// SHA-256 (FIPS 180-4) in one go; false without memory.
bool pulse_sha256(const void *bytes, size_t count, uint8_t hash[PULSE_HASH_LENGTH]);

/// MD5 (RFC 1321) in one go; false without memory, or where the library does not do it any more.
bool pulse_md5(const void *bytes, size_t count, uint8_t hash[PULSE_MD5_LENGTH]);

/// SHA-256 piece by piece.
struct pulse_sha256;

/// NULL without memory.
struct pulse_sha256 *pulse_sha256_new(void);
bool pulse_sha256_update(struct pulse_sha256 *hasher, const void *bytes, size_t count);
/// The hash of all bytes so far; afterwards it begins anew.
bool pulse_sha256_final(struct pulse_sha256 *hasher, uint8_t hash[PULSE_HASH_LENGTH]);
void pulse_sha256_free(struct pulse_sha256 *hasher);

/// A secret that HMAC-SHA256 (RFC 2104) has taken in.
struct pulse_hmac_key;

/// NULL without memory, or if the library refuses the secret.
struct pulse_hmac_key *pulse_hmac_key_new(const void *secret, size_t count);
bool pulse_hmac(struct pulse_hmac_key *key, const void *bytes, size_t count, uint8_t code[PULSE_HASH_LENGTH]);
void pulse_hmac_key_free(struct pulse_hmac_key *key);

/// Whether both are equal, in a time that does not depend on where they differ.
bool pulse_hash_equal(const uint8_t left[PULSE_HASH_LENGTH], const uint8_t right[PULSE_HASH_LENGTH]);

#endif
