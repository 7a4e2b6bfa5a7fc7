/* SPDX-License-Identifier: MIT */
/* How a carm function fails: a negative code and one sentence that the user can act on. Every room
 * may include this header; it depends on nothing. */
#pragma once

enum carm_error {
    CARM_EINVAL = 1,  /* the caller or the user asked for something that makes no sense */
    CARM_ENOTSUP = 2, /* cannot be measured here: the CPU, the kernel or a permission forbids it */
    CARM_ENOMEM = 3,  /* not enough memory */
    CARM_EIO = 4,     /* a file, a pipe or a child process failed */
    CARM_EFORMAT = 5, /* a file or code differs from the format that it claims */
    CARM_EINTR = 6,   /* the user interrupted */
};

struct carm_err {
    char text[512]; /* one sentence, no newline, names the remedy; "" when unset */
};

/* Fills e (NULL allowed) with a formatted sentence and returns -code, so that a failing function
 * can end with `return carm_fail(err, CARM_EIO, "...")`. */
__attribute__((format(printf, 3, 4))) int carm_fail(struct carm_err *e, enum carm_error code,
                                                    const char *fmt, ...);
#ifdef __clang_analyzer__ /* clang-tidy sees no variadic function's result: it is a failure's code */
#define carm_fail(...) (carm_fail(__VA_ARGS__), -CARM_EIO)
#endif
