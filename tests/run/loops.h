/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of machine code, and caches that find the lines and bytes which a test gives them: their functions are here in
 * place of run/levels.c. */
#pragma once

#include "run/verdict.h"
#include "tests/unit.h"

enum { AT = 0x1000, TIMES = 1000, PAGE = 4096, ACCESSES = 12, MIB = 1 << 20 };

/* What the caches say: of each instruction with a load or store, in order. */
struct at {
    double lines[3]; /* that come from L2, L3, memory, in TIMES iterations */
    struct carm_run_places places;
    bool unseen; /* a sample without it */
};
struct carm_run_levels {
    struct carm_run_simulation about;
    struct carm_run_figures figures;
    const struct at *at; /* [ACCESSES] */
    const struct carm_run_levels *changed;
};
static const struct carm_flow_code *code_of_levels;

bool carm_run_levels_lines(const struct carm_run_levels *levels, const struct carm_blocks *blocks,
                           uint32_t module, uint64_t at, double *lines,
                           struct carm_run_places *places)
{
    size_t k = 0;
    for (const struct carm_flow_op *op = code_of_levels->ops; op->at != at; op++) {
        k += op->loads || op->stores;
    }
    assert_true(k < ACCESSES && module == 7);
    const struct at *of = &levels->at[k];
    memcpy(lines, of->lines, sizeof of->lines);
    *places = of->places;
    return !of->unseen;
}

/* Of the sketch: its first register, and a hundred times its last. */
double carm_run_levels_pages(const struct carm_run_levels *levels,
                             const uint8_t sketch[CARM_RUN_PAGES_KEPT])
{
    return sketch[0] + 100.0 * sketch[CARM_RUN_PAGES_KEPT - 1];
}

const struct carm_run_simulation *carm_run_levels_about(const struct carm_run_levels *levels)
{
    return &levels->about;
}

const struct carm_run_levels *carm_run_levels_changed(const struct carm_run_levels *levels)
{
    return levels ? levels->changed : NULL;
}

const struct carm_run_figures *carm_run_levels_row(const struct carm_run_levels *levels, size_t row)
{
    return levels ? &levels->figures : NULL;
}

/* A loop of one piece, or of two from an offset on, the second of which is executed where the first has not jumped. Its
 * last instruction jumps back.
 * code   hexadecimal
 * taken  jumps at the end of the first piece, of two */
static inline struct carm_flow_code *decode(const char *code, size_t second, double taken)
{
    static struct carm_flow_code of;
    static struct carm_code_piece pieces[2];
    uint8_t bytes[128];
    size_t n = 0;
    for (char *next; *code; code = *next == ' ' ? next + 1 : next) {
        bytes[n++] = (uint8_t)strtoul(code, &next, 16);
    }
    free(of.ops);
    of = (struct carm_flow_code){
        .inner = true, .module = 7, .at = AT, .iterations = TIMES, .pieces = pieces};
    assert_ok(carm_flow_ops_decode(bytes, n, AT, TIMES, &of.ops, &of.nops, &of.ops_room, &err));
    pieces[0] = (struct carm_code_piece){.at = AT,
                                         .end = AT + (second ? second : n),
                                         .executions = TIMES,
                                         .target = AT,
                                         .taken = second ? taken : TIMES - 1,
                                         .jumps = true,
                                         .falls = true};
    pieces[1] = pieces[0];
    pieces[1].at = AT + second;
    pieces[1].end = AT + n;
    pieces[1].executions = taken >= 0.0 ? TIMES - taken : TIMES;
    pieces[1].taken = fmax(0.0, pieces[1].executions - 1);
    for (size_t i = 0; i < of.nops; i++) {
        pieces[second && of.ops[i].at >= AT + second].n++;
    }
    for (size_t i = pieces[0].n; i < of.nops && second && taken >= 0.0; i++) {
        of.ops[i].executions = TIMES - taken;
    }
    pieces[1].first = pieces[0].n;
    of.npieces = second ? 2 : 1;
    code_of_levels = &of;
    return &of;
}

/* Compares a text with the wanted one. With UPDATE in the environment it is printed instead. */
static inline void is_text(const char *name, const char *text, const char *wanted)
{
    if (getenv("UPDATE")) {
        print_message("%s: %s\n", name, text);
    } else if (strcmp(text, wanted) != 0) {
        fail_msg("%s:\n%s\nnot\n%s", name, text, wanted);
    }
}

/* What is said of a loop. */
static char said[4096];

static inline void say_numbers(const char *name, const double *values, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any = any || values[i] != 0.0;
    }
    for (size_t i = 0; i < n && any; i++) {
        const size_t at = strlen(said);
        const char *before = i ? "," : at ? "; " : "";
        snprintf(said + at, sizeof said - at, "%s%s%s%.4g", before, i ? "" : name, i ? "" : " ",
                 values[i]);
    }
}

#define SAY(member)     say_numbers(#member, &(const double){in->member}, 1)
#define SAY_ALL(member) say_numbers(#member, in->member, sizeof in->member / sizeof *in->member)
