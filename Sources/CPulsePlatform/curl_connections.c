// SPDX-License-Identifier: MIT
//
// What the loop knows of libcurl's connections.

#if defined(__linux__)

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "curl_library.h"
#include "curl_loop_state.h"
#include "curl_table.h"
#include "curl_tls.h"

// Records the identity of a connection once: a new socket with its descriptor resets `watch`.
static void learn_addresses(struct watch *watch, pulse_curl_socket socket) {
    union address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } local, peer;
    socklen_t local_length = sizeof local, peer_length = sizeof peer;
    // The socket may not be connected yet.
    if (getpeername(socket, &peer.any, &peer_length) != 0) return;
    if (getsockname(socket, &local.any, &local_length) != 0) return;
    bool is_v6 = peer.any.sa_family == AF_INET6;
    if (!is_v6 && peer.any.sa_family != AF_INET) return;
    const void *address = is_v6 ? (const void *)&peer.v6.sin6_addr : (const void *)&peer.v4.sin_addr;
    if (inet_ntop(peer.any.sa_family, address, watch->remote, sizeof watch->remote) == NULL) return;
    watch->remote_port = ntohs(is_v6 ? peer.v6.sin6_port : peer.v4.sin_port);
    watch->local_port = ntohs(is_v6 ? local.v6.sin6_port : local.v4.sin_port);
}

// Two connections to different hosts may have the same local port.
static bool is_connection(const struct watch *watch, const char *remote, int remote_port, int local_port) {
    return watch->local_port == local_port && watch->remote_port == remote_port && strcmp(watch->remote, remote) == 0;
}

static pulse_curl_socket find_connection(
    struct pulse_loop *loop, const char *remote, int remote_port, int local_port) {
    int *known = &loop->sockets[local_port];
    if (*known != 0 && is_connection(&loop->watches[*known - 1], remote, remote_port, local_port)) return *known - 1;
    for (int socket = 0; socket < loop->watch_count; socket++) {
        struct watch *watch = &loop->watches[socket];
        if (!watch->is_ours) continue;
        if (watch->local_port == 0) learn_addresses(watch, socket);
        if (!is_connection(watch, remote, remote_port, local_port)) continue;
        *known = socket + 1;
        return socket;
    }
    return PULSE_CURL_SOCKET_BAD;
}

// Whether a socket is open and has nothing to read.
static bool is_idle(pulse_curl_socket socket) {
    char byte;
    ssize_t count = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

// Unix domain sockets have no port to identify them: checks that none of them has anything to read.
static bool are_local_sockets_idle(const struct pulse_loop *loop) {
    for (int socket = 0; socket < loop->watch_count; socket++) {
        struct sockaddr_storage address;
        socklen_t length = sizeof address;
        if (!loop->watches[socket].is_ours) continue;
        if (getsockname(socket, (struct sockaddr *)&address, &length) != 0 || address.ss_family != AF_UNIX) continue;
        if (!is_idle(socket)) return false;
    }
    return true;
}

bool pulse_loop_is_quiet(
    struct pulse_loop *loop, PulseCURL *easy, const char *remote, int remote_port, int local_port) {
    if (local_port <= 0 || local_port > UINT16_MAX) {
        return pulse_tls_state(easy) == PULSE_TLS_MULTIPLEXED || are_local_sockets_idle(loop);
    }
    switch (pulse_tls_state(easy)) {
    case PULSE_TLS_MULTIPLEXED: return true;
    case PULSE_TLS_PENDING: return false;
    case PULSE_TLS_NOTHING_PENDING: break;
    }
    pulse_curl_socket socket = find_connection(loop, remote, remote_port, local_port);
    return socket != PULSE_CURL_SOCKET_BAD && is_idle(socket);
}

bool pulse_loop_connection(struct pulse_loop *loop, PulseCURL *easy, struct pulse_socket *found) {
    char *remote = NULL;
    long remote_port = 0, local_port = 0;
    pulse_curl.curl_easy_getinfo(easy, PULSE_CURLINFO_PRIMARY_IP, &remote);
    pulse_curl.curl_easy_getinfo(easy, PULSE_CURLINFO_PRIMARY_PORT, &remote_port);
    pulse_curl.curl_easy_getinfo(easy, PULSE_CURLINFO_LOCAL_PORT, &local_port);
    if (remote == NULL || local_port <= 0 || local_port > UINT16_MAX) return false;
    pulse_curl_socket socket = find_connection(loop, remote, (int)remote_port, (int)local_port);
    if (socket == PULSE_CURL_SOCKET_BAD) return false;
    *found = (struct pulse_socket){socket, loop->watches[socket].generation};
    return true;
}

static bool is_open(const struct pulse_loop *loop, struct pulse_socket socket) {
    const struct watch *watch = &loop->watches[socket.descriptor];
    return watch->is_ours && watch->generation == socket.generation;
}

double pulse_loop_silence(const struct pulse_loop *loop, struct pulse_socket socket) {
    return is_open(loop, socket) ? loop->now - loop->watches[socket.descriptor].silent_since : 0;
}

bool pulse_loop_is_unreachable(const struct pulse_loop *loop, struct pulse_socket socket, double seconds) {
    // One lost segment proves nothing: a connection that was idle has had no acknowledgement for long either.
    enum { SENT_AGAIN = 3 };
    struct tcp_info info = {0};
    socklen_t length = sizeof info;
    if (!is_open(loop, socket)) return false;
    if (getsockopt(socket.descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return false;
    return info.tcpi_unacked > 0 && info.tcpi_retransmits >= SENT_AGAIN && info.tcpi_last_ack_recv >= seconds * 1e3;
}

void pulse_loop_note_idle_limit(const struct pulse_loop *loop, struct pulse_socket socket, double seconds) {
    if (!is_open(loop, socket)) return;
    loop->watches[socket.descriptor].has_idle_limit = true;
    loop->watches[socket.descriptor].idle_limit = seconds;
}

double pulse_loop_idle_time_left(struct pulse_loop *loop, const char *remote, int remote_port, int local_port) {
    if (local_port <= 0 || local_port > UINT16_MAX) return INFINITY;
    pulse_curl_socket socket = find_connection(loop, remote, remote_port, local_port);
    if (socket == PULSE_CURL_SOCKET_BAD || !loop->watches[socket].has_idle_limit) return INFINITY;
    const struct watch *watch = &loop->watches[socket];
    return watch->idle_limit - (pulse_monotonic_now() - watch->last_activity);
}

void pulse_loop_cut(const struct pulse_loop *loop, struct pulse_socket socket) {
    if (is_open(loop, socket)) shutdown(socket.descriptor, SHUT_RDWR);
}

#endif
