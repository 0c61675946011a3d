// SPDX-License-Identifier: MIT
//
// libcurl's multi interface over epoll. One thread at a time may call its functions, except for `pulse_loop_wait`,
// which one thread calls again and again, and `pulse_loop_wake`, `pulse_loop_await` and its like, which any thread may
// call at any time.

#ifndef PULSE_CURL_LOOP_H
#define PULSE_CURL_LOOP_H

#include <stdbool.h>
#include <sys/types.h>

#include "curl_abi.h"

struct pulse_loop;

/// A group of transfers that share connections; those of two groups never do.
enum { PULSE_LOOP_GROUPS = 2 };

/// A new loop; NULL where the system has no descriptors or no memory left. At most `connections` idle connections are
/// kept.
struct pulse_loop *pulse_loop_create(long connections);

/// Closes all of libcurl's connections. All transfers must have been removed, and nobody may wait; from then on only
/// `pulse_loop_wake`, `pulse_loop_await` and its like may be called.
void pulse_loop_close(struct pulse_loop *loop);

/// Frees a loop that was closed.
void pulse_loop_destroy(struct pulse_loop *loop);

/// Lets `pulse_loop_wait` return; if none is under way, the next one returns at once.
void pulse_loop_wake(struct pulse_loop *loop);

/// Waits for sockets or a wake-up, or until that time of the monotonic clock, in seconds; INFINITY waits for ever.
void pulse_loop_wait(struct pulse_loop *loop, double until);

/// The most sockets that one wait finds. Few, so that those that wait for the first of them need not wait for the last.
enum { PULSE_LOOP_TURN = 16 };

/// The numbers of the sockets that are not libcurl's and that the last wait has found; true if it has found nothing
/// else. For the thread that waits.
bool pulse_loop_plain_ready(const struct pulse_loop *loop, uint64_t numbers[PULSE_LOOP_TURN], int *count);

/// Has the loop find a socket that is not libcurl's, once, as soon as it can be read (or, if so asked, written) or has
/// failed. The number is below 2^63. False where the system has no memory for that.
bool pulse_loop_await(const struct pulse_loop *loop, int socket, bool or_writing, uint64_t number);

/// The same each time that something has come, until it is awaited once, or ignored.
bool pulse_loop_await_always(const struct pulse_loop *loop, int socket, uint64_t number);

/// Has the loop find it no more.
void pulse_loop_ignore(const struct pulse_loop *loop, int socket, uint64_t number);

/// `send`, which neither waits nor raises a signal.
ssize_t pulse_socket_send(int socket, const void *bytes, size_t count);

/// The socket of a transfer that only connects, under a descriptor of its own for the caller to close; -1 without one.
int pulse_loop_take_socket(struct pulse_loop *loop, PulseCURL *easy);

/// Lets libcurl act on what the last wait has found, and on timers that are due. For the thread that waits.
void pulse_loop_act(struct pulse_loop *loop);

/// Lets libcurl act on timers that are due, such as that of a transfer just added.
void pulse_loop_act_on_timers(struct pulse_loop *loop);

/// When the first timer is due, in seconds of the monotonic clock; INFINITY without any.
double pulse_loop_next_timer(const struct pulse_loop *loop);

/// Opens a socket for libcurl, or gives PULSE_CURL_SOCKET_BAD, and closes one: the two callbacks of its options.
pulse_curl_socket pulse_loop_open_socket(struct pulse_loop *loop, const struct pulse_curl_sockaddr *address);
int pulse_loop_close_socket(void *loop, pulse_curl_socket socket);

/// A socket, and which one of those that have had its descriptor.
struct pulse_socket {
    int descriptor;
    uint32_t generation;
};

/// Says whether sockets to be read from now on are left to the caller, if their connections were used before.
void pulse_loop_leave_reading(struct pulse_loop *loop, bool leaves);
/// The last socket that was left since then; false without one. Its answer is not waited for in the loop: the starter of
/// its transfer looks for it.
bool pulse_loop_left(const struct pulse_loop *loop, struct pulse_socket *left);
/// Whether the socket is still left; if there is something to read, libcurl reads it.
bool pulse_loop_look_at(struct pulse_loop *loop, struct pulse_socket left);
/// Has the loop wait for that socket again, if it is still left.
void pulse_loop_take_back(struct pulse_loop *loop, struct pulse_socket left);

bool pulse_loop_add(struct pulse_loop *loop, int group, PulseCURL *easy);
void pulse_loop_remove(struct pulse_loop *loop, int group, PulseCURL *easy);

/// The next transfer that has ended and its result, or NULL.
PulseCURL *pulse_loop_next_ended(struct pulse_loop *loop, int *group, int *result);

/// Seconds of the monotonic clock: at the last act, and now.
double pulse_loop_now(const struct pulse_loop *loop);
double pulse_monotonic_now(void);

/// When a socket of the transfer was last ready to be read or written, in seconds of the monotonic clock; 0 if not
/// known. It looks at all sockets.
double pulse_loop_last_activity(const struct pulse_loop *loop, const PulseCURL *easy);

/// The socket of the connection that a transfer has; false where that cannot be known, such as in the file system.
bool pulse_loop_connection(struct pulse_loop *loop, PulseCURL *easy, struct pulse_socket *found);
/// For how many seconds nothing has come over a connection, of the time that transfers were waiting for something.
double pulse_loop_silence(const struct pulse_loop *loop, struct pulse_socket socket);
/// Whether the peer's system has acknowledged nothing for so many seconds, though bytes were sent again and again.
bool pulse_loop_is_unreachable(const struct pulse_loop *loop, struct pulse_socket socket, double seconds);
/// Notes for how many seconds the server of a connection keeps it open while it is idle, as it has said.
void pulse_loop_note_idle_limit(const struct pulse_loop *loop, struct pulse_socket socket, double seconds);
/// How many of these seconds are left for a connection that a transfer has just taken up again; INFINITY if its server has
/// not said. The addresses are those that `CURLOPT_PREREQFUNCTION` tells.
double pulse_loop_idle_time_left(struct pulse_loop *loop, const char *remote, int remote_port, int local_port);
/// Ends a connection under libcurl, which finds it closed by the peer; does nothing to one that is closed already.
void pulse_loop_cut(const struct pulse_loop *loop, struct pulse_socket socket);

/// To be called by a loop's own thread, first of all. Keeps a write to a connection that the peer has reset from ending
/// the process, and the thread from interrupting those that it wakes.
void pulse_loop_begin_thread(void);

/// Whether a kept-alive connection that a transfer has just taken up again is open and has nothing to read: on HTTP/1.1
/// any bytes there would be taken for the answer to the request that is about to leave. libcurl itself only looks
/// whether it is open. The addresses are those that `CURLOPT_PREREQFUNCTION` tells.
bool pulse_loop_is_quiet(
    struct pulse_loop *loop, PulseCURL *easy, const char *remote, int remote_port, int local_port);

#endif
