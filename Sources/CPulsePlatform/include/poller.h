// SPDX-License-Identifier: MIT
//
// epoll with a wake-up. One thread waits; any thread may call the other functions at any time.

#ifndef PULSE_POLLER_H
#define PULSE_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pulse_poller {
    int epoll;
    int wakeups;
};

/// The event number of the wake-up.
static const uint64_t PULSE_POLLER_WAKE_UP = UINT64_MAX;

/// False where the system has no descriptors left; nothing needs to be closed then.
bool pulse_poller_open(struct pulse_poller *poller);
void pulse_poller_close(struct pulse_poller poller);

/// Makes the wait return; without a wait in progress, the next one returns at once.
void pulse_poller_wake(struct pulse_poller poller);

/// The maximum number of sockets that one wait returns. Few, so that the first of them need not wait for the last.
enum { PULSE_POLLER_TURN = 16 };

struct pulse_poller_event {
    uint64_t number;
    bool is_readable;
    bool is_writable;
    /// The peer has ended its direction, or the connection is broken: a short read does not mean that the next one
    /// would block.
    bool has_ended;
};

/// Waits for sockets or a wake-up, or until this time of the monotonic clock. Returns the number of events.
int pulse_poller_wait(
    struct pulse_poller poller, double until, struct pulse_poller_event events[PULSE_POLLER_TURN]);

/// Reports each time that a socket becomes readable or writable, under a number below UINT64_MAX. False if memory is
/// exhausted.
bool pulse_poller_add(struct pulse_poller poller, int socket, uint64_t number);

/// Reports once that a descriptor is readable, or writable, under a number below UINT64_MAX. Calling it again rearms
/// the report, in place of the earlier one. False if out of memory.
bool pulse_poller_arm(struct pulse_poller poller, int descriptor, uint64_t number, bool writes);

/// Ends the reports of a socket. Closing it alone would leave epoll watching a socket that has another descriptor.
void pulse_poller_remove(struct pulse_poller poller, int socket);

/// Closes a watched socket.
void pulse_poller_close_socket(struct pulse_poller poller, int socket);

/// `accept` of a connection that child processes do not inherit.
int pulse_socket_accept(int listener);

/// `send` that neither blocks nor raises a signal.
ssize_t pulse_socket_send(int socket, const void *bytes, size_t count);

/// Seconds of the monotonic clock.
double pulse_monotonic_now(void);

/// A thread that waits must call this first. It prevents writes to a reset connection from ending the process, and the
/// thread from preempting the threads that it wakes.
void pulse_poller_begin_thread(void);

#endif
