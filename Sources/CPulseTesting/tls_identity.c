// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "tls_identity.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tls_library.h"

// openssl/asn1.h, openssl/bio.h, openssl/err.h, openssl/evp.h, openssl/pem.h, openssl/pkcs12.h, openssl/rand.h,
// openssl/x509.h, openssl/x509v3.h of OpenSSL 1.1 and later; result, name, parameters.
#define PULSE_IDENTITY_FUNCTIONS(X) \
    X(void *, EVP_PKEY_CTX_new_id, (int, void *)) \
    X(void, EVP_PKEY_CTX_free, (void *)) \
    X(int, EVP_PKEY_keygen_init, (void *)) \
    X(int, EVP_PKEY_CTX_ctrl_str, (void *, const char *, const char *)) \
    X(int, EVP_PKEY_keygen, (void *, void **)) \
    X(void, EVP_PKEY_free, (void *)) \
    X(const void *, EVP_sha1, (void)) \
    X(const void *, EVP_sha256, (void)) \
    X(int, RAND_bytes, (unsigned char *, int)) \
    X(void *, X509_new, (void)) \
    X(void, X509_free, (void *)) \
    X(int, X509_set_version, (void *, long)) \
    X(void *, X509_get_serialNumber, (void *)) \
    X(int, ASN1_INTEGER_set, (void *, long)) \
    X(void *, X509_getm_notBefore, (const void *)) \
    X(void *, X509_getm_notAfter, (const void *)) \
    X(void *, X509_gmtime_adj, (void *, long)) \
    X(void *, X509_get_subject_name, (const void *)) \
    X(int, X509_set_issuer_name, (void *, const void *)) \
    X(int, X509_NAME_add_entry_by_txt, (void *, const char *, int, const unsigned char *, int, int, int)) \
    X(int, X509_set_pubkey, (void *, void *)) \
    X(void *, X509V3_EXT_nconf_nid, (void *, void *, int, const char *)) \
    X(int, X509_add_ext, (void *, void *, int)) \
    X(void, X509_EXTENSION_free, (void *)) \
    X(int, X509_sign, (void *, void *, const void *)) \
    X(const void *, BIO_s_mem, (void)) \
    X(void *, BIO_new, (const void *)) \
    X(int, BIO_read, (void *, void *, int)) \
    X(size_t, BIO_ctrl_pending, (void *)) \
    X(int, BIO_free, (void *)) \
    X(int, PEM_write_bio_X509, (void *, const void *)) \
    X(int, PEM_write_bio_PKCS8PrivateKey, (void *, const void *, const void *, const char *, int, void *, void *)) \
    X(void *, PKCS12_create, \
        (const char *, const char *, void *, void *, void *, int, int, int, int, int)) \
    X(int, i2d_PKCS12_bio, (void *, const void *)) \
    X(void, PKCS12_free, (void *)) \
    X(void, ERR_clear_error, (void))

static struct {
#define PULSE_IDENTITY_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_IDENTITY_FUNCTIONS(PULSE_IDENTITY_MEMBER)
#undef PULSE_IDENTITY_MEMBER
} crypto;

// openssl/evp.h, openssl/obj_mac.h, openssl/asn1.h
#define PULSE_IDENTITY_VALUES(X) \
    X(EVP_PKEY_RSA, 6) \
    X(NID_X9_62_id_ecPublicKey, 408) \
    X(NID_key_usage, 83) \
    X(NID_subject_alt_name, 85) \
    X(NID_basic_constraints, 87) \
    X(NID_ext_key_usage, 126) \
    X(NID_name_constraints, 666) \
    X(MBSTRING_UTF8, 0x1000)

enum {
#define PULSE_IDENTITY_VALUE(name, value) PULSE_##name = value,
    PULSE_IDENTITY_VALUES(PULSE_IDENTITY_VALUE)
#undef PULSE_IDENTITY_VALUE
};

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
#define PULSE_IDENTITY_RESOLVE(result, name, parameters) \
    *(void **)&crypto.name = pulse_openssl_symbol(#name); \
    if (crypto.name == NULL) return;
    PULSE_IDENTITY_FUNCTIONS(PULSE_IDENTITY_RESOLVE)
#undef PULSE_IDENTITY_RESOLVE
    is_loaded = true;
}

bool pulse_tls_can_generate(void) {
    pthread_once(&once, load);
    return is_loaded;
}

// A certificate and its key.
struct credential {
    void *certificate, *key;
};

static void credential_free(struct credential *credential) {
    if (credential->certificate != NULL) crypto.X509_free(credential->certificate);
    if (credential->key != NULL) crypto.EVP_PKEY_free(credential->key);
}

static void *make_key(enum pulse_tls_oddity oddity) {
    bool is_short = oddity == PULSE_TLS_SHORT_KEY;
    void *key = NULL;
    void *context =
        crypto.EVP_PKEY_CTX_new_id(is_short ? PULSE_EVP_PKEY_RSA : PULSE_NID_X9_62_id_ecPublicKey, NULL);
    const char *name = is_short ? "rsa_keygen_bits" : "ec_paramgen_curve";
    if (context == NULL) return NULL;
    if (crypto.EVP_PKEY_keygen_init(context) != 1
        || crypto.EVP_PKEY_CTX_ctrl_str(context, name, is_short ? "1024" : "P-256") != 1
        || crypto.EVP_PKEY_keygen(context, &key) != 1) {
        key = NULL;
    }
    crypto.EVP_PKEY_CTX_free(context);
    return key;
}

static bool extend(void *certificate, int kind, const char *value) {
    void *extension = crypto.X509V3_EXT_nconf_nid(NULL, NULL, kind, value);
    if (extension == NULL) return false;
    bool is_added = crypto.X509_add_ext(certificate, extension, -1) == 1;
    crypto.X509_EXTENSION_free(extension);
    return is_added;
}

static bool name_subject(void *certificate, const char *name) {
    const unsigned char *bytes = (const unsigned char *)name;
    return crypto.X509_NAME_add_entry_by_txt(
               crypto.X509_get_subject_name(certificate), "CN", PULSE_MBSTRING_UTF8, bytes, -1, -1, 0) == 1;
}

// Creates the key, and the certificate without its extensions and signature.
static bool begin(
    struct credential *credential, const char *name, const struct credential *issuer, long start, long end,
    enum pulse_tls_oddity oddity) {
    uint32_t serial = 0;
    credential->key = make_key(oddity);
    void *certificate = credential->certificate = crypto.X509_new();
    if (credential->key == NULL || certificate == NULL) return false;
    if (crypto.RAND_bytes((unsigned char *)&serial, sizeof serial) != 1) return false;
    const void *issuer_certificate = issuer == NULL ? certificate : issuer->certificate;
    return crypto.X509_set_version(certificate, 2) == 1
        && crypto.ASN1_INTEGER_set(crypto.X509_get_serialNumber(certificate), (long)(serial >> 1) + 1) == 1
        && crypto.X509_gmtime_adj(crypto.X509_getm_notBefore(certificate), start) != NULL
        && crypto.X509_gmtime_adj(crypto.X509_getm_notAfter(certificate), end) != NULL
        && name_subject(certificate, name)
        && crypto.X509_set_issuer_name(certificate, crypto.X509_get_subject_name(issuer_certificate)) == 1
        && crypto.X509_set_pubkey(certificate, credential->key) == 1;
}

static bool sign(const struct credential *credential, const struct credential *issuer, enum pulse_tls_oddity oddity) {
    const void *digest = oddity == PULSE_TLS_SHA1 ? crypto.EVP_sha1() : crypto.EVP_sha256();
    return crypto.X509_sign(credential->certificate, issuer->key, digest) != 0;
}

// Creates an authority; the issuer is NULL for a self-signed one.
static bool make_authority(
    struct credential *authority, const struct credential *issuer, long start, long end, enum pulse_tls_oddity oddity) {
    // Each authority has a unique name: then a foreign authority is an unknown issuer, not an invalid signature.
    uint64_t number = 0;
    char name[64];
    if (crypto.RAND_bytes((unsigned char *)&number, sizeof number) != 1) return false;
    snprintf(name, sizeof name, "PulseTesting %016llx", (unsigned long long)number);
    const char *kind = oddity == PULSE_TLS_NO_AUTHORITY ? "critical,CA:FALSE" : "critical,CA:TRUE";
    return begin(authority, name, issuer, start, end, PULSE_TLS_USUAL)
        && extend(authority->certificate, PULSE_NID_basic_constraints, kind)
        && extend(authority->certificate, PULSE_NID_key_usage, "critical,keyCertSign,cRLSign")
        && (oddity != PULSE_TLS_CONSTRAINED
            || extend(authority->certificate, PULSE_NID_name_constraints, "critical,permitted;DNS:example.com"))
        && sign(authority, issuer == NULL ? authority : issuer, PULSE_TLS_USUAL);
}

static bool make_server(
    struct credential *server, const struct credential *authority, const char *names, long start, long end,
    enum pulse_tls_oddity oddity) {
    const char *purpose = oddity == PULSE_TLS_FOR_CLIENTS ? "clientAuth" : "serverAuth";
    return begin(server, "PulseTesting server", authority, start, end, oddity)
        && extend(server->certificate, PULSE_NID_basic_constraints, "critical,CA:FALSE")
        && extend(server->certificate, PULSE_NID_key_usage, "critical,digitalSignature")
        && extend(server->certificate, PULSE_NID_ext_key_usage, purpose)
        && extend(server->certificate, PULSE_NID_subject_alt_name, names) && sign(server, authority, oddity);
}

static bool make_client(struct credential *client, const struct credential *authority, long start, long end) {
    return begin(client, "PulseTesting client", authority, start, end, PULSE_TLS_USUAL)
        && extend(client->certificate, PULSE_NID_basic_constraints, "critical,CA:FALSE")
        && extend(client->certificate, PULSE_NID_key_usage, "critical,digitalSignature")
        && extend(client->certificate, PULSE_NID_ext_key_usage, "clientAuth")
        && sign(client, authority, PULSE_TLS_USUAL);
}

// Moves all bytes out of a BIO, if it was filled, and frees it.
static bool drain(void *bio, bool is_filled, struct pulse_tls_text *text) {
    size_t count = crypto.BIO_ctrl_pending(bio);
    char *bytes = is_filled ? malloc(count + 1) : NULL;
    bool is_done = bytes != NULL && crypto.BIO_read(bio, bytes, (int)count) == (int)count;
    crypto.BIO_free(bio);
    if (!is_done) {
        free(bytes);
        return false;
    }
    bytes[count] = '\0';
    *text = (struct pulse_tls_text){bytes, count};
    return true;
}

// Writes a certificate, followed by that of its issuer if there is one.
static bool write_certificate(
    const struct credential *credential, const struct credential *issuer, struct pulse_tls_text *text) {
    void *bio = crypto.BIO_new(crypto.BIO_s_mem());
    if (bio == NULL) return false;
    bool is_filled = crypto.PEM_write_bio_X509(bio, credential->certificate) == 1
        && (issuer->certificate == NULL || crypto.PEM_write_bio_X509(bio, issuer->certificate) == 1);
    return drain(bio, is_filled, text);
}

static bool write_key(const struct credential *credential, struct pulse_tls_text *text) {
    void *bio = crypto.BIO_new(crypto.BIO_s_mem());
    if (bio == NULL) return false;
    bool is_filled = crypto.PEM_write_bio_PKCS8PrivateKey(bio, credential->key, NULL, NULL, 0, NULL, NULL) == 1;
    return drain(bio, is_filled, text);
}

static bool write_bundle(const struct credential *credential, const char *password, struct pulse_tls_text *text) {
    void *bundle =
        crypto.PKCS12_create(password, "client", credential->key, credential->certificate, NULL, 0, 0, 0, 0, 0);
    if (bundle == NULL) return false;
    void *bio = crypto.BIO_new(crypto.BIO_s_mem());
    bool is_done = bio != NULL && drain(bio, crypto.i2d_PKCS12_bio(bio, bundle) == 1, text);
    crypto.PKCS12_free(bundle);
    return is_done;
}

bool pulse_tls_identity_generate(
    const char *names, long start, long end, const char *password, enum pulse_tls_oddity oddity,
    struct pulse_tls_identity *identity) {
    struct credential authority = {0}, intermediate = {0}, server = {0}, client = {0};
    bool is_direct = oddity < PULSE_TLS_INTERMEDIATE || oddity > PULSE_TLS_NO_AUTHORITY;
    *identity = (struct pulse_tls_identity){0};
    bool is_done = make_authority(&authority, NULL, start, end, PULSE_TLS_USUAL)
        && (is_direct || make_authority(&intermediate, &authority, start, end, oddity))
        && make_server(&server, is_direct ? &authority : &intermediate, names, start, end, oddity)
        && make_client(&client, &authority, start, end)
        && write_certificate(&authority, &(struct credential){0}, &identity->authority)
        && write_certificate(&server, &intermediate, &identity->certificate) && write_key(&server, &identity->key)
        && write_bundle(&client, password, &identity->client);
    credential_free(&authority);
    credential_free(&intermediate);
    credential_free(&server);
    credential_free(&client);
    if (!is_done) {
        // Otherwise the next function on this thread would report this error.
        crypto.ERR_clear_error();
        free(identity->authority.bytes);
        free(identity->certificate.bytes);
        free(identity->key.bytes);
        free(identity->client.bytes);
        *identity = (struct pulse_tls_identity){0};
    }
    return is_done;
}

#endif
