/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All figures of judged fleets, number by number. test_judge.c shows what verdicts are worth; here a change of any
 * centre, spread, share, z, p or q shows up. A table is replaced where the judgement is meant to change. */
#include "models/ceilings.h"
#include "models/latency.h"
#include "tests/models/figures.h"
#include "tests/models/fleet/generate.h"

/* Six memory roofs of two levels and two operations, with one and two threads. */
static struct carm_model *small(int i, int hour)
{
    char host[32];
    (void)snprintf(host, sizeof host, "n%d", i);
    struct carm_model *m = gen_model(host, hour);
    for (size_t s = 0; s < m->nroofs; s++) {
        m->roofs[s].nmemory = 6;
        m->roofs[s].ncompute = 2;
    }
    return m;
}

/* NaN counts apart. */
struct sum {
    double of;
    int none;
};

static void add(struct sum *s, size_t i, double x)
{
    s->of += isnan(x) ? 0.0 : (double)(i + 1) * x;
    s->none += isnan(x) ? (int)(i + 1) : 0;
}

/* A column: its centre; then the sums over its nodes, each times its number, of share, z, p and q, and of those
 * without. */
static void put_column(struct figures *t, const struct carm_fleet_table *table, size_t j)
{
    const struct carm_fleet_column *c = &table->columns[j];
    struct sum sums[4] = {{0}};
    unsigned flagged = 0;
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_fleet_test *test = carm_fleet_test_of(table, i, j);
        add(&sums[0], i, (double)test->share);
        add(&sums[1], i, (double)test->z);
        add(&sums[2], i, (double)test->p);
        add(&sums[3], i, (double)test->q);
        flagged += test->flagged ? 1U << i : 0;
    }
    put(t, "%s/%d %zu-%zu %.5g %.5g %.3f %td %td: ", c->roof.name, c->roof.threads, c->centre.n,
        c->ndisturbed, c->median, c->sigma, c->correlation, c->low, c->high);
    for (size_t k = 0; k < 4; k++) {
        put(t, "%.5g-%d ", sums[k].of, sums[k].none);
    }
    put(t, "%x\n", flagged);
}

static void put_table(struct figures *t, const struct carm_fleet_table *table)
{
    for (size_t j = 0; j < table->ncolumns; j++) {
        put_column(t, table, j);
    }
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_fleet_judged *judged = &table->judged[i];
        put(t, "%.5g %.5g %s %td\n", judged->p, judged->q, carm_fleet_verdict_name(judged->verdict),
            judged->worst);
    }
}

struct fleet {
    int nodes, hours;
    bool is_virtual, rounds;
    double own;
    const char *figures;
};

/* Node 1 lacks a roof, and of two nodes the last hour; node 5 of seven has no rounds; 20 scatter less, and they and five have DRAM; node 2 has a disturbed one, node 3 is slow in L2, node 4 fast in one operation. */
static void judge(const struct fleet *in, struct figures *text)
{
    struct carm_fleet *f = gen_fleet();
    uint64_t seed = 36;
    for (int i = 0; i < in->nodes; i++) {
        for (int hour = 0; hour < in->hours - (i == 1 && in->nodes == 2); hour++) {
            struct carm_model *m = small(i, hour);
            for (size_t k = 0; k < 2 && in->nodes % 5 == 0; k++) {
                (void)strcpy(m->roofs[k].memory[4].level, "DRAM");
            }
            gen_noise(m, in->nodes == 20 ? 0.001 : 0.01, 0.002, in->own * (1.0 + 0.2 * (i % 3)),
                      &seed);
            m->roofs[0].ncompute -= i == 1;
            m->roofs[1].memory[2].disturbed = i == 2;
            m->roofs[0].memory[3].disturbed = i == 0 && hour == 1;
            gen_scale(m, "L2", NULL, 0, i == 3 && hour == in->hours - 1 ? 0.7 : 1.0);
            gen_scale(m, "compute", "fma", 2, i == 4 && hour == in->hours - 1 ? 1.2 : 1.0);
            if (in->is_virtual) {
                (void)snprintf(m->machine.hypervisor, sizeof m->machine.hypervisor, "KVM");
            }
            gen_add(f, m, hour)->rounds = in->rounds && (i != 5 || in->nodes == 20);
        }
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    assert_int_equal(f->ngroups, 1);
    put_table(text, &f->groups[0].now);
    if (in->hours > 1) {
        put(text, "drift\n");
        put_table(text, &f->groups[0].drift);
    }
    close_opened();
}

TEST(fleets)
{
    static const struct fleet cases[] = {
        {2, 2, true, false, 0.004,
         "L1 2:1/1 2-0 4.0523e+11 0.0092095 0.000 1 0: -0.0068184-0 0-3 0-3 0-3 0\n"
         "L1 1:1/1 2-0 3.9883e+11 0.0079799 0.000 0 1: 0.0062091-0 0-3 0-3 0-3 0\n"
         "L1 1:0/1 2-0 4.0219e+11 0.0051021 0.000 0 1: 0.0018239-0 0-3 0-3 0-3 0\n"
         "L1 0:1/1 1-1 3.9556e+11 0.0051021 0.000 1 1: 0.011189-0 0-3 0-3 0-3 0\n"
         "L1 update/1 2-0 3.9595e+11 0.017881 0.000 1 0: -0.012192-0 0-3 0-3 0-3 0\n"
         "L2 2:1/1 2-0 9.9586e+10 0.034128 0.000 0 1: 0.024021-0 0-3 0-3 0-3 0\n"
         "mad/1 2-0 9.9516e+09 0.0051021 0.000 0 1: 0.00079857-0 0-3 0-3 0-3 0\n"
         "fma/1 1-0 2.0197e+10 0.0051021 0.000 0 0: 0-2 0-3 0-3 0-3 0\n"
         "core clock/1 2-0 3e+09 0.0051021 0.000 0 0: 0-0 0-3 0-3 0-3 0\n"
         "L1 2:1/2 2-0 8.036e+11 0.0051021 0.000 1 0: -0.0042527-0 0-3 0-3 0-3 0\n"
         "L1 1:1/2 2-0 8.0536e+11 0.018442 0.000 1 0: -0.012546-0 0-3 0-3 0-3 0\n"
         "L1 1:0/2 2-0 8.0396e+11 0.034448 0.000 1 0: -0.022604-0 0-3 0-3 0-3 0\n"
         "L1 0:1/2 2-0 8.0783e+11 0.0051021 0.000 0 1: 0.0030759-0 0-3 0-3 0-3 0\n"
         "L1 update/2 2-0 7.9634e+11 0.006413 0.000 1 0: -0.0052113-0 0-3 0-3 0-3 0\n"
         "L2 2:1/2 2-0 1.9984e+11 0.029082 0.000 1 0: -0.0044063-0 0-3 0-3 0-3 0\n"
         "mad/2 2-0 2.013e+10 0.008499 0.000 0 1: 0.0065235-0 0-3 0-3 0-3 0\n"
         "fma/2 2-0 3.9791e+10 0.0084158 0.000 0 1: 0.0064728-0 0-3 0-3 0-3 0\n"
         "core clock/2 2-0 3e+09 0.0051021 0.000 0 0: 0-0 0-3 0-3 0-3 0\n"
         "L1/0 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "L1/1 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "L1/2 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "L2/0 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "compute/0 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "compute/1 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "compute/2 0-0 0 0 1.000 -1 -1: 0-3 0-3 0-3 0-3 0\n"
         "nan nan sound -1\n"
         "nan nan sound -1\n"
         "drift\n"
         "L1 2:1/1 1-0 1.03 0.0072155 0.000 0 0: 0.029968-0 3.2205-0 0.0012797-0 0.017823-0 0\n"
         "L1 1:1/1 1-0 0.99698 0.0072155 0.000 0 0: -0.0030235-0 -0.33026-0 0.7412-0 1-0 0\n"
         "L1 1:0/1 1-0 1.0074 0.0072155 0.000 0 0: 0.0074133-0 0.80557-0 0.42049-0 1-0 0\n"
         "L1 0:1/1 0-1 0 0 0.000 -1 -1: 0-1 0-1 0-1 0-1 0\n"
         "L1 update/1 1-0 0.99826 0.0072155 0.000 0 0: -0.0017386-0 -0.18979-0 0.84947-0 1-0 0\n"
         "L2 2:1/1 1-0 0.96863 0.041128 0.000 0 0: -0.031367-0 -0.76765-0 0.44269-0 1-0 0\n"
         "mad/1 1-0 0.99835 0.0072155 0.000 0 0: -0.0016506-0 -0.18018-0 0.85701-0 1-0 0\n"
         "fma/1 1-0 1.0291 0.0072155 0.000 0 0: 0.02906-0 3.1243-0 0.0017823-0 0.017823-0 0\n"
         "core clock/1 1-0 1 0.0072155 0.000 0 0: 0-0 0-0 0-1 0-1 0\n"
         "L1 2:1/2 1-0 0.99531 0.0072155 0.000 0 0: -0.0046861-0 -0.51231-0 0.60844-0 1-0 0\n"
         "L1 1:1/2 1-0 1.0166 0.0072155 0.000 0 0: 0.016574-0 1.7928-0 0.072998-0 0.43799-0 0\n"
         "L1 1:0/2 1-0 1.0375 0.0072155 0.000 0 0: 0.037475-0 4.0126-0 6.0061e-05-0 0.0018018-0 1\n"
         "L1 0:1/2 1-0 1.0208 0.0072155 0.000 0 0: 0.020818-0 2.2473-0 0.024621-0 0.18465-0 0\n"
         "L1 update/2 1-0 1.0086 0.0072155 0.000 0 0: 0.0086307-0 0.93729-0 0.34861-0 1-0 0\n"
         "L2 2:1/2 1-0 0.99515 0.041128 0.000 0 0: -0.0048528-0 -0.11718-0 0.90672-0 1-0 0\n"
         "mad/2 1-0 0.9873 0.0072155 0.000 0 0: -0.012703-0 -1.3944-0 0.16321-0 0.81603-0 0\n"
         "fma/2 1-0 0.99358 0.0072155 0.000 0 0: -0.0064194-0 -0.7024-0 0.48243-0 1-0 0\n"
         "core clock/2 1-0 1 0.0072155 0.000 0 0: 0-0 0-0 0-1 0-1 0\n"
         "L1/0 1-0 0 0.0091686 1.000 0 0: 0.012283-0 1.3315-0 0.18302-0 0.85408-0 0\n"
         "L1/1 1-0 0 0.0091686 1.000 0 0: 0.0080687-0 0.8765-0 0.38076-0 1-0 0\n"
         "L1/2 1-0 0 0.0091686 1.000 0 0: 0.015667-0 1.6955-0 0.089973-0 0.85408-0 0\n"
         "L2/0 1-0 0 0.041516 1.000 0 0: -0.018199-0 -0.44241-0 0.65819-0 1-0 0\n"
         "compute/0 1-0 0 0.0091686 1.000 0 0: 0.0019441-0 0.21184-0 0.83223-0 1-0 0\n"
         "compute/1 1-0 0 0.0091686 1.000 0 0: 0.013588-0 1.4721-0 0.14101-0 0.85408-0 0\n"
         "compute/2 1-0 0 0.0091686 1.000 0 0: -0.0095662-0 -1.0484-0 0.29446-0 1-0 0\n"
         "0.0018018 0.0018018 fast 11\n"},
        {7, 4, false, true, 0.002,
         "L1 2:1/1 7-0 3.9532e+11 0.00867 0.000 0 6: 0.12731-0 13.984-0 15.816-0 28-0 0\n"
         "L1 1:1/1 7-0 3.952e+11 0.010166 0.000 1 2: 0.24602-0 22.98-0 12.004-0 28-0 0\n"
         "L1 1:0/1 7-0 3.991e+11 0.0052098 0.000 2 0: 0.054519-0 9.1616-0 17.165-0 28-0 0\n"
         "L1 0:1/1 7-0 4.0183e+11 0.0021182 0.000 1 6: -0.029808-0 -8.69-0 14.583-0 27.059-0 0\n"
         "L1 update/1 7-0 4.0164e+11 0.0075636 0.000 0 3: -0.064366-0 -8.0766-0 17.018-0 28-0 0\n"
         "L2 2:1/1 7-0 9.9105e+10 0.010182 0.000 3 6: -0.96376-0 -112.23-0 13.797-0 24.02-0 8\n"
         "mad/1 7-0 1.0005e+10 0.012511 0.000 2 0: 0.0071151-0 0.48767-0 18.419-0 28-0 0\n"
         "fma/1 6-0 1.9826e+10 0.0046184 0.000 5 3: 0.025874-2 5.3907-2 13.417-2 26-2 0\n"
         "core clock/1 7-0 3e+09 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1 2:1/2 7-0 7.9452e+11 0.0077388 0.000 4 5: 0.034743-0 3.9878-0 14.632-0 28-0 0\n"
         "L1 1:1/2 7-0 7.9466e+11 0.014856 0.000 0 6: 0.25524-0 16.684-0 16.728-0 28-0 0\n"
         "L1 1:0/2 6-1 8.0108e+11 0.0037143 0.000 1 0: -0.081553-0 -18.288-0 16.051-3 25-3 0\n"
         "L1 0:1/2 7-0 8.0246e+11 0.0054128 0.000 0 6: -0.054525-0 -9.0115-0 15.618-0 28-0 0\n"
         "L1 update/2 7-0 8.0411e+11 0.018188 0.000 0 2: 0.035564-0 1.8365-0 18.382-0 28-0 0\n"
         "L2 2:1/2 7-0 1.9894e+11 0.0036272 0.000 3 5: -1.0691-0 -296.84-0 13.933-0 24.006-0 8\n"
         "mad/2 7-0 2.0024e+10 0.010168 0.000 4 6: 0.010658-0 0.85184-0 14.908-0 28-0 0\n"
         "fma/2 7-0 3.9963e+10 0.0067371 0.000 5 4: 0.84921-0 107.53-0 13.073-0 23.113-0 0\n"
         "core clock/2 7-0 3e+09 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1/0 6-0 0 0.0015856 0.000 1 6: -0.00675-0 -3.3736-0 13.221-0 26.731-0 0\n"
         "L1/1 7-0 0 0.0023076 0.000 1 6: -0.02899-0 -12.348-0 14.101-0 26.626-0 0\n"
         "L1/2 6-0 0 0.0017361 0.000 0 2: 0.017827-0 8.3276-0 17.011-0 28-0 0\n"
         "L2/0 7-0 0 0.0072011 1.000 3 5: -1.1055-0 -183.96-0 16.085-0 24.006-0 8\n"
         "compute/0 6-0 0 0.0055877 0.501 5 4: 0.19045-0 33.246-0 14.346-0 24.017-0 0\n"
         "compute/1 6-0 0 0.0052602 0.327 1 6: -0.024079-0 -2.1175-0 16.965-0 28-0 0\n"
         "compute/2 7-0 0 0.0044128 0.000 5 4: 0.55864-0 119.29-0 11.343-0 23.042-0 10\n"
         "1 1 sound -1\n"
         "0.089468 0.20876 sound -1\n"
         "0.80262 1 sound -1\n"
         "0.00021579 0.0015105 slow 14\n"
         "0.0024224 0.0084783 fast 24\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "drift\n"
         "L1 2:1/1 7-0 0.97774 0.0084276 0.000 0 5: 0.29507-0 32.257-0 12.063-0 28-0 0\n"
         "L1 1:1/1 7-0 0.99401 0.016586 0.000 6 2: -0.0064284-0 -0.61447-0 14.309-0 28-0 0\n"
         "L1 1:0/1 7-0 0.99864 0.0053301 0.000 2 5: 0.05111-0 7.8337-0 15.583-0 28-0 0\n"
         "L1 0:1/1 7-0 0.99723 0.0082233 0.000 1 0: 0.055897-0 6.3204-0 15.623-0 28-0 0\n"
         "L1 update/1 7-0 0.99294 0.0043371 0.000 6 3: 0.019863-0 3.7019-0 14.171-0 28-0 0\n"
         "L2 2:1/1 7-0 0.98998 0.020496 0.000 3 6: -0.93215-0 -55.323-0 13.61-0 24.275-0 0\n"
         "mad/1 7-0 0.99523 0.0077214 0.000 1 0: 0.11062-0 13.115-0 14.352-0 28-0 0\n"
         "fma/1 6-0 0.99389 0.0061658 0.000 2 6: 0.048786-2 7.2912-2 14.139-2 26-2 0\n"
         "core clock/1 7-0 1 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1 2:1/2 7-0 0.9896 0.011143 0.000 0 5: 0.18449-0 15.613-0 14.828-0 28-0 0\n"
         "L1 1:1/2 7-0 0.99163 0.016744 0.000 0 6: 0.23013-0 13.276-0 17.069-0 28-0 0\n"
         "L1 1:0/2 6-0 1.0051 0.013057 0.000 1 5: -0.05587-3 -4.3139-3 14.597-3 25-3 0\n"
         "L1 0:1/2 7-0 0.99752 0 0.000 0 6: -0.013815-0 -5.1582-0 14.16-0 28-0 0\n"
         "L1 update/2 7-0 1.0011 0.0072783 0.000 3 2: 0.21062-0 26.155-0 14.868-0 28-0 0\n"
         "L2 2:1/2 7-0 0.98937 0.018034 0.000 3 1: -1.0535-0 -69.626-0 14.226-0 24.275-0 0\n"
         "mad/2 7-0 1.0005 0.0056136 0.000 0 3: -0.0076484-0 -1.3461-0 18.731-0 28-0 0\n"
         "fma/2 7-0 1.0046 0.014325 0.000 5 4: 0.6228-0 37.365-0 11.166-0 24.966-0 0\n"
         "core clock/2 7-0 1 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1/0 6-0 0 0.0054556 0.963 0 6: 0.015516-0 2.7561-0 17.334-0 28-0 0\n"
         "L1/1 7-0 0 0.004978 0.374 2 5: 0.019988-0 3.9133-0 17.392-0 28-0 0\n"
         "L1/2 6-0 0 0.0075877 1.000 0 6: 0.021064-0 2.7513-0 17.258-0 28-0 0\n"
         "L2/0 7-0 0 0.0099341 0.000 3 5: -1.0365-0 -126.18-0 16.175-0 24.029-0 8\n"
         "compute/0 6-0 0 0.0044986 0.125 1 6: 0.017177-0 4.6408-0 14.099-0 28-0 0\n"
         "compute/1 6-0 0 0.010168 1.000 1 6: 0.02485-0 2.687-0 16.3-0 28-0 0\n"
         "compute/2 7-0 0 0.0091136 1.000 0 4: 0.14078-0 15.239-0 17.457-0 28-0 0\n"
         "0.59621 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.0010221 0.0071546 slow 21\n"
         "0.056175 0.19661 sound -1\n"
         "1 1 sound -1\n"
         "0.93647 1 sound -1\n"},
        {20, 1, true, true, 0.001,
         "L1 2:1/1 20-0 4e+11 0.0022026 0.000 19 16: 0.037287-0 15.751-0 87.569-0 210-0 0\n"
         "L1 1:1/1 20-0 3.9982e+11 0.0019921 0.000 7 13: 0.12102-0 58.059-0 97.934-0 210-0 0\n"
         "L1 1:0/1 20-0 4.0018e+11 0.001905 0.000 19 16: -0.057344-0 -29.001-0 96.09-0 210-0 0\n"
         "L1 0:1/1 20-0 3.9991e+11 0.0023284 0.000 7 13: 0.066224-0 27.48-0 103.85-0 210-0 0\n"
         "L2 2:1/1 20-0 1.0002e+11 0.0028047 0.000 3 16: -1.2273-0 -511.07-0 99.123-0 206-0 8\n"
         "DRAM update/1 20-0 4.0013e+11 0.0022827 0.000 19 16: 0.045676-0 19.304-0 107.08-0 210-0 0\n"
         "mad/1 20-0 9.9934e+09 0.0014986 0.000 18 17: 0.13744-0 85.449-0 83.538-0 210-0 0\n"
         "fma/1 19-0 1.9996e+10 0.0018325 0.000 19 16: 0.042267-2 21.941-2 103.77-2 208-2 0\n"
         "core clock/1 20-0 3e+09 0 0.000 0 0: 0-0 0-0 0-210 0-210 0\n"
         "L1 2:1/2 20-0 7.999e+11 0.0017247 0.000 19 17: -0.09513-0 -52.976-0 94.462-0 210-0 0\n"
         "L1 1:1/2 20-0 8.0025e+11 0.0017009 0.000 19 13: -0.017217-0 -10.328-0 101.32-0 210-0 0\n"
         "L1 1:0/2 19-1 7.9961e+11 0.002168 0.000 19 13: 0.10099-0 45.06-0 102.6-3 207-3 0\n"
         "L1 0:1/2 20-0 8.0023e+11 0.0015646 0.000 10 16: 0.049018-0 28.81-0 90.686-0 210-0 0\n"
         "L2 2:1/2 20-0 1.9991e+11 0.001569 0.000 3 13: -1.0464-0 -771.77-0 81.257-0 206-0 8\n"
         "DRAM update/2 20-0 7.9967e+11 0.002373 0.000 19 17: 0.052129-0 20.976-0 96.715-0 210-0 0\n"
         "mad/2 20-0 1.9999e+10 0.0016694 0.000 19 17: -0.042861-0 -25.558-0 80.527-0 210-0 0\n"
         "fma/2 20-0 3.9966e+10 0.0010278 0.000 19 4: 1.1424-0 910.76-0 75.219-0 197.94-0 10\n"
         "core clock/2 20-0 3e+09 0 0.000 0 0: 0-0 0-0 0-210 0-210 0\n"
         "L1/0 19-0 0 0.001603 0.622 19 13: 0.11568-0 71.767-0 95.921-0 210-0 0\n"
         "L1/1 20-0 0 0.001346 0.189 19 13: 0.09539-0 70.229-0 79.58-0 206.35-0 0\n"
         "L1/2 19-0 0 0.0016731 0.791 19 17: 0.1186-0 70.452-0 97.656-0 210-0 0\n"
         "L2/0 20-0 0 0.0019429 0.973 3 13: -1.1182-0 -693.8-0 86.673-0 202.56-0 8\n"
         "DRAM/0 20-0 0 0.0021053 0.559 19 17: 0.12108-0 57.126-0 96.534-0 210-0 0\n"
         "compute/0 19-0 0 0.0009262 0.177 19 4: 0.54559-0 569.63-0 73.153-0 178.19-0 10\n"
         "compute/1 19-0 0 0.0014353 0.392 19 16: 0.09428-0 64.966-0 85.885-0 206.35-0 0\n"
         "compute/2 20-0 0 0.0011621 0.497 19 4: 0.77654-0 629.68-0 73.768-0 189.1-0 10\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "3.4079e-15 6.8158e-14 slow 13\n"
         "4.4959e-14 4.4959e-13 fast 16\n"
         "1 1 sound -1\n"
         "0.21245 0.60699 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.075409 0.30164 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.054866 0.27433 sound -1\n"
         "0.012802 0.085346 sound -1\n"
         "0.6556 1 sound -1\n"
         "0.11661 0.3887 sound -1\n"},
        {5, 2, true, true, 0.003,
         "L1 2:1/1 5-0 4.0095e+11 0.011866 0.000 1 0: -0.0301-0 -2.5988-0 9.0578-0 15-0 0\n"
         "L1 1:1/1 5-0 3.9638e+11 0.014782 0.000 3 4: 0.095246-0 6.3033-0 7.8905-0 15-0 0\n"
         "L1 1:0/1 5-0 4.0146e+11 0.0099543 0.000 3 1: -0.025866-0 -2.5969-0 9.4259-0 15-0 0\n"
         "L1 0:1/1 4-1 3.974e+11 0.013601 0.000 3 1: -0.010926-0 -0.81286-0 6.779-1 14-1 0\n"
         "L2 2:1/1 5-0 9.8369e+10 0.022289 0.000 3 4: -1.0494-0 -56.91-0 6.6914-0 12.156-0 0\n"
         "DRAM update/1 5-0 4.0248e+11 0.049975 0.000 1 2: 0.017307-0 0.33935-0 13.943-0 15-0 0\n"
         "mad/1 5-0 9.9436e+09 0.0046642 0.000 4 1: 0.070045-0 13.853-0 6.7826-0 15-0 0\n"
         "fma/1 4-0 2.0207e+10 0.0051021 0.000 4 3: -0.0072547-2 -1.0915-2 5.7298-2 13-2 0\n"
         "core clock/1 5-0 3e+09 0 0.000 0 0: 0-0 0-0 0-15 0-15 0\n"
         "L1 2:1/2 5-0 8.0028e+11 0.0074459 0.000 1 0: -0.0016511-0 -0.23283-0 10.324-0 15-0 0\n"
         "L1 1:1/2 5-0 8.047e+11 0.010739 0.000 1 0: -0.035012-0 -3.2852-0 10.25-0 15-0 0\n"
         "L1 1:0/2 4-1 8.0031e+11 0.0083562 0.000 3 0: -0.018622-0 -2.1021-0 5.8395-3 11.278-3 0\n"
         "L1 0:1/2 5-0 8.0441e+11 0.00077447 0.000 1 2: -0.016841-0 -10.791-0 9.3235-0 15-0 0\n"
         "L2 2:1/2 5-0 1.9833e+11 0.0086924 0.000 3 0: -1.173-0 -156.93-0 8.9863-0 11.36-0 0\n"
         "DRAM update/2 5-0 8.0053e+11 0.049975 0.000 2 3: 0.00021252-0 -0.013228-0 12.979-0 15-0 0\n"
         "mad/2 5-0 1.9981e+10 0.0089383 0.000 3 2: -0.052915-0 -5.8954-0 8.5036-0 15-0 0\n"
         "fma/2 5-0 4.0005e+10 0.0128 0.000 0 4: 1.0294-0 72.654-0 6.8519-0 13.445-0 0\n"
         "core clock/2 5-0 3e+09 0 0.000 0 0: 0-0 0-0 0-15 0-15 0\n"
         "L1/0 5-0 0 0.0037638 1.000 1 2: -0.020595-0 -5.3967-0 10.064-0 15-0 0\n"
         "L1/1 5-0 0 0.0097685 0.523 3 4: 0.008962-0 0.88518-0 9.5979-0 15-0 0\n"
         "L1/2 5-0 0 0.0042736 1.000 1 2: -0.013661-0 -3.0286-0 10.809-0 15-0 0\n"
         "L2/0 5-0 0 0.0048576 0.000 3 0: -1.1587-0 -282.65-0 7.1748-0 11.053-0 0\n"
         "DRAM/0 5-0 0 0.008972 0.000 1 3: 0.038086-0 4.2084-0 9.1409-0 15-0 0\n"
         "compute/0 5-0 0 0.011415 1.000 0 1: -0.023143-0 -2.0797-0 11.744-0 15-0 0\n"
         "compute/1 5-0 0 0.0096054 1.000 4 1: 0.035953-0 4.0721-0 9.3502-0 15-0 0\n"
         "compute/2 5-0 0 0.0048913 0.000 3 4: 0.28311-0 56.119-0 5.9736-0 12.608-0 0\n"
         "0.055604 0.13901 sound -1\n"
         "0.34089 0.42611 sound -1\n"
         "1 1 sound -1\n"
         "0.0026292 0.013146 suspect 21\n"
         "0.10433 0.17388 sound -1\n"
         "drift\n"
         "L1 2:1/1 5-0 0.99449 0.0073597 0.000 1 0: -0.0054143-0 -0.89064-0 9.9464-0 15-0 0\n"
         "L1 1:1/1 5-0 0.99698 0.018037 0.000 3 4: 0.044247-0 2.3461-0 8.2166-0 15-0 0\n"
         "L1 1:0/1 5-0 1.0073 0.0032553 0.000 2 4: -0.089603-0 -22.239-0 6.2921-0 15-0 0\n"
         "L1 0:1/1 4-1 0.99668 0.024598 0.000 3 1: -0.086285-0 -3.5457-0 6.5149-1 14-1 0\n"
         "L2 2:1/1 5-0 0.96863 0.0073872 0.000 3 4: -1.0288-0 -157.54-0 5.3572-0 11.158-0 0\n"
         "DRAM update/1 5-0 1.0054 0.070676 0.000 0 1: 0.054364-0 0.76223-0 14.023-0 15-0 0\n"
         "mad/1 5-0 0.99835 0.016497 0.000 3 1: -0.014662-0 -0.98558-0 9.188-0 15-0 0\n"
         "fma/1 4-0 1.0224 0.0072155 0.000 3 0: 0.27863-2 31.062-2 0.273-2 12.131-2 0\n"
         "core clock/1 5-0 1 0 0.000 0 0: 0-0 0-0 0-15 0-15 0\n"
         "L1 2:1/2 5-0 0.99701 0.0012207 0.000 1 3: 0.022131-0 8.4408-0 7.9691-0 15-0 0\n"
         "L1 1:1/2 5-0 1.0098 0.0096779 0.000 1 0: -0.067773-0 -6.8594-0 10.921-0 15-0 0\n"
         "L1 1:0/2 4-0 1.0139 0.023895 0.000 3 0: 0.056745-3 2.2561-3 7.6215-3 12-3 0\n"
         "L1 0:1/2 5-0 0.99665 0.025024 0.000 1 0: 0.018499-0 0.68829-0 11.662-0 15-0 0\n"
         "L2 2:1/2 5-0 0.99515 0.0078178 0.000 3 4: -1.1728-0 -169.84-0 6.0344-0 11.158-0 0\n"
         "DRAM update/2 5-0 1.0036 0.070676 0.000 2 4: -0.055645-0 -0.81186-0 13.46-0 15-0 0\n"
         "mad/2 5-0 0.9889 0.0033083 0.000 1 2: 0.101-0 24.234-0 6.8997-0 15-0 0\n"
         "fma/2 5-0 0.99893 0.007651 0.000 0 4: 1.0815-0 123.62-0 6.6422-0 11.243-0 0\n"
         "core clock/2 5-0 1 0 0.000 0 0: 0-0 0-0 0-15 0-15 0\n"
         "L1/0 5-0 0 0.0015151 0.000 1 0: -0.026562-0 -16.352-0 9.808-0 15-0 0\n"
         "L1/1 5-0 0 0.011141 1.000 2 0: 0.0011948-0 0.15664-0 9.3913-0 15-0 0\n"
         "L1/2 5-0 0 0.0015334 0.000 1 3: 0.016948-0 10.493-0 7.9348-0 15-0 0\n"
         "L2/0 5-0 0 0.0063272 0.280 3 4: -1.0833-0 -202.01-0 5.8667-0 11.1-0 0\n"
         "DRAM/0 5-0 0 0.0052363 0.000 2 4: 0.014508-0 2.7817-0 6.8413-0 15-0 0\n"
         "compute/0 5-0 0 0.004661 0.496 1 4: 0.23825-0 49.827-0 6.0327-0 12.921-0 0\n"
         "compute/1 5-0 0 0.0017623 0.000 3 1: -0.073806-0 -38.293-0 5.8539-0 14.398-0 0\n"
         "compute/2 5-0 0 0.003116 0.000 0 4: 0.28681-0 89.021-0 5.8649-0 11.776-0 0\n"
         "0.026107 0.065266 sound -1\n"
         "0.31323 0.31323 sound -1\n"
         "0.27169 0.31323 sound -1\n"
         "0.0050141 0.02507 suspect 21\n"
         "0.049735 0.082892 sound -1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct figures *text = no_figures();
        judge(&cases[i], text);
        expect(text, cases[i].figures, "case", i);
    }
}

/* ---- roofs that a model brings, in the order of reports ---- */

static void put_roofs(struct figures *t, const struct carm_fleet *f,
                      const struct carm_fleet_row *row)
{
    const struct carm_fleet_machine *m = &f->machines[row->machine];
    put(t, "%s; %s; %s; %s; %d %d %u %d\n", m->cpu, m->hypervisor, m->caches, m->isas, m->cores,
        m->threads, (unsigned)m->page_bytes, m->quick);
    for (size_t i = 0; i < row->nvalues; i++) {
        const struct carm_fleet_value *v = &row->values[i];
        const struct carm_fleet_roof *r = &f->roofs[v->roof];
        assert_int_equal(r->index, v->roof);
        put(t, "%s %s %d %s (%s, %d%s): %.5g %s %.5g%s\n", r->isa, r->precision, r->threads,
            r->name, r->family, (int)r->noise, r->clock ? ", clock" : "", (double)v->rate, r->unit,
            (double)v->own, v->disturbed ? " disturbed" : "");
    }
}

/* Two ISAs, a ceiling of each group, latencies of both page sizes; intervals from 2% below the rate to 1% above. */
TEST(taken)
{
    static const struct carm_cache caches[] = {
        {1, 48 << 10, 1}, {2, 1 << 20, 2}, {3, 33 << 20, 4}, {4, 1536 << 10, 1}};
    static const struct carm_latency latencies[] = {
        {.level = "L3",
         .order = CARM_LATENCY_RANDOM,
         .page_bytes = 2 << 20,
         .seconds = 2e-8,
         .ci95 = {1.6e-8, 2.5e-8}},
        {.level = "L2",
         .order = CARM_LATENCY_RANDOM,
         .page_bytes = 2 << 20,
         .seconds = 5e-9,
         .ci95 = {5e-9, 5e-9},
         .disturbed = true},
        {.level = "L2",
         .order = CARM_LATENCY_RANDOM,
         .page_bytes = 4 << 10,
         .seconds = 6e-9,
         .ci95 = {5e-9, 7e-9}},
        {.level = "L1",
         .order = CARM_LATENCY_RANDOM,
         .page_bytes = 2 << 20,
         .seconds = 1e-9,
         .ci95 = {0, 2e-9}},
        {.level = "DRAM",
         .order = CARM_LATENCY_RANDOM,
         .page_bytes = 2 << 20,
         .seconds = 1e-7,
         .ci95 = {8e-8, 1.25e-7}},
    };
    struct figures *text = no_figures();
    struct carm_fleet *f = gen_fleet();
    struct carm_model *m = gen_model("n", 0);
    (void)snprintf(m->machine.hypervisor, sizeof m->machine.hypervisor, "KVM");
    m->machine.caches = malloc(sizeof caches);
    m->latency = malloc(sizeof latencies);
    assert_true(m->machine.caches && m->latency);
    memcpy(m->machine.caches, caches, sizeof caches);
    memcpy(m->latency, latencies, sizeof latencies);
    m->machine.ncaches = sizeof caches / sizeof *caches;
    m->nlatency = sizeof latencies / sizeof *latencies;
    m->config.quick = true;
    for (size_t s = 0; s < 2; s++) {
        struct carm_roofs *r = &m->roofs[s];
        (void)snprintf(r->isa, sizeof r->isa, "%s", s ? "avx2" : "scalar");
        (void)snprintf(r->dram_peak.code, sizeof r->dram_peak.code, "%s", s ? "D" : "");
        r->dram_peak.bandwidth = 9e9;
        r->memory[16].disturbed = s == 1;
        r->ceilings = calloc(CARM_CEILING_GROUP_COUNT, sizeof *r->ceilings);
        assert_non_null(r->ceilings);
        for (size_t g = 0; g < CARM_CEILING_GROUP_COUNT && s == 1; g++) {
            struct carm_ceiling_roof *c = &r->ceilings[r->nceilings++];
            *c = (struct carm_ceiling_roof){
                .group = (enum carm_ceiling_group)g, .name = "x", .threads = 1 + (int)(g % 2)};
            c->rate = 1e9 * (double)(g + 1);
            c->ci95 = (struct carm_ci){0.9 * c->rate, 1.2 * c->rate};
        }
        for (size_t i = 0; i < r->nmemory; i++) {
            r->memory[i].ci95 =
                (struct carm_ci){0.98 * r->memory[i].bandwidth, 1.01 * r->memory[i].bandwidth};
        }
        for (size_t i = 0; i < r->ncompute; i++) {
            r->compute[i].ci95 =
                (struct carm_ci){0.98 * r->compute[i].rate, 1.01 * r->compute[i].rate};
        }
    }
    struct carm_memory_roof *both[] = {
        &m->roofs[1].memory[16], &m->roofs[1].memory[3]}; /* the peak's code, in DRAM and L1 */
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(both[i]->code, sizeof both[i]->code, "D");
        both[i]->ci95 = (struct carm_ci){both[i]->bandwidth * 0.9,
                                         both[i]->bandwidth * (1.2 + 0.1 * (double)i)};
    }
    m->roofs[0].ncompute = 3;
    m->roofs[0].nmemory = 12;
    struct carm_fleet_row row = {.host = "n"};
    assert_ok(carm_fleet_take_model(f, m, true, &row, &err));
    f->rows = calloc(1, sizeof *f->rows);
    assert_non_null(f->rows);
    f->rows[f->nrows++] = row;
    assert_ok(carm_fleet_order_roofs(f, &err));
    put_roofs(text, f, &f->rows[0]);
    expect(
        text,
        "Test CPU; KVM; L1 48 KiB, L2 1 MiB/2, L3 33 MiB/4, L4 1536 KiB; avx2 dp, scalar dp; 2 2 2097152 1\n"
        "scalar dp 1 L1 2:1 (L1, 0): 4e+11 byte/s 0.0076532\n"
        "scalar dp 1 L1 1:1 (L1, 0): 4e+11 byte/s 0.0076532\n"
        "scalar dp 1 L1 1:0 (L1, 0): 4e+11 byte/s 0.0076532\n"
        "scalar dp 1 L1 0:1 (L1, 0): 4e+11 byte/s 0.0076532\n"
        "scalar dp 1 L1 update (L1, 0): 4e+11 byte/s 0.0076532\n"
        "scalar dp 1 L2 2:1 (L2, 1): 1e+11 byte/s 0.0076532\n"
        "scalar dp 1 L2 1:1 (L2, 1): 1e+11 byte/s 0.0076532\n"
        "scalar dp 1 L2 1:0 (L2, 1): 1e+11 byte/s 0.0076532\n"
        "scalar dp 1 L2 0:1 (L2, 1): 1e+11 byte/s 0.0076532\n"
        "scalar dp 1 L2 update (L2, 1): 1e+11 byte/s 0.0076532\n"
        "scalar dp 1 L3 2:1 (L3, 2): 2.5e+10 byte/s 0.0076532\n"
        "scalar dp 1 L3 1:1 (L3, 2): 2.5e+10 byte/s 0.0076532\n"
        "scalar dp 1 DRAM peak (DRAM, 3): 9e+09 byte/s 0\n"
        "scalar dp 1 latency DRAM (latency, 3): 1e+07 load/s 0.1148\n"
        "scalar dp 1 latency L2 (latency, 1): 2e+08 load/s 0 disturbed\n"
        "scalar dp 1 latency L3 (latency, 3): 5e+07 load/s 0.1148\n"
        "scalar dp 1 mad (compute, 0): 1e+10 flop/s 0.0076532\n"
        "scalar dp 1 fma (compute, 0): 2e+10 flop/s 0.0076532\n"
        "scalar dp 1 add (compute, 0): 3e+10 flop/s 0.0076532\n"
        "scalar dp 1 core clock (, 0, clock): 3e+09 Hz 0\n"
        "avx2 dp 2 L1 2:1 (L1, 0): 8e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L1 1:1 (L1, 0): 8e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L1 1:0 (L1, 0): 8e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L1 0:1 (L1, 0): 8e+11 byte/s 0.10204\n"
        "avx2 dp 2 L1 update (L1, 0): 8e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L2 2:1 (L2, 1): 2e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L2 1:1 (L2, 1): 2e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L2 1:0 (L2, 1): 2e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L2 0:1 (L2, 1): 2e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L2 update (L2, 1): 2e+11 byte/s 0.0076532\n"
        "avx2 dp 2 L3 2:1 (L3, 2): 5e+10 byte/s 0.0076532\n"
        "avx2 dp 2 L3 1:1 (L3, 2): 5e+10 byte/s 0.0076532\n"
        "avx2 dp 2 L3 1:0 (L3, 2): 5e+10 byte/s 0.0076532\n"
        "avx2 dp 2 L3 0:1 (L3, 2): 5e+10 byte/s 0.0076532\n"
        "avx2 dp 2 L3 update (L3, 2): 5e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM 2:1 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM 1:1 (DRAM, 4): 1.2e+10 byte/s 0.076532 disturbed\n"
        "avx2 dp 2 DRAM 1:0 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM 0:1 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM update (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM peak (DRAM, 4): 9e+09 byte/s 0.076532 disturbed\n"
        "avx2 dp 2 mad (compute, 0): 2e+10 flop/s 0.0076532\n"
        "avx2 dp 2 fma (compute, 0): 4e+10 flop/s 0.0076532\n"
        "avx2 dp 2 add (compute, 0): 6e+10 flop/s 0.0076532\n"
        "avx2 dp 2 mul (compute, 0): 8e+10 flop/s 0.0076532\n"
        "avx2 dp 2 busy: x (, 0): 4e+09 flop/s 0.076532\n"
        "avx2 dp 2 in-core: x (, 0): 1e+09 flop/s 0.076532\n"
        "avx2 dp 2 memory: x (, 3): 3e+09 byte/s 0.076532\n"
        "avx2 dp 2 mix: x (, 0): 2e+09 flop/s 0.076532\n"
        "avx2 dp 2 traffic: x (, 3): 5e+09 byte/s 0.076532\n"
        "avx2 dp 2 core clock (, 0, clock): 3e+09 Hz 0\n",
        "model", 0);
    carm_model_free(m);
}
