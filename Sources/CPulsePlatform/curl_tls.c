// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_tls.h"

#include <pthread.h>
#include <string.h>

#include "curl_library.h"
#include "curl_table.h"

// openssl/ssl.h, openssl/x509.h, openssl/evp.h, openssl/stack.h, openssl/crypto.h; result, name, parameters.
#define PULSE_TLS_FUNCTIONS(X) \
    X(void *, SSL_get0_verified_chain, (const void *)) \
    X(long, SSL_get_verify_result, (const void *)) \
    X(int, OPENSSL_sk_num, (const void *)) \
    X(void *, OPENSSL_sk_value, (const void *, int)) \
    X(void *, X509_get_X509_PUBKEY, (const void *)) \
    X(int, i2d_X509_PUBKEY, (const void *, unsigned char **)) \
    X(const void *, EVP_sha256, (void)) \
    X(int, EVP_Digest, (const void *, size_t, unsigned char *, unsigned int *, const void *, void *)) \
    X(int, SSL_has_pending, (const void *)) \
    X(void, SSL_get0_alpn_selected, (const void *, const unsigned char **, unsigned int *)) \
    X(void, CRYPTO_free, (void *, const char *, int))

static struct {
#define PULSE_TLS_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_TLS_FUNCTIONS(PULSE_TLS_MEMBER)
#undef PULSE_TLS_MEMBER
} tls;

// openssl/x509_vfy.h: X509_V_OK
enum { VERIFIED = 0 };

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define PULSE_TLS_RESOLVE(result, name, parameters) \
    *(void **)&tls.name = pulse_curl_dependency(#name); \
    if (tls.name == NULL) return;
    PULSE_TLS_FUNCTIONS(PULSE_TLS_RESOLVE)
#undef PULSE_TLS_RESOLVE
    is_loaded = true;
}

bool pulse_tls_can_pin(void) {
    pthread_once(&once, load);
    return is_loaded;
}

static bool hash_key(const void *certificate, uint8_t *hash) {
    unsigned char *encoded = NULL;
    int length = tls.i2d_X509_PUBKEY(tls.X509_get_X509_PUBKEY(certificate), &encoded);
    if (length <= 0 || encoded == NULL) return false;
    bool is_hashed = tls.EVP_Digest(encoded, (size_t)length, hash, NULL, tls.EVP_sha256(), NULL) == 1;
    tls.CRYPTO_free(encoded, __FILE__, __LINE__);
    return is_hashed;
}

void *pulse_tls_session(PulseCURL *easy) {
    struct pulse_curl_tlssessioninfo *session = NULL;
    if (!pulse_tls_can_pin()) return NULL;
    if (pulse_curl.curl_easy_getinfo(easy, PULSE_CURLINFO_TLS_SSL_PTR, &session) != PULSE_CURLE_OK) return NULL;
    return session != NULL && session->backend == PULSE_CURLSSLBACKEND_OPENSSL ? session->internals : NULL;
}

enum pulse_tls_state pulse_tls_state(PulseCURL *easy) {
    const void *session = pulse_tls_session(easy);
    if (session == NULL) return PULSE_TLS_NOTHING_PENDING;
    const unsigned char *protocol = NULL;
    unsigned int length = 0;
    tls.SSL_get0_alpn_selected(session, &protocol, &length);
    if (length == 2 && memcmp(protocol, "h2", 2) == 0) return PULSE_TLS_MULTIPLEXED;
    return tls.SSL_has_pending(session) ? PULSE_TLS_PENDING : PULSE_TLS_NOTHING_PENDING;
}

int pulse_tls_verified_key_hashes(PulseCURL *easy, uint8_t *hashes, int capacity) {
    const void *session = pulse_tls_session(easy);
    if (session == NULL || tls.SSL_get_verify_result(session) != VERIFIED) return 0;
    // Never uses the chain as sent by the peer: anybody can append the pinned certificate to that.
    const void *chain = tls.SSL_get0_verified_chain(session);
    if (chain == NULL) return 0;
    int count = tls.OPENSSL_sk_num(chain);
    if (count > capacity) count = capacity;
    for (int index = 0; index < count; index++) {
        if (!hash_key(tls.OPENSSL_sk_value(chain, index), hashes + index * PULSE_KEY_HASH_LENGTH)) return 0;
    }
    return count < 0 ? 0 : count;
}

#endif
