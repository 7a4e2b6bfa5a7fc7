/* SPDX-License-Identifier: MIT */
/* Recipes: which events of a microarchitecture are counted and how counts become quantities
 * (data/counters.json, which is carried inside the program). */
#ifndef CARM_HARNESS_COUNT_RECIPE_H
#define CARM_HARNESS_COUNT_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "harness/count/quantities.h"

enum carm_event_scope {
    CARM_EVENT_THREAD,   /* of a hardware thread's own counters */
    CARM_EVENT_SOCKET,   /* uncore and energy: whole sockets, all programs */
    CARM_EVENT_SOFTWARE, /* of the kernel; needs no counters */
};

struct carm_event {
    char name[64];   /* as formulas call it */
    char papi[96];   /* native event of libpfm4, "" = none; for socket events of a unit without
                        * its number, "skx_unc_imc%d::UNC_M_CAS_COUNT:RD" */
    char likwid[64]; /* event of likwid without counter, "" = none */
    unsigned code; /* event select | umask << 8, as libpfm4 encodes them; 0 where the kernel counts
                        * or only likwid's counter of its own does */
    char counter
        [16];       /* likwid's own counter for it ("FIXC0", "PWR0"; "MBOX%dC0": of each unit), "" =
                        * any general-purpose one */
    bool fixed;     /* has a counter of its own, on PAPI too */
    unsigned slots; /* general-purpose counters that it takes: 1, or 2 for merged ones (AMD): Linux
                     * pairs them by itself, likwid wants an even counter and MERGE on the next */
    enum carm_event_scope scope;
    double
        likwid_scale; /* what likwid returns x this = what formulas expect (likwid gives energy in
                          * joules, the kernel in 2^-32 J); 1 for counts */
};

enum { CARM_FORMULA_TERMS_MAX = 12 };

/* quantity = sum of weight x count */
struct carm_formula {
    enum carm_quantity quantity;
    struct {
        size_t event; /* index */
        double weight;
    } terms[CARM_FORMULA_TERMS_MAX];
    size_t nterms;
    bool upper_bound; /* the events count more than what retires */
    bool required;    /* zero where the code must have counted is an error */
};

/* Bytes of an access that goes with one sort of FP instruction. */
struct carm_width {
    size_t event; /* counts the instructions; index */
    double bytes;
    double low; /* where the event mixes element sizes: the smallest; else = bytes */
};

struct carm_recipe {
    char name[48];     /* "skylake-server" */
    char title[96];    /* "Intel Skylake-SP, Cascade Lake" */
    char pfm[32];      /* libpfm4's PMU name ("skx"), "" when it lists none */
    char pfm_also[32]; /* another PMU name under which libpfm4 may know this processor ("clx"): the
                        * same events by the same names; "" = none */
    char likwid[32];   /* likwid's short name ("skylakeX"), "" = none */
    int counters; /* general-purpose counters of a hardware thread whose sibling is in use, too */
    struct carm_event *events;
    size_t nevents;
    struct carm_formula *formulas;
    size_t nformulas;
    struct carm_width *widths; /* none: bytes are unavailable */
    size_t nwidths;
    char lacks[256]; /* what this microarchitecture cannot count, said plainly; "" = nothing */
    char note[256];  /* what a reader of its numbers must know; "" = nothing */
};

/* The recipe of this processor, by vendor, family and model (as CPUID displays them).
 * returns 0; -CARM_ENOTSUP: unknown microarchitecture, which is not guessed. CARM_UARCH=NAME in the
 * environment names one all the same, for machines whose hypervisor reports a false model;
 * -CARM_EINVAL when it names none of the recipes (lists them). */
int carm_recipe_find(const char *vendor, int family, int model, struct carm_recipe **out,
                     struct carm_err *err);

/* By name. returns 0, -CARM_EINVAL (lists the names) */
int carm_recipe_named(const char *name, struct carm_recipe **out, struct carm_err *err);

/* Names of all recipes: i counts from 0; NULL past the last. Static storage. */
const char *carm_recipe_name(size_t i);

/* Parses recipes from JSON text like data/counters.json, for tests and the two above.
 * name  the recipe wanted
 * returns 0, -CARM_EFORMAT (what is wrong, in which recipe), -CARM_EINVAL (no such name) */
int carm_recipe_parse(const char *text, const char *name, struct carm_recipe **out,
                      struct carm_err *err);
void carm_recipe_free(struct carm_recipe *recipe); /* NULL allowed */

/* The names by which PAPI may know an event, in the order to try them: libpfm4's, the one of pfm_also,
 * and the raw code ("perf_raw::r01c7"), which serves where libpfm4 does not know the processor's model.
 * i  from 0
 * returns false past the last, also where the event has no name in PAPI at all */
bool carm_event_papi_name(const struct carm_recipe *recipe, const struct carm_event *event,
                          unsigned i, char *name, size_t size);

/* One event's count. enabled and running as perf_event gives them (any unit; equal when it was on a
 * counter all the time). */
struct carm_reading {
    bool present; /* false: the event could not be counted */
    double count; /* not yet scaled */
    double enabled, running;
};

/* Readings to quantities: scales multiplexed counts by enabled / running, sums the formulas, derives
 * flops by precision and all flops, bytes and DRAM bytes. A quantity with a missing event is
 * unavailable; one whose event never ran, too. `share` is the smallest running / enabled of its events.
 *
 * An upper bound has high = value and low = 0: how much less it is, the events cannot tell.
 *
 * Bytes are accesses x width, and no event tells the width of accesses. It is taken from the widths of
 * the FP instructions: `value` has their mean, weighted by their counts; `low` has the narrowest and
 * `high` the widest that was seen at all (count above 0). The bounds hold as long as every access is
 * as wide as some FP instruction of the code: integer and pointer accesses of codes whose FP
 * instructions are all wider, or block copies in codes whose FP instructions are all narrower, fall
 * outside. Without any FP instruction, and in recipes without widths, bytes are unavailable.
 *
 * out->note says which quantities are upper bounds, and the widths.
 * readings  [recipe->nevents]
 * must      quantities that the code must have counted ([CARM_Q_COUNT], NULL = none): a zero of a
 *           required formula, or of what is derived from required formulas, is an error
 * returns 0 or -CARM_EFORMAT (the sentence names quantity, events and the likely cause; out is then
 * empty) */
int carm_recipe_evaluate(const struct carm_recipe *recipe, const struct carm_reading *readings,
                         const bool *must, struct carm_counts *out, struct carm_err *err);

#endif
