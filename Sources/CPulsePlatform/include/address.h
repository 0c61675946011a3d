// SPDX-License-Identifier: MIT
//
// Addresses, name resolution, and sockets that connect.

#ifndef PULSE_ADDRESS_H
#define PULSE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/// A `struct sockaddr` of any family, with its length.
struct pulse_address {
    uint32_t length;
    uint64_t words[16];
};

/// Parses an IP address literal, possibly with a zone; false for a name. Performs no lookup.
bool pulse_address_parse(const char *text, struct pulse_address *address);

/// The address of a unix-domain socket; false if the path is empty or too long.
bool pulse_address_of_path(const char *path, struct pulse_address *address);

/// Looks up a name, which may block for long. Returns 0 and the number of addresses, in the order of RFC 6724, or an
/// error of `getaddrinfo`.
int pulse_address_look_up(const char *name, struct pulse_address *addresses, int capacity, int *count);

void pulse_address_set_port(struct pulse_address *address, uint16_t port);

/// `AF_INET`, `AF_INET6` or `AF_UNIX`.
int pulse_address_family(const struct pulse_address *address);

enum { PULSE_ADDRESS_TEXT_SIZE = 64 };

/// Writes an IP address literal, without zone and port; false for another family.
bool pulse_address_text(const struct pulse_address *address, char text[PULSE_ADDRESS_TEXT_SIZE]);

/// Opens a non-blocking socket, and starts connecting it. Returns 0 and the socket, or an errno.
int pulse_socket_connect(const struct pulse_address *address, int *socket);

/// Returns 0 for a connected socket, EINPROGRESS while it connects, or the errno of its failure, once.
int pulse_socket_connect_result(int socket);

/// Runs a function on a new detached thread. False if the system cannot start one.
bool pulse_thread_start(void *(*body)(void *context), void *context);

#endif
