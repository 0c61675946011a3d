// SPDX-License-Identifier: MIT
//
// Compression by the zlib that libcurl has loaded. Thread-safe, as long as only one thread at a time uses a
// `pulse_deflate`.

#ifndef PULSE_DEFLATE_H
#define PULSE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether all used functions are present. Call the functions below only after it has returned true.
bool pulse_deflate_load(void);

/// A raw DEFLATE stream (RFC 1951), at the library's default level.
struct pulse_deflate;

enum pulse_deflate_result {
    /// All input is consumed; more may follow.
    PULSE_DEFLATE_HUNGRY,
    /// The output buffer is full: call again with an empty one.
    PULSE_DEFLATE_FULL,
    /// The output is complete.
    PULSE_DEFLATE_ENDED,
    PULSE_DEFLATE_FAILED,
};

/// A new stream; NULL without memory.
struct pulse_deflate *pulse_deflate_new(void);

/// Consumes bytes from the front of the input and produces output. The counts pass the sizes in, and return how many
/// bytes were consumed and produced.
enum pulse_deflate_result pulse_deflate_run(
    struct pulse_deflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count,
    bool is_last);

void pulse_deflate_free(struct pulse_deflate *stream);

#endif
