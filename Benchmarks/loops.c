// SPDX-License-Identifier: MIT
//
// libcurl's two ways to drive many transfers: curl_multi_perform with curl_multi_poll, and
// curl_multi_socket_action with epoll, once with sockets registered on request, and once with sockets that stay in epoll
// between transfers. Usage: loops URL; see the script beside it.

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, REQUESTS = 4000, CONNECTIONS = 1024 };

enum way { POLL, EPOLL, EPOLL_KEPT, WAYS };

static int epoll;
static enum way way;
static double timer = -1;

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static size_t ignore(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

// By descriptor: its epoll events, and whether libcurl still needs them.
static struct {
    unsigned events;
    int is_watched;
} sockets[65536];

static int close_socket(void *context, curl_socket_t socket) {
    (void)context;
    sockets[socket].events = 0;
    return close(socket);
}

static void forget(curl_socket_t socket) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket, NULL);
    sockets[socket].events = 0;
}

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy;
    (void)context;
    (void)known;
    sockets[socket].is_watched = what != CURL_POLL_REMOVE;
    if (what == CURL_POLL_REMOVE) {
        if (way == EPOLL) forget(socket);
        return 0;
    }
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (event.events == sockets[socket].events) return 0;
    epoll_ctl(epoll, sockets[socket].events != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
    sockets[socket].events = event.events;
    return 0;
}

static int set_timer(CURLM *multi, long milliseconds, void *context) {
    (void)multi;
    (void)context;
    timer = milliseconds < 0 ? -1 : seconds(CLOCK_MONOTONIC) + (double)milliseconds / 1e3;
    return 0;
}

static void turn_poll(CURLM *multi) {
    int running;
    curl_multi_perform(multi, &running);
    if (running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
}

static void turn_epoll(CURLM *multi) {
    struct epoll_event events[128];
    int running, wait = 1000;
    if (timer >= 0) {
        double left = (timer - seconds(CLOCK_MONOTONIC)) * 1e3;
        wait = left <= 0 ? 0 : (int)left + 1;
    }
    int count = epoll_wait(epoll, events, 128, wait);
    for (int index = 0; index < count; index++) {
        if (!sockets[events[index].data.fd].is_watched) {
            forget(events[index].data.fd);
            continue;
        }
        int ready = (events[index].events & EPOLLIN ? CURL_CSELECT_IN : 0)
            | (events[index].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
        curl_multi_socket_action(multi, events[index].data.fd, ready, &running);
    }
    if (timer < 0 || timer > seconds(CLOCK_MONOTONIC)) return;
    timer = -1;
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

// Processor microseconds per request.
static double run(const char *url, int in_flight) {
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    epoll = epoll_create1(0);
    timer = -1;
    if (way != POLL) {
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    }
    CURL **handles = calloc((size_t)in_flight, sizeof(CURL *));
    for (int index = 0; index < in_flight; index++) {
        handles[index] = curl_easy_init();
        curl_easy_setopt(handles[index], CURLOPT_URL, url);
        curl_easy_setopt(handles[index], CURLOPT_WRITEFUNCTION, ignore);
        curl_easy_setopt(handles[index], CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(handles[index], CURLOPT_CLOSESOCKETFUNCTION, close_socket);
        curl_multi_add_handle(multi, handles[index]);
    }
    int ended = 0, total = REQUESTS + in_flight;
    double start = 0;
    while (ended < total) {
        if (way == POLL) turn_poll(multi);
        else turn_epoll(multi);
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left)) != NULL) {
            if (message->data.result != CURLE_OK) exit(1);
            CURL *easy = message->easy_handle;
            curl_multi_remove_handle(multi, easy);
            // The first request of each handle opens its connection and is not measured.
            if (++ended == in_flight) start = seconds(CLOCK_PROCESS_CPUTIME_ID);
            if (ended + in_flight <= total) curl_multi_add_handle(multi, easy);
        }
    }
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
    for (int index = 0; index < in_flight; index++) curl_easy_cleanup(handles[index]);
    curl_multi_cleanup(multi);
    free(handles);
    close(epoll);
    return used / REQUESTS * 1e6;
}

int main(int count, char **arguments) {
    if (count != 2 || curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK) return 2;
    printf("processor time for a request, best of %d\n", ROUNDS);
    printf("%12s %12s %12s %12s\n", "in flight", "poll", "epoll", "epoll, kept");
    const int levels[] = {1, 32, 256, 1000};
    for (int level = 0; level < 4; level++) {
        double best[WAYS] = {1e9, 1e9, 1e9};
        for (int round = 0; round < WAYS * ROUNDS; round++) {
            way = (enum way)(round % WAYS);
            double time = run(arguments[1], levels[level]);
            if (time < best[way]) best[way] = time;
        }
        printf("%12d %9.1f us %9.1f us %9.1f us\n", levels[level], best[POLL], best[EPOLL], best[EPOLL_KEPT]);
    }
    return 0;
}
