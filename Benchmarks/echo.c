// SPDX-License-Identifier: MIT
//
// The echo server of `sockets`, and a client in C as the upper bound of what it serves. Usage:
//   echo serve          listens on a free port of loopback, and prints the port
//   echo drive PORT     a contender: assignments on standard input, figures on standard output
//
// Each connection has a process of its own with plain blocking calls. A message is sent back in one frame, together with
// all others that one read has completed.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { READ_SIZE = 256 << 10, HEADER = 14, CONTROL = 125 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void send_all(int peer, const uint8_t *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(peer, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) exit(0);
        bytes += sent;
        count -= (size_t)sent;
    }
}

// Writes a header that ends at `end`, and returns its size.
static size_t put_header(uint8_t *end, uint8_t opcode, uint8_t mask, uint64_t length) {
    size_t size = length < 126 ? 2 : length <= 0xFFFF ? 4 : 10;
    uint8_t *header = end - size;
    header[0] = 0x80 | opcode;
    header[1] = mask | (uint8_t)(size == 2 ? length : size == 4 ? 126 : 127);
    for (size_t index = 2; index < size; index++) header[index] = (uint8_t)(length >> 8 * (size - 1 - index));
    return size;
}

// MARK: The handshake

static uint32_t rotated(uint32_t word, int bits) {
    return word << bits | word >> (32 - bits);
}

// SHA-1 of a short text (RFC 3174).
static void sha1(const char *text, uint8_t digest[20]) {
    uint32_t state[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    uint8_t bytes[128] = {0};
    size_t length = strlen(text), blocks = (length + 72) / 64;
    memcpy(bytes, text, length);
    bytes[length] = 0x80;
    for (int index = 0; index < 8; index++) bytes[blocks * 64 - 1 - (size_t)index] = (uint8_t)(length * 8 >> 8 * index);
    for (size_t block = 0; block < blocks; block++) {
        uint32_t words[80];
        for (int index = 0; index < 16; index++) {
            const uint8_t *word = bytes + block * 64 + index * 4;
            words[index] = (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 | word[3];
        }
        for (int index = 16; index < 80; index++) {
            words[index] =
                rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1);
        }
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        for (int index = 0; index < 80; index++) {
            uint32_t mix = index < 20   ? ((b & c) | (~b & d)) + 0x5A827999
                           : index < 40 ? (b ^ c ^ d) + 0x6ED9EBA1
                           : index < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC
                                        : (b ^ c ^ d) + 0xCA62C1D6;
            uint32_t next = rotated(a, 5) + mix + e + words[index];
            e = d, d = c, c = rotated(b, 30), b = a, a = next;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
    }
    for (int index = 0; index < 20; index++) digest[index] = (uint8_t)(state[index / 4] >> 8 * (3 - index % 4));
}

static void base64(const uint8_t digest[20], char text[29]) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t padded[21] = {0};
    memcpy(padded, digest, 20);
    for (int index = 0; index < 28; index++) {
        const uint8_t *group = padded + index / 4 * 3;
        uint32_t bits = (uint32_t)group[0] << 16 | (uint32_t)group[1] << 8 | group[2];
        text[index] = alphabet[bits >> 6 * (3 - index % 4) & 63];
    }
    memcpy(text + 27, "=", 2);
}

// Reads up to the empty line. Neither side sends more before the other has its part.
static void read_fields(int peer, char *fields, size_t size) {
    size_t count = 0;
    do {
        ssize_t more = recv(peer, fields + count, size - 1 - count, 0);
        if (more <= 0) exit(0);
        count += (size_t)more;
        fields[count] = 0;
    } while (strstr(fields, "\r\n\r\n") == NULL && count < size - 1);
}

static void shake_hands(int peer) {
    char fields[8192], accepted[29], text[128];
    uint8_t digest[20];
    read_fields(peer, fields, sizeof fields);
    const char *key = strcasestr(fields, "\r\nSec-WebSocket-Key:");
    if (key == NULL || sscanf(key + 20, " %60[^ \r\n]", text) != 1) exit(1);
    strcat(text, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    sha1(text, digest);
    base64(digest, accepted);
    int count = snprintf(
        fields, sizeof fields,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
        accepted);
    send_all(peer, (const uint8_t *)fields, (size_t)count);
}

// MARK: The server

// What goes back, growing as needed.
static uint8_t *output;
static size_t output_count, output_size;

static void reserve(size_t count) {
    if (output_size - output_count >= count) return;
    output_size = 2 * (output_count + count);
    output = realloc(output, output_size);
    if (output == NULL) fail("realloc");
}

static size_t unmask(uint8_t *to, const uint8_t *from, size_t count, const uint8_t key[4], size_t phase) {
    uint8_t keys[8];
    uint64_t word;
    for (size_t index = 0; index < 8; index++) keys[index] = key[(phase + index) & 3];
    memcpy(&word, keys, 8);
    size_t index = 0;
    for (; index + 8 <= count; index += 8) {
        uint64_t part;
        memcpy(&part, from + index, 8);
        part ^= word;
        memcpy(to + index, &part, 8);
    }
    for (; index < count; index++) to[index] = from[index] ^ keys[index & 7];
    return phase + count;
}

static void serve(int peer) {
    static uint8_t input[READ_SIZE];
    uint8_t header[HEADER], control[HEADER + CONTROL];
    size_t have = 0, need = 2, phase = 0, start = 0, control_count = 0;
    uint64_t remaining = 0;
    int in_payload = 0, opcode = 0, in_message = 0;
    shake_hands(peer);
    for (;;) {
        ssize_t count = recv(peer, input, sizeof input, 0);
        if (count <= 0) exit(0);
        const uint8_t *next = input, *end = input + count;
        while (next < end || (in_payload && remaining == 0)) {
            if (!in_payload) {
                header[have++] = *next++;
                if (have == 2) need = 6 + ((header[1] & 127) == 126 ? 2 : (header[1] & 127) == 127 ? 8 : 0);
                if (have < need) continue;
                remaining = header[1] & 127;
                if (remaining > 125) remaining = 0;
                for (size_t index = 2; index < need - 4; index++) remaining = remaining << 8 | header[index];
                in_payload = 1, phase = 0, have = 0;
                int is_control = header[0] & 8;
                if (is_control && remaining > CONTROL) exit(1);
                if (!is_control && !in_message) {
                    // Room for the longest header before the message.
                    reserve(10 + remaining);
                    in_message = 1, opcode = header[0] & 15, start = output_count += 10;
                }
                continue;
            }
            size_t part = (size_t)(end - next);
            if (part > remaining) part = (size_t)remaining;
            if (header[0] & 8) {
                phase = unmask(control + HEADER + control_count, next, part, header + need - 4, phase);
                control_count += part;
            } else {
                reserve(part);
                phase = unmask(output + output_count, next, part, header + need - 4, phase);
                output_count += part;
            }
            next += part;
            remaining -= part;
            if (remaining > 0) continue;
            in_payload = 0;
            if (header[0] & 8) {
                int kind = header[0] & 15;
                // A close is confirmed by the same, a ping by a pong.
                if (kind != 10) {
                    size_t size = put_header(control + HEADER, kind == 9 ? 10 : 8, 0, control_count);
                    send_all(peer, control + HEADER - size, size + control_count);
                }
                if (kind == 8) exit(0);
                control_count = 0;
            } else if (header[0] & 0x80) {
                size_t length = output_count - start, size = put_header(output + start, (uint8_t)opcode, 0, length);
                // No gap is left before a short header.
                memmove(output + start - 10, output + start - size, size + length);
                output_count -= 10 - size;
                in_message = 0;
            }
        }
        if (!in_message && output_count > 0) {
            send_all(peer, output, output_count);
            output_count = 0;
        }
    }
}

static void listen_and_serve(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 16) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        fail("listen");
    }
    signal(SIGCHLD, SIG_IGN);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        int peer = accept(listener, NULL, NULL);
        if (peer < 0) fail("accept");
        pid_t child = fork();
        if (child < 0) fail("fork");
        if (child == 0) {
            close(listener);
            setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
            serve(peer);
        }
        close(peer);
    }
}

// MARK: The client

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double number(const char *line, const char *key) {
    const char *found = strstr(line, key);
    return found == NULL ? 0 : atof(found + strlen(key));
}

// Echoes of prepared frames whose bytes are only counted: what no client with a codec can exceed.
static void echo(int server, size_t size, size_t window, double duration) {
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID), start = seconds(CLOCK_MONOTONIC);
    uint8_t header[HEADER];
    size_t sent_header = put_header(header + HEADER - 4, 2, 0x80, size) + 4;
    size_t frame = sent_header + size, received_frame = sent_header - 4 + size;
    uint8_t *frames = calloc(window, frame), *input = malloc(READ_SIZE);
    if (frames == NULL || input == NULL) fail("malloc");
    memset(header + HEADER - 4, 0, 4);
    for (size_t index = 0; index < window; index++) {
        memcpy(frames + index * frame, header + HEADER - sent_header, sent_header);
    }
    send_all(server, frames, window * frame);
    size_t pending = window, bytes = 0, count = 0;
    while (pending > 0) {
        ssize_t more = recv(server, input, READ_SIZE, 0);
        if (more <= 0) exit(1);
        bytes += (size_t)more;
        size_t completed = bytes / received_frame;
        bytes %= received_frame;
        count += completed;
        if (completed > 0 && seconds(CLOCK_MONOTONIC) - start < duration) {
            send_all(server, frames, completed * frame);
        } else {
            pending -= completed;
        }
    }
    free(frames);
    free(input);
    printf(
        "{\"count\":%zu,\"seconds\":%.9f,\"processorSeconds\":%.9f,\"memoryBefore\":0,\"memoryPeak\":0}\n", count,
        seconds(CLOCK_MONOTONIC) - start, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
    fflush(stdout);
}

static void drive(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    int yes = 1, server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0) fail("connect");
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const char request[] =
        "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    char line[8192];
    send_all(server, (const uint8_t *)request, sizeof request - 1);
    read_fields(server, line, sizeof line);
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t window = (size_t)number(line, "\"window\":"), size = (size_t)number(line, "\"size\":");
        echo(server, size, window, number(line, "\"seconds\":"));
    }
}

int main(int count, char **arguments) {
    if (count == 2 && strcmp(arguments[1], "serve") == 0) {
        listen_and_serve();
    } else if (count == 3 && strcmp(arguments[1], "drive") == 0) {
        drive(atoi(arguments[2]));
    } else {
        fputs("usage: echo serve | drive PORT\n", stderr);
        return 2;
    }
}
