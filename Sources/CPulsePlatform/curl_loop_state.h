// SPDX-License-Identifier: MIT
//
// The state of a loop, for its source files.

#ifndef PULSE_CURL_LOOP_STATE_H
#define PULSE_CURL_LOOP_STATE_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "curl_loop.h"

struct group {
    // NULL once the loop has given up the transfer of a link.
    struct pulse_loop *loop;
    // The next of the loop's groups.
    struct group *next;
    PulseCURLM *multi;
    // In seconds of the monotonic clock; negative without a timer.
    double timer;
};

struct pulse_loop {
    struct pulse_poller poller;
    double now;
    // The number of idle connections that each group keeps.
    long connections;
    // Each has a multi handle from its first transfer on.
    struct group groups[PULSE_LOOP_GROUPS];
    // Those with a multi handle.
    struct group *first;
    // The events of the last wait.
    struct epoll_event ready[PULSE_POLLER_TURN];
    int ready_count;
    // Indexed by descriptor. A socket opened here stays in epoll between two transfers; its generation identifies the
    // socket.
    struct watch {
        bool is_ours;
        uint32_t generation;
        // The events that epoll watches for.
        uint32_t events;
        // The group of the transfer that waits for it; NULL for none.
        struct group *group;
        const PulseCURL *easy;
        double last_activity;
        // When the socket was last readable, or when transfers began to wait for that.
        double silent_since;
        // Whether the server has declared for how many seconds it keeps an idle connection open, and the limit.
        bool has_idle_limit;
        double idle_limit;
        // The identity of the connection; the ports are 0 until a second transfer reuses it.
        int local_port;
        int remote_port;
        char remote[INET6_ADDRSTRLEN];
    } *watches;
    int watch_count;
    // Indexed by local port: the last known socket of a reused connection, plus 1; 0 if unknown. libcurl does not
    // report a transfer's socket while the transfer runs.
    int sockets[UINT16_MAX + 1];
};

#endif
