/* SPDX-License-Identifier: MIT */
/* Recipes: which events of a microarchitecture are counted and how counts become quantities
 * (data/counters.json, which is carried inside the program). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    double likwid_scale; /* factor from likwid's results to the formulas' units (likwid gives energy
                       * in joules, the kernel in 2^-32 J); 1 for counts */
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
    bool upper_bound; /* the events count more than the retired instructions */
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
    char lacks[256]; /* quantities that this microarchitecture cannot count, in one sentence; ""
                      * = none */
    char note[256];  /* a warning for readers of its numbers; "" = none */
};

/* The processor's name for itself, which picks its recipe. */
struct carm_cpuid {
    char vendor[16];   /* "GenuineIntel", "AuthenticAMD", ... */
    int family, model; /* as displayed; in a virtual machine possibly false */
};

/* One leaf of CPUID: EAX, EBX, ECX and EDX. A test replaces it by a planted processor. */
void carm_cpuid_leaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* source: Intel SDM vol. 2A, CPUID leaves 0 and 1; AMD APM vol. 3, appendix E */
void carm_cpuid_read(struct carm_cpuid *id);

/* The recipe of this processor, by vendor, family and model (as CPUID displays them).
 * returns 0; -CARM_ENOTSUP: unknown microarchitecture; carm does not guess. CARM_UARCH=NAME in the
 * environment chooses a recipe by its name, for machines whose hypervisor reports a false model;
 * -CARM_EINVAL when it names none of the recipes (lists them). */
int carm_recipe_find(const char *vendor, int family, int model, struct carm_recipe **out,
                     struct carm_err *err);

/* The recipe with a name. returns 0, -CARM_EINVAL (lists the names) */
int carm_recipe_named(const char *name, struct carm_recipe **out, struct carm_err *err);

/* Names of all recipes: i counts from 0; NULL past the last. Static storage. */
const char *carm_recipe_name(size_t i);

/* Parses recipes from JSON text like data/counters.json, for tests and the two functions above.
 * name  of the wanted recipe
 * returns 0, -CARM_EFORMAT (names the recipe and the error), -CARM_EINVAL (no such name) */
int carm_recipe_parse(const char *text, const char *name, struct carm_recipe **out,
                      struct carm_err *err);
void carm_recipe_free(struct carm_recipe *recipe); /* NULL allowed */

/* The names by which PAPI may know an event, in the order to try them: libpfm4's, the one of pfm_also,
 * and the raw code ("perf_raw::r01c7"), which serves where libpfm4 does not know the processor's model.
 * i  from 0
 * returns false past the last, also where the event has no name in PAPI at all */
bool carm_event_papi_name(const struct carm_recipe *recipe, const struct carm_event *event,
                          unsigned i, char *name, size_t size);
