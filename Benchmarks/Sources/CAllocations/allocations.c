// SPDX-License-Identifier: MIT

#include "CAllocations.h"

#include <stdlib.h>

#if defined(__GLIBC__)

#include <errno.h>
#include <stdatomic.h>

// The executable's own `malloc` replaces the C library's for every library in the process; glibc supports that
// ("Replacing malloc"), and has its own under these names. While counting is off, a wrapper costs a load and a branch.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

static atomic_bool is_counting;
static atomic_uint_fast64_t blocks;

static inline void count(void) {
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size) {
    count();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *result = memalign(alignment, size);
    if (result == NULL) return ENOMEM;
    *block = result;
    return 0;
}

void free(void *block) {
    __libc_free(block);
}

bool callocations_are_counted(void) {
    return true;
}

void callocations_start(void) {
    atomic_store(&blocks, 0);
    atomic_store(&is_counting, true);
}

uint64_t callocations_stop(void) {
    atomic_store(&is_counting, false);
    return atomic_load(&blocks);
}

#else

bool callocations_are_counted(void) {
    return false;
}

void callocations_start(void) {}

uint64_t callocations_stop(void) {
    return 0;
}

#endif
