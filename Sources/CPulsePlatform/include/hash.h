// SPDX-License-Identifier: MIT
//
// SHA-256, HMAC-SHA256, SHA-1 and MD5 of OpenSSL, from the system's libcrypto. Thread-safe, as long as only one
// thread at a time uses a `pulse_sha256`.

#ifndef PULSE_HASH_H
#define PULSE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PULSE_HASH_LENGTH = 32, PULSE_SHA1_LENGTH = 20, PULSE_MD5_LENGTH = 16 };

/// Whether all used functions are present. Call the functions below only after it has returned true.
bool pulse_hash_load(void);

/// One-shot SHA-256 (FIPS 180-4); false if out of memory.
bool pulse_sha256(const void *bytes, size_t count, uint8_t hash[PULSE_HASH_LENGTH]);

/// One-shot SHA-1 (FIPS 180-4); false if out of memory, or if the library no longer supports it.
bool pulse_sha1(const void *bytes, size_t count, uint8_t hash[PULSE_SHA1_LENGTH]);

/// One-shot MD5 (RFC 1321); false if out of memory, or if the library no longer supports it.
bool pulse_md5(const void *bytes, size_t count, uint8_t hash[PULSE_MD5_LENGTH]);

/// Incremental SHA-256.
struct pulse_sha256;

/// NULL if out of memory.
struct pulse_sha256 *pulse_sha256_new(void);
bool pulse_sha256_update(struct pulse_sha256 *hasher, const void *bytes, size_t count);
/// The hash of all bytes so far; resets the state afterwards.
bool pulse_sha256_final(struct pulse_sha256 *hasher, uint8_t hash[PULSE_HASH_LENGTH]);
void pulse_sha256_free(struct pulse_sha256 *hasher);

/// The prepared key of an HMAC-SHA256 (RFC 2104).
struct pulse_hmac_key;

/// NULL if out of memory, or if the library rejects the secret.
struct pulse_hmac_key *pulse_hmac_key_new(const void *secret, size_t count);
bool pulse_hmac(struct pulse_hmac_key *key, const void *bytes, size_t count, uint8_t code[PULSE_HASH_LENGTH]);
void pulse_hmac_key_free(struct pulse_hmac_key *key);

/// Constant-time comparison.
bool pulse_hash_equal(const uint8_t left[PULSE_HASH_LENGTH], const uint8_t right[PULSE_HASH_LENGTH]);

#endif
