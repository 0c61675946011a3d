// SPDX-License-Identifier: MIT

#ifndef BENCHMARK_SQLITE_H
#define BENCHMARK_SQLITE_H

/// A table of text keys and blobs, in WAL mode with synchronous=FULL: what is inserted is on the disk.
typedef struct benchmark_table benchmark_table;

/// NULL if there is no sqlite3, or it does not open the file.
benchmark_table *benchmark_table_open(const char *path);

/// One row in one transaction; 0 for success.
int benchmark_table_insert(benchmark_table *table, const char *key, const void *bytes, int count);

void benchmark_table_close(benchmark_table *table);

#endif
