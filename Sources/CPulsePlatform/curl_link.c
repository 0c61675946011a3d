// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "curl_link.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "curl_library.h"
#include "curl_loop_state.h"
#include "curl_table.h"

struct pulse_link {
    struct group group;
    PulseCURL *easy;
    bool holds_signals;
    // Whether the group is among the loop's.
    bool is_listed;
};

struct pulse_link *pulse_link_create(struct pulse_loop *loop, PulseCURL *easy, bool holds_signals) {
    struct pulse_link *link = calloc(1, sizeof *link);
    if (link == NULL) return NULL;
    link->easy = easy;
    link->holds_signals = holds_signals;
    if (pulse_group_open(&link->group, loop)) return link;
    free(link);
    return NULL;
}

int pulse_link_close_socket(void *context, pulse_curl_socket socket) {
    const struct pulse_link *link = context;
    return link->group.loop != NULL ? pulse_loop_close_socket(link->group.loop, socket) : close(socket);
}

static void remove_from_loop(struct pulse_link *link) {
    if (!link->is_listed) return;
    struct group **place = &link->group.loop->first;
    while (*place != &link->group) place = &(*place)->next;
    *place = link->group.next;
    link->is_listed = false;
}

bool pulse_link_connect(struct pulse_link *link) {
    if (pulse_curl.curl_multi_add_handle(link->group.multi, link->easy) != PULSE_CURLM_OK) return false;
    link->group.next = link->group.loop->first;
    link->group.loop->first = &link->group;
    link->is_listed = true;
    return true;
}

pulse_curl_socket pulse_link_leave_loop(struct pulse_link *link) {
    pulse_curl_socket socket = PULSE_CURL_SOCKET_BAD;
    pulse_curl.curl_easy_getinfo(link->easy, PULSE_CURLINFO_ACTIVESOCKET, &socket);
    if (socket == PULSE_CURL_SOCKET_BAD) return -1;
    pulse_loop_forget_socket(link->group.loop, socket);
    remove_from_loop(link);
    link->group.loop = NULL;
    pulse_curl.curl_multi_setopt(link->group.multi, PULSE_CURLMOPT_SOCKETFUNCTION, NULL);
    pulse_curl.curl_multi_setopt(link->group.multi, PULSE_CURLMOPT_TIMERFUNCTION, NULL);
    return socket;
}

// Keeps SIGPIPE from this thread during a call.
struct hold {
    sigset_t signal, before;
    bool was_pending;
};

static void begin(const struct pulse_link *link, struct hold *hold) {
    if (!link->holds_signals) return;
    sigset_t pending;
    sigemptyset(&hold->signal);
    sigaddset(&hold->signal, SIGPIPE);
    hold->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &hold->signal, &hold->before);
}

static void end(const struct pulse_link *link, const struct hold *hold) {
    if (!link->holds_signals) return;
    // Consumes the signal of the call, not an earlier one.
    const struct timespec now = {0};
    while (!hold->was_pending && sigtimedwait(&hold->signal, NULL, &now) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
}

int pulse_link_receive(struct pulse_link *link, void *buffer, size_t room, size_t *count) {
    struct hold hold;
    begin(link, &hold);
    // Reading may write, too: for a key update.
    int result = pulse_curl.curl_easy_recv(link->easy, buffer, room, count);
    end(link, &hold);
    return result;
}

int pulse_link_send(struct pulse_link *link, const void *bytes, size_t count, size_t *sent) {
    struct hold hold;
    begin(link, &hold);
    int result = pulse_curl.curl_easy_send(link->easy, bytes, count, sent);
    end(link, &hold);
    return result;
}

void pulse_link_close(struct pulse_link *link) {
    struct hold hold;
    begin(link, &hold);
    remove_from_loop(link);
    pulse_curl.curl_multi_remove_handle(link->group.multi, link->easy);
    // Before 7.86 this alone closes the connection.
    pulse_curl.curl_multi_cleanup(link->group.multi);
    end(link, &hold);
    free(link);
}

#endif
