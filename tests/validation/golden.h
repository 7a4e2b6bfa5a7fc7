/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text of all that came out, compared with tests/validation/machines/NAME.txt, line by line; UPDATE=1 writes the file. */
#pragma once

#include "tests/fingerprint.h"
#include "tests/unit.h"

static char *said;
static size_t said_bytes;
static FILE *text;

static inline void text_open(void)
{
    text = open_memstream(&said, &said_bytes);
    assert_non_null(text);
}

/* A fingerprint of the text so far, which begins anew. */
static inline unsigned text_print(void)
{
    uint64_t print = FINGERPRINT_NONE;
    assert_int_equal(fclose(text), 0);
    print = fingerprint(print, said, said_bytes);
    free(said);
    text_open();
    return (unsigned)(print & 0xffff);
}

static inline void text_is(const char *name)
{
    char path[4096], line[4096];
    size_t number = 0;
    const char *top = getenv("CARM_TOP");
    assert_int_equal(fclose(text), 0);
    const char *at = said;
    (void)snprintf(path, sizeof path, "%s/tests/validation/machines/%s.txt", top ? top : ".", name);
    const bool update = getenv("UPDATE") != NULL;
    FILE *golden = fopen(path, update ? "w" : "r");
    fail_if(!golden, "%s cannot be opened", path);
    if (update) {
        assert_true(fputs(said, golden) >= 0);
    }
    while (!update && fgets(line, sizeof line, golden)) {
        const size_t n = strlen(line);
        number++;
        fail_if(strncmp(at, line, n) != 0, "%s, line %zu is\n%.*s\nnot\n%s", name, number,
                (int)strcspn(at, "\n"), at, line);
        at += n;
    }
    fail_if(!update && *at, "%s, behind line %zu:\n%.*s", name, number, (int)strcspn(at, "\n"), at);
    assert_int_equal(fclose(golden), 0);
    free(said);
}
