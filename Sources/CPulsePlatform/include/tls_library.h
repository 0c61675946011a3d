// SPDX-License-Identifier: MIT
//
// The system's OpenSSL, 1.1.1 or later, loaded at run time. Thread-safe.

#ifndef PULSE_TLS_LIBRARY_H
#define PULSE_TLS_LIBRARY_H

#include <stdbool.h>

/// Loads libssl, once per process. Returns whether the system has it.
bool pulse_openssl_load(void);

/// The address of a function of libssl or libcrypto; NULL without the library, or for a function that it does not have.
void *pulse_openssl_symbol(const char *name);

#endif
