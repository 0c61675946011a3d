// SPDX-License-Identifier: MIT
//
// A connection that stays with its libcurl handle: over TLS, or through a proxy. The handle has a multi handle of its
// own. Only there can its bytes be sent and received, and no limit of a pool closes it.

#ifndef PULSE_CURL_LINK_H
#define PULSE_CURL_LINK_H

#include <stdbool.h>
#include <stddef.h>

#include "curl_abi.h"
#include "curl_loop.h"

struct pulse_link;

/// A link for a handle, which a loop is going to connect; NULL without memory.
///
/// `holds_signals` prevents SIGPIPE from a libcurl whose TLS writes without MSG_NOSIGNAL.
struct pulse_link *pulse_link_create(struct pulse_loop *loop, PulseCURL *easy, bool holds_signals);

/// Closes the socket of a link for libcurl: its callback.
int pulse_link_close_socket(void *link, pulse_curl_socket socket);

/// Makes the loop connect it. False without memory.
bool pulse_link_connect(struct pulse_link *link);

/// Ends the loop's part in a connected link. Returns the socket, which stays libcurl's; -1 without one. From then on
/// the link belongs to one thread at a time, whatever happens to the loop.
pulse_curl_socket pulse_link_leave_loop(struct pulse_link *link);

/// `curl_easy_recv` and `curl_easy_send`, for a link that has left its loop.
int pulse_link_receive(struct pulse_link *link, void *buffer, size_t room, size_t *count);
int pulse_link_send(struct pulse_link *link, const void *bytes, size_t count, size_t *sent);

/// Closes the connection and frees the link. The handle belongs to the caller again.
void pulse_link_close(struct pulse_link *link);

#endif
