// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "netlink.h"
#include "network.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int pulse_netlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

void pulse_netlink_drain(int descriptor) {
    char buffer[8192];
    // An overflow fails one call; the messages after it are read normally.
    for (int i = 0; i < 1000; i++) {
        if (recv(descriptor, buffer, sizeof buffer, MSG_DONTWAIT) < 0) return;
    }
}

void pulse_netlink_close(int descriptor) { close(descriptor); }

static bool exists(const char *name, const char *file) {
    char path[64 + IFNAMSIZ];
    snprintf(path, sizeof path, "/sys/class/net/%s/%s", name, file);
    return access(path, F_OK) == 0;
}

static int kind(const char *name) {
    if (exists(name, "wireless") || exists(name, "phy80211")) return PULSE_ROUTE_WIRELESS;
    if (strncmp(name, "wwan", 4) == 0 || strncmp(name, "rmnet", 5) == 0) return PULSE_ROUTE_CELLULAR;
    return exists(name, "device") || strncmp(name, "eth", 3) == 0 || strncmp(name, "en", 2) == 0 ? PULSE_ROUTE_WIRED
                                                                                                 : PULSE_ROUTE_OTHER;
}

static void add_kind(const char *name, void *kinds) {
    if (pulse_interface_runs(name)) *(int *)kinds |= kind(name);
}

int pulse_default_routes(void) {
    int kinds = 0;
    return pulse_for_each_default_route(add_kind, &kinds) ? kinds : PULSE_ROUTE_OTHER;
}

#endif
