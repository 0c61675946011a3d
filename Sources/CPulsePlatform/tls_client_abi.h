// SPDX-License-Identifier: MIT
//
// The functions of OpenSSL that clients use, and the structure of a context.

#ifndef PULSE_TLS_CLIENT_ABI_H
#define PULSE_TLS_CLIENT_ABI_H

#include <pthread.h>

#include "tls_client.h"

// openssl/asn1.h, openssl/bio.h, openssl/crypto.h, openssl/err.h, openssl/evp.h, openssl/pkcs12.h, openssl/ssl.h,
// openssl/stack.h, openssl/x509.h, openssl/x509_vfy.h of OpenSSL 1.1.1 and later; result, name, parameters.
#define PULSE_CLIENT_FUNCTIONS(X) \
    X(const void *, TLS_client_method, (void)) \
    X(void *, SSL_CTX_new, (const void *)) \
    X(void, SSL_CTX_free, (void *)) \
    X(long, SSL_CTX_ctrl, (void *, int, long, void *)) \
    X(unsigned long, SSL_CTX_set_options, (void *, unsigned long)) \
    X(int, SSL_CTX_set_alpn_protos, (void *, const unsigned char *, unsigned int)) \
    X(void, SSL_CTX_set_verify, (void *, int, void *)) \
    X(void, SSL_CTX_set_client_cert_cb, (void *, int (*)(void *, void **, void **))) \
    X(void, SSL_CTX_set_info_callback, (void *, void (*)(const void *, int, int))) \
    X(void, SSL_CTX_sess_set_new_cb, (void *, int (*)(void *, void *))) \
    X(int, SSL_CTX_use_cert_and_key, (void *, void *, void *, void *, int)) \
    X(void *, SSL_new, (void *)) \
    X(void, SSL_free, (void *)) \
    X(long, SSL_ctrl, (void *, int, long, void *)) \
    X(int, SSL_set_ex_data, (void *, int, void *)) \
    X(void *, SSL_get_ex_data, (const void *, int)) \
    X(void, SSL_set_bio, (void *, void *, void *)) \
    X(void *, SSL_get0_param, (void *)) \
    X(int, SSL_set_session, (void *, void *)) \
    X(int, SSL_session_reused, (const void *)) \
    X(void, SSL_set_connect_state, (void *)) \
    X(int, SSL_do_handshake, (void *)) \
    X(int, SSL_is_init_finished, (const void *)) \
    X(int, SSL_read, (void *, void *, int)) \
    X(int, SSL_write, (void *, const void *, int)) \
    X(int, SSL_shutdown, (void *)) \
    X(int, SSL_get_error, (const void *, int)) \
    X(long, SSL_get_verify_result, (const void *)) \
    X(void *, SSL_get0_verified_chain, (const void *)) \
    X(void, SSL_get0_alpn_selected, (const void *, const unsigned char **, unsigned int *)) \
    X(void *, SSL_SESSION_get0_peer, (void *)) \
    X(int, SSL_SESSION_get_protocol_version, (const void *)) \
    X(int, SSL_SESSION_is_resumable, (const void *)) \
    X(int, SSL_SESSION_up_ref, (void *)) \
    X(void, SSL_SESSION_free, (void *)) \
    X(void *, X509_STORE_new, (void)) \
    X(int, X509_STORE_load_locations, (void *, const char *, const char *)) \
    X(int, X509_STORE_add_cert, (void *, void *)) \
    X(int, X509_STORE_up_ref, (void *)) \
    X(void, X509_STORE_free, (void *)) \
    X(const char *, X509_get_default_cert_file, (void)) \
    X(const char *, X509_get_default_cert_dir, (void)) \
    X(int, X509_VERIFY_PARAM_set_flags, (void *, unsigned long)) \
    X(void, X509_VERIFY_PARAM_set_hostflags, (void *, unsigned int)) \
    X(int, X509_VERIFY_PARAM_set1_host, (void *, const char *, size_t)) \
    X(int, X509_VERIFY_PARAM_set1_ip_asc, (void *, const char *)) \
    X(const char *, X509_verify_cert_error_string, (long)) \
    X(void *, d2i_X509, (void **, const unsigned char **, long)) \
    X(void, X509_free, (void *)) \
    X(const void *, X509_get0_notAfter, (const void *)) \
    X(void *, X509_get_X509_PUBKEY, (const void *)) \
    X(int, ASN1_TIME_diff, (int *, int *, const void *, const void *)) \
    X(int, i2d_X509_PUBKEY, (const void *, unsigned char **)) \
    X(int, OPENSSL_sk_num, (const void *)) \
    X(void *, OPENSSL_sk_value, (const void *, int)) \
    X(void, OPENSSL_sk_pop_free, (void *, void (*)(void *))) \
    X(void *, d2i_PKCS12, (void **, const unsigned char **, long)) \
    X(int, PKCS12_parse, (void *, const char *, void **, void **, void **)) \
    X(void, PKCS12_free, (void *)) \
    X(void, EVP_PKEY_free, (void *)) \
    X(const void *, EVP_sha256, (void)) \
    X(int, EVP_Digest, (const void *, size_t, unsigned char *, unsigned int *, const void *, void *)) \
    X(void, CRYPTO_free, (void *, const char *, int)) \
    X(int, BIO_get_new_index, (void)) \
    X(void *, BIO_meth_new, (int, const char *)) \
    X(int, BIO_meth_set_write, (void *, int (*)(void *, const char *, int))) \
    X(int, BIO_meth_set_read, (void *, int (*)(void *, char *, int))) \
    X(int, BIO_meth_set_ctrl, (void *, long (*)(void *, int, long, void *))) \
    X(void *, BIO_new, (const void *)) \
    X(void, BIO_set_init, (void *, int)) \
    X(void, BIO_set_data, (void *, void *)) \
    X(void *, BIO_get_data, (void *)) \
    X(void, BIO_set_flags, (void *, int)) \
    X(void, BIO_clear_flags, (void *, int)) \
    X(unsigned long, ERR_peek_error, (void)) \
    X(const char *, ERR_reason_error_string, (unsigned long)) \
    X(void, ERR_clear_error, (void))

#define PULSE_CLIENT_VALUES(X) \
    X(SSL_CTRL_MODE, 33) \
    X(SSL_CTRL_SET_READ_AHEAD, 41) \
    X(SSL_CTRL_SET_SESS_CACHE_MODE, 44) \
    X(SSL_CTRL_SET_TLSEXT_HOSTNAME, 55) \
    X(SSL_CTRL_CLEAR_MODE, 78) \
    X(SSL_CTRL_SET_VERIFY_CERT_STORE, 106) \
    X(SSL_CTRL_SET_MIN_PROTO_VERSION, 123) \
    X(SSL_MODE_AUTO_RETRY, 0x4) \
    X(SSL_MODE_RELEASE_BUFFERS, 0x10) \
    X(SSL_OP_NO_RENEGOTIATION, 0x40000000) \
    X(SSL_SESS_CACHE_OFF, 0) \
    X(SSL_SESS_CACHE_CLIENT, 0x1) \
    X(SSL_SESS_CACHE_NO_INTERNAL, 0x300) \
    X(SSL_VERIFY_PEER, 1) \
    X(SSL_ERROR_WANT_READ, 2) \
    X(SSL_ERROR_ZERO_RETURN, 6) \
    X(SSL_CB_READ_ALERT, 0x4004) \
    X(SSL3_AL_FATAL, 2) \
    X(TLS1_VERSION, 0x0301) \
    X(TLS1_3_VERSION, 0x0304) \
    X(X509_V_OK, 0) \
    X(X509_V_FLAG_TRUSTED_FIRST, 0x8000) \
    X(X509_V_FLAG_PARTIAL_CHAIN, 0x80000) \
    X(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, 0x4) \
    X(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, 0x20) \
    X(PKCS12_R_MAC_VERIFY_FAILURE, 113) \
    X(BIO_TYPE_SOURCE_SINK, 0x0400) \
    X(BIO_CTRL_FLUSH, 11) \
    X(BIO_FLAGS_READ, 0x01) \
    X(BIO_FLAGS_SHOULD_RETRY, 0x08)

enum {
#define PULSE_CLIENT_VALUE(name, value) PULSE_##name = value,
    PULSE_CLIENT_VALUES(PULSE_CLIENT_VALUE)
#undef PULSE_CLIENT_VALUE
};

struct pulse_tls_client_table {
#define PULSE_CLIENT_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_CLIENT_FUNCTIONS(PULSE_CLIENT_MEMBER)
#undef PULSE_CLIENT_MEMBER
};

extern struct pulse_tls_client_table pulse_tls_client;

// A session that a connection may resume.
struct pulse_tls_ticket {
    // NULL without a session.
    char *host;
    // An `SSL_SESSION *`.
    void *session;
    // Increases from one ticket to the next.
    unsigned long number;
    // When the verdict of its first handshake expires.
    double expiry;
};

enum { PULSE_TLS_TICKETS = 64 };

struct pulse_tls_context {
    // An `SSL_CTX *`.
    void *context;
    // An `X509_STORE *` with the authorities of the settings; NULL for those of the shared store.
    void *authorities;
    struct pulse_tls_store *store;
    bool offers_http2;
    pthread_mutex_t lock;
    struct pulse_tls_ticket tickets[PULSE_TLS_TICKETS];
    unsigned long last_number;
    // The change count of the store with which the tickets' chains were verified.
    unsigned long changes;
};

// The authorities for a new session, with a reference for the caller, and the store's change count. NULL if they cannot
// be read.
void *pulse_tls_context_authorities(struct pulse_tls_context *context, unsigned long *changes);

// Takes an unexpired ticket for the host, with a reference for the caller, and its expiry. NULL without one.
void *pulse_tls_context_take(
    struct pulse_tls_context *context, const char *host, unsigned long changes, double now, double *expiry);

// Adds a ticket. Returns whether the context has taken over the reference.
bool pulse_tls_context_add(
    struct pulse_tls_context *context, const char *host, void *session, unsigned long changes, double expiry);

// Drops the tickets of a host.
void pulse_tls_context_forget(struct pulse_tls_context *context, const char *host);

// Makes the BIO method of sessions, once the table is filled.
bool pulse_tls_session_load(void);

// Callbacks of sessions.
void pulse_tls_session_note_alert(const void *tls, int event, int value);
int pulse_tls_session_note_request(void *tls, void **certificate, void **key);
int pulse_tls_session_note_ticket(void *tls, void *ticket);

#endif
