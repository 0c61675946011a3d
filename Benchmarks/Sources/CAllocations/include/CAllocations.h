// SPDX-License-Identifier: MIT

#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

/// Whether this platform's allocations can be counted.
bool callocations_are_counted(void);

/// Starts at zero, in all threads.
void callocations_start(void);

/// Stops, and gives the number of blocks asked for since the start. A block that grows counts as one more.
uint64_t callocations_stop(void);

#endif
