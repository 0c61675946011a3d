// SPDX-License-Identifier: MIT

#ifndef PULSE_ZLIB_TABLE_H
#define PULSE_ZLIB_TABLE_H

#include <stdbool.h>

#include "deflate.h"
#include "zlib_abi.h"

struct pulse_zlib_table {
#define PULSE_ZLIB_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_ZLIB_FUNCTIONS(PULSE_ZLIB_MEMBER)
#undef PULSE_ZLIB_MEMBER
};

extern struct pulse_zlib_table pulse_zlib;

// Window bits; 15 is the library's default. Negative values mean no wrapper, 16 more means gzip's.
enum { PULSE_ZLIB_RAW = -PULSE_DEFLATE_LARGEST_WINDOW, PULSE_ZLIB_FRAMED = 15, PULSE_ZLIB_GZIP = 15 + 16 };

/// Runs `deflate` or `inflate`; the counts are as in `pulse_deflate_run`. The flush is a value of zlib.
enum pulse_deflate_result pulse_zlib_run(
    int (*function)(void *, int), struct pulse_zlib_stream *stream, const uint8_t *input, size_t *input_count,
    uint8_t *output, size_t *output_count, int flush);

#endif
