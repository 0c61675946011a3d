// SPDX-License-Identifier: MIT

#ifndef PULSE_NETWORK_H
#define PULSE_NETWORK_H

#include <stdbool.h>

/// Whether there is a way to the internet: an IPv4 or IPv6 default route over a running interface. True where the
/// system does not tell.
bool pulse_has_default_route(void);

/// Whether the process, or the system, cannot open the few files and sockets that making a connection takes.
bool pulse_lacks_descriptors(void);

/// Visits the interfaces that default routes lead over. False where the system does not tell.
bool pulse_for_each_default_route(void (*visit)(const char *interface, void *state), void *state);

/// Whether an interface is up and has a carrier. True where the system does not tell.
bool pulse_interface_runs(const char *interface);

#endif
