// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "network.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// linux/route.h: RTF_UP, RTF_REJECT
enum { ROUTE_UP = 0x0001, ROUTE_REJECT = 0x0200 };

static bool is_usable(unsigned int flags) { return (flags & ROUTE_UP) != 0 && (flags & ROUTE_REJECT) == 0; }

// Interface, destination, gateway, flags, three counters, mask; in hexadecimal.
static bool is_default_route_4(const char *line, char interface[33]) {
    unsigned int destination, flags, mask;
    return sscanf(line, "%32s %x %*x %x %*d %*d %*d %x", interface, &destination, &flags, &mask) == 4
        && destination == 0 && mask == 0 && is_usable(flags);
}

// Destination, its prefix, source, its prefix, next hop, metric, two counters, flags, interface.
static bool is_default_route_6(const char *line, char interface[33]) {
    char destination[33];
    unsigned int prefix, flags;
    return sscanf(line, "%32s %x %*s %*x %*s %*x %*x %*x %x %32s", destination, &prefix, &flags, interface) == 4
        && prefix == 0 && strspn(destination, "0") == 32 && is_usable(flags) && strcmp(interface, "lo") != 0;
}

static bool each_line(
    const char *path, bool (*matches)(const char *, char *), void (*visit)(const char *, void *), void *state
) {
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    char line[512], interface[33];
    while (fgets(line, sizeof line, file) != NULL) {
        if (matches(line, interface)) visit(interface, state);
    }
    fclose(file);
    return true;
}

bool pulse_for_each_default_route(void (*visit)(const char *interface, void *state), void *state) {
    bool has_4 = each_line("/proc/net/route", is_default_route_4, visit, state);
    bool has_6 = each_line("/proc/net/ipv6_route", is_default_route_6, visit, state);
    return has_4 || has_6;
}

bool pulse_interface_runs(const char *name) {
    struct ifreq request = {0};
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return true;
    // An unplugged cable leaves its routes in place.
    bool is_running = ioctl(descriptor, SIOCGIFFLAGS, &request) != 0
        || (request.ifr_flags & (IFF_UP | IFF_RUNNING)) == (IFF_UP | IFF_RUNNING);
    close(descriptor);
    return is_running;
}

static void note(const char *interface, void *found) {
    if (pulse_interface_runs(interface)) *(bool *)found = true;
}

bool pulse_lacks_descriptors(void) {
    // As many as a connection opens at a time: files and sockets of the resolver, its own socket, a file of authorities. A
    // failed attempt has closed them.
    int descriptors[4], count = 0;
    while (count < 4 && (descriptors[count] = eventfd(0, EFD_CLOEXEC)) >= 0) count++;
    bool lacks = count < 4 && (errno == EMFILE || errno == ENFILE);
    while (count > 0) close(descriptors[--count]);
    return lacks;
}

bool pulse_has_default_route(void) {
    bool found = false;
    return !pulse_for_each_default_route(note, &found) || found;
}

#endif
