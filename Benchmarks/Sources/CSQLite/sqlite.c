// SPDX-License-Identifier: MIT

#include "CSQLite.h"

#include <dlfcn.h>
#include <stdlib.h>

struct benchmark_table {
    void *database, *statement;
};

// sqlite3.h: SQLITE_OK, SQLITE_DONE, SQLITE_STATIC
enum { OK = 0, DONE = 101 };

static struct {
    int (*open)(const char *, void **);
    int (*exec)(void *, const char *, void *, void *, char **);
    int (*prepare)(void *, const char *, int, void **, const char **);
    int (*bind_text)(void *, int, const char *, int, void (*)(void *));
    int (*bind_blob)(void *, int, const void *, int, void (*)(void *));
    int (*step)(void *);
    int (*reset)(void *);
    int (*finalize)(void *);
    int (*close)(void *);
    int (*busy_timeout)(void *, int);
} sqlite;

static int load(void) {
    void *library = dlopen("libsqlite3.so.0", RTLD_NOW);
    if (library == NULL) library = dlopen("libsqlite3.dylib", RTLD_NOW);
    if (library == NULL) return 0;
#define FIND(member, name) \
    if ((*(void **)&sqlite.member = dlsym(library, name)) == NULL) return 0
    FIND(open, "sqlite3_open");
    FIND(exec, "sqlite3_exec");
    FIND(prepare, "sqlite3_prepare_v2");
    FIND(bind_text, "sqlite3_bind_text");
    FIND(bind_blob, "sqlite3_bind_blob");
    FIND(step, "sqlite3_step");
    FIND(reset, "sqlite3_reset");
    FIND(finalize, "sqlite3_finalize");
    FIND(close, "sqlite3_close");
    FIND(busy_timeout, "sqlite3_busy_timeout");
    return 1;
}

benchmark_table *benchmark_table_open(const char *path) {
    benchmark_table *table = calloc(1, sizeof *table);
    if (table != NULL && load() && sqlite.open(path, &table->database) == OK
        && sqlite.busy_timeout(table->database, 60000) == OK
        && sqlite.exec(table->database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
               "CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, request BLOB)", NULL, NULL, NULL) == OK
        && sqlite.prepare(table->database, "INSERT INTO entries VALUES (?, ?)", -1, &table->statement, NULL) == OK) {
        return table;
    }
    free(table);
    return NULL;
}

int benchmark_table_insert(benchmark_table *table, const char *key, const void *bytes, int count) {
    sqlite.bind_text(table->statement, 1, key, -1, NULL);
    sqlite.bind_blob(table->statement, 2, bytes, count, NULL);
    int result = sqlite.step(table->statement);
    sqlite.reset(table->statement);
    return result == DONE ? 0 : result;
}

void benchmark_table_close(benchmark_table *table) {
    sqlite.finalize(table->statement);
    sqlite.close(table->database);
    free(table);
}
