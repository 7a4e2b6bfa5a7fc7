/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points before and after: Welch's interval against a worked example and against times of known scatter, and
 * what of counts and roofs differs. */
#include <unistd.h>

#include "models/file/points.h"
#include "models/place/change.h"
#include "tests/unit.h"

static char paths[2][64];
static int code; /* of the last comparison */

static int set_up(void **state)
{
    for (int i = 0; i < 2; i++) {
        (void)strcpy(paths[i], "/tmp/carm-test-change-XXXXXX");
        const int fd = mkstemp(paths[i]);
        if (fd < 0 || close(fd)) {
            return -1;
        }
    }
    return 0;
}

static int tear_down(void **state)
{
    return unlink(paths[0]) || unlink(paths[1]);
}

static struct carm_changes *read_all(const char *header, const char *before, const char *after,
                                     const struct carm_model *model, double noise, const char *only)
{
    const char *const text[] = {before, after};
    static const struct carm_points_how how = {NULL, NULL, false};
    struct carm_changes *c = NULL;
    for (int i = 0; i < 2; i++) {
        FILE *out = fopen(paths[i], "w");
        assert_non_null(out);
        assert_true(fputs(header, out) >= 0 && fputs("\n", out) >= 0 && fputs(text[i], out) >= 0);
        assert_int_equal(fclose(out), 0);
    }
    err.text[0] = '\0';
    code = carm_points_compare(paths[0], paths[1], &how, model, noise, only, &c, &err);
    assert_true(c ? code == 0 : code < 0);
    return c;
}

static struct carm_changes *read_both(const char *before, const char *after, double noise)
{
    return read_all("name,flops,bytes,seconds,counted_by,instructions,dp_scalar,dp_128,"
                    "dp_256,dp_512,sp_scalar,sp_128,sp_256,sp_512,rank",
                    before, after, NULL, noise, NULL);
}

/* Logarithms 1, 2, 3 and 4, 6, 8, 10: variances 1 and 20/3, so 1/3 + 5/3 = 2; freedom 4 / (1/18 + 25/27) = 4.0755 */
TEST(interval)
{
    const double sum[] = {6, 28}, squares[] = {14, 216};
    const size_t runs[] = {3, 4};
    /* Student's t at 0.975 with 4.0755 degrees of freedom: 2.7550 */
    assert_near(carm_change_interval(sum, squares, runs, 1), sqrt(2.0) * 2.7550, 0.01);
    assert_true(carm_change_interval(sum, squares, runs, 10) >
                carm_change_interval(sum, squares, runs, 1));
    const double same[] = {3 * log(0.1), 4 * log(0.1)},
                 same_squares[] = {3 * log(0.1) * log(0.1), 4 * log(0.1) * log(0.1)};
    assert_near(carm_change_interval(same, same_squares, runs, 1), 0.0, 0.0);
    /* 0, 0 and 1, 1.2: one degree of freedom, whose t is 12.706; without a number of comparisons too */
    assert_near(carm_change_interval((double[]){0, 2.2}, (double[]){0, 2.44}, (size_t[]){2, 2}, 0),
                1.2706, 0.001);
}

#define TAIL               ",,,,,,,,,\n"
#define RUN(name, seconds) name ",1e9,8e9," seconds ",stepped," TAIL

static enum carm_change_verdict verdict(const char *before, const char *after, double noise)
{
    struct carm_changes *c = read_both(before, after, noise);
    assert_non_null(c);
    struct carm_change change;
    assert_true(carm_changes_get(c, 0, &change));
    carm_changes_close(c);
    return change.values[CARM_CHANGE_TIME].verdict;
}

TEST(times)
{
    const char *one = RUN("a", "1.00") RUN("a", "1.01") RUN("a", "0.99");
    const char *more = RUN("a", "1.10") RUN("a", "1.11") RUN("a", "1.09");
    const char *wide = RUN("a", "1.00") RUN("a", "1.50") RUN("a", "0.80");
    assert_int_equal(verdict(one, more, 0.01), CARM_CHANGE_DIFFERENT);
    assert_int_equal(verdict(one, one, 0.01), CARM_CHANGE_EQUAL);
    assert_int_equal(verdict(one, wide, 0.01), CARM_CHANGE_UNJUDGED); /* within a factor of 2 */
    assert_int_equal(verdict(one, more, 0.2), CARM_CHANGE_EQUAL);
    const char *exact =
        RUN("a", "1") RUN("a", "1"); /* half of the interval is a factor of 1.505, and of 1.497 */
    assert_int_equal(verdict(exact, RUN("a", "1") RUN("a", "1.0665"), 0.01), CARM_CHANGE_UNJUDGED);
    assert_int_equal(verdict(exact, RUN("a", "1") RUN("a", "1.0655"), 0.01), CARM_CHANGE_EQUAL);
    assert_int_equal(verdict(one, RUN("a", "9"), 0.01), CARM_CHANGE_UNJUDGED);
    assert_int_equal(verdict(one, "a,1e9,8e9,,stepped," TAIL, 0.01), CARM_CHANGE_UNKNOWN);
}

TEST(counts)
{
    struct carm_changes *c =
        read_both("a,1e9,8e9,1,translated,100,1e9,0,0,0,0,0,0,0,\n"
                  "p,1e9,8e9,1,pmu,100,1e9,0,0,0,0,0,0,0,\n",
                  "a,1e9,8e9,1,translated,101,0,0,1e9,0,0,0,0,0,\n"
                  "p,1.001e9,8e9,1,pmu,120,1e9,0,0,0,0,0,0,0,\nq,1,1,1,pmu," TAIL,
                  0.01);
    assert_non_null(c);
    struct carm_change first, second, none;
    const struct carm_change *a = &first, *p = &second;
    memset(&first, 0xff, sizeof first);
    assert_true(carm_changes_get(c, 0, &first) && carm_changes_get(c, 1, &second));
    assert_false(carm_changes_get(c, 2, &none));
    assert_string_equal(carm_changes_only(c, 1, 0, NULL), "q");
    assert_null(carm_changes_only(c, 0, 0, NULL));
    assert_true(a->exact && !p->exact);
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        assert_false(a->values[k].varies);
    }
    assert_int_equal(a->values[CARM_CHANGE_FLOPS].verdict, CARM_CHANGE_EQUAL);
    assert_int_equal(a->values[CARM_CHANGE_INSTRUCTIONS].verdict, CARM_CHANGE_DIFFERENT);
    assert_int_equal(a->values[CARM_CHANGE_VECTOR_SHARE].verdict, CARM_CHANGE_DIFFERENT);
    assert_near(a->values[CARM_CHANGE_VECTOR_SHARE].change, 1.0, 0.0);
    assert_int_equal(p->values[CARM_CHANGE_FLOPS].verdict, CARM_CHANGE_EQUAL);
    assert_int_equal(p->values[CARM_CHANGE_INSTRUCTIONS].verdict, CARM_CHANGE_DIFFERENT);
    assert_int_equal(p->values[CARM_CHANGE_DRAM_BYTES].verdict, CARM_CHANGE_UNKNOWN);
    assert_near(p->values[CARM_CHANGE_FLOPS].error, -1.0, 0.0);
    carm_changes_close(c);
    /* a count that differs between runs of one file */
    c = read_both(
        "a,1e9,8e9,1,stepped,100,1,0,0,0,0,0,0,0,\na,1e9,8e9,1,stepped,101,1,1,0,0,0,0,0,0,\n",
        "a,1e9,8e9,1,stepped,100" TAIL, 0.01);
    assert_true(carm_changes_get(c, 0, &first));
    assert_true(first.values[CARM_CHANGE_INSTRUCTIONS].varies);
    assert_true(first.values[CARM_CHANGE_VECTOR_SHARE].varies);
    carm_changes_close(c);
    /* hyperfine's times are runs, not their median */
    static const char of[] =
        "\"results\": [{\"command\": \"a\", \"median\": 2, \"times\": [1, 3]}]}";
    c = read_all("{", of, of, NULL, 0.01, NULL);
    assert_non_null(c);
    assert_true(carm_changes_get(c, 0, &first));
    assert_true(first.runs[0] == 2 && first.runs[1] == 2);
    carm_changes_close(c);
}

/* A comparison in words. A line for each point has: its runs, its name, its bounds, each quantity as "before>after
 * (change)" behind its verdict (? unknown, ~ unjudged, = equal, ! different; v: it varies) and with its error where that is
 * known, and the causes of its flops. The names of one file alone follow, and files that may be cut off. */
static const char *told(const struct carm_changes *c)
{
    static char text[4096];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct carm_change of;
    bool part = false;
    assert_non_null(c);
    for (size_t i = 0; carm_changes_get(c, i, &of); i++) {
        struct carm_change_cause causes[3];
        (void)fprintf(out, "%s %zu/%zu%s%s%s", of.name, of.runs[0], of.runs[1],
                      of.exact ? " exact" : "", of.part ? " part" : "", of.summed ? " summed" : "");
        (void)fprintf(out, "%s%s%s%s%s%s", *of.asks_for ? " asks for " : "", of.asks_for,
                      *of.bound[0] ? " at " : "", of.bound[0], *of.bound[1] ? " to " : "",
                      of.bound[1]);
        for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
            const struct carm_change_value *v = &of.values[k];
            if (v->value[0] >= 0.0 || v->value[1] >= 0.0) {
                (void)fprintf(out, " %s%c%s%.4g>%.4g(%.3g)",
                              carm_change_name((enum carm_change_kind)k), "?~=!"[v->verdict],
                              v -> varies ? "v" : "", v->value[0], v->value[1], v->change);
            }
            if (v->error > 0.0 ||
                (v->error == 0.0 && k < CARM_CHANGE_FLOPS && k != CARM_CHANGE_VECTOR_SHARE)) {
                (void)fprintf(out, "+-%.3g", v->error);
            }
        }
        const size_t n = of.summed ? carm_changes_causes(c, i, CARM_CHANGE_FLOPS, causes, 3) : 0;
        for (size_t k = 0; k < n; k++) {
            (void)fprintf(out, "%s%s %.3g", k ? ", " : "; ", causes[k].part, causes[k].share);
        }
        (void)fputc('\n', out);
    }
    for (int file = 0; file < 2; file++) {
        const char *name;
        for (size_t i = 0; (name = carm_changes_only(c, file, i, &part)); i++) {
            (void)fprintf(out, "%d alone: %s%s\n", file, name, part ? " part" : "");
        }
        (void)fputs(carm_changes_unended(c, file) ? "cut off\n" : "", out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_told(const char *header, const char *before, const char *after, const char *only,
                        const char *wanted)
{
    struct carm_changes *c = read_all(header, before, after, NULL, 0.01, only);
    if (wanted) {
        assert_string_equal(c ? told(c) : err.text, wanted);
    }
    carm_changes_close(c);
}

TEST(refusals)
{
    assert_null(read_both(RUN("a", "1"), RUN("b", "1"), 0.01));
    assert_non_null(strstr(err.text, "no point of the same name"));
    assert_null(read_both("a,1,1,x,pmu" TAIL, RUN("a", "1"), 0.01));
    assert_non_null(strstr(err.text, "line 2"));
    assert_null(read_both("a,1,1,1,pmu,,,,,,,,,,0\na,1,1,1,pmu,,,,,,,,,,1\n", RUN("a", "1"), 0.01));
    assert_non_null(strstr(err.text, "rows of several ranks"));
    assert_int_equal(code, -CARM_EINVAL);
}

/* Each count changes by a share of its own. A program of one thread that is on a processor for half of its time has the
 * rates of that half. */
TEST(all_counts)
{
    static const char header[] =
        "name,flops,bytes,l2_bytes,l3_bytes,dram_bytes,instructions,dp_scalar,dp_128,dp_256,"
        "dp_512,sp_scalar,sp_128,sp_256,sp_512,counted_by,levels_by,seconds,threads,task_seconds";
    assert_told(
        header, "a,100,200,50,40,30,10,50,25,0,0,25,0,0,0,translated,,2,1,1\n",
        "a,200,250,75,60,36,20,0,0,50,0,0,0,0,50,translated,,4,1,4\n", NULL,
        "a 1/1 exact time~2>4(1) performance~100>50(-0.5) intensity!0.5>0.8(0.6) vector_share!0.25>1(0.75) "
        "flops!100>200(1) bytes!200>250(0.25) l2_bytes!50>75(0.5) l3_bytes!40>60(0.5) dram_bytes!30>36(0.2) "
        "instructions!10>20(1)\n");
    /* by counters 1% and by translation nothing is too little; simulated levels as by counters, by one side's too */
    assert_told(
        header,
        "a,1000,1000,1000,1000,1000,1000,,,,,,,,,pmu,,,,\nb,1000,1000,1000,1000,1000,1000,,,,,,,,,stepped,,,,\n",
        "a,1009,991,1011,989,1009,0,,,,,,,,,pmu,,,,\nb,1009,1000,1009,1009,1011,1000,,,,,,,,,constructed,simulated,,,\n",
        NULL,
        "a 1/1 intensity!1>1.018(0.0182) flops=1000>1009(0.009) bytes=1000>991(-0.009) l2_bytes!1000>1011(0.011) "
        "l3_bytes!1000>989(-0.011) dram_bytes=1000>1009(0.009) instructions!1000>0(-1)\n"
        "b 1/1 exact intensity!1>1.009(0.009) flops!1000>1009(0.009) bytes=1000>1000(0) l2_bytes=1000>1009(0.009) "
        "l3_bytes=1000>1009(0.009) dram_bytes!1000>1011(0.011) instructions=1000>1000(0)\n");
    /* something from nothing; nothing of nothing; a width or one side that is not known */
    assert_told(
        header,
        "a,0,4,,,0,,0,0,0,0,0,0,0,0,stepped,,1,,\nb,.5,0,1,,,,.25,,0,0,0,0,0,0,stepped,,1,,\n",
        "a,5,4,,,0,,5,0,0,0,0,0,0,0,stepped,,1,,\nb,.5,.5,,1,,,.25,.25,0,0,0,0,0,0,stepped,,1,,\n",
        NULL,
        "a 1/1 exact time~1>1(0) performance?-1>5(0) intensity?-1>1.25(0) vector_share?-1>0(0) flops!0>5(inf) bytes=4>4(0) dram_bytes=0>0(0)\n"
        "b 1/1 exact time~1>1(0) performance~0.5>0.5(0) intensity?-1>1(0) vector_share?-1>0.5(0) flops=0.5>0.5(0) bytes!0>0.5(inf) "
        "l2_bytes?1>-1(0) l3_bytes?-1>1(0)\n");
}

/* Times 1, 1 and 4, 4: no scatter, so the interval is 0. Without a number of bytes there is no intensity. */
TEST(repeated_runs)
{
    static const char header[] = "name,flops,seconds,counted_by,instructions,asks_for,bytes";
    assert_told(
        header, "a,8,,stepped,5,,\na,8,1,stepped,5,,\na,8,1,stepped,5,,\nb,8,,stepped,5,,\n",
        "b,8,1,stepped,5,the time,\na,8,4,stepped,6,,\na,8,4,stepped,7,,\n", NULL,
        "a 3/2 exact time!1>4(3)+-0 performance!8>2(-0.75) flops=8>8(0) instructions!v5>6(0.2)\n"
        "b 1/1 exact asks for the time time?-1>1(0) performance?-1>8(0) flops=8>8(0) instructions=5>5(0)\n");
    /* a time of 1.005 is the same within 1%; performance within that of counters */
    assert_told(
        header, "a,8,1,pmu,,pids,\na,8,1,pmu,,,\n", "a,8,1.005,pmu,,x,\na,8,1.005,pmu,,,\n", NULL,
        "a 2/2 asks for pids time=1>1.005(0.005)+-0 performance=8>7.96(-0.00498) flops=8>8(0)\n");
    /* logarithms 0, 0.2 and 1, 1.2: of means 0.1 and 1.1 with variances of 0.02 / 2 each; of two that are judged, t
     * of 2 degrees at 0.9875 is 6.2053 */
    struct carm_changes *c = read_all(
        header,
        "a,8,1,pmu,,,\na,8,1.2214027581601699,pmu,,,\nb,8,1,pmu,,,\nc,8,1,pmu,,,\nc,8,1,pmu,,,\nd,8,1,pmu,,,\ne,8,1,pmu,,,\ne,8,1,pmu,,,\n",
        "a,8,2.718281828459045,pmu,,,\na,8,3.3201169227365472,pmu,,,\nb,8,1,pmu,,,\nc,8,1,pmu,,,\nd,8,1,pmu,,,\nd,8,1,pmu,,,\ne,8,1,pmu,,,\ne,8,1,pmu,,,\n",
        NULL, 0.01, NULL);
    struct carm_change of;
    assert_true(carm_changes_get(c, 0, &of));
    assert_near(of.values[CARM_CHANGE_TIME].value[0], exp(0.1), 1e-9);
    assert_near(of.values[CARM_CHANGE_TIME].change, exp(1.0) - 1.0, 1e-9);
    assert_near(of.values[CARM_CHANGE_TIME].error,
                exp(1.0) * (exp(0.1 * sqrt(2.0) * 6.205347) - 1.0), 1e-5);
    assert_int_equal(of.values[CARM_CHANGE_TIME].verdict, CARM_CHANGE_DIFFERENT);
    assert_near(of.values[CARM_CHANGE_PERFORMANCE].change, exp(-1.0) - 1.0, 1e-9);
    assert_int_equal(of.values[CARM_CHANGE_PERFORMANCE].verdict,
                     CARM_CHANGE_EQUAL); /* within the error */
    carm_changes_close(c);
}

#define PARTS "name,kind,pid,host,rank,flops,instructions,seconds,counted_by,asks_for,bytes"

/* The rows of one run make the program: each row once, though it comes again with another time; the kernel without counts.
 * A count that one row does not know, the program does not know. */
TEST(programs_of_parts)
{
    assert_told(
        PARTS,
        "p: f loop a.c:1,loop,1,h,,60,6,1,stepped,the time,\np: g,function,1,h,,30,3,1,stepped,,\n"
        "p: others,others,1,h,,10,,1,stepped,,\np: kernel,kernel,1,h,,,,1,stepped,,\np: f loop a.c:1,loop,1,h,,60,6,2,stepped,,\n",
        "p: f loop a.c:3,loop,2,h,,80,8,1,translated,,\np: g,function,2,h,,40,4,1,translated,,\n"
        "p: others,others,2,h,,10,,1,translated,,\np: kernel,kernel,2,h,,,,2,translated,,\n",
        NULL,
        "p 1/1 exact summed asks for the time flops!100>130(0.3); f loop a.c:1 0.667, g 0.333\n"
        "p: f loop a.c:1 2/1 exact part asks for the time time~1.414>1(-0.293) performance~42.43>80(0.886) flops!60>80(0.333) instructions!6>8(0.333)\n"
        "p: g 1/1 exact part time~1>1(0) performance~30>40(0.333) flops!30>40(0.333) instructions!3>4(0.333)\n"
        "p: others 1/1 exact part time?1>1(0) performance?10>10(0) flops?10>10(0)\n"
        "p: kernel 1/1 exact part time~1>2(1)\n");
    /* another process, host: runs of their own, here with other counts; counters on one row make the program inexact; a row of
     * the program itself has its time */
    assert_told(
        PARTS,
        "p: f,function,1,h,,60,,,stepped,,\np: f,function,2,h,,62,,,stepped,,\np: f,function,2,i,,60,,,stepped,,\n",
        "p: f,function,1,h,,60,,,stepped,,\np: g,function,1,h,,1,,,pmu,,\np,,,,,61,,3,stepped,,\n",
        NULL,
        "p 3/2 exact summed time?-1>3(0) performance?-1>20.33(0) flops!v60>61(0.0167); g 1\n"
        "p: f 3/1 exact part flops=v60>60(0)\n1 alone: p: g part\n");
    assert_told(
        PARTS, "p: f,function,1,h,,600,,,stepped,,\n",
        "p: f,function,1,h,,600,,,stepped,,\np: g,function,1,h,,5,,,pmu,,\n", NULL,
        "p 1/1 summed flops=600>605(0.00833); g 1\np: f 1/1 exact part flops=600>600(0)\n1 alone: p: g part\n");
    assert_told(
        "name,kind,flops,bytes,l2_bytes,l3_bytes,dram_bytes,seconds",
        "p: f,function,1,20,30,40,50,\np: g,function,1,2,3,4,5,\n",
        "p: f,function,1,20,30,40,50,\np: g,function,1,4,6,8,5,\n", "p",
        "p 1/1 summed intensity!0.09091>0.08333(-0.0833) flops=2>2(0) bytes!22>24(0.0909) l2_bytes!33>36(0.0909) "
        "l3_bytes!44>48(0.0909) dram_bytes=55>55(0)\n");
    assert_told(PARTS, "p: f,function,1,h,0,6,,,stepped,,\np: g,function,1,h,1,6,,,stepped,,\n",
                "p: f,function,1,h,0,6,,,stepped,,\n", NULL, NULL);
    assert_non_null(
        strstr(err.text,
               "rows of several ranks are no repeated runs: carm place --by job --csv sums them"));
}

/* The pattern chooses programs, with the sum of their parts, and rows. */
TEST(names_alone)
{
    static const char text[] =
        "p: f,function,1,,,60,,,pmu,,\nq/q,,,,,5,,,pmu,,\nq/q: f,function,1,,,1,,,pmu,,\nr,,,,,2,,,pmu,,\n";
    assert_told(PARTS, text, text, "p", "p 1/1 summed flops=60>60(0)\n");
    assert_told(PARTS, text, text, "q*",
                "q/q 2/2 summed flops=v5>5(0)\nq/q: f 1/1 part flops=1>1(0)\n");
    assert_told(PARTS, text, text, "*: f",
                "p: f 1/1 part flops=60>60(0)\nq/q: f 1/1 part flops=1>1(0)\n");
    assert_told(PARTS, "p,,,,,5,,,pmu,,\n", "p: f,function,1,,,60,,,pmu,,\n", NULL,
                "p 1/1 summed flops!5>60(11)\n1 alone: p: f part\n");
    assert_told(
        "name,bytes,seconds,flops", "a,,,1\nb,,,2\nc,,,3", "d,,,1\nb,,,2\nc,,,30", NULL,
        "b 1/1 flops=2>2(0)\nc 1/1 flops!3>30(9)\n0 alone: a\ncut off\n1 alone: d\ncut off\n");
}

/* Loops of a function are matched by their order, by line, then by offset, if both files have as many. */
TEST(moved_loops)
{
#define L(place, flops) "p: f loop " place ",loop,1,,," flops ",,,pmu,,\n"
    static const struct {
        const char *before, *after, *told;
    } cases[] = {
        {L("a.c:9", "1") L("a.c:10", "2"), L("a.c:12", "20") L("a.c:11", "10"),
         "p: f loop a.c:9 1/1 part flops!1>10(9)\np: f loop a.c:10 1/1 part flops!2>20(9)\n"},
        {L("a.c:9 +0x90", "1") L("a.c:9 +0xa", "2"), L("a.c:9 +0xf", "20") L("a.c:9 +0x200", "10"),
         "p: f loop a.c:9 +0x90 1/1 part flops!1>10(9)\np: f loop a.c:9 +0xa 1/1 part flops!2>20(9)\n"},
        {L("+0x90", "1") L("+0x9", "2"), L("+0x100", "10") L("+0x91", "20"),
         "p: f loop +0x90 1/1 part flops!1>10(9)\np: f loop +0x9 1/1 part flops!2>20(9)\n"},
        {L("a.c:9", "1") L("a.c:10", "2"), L("a.c:9", "1"),
         "p: f loop a.c:9 1/1 part flops=1>1(0)\n0 alone: p: f loop a.c:10 part\n"},
        {L("a.c:9", "1") L("b.c:8", "1"), L("a.c:10", "1") L("b.c:8", "3"),
         "p: f loop a.c:9 1/1 part flops=1>1(0)\np: f loop b.c:8 1/1 part flops!1>3(2)\n"},
        {L("a.c:9 [libx.so]", "1") L("a.c:9", "3"),
         L("a.c:8 [libx.so]", "2") L("a.c:8 [liby.so]", "4"),
         "p: f loop a.c:9 [libx.so] 1/1 part flops!1>2(1)\n0 alone: p: f loop a.c:9 part\n1 alone: p: f loop a.c:8 [liby.so] part\n"},
        {L("a.c:9 +0x10 [libx.so]", "1") L("a.c:9 +0x20 [libx.so]", "2"),
         L("a.c:9 +0x11 [libx.so]", "3") L("a.c:9 +0x21 [libx.so]", "4"),
         "p: f loop a.c:9 +0x10 [libx.so] 1/1 part flops!1>3(2)\np: f loop a.c:9 +0x20 [libx.so] 1/1 part flops!2>4(1)\n"},
        {"p: f in g loop loop a.c:9,loop,1,,,1,,,pmu,,\n",
         "p: f in g loop loop a.c:8,loop,1,,,2,,,pmu,,\n",
         "p: f in g loop loop a.c:9 1/1 part flops!1>2(1)\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_changes *c =
            read_all(PARTS, cases[i].before, cases[i].after, NULL, 0.01, "p: *");
        assert_string_equal(told(c), cases[i].told);
        carm_changes_close(c);
    }
}

/* Which parts of a program its change comes from, as shares of it. */
TEST(causes)
{
#define P(name, kind, flops) "p: " name "," kind ",1,,," flops ",,,stepped,,\n"
    static const struct {
        const char *before, *after, *causes;
    } cases[] = {
        /* the largest three, the other way too; equal ones in the order of the file */
        {P("a", "function", "10") P("b", "function", "50") P("c", "function", "5")
             P("d", "function", "5") P("e", "function", "5"),
         P("a", "function", "140") P("b", "function", "10") P("c", "function", "10")
             P("d", "function", "10") P("e", "function", "5"),
         "a 1.3, b -0.4, c 0.05"},
        /* a loop that was counted with others before */
        {P("a", "function", "10") P("others", "others", "60"),
         P("a", "function", "110") P("f loop x.c:1", "loop", "50") P("others", "others", "10"),
         "a 1"},
        {P("a", "function", "10") P("others", "others", "60"),
         P("a", "function", "110") P("f loop x.c:1", "loop", "50") P("others", "others", "35"),
         "a 0.8, f loop x.c:1 0.2"},
        /* too little left it */
        {P("a", "function", "10") P("others", "others", "60"),
         P("f loop x.c:1", "loop", "90") P("others", "others", "80"),
         "f loop x.c:1 0.9, others 0.1"},
        /* two single ones: by halves at least */
        {P("others", "others", "60"),
         P("f", "function", "80") P("g", "function", "100") P("others", "others", "0"), "others 1"},
        {P("others", "others", "50") P("h", "function", "0"),
         P("f", "function", "102") P("g", "function", "48") P("others", "others", "0"),
         "f 1.02, others -0.02"},
        /* a new loop moves the others, and one of them has the name of another one now: the function with its own row */
        {P("f [l.so]", "function", "7") P("f loop x.c:1 +0x10 [l.so]", "loop", "100")
             P("f loop x.c:1 +0x20 [l.so]", "loop", "50") P("h", "function", "5"),
         P("f [l.so]", "function", "12") P("f loop x.c:1 +0x20 [l.so]", "loop", "100")
             P("f loop x.c:1 +0x30 [l.so]", "loop", "55")
                 P("g in f loop x.c:1 +0x40 [l.so]", "loop", "20")
                     P("f loop x.c:1 +0x40 [l.so]", "loop", "10") P("h", "function", "20"),
         "f [l.so] 0.727, h 0.273"},
        /* functions without names, in their order: the second has grown, and moved the third */
        {P("app+0x10", "function", "5") P("app+0x80", "function", "7")
             P("app+0xc0", "function", "90"),
         P("app+0x10", "function", "5") P("app+0x80", "function", "17")
             P("app+0xd0", "function", "90"),
         "app+0x80 1"},
        {P("app+0x80 loop +0x8", "loop", "7") P("app+0xc0 loop +0x8", "loop", "90")
             P("init +0x10 [l.so]", "function", "1") P("init +0x90 [l.so]", "function", "2"),
         P("app+0x80 loop +0x8", "loop", "17") P("app+0xd0 loop +0x8", "loop", "90")
             P("init +0x20 [l.so]", "function", "1") P("init +0xa0 [l.so]", "function", "12"),
         "app+0x80 loop +0x8 0.5, init +0x90 [l.so] 0.5"},
        /* ... and one that is new */
        {P("init +0x10", "function", "5") P("init +0x80", "function", "7")
             P("init +0xc0", "function", "90"),
         P("init +0x10", "function", "5") P("init +0x80", "function", "17")
             P("init +0xc0", "function", "10") P("init +0xd0", "function", "90"),
         "init 1"},
        {P("others", "others", "50") P("h", "function", "0"),
         P("f", "function", "99") P("g", "function", "51") P("others", "others", "0"), "others 1"},
        /* the others have grown, too */
        {P("a", "function", "10") P("others", "others", "50"),
         P("a", "function", "10") P("f loop x.c:1", "loop", "40") P("others", "others", "110"),
         "others 0.6, f loop x.c:1 0.4"},
        /* the largest come last; another program's do not count */
        {P("a", "function", "1") P("b", "function", "1") P("c", "function", "1")
             P("d", "function", "1") "q: z,function,1,,,10,,,stepped,,\n",
         P("a", "function", "11") P("b", "function", "21") P("c", "function", "31")
             P("d", "function", "41") "q: z,function,1,,,90,,,stepped,,\n",
         "d 0.4, c 0.3, b 0.2"},
        /* loops that cancel each other by a fiftieth, in half of the change, and without a new one */
        {P("f loop x.c:1", "loop", "100") P("f loop x.c:2", "loop", "10"),
         P("f loop x.c:1", "loop", "201") P("f loop x.c:2", "loop", "9")
             P("f loop x.c:3", "loop", "0"),
         "f 1"},
        {P("f loop x.c:1", "loop", "100") P("f loop x.c:2", "loop", "20") P("h", "function", "5"),
         P("f loop x.c:1", "loop", "160") P("f loop x.c:2", "loop", "10")
             P("f loop x.c:3", "loop", "0") P("h", "function", "55"),
         "h 0.5, f 0.5"},
        {P("f loop x.c:1", "loop", "100") P("f loop x.c:2", "loop", "50"),
         P("f loop x.c:1", "loop", "160") P("f loop x.c:2", "loop", "40"),
         "f loop x.c:1 1.2, f loop x.c:2 -0.2"},
        /* a new loop alone is named */
        {P("f loop x.c:1", "loop", "100"),
         P("f loop x.c:1", "loop", "100") P("f loop x.c:5", "loop", "50"), "f loop x.c:5 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_changes *c = read_all(PARTS, cases[i].before, cases[i].after, NULL, 0.01, NULL);
        const char *text = told(c), *at = strstr(text, "; "), *end = strchr(text, '\n');
        char causes[256] = "";
        (void)snprintf(causes, sizeof causes, "%.*s", at && at < end ? (int)(end - at - 2) : 0,
                       at ? at + 2 : "");
        assert_string_equal(causes, cases[i].causes);
        carm_changes_close(c);
    }
}

/* L1 1000, L2 500, DRAM 100 byte/s; fma 400 flop/s. */
TEST(places)
{
    static struct carm_memory_roof memory[] = {{.level = "L1", .ldst = "2:1", .bandwidth = 1000},
                                               {.level = "L2", .ldst = "2:1", .bandwidth = 500},
                                               {.level = "DRAM", .ldst = "2:1", .bandwidth = 100}};
    static struct carm_compute_roof compute[] = {{.op = "fma", .rate = 400}};
    static struct carm_compute_roof single[] = {{.op = "fma", .rate = 1600}};
    static struct carm_roofs roofs[2] = {{.isa = "avx2",
                                          .precision = "dp",
                                          .threads = 1,
                                          .memory = memory,
                                          .nmemory = 3,
                                          .compute = compute,
                                          .ncompute = 1,
                                          .dram_peak = {.bandwidth = 200, .code = "A"}}};
    static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};
    static const struct carm_model model = {
        .config = {.ldst = "2:1"}, .levels = levels, .nlevels = 3, .roofs = roofs, .nroofs = 2};
    roofs[1] = roofs[0];
    roofs[1].compute = single;
    (void)strcpy(roofs[1].precision, "sp");
    struct carm_changes *c = read_all(
        "name,flops,bytes,dram_bytes,seconds,isa,precision,threads,counted_by",
        "a,45,450,90,1,avx2,dp,1,stepped\nb,300,200,,1,avx2,dp,1,stepped\nc,5,50,,1,avx2,dp,1,stepped\n"
        "d,5,50,,,avx2,dp,1,stepped\ne,102,1020,,2,avx2,dp,1,stepped\n",
        "a,9,90,90,1,avx2,dp,1,stepped\nb,800,100,,1,avx2,dp,1,stepped\nc,5,50,,1,avx512,dp,1,stepped\n"
        "d,5,50,,1,avx2,dp,1,stepped\ne,104,1040,,2,avx2,dp,1,stepped\n",
        &model, 0.01, NULL);
    assert_string_equal(
        told(c),
        "a 1/1 exact at L2 to DRAM time~1>1(0) performance~45>9(-0.8) intensity=0.1>0.1(0) aware_share~0.45>0.09(-0.36) "
        "original_share~0.45>0.45(0) flops!45>9(-0.8) bytes!450>90(-0.8) dram_bytes=90>90(0)\n"
        "b 1/1 exact at compute to above the roof time~1>1(0) performance~300>800(1.67) intensity!1.5>8(4.33) aware_share~0.75>2(1.25) "
        "flops!300>800(1.67) bytes!200>100(-0.5)\n"
        "c 1/1 exact at DRAM to DRAM time~1>1(0) performance~5>5(0) intensity=0.1>0.1(0) aware_share~0.05>0.05(0) flops=5>5(0) bytes=50>50(0)\n"
        "d 1/1 exact to DRAM time?-1>1(0) performance?-1>5(0) intensity=0.1>0.1(0) aware_share?-1>0.05(0) flops=5>5(0) bytes=50>50(0)\n"
        "e 1/1 exact at L2 to L1 time~2>2(0) performance~51>52(0.0196) intensity=0.1>0.1(0) aware_share~0.51>0.52(0.01) flops!102>104(0.0196) "
        "bytes!1020>1040(0.0196)\n"); /* 3% above L2's roof of 50 are within its error */
    carm_changes_close(c);
}

TEST(words)
{
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        const char *name = carm_change_name((enum carm_change_kind)k);
        char longer[32];
        (void)snprintf(longer, sizeof longer, "%s2", name);
        assert_int_equal(carm_change_find(longer, strlen(name)), k);
        assert_int_equal(carm_change_find(longer, strlen(longer)), CARM_CHANGE_KINDS);
        assert_int_equal(carm_change_find(name, strlen(name) - 1), CARM_CHANGE_KINDS);
    }
    assert_string_equal(carm_change_name(CARM_CHANGE_L3_BYTES), "l3_bytes");
    const char *const verdicts[] = {"unknown", "unjudged", "equal", "different"};
    for (int k = 0; k < 4; k++) {
        assert_string_equal(carm_change_verdict_name((enum carm_change_verdict)k), verdicts[k]);
    }
}

RUN_TESTS(set_up, tear_down)
