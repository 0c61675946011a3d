// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "curl_library.h"
#include "curl_loop_state.h"
#include "curl_table.h"

// The number of reads per event: libcurl reads from a connection once per call, and only a small piece of a response
// that it decodes. Few, since the other connections wait.
enum { READS_PER_EVENT = 8 };

double pulse_loop_now(const struct pulse_loop *loop) { return loop->now; }

double pulse_loop_last_activity(const struct pulse_loop *loop, const PulseCURL *easy) {
    double latest = 0;
    for (int socket = 0; socket < loop->watch_count; socket++) {
        const struct watch *watch = &loop->watches[socket];
        if (watch->easy == easy && watch->group != NULL && watch->last_activity > latest) latest = watch->last_activity;
    }
    return latest;
}

static bool make_room(struct pulse_loop *loop, int socket) {
    if (socket < loop->watch_count) return true;
    int count = loop->watch_count < 64 ? 64 : loop->watch_count;
    while (count <= socket) count *= 2;
    struct watch *watches = realloc(loop->watches, (size_t)count * sizeof(struct watch));
    if (watches == NULL) return false;
    memset(watches + loop->watch_count, 0, (size_t)(count - loop->watch_count) * sizeof(struct watch));
    loop->watches = watches;
    loop->watch_count = count;
    return true;
}

static bool watch_for(struct pulse_loop *loop, int socket, uint32_t events) {
    struct watch *watch = &loop->watches[socket];
    // A reused connection is already known to epoll.
    if (watch->is_ours && watch->events == events) return true;
    struct epoll_event event = {
        .events = events, .data.u64 = (uint64_t)watch->generation << 32 | (uint32_t)socket,
    };
    int operation = watch->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    // epoll does not know a descriptor that libcurl has closed and reopened, such as a resolver's.
    if (epoll_ctl(loop->poller.epoll, operation, socket, &event) != 0) {
        operation = errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
        if (epoll_ctl(loop->poller.epoll, operation, socket, &event) != 0) return false;
    }
    watch->events = events;
    return true;
}

static void stop_watching(struct pulse_loop *loop, int socket) {
    // A closed socket has left epoll already.
    epoll_ctl(loop->poller.epoll, EPOLL_CTL_DEL, socket, NULL);
    loop->watches[socket].events = 0;
}

// Called by libcurl to watch a socket: curl_socket_callback.
static int watch_socket(PulseCURL *easy, pulse_curl_socket socket, int what, void *context, void *unused) {
    (void)unused;
    struct group *group = context;
    struct pulse_loop *loop = group->loop;
    if (socket < 0 || !make_room(loop, socket)) return -1;
    struct watch *watch = &loop->watches[socket];
    if (what == PULSE_CURL_POLL_REMOVE) {
        watch->group = NULL;
        // An idle socket is always writable, which does not matter before the next transfer.
        if (!watch->is_ours || watch->events != EPOLLIN) stop_watching(loop, socket);
        return 0;
    }
    uint32_t events = 0;
    if (what & PULSE_CURL_POLL_IN) events |= EPOLLIN;
    if (what & PULSE_CURL_POLL_OUT) events |= EPOLLOUT;
    if (!watch_for(loop, socket, events)) return -1;
    // A resolver's, opened by libcurl. The resolver's thread has the other end, which stays open until it is done.
    if (!watch->is_ours) fcntl(socket, F_SETFD, FD_CLOEXEC);
    if (watch->group == NULL) watch->silent_since = loop->now;
    watch->group = group;
    watch->easy = easy;
    watch->last_activity = loop->now;
    return 0;
}

static uint32_t next_generation(const struct watch *watch) { return (watch->generation + 1) & INT32_MAX; }

pulse_curl_socket pulse_loop_open_socket(struct pulse_loop *loop, const struct pulse_curl_sockaddr *address) {
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (descriptor < 0) return PULSE_CURL_SOCKET_BAD;
    if (!make_room(loop, descriptor)) {
        close(descriptor);
        return PULSE_CURL_SOCKET_BAD;
    }
    struct watch *watch = &loop->watches[descriptor];
    *watch = (struct watch){.is_ours = true, .generation = next_generation(watch)};
    return descriptor;
}

int pulse_loop_close_socket(void *context, pulse_curl_socket socket) {
    struct pulse_loop *loop = context;
    if (socket >= 0 && socket < loop->watch_count) {
        struct watch *watch = &loop->watches[socket];
        *watch = (struct watch){.generation = next_generation(watch)};
    }
    return close(socket);
}

// Called by libcurl to set a timer: curl_multi_timer_callback.
static int set_timer(PulseCURLM *multi, long milliseconds, void *context) {
    (void)multi;
    struct group *group = context;
    group->timer = milliseconds < 0 ? -1
        : milliseconds == 0 ? 0 : pulse_monotonic_now() + (double)milliseconds / 1e3;
    return 0;
}

// Gives a group a multi handle that reports to the loop. False without memory.
static bool open_multi(struct group *group, struct pulse_loop *loop) {
    group->loop = loop;
    group->timer = -1;
    group->multi = pulse_curl.curl_multi_init();
    if (group->multi == NULL) return false;
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_SOCKETFUNCTION, watch_socket);
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_SOCKETDATA, group);
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_TIMERFUNCTION, set_timer);
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_TIMERDATA, group);
    return true;
}

struct pulse_loop *pulse_loop_create(long connections) {
    struct pulse_loop *loop = calloc(1, sizeof(struct pulse_loop));
    if (loop == NULL) return NULL;
    if (!pulse_poller_open(&loop->poller)) {
        free(loop);
        return NULL;
    }
    loop->now = pulse_monotonic_now();
    loop->connections = connections;
    return loop;
}

// Opens a group for its first transfer: a multi handle has two descriptors, and few clients need all groups.
static bool open_group(struct pulse_loop *loop, int index) {
    struct group *group = &loop->groups[index];
    if (group->multi != NULL) return true;
    if (!open_multi(group, loop)) return false;
    group->next = loop->first;
    loop->first = group;
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_MAXCONNECTS, loop->connections);
    // In a sharing group as many streams as the server allows; libcurl's default limit is 100.
    long streams = index < PULSE_LOOP_SHARING_GROUPS ? 1000 : 1;
    pulse_curl.curl_multi_setopt(group->multi, PULSE_CURLMOPT_MAX_CONCURRENT_STREAMS, streams);
    return true;
}

void pulse_loop_close(struct pulse_loop *loop) {
    for (int index = 0; index < PULSE_LOOP_GROUPS; index++) {
        if (loop->groups[index].multi != NULL) pulse_curl.curl_multi_cleanup(loop->groups[index].multi);
        loop->groups[index].multi = NULL;
    }
}

void pulse_loop_destroy(struct pulse_loop *loop) {
    pulse_poller_close(loop->poller);
    free(loop->watches);
    free(loop);
}

void pulse_loop_wake(struct pulse_loop *loop) { pulse_poller_wake(loop->poller); }

static void act(struct group *group, pulse_curl_socket socket, int events) {
    int running;
    pulse_curl.curl_multi_socket_action(group->multi, socket, events, &running);
}

double pulse_loop_next_timer(const struct pulse_loop *loop) {
    double next = INFINITY;
    for (const struct group *group = loop->first; group != NULL; group = group->next) {
        if (group->timer >= 0 && group->timer < next) next = group->timer;
    }
    return next;
}

void pulse_loop_wait(struct pulse_loop *loop, double until) {
    loop->ready_count =
        epoll_wait(loop->poller.epoll, loop->ready, PULSE_POLLER_TURN, pulse_poller_timeout(until));
}

// Whether a socket still has bytes to read after libcurl acted on it. That call may have closed it.
static bool has_more(const struct pulse_loop *loop, int descriptor, uint32_t generation) {
    const struct watch *watch = &loop->watches[descriptor];
    if (watch->generation != generation || watch->group == NULL || !(watch->events & EPOLLIN)) return false;
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 && count > 0;
}

void pulse_loop_act(struct pulse_loop *loop) {
    loop->now = pulse_monotonic_now();
    for (int index = 0; index < loop->ready_count; index++) {
        const struct epoll_event *event = &loop->ready[index];
        if (event->data.u64 == PULSE_POLLER_WAKE_UP) continue;
        int descriptor = (int)(uint32_t)event->data.u64;
        struct watch *watch = &loop->watches[descriptor];
        // The socket was closed; another one may have its descriptor.
        if (watch->generation != (uint32_t)(event->data.u64 >> 32)) continue;
        if (watch->group == NULL) {
            // Closed by the peer, or with unsolicited bytes: the next transfer that reuses the connection checks it.
            stop_watching(loop, descriptor);
            continue;
        }
        watch->last_activity = loop->now;
        if (event->events & EPOLLIN) watch->silent_since = loop->now;
        int ready = 0;
        if (event->events & EPOLLIN) ready |= PULSE_CURL_CSELECT_IN;
        if (event->events & EPOLLOUT) ready |= PULSE_CURL_CSELECT_OUT;
        if (event->events & (EPOLLERR | EPOLLHUP)) ready |= PULSE_CURL_CSELECT_ERR;
        uint32_t generation = watch->generation;
        act(watch->group, descriptor, ready);
        for (int read = 1; read < READS_PER_EVENT && has_more(loop, descriptor, generation); read++) {
            act(loop->watches[descriptor].group, descriptor, PULSE_CURL_CSELECT_IN);
        }
    }
    loop->ready_count = 0;
    pulse_loop_act_on_timers(loop);
}

void pulse_loop_act_on_timers(struct pulse_loop *loop) {
    loop->now = pulse_monotonic_now();
    for (struct group *group = loop->first; group != NULL; group = group->next) {
        if (group->timer < 0 || group->timer > loop->now) continue;
        // Before the call, which may set the next timer.
        group->timer = -1;
        act(group, PULSE_CURL_SOCKET_TIMEOUT, 0);
    }
}

bool pulse_loop_add(struct pulse_loop *loop, int group, PulseCURL *easy) {
    return open_group(loop, group)
        && pulse_curl.curl_multi_add_handle(loop->groups[group].multi, easy) == PULSE_CURLM_OK;
}

void pulse_loop_remove(struct pulse_loop *loop, int group, PulseCURL *easy) {
    pulse_curl.curl_multi_remove_handle(loop->groups[group].multi, easy);
}

PulseCURL *pulse_loop_next_ended(struct pulse_loop *loop, int *result) {
    for (const struct group *group = loop->first; group != NULL; group = group->next) {
        int left;
        struct pulse_curl_message *message;
        while ((message = pulse_curl.curl_multi_info_read(group->multi, &left)) != NULL) {
            if (message->msg != PULSE_CURLMSG_DONE) continue;
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

#endif
