/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All figures of judged fleets, number by number. test_judge.c shows what verdicts are worth; here a change of any
 * centre, spread, share, z, p or q shows up. A table is replaced where the judgement is meant to change. */
#include "models/ceilings.h"
#include "models/latency.h"
#include "tests/models/figures.h"
#include "tests/models/fleet/generate.h"

/* Seven memory roofs of two levels and two operations, with one and two threads. */
static struct carm_model *small(int i, int hour)
{
    char host[32];
    (void)snprintf(host, sizeof host, "n%d", i);
    struct carm_model *m = gen_model(host, hour);
    for (size_t s = 0; s < m->nroofs; s++) {
        m->roofs[s].nmemory = 7;
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

/* Node 1 lacks a roof, node 2 has a disturbed one, node 3 is slow in L2, node 4 fast in one operation. */
static void judge(const struct fleet *in, struct figures *text)
{
    struct carm_fleet *f = gen_fleet();
    uint64_t seed = 36;
    for (int i = 0; i < in->nodes; i++) {
        for (int hour = 0; hour < in->hours; hour++) {
            struct carm_model *m = small(i, hour);
            gen_noise(m, 0.01, 0.002, in->own * (1.0 + 0.2 * (i % 3)), &seed);
            m->roofs[0].ncompute -= i == 1;
            m->roofs[1].memory[2].disturbed = i == 2;
            m->roofs[0].memory[3].disturbed = i == 0 && hour == 1;
            gen_scale(m, "L2", NULL, 0, i == 3 && hour == in->hours - 1 ? 0.7 : 1.0);
            gen_scale(m, "compute", "fma", 2, i == 4 && hour == in->hours - 1 ? 1.2 : 1.0);
            if (in->is_virtual) {
                (void)snprintf(m->machine.hypervisor, sizeof m->machine.hypervisor, "KVM");
            }
            gen_add(f, m, hour)->rounds = in->rounds && i != 5;
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
        {4, 1, false, false, 0.004,
         "L1 2:1/1 4-0 3.9838e+11 0.017833 0.000 2 3: 0.022587-0 1.2065-0 4.2944-0 10-0 0\n"
         "L1 1:1/1 4-0 3.9835e+11 0.0059885 0.000 3 2: 0.034245-0 3.6825-0 3.5296-0 10-0 0\n"
         "L1 1:0/1 4-0 3.9807e+11 0.0051021 0.000 3 1: -0.018579-0 -2.7696-0 5.8046-0 10-0 0\n"
         "L1 0:1/1 4-0 3.9468e+11 0.0082367 0.000 1 0: -0.030114-0 -3.3029-0 4.6307-0 10-0 0\n"
         "L1 update/1 4-0 4.0032e+11 0.0051021 0.000 1 0: -0.011437-0 -1.4966-0 6.1682-0 10-0 0\n"
         "L2 2:1/1 4-0 9.9826e+10 0.010717 0.000 3 1: -1.2224-0 -126.06-0 3.2541-0 6-0 8\n"
         "L2 1:1/1 4-0 9.8789e+10 0.019501 0.000 3 1: -1.1836-0 -70.662-0 3.4418-0 6-0 8\n"
         "mad/1 4-0 1.0004e+10 0.0199 0.000 0 1: 0.0050009-0 0.17441-0 5.4104-0 10-0 0\n"
         "fma/1 3-0 1.9943e+10 0.012488 0.000 2 0: -0.0099448-2 -0.6928-2 5.7672-2 8-2 0\n"
         "core clock/1 4-0 3e+09 0.0051021 0.000 0 0: 0-0 0-0 0-10 0-10 0\n"
         "L1 2:1/2 4-0 8.0048e+11 0.0051021 0.000 2 1: -0.022552-0 -3.0265-0 5.6626-0 10-0 0\n"
         "L1 1:1/2 4-0 8.0073e+11 0.0074966 0.000 0 2: 0.026087-0 2.7408-0 5.8239-0 10-0 0\n"
         "L1 1:0/2 3-1 7.987e+11 0.0051021 0.000 0 1: -0.0032244-0 -0.64411-0 5.3755-3 7-3 0\n"
         "L1 0:1/2 4-0 7.9449e+11 0.0051021 0.000 0 1: 0.009384-0 1.3753-0 8.216-0 10-0 0\n"
         "L1 update/2 4-0 7.9573e+11 0.015904 0.000 2 0: -0.022879-0 -1.3586-0 4.9097-0 10-0 0\n"
         "L2 2:1/2 4-0 1.9836e+11 0.018695 0.000 3 0: -1.1621-0 -71.828-0 4.2808-0 6-0 8\n"
         "L2 1:1/2 4-0 1.9993e+11 0.013128 0.000 3 2: -1.1353-0 -97.893-0 3.1796-0 6-0 8\n"
         "mad/2 4-0 2.0053e+10 0.0051021 0.000 0 3: 0.073244-0 10.714-0 5.2938-0 6.7656-0 0\n"
         "fma/2 4-0 4.0058e+10 0.0087035 0.000 2 0: -0.017197-0 -1.6558-0 5.2235-0 10-0 0\n"
         "core clock/2 4-0 3e+09 0.0051021 0.000 0 0: 0-0 0-0 0-10 0-10 0\n"
         "L1/0 4-0 0 0.007569 1.000 3 2: -0.0026783-0 -0.37481-0 8.8765-0 10-0 0\n"
         "L1/1 4-0 0 0.0077532 1.000 3 2: -0.0044838-0 -0.61644-0 6.8395-0 10-0 0\n"
         "L1/2 4-0 0 0.0074027 1.000 0 1: -0.003822-0 -0.4656-0 8.3639-0 10-0 0\n"
         "L2/0 4-0 0 0.014583 1.000 3 1: -1.1827-0 -96.78-0 4.734-0 6-0 8\n"
         "L2/1 4-0 0 0.013706 1.000 3 1: -1.2127-0 -105.75-0 3.3006-0 6-0 8\n"
         "L2/2 4-0 0 0.015685 1.000 3 2: -1.1447-0 -86.943-0 4.2346-0 6-0 8\n"
         "compute/0 4-0 0 0.0092432 1.000 2 3: 0.034113-0 3.7186-0 6.1736-0 10-0 0\n"
         "compute/1 4-0 0 0.015241 1.000 2 1: 0.01832-0 0.62278-0 7.3851-0 10-0 0\n"
         "compute/2 4-0 0 0.0077233 1.000 2 3: 0.043684-0 5.6636-0 5.3814-0 10-0 0\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.3187 0.6374 sound -1\n"
         "0 0 slow 5\n"},
        {7, 5, false, true, 0.002,
         "L1 2:1/1 7-0 4.0252e+11 0.0084526 0.000 0 5: 0.070924-0 7.962-0 16.957-0 28-0 0\n"
         "L1 1:1/1 7-0 3.985e+11 0.0063522 0.000 5 1: 0.043541-0 6.4263-0 12.391-0 28-0 0\n"
         "L1 1:0/1 7-0 4.0101e+11 0.0075813 0.000 3 1: -0.07809-0 -10.03-0 13.334-0 28-0 0\n"
         "L1 0:1/1 7-0 3.9979e+11 0.010018 0.000 5 6: 0.10765-0 10.279-0 14.761-0 28-0 0\n"
         "L1 update/1 7-0 4.0041e+11 0.017021 0.000 4 1: -0.097952-0 -5.8518-0 17.025-0 28-0 0\n"
         "L2 2:1/1 7-0 9.976e+10 0.0078848 0.000 3 6: -1.0369-0 -154.38-0 13.214-0 24.019-0 8\n"
         "L2 1:1/1 7-0 1.0019e+11 0.016192 0.000 3 6: -0.99083-0 -75.512-0 13.888-0 24.032-0 8\n"
         "mad/1 7-0 9.954e+09 0.0036095 0.000 0 6: 0.035565-0 8.1026-0 15.819-0 28-0 0\n"
         "fma/1 6-0 2.0038e+10 0.012597 0.000 5 4: -0.018794-2 -1.5178-2 15.736-2 26-2 0\n"
         "core clock/1 7-0 3e+09 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1 2:1/2 7-0 8.0294e+11 0.0040975 0.000 2 3: -0.023428-0 -4.4598-0 16.795-0 28-0 0\n"
         "L1 1:1/2 7-0 8.0283e+11 0.013617 0.000 1 6: -0.0012024-0 -0.27711-0 13.935-0 28-0 0\n"
         "L1 1:0/2 6-1 7.9866e+11 0.0077468 0.000 1 5: 0.035728-0 4.2195-0 13.826-3 25-3 0\n"
         "L1 0:1/2 7-0 8.0427e+11 0.00429 0.000 0 4: 0.083069-0 16.693-0 15.424-0 28-0 0\n"
         "L1 update/2 7-0 8.0074e+11 0.0086109 0.000 3 0: -0.11428-0 -12.921-0 15.541-0 28-0 0\n"
         "L2 2:1/2 7-0 1.9873e+11 0.01258 0.000 3 4: -1.1814-0 -111.06-0 15.418-0 24.023-0 8\n"
         "L2 1:1/2 7-0 2.0081e+11 0.012546 0.000 3 4: -1.1566-0 -108.58-0 14.583-0 24.023-0 8\n"
         "mad/2 7-0 1.9857e+10 0.014373 0.000 1 3: 0.049865-0 3.3117-0 17.895-0 28-0 0\n"
         "fma/2 7-0 4.0115e+10 0.011824 0.000 0 4: 1.0434-0 78.574-0 15.883-0 23.46-0 0\n"
         "core clock/2 7-0 3e+09 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1/0 6-0 0 0.0030616 0.091 0 4: 0.0023323-0 0.9112-0 13.21-0 28-0 0\n"
         "L1/1 7-0 0 0.007087 0.597 3 1: 0.082039-0 11.503-0 17.513-0 28-0 0\n"
         "L1/2 6-0 0 0.0035494 0.147 0 4: 0.0068317-0 2.1065-0 15.69-0 28-0 0\n"
         "L2/0 7-0 0 0.0023959 0.000 3 6: -1.1645-0 -585.49-0 10.887-0 20.863-0 8\n"
         "L2/1 7-0 0 0.0041798 0.000 3 6: -1.0111-0 -298.85-0 13.37-0 20.863-0 8\n"
         "L2/2 7-0 0 0.011055 0.494 3 4: -1.2791-0 -137.46-0 17.744-0 24.007-0 8\n"
         "compute/0 6-0 0 0.0046073 0.254 0 4: 0.045733-0 9.7878-0 14.599-0 28-0 0\n"
         "compute/1 6-0 0 0.0051508 0.945 0 6: -0.009656-0 -2.1661-0 16.648-0 28-0 0\n"
         "compute/2 7-0 0 0.0029459 0.000 6 4: 0.47802-0 152.03-0 12.444-0 19.883-0 10\n"
         "0.3571 0.62492 sound -1\n"
         "1 1 sound -1\n"
         "0.49345 0.69082 sound -1\n"
         "1.9019e-05 0.00013313 slow 23\n"
         "0.001178 0.004123 fast 28\n"
         "1 1 sound -1\n"
         "0.15764 0.36783 sound -1\n"
         "drift\n"
         "L1 2:1/1 7-0 1.0064 0.0048032 0.000 2 3: -0.0059586-0 -0.79081-0 18.587-0 28-0 0\n"
         "L1 1:1/1 7-0 1.0004 0.0090769 0.000 5 4: -0.096239-0 -10.143-0 13.856-0 28-0 0\n"
         "L1 1:0/1 7-0 1.0033 0.010654 0.000 3 4: -0.0973-0 -8.9339-0 16.333-0 28-0 0\n"
         "L1 0:1/1 7-0 1.0006 0.0050511 0.000 3 6: -0.012628-0 -1.9183-0 10.591-0 28-0 0\n"
         "L1 update/1 7-0 1.0004 0.018053 0.000 3 1: -0.15438-0 -8.652-0 15.382-0 28-0 0\n"
         "L2 2:1/1 7-0 0.99931 0.0094397 0.000 3 2: -1.0581-0 -130.8-0 13.274-0 24.022-0 8\n"
         "L2 1:1/1 7-0 1.0044 0.0070347 0.000 3 6: -1.0739-0 -174.79-0 11.09-0 24.021-0 8\n"
         "mad/1 7-0 0.99962 0.0082339 0.000 0 4: -0.032972-0 -3.785-0 17.958-0 28-0 0\n"
         "fma/1 6-0 1.0016 0.01362 0.000 0 2: 0.026515-2 1.8084-2 18.733-2 26-2 0\n"
         "core clock/1 7-0 1 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1 2:1/2 7-0 1.0018 0.0072478 0.000 5 3: 0.073297-0 9.4383-0 15.577-0 28-0 0\n"
         "L1 1:1/2 7-0 1.0026 0.0059458 0.000 1 6: 0.11407-0 16.851-0 11.222-0 28-0 0\n"
         "L1 1:0/2 6-0 0.99542 0.011195 0.000 1 5: 0.053777-3 4.4451-3 14.806-3 25-3 0\n"
         "L1 0:1/2 7-0 1.0036 0.010198 0.000 0 4: 0.12113-0 11.351-0 15.078-0 28-0 0\n"
         "L1 update/2 7-0 0.99482 0.012675 0.000 3 0: -0.083725-0 -6.559-0 18.674-0 28-0 0\n"
         "L2 2:1/2 7-0 0.99156 0.014976 0.000 3 4: -1.1384-0 -89.909-0 16.08-0 24.056-0 0\n"
         "L2 1:1/2 7-0 1.001 0.0078972 0.000 3 4: -1.0985-0 -158.4-0 12.466-0 24.021-0 8\n"
         "mad/2 7-0 0.99173 0.014862 0.000 6 3: -0.0059149-0 -0.48861-0 19.612-0 28-0 0\n"
         "fma/2 7-0 1.0064 0.016628 0.000 0 4: 0.95558-0 51.143-0 16.805-0 25.457-0 0\n"
         "core clock/2 7-0 1 0 0.000 0 0: 0-0 0-0 0-28 0-28 0\n"
         "L1/0 6-0 0 0.0038853 0.153 5 6: 0.034104-0 8.8124-0 14.456-0 28-0 0\n"
         "L1/1 7-0 0 0.0067345 0.853 5 4: 0.039425-0 5.8513-0 15.881-0 28-0 0\n"
         "L1/2 6-0 0 0.0073084 0.627 1 6: 0.069732-0 9.5245-0 16.208-0 28-0 0\n"
         "L2/0 7-0 0 0.005234 0.095 3 6: -1.1149-0 -258.65-0 9.8776-0 24.003-0 8\n"
         "L2/1 7-0 0 0.0043299 0.000 3 6: -1.0605-0 -301.26-0 11.566-0 24.003-0 8\n"
         "L2/2 7-0 0 0.008259 0.311 3 4: -1.0749-0 -157.96-0 13.723-0 24.007-0 8\n"
         "compute/0 6-0 0 0.0094464 0.496 0 4: 0.099963-0 10.326-0 14.841-0 28-0 0\n"
         "compute/1 6-0 0 0.0089582 0.528 0 2: -0.043586-0 -4.9313-0 17.809-0 28-0 0\n"
         "compute/2 7-0 0 0.0036585 0.000 6 4: 0.33568-0 87.101-0 8.8069-0 23.171-0 0\n"
         "1 1 sound -1\n"
         "0.93845 1 sound -1\n"
         "1 1 sound -1\n"
         "8.9528e-05 0.00062669 slow 24\n"
         "0.0048958 0.017135 suspect 28\n"
         "1 1 sound -1\n"
         "0.30878 0.72049 sound -1\n"},
        {24, 1, true, true, 0.01,
         "L1 2:1/1 24-0 3.9995e+11 0 0.000 2 3: -0.2041-0 -12.084-0 177.63-0 300-0 0\n"
         "L1 1:1/1 24-0 3.9881e+11 0.0081067 0.000 15 9: 0.25722-0 13.085-0 158.64-0 300-0 0\n"
         "L1 1:0/1 24-0 3.9922e+11 0 0.000 23 18: -0.017465-0 2.9173-0 180.96-0 300-0 0\n"
         "L1 0:1/1 24-0 4.0002e+11 0.010698 0.000 1 11: 0.26686-0 15.355-0 177.52-0 300-0 0\n"
         "L1 update/1 24-0 4.0086e+11 0 0.000 19 18: -0.59368-0 -46.584-0 175.35-0 300-0 0\n"
         "L2 2:1/1 24-0 9.9673e+10 0 0.000 3 22: -0.50098-0 -63.676-0 195.92-0 296-0 8\n"
         "L2 1:1/1 24-0 1.0012e+11 0 0.000 3 12: -1.1082-0 -114.88-0 167.71-0 296-0 8\n"
         "mad/1 24-0 9.9485e+09 0 0.000 4 1: 0.029423-0 3.7827-0 193.06-0 300-0 0\n"
         "fma/1 23-0 2.0038e+10 0 0.000 17 7: -0.43805-2 -36.038-2 169.66-2 298-2 0\n"
         "core clock/1 24-0 3e+09 0 0.000 0 0: 0-0 0-0 0-300 0-300 0\n"
         "L1 2:1/2 24-0 7.9909e+11 0 0.000 13 10: -0.16289-0 -12.951-0 162.55-0 300-0 0\n"
         "L1 1:1/2 24-0 8.0018e+11 0.0010791 0.000 9 12: -0.28611-0 -24.522-0 176.56-0 300-0 0\n"
         "L1 1:0/2 23-1 8.0117e+11 0 0.000 15 11: 0.012727-0 -4.0551-0 206.05-3 297-3 0\n"
         "L1 0:1/2 24-0 7.9825e+11 0 0.000 23 16: 0.4527-0 38.123-0 149.33-0 300-0 0\n"
         "L1 update/2 24-0 8.0403e+11 0 0.000 2 16: -0.80805-0 -68.326-0 187.18-0 300-0 0\n"
         "L2 2:1/2 24-0 1.9916e+11 0 0.000 3 7: -1.7061-0 -158.72-0 191.76-0 296-0 8\n"
         "L2 1:1/2 24-0 1.9917e+11 0 0.000 3 16: -0.96016-0 -102.69-0 170.23-0 296-0 8\n"
         "mad/2 24-0 2e+10 0 0.000 9 3: 0.2693-0 24.996-0 198.9-0 300-0 0\n"
         "fma/2 24-0 4.0141e+10 0 0.000 17 4: 0.2746-0 20.914-0 170.02-0 295-0 10\n"
         "core clock/2 24-0 3e+09 0 0.000 0 0: 0-0 0-0 0-300 0-300 0\n"
         "L1/0 23-0 0 0.0033138 0.000 15 16: 0.38208-0 110.83-0 147.49-0 300-0 0\n"
         "L1/1 24-0 0 0.0056027 0.000 19 9: 0.057251-0 13.608-0 155.17-0 300-0 0\n"
         "L1/2 23-0 0 0.0044643 0.000 15 16: 0.21993-0 43.642-0 159.53-0 300-0 0\n"
         "L2/0 24-0 0 0.0031776 0.000 3 16: -1.4367-0 -516.77-0 151.62-0 296-0 8\n"
         "L2/1 24-0 0 0.0091276 0.157 3 14: -0.70556-0 -106.28-0 168.29-0 296-0 8\n"
         "L2/2 24-0 0 0.0087279 0.058 3 16: -2.1074-0 -263.97-0 160-0 296-0 8\n"
         "compute/0 23-0 0 0.0034459 0.000 17 4: -0.086858-0 0.58542-0 145.81-0 295-0 10\n"
         "compute/1 23-0 0 0.0066404 0.000 4 1: 0.12984-0 18.436-0 159.4-0 300-0 0\n"
         "compute/2 24-0 0 0.003847 0.000 23 4: -0.22792-0 -8.5288-0 168.33-0 295-0 10\n"
         "1 1 sound -1\n"
         "0.55441 1 sound -1\n"
         "1 1 sound -1\n"
         "2.0668e-15 4.9604e-14 slow 23\n"
         "1.1138e-08 1.3366e-07 fast 28\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.75776 1 sound -1\n"
         "1 1 sound -1\n"
         "0.97038 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.81799 1 sound -1\n"
         "0.60026 1 sound -1\n"
         "1 1 sound -1\n"
         "0.94311 1 sound -1\n"
         "0.085292 0.68234 sound -1\n"
         "0.91763 1 sound -1\n"
         "1 1 sound -1\n"
         "0.95286 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.62754 1 sound -1\n"
         "1 1 sound -1\n"},
        {6, 2, true, false, 0.0001,
         "L1 2:1/1 6-0 4.0156e+11 0.010432 0.000 3 1: 0.026336-0 2.4373-0 11.574-0 21-0 0\n"
         "L1 1:1/1 6-0 4.0175e+11 0.010044 0.000 1 4: 0.042601-0 4.1295-0 9.6535-0 21-0 0\n"
         "L1 1:0/1 6-0 3.9927e+11 0.0085325 0.000 2 4: 8.6453e-05-0 -0.058138-0 12.966-0 21-0 0\n"
         "L1 0:1/1 5-1 4.0432e+11 0.019359 0.000 1 5: -0.0683-0 -3.6881-0 13.16-1 20-1 0\n"
         "L1 update/1 6-0 4.0223e+11 0.012833 0.000 0 5: 0.053326-0 4.0987-0 12.873-0 21-0 0\n"
         "L2 2:1/1 6-0 9.9406e+10 0.006407 0.000 3 0: -1.1798-0 -218.83-0 12.261-0 17.028-0 8\n"
         "L2 1:1/1 6-0 9.9901e+10 0.012066 0.000 3 2: -1.216-0 -120.35-0 12.03-0 17.069-0 0\n"
         "mad/1 6-0 9.9385e+09 0.0039853 0.000 1 0: 0.02795-0 6.913-0 12.924-0 21-0 0\n"
         "fma/1 5-0 2.0111e+10 0.014056 0.000 2 0: 0.070022-2 4.9015-2 14.074-2 19-2 0\n"
         "core clock/1 6-0 3e+09 0 0.000 0 0: 0-0 0-0 0-21 0-21 0\n"
         "L1 2:1/2 6-0 7.983e+11 0.0060894 0.000 5 4: -0.029272-0 -4.9368-0 10.393-0 21-0 0\n"
         "L1 1:1/2 6-0 7.9577e+11 0.014096 0.000 4 2: -0.10002-0 -7.2242-0 11.284-0 21-0 0\n"
         "L1 1:0/2 5-1 8.0117e+11 0.0052404 0.000 4 5: 0.011856-0 1.8931-0 5.2859-3 18-3 0\n"
         "L1 0:1/2 6-0 7.9825e+11 0.006497 0.000 2 5: 0.019148-0 2.8574-0 11.162-0 21-0 0\n"
         "L1 update/2 6-0 8.0205e+11 0.0086368 0.000 0 2: -0.011164-0 -1.3496-0 14.325-0 21-0 0\n"
         "L2 2:1/2 6-0 1.9943e+11 0.0059281 0.000 3 5: -1.1647-0 -231.34-0 8.7003-0 17.028-0 8\n"
         "L2 1:1/2 6-0 2.0034e+11 0.0074789 0.000 3 5: -1.2058-0 -192.74-0 9.431-0 17.028-0 8\n"
         "mad/2 6-0 1.9935e+10 0.0066828 0.000 4 1: -0.03801-0 -5.8577-0 10.825-0 21-0 0\n"
         "fma/2 6-0 4.008e+10 0.0056601 0.000 1 4: 1.0901-0 173.33-0 10.846-0 16.229-0 0\n"
         "core clock/2 6-0 3e+09 0 0.000 0 0: 0-0 0-0 0-21 0-21 0\n"
         "L1/0 6-0 0 0.0017215 0.000 1 5: 0.025463-0 15.102-0 10.924-0 21-0 0\n"
         "L1/1 5-0 0 0.0056793 0.092 1 4: 0.085009-0 14.884-0 11.657-0 21-0 0\n"
         "L1/2 5-0 0 0.0010093 0.000 4 5: 0.008363-0 8.7908-0 7.9431-0 21-0 0\n"
         "L2/0 6-0 0 0.0052684 0.415 3 0: -1.1786-0 -265.55-0 10.889-0 17.017-0 8\n"
         "L2/1 6-0 0 0.0078784 1.000 3 0: -1.1968-0 -180.59-0 12.226-0 17.017-0 8\n"
         "L2/2 6-0 0 0.0067983 1.000 3 5: -1.1807-0 -205.74-0 9.2718-0 17.017-0 8\n"
         "compute/0 5-0 0 0.0082342 1.000 5 4: 0.18093-0 21.289-0 10.946-0 21-0 0\n"
         "compute/1 5-0 0 0.0056691 1.000 1 0: -0.025069-0 -4.9261-0 12.712-0 21-0 0\n"
         "compute/2 6-0 0 0.0067485 1.000 3 4: 0.5227-0 72.902-0 9.443-0 16.804-0 0\n"
         "0.56561 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.00070918 0.0042551 slow 23\n"
         "0.0076394 0.022918 suspect 18\n"
         "0.70365 1 sound -1\n"
         "drift\n"
         "L1 2:1/1 6-0 1.009 0.011469 0.000 3 1: 0.012799-0 0.84457-0 10.458-0 21-0 0\n"
         "L1 1:1/1 6-0 1.0071 0.015177 0.000 1 3: -0.06887-0 -4.6921-0 11.788-0 21-0 0\n"
         "L1 1:0/1 6-0 0.99849 0.0068998 0.000 2 5: 0.019506-0 2.7188-0 12.411-0 21-0 0\n"
         "L1 0:1/1 5-1 1.005 0.016195 0.000 1 5: 0.10564-0 6.2756-0 12.625-1 20-1 0\n"
         "L1 update/1 6-0 1.0031 0.010463 0.000 0 5: 0.16411-0 15.476-0 10.544-0 21-0 0\n"
         "L2 2:1/1 6-0 0.99409 0.011862 0.000 3 5: -1.1488-0 -115.31-0 10.869-0 17.17-0 0\n"
         "L2 1:1/1 6-0 1.0024 0.016812 0.000 3 2: -1.234-0 -86.538-0 10.588-0 17.17-0 0\n"
         "mad/1 6-0 1.0056 0.020274 0.000 1 0: 0.016831-0 0.73215-0 14.582-0 21-0 0\n"
         "fma/1 5-0 1.0044 0.0023439 0.000 4 3: 0.15347-2 63.999-2 10.538-2 15.57-2 0\n"
         "core clock/1 6-0 1 0 0.000 0 0: 0-0 0-0 0-21 0-21 0\n"
         "L1 2:1/2 6-0 0.99931 0.010647 0.000 5 4: -0.20294-0 -19.444-0 8.9865-0 21-0 0\n"
         "L1 1:1/2 6-0 0.996 0.010787 0.000 4 0: -0.095983-0 -9.1035-0 11.754-0 21-0 0\n"
         "L1 1:0/2 5-0 1.0106 0.011144 0.000 4 5: -0.096028-3 -8.7829-3 9.6881-3 18-3 0\n"
         "L1 0:1/2 6-0 1.0005 0.0061963 0.000 3 5: -0.031014-0 -5.2492-0 9.3187-0 21-0 0\n"
         "L1 update/2 6-0 0.9996 0.016077 0.000 0 1: 0.020105-0 1.1544-0 14.557-0 21-0 0\n"
         "L2 2:1/2 6-0 0.99804 0.016133 0.000 3 1: -1.136-0 -84.26-0 12.398-0 17.17-0 0\n"
         "L2 1:1/2 6-0 0.99795 0.014868 0.000 3 5: -1.0656-0 -86.967-0 9.2074-0 17.17-0 0\n"
         "mad/2 6-0 0.99025 0.011682 0.000 4 1: -0.01023-0 -0.97551-0 14.376-0 21-0 0\n"
         "fma/2 6-0 0.99952 0.016576 0.000 3 4: 1.076-0 57.948-0 10.22-0 18.99-0 0\n"
         "core clock/2 6-0 1 0 0.000 0 0: 0-0 0-0 0-21 0-21 0\n"
         "L1/0 6-0 0 0.0041095 0.089 3 5: 0.015119-0 3.6089-0 8.8613-0 21-0 0\n"
         "L1/1 5-0 0 0.0043854 0.000 2 5: 0.070964-0 16.003-0 9.3047-0 21-0 0\n"
         "L1/2 5-0 0 0.0038067 0.000 3 0: -0.099671-0 -26.346-0 11.351-0 20.907-0 0\n"
         "L2/0 6-0 0 0.0055568 0.000 3 5: -1.1795-0 -252.53-0 9.6993-0 17.009-0 8\n"
         "L2/1 6-0 0 0.0061465 0.000 3 0: -1.2181-0 -234.24-0 11.903-0 17.009-0 8\n"
         "L2/2 6-0 0 0.0051314 0.000 3 5: -1.1126-0 -260.87-0 8.554-0 17.009-0 8\n"
         "compute/0 5-0 0 0.0039831 1.000 5 3: 0.14106-0 31.1-0 12.24-0 18.111-0 0\n"
         "compute/1 5-0 0 0.0027967 1.000 1 3: 0.093996-0 49.091-0 11.169-0 17.532-0 0\n"
         "compute/2 6-0 0 0.01201 0.617 3 4: 0.26149-0 21-0 10.778-0 21-0 0\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "1 1 sound -1\n"
         "0.00039497 0.0023698 slow 25\n"
         "0.099672 0.29902 sound -1\n"
         "0.77601 1 sound -1\n"},
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
        {1, 48 << 10, 1}, {2, 1536 << 10, 2}, {3, 32 << 20, 4}};
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
        (void)snprintf(r->dram_peak.code, sizeof r->dram_peak.code, "%s", s ? "A" : "");
        r->dram_peak.bandwidth = 9e9;
        r->memory[19].disturbed = s == 1;
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
        "Test CPU; KVM; L1 48 KiB, L2 1536 KiB/2, L3 32 MiB/4; avx2 dp, scalar dp; 2 2 2097152 1\n"
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
        "avx2 dp 2 L1 0:1 (L1, 0): 8e+11 byte/s 0.0076532\n"
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
        "avx2 dp 2 DRAM 1:1 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM 1:0 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM 0:1 (DRAM, 4): 1.2e+10 byte/s 0.0076532\n"
        "avx2 dp 2 DRAM update (DRAM, 4): 1.2e+10 byte/s 0.0076532 disturbed\n"
        "avx2 dp 2 DRAM peak (DRAM, 4): 9e+09 byte/s 0.0076532 disturbed\n"
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
