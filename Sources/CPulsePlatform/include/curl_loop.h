// SPDX-License-Identifier: MIT
//
// libcurl's multi interface over epoll. One thread at a time may call its functions, with two exceptions. One thread
// calls `pulse_loop_wait` repeatedly. Any thread may call `pulse_loop_wake` at any time.

#ifndef PULSE_CURL_LOOP_H
#define PULSE_CURL_LOOP_H

#include <stdbool.h>
#include <sys/types.h>

#include "curl_abi.h"
#include "poller.h"

struct pulse_loop;

/// Groups of transfers: those of different groups never use the same connection. In the first ones, HTTP/2 transfers
/// share a connection at the same time. In the others a connection has one transfer at a time.
enum { PULSE_LOOP_SHARING_GROUPS = 2, PULSE_LOOP_GROUPS = 4 };

/// A new loop; NULL where the system has no descriptors or no memory left. Each group keeps at most
/// `connections` idle connections.
struct pulse_loop *pulse_loop_create(long connections);

/// Closes all of libcurl's connections. All transfers must be removed, and no thread may be waiting. Afterwards only
/// `pulse_loop_wake` may be called.
void pulse_loop_close(struct pulse_loop *loop);

/// Frees a closed loop.
void pulse_loop_destroy(struct pulse_loop *loop);

/// Makes `pulse_loop_wait` return; without a wait under way, the next one returns at once.
void pulse_loop_wake(struct pulse_loop *loop);

/// Waits for sockets or a wake-up, or until that time of the monotonic clock, in seconds; INFINITY waits forever.
void pulse_loop_wait(struct pulse_loop *loop, double until);

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
PulseCURL *pulse_loop_next_ended(struct pulse_loop *loop, int *result);

/// The time of the last act, in seconds of the monotonic clock.
double pulse_loop_now(const struct pulse_loop *loop);

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

/// Whether a reused keep-alive connection is open and has nothing to read: on HTTP/1.1 pending bytes would pass for the
/// response to the next request. libcurl itself only checks that it is open. The addresses are those of
/// `CURLOPT_PREREQFUNCTION`.
bool pulse_loop_is_quiet(
    struct pulse_loop *loop, PulseCURL *easy, const char *remote, int remote_port, int local_port);

#endif
