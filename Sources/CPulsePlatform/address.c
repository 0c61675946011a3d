// SPDX-License-Identifier: MIT

#if defined(__linux__)

// For SOCK_CLOEXEC and struct addrinfo.
#define _GNU_SOURCE

#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

_Static_assert(
    sizeof(struct sockaddr_storage) <= sizeof((struct pulse_address *)0)->words, "an address does not fit");

static int resolve(const char *name, int flags, struct pulse_address *addresses, int capacity, int *count) {
    // Without AI_ADDRCONFIG, which would hide the loopback addresses of the hosts file. The system sorts addresses that
    // it cannot reach last, and refuses to connect to them at once.
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags}, *list = NULL;
    *count = 0;
    int error = getaddrinfo(name, NULL, &hints, &list);
    if (error != 0) return error;
    for (struct addrinfo *next = list; next != NULL && *count < capacity; next = next->ai_next) {
        if (next->ai_family != AF_INET && next->ai_family != AF_INET6) continue;
        struct pulse_address *address = &addresses[(*count)++];
        *address = (struct pulse_address){.length = next->ai_addrlen};
        memcpy(address->words, next->ai_addr, next->ai_addrlen);
    }
    freeaddrinfo(list);
    return *count > 0 ? 0 : EAI_NONAME;
}

bool pulse_address_parse(const char *text, struct pulse_address *address) {
    int count;
    return resolve(text, AI_NUMERICHOST, address, 1, &count) == 0;
}

bool pulse_address_of_path(const char *path, struct pulse_address *address) {
    struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof unix_address.sun_path) return false;
    memcpy(unix_address.sun_path, path, length);
    *address = (struct pulse_address){.length = sizeof unix_address};
    memcpy(address->words, &unix_address, sizeof unix_address);
    return true;
}

int pulse_address_look_up(const char *name, struct pulse_address *addresses, int capacity, int *count) {
    return resolve(name, 0, addresses, capacity, count);
}

int pulse_address_family(const struct pulse_address *address) {
    return ((const struct sockaddr *)(const void *)address->words)->sa_family;
}

void pulse_address_set_port(struct pulse_address *address, uint16_t port) {
    switch (pulse_address_family(address)) {
    case AF_INET: ((struct sockaddr_in *)(void *)address->words)->sin_port = htons(port); break;
    case AF_INET6: ((struct sockaddr_in6 *)(void *)address->words)->sin6_port = htons(port); break;
    }
}

bool pulse_address_text(const struct pulse_address *address, char text[PULSE_ADDRESS_TEXT_SIZE]) {
    int family = pulse_address_family(address);
    if (family != AF_INET && family != AF_INET6) return false;
    const void *numbers = family == AF_INET
        ? (const void *)&((const struct sockaddr_in *)(const void *)address->words)->sin_addr
        : (const void *)&((const struct sockaddr_in6 *)(const void *)address->words)->sin6_addr;
    return inet_ntop(family, numbers, text, PULSE_ADDRESS_TEXT_SIZE) != NULL;
}

int pulse_socket_connect(const struct pulse_address *address, int *connecting) {
    int family = pulse_address_family(address);
    *connecting = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*connecting < 0) return errno;
    if (family != AF_UNIX) {
        // Detects a peer that is gone: the system probes after a minute without traffic.
        int on = 1, seconds = 60;
        setsockopt(*connecting, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(*connecting, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        setsockopt(*connecting, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
        setsockopt(*connecting, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
    }
    // Even after an interruption, the socket continues to connect.
    if (connect(*connecting, (const struct sockaddr *)(const void *)address->words, address->length) == 0
        || errno == EINPROGRESS || errno == EINTR) {
        return 0;
    }
    int error = errno;
    close(*connecting);
    *connecting = -1;
    return error;
}

int pulse_socket_connect_result(int socket) {
    // An event alone does not suffice: it may be of an earlier connection with the same number.
    struct pollfd wait = {.fd = socket, .events = POLLOUT};
    if (poll(&wait, 1, 0) <= 0) return EINPROGRESS;
    int error = 0;
    socklen_t length = sizeof error;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

bool pulse_thread_start(void *(*body)(void *context), void *context) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    // Room for the modules of the name service, and for a sanitizer's own data.
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    bool has_started = pthread_create(&thread, &attributes, body, context) == 0;
    pthread_attr_destroy(&attributes);
    return has_started;
}

#endif
