// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "hash.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tls_library.h"

// openssl/evp.h, openssl/hmac.h, openssl/crypto.h of OpenSSL 1.1 and later; result, name, parameters.
#define PULSE_HASH_FUNCTIONS(X) \
    X(const void *, EVP_sha256, (void)) \
    X(const void *, EVP_sha1, (void)) \
    X(const void *, EVP_md5, (void)) \
    X(void *, EVP_MD_CTX_new, (void)) \
    X(void, EVP_MD_CTX_free, (void *)) \
    X(int, EVP_DigestInit_ex, (void *, const void *, void *)) \
    X(int, EVP_DigestUpdate, (void *, const void *, size_t)) \
    X(int, EVP_DigestFinal_ex, (void *, unsigned char *, unsigned int *)) \
    X(void *, HMAC_CTX_new, (void)) \
    X(void, HMAC_CTX_free, (void *)) \
    X(int, HMAC_CTX_copy, (void *, void *)) \
    X(int, HMAC_Init_ex, (void *, const void *, int, const void *, void *)) \
    X(int, HMAC_Update, (void *, const unsigned char *, size_t)) \
    X(int, HMAC_Final, (void *, unsigned char *, unsigned int *)) \
    X(int, CRYPTO_memcmp, (const void *, const void *, size_t))

// openssl/evp.h of OpenSSL 3 and later.
#define PULSE_HASH_LATER_FUNCTIONS(X) \
    X(void *, EVP_MD_fetch, (void *, const char *, const char *))

static struct {
#define PULSE_HASH_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_HASH_FUNCTIONS(PULSE_HASH_MEMBER)
    PULSE_HASH_LATER_FUNCTIONS(PULSE_HASH_MEMBER)
#undef PULSE_HASH_MEMBER
} crypto;

static const void *sha256;
static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define PULSE_HASH_RESOLVE(result, name, parameters) \
    *(void **)&crypto.name = pulse_openssl_symbol(#name);
#define PULSE_HASH_REQUIRE(result, name, parameters) \
    if (crypto.name == NULL) return;
    PULSE_HASH_FUNCTIONS(PULSE_HASH_RESOLVE)
    PULSE_HASH_LATER_FUNCTIONS(PULSE_HASH_RESOLVE)
    PULSE_HASH_FUNCTIONS(PULSE_HASH_REQUIRE)
#undef PULSE_HASH_RESOLVE
#undef PULSE_HASH_REQUIRE
    // OpenSSL 3 repeats the lookup at each use of the result of EVP_sha256, which takes longer than a short hash.
    if (crypto.EVP_MD_fetch != NULL) sha256 = crypto.EVP_MD_fetch(NULL, "SHA256", NULL);
    if (sha256 == NULL) sha256 = crypto.EVP_sha256();
    is_loaded = sha256 != NULL;
}

bool pulse_hash_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

// A context is an EVP_MD_CTX that is ready for the next message.
struct pulse_sha256 *pulse_sha256_new(void) {
    void *context = crypto.EVP_MD_CTX_new();
    if (context != NULL && crypto.EVP_DigestInit_ex(context, sha256, NULL) != 1) {
        crypto.EVP_MD_CTX_free(context);
        return NULL;
    }
    return context;
}

bool pulse_sha256_update(struct pulse_sha256 *hasher, const void *bytes, size_t count) {
    return crypto.EVP_DigestUpdate(hasher, bytes, count) == 1;
}

bool pulse_sha256_final(struct pulse_sha256 *hasher, uint8_t hash[PULSE_HASH_LENGTH]) {
    return crypto.EVP_DigestFinal_ex(hasher, hash, NULL) == 1
        && crypto.EVP_DigestInit_ex(hasher, sha256, NULL) == 1;
}

void pulse_sha256_free(struct pulse_sha256 *hasher) { crypto.EVP_MD_CTX_free(hasher); }

// A cached idle context: creating one takes as long as hashing a short message.
static _Atomic(struct pulse_sha256 *) spare;

bool pulse_sha256(const void *bytes, size_t count, uint8_t hash[PULSE_HASH_LENGTH]) {
    struct pulse_sha256 *hasher = atomic_exchange(&spare, NULL);
    if (hasher == NULL) hasher = pulse_sha256_new();
    if (hasher == NULL) return false;
    if (!pulse_sha256_update(hasher, bytes, count) || !pulse_sha256_final(hasher, hash)) {
        pulse_sha256_free(hasher);
        return false;
    }
    hasher = atomic_exchange(&spare, hasher);
    if (hasher != NULL) pulse_sha256_free(hasher);
    return true;
}

static bool digest(const void *function, const void *bytes, size_t count, uint8_t *hash) {
    void *context = function == NULL ? NULL : crypto.EVP_MD_CTX_new();
    if (context == NULL) return false;
    bool is_done = crypto.EVP_DigestInit_ex(context, function, NULL) == 1
        && crypto.EVP_DigestUpdate(context, bytes, count) == 1 && crypto.EVP_DigestFinal_ex(context, hash, NULL) == 1;
    crypto.EVP_MD_CTX_free(context);
    return is_done;
}

bool pulse_sha1(const void *bytes, size_t count, uint8_t hash[PULSE_SHA1_LENGTH]) {
    return digest(crypto.EVP_sha1(), bytes, count, hash);
}

bool pulse_md5(const void *bytes, size_t count, uint8_t hash[PULSE_MD5_LENGTH]) {
    return digest(crypto.EVP_md5(), bytes, count, hash);
}

// Keyed HMAC_CTXs: one that is only copied, and a cached idle one.
struct pulse_hmac_key {
    void *original;
    _Atomic(void *) spare;
};

struct pulse_hmac_key *pulse_hmac_key_new(const void *secret, size_t count) {
    if (count > INT_MAX) return NULL;
    struct pulse_hmac_key *key = calloc(1, sizeof *key);
    if (key == NULL) return NULL;
    key->original = crypto.HMAC_CTX_new();
    // NULL would reuse the previous secret.
    if (key->original == NULL
        || crypto.HMAC_Init_ex(key->original, secret == NULL ? "" : secret, (int)count, sha256, NULL) != 1) {
        pulse_hmac_key_free(key);
        return NULL;
    }
    return key;
}

static void *take_context(struct pulse_hmac_key *key) {
    void *context = atomic_exchange(&key->spare, NULL);
    if (context != NULL) return context;
    context = crypto.HMAC_CTX_new();
    if (context != NULL && crypto.HMAC_CTX_copy(context, key->original) != 1) {
        crypto.HMAC_CTX_free(context);
        return NULL;
    }
    return context;
}

bool pulse_hmac(struct pulse_hmac_key *key, const void *bytes, size_t count, uint8_t code[PULSE_HASH_LENGTH]) {
    void *context = take_context(key);
    if (context == NULL) return false;
    bool is_done = crypto.HMAC_Update(context, bytes, count) == 1 && crypto.HMAC_Final(context, code, NULL) == 1
        && crypto.HMAC_Init_ex(context, NULL, 0, NULL, NULL) == 1;
    if (is_done) context = atomic_exchange(&key->spare, context);
    if (context != NULL) crypto.HMAC_CTX_free(context);
    return is_done;
}

void pulse_hmac_key_free(struct pulse_hmac_key *key) {
    void *unused = atomic_exchange(&key->spare, NULL);
    if (unused != NULL) crypto.HMAC_CTX_free(unused);
    if (key->original != NULL) crypto.HMAC_CTX_free(key->original);
    free(key);
}

bool pulse_hash_equal(const uint8_t left[PULSE_HASH_LENGTH], const uint8_t right[PULSE_HASH_LENGTH]) {
    return crypto.CRYPTO_memcmp(left, right, PULSE_HASH_LENGTH) == 0;
}

#endif
