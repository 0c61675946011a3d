// SPDX-License-Identifier: MIT
//
// Compression by the zlib that libcurl has loaded. Thread-safe, as long as only one thread at a time uses a
// `pulse_deflate`.

#ifndef PULSE_DEFLATE_H
#define PULSE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all functions that are used are there. The functions below may be called only after it has given true.
bool pulse_deflate_load(void);

/// A raw DEFLATE stream (RFC 1951), at the library's own middle level.
struct pulse_deflate;

enum pulse_deflate_result {
    /// All input is taken; more may follow.
    PULSE_DEFLATE_HUNGRY,
    /// The output is full: call again with room.
    PULSE_DEFLATE_FULL,
    /// All output is out.
    PULSE_DEFLATE_ENDED,
    PULSE_DEFLATE_FAILED,
};

/// A new stream; NULL without memory.
struct pulse_deflate *pulse_deflate_new(void);

/// Takes bytes from the front of the input and puts some into the output. The counts give how many there are, and
/// return how many were taken and put.
enum pulse_deflate_result pulse_deflate_run(
    struct pulse_deflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count,
    bool is_last);

void pulse_deflate_free(struct pulse_deflate *stream);

#endif
