// SPDX-License-Identifier: MIT
//
// libcurl's multi interface over epoll. One thread at a time may call its functions, with two exceptions. One thread
// calls `pulse_loop_wait` repeatedly. Any thread may call `pulse_loop_wake` and the `pulse_loop_await` functions at any
// time.

#ifndef PULSE_CURL_LOOP_H
#define PULSE_CURL_LOOP_H

#include <stdbool.h>
#include <sys/types.h>

#include "curl_abi.h"

struct pulse_loop;

/// A group of transfers that share connections; transfers of different groups never do.
enum { PULSE_LOOP_GROUPS = 2 };

/// A new loop; NULL where the system has no descriptors or no memory left. It keeps at most `connections` idle
/// connections.
struct pulse_loop *pulse_loop_create(long connections);

/// Closes all of libcurl's connections. All transfers must be removed, and no thread may be waiting. Afterwards only
/// `pulse_loop_wake` and the `pulse_loop_await` functions may be called.
void pulse_loop_close(struct pulse_loop *loop);

/// Frees a closed loop.
void pulse_loop_destroy(struct pulse_loop *loop);

/// Makes `pulse_loop_wait` return; without a wait under way, the next one returns at once.
void pulse_loop_wake(struct pulse_loop *loop);

/// Waits for sockets or a wake-up, or until that time of the monotonic clock, in seconds; INFINITY waits forever.
void pulse_loop_wait(struct pulse_loop *loop, double until);

/// The maximum number of sockets that one wait returns. Few, so that the first of them need not wait for the last.
enum { PULSE_LOOP_TURN = 16 };

/// The numbers of the sockets that are not libcurl's and that the last wait has returned. True if it has returned
/// nothing else. For the waiting thread.
bool pulse_loop_plain_ready(const struct pulse_loop *loop, uint64_t numbers[PULSE_LOOP_TURN], int *count);

/// Makes the loop watch a socket that is not libcurl's, once, until it is readable (or, if requested, writable) or has
/// failed. The number is below 2^63. False where the system has no memory for that.
bool pulse_loop_await(const struct pulse_loop *loop, int socket, bool or_writing, uint64_t number);

/// Watches for every arrival, until `pulse_loop_await`.
bool pulse_loop_await_always(const struct pulse_loop *loop, int socket, uint64_t number);

/// `send` that neither blocks nor raises a signal.
ssize_t pulse_socket_send(int socket, const void *bytes, size_t count);

/// The socket of a connect-only transfer, under a duplicate descriptor that the caller closes; -1 without one.
int pulse_loop_take_socket(struct pulse_loop *loop, PulseCURL *easy);

/// Makes libcurl act on the events of the last wait, and on expired timers. For the waiting thread.
void pulse_loop_act(struct pulse_loop *loop);

/// Makes libcurl act on expired timers, such as that of a transfer just added.
void pulse_loop_act_on_timers(struct pulse_loop *loop);

/// When the first timer expires, in seconds of the monotonic clock; INFINITY without any.
double pulse_loop_next_timer(const struct pulse_loop *loop);

/// Open and close a socket for libcurl: its two callbacks. Opening returns PULSE_CURL_SOCKET_BAD on failure.
pulse_curl_socket pulse_loop_open_socket(struct pulse_loop *loop, const struct pulse_curl_sockaddr *address);
int pulse_loop_close_socket(void *loop, pulse_curl_socket socket);

/// A socket, with its generation among the sockets that have had its descriptor.
struct pulse_socket {
    int descriptor;
    uint32_t generation;
};

bool pulse_loop_add(struct pulse_loop *loop, int group, PulseCURL *easy);
void pulse_loop_remove(struct pulse_loop *loop, int group, PulseCURL *easy);

/// The next ended transfer and its result, or NULL.
PulseCURL *pulse_loop_next_ended(struct pulse_loop *loop, int *group, int *result);

/// Seconds of the monotonic clock: at the last act, and now.
double pulse_loop_now(const struct pulse_loop *loop);
double pulse_monotonic_now(void);

/// When a socket of the transfer was last readable or writable, in seconds of the monotonic clock; 0 if unknown. It
/// scans all sockets.
double pulse_loop_last_activity(const struct pulse_loop *loop, const PulseCURL *easy);

/// The socket of a transfer's connection; false where it is unknown, such as for Unix domain sockets.
bool pulse_loop_connection(struct pulse_loop *loop, PulseCURL *easy, struct pulse_socket *found);
/// For how many seconds a connection was silent, counting only the time when transfers were waiting for it.
double pulse_loop_silence(const struct pulse_loop *loop, struct pulse_socket socket);
/// Whether the peer's system has acknowledged nothing for that many seconds, although bytes were retransmitted
/// repeatedly.
bool pulse_loop_is_unreachable(const struct pulse_loop *loop, struct pulse_socket socket, double seconds);
/// Records for how many seconds the server keeps the idle connection open, as it has declared.
void pulse_loop_note_idle_limit(const struct pulse_loop *loop, struct pulse_socket socket, double seconds);
/// How many of these seconds are left for a connection that a transfer has just reused; INFINITY if its server has
/// declared none. The addresses are those of `CURLOPT_PREREQFUNCTION`.
double pulse_loop_idle_time_left(struct pulse_loop *loop, const char *remote, int remote_port, int local_port);
/// Closes a connection underneath libcurl, which then sees it closed by the peer. No effect on a closed one.
void pulse_loop_cut(const struct pulse_loop *loop, struct pulse_socket socket);

/// The loop's own thread must call this first. It prevents writes to a reset connection from ending the process, and
/// the thread from preempting the threads that it wakes.
void pulse_loop_begin_thread(void);

/// Whether a reused keep-alive connection is open and has nothing to read: on HTTP/1.1 pending bytes would pass for the
/// response to the next request. libcurl itself only checks that it is open. The addresses are those of
/// `CURLOPT_PREREQFUNCTION`.
bool pulse_loop_is_quiet(
    struct pulse_loop *loop, PulseCURL *easy, const char *remote, int remote_port, int local_port);

#endif
