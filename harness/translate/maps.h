/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of /proc/PID/maps: "begin-end rwxp offset device inode path". Uses no C library, since
 * the code inside counted and sampled programs includes this header. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carm_maps_line {
    uint64_t begin, end, offset;
    uint64_t inode;
    bool writable, executable, shared;
    const char *path; /* in the line; "" = no file */
};

/* Reads the digits of a base and moves *at behind them. returns false without a digit, or for
 * more than 64 bits */
static inline bool carm_maps_number(const char **at, unsigned base, uint64_t *number)
{
    const char *begin = *at;
    *number = 0;
    for (;; (*at)++) {
        const char c = **at;
        const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                               : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                      : 16;
        if (digit >= base) {
            return *at > begin;
        }
        if (*number > (UINT64_MAX - digit) / base) {
            return false;
        }
        *number = *number * base + digit;
    }
}

static inline bool carm_maps_pass(const char **at, char c)
{
    const bool there = **at == c;
    *at += there;
    return there;
}

/* line  without its newline; borrowed
 * returns false for text that is no such line, for example the rest of a cut line */
static inline bool carm_maps_read(const char *line, struct carm_maps_line *out)
{
    const char *at = line;
    uint64_t unused = 0;
    if (!carm_maps_number(&at, 16, &out->begin) || !carm_maps_pass(&at, '-') ||
        !carm_maps_number(&at, 16, &out->end) || !carm_maps_pass(&at, ' ')) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (!at[i]) {
            return false;
        }
    }
    out->writable = at[1] == 'w';
    out->executable = at[2] == 'x';
    out->shared = at[3] == 's';
    at += 4;
    if (!carm_maps_pass(&at, ' ') || !carm_maps_number(&at, 16, &out->offset) ||
        !carm_maps_pass(&at, ' ') || !carm_maps_number(&at, 16, &unused) ||
        !carm_maps_pass(&at, ':') || !carm_maps_number(&at, 16, &unused) ||
        !carm_maps_pass(&at, ' ') || !carm_maps_number(&at, 10, &out->inode)) {
        return false;
    }
    while (*at == ' ') {
        at++;
    }
    out->path = at;
    return out->begin < out->end;
}

/* The path of a line, unescaped: the kernel writes a newline as \012.
 * to  [room]
 * returns its length; 0 when the path does not fit: a cut path would name another file */
static inline size_t carm_maps_path(const char *path, char *to, size_t room)
{
    size_t n = 0;
    for (; *path && n + 1 < room; n++) {
        const bool newline = path[0] == '\\' && path[1] == '0' && path[2] == '1' && path[3] == '2';
        to[n] = newline ? '\n' : *path;
        path += newline ? 4 : 1;
    }
    n = *path ? 0 : n;
    to[n] = '\0';
    return n;
}
