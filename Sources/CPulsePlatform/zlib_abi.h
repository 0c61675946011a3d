// SPDX-License-Identifier: MIT
//
// The parts of zlib's binary interface that PulseKit uses; `Scripts/check-abi` compares them with the header.

#ifndef PULSE_ZLIB_ABI_H
#define PULSE_ZLIB_ABI_H

#include <stddef.h>
#include <stdint.h>

// zlib.h: struct z_stream_s
struct pulse_zlib_stream {
    const uint8_t *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *zalloc;
    void *zfree;
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
};

// zlib.h
#define PULSE_ZLIB_VALUES(X) \
    X(Z_NO_FLUSH, 0) \
    X(Z_SYNC_FLUSH, 2) \
    X(Z_FINISH, 4) \
    X(Z_OK, 0) \
    X(Z_STREAM_END, 1) \
    X(Z_BUF_ERROR, -5) \
    X(Z_DEFAULT_COMPRESSION, -1) \
    X(Z_DEFAULT_STRATEGY, 0) \
    X(Z_RLE, 3) \
    X(Z_DEFLATED, 8)

#define PULSE_ZLIB_ENUMERATOR(name, value) PULSE_##name = value,
enum { PULSE_ZLIB_VALUES(PULSE_ZLIB_ENUMERATOR) };
#undef PULSE_ZLIB_ENUMERATOR

// zlib.h: result, name, parameters
#define PULSE_ZLIB_FUNCTIONS(X) \
    X(const char *, zlibVersion, (void)) \
    X(int, deflateInit2_, (void *, int, int, int, int, int, const char *, int)) \
    X(int, deflate, (void *, int)) \
    X(int, deflateEnd, (void *)) \
    X(int, inflateInit2_, (void *, int, const char *, int)) \
    X(int, inflate, (void *, int)) \
    X(int, inflateReset, (void *)) \
    X(int, inflateResetKeep, (void *)) \
    X(int, inflateEnd, (void *))

#endif
