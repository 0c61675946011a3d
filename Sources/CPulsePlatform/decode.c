// SPDX-License-Identifier: MIT

#if defined(__linux__)

#include "decode.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "decoder_abi.h"
#include "zlib_table.h"

static struct {
#define PULSE_DECODER_MEMBER(result, name, parameters) result(*name) parameters;
    PULSE_BROTLI_FUNCTIONS(PULSE_DECODER_MEMBER)
    PULSE_ZSTD_FUNCTIONS(PULSE_DECODER_MEMBER)
#undef PULSE_DECODER_MEMBER
} library;

static bool has_brotli, has_zstd;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Never unloaded. dlsym returns an object pointer; POSIX guarantees that it converts to a function pointer.
static void load(void) {
    void *brotli = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
    void *zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
#define PULSE_BROTLI_RESOLVE(result, name, parameters) && (*(void **)&library.name = dlsym(brotli, #name)) != NULL
    has_brotli = brotli != NULL PULSE_BROTLI_FUNCTIONS(PULSE_BROTLI_RESOLVE);
#undef PULSE_BROTLI_RESOLVE
#define PULSE_ZSTD_RESOLVE(result, name, parameters) && (*(void **)&library.name = dlsym(zstd, #name)) != NULL
    has_zstd = zstd != NULL PULSE_ZSTD_FUNCTIONS(PULSE_ZSTD_RESOLVE);
#undef PULSE_ZSTD_RESOLVE
}

bool pulse_decoder_load(enum pulse_coding coding) {
    pthread_once(&once, load);
    switch (coding) {
    case PULSE_CODING_BROTLI: return has_brotli;
    case PULSE_CODING_ZSTD: return has_zstd;
    default: return pulse_deflate_load();
    }
}

struct pulse_decoder {
    enum pulse_coding coding;
    union {
        struct pulse_zlib_stream zlib;
        void *state;
    };
};

// Eight MiB, the maximum for coded content (RFC 9659, section 3): a frame could request much more.
enum { LARGEST_WINDOW = 23 };

static bool begin(struct pulse_decoder *decoder) {
    switch (decoder->coding) {
    case PULSE_CODING_BROTLI:
        decoder->state = library.BrotliDecoderCreateInstance(NULL, NULL, NULL);
        return decoder->state != NULL;
    case PULSE_CODING_ZSTD:
        decoder->state = library.ZSTD_createDCtx();
        return decoder->state != NULL
            && !library.ZSTD_isError(
                library.ZSTD_DCtx_setParameter(decoder->state, PULSE_ZSTD_d_windowLogMax, LARGEST_WINDOW));
    default: {
        int bits = decoder->coding == PULSE_CODING_RAW ? PULSE_ZLIB_RAW
            : decoder->coding == PULSE_CODING_ZLIB ? PULSE_ZLIB_FRAMED : PULSE_ZLIB_GZIP;
        return pulse_zlib.inflateInit2_(
            &decoder->zlib, bits, pulse_zlib.zlibVersion(), (int)sizeof decoder->zlib) == PULSE_Z_OK;
    }
    }
}

struct pulse_decoder *pulse_decoder_new(enum pulse_coding coding) {
    struct pulse_decoder *decoder = pulse_decoder_load(coding) ? calloc(1, sizeof *decoder) : NULL;
    if (decoder == NULL) return NULL;
    decoder->coding = coding;
    if (begin(decoder)) return decoder;
    pulse_decoder_free(decoder);
    return NULL;
}

static enum pulse_deflate_result run_brotli(
    void *state, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count) {
    size_t left = *input_count, room = *output_count;
    int result = library.BrotliDecoderDecompressStream(state, &left, &input, &room, &output, NULL);
    *input_count -= left;
    *output_count -= room;
    switch (result) {
    case PULSE_BROTLI_DECODER_RESULT_SUCCESS: return PULSE_DEFLATE_ENDED;
    case PULSE_BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: return PULSE_DEFLATE_HUNGRY;
    case PULSE_BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: return PULSE_DEFLATE_FULL;
    default: return PULSE_DEFLATE_FAILED;
    }
}

static enum pulse_deflate_result run_zstd(
    void *state, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count) {
    struct pulse_zstd_input in = {input, *input_count, 0};
    struct pulse_zstd_output out = {output, *output_count, 0};
    size_t result = library.ZSTD_decompressStream(state, &out, &in);
    *input_count = in.pos;
    *output_count = out.pos;
    if (library.ZSTD_isError(result)) return PULSE_DEFLATE_FAILED;
    if (result == 0) return PULSE_DEFLATE_ENDED;
    return out.pos == out.size || in.pos < in.size ? PULSE_DEFLATE_FULL : PULSE_DEFLATE_HUNGRY;
}

enum pulse_deflate_result pulse_decoder_run(
    struct pulse_decoder *decoder, const uint8_t *input, size_t *input_count, uint8_t *output, size_t *output_count) {
    switch (decoder->coding) {
    case PULSE_CODING_BROTLI: return run_brotli(decoder->state, input, input_count, output, output_count);
    case PULSE_CODING_ZSTD: return run_zstd(decoder->state, input, input_count, output, output_count);
    default: {
        enum pulse_deflate_result result = pulse_zlib_run(
            pulse_zlib.inflate, &decoder->zlib, input, input_count, output, output_count, PULSE_Z_NO_FLUSH);
        if (result == PULSE_DEFLATE_ENDED) pulse_zlib.inflateReset(&decoder->zlib);
        return result;
    }
    }
}

void pulse_decoder_free(struct pulse_decoder *decoder) {
    switch (decoder->coding) {
    case PULSE_CODING_BROTLI:
        if (decoder->state != NULL) library.BrotliDecoderDestroyInstance(decoder->state);
        break;
    case PULSE_CODING_ZSTD:
        library.ZSTD_freeDCtx(decoder->state);
        break;
    default:
        // zlib rejects a stream that was never initialized.
        pulse_zlib.inflateEnd(&decoder->zlib);
    }
    free(decoder);
}

#endif
