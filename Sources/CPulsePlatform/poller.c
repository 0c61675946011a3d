// SPDX-License-Identifier: MIT

#if defined(__linux__)

// For accept4 and SCHED_BATCH.
#define _GNU_SOURCE

#include "poller.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

double pulse_monotonic_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void pulse_poller_begin_thread(void) {
    // PulseKit's own sends use MSG_NOSIGNAL; other code that this thread calls may write to a socket without it.
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    // Otherwise this thread, woken by a response, would preempt the thread that continues with that response. Its share
    // of the processor stays the same. A refusal by the system is harmless.
    struct sched_param parameters = {0};
    if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &parameters);
}

bool pulse_poller_open(struct pulse_poller *poller) {
    *poller = (struct pulse_poller){epoll_create1(EPOLL_CLOEXEC), eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    // Edge-triggered, so that no read is needed.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = PULSE_POLLER_WAKE_UP};
    if (poller->epoll >= 0 && poller->wakeups >= 0
        && epoll_ctl(poller->epoll, EPOLL_CTL_ADD, poller->wakeups, &event) == 0) {
        return true;
    }
    pulse_poller_close(*poller);
    return false;
}

void pulse_poller_close(struct pulse_poller poller) {
    if (poller.epoll >= 0) close(poller.epoll);
    if (poller.wakeups >= 0) close(poller.wakeups);
}

void pulse_poller_wake(struct pulse_poller poller) {
    uint64_t one = 1;
    // The counter would overflow after some hundred years.
    ssize_t written = write(poller.wakeups, &one, sizeof one);
    (void)written;
}

// The milliseconds until that time of the monotonic clock, in seconds, for `epoll_wait`; -1 for INFINITY.
static int timeout(double until) {
    if (until == INFINITY) return -1;
    double left = (until - pulse_monotonic_now()) * 1e3;
    // Rounds up: rounding down would make the last millisecond a busy loop.
    return left <= 0 ? 0 : left > 1e9 ? 1000000000 : (int)left + 1;
}

int pulse_poller_wait(
    struct pulse_poller poller, double until, struct pulse_poller_event events[PULSE_POLLER_TURN]) {
    struct epoll_event ready[PULSE_POLLER_TURN];
    int found = epoll_wait(poller.epoll, ready, PULSE_POLLER_TURN, timeout(until));
    int count = 0;
    for (int index = 0; index < found; index++) {
        if (ready[index].data.u64 == PULSE_POLLER_WAKE_UP) continue;
        uint32_t flags = ready[index].events;
        bool is_broken = flags & (EPOLLERR | EPOLLHUP);
        events[count++] = (struct pulse_poller_event){
            .number = ready[index].data.u64,
            .is_readable = is_broken || flags & (EPOLLIN | EPOLLRDHUP),
            .is_writable = is_broken || flags & EPOLLOUT,
            .has_ended = is_broken || flags & EPOLLRDHUP,
        };
    }
    return count;
}

bool pulse_poller_add(struct pulse_poller poller, int socket, uint64_t number) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = number};
    return epoll_ctl(poller.epoll, EPOLL_CTL_ADD, socket, &event) == 0;
}

bool pulse_poller_arm(struct pulse_poller poller, int descriptor, uint64_t number, bool writes) {
    struct epoll_event event = {.events = (writes ? EPOLLOUT : EPOLLIN) | EPOLLONESHOT, .data.u64 = number};
    return epoll_ctl(poller.epoll, EPOLL_CTL_MOD, descriptor, &event) == 0
        || (errno == ENOENT && epoll_ctl(poller.epoll, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

void pulse_poller_remove(struct pulse_poller poller, int socket) {
    epoll_ctl(poller.epoll, EPOLL_CTL_DEL, socket, NULL);
}

void pulse_poller_close_socket(struct pulse_poller poller, int socket) {
    pulse_poller_remove(poller, socket);
    close(socket);
}

int pulse_socket_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }

ssize_t pulse_socket_send(int socket, const void *bytes, size_t count) {
    return send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

#endif
