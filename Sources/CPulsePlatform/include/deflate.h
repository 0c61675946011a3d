// SPDX-License-Identifier: MIT
//
// Compression and decompression, using the system's `libz.so.1`, loaded at run time. Thread-safe, as long as only one
// thread at a time uses a `pulse_deflate` or a `pulse_inflate`.

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

/// The base-two logarithms of the DEFLATE window sizes that zlib can be limited to.
enum { PULSE_DEFLATE_SMALLEST_WINDOW = 8, PULSE_DEFLATE_LARGEST_WINDOW = 15 };

/// A new stream whose output needs no larger window to decompress; NULL if out of memory, or for another size.
///
/// zlib cannot search a window of 8 bits: it then compresses only repetitions of one byte, besides Huffman coding.
struct pulse_deflate *pulse_deflate_new(int window_bits);

enum pulse_deflate_flush {
    /// More input follows.
    PULSE_DEFLATE_NONE,
    /// The output so far decompresses to all of the input: it ends with an empty stored block, 00 00 FF FF.
    PULSE_DEFLATE_SYNC,
    /// The stream ends.
    PULSE_DEFLATE_FINISH,
};

/// Consumes bytes from the front of the input and produces output. The counts pass the sizes in, and return how many
/// bytes were consumed and produced.
enum pulse_deflate_result pulse_deflate_run(
    struct pulse_deflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count,
    enum pulse_deflate_flush flush);

void pulse_deflate_free(struct pulse_deflate *stream);

/// Decompresses raw DEFLATE streams (RFC 1951), each of which may refer to the bytes of the previous ones.
struct pulse_inflate;

/// A new stream for data with windows up to this size; NULL if out of memory, or for another size.
struct pulse_inflate *pulse_inflate_new(int window_bits);

/// Like `pulse_deflate_run`. PULSE_DEFLATE_ENDED means that the consumed input ends on a byte boundary with a block,
/// and that its output is complete; input may be left.
enum pulse_deflate_result pulse_inflate_run(
    struct pulse_inflate *stream, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count);

void pulse_inflate_free(struct pulse_inflate *stream);

#endif
