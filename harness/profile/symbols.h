/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of code: functions and source lines of the files that a program executed, by libdw. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct carm_symbols;
struct carm_symbols_module;

/* A function, from the file's symbols and its table for exceptions. */
struct carm_symbols_function {
    uint64_t begin, end; /* offsets in the file */
    const char *name;    /* readable (C++, Fortran); NULL = the file does not tell */
    /* malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign, valloc or pvalloc */
    bool allocates;
};

/* returns 0 or -CARM_ENOMEM */
int carm_symbols_open(struct carm_symbols **out, struct carm_err *err);
void carm_symbols_close(struct carm_symbols *symbols); /* NULL allowed */

/* Finds a file's functions. A file that cannot be read, or has other code by now, has none. Each
 * path and code is read once.
 * fd    borrowed; -1 = opened by its path
 * code  as in carm_module
 * returns NULL without memory */
struct carm_symbols_module *carm_symbols_find(struct carm_symbols *symbols, const char *path,
                                              uint64_t code, int fd);

/* Most bytes of a function's name in the name of a row; longer C++ names lose their arguments. */
enum { CARM_SYMBOLS_NAME = 80 };

/* "f<int, std::vector<int> >(int) [clone .cold]" becomes "f<>()". A list that the name's end cut is closed there.
 * end  behind the function's name; the text behind it stays */
void carm_symbols_drop_arguments(char *name, const char *end);

/* Functions in order. */
size_t carm_symbols_functions(const struct carm_symbols_module *module,
                              const struct carm_symbols_function **out);

/* Whether one of the functions allocates. */
bool carm_symbols_allocate(const struct carm_symbols_module *module);

/* The name of a function, "solve"; for an offset in no function (NULL) "app+0x1234". returns dst */
char *carm_symbols_name(char *dst, size_t size, const struct carm_symbols_module *module,
                        const struct carm_symbols_function *function, uint64_t at);

/* Below, at and last are the offsets of the first and last byte of the code to be named, usually a loop; last = at: one
 * instruction. Only an inlined function with both is named: a loop must not be named after a function inlined in it. */

/* The name of the innermost function that was inlined at an offset, except intrinsics and functions of the C++ library;
 * "" = none. returns dst */
char *carm_symbols_inlined(char *dst, size_t size, const struct carm_symbols_module *module,
                           uint64_t at, uint64_t last);

/* The line of source of the instruction at an offset, with the file's path; of an inlined intrinsic, or of a function
 * without the last byte, the line of its call. file: borrowed from the symbols
 * returns false where it is not known */
bool carm_symbols_line(const struct carm_symbols_module *module, uint64_t at, uint64_t last,
                       const char **file, int *line);

/* Bytes of the module's own debug file, which are read for the first line; 0 = it has none. */
uint64_t carm_symbols_line_bytes(const struct carm_symbols_module *module);

/* carm_symbols_line as "solve.c:42" without folders; "" = not known. returns dst */
char *carm_symbols_source(char *dst, size_t size, const struct carm_symbols_module *module,
                          uint64_t at, uint64_t last);

/* "libopenblas.so.0" of a path. */
const char *carm_symbols_file(const char *path);
