// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "deflate.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "zlib_table.h"

struct pulse_zlib_table pulse_zlib;

static bool is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Never unloaded. dlsym returns an object pointer; POSIX guarantees that it converts to a function pointer.
static void load(void) {
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
#define PULSE_ZLIB_RESOLVE(result, name, parameters) \
    *(void **)&pulse_zlib.name = dlsym(library, #name); \
    if (pulse_zlib.name == NULL) return;
    PULSE_ZLIB_FUNCTIONS(PULSE_ZLIB_RESOLVE)
#undef PULSE_ZLIB_RESOLVE
    is_loaded = true;
}

bool pulse_deflate_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

struct pulse_deflate {
    struct pulse_zlib_stream zlib;
};

// zlib's default.
enum { MEMORY_LEVEL = 8 };

// The smallest window that zlib compresses with, unless a wrapper can declare that it used a larger one.
enum { SMALLEST_WINDOW = 9 };

// zlib interprets other values as more than a size.
static bool is_window(int bits) {
    return bits >= PULSE_DEFLATE_SMALLEST_WINDOW && bits <= PULSE_DEFLATE_LARGEST_WINDOW;
}

struct pulse_deflate *pulse_deflate_new(int window_bits) {
    struct pulse_deflate *stream = is_window(window_bits) ? calloc(1, sizeof *stream) : NULL;
    if (stream == NULL) return NULL;
    // Run-length encoding refers to the previous byte only, which is in any window.
    bool is_too_small = window_bits < SMALLEST_WINDOW;
    int result = pulse_zlib.deflateInit2_(
        &stream->zlib, PULSE_Z_DEFAULT_COMPRESSION, PULSE_Z_DEFLATED, -(is_too_small ? SMALLEST_WINDOW : window_bits),
        MEMORY_LEVEL, is_too_small ? PULSE_Z_RLE : PULSE_Z_DEFAULT_STRATEGY, pulse_zlib.zlibVersion(),
        (int)sizeof stream->zlib);
    if (result == PULSE_Z_OK) return stream;
    free(stream);
    return NULL;
}

static unsigned int at_most_int(size_t count) { return count > INT_MAX ? INT_MAX : (unsigned int)count; }

enum pulse_deflate_result pulse_zlib_run(
    int (*function)(void *, int), struct pulse_zlib_stream *stream, const uint8_t *input, size_t *input_count,
    uint8_t *output, size_t *output_count, int flush) {
    unsigned int given = at_most_int(*input_count), room = at_most_int(*output_count);
    bool is_all = given == *input_count;
    stream->next_in = input;
    stream->avail_in = given;
    stream->next_out = output;
    stream->avail_out = room;
    int result = function(stream, is_all ? flush : PULSE_Z_NO_FLUSH);
    *input_count = given - stream->avail_in;
    *output_count = room - stream->avail_out;
    if (result == PULSE_Z_STREAM_END) return PULSE_DEFLATE_ENDED;
    // PULSE_Z_BUF_ERROR means no progress, which the counts also show.
    if (result != PULSE_Z_OK && result != PULSE_Z_BUF_ERROR) return PULSE_DEFLATE_FAILED;
    return stream->avail_out == 0 || !is_all ? PULSE_DEFLATE_FULL : PULSE_DEFLATE_HUNGRY;
}

enum pulse_deflate_result pulse_deflate_run(
    struct pulse_deflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count,
    enum pulse_deflate_flush flush) {
    return pulse_zlib_run(
        pulse_zlib.deflate, &stream->zlib, input, input_count, output, output_count,
        flush == PULSE_DEFLATE_SYNC ? PULSE_Z_SYNC_FLUSH : flush == PULSE_DEFLATE_FINISH ? PULSE_Z_FINISH
                                                                                         : PULSE_Z_NO_FLUSH);
}

void pulse_deflate_free(struct pulse_deflate *stream) {
    pulse_zlib.deflateEnd(&stream->zlib);
    free(stream);
}

struct pulse_inflate {
    struct pulse_zlib_stream zlib;
};

struct pulse_inflate *pulse_inflate_new(int window_bits) {
    struct pulse_inflate *stream = is_window(window_bits) ? calloc(1, sizeof *stream) : NULL;
    if (stream == NULL) return NULL;
    int result = pulse_zlib.inflateInit2_(
        &stream->zlib, -window_bits, pulse_zlib.zlibVersion(), (int)sizeof stream->zlib);
    if (result == PULSE_Z_OK) return stream;
    free(stream);
    return NULL;
}

// The value of `data_type` that `inflate` sets after a block other than the last: a flag, plus the bits left of its
// last byte.
enum { IS_BETWEEN_BLOCKS = 128, ALL_OF_DATA_TYPE = 0xFF };

enum pulse_deflate_result pulse_inflate_run(
    struct pulse_inflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count) {
    enum pulse_deflate_result result = pulse_zlib_run(
        pulse_zlib.inflate, &stream->zlib, input, input_count, output, output_count, PULSE_Z_NO_FLUSH);
    if (result == PULSE_DEFLATE_ENDED) pulse_zlib.inflateResetKeep(&stream->zlib);
    bool is_between = (stream->zlib.data_type & ALL_OF_DATA_TYPE) == IS_BETWEEN_BLOCKS;
    return result == PULSE_DEFLATE_HUNGRY && is_between ? PULSE_DEFLATE_ENDED : result;
}

void pulse_inflate_free(struct pulse_inflate *stream) {
    pulse_zlib.inflateEnd(&stream->zlib);
    free(stream);
}

#endif
