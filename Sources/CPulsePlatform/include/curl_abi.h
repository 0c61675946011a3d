// SPDX-License-Identifier: MIT
//
// The parts of libcurl's stable binary interface that PulseKit uses: names, values and types as in libcurl's headers,
// with a prefix. So building this requires no installed libcurl. `Scripts/check-abi` compares everything with the real
// headers.

#ifndef PULSE_CURL_ABI_H
#define PULSE_CURL_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

typedef void PulseCURL;        // CURL
typedef void PulseCURLM;       // CURLM
typedef void PulseCURLSH;      // CURLSH
typedef int pulse_curl_socket; // curl_socket_t

// curl/curl.h: struct curl_slist
struct pulse_curl_slist {
    char *data;
    struct pulse_curl_slist *next;
};

// curl/curl.h: struct curl_blob
struct pulse_curl_blob {
    void *data;
    size_t len;
    unsigned int flags;
};

// curl/curl.h: struct curl_sockaddr
struct pulse_curl_sockaddr {
    int family;
    int socktype;
    int protocol;
    unsigned int addrlen;
    struct sockaddr addr;
};

// curl/curl.h: struct curl_tlssessioninfo
struct pulse_curl_tlssessioninfo {
    int backend;
    void *internals;
};

// curl/multi.h: struct CURLMsg
struct pulse_curl_message {
    int msg;
    PulseCURL *easy_handle;
    union {
        void *whatever;
        int result;
    } data;
};

// curl/curl.h: curl_version_info_data, as far as it is read
struct pulse_curl_version {
    int age;
    const char *version;
    unsigned int version_num;
    const char *host;
    int features;
    const char *ssl_version;
    long ssl_version_num;
    const char *libz_version;
    const char *const *protocols;
    const char *ares;
    int ares_num;
    const char *libidn;
    int iconv_ver_num;
    const char *libssh_version;
    unsigned int brotli_ver_num;
    const char *brotli_version;
    unsigned int nghttp2_ver_num;
    const char *nghttp2_version;
    const char *quic_version;
    // From an age of CURLVERSION_SEVENTH on.
    const char *cainfo;
    const char *capath;
};

// curl/curl.h: CURLoption
#define PULSE_CURL_OPTIONS(X) \
    X(CURLOPT_WRITEDATA, 10001) \
    X(CURLOPT_URL, 10002) \
    X(CURLOPT_PROXY, 10004) \
    X(CURLOPT_PROXYUSERPWD, 10006) \
    X(CURLOPT_READDATA, 10009) \
    X(CURLOPT_ERRORBUFFER, 10010) \
    X(CURLOPT_WRITEFUNCTION, 20011) \
    X(CURLOPT_READFUNCTION, 20012) \
    X(CURLOPT_HTTPHEADER, 10023) \
    X(CURLOPT_KEYPASSWD, 10026) \
    X(CURLOPT_HEADERDATA, 10029) \
    X(CURLOPT_SSLVERSION, 32) \
    X(CURLOPT_CUSTOMREQUEST, 10036) \
    X(CURLOPT_VERBOSE, 41) \
    X(CURLOPT_NOBODY, 44) \
    X(CURLOPT_UPLOAD, 46) \
    X(CURLOPT_POST, 47) \
    X(CURLOPT_PROXYPORT, 59) \
    X(CURLOPT_CAINFO, 10065) \
    X(CURLOPT_FRESH_CONNECT, 74) \
    X(CURLOPT_FORBID_REUSE, 75) \
    X(CURLOPT_HEADERFUNCTION, 20079) \
    X(CURLOPT_HTTP_VERSION, 84) \
    X(CURLOPT_SSLCERTTYPE, 10086) \
    X(CURLOPT_DEBUGFUNCTION, 20094) \
    X(CURLOPT_DEBUGDATA, 10095) \
    X(CURLOPT_CAPATH, 10097) \
    X(CURLOPT_BUFFERSIZE, 98) \
    X(CURLOPT_NOSIGNAL, 99) \
    X(CURLOPT_SHARE, 10100) \
    X(CURLOPT_PROXYTYPE, 101) \
    X(CURLOPT_PRIVATE, 10103) \
    X(CURLOPT_INFILESIZE_LARGE, 30115) \
    X(CURLOPT_POSTFIELDSIZE_LARGE, 30120) \
    X(CURLOPT_SSL_SESSIONID_CACHE, 150) \
    X(CURLOPT_CONNECTTIMEOUT_MS, 156) \
    X(CURLOPT_OPENSOCKETFUNCTION, 20163) \
    X(CURLOPT_OPENSOCKETDATA, 10164) \
    X(CURLOPT_COPYPOSTFIELDS, 10165) \
    X(CURLOPT_SEEKFUNCTION, 20167) \
    X(CURLOPT_SEEKDATA, 10168) \
    X(CURLOPT_NOPROXY, 10177) \
    X(CURLOPT_PROTOCOLS, 181) \
    X(CURLOPT_TCP_KEEPALIVE, 213) \
    X(CURLOPT_CLOSESOCKETFUNCTION, 20208) \
    X(CURLOPT_CLOSESOCKETDATA, 10209) \
    X(CURLOPT_PINNEDPUBLICKEY, 10230) \
    X(CURLOPT_UNIX_SOCKET_PATH, 10231) \
    X(CURLOPT_PATH_AS_IS, 234) \
    X(CURLOPT_PIPEWAIT, 237) \
    X(CURLOPT_SUPPRESS_CONNECT_HEADERS, 265) \
    X(CURLOPT_UPLOAD_BUFFERSIZE, 280) \
    X(CURLOPT_CA_CACHE_TIMEOUT, 321) \
    X(CURLOPT_SSLCERT_BLOB, 40291) \
    X(CURLOPT_CAINFO_BLOB, 40309) \
    X(CURLOPT_PREREQFUNCTION, 20312) \
    X(CURLOPT_PREREQDATA, 10313) \
    X(CURLOPT_SSL_CTX_FUNCTION, 20108) \
    X(CURLOPT_SSL_CTX_DATA, 10109) \
    X(CURLOPT_QUICK_EXIT, 322)

// curl/curl.h: CURLINFO
#define PULSE_CURL_INFOS(X) \
    X(CURLINFO_PRIVATE, 0x100015) \
    X(CURLINFO_PRIMARY_IP, 0x100020) \
    X(CURLINFO_RESPONSE_CODE, 0x200002) \
    X(CURLINFO_SSL_VERIFYRESULT, 0x20000d) \
    X(CURLINFO_HTTP_CONNECTCODE, 0x200016) \
    X(CURLINFO_OS_ERRNO, 0x200019) \
    X(CURLINFO_NUM_CONNECTS, 0x20001a) \
    X(CURLINFO_PRIMARY_PORT, 0x200028) \
    X(CURLINFO_LOCAL_PORT, 0x20002a) \
    X(CURLINFO_HTTP_VERSION, 0x20002e) \
    X(CURLINFO_PROXY_ERROR, 0x20003b) \
    X(CURLINFO_TLS_SSL_PTR, 0x40002d) \
    X(CURLINFO_SIZE_UPLOAD_T, 0x600007) \
    X(CURLINFO_SIZE_DOWNLOAD_T, 0x600008) \
    X(CURLINFO_TOTAL_TIME_T, 0x600032) \
    X(CURLINFO_NAMELOOKUP_TIME_T, 0x600033) \
    X(CURLINFO_CONNECT_TIME_T, 0x600034) \
    X(CURLINFO_PRETRANSFER_TIME_T, 0x600035) \
    X(CURLINFO_STARTTRANSFER_TIME_T, 0x600036) \
    X(CURLINFO_APPCONNECT_TIME_T, 0x600038)

// curl/curl.h: CURLcode
#define PULSE_CURL_CODES(X) \
    X(CURLE_OK, 0) \
    X(CURLE_UNSUPPORTED_PROTOCOL, 1) \
    X(CURLE_URL_MALFORMAT, 3) \
    X(CURLE_COULDNT_RESOLVE_PROXY, 5) \
    X(CURLE_COULDNT_RESOLVE_HOST, 6) \
    X(CURLE_COULDNT_CONNECT, 7) \
    X(CURLE_WEIRD_SERVER_REPLY, 8) \
    X(CURLE_HTTP2, 16) \
    X(CURLE_PARTIAL_FILE, 18) \
    X(CURLE_WRITE_ERROR, 23) \
    X(CURLE_READ_ERROR, 26) \
    X(CURLE_OUT_OF_MEMORY, 27) \
    X(CURLE_OPERATION_TIMEDOUT, 28) \
    X(CURLE_SSL_CONNECT_ERROR, 35) \
    X(CURLE_ABORTED_BY_CALLBACK, 42) \
    X(CURLE_BAD_FUNCTION_ARGUMENT, 43) \
    X(CURLE_UNKNOWN_OPTION, 48) \
    X(CURLE_GOT_NOTHING, 52) \
    X(CURLE_SEND_ERROR, 55) \
    X(CURLE_RECV_ERROR, 56) \
    X(CURLE_SSL_CERTPROBLEM, 58) \
    X(CURLE_SSL_CIPHER, 59) \
    X(CURLE_PEER_FAILED_VERIFICATION, 60) \
    X(CURLE_BAD_CONTENT_ENCODING, 61) \
    X(CURLE_SEND_FAIL_REWIND, 65) \
    X(CURLE_SSL_CACERT_BADFILE, 77) \
    X(CURLE_SSL_PINNEDPUBKEYNOTMATCH, 90) \
    X(CURLE_HTTP2_STREAM, 92) \
    X(CURLE_PROXY, 97) \
    X(CURLE_TOO_LARGE, 100)

// curl/curl.h and curl/multi.h: the rest, each under the type that it belongs to there
#define PULSE_CURL_VALUES(X) \
    X(CURL_GLOBAL_ALL, 3) \
    X(CURL_BLOB_COPY, 1) \
    X(CURL_SSLVERSION_TLSv1_2, 6) \
    X(CURL_SSLVERSION_TLSv1_3, 7) \
    X(CURL_HTTP_VERSION_1_0, 1) \
    X(CURL_HTTP_VERSION_1_1, 2) \
    X(CURL_HTTP_VERSION_2_0, 3) \
    X(CURL_HTTP_VERSION_2TLS, 4) \
    X(CURL_HTTP_VERSION_3, 30) \
    X(CURLPROXY_HTTP, 0) \
    X(CURLPROXY_SOCKS5_HOSTNAME, 7) \
    X(CURLPROTO_HTTP, 1) \
    X(CURLPROTO_HTTPS, 2) \
    X(CURL_WRITEFUNC_PAUSE, 0x10000001) \
    X(CURL_READFUNC_ABORT, 0x10000000) \
    X(CURL_READFUNC_PAUSE, 0x10000001) \
    X(CURL_SEEKFUNC_OK, 0) \
    X(CURL_SEEKFUNC_CANTSEEK, 2) \
    X(CURL_PREREQFUNC_OK, 0) \
    X(CURL_PREREQFUNC_ABORT, 1) \
    X(CURLPAUSE_CONT, 0) \
    X(CURL_SOCKET_BAD, -1) \
    X(CURL_SOCKET_TIMEOUT, -1) \
    X(CURL_CSELECT_IN, 1) \
    X(CURL_CSELECT_OUT, 2) \
    X(CURL_CSELECT_ERR, 4) \
    X(CURL_POLL_IN, 1) \
    X(CURL_POLL_OUT, 2) \
    X(CURL_POLL_INOUT, 3) \
    X(CURL_POLL_REMOVE, 4) \
    X(CURLM_OK, 0) \
    X(CURLMSG_DONE, 1) \
    X(CURLMOPT_SOCKETFUNCTION, 20001) \
    X(CURLMOPT_SOCKETDATA, 10002) \
    X(CURLMOPT_TIMERFUNCTION, 20004) \
    X(CURLMOPT_TIMERDATA, 10005) \
    X(CURLMOPT_MAXCONNECTS, 6) \
    X(CURLMOPT_MAX_CONCURRENT_STREAMS, 16) \
    X(CURLSHOPT_SHARE, 1) \
    X(CURLSHOPT_LOCKFUNC, 3) \
    X(CURLSHOPT_UNLOCKFUNC, 4) \
    X(CURLSHOPT_USERDATA, 5) \
    X(CURL_LOCK_DATA_SSL_SESSION, 4) \
    X(CURLSSLBACKEND_OPENSSL, 1) \
    X(CURLPX_NO_AUTH, 12) \
    X(CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED, 17) \
    X(CURLPX_REPLY_COMMAND_NOT_SUPPORTED, 18) \
    X(CURLPX_REPLY_CONNECTION_REFUSED, 19) \
    X(CURLPX_REPLY_GENERAL_SERVER_FAILURE, 20) \
    X(CURLPX_REPLY_HOST_UNREACHABLE, 21) \
    X(CURLPX_REPLY_NETWORK_UNREACHABLE, 22) \
    X(CURLPX_REPLY_NOT_ALLOWED, 23) \
    X(CURLPX_REPLY_TTL_EXPIRED, 24) \
    X(CURLPX_REPLY_UNASSIGNED, 25) \
    X(CURLPX_UNKNOWN_MODE, 32) \
    X(CURLPX_USER_REJECTED, 33) \
    X(CURLVERSION_FIRST, 0) \
    X(CURLVERSION_SEVENTH, 6) \
    X(CURL_VERSION_SSL, 4) \
    X(CURL_VERSION_HTTP2, 0x10000) \
    X(CURL_VERSION_UNIX_SOCKETS, 0x80000)

#define PULSE_CURL_ENUMERATOR(name, value) PULSE_##name = value,
enum { PULSE_CURL_OPTIONS(PULSE_CURL_ENUMERATOR) };
enum { PULSE_CURL_INFOS(PULSE_CURL_ENUMERATOR) };
enum { PULSE_CURL_CODES(PULSE_CURL_ENUMERATOR) };
enum { PULSE_CURL_VALUES(PULSE_CURL_ENUMERATOR) };
#undef PULSE_CURL_ENUMERATOR

// curl/easy.h, curl/multi.h, curl/curl.h: result, name, parameters
#define PULSE_CURL_FUNCTIONS(X) \
    X(int, curl_global_init, (long)) \
    X(struct pulse_curl_version *, curl_version_info, (int)) \
    X(PulseCURL *, curl_easy_init, (void)) \
    X(void, curl_easy_cleanup, (PulseCURL *)) \
    X(void, curl_easy_reset, (PulseCURL *)) \
    X(int, curl_easy_setopt, (PulseCURL *, int, ...)) \
    X(int, curl_easy_getinfo, (PulseCURL *, int, ...)) \
    X(int, curl_easy_pause, (PulseCURL *, int)) \
    X(const char *, curl_easy_strerror, (int)) \
    X(PulseCURLM *, curl_multi_init, (void)) \
    X(int, curl_multi_cleanup, (PulseCURLM *)) \
    X(int, curl_multi_add_handle, (PulseCURLM *, PulseCURL *)) \
    X(int, curl_multi_remove_handle, (PulseCURLM *, PulseCURL *)) \
    X(int, curl_multi_setopt, (PulseCURLM *, int, ...)) \
    X(int, curl_multi_socket_action, (PulseCURLM *, pulse_curl_socket, int, int *)) \
    X(struct pulse_curl_message *, curl_multi_info_read, (PulseCURLM *, int *)) \
    X(PulseCURLSH *, curl_share_init, (void)) \
    X(int, curl_share_setopt, (PulseCURLSH *, int, ...)) \
    X(int, curl_share_cleanup, (PulseCURLSH *))

#endif
