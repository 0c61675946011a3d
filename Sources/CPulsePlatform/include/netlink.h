// SPDX-License-Identifier: MIT

#ifndef PULSE_NETLINK_H
#define PULSE_NETLINK_H

/// A socket that becomes readable when a link, an address or a route changes; -1 if it cannot be opened.
int pulse_netlink_open(void);

/// Reads and discards all pending messages.
void pulse_netlink_drain(int descriptor);

void pulse_netlink_close(int descriptor);

// Kinds of interfaces.
#define PULSE_ROUTE_WIRED 1
#define PULSE_ROUTE_WIRELESS 2
#define PULSE_ROUTE_CELLULAR 4
#define PULSE_ROUTE_OTHER 8

/// The kinds of the running interfaces with default routes; PULSE_ROUTE_OTHER where the system gives no information.
int pulse_default_routes(void);

#endif
