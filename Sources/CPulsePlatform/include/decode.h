// SPDX-License-Identifier: MIT
//
// Decoders of content codings, using the system's `libz.so.1`, `libbrotlidec.so.1` and `libzstd.so.1`, loaded at run
// time. Thread-safe, as long as only one thread at a time uses a `pulse_decoder`.

#ifndef PULSE_DECODE_H
#define PULSE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "deflate.h"

enum pulse_coding {
    /// RFC 1952.
    PULSE_CODING_GZIP,
    /// RFC 1950.
    PULSE_CODING_ZLIB,
    /// DEFLATE without a wrapper (RFC 1951).
    PULSE_CODING_RAW,
    /// RFC 7932.
    PULSE_CODING_BROTLI,
    /// RFC 8878, with the windows that RFC 9659 allows.
    PULSE_CODING_ZSTD,
};

/// Whether the coding's library is present.
bool pulse_decoder_load(enum pulse_coding coding);

struct pulse_decoder;

/// A new decoder; NULL if out of memory, or without the library.
struct pulse_decoder *pulse_decoder_new(enum pulse_coding coding);

/// Consumes bytes from the front of the input and produces output, like `pulse_deflate_run`. It may also produce bytes
/// before a failure. After the end of a frame it starts with the next one.
enum pulse_deflate_result pulse_decoder_run(
    struct pulse_decoder *decoder, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count);

void pulse_decoder_free(struct pulse_decoder *decoder);

#endif
