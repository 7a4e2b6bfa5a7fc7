/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Roofline paper's tables: all rows of table 4 and the ridge points recomputed, and the list of
 * what does not agree is exactly what the data file says. */
#include "base/assets.h"
#include "models/file/published.h"
#include "tests/models/recompute.h"
#include "tests/unit.h"

CLOSED_BY(carm_published_close)
static struct carm_published *open_text(const char *text)
{
    struct carm_published *p;
    assert_ok(carm_published_open(text, strlen(text), "roofline-2009.json", &p, &err));
    return closed_later(by_carm_published_close, p);
}

static struct carm_published *open_data(void)
{
    return open_text(carm_asset_data_roofline_2009);
}

/* Worked out by hand from the printed values: the ceilings next to each row and what limits it.
 * Gflop/s; 0 = none. */
static const struct {
    const char *machine, *kernel, *upper;
    double upper_at;
    const char *lower;
    double lower_at;
    bool compute; /* what limits */
} rows[] = {
    {"xeon", "SpMV", "Stream BW", 2.8, "Snoop filter", 1.475, false},
    {"xeon", "LBMHD", "TLP only", 6.2, "", 0, true},
    {"xeon", "Stencil", "Snoop filter", 2.95, "", 0, false},
    {"xeon", "3-D FFT", "Stream BW", 18.368, "Snoop filter", 9.676, false},
    {"opteron-x4", "SpMV", "Stream BW", 4.4, "Copy BW", 3.475, false},
    {"opteron-x4", "LBMHD", "Copy BW", 14.873, "No Affinity", 7.49, false},
    {"opteron-x4", "Stencil", "Stream BW", 8.8, "Copy BW", 6.95, false},
    {"opteron-x4", "3-D FFT", "Without SIMD", 18.4, "No Affinity", 11.48, true},
    {"t2plus", "SpMV", "Stream BW", 9.175, "No Affinity", 4.95, false},
    {"t2plus", "LBMHD", "No Affinity", 13.86, "25% issued FP", 9.3, false},
    {"t2plus", "Stencil", "25% issued FP", 9.3, "No Affinity", 6.534, true},
    {"t2plus", "3-D FFT", "25% issued FP", 9.3, "", 0, true},
    {"cell", "SpMV", "Stream BW", 11.9, "FMA", 7.3, false},
    {"cell", "LBMHD", "No Affinity", 25.466, "Without FMA", 14.6, false},
    {"cell", "Stencil", "Without FMA", 14.6, "No Affinity", 11.186, true},
    {"cell", "3-D FFT", "No Affinity", 25.942, "Without FMA", 14.6, false},
};

static void check_side(const struct carm_ceilings *l, const struct carm_ceiling_around *s,
                       const char *name, double at)
{
    assert_int_equal(s->known, at > 0);
    if (s->known) {
        assert_string_equal(s->compute ? l->compute[s->index].name : l->memory[s->index].name,
                            name);
        assert_near(s->at / 1e9, at, 1e-6);
    }
}

TEST(table4)
{
    struct carm_published *p = open_data();
    struct carm_ceilings *l = malloc(sizeof *l);
    size_t n = 0;
    assert_non_null(l);
    for (size_t i = 0; i < p->nmachines; i++) {
        const struct carm_published_machine *m = &p->machines[i];
        for (size_t k = 0; k < m->nresults; k++, n++) {
            struct carm_ceiling_around upper, lower;
            assert_true(n < sizeof rows / sizeof *rows);
            assert_string_equal(m->name, rows[n].machine);
            assert_string_equal(m->results[k].kernel, rows[n].kernel);
            assert_ok(carm_published_place(p, m, &m->results[k], l, &upper, &lower, &err));
            check_side(l, &upper, rows[n].upper, rows[n].upper_at);
            check_side(l, &lower, rows[n].lower, rows[n].lower_at);
            assert_int_equal(upper.compute, rows[n].compute);
        }
    }
    assert_int_equal(n, 16);
    free(l);
}

TEST(ridge_points)
{
    static const struct {
        const char *machine;
        double printed, computed;
    } ridges[] = {
        {"opteron-x2", 1.0, 17.6 / 15},   {"xeon", 6.7, 74.56 / 11.2},
        {"opteron-x4", 4.4, 73.6 / 17.6}, {"t2plus", 0.33, 18.72 / 36.7},
        {"cell", 0.65, 29.3 / 47.6},
    };
    struct carm_published *p = open_data();
    struct carm_ceilings *l = malloc(sizeof *l);
    assert_non_null(l);
    assert_int_equal(p->nmachines, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct carm_published_machine *m;
        assert_ok(carm_published_find(p, ridges[i].machine, &m, &err));
        carm_published_ceilings(m, CARM_BALANCE_TOP, l);
        assert_near(carm_published_fact(m, "ridge"), ridges[i].printed, 1e-12);
        assert_near(carm_ceilings_ridge(l), ridges[i].computed, 1e-9);
        carm_published_ceilings(m, CARM_BALANCE_BOTTOM, l);
        assert_near(carm_ceilings_ridge(l), ridges[i].computed, 1e-9);
    }
    free(l);
}

static const struct carm_published_disagreement *find(
    const struct carm_published_disagreement *list, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].id, id) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* How many entries differ between what the data file lists and what its figures give. */
static size_t differences(const struct carm_published *p, bool say)
{
    struct carm_published_disagreement *found;
    size_t n, wrong = 0;
    assert_ok(recompute(p, &found, &n, &err));
    for (size_t i = 0; i < n; i++) {
        const struct carm_published_disagreement *listed =
            find(p->disagreements, p->ndisagreements, found[i].id);
        const bool same = listed && strcmp(listed->printed, found[i].printed) == 0 &&
                          strcmp(listed->computed, found[i].computed) == 0;
        wrong += !same || find(found, i, found[i].id);
        if (say) {
            (void)printf("# %s%s: printed %s; computed %s. %s\n",
                         same ? "" : "NOT LISTED SO: ", found[i].id, found[i].printed,
                         found[i].computed, listed ? listed->reason : "");
        }
    }
    for (size_t i = 0; i < p->ndisagreements; i++) {
        const bool gone = !find(found, n, p->disagreements[i].id);
        wrong += gone;
        if (say && gone) {
            (void)printf("# LISTED, BUT AGREES: %s\n", p->disagreements[i].id);
        }
    }
    free(found);
    return wrong;
}

TEST(disagreements)
{
    struct carm_published *p = open_data();
    assert_int_equal(differences(p, true), 0);
    /* What must be among them. */
    static const char *const known[] = {"opteron-x2/ridge",
                                        "opteron-x4/ridge",
                                        "t2plus/ridge",
                                        "cell/ridge",
                                        "xeon/LBMHD/intensity",
                                        "xeon/stream",
                                        "t2plus/3-D FFT/bound",
                                        "t2plus/3-D FFT/intensity",
                                        "cell/SpMV/lower type",
                                        "paper/memory_ceilings_of_x86",
                                        "t2plus/3-D FFT/Peak DP value"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_non_null(find(p->disagreements, p->ndisagreements, known[i]));
    }
    /* ... and what agrees. */
    assert_null(find(p->disagreements, p->ndisagreements, "xeon/ridge"));
    assert_null(find(p->disagreements, p->ndisagreements, "paper/median_intensity"));
}

/* A change to either side, the figures or the list, is seen. */
TEST(faults_are_seen)
{
    static const struct {
        const char *after, *from, *to;
        size_t differences;
    } faults[] = {
        {"\"IBM Cell QS20\"", "\"value\": 0.65", "\"value\": 0.62", 1}, /* now agrees */
        {"\"Intel Xeon\"", "\"value\": 6.7,", "\"value\": 6.9,", 2}, /* ridge, flops per operand */
        {"\"AMD Opteron X4\"", "\"bandwidth\": 16800000000", "\"bandwidth\": 17800000000", 1},
        {"\"AMD Opteron X4\"", "\"performance\": 8000000000", "\"performance\": 9000000000", 5},
        {"\"IBM Cell QS20\"", "\"intensity\": 0.47", "\"intensity\": 0.57", 3},
        {"\"AMD Opteron X4\"", "\"name\": \"Copy BW\"", "\"name\": \"Copied BW\"", 3},
        {"\"claims\"", "\"value\": 0.6,", "\"value\": 0.7,", 1},
        {"\"claims\"", "\"value\": \"cell\"", "\"value\": \"xeon\"", 1},
        {"\"claims\"", "\"value\": \"xeon\"", "\"value\": \"t2plus\"", 1},
        {"\"disagreements\"", "cell/ridge", "cell/bridge", 2},
        {"\"disagreements\"", "17.6 / 15.0", "17.6 / 15.1", 1},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *text = text_changed(carm_asset_data_roofline_2009, faults[i].after, faults[i].from,
                                  faults[i].to);
        struct carm_published *p = open_text(text);
        const size_t n = differences(p, false);
        if (n != faults[i].differences) {
            (void)differences(p, true);
            fail_msg("%s for %s: %zu differences", faults[i].to, faults[i].from, n);
        }
    }
}

TEST(refuses)
{
    static const struct {
        const char *after, *from, *to, *message;
    } faults[] = {
        {"{", "carm-published/1", "carm-published/2",
         "schema is \"carm-published/2\"; this carm reads \"carm-published/1\""},
        {"\"machines\"", "\"title\"", "\"titel\"",
         "machines[0] has a member \"titel\", which this carm does not know"},
        {"\"xeon\"", "\"title\"", "\"results\"",
         "line 66, column 21: duplicate object key near '\"results\"'"},
        {"\"machines\"", "\"xeon\"", "\"opteron-x2\"", "machines[1].name repeats \"opteron-x2\""},
        {"\"memory\"", "2700000000", "4900000000",
         "machines[0].memory[1].value is not above the ceiling before it"},
        {"\"memory\"", "2700000000", "-1", "machines[0].memory[0].value is -1, not more than zero"},
        {"\"memory\"", "byte/s", "flop/s",
         "machines[0].memory[0].unit is \"flop/s\", not \"byte/s\""},
        {"\"memory\"", "\"step\": \"restructure loops for unit stride accesses\", ", "",
         "machines[0].memory[0].step is missing: the optimisation that lifts the ceiling"},
        {"Peak DP", "\"source\"", "\"step\": \"more\", \"source\"",
         "machines[0].compute[2].step is not allowed at the roof: no optimisation exceeds it"},
        {"\"results\": [\n", "\"type\": \"memory\"", "\"type\": \"disk\"",
         "machines[1].results[0].upper.type is \"disk\", neither \"memory\" nor \"compute\""},
        {"\"results\": [\n", "\"type\": \"memory\"", "\"kind\": 1, \"type\": \"memory\"",
         "machines[1].results[0].upper has a member \"kind\", which this carm does not know"},
        {"\"kernels\"", "\"low\": 0.17", "\"low\": 0.27", "kernels[0].high is below low"},
        {"\"kernels\"", "\"balanced\": true", "\"balanced\": 1",
         "kernels[0].balanced is neither true nor false"},
        {"\"disagreements\"", "\"reason\"", "\"why\"",
         "disagreements[0] has a member \"why\", which this carm does not know"},
        {"\"claims\"", "\"source\"", "\"where\"",
         "claims.stencil_flops has a member \"where\", which this carm does not know"},
        {"\"claims\"", "\"value\"", "\"more\": 1, \"value\"",
         "claims.stencil_flops has a member \"more\", which this carm does not know"},
        {"\"claims\"", "\"value\": 8", "\"value\": \"\\u0007\"",
         "claims.stencil_flops.value has a control character"},
        {"\"claims\"", "{\"value\": 8, \"unit\": \"flop\", \"source\": \"section 6.3.3\"}", "8",
         "claims.stencil_flops is not an object"},
        {"\"memory\"", "\"value\"", "\"more\": 1, \"value\"",
         "machines[0].memory[0] has a member \"more\", which this carm does not know"},
        {"\"memory\"", "[", "[1, ", "machines[0].memory[0] is not an object"},
        {"\"compute\"", "[", "[], \"compute_balance_bottom\": [",
         "machines[0].compute is not an array of 1 to 24 ceilings"},
        {"\"figures 1 and 2\"", "\"facts\": {", "\"facts\": {\"x\": 1, ",
         "machines[0].facts.x is not an object"},
        {"\"figures 1 and 2\"", "\"results\": []", "\"results\": {}",
         "machines[0].results is not an array of at most 16 rows"},
        {"\"figures 1 and 2\"", "\"results\": []", "\"results\": [1]",
         "machines[0].results[0] is not an object"},
        {"\"results\": [\n", "\"kernel\"", "\"more\": 1, \"kernel\"",
         "machines[1].results[0] has a member \"more\", which this carm does not know"},
        {"\"results\": [\n", "byte/s", "byte",
         "machines[1].results[0].upper.unit is \"byte\", neither \"byte/s\" nor \"flop/s\""},
        {"\"kernels\"", "\"metric\"", "\"more\": 1, \"metric\"",
         "kernels[0] has a member \"more\", which this carm does not know"},
        {"\"optimisations\"", "\"description\"", "\"more\": 1, \"description\"",
         "optimisations[0] has a member \"more\", which this carm does not know"},
        {"\"disagreements\"", "\"reason\"", "\"more\": 1, \"reason\"",
         "disagreements[0] has a member \"more\", which this carm does not know"},
        {"{", "\"paper\"", "\"more\": 1, \"paper\"",
         "has a member \"more\", which this carm does not know"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *text = text_changed(carm_asset_data_roofline_2009, faults[i].after, faults[i].from,
                                  faults[i].to);
        struct carm_published *p = (struct carm_published *)&p;
        err = (struct carm_err){""};
        assert_int_equal(carm_published_open(text, strlen(text), "t.json", &p, &err),
                         -CARM_EFORMAT);
        assert_null(p);
        fail_if(strcmp(err.text + 8, faults[i].message) != 0 ||
                    strncmp(err.text, "t.json: ", 8) != 0,
                "'%s', not '%s'", err.text + 8, faults[i].message);
    }
}

TEST(names)
{
    struct carm_published *p = open_data();
    const struct carm_published_machine *m;
    char text[320];
    assert_ok(carm_published_find(p, "Opteron-X4", &m, &err));
    assert_string_equal(m->title, "AMD Opteron X4");
    assert_int_equal(p->noptimisations, 7);
    assert_string_equal(p->optimisations[3].name, "Reduce conflict misses");
    assert_string_equal(p->optimisations[3].description, "Pad arrays to improve cache-hit rates.");
    assert_string_equal(p->citation, "Williams, Waterman, Patterson 2009");
    assert_string_equal(p->kernels[3].name, "3-D FFT");
    assert_near(p->kernels[3].low, 1.09, 1e-12);
    assert_near(p->kernels[3].high, 1.64, 1e-12);
    assert_refused(carm_published_find(p, "vax", &m, &err), -CARM_EINVAL,
                   "opteron-x2, xeon, opteron-x4, t2plus, cell");
    assert_null(m);
    assert_string_equal(carm_published_names(p, text, 17), "opteron-x2, xeon");
    /* A row of a kernel that the collection lacks cannot be placed. */
    (void)strcpy(p->machines[1].results[0].kernel, "Sort");
    struct carm_published_disagreement *found;
    size_t n;
    assert_refused(recompute(p, &found, &n, &err), -CARM_EINVAL, "Sort");
    assert_null(found);
}
