/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each bit of a code flipped: how many are refused with a sentence, and how many pass. */
#pragma once

#include "asm/recount.h"
#include "tests/unit.h"

enum { REASONS_MOST = 48, REASON_MAX = 96 };

struct reason {
    /* "" = they pass: another register or constant, but the same length, or a bit that the CPU ignores */
    const char *why;
    unsigned times;
};

/* The sentence without name, offset and instruction of the code, and without numbers. Which foreign instruction the bits
 * are depends on the version of the disassembler. */
static inline void sentence_of(const char *text, char why[REASON_MAX])
{
    static const char *const foreign[] = {
        "no whole instruction", "outside the repertoire",     "to an instruction set",
        "it writes ",           "no instruction of the code", "may execute it",
        "use no prefixes",      "other operands than"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (strstr(text, foreign[i])) {
            (void)strcpy(why, "foreign");
            return;
        }
    }
    const char *from = strrchr(text, ':');
    size_t n = 0;
    for (from = from ? from + 2 : text; *from && n + 1 < REASON_MAX; from++) {
        if (*from < '0' || *from > '9') {
            why[n++] = *from;
        } else if (n == 0 || why[n - 1] != '#') {
            why[n++] = '#';
        }
    }
    why[n] = '\0';
}

/* Flips the bits of a code, of its setup, loop and end.
 * check    of the code with a flipped bit; fills err
 * wanted   [REASONS_MOST] ends with NULL
 * returns how many reasons have another number */
static inline unsigned flip_bits(const char *name, uint8_t *bytes,
                                 const struct carm_code_layout *layout, int (*check)(void *arg),
                                 void *arg, const struct reason *wanted)
{
    static char whys[REASONS_MOST][REASON_MAX];
    unsigned times[REASONS_MOST] = {0}, wrong = 0;
    size_t reasons = 0;
    for (uint64_t i = 8 * layout->begin; i < 8 * layout->end; i++) {
        char why[REASON_MAX];
        size_t k = 0;
        err = (struct carm_err){""};
        bytes[i / 8] = (uint8_t)(bytes[i / 8] ^ 1U << i % 8);
        const int rc = check(arg);
        bytes[i / 8] = (uint8_t)(bytes[i / 8] ^ 1U << i % 8);
        assert_true((rc == 0) == (err.text[0] == '\0'));
        sentence_of(err.text, why);
        while (k < reasons && strcmp(whys[k], why) != 0) {
            k++;
        }
        assert_true(k < REASONS_MOST);
        memcpy(whys[k], why, sizeof why);
        reasons += k == reasons;
        times[k]++;
    }
    for (size_t r = 0; wanted[r].why; r++) {
        size_t k = 0;
        while (k < reasons && strcmp(whys[k], wanted[r].why) != 0) {
            k++;
        }
        if (k == reasons || times[k] != wanted[r].times) {
            print_error("%s: %u flipped bits: '%s', not %u\n", name, k < reasons ? times[k] : 0,
                        wanted[r].why, wanted[r].times);
            wrong++;
        }
        if (k < reasons) {
            times[k] = 0;
        }
    }
    for (size_t k = 0; k < reasons; k++) {
        if (times[k]) {
            print_error("%s: {\"%s\", %u},\n", name, whys[k], times[k]);
            wrong++;
        }
    }
    return wrong;
}
