// SPDX-License-Identifier: MIT
//
// The parts of brotli's and zstd's binary interfaces that PulseKit uses; `Scripts/check-abi` compares them with the
// headers.

#ifndef PULSE_DECODER_ABI_H
#define PULSE_DECODER_ABI_H

#include <stddef.h>
#include <stdint.h>

// brotli/decode.h
#define PULSE_BROTLI_VALUES(X) \
    X(BROTLI_DECODER_RESULT_SUCCESS, 1) \
    X(BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, 2) \
    X(BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT, 3)

// brotli/decode.h: result, name, parameters
#define PULSE_BROTLI_FUNCTIONS(X) \
    X(void *, BrotliDecoderCreateInstance, (void *, void *, void *)) \
    X(int, BrotliDecoderDecompressStream, (void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *)) \
    X(void, BrotliDecoderDestroyInstance, (void *))

// zstd.h: ZSTD_inBuffer
struct pulse_zstd_input {
    const void *src;
    size_t size;
    size_t pos;
};

// zstd.h: ZSTD_outBuffer
struct pulse_zstd_output {
    void *dst;
    size_t size;
    size_t pos;
};

// zstd.h
#define PULSE_ZSTD_VALUES(X) \
    X(ZSTD_d_windowLogMax, 100)

// zstd.h: result, name, parameters
#define PULSE_ZSTD_FUNCTIONS(X) \
    X(void *, ZSTD_createDCtx, (void)) \
    X(size_t, ZSTD_DCtx_setParameter, (void *, int, int)) \
    X(size_t, ZSTD_decompressStream, (void *, void *, void *)) \
    X(unsigned int, ZSTD_isError, (size_t)) \
    X(size_t, ZSTD_freeDCtx, (void *))

#define PULSE_DECODER_ENUMERATOR(name, value) PULSE_##name = value,
enum { PULSE_BROTLI_VALUES(PULSE_DECODER_ENUMERATOR) PULSE_ZSTD_VALUES(PULSE_DECODER_ENUMERATOR) };
#undef PULSE_DECODER_ENUMERATOR

#endif
