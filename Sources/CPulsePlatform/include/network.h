// SPDX-License-Identifier: MIT

#ifndef PULSE_NETWORK_H
#define PULSE_NETWORK_H

#include <stdbool.h>

/// Whether the internet is reachable: an IPv4 or IPv6 default route over a running interface. True where the system
/// gives no information.
bool pulse_has_default_route(void);

/// Whether the process or the system cannot open the few files and sockets that a connection needs.
bool pulse_lacks_descriptors(void);

/// Calls `visit` for each interface with a default route. False where the system gives no information.
bool pulse_for_each_default_route(void (*visit)(const char *interface, void *state), void *state);

/// Whether an interface is up and has a carrier. True where the system gives no information.
bool pulse_interface_runs(const char *interface);

#endif
