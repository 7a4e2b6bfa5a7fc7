/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All figures of random traces, number by number. Closed forms and a naive simulator, in the tests beside this one,
 * say that figures are right; they see one core, or bounds. Here a change of any figure of several cores' caches, of
 * prefetching, of each kind of last level, of sampled sets and windows shows up. A table is replaced where the
 * simulation is meant to change. */
#include <inttypes.h>

#include "models/caches/sampled.h"
#include "tests/models/caches/simulation.h"
#include "tests/models/figures.h"
#include "tests/models/random.h"

enum { KIB = 1024, LINE = CARM_HIERARCHY_LINE, CORES_MOST = 130 };

/* ---- traces ---- */

struct trace {
    uint64_t seed, steps[CORES_MOST];
    uint32_t cores;
};

struct drawn {
    uint64_t address, r;
    uint32_t core, bytes;
    enum carm_access_kind kind;
};

/* Lines that all cores use, a core's own lines, streams up and down, every fourth line, and a large array. */
static uint64_t draw_address(struct trace *t, uint64_t r, uint32_t core)
{
    const uint64_t own = (uint64_t)(core + 1) << 24;
    const uint64_t step = t->steps[core] += 1 + (r >> 20) % 3;
    switch (r >> 60) {
    case 0:
    case 1:
    case 2:
        return (r >> 8) % (40 * LINE);
    case 3:
    case 4:
    case 5:
    case 6:
        return own + (r >> 8) % (300 * LINE);
    case 7:
    case 8:
    case 9:
        return (UINT64_C(1) << 36) + own + step * 24 % (64 * KIB);
    case 10:
    case 11:
        return (UINT64_C(1) << 37) + own - step * 24 % (64 * KIB);
    case 12:
    case 13:
        return (UINT64_C(1) << 38) + own + step % 24 * 4 * LINE;
    default:
        return (UINT64_C(1) << 39) + (r >> 8) % (1024 * KIB);
    }
}

static struct drawn draw(struct trace *t)
{
    static const enum carm_access_kind kinds[] = {CARM_ACCESS_STORE, CARM_ACCESS_STORE_NT,
                                                  CARM_ACCESS_PREFETCH, CARM_ACCESS_PREFETCH_L2};
    struct drawn d = {.r = next_random(&t->seed)};
    const uint64_t more = next_random(&t->seed);
    d.core = (uint32_t)(more % t->cores);
    d.address = draw_address(t, d.r, d.core);
    d.bytes = more >> 20 & 7 ? 8 : (uint32_t)(more >> 24) % 140;
    d.kind = more >> 40 & 4 ? CARM_ACCESS_LOAD : kinds[(more >> 44 & 7) < 4 ? 0 : more >> 44 & 3];
    if (d.kind == CARM_ACCESS_STORE_NT && (more >> 50 & 3) != 0) { /* whole lines */
        d.address -= d.address % LINE;
        d.bytes = LINE;
    }
    return d;
}

/* ---- caches of several cores ---- */

static void put_counts(struct figures *t, const struct carm_hierarchy_counts *c)
{
    for (size_t k = 0; k < c->nlevels; k++) {
        const struct carm_hierarchy_level_counts *n = &c->levels[k];
        put(t, "%" PRIu64 ": %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, n->lookups,
            n->misses[0], n->misses[1], n->misses[2], n->misses[3]);
        put(t, ", %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
            n->fills, n->writebacks, n->prefetched, n->useless, n->left, n->wasted_bytes);
    }
    put(t, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, c->accesses, c->bytes_loaded,
        c->bytes_stored, c->prefetches);
    put(t, ", %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->nt_lines,
        c->nt_partial, c->transfers, c->invalidations, c->contested);
}

/* Counts of one of the instructions and of all, and the levels that had the lines, with a flush in between. */
static void simulate(const struct carm_hierarchy_config *config, struct figures *text)
{
    enum { ACCESSES = 20000, WHO = 7 };
    struct carm_hierarchy *h = start(config);
    struct carm_hierarchy_counts c;
    struct trace trace = {.seed = 2026, .cores = config->cores};
    uint64_t from[CARM_HIERARCHY_LEVELS_MAX + 2] = {0}, hits = 0;
    for (int i = 0; i < ACCESSES; i++) {
        const struct drawn d = draw(&trace);
        if (i == ACCESSES / 3) {
            carm_hierarchy_flush(h);
        }
        carm_hierarchy_by(h, (uint32_t)(d.r >> 30) % WHO);
        if (d.kind == CARM_ACCESS_LOAD && d.r % 4 == 0 && d.bytes &&
            d.address % LINE + d.bytes <= LINE &&
            carm_hierarchy_hits(h, d.core, d.address, d.bytes)) {
            hits++;
        } else {
            from[carm_hierarchy_access(h, d.core, d.address, d.bytes, d.kind)]++;
        }
    }
    put(text, "%" PRIu64 ":", hits);
    for (size_t i = 0; i < config->nlevels + 2; i++) {
        put(text, " %" PRIu64, from[i]);
    }
    put(text, "\n");
    carm_hierarchy_flush(h);
    carm_hierarchy_read_by(h, 5, &c);
    put_counts(text, &c);
    const struct carm_hierarchy_counts all = finish(h);
    put_counts(text, &all);
}

TEST(hierarchies)
{
    static const struct {
        struct carm_hierarchy_config config;
        const char *figures;
    } cases[] = {
        {{.levels = {{2 * KIB, 2, 1}, {8 * KIB, 4, 1}, {32 * KIB, 8, 4}},
          .nlevels = 3,
          .cores = 4,
          .streams = true},
         "0: 3427 1815 1828 12680 250\n"
         "2809: 1277 1168 39 154, 2794 1032 156 145 2794 141674\n"
         "2638: 1214 828 111 152, 3035 962 730 517 3061 161002\n"
         "2305: 1154 716 98 0, 2602 916 679 0 3251 167096\n"
         "2578 22335 23925 363, 124 73 319 163 522\n"
         "19256: 8998 7887 274 1021, 19331 7138 1151 1090 19331 984747\n"
         "18180: 8644 5658 788 985, 21129 6740 5054 3488 21295 1122662\n"
         "16075: 8234 4931 733 0, 18241 6373 4658 0 22567 1165032\n"
         "17503 156856 161080 2474, 910 337 2222 1112 3420\n"},
        {{.levels = {{2 * KIB, 4, 1}, {8 * KIB, 8, 2}, {32 * KIB, 16, 4}},
          .nlevels = 3,
          .cores = 4,
          .last = CARM_LAST_INCLUSIVE,
          .tree_lru = true,
          .next_line = true,
          .buffers = 3},
         "0: 3443 3006 1664 11887 0\n"
         "2809: 1301 1246 28 59, 2792 1044 158 145 2792 141424\n"
         "2634: 1052 916 96 38, 4347 970 2245 1683 4705 260262\n"
         "2102: 1060 577 155 0, 3779 934 1987 0 3779 208599\n"
         "2578 22335 23925 363, 124 74 241 59 474\n"
         "19256: 9147 8394 217 389, 19301 7195 1154 1091 19301 983062\n"
         "18147: 7312 6187 696 256, 29839 6691 15388 11505 32257 1787937\n"
         "14451: 7402 3977 1100 0, 26105 6461 13626 0 26105 1440987\n"
         "17503 156856 161080 2474, 910 340 1643 423 3103\n"},
        {{.levels = {{1536, 4, 1}, {7680, 8, 1}, {31 * KIB, 31, 4}},
          .nlevels = 3,
          .cores = 4,
          .last = CARM_LAST_EXCLUSIVE,
          .streams = true,
          .next_line = true},
         "0: 3285 3697 1967 10612 439\n"
         "2809: 1283 1241 17 120, 2820 1045 159 148 2820 143345\n"
         "2661: 1037 762 138 90, 4564 4615 2537 1929 4589 250085\n"
         "2027: 1026 529 114 0, 3662 868 2087 0 3526 196802\n"
         "2578 22335 23925 363, 124 73 473 125 517\n"
         "19256: 9037 8356 156 794, 19506 7205 1163 1110 19506 995615\n"
         "18343: 7292 5069 902 609, 31166 31526 17294 13075 31338 1714586\n"
         "13872: 7225 3640 680 0, 25539 6014 14547 0 24425 1366263\n"
         "17503 156856 161080 2474, 910 337 3043 909 3370\n"},
        {{.levels = {{2 * KIB, 2, 1}, {16 * KIB, 8, 1}},
          .nlevels = 2,
          .cores = 1,
          .last = CARM_LAST_EXCLUSIVE,
          .next_line = true,
          .streams = true},
         "0: 5129 3671 11200 0\n"
         "2817: 657 1640 55 0, 4357 4345 2005 1682 4357 229333\n"
         "2352: 640 868 184 0, 3456 944 1764 0 3429 186367\n"
         "2578 22335 23925 363, 124 73 0 0 0\n"
         "19264: 4577 11085 379 0, 29834 29733 13793 11457 29834 1574313\n"
         "16041: 4450 5948 1308 0, 23835 6456 12129 0 23665 1286847\n"
         "17503 156856 161080 2474, 910 329 0 0 0\n"},
        {{.levels = {{2 * KIB, 2, 2}, {8 * KIB, 8, 2}, {32 * KIB, 8, 2}},
          .nlevels = 3,
          .cores = 3,
          .last = CARM_LAST_INCLUSIVE,
          .streams = true},
         "0: 3380 1795 2758 11520 547\n"
         "2813: 1157 1425 32 44, 2822 1063 164 154 2822 143382\n"
         "2658: 1110 1095 103 41, 3149 1004 800 565 3151 165814\n"
         "2349: 1097 606 119 35, 2561 870 704 0 2561 132973\n"
         "2578 22335 23925 363, 124 71 117 46 491\n"
         "19256: 8073 9593 254 302, 19389 7263 1167 1114 19389 988148\n"
         "18222: 7770 7462 631 272, 21441 6875 5306 3730 21450 1129383\n"
         "16135: 7687 4084 854 239, 17607 6026 4743 0 17607 911348\n"
         "17503 156856 161080 2474, 910 330 760 325 3241\n"},
        {{.levels = {{4 * KIB, 2, 1}},
          .nlevels = 1,
          .cores = 3,
          .next_line = true,
          .streams = true},
         "0: 6072 13030 898\n"
         "2813: 993 1015 99 78, 4552 1046 2367 1922 4552 254541\n"
         "2578 22335 23925 363, 124 71 340 100 502\n"
         "19256: 6774 6861 758 540, 31162 7172 16229 13186 31162 1743435\n"
         "17503 156856 161080 2474, 910 330 2123 640 3301\n"},
        {{.levels = {{512, 2, 1}, {1 * KIB, 2, 2}, {256 * KIB, 16, 66}},
          .nlevels = 3,
          .cores = CORES_MOST,
          .last = CARM_LAST_EXCLUSIVE},
         "0: 2891 92 963 13987 2067\n"
         "2809: 2502 136 11 96, 2921 1027 176 172 2921 149693\n"
         "2745: 2472 152 10 95, 3087 3340 358 176 3654 189008\n"
         "2729: 2120 91 257 77, 2893 951 348 0 2291 117455\n"
         "2578 22335 23925 363, 124 73 433 340 521\n"
         "19244: 17281 884 43 606, 20026 7041 1212 1193 20026 1026650\n"
         "18814: 17018 1035 53 601, 21120 22777 2413 1178 25015 1298220\n"
         "18707: 14669 634 1761 475, 19823 6487 2284 0 15698 805951\n"
         "17503 156856 161080 2474, 910 336 2859 2266 3441\n"},
        {{.levels = {{1 * KIB, 2, 1}, {4 * KIB, 4, 1}, {16 * KIB, 8, 2}, {64 * KIB, 16, 4}},
          .nlevels = 4,
          .cores = 4,
          .last = CARM_LAST_INCLUSIVE,
          .next_line = true,
          .streams = true},
         "0: 3083 3117 1544 1605 10651 0\n"
         "2809: 1304 1326 16 51, 2860 1066 163 155 2860 145704\n"
         "2697: 1059 968 91 42, 4881 1030 2721 2114 5005 281204\n"
         "2160: 1048 591 199 23, 4323 984 2462 0 4534 250966\n"
         "1861: 1018 378 191 0, 3696 879 2109 0 3696 205147\n"
         "2578 22335 23925 363, 124 73 227 59 481\n"
         "19256: 9157 8909 148 370, 19768 7321 1184 1148 19768 1010886\n"
         "18584: 7428 6395 668 287, 33348 7129 18570 14351 34176 1927189\n"
         "14778: 7428 4081 1252 169, 29855 6817 16925 0 31281 1743054\n"
         "12930: 7160 2667 1201 0, 25752 6116 14724 0 25752 1431248\n"
         "17503 156856 161080 2474, 910 337 1548 399 3134\n"},
        {{.levels = {{2 * KIB, 2, 1}, {8 * KIB, 4, 1}, {32 * KIB, 8, 1}},
          .nlevels = 3,
          .cores = 1,
          .share = 0.3},
         "1: 3536 1953 3614 10896 0\n"
         "2817: 783 1823 31 0, 2798 1072 161 151 2798 141971\n"
         "2637: 781 1484 5 0, 2553 988 283 124 2566 129182\n"
         "2270: 773 873 2 0, 1847 780 199 0 1854 89583\n"
         "2578 22335 23925 363, 124 73 0 0 0\n"
         "19263: 5406 12374 265 0, 19209 7275 1164 1098 19209 977558\n"
         "18045: 5376 10337 21 0, 17710 6797 1976 863 17802 898545\n"
         "15734: 5330 6117 16 0, 12927 5373 1464 0 12971 629106\n"
         "17502 156848 161080 2474, 910 329 0 0 0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct figures *text = no_figures();
        simulate(&cases[i].config, text);
        expect(text, cases[i].figures, "case", i);
    }
}

/* ---- sampled caches ---- */

static uint64_t digest(const uint8_t *bytes, size_t n) /* FNV-1a */
{
    uint64_t x = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        x = (x ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return x;
}

static void put_plan(struct figures *t, const struct carm_sampled_plan *p)
{
    put(t, "%u/%u %u %u %u %u %u %u %u", p->sets, p->of, p->half, p->between, p->half_records,
        p->between_records, p->dense, p->weight, p->turns);
    put(t, " %" PRIx64 " %" PRIx64 " %u %" PRIx64 "\n", digest(p->turn, sizeof p->turn),
        digest(p->classes, sizeof p->classes), p->npages, digest(p->pages, sizeof p->pages));
}

static void put_estimates(struct figures *t, const struct carm_level_estimate *l, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        put(t, "%.5g (%.5g %.5g) %.5g, %.5g: %.5g %.5g,", l[k].bytes, l[k].low, l[k].high,
            l[k].unused, l[k].lines, l[k].lookups, l[k].misses);
        put(t, " %.5g %.5g %.5g %.5g\n", l[k].reasons[0], l[k].reasons[1], l[k].reasons[2],
            l[k].reasons[3]);
    }
}

struct sampling {
    const struct carm_hierarchy_config config, beside;
    double share;
    uint64_t seed;
    const char *figures;
};

/* Windows of 2000 accesses, which reach beyond the dense ones, with as many between two of them. */
static uint32_t window_of(uint64_t i)
{
    enum { HALF = 1000 };
    const uint64_t at = i % (4 * HALF);
    const uint32_t window = 2 * (uint32_t)(1 + i / (4 * HALF) * 37);
    return at < HALF ? window : at < 2 * HALF ? window + 1 : 0;
}

static void sample(const struct sampling *in, struct figures *text)
{
    enum { ACCESSES = 200000, WHO = 6 };
    struct carm_sampled *s = NULL;
    static struct carm_sampled_plan plan;
    struct carm_sampled_sum whole = {.cold = 0.0};
    struct carm_level_estimate got[CARM_HIERARCHY_LEVELS_MAX];
    struct trace trace = {.seed = 36 + in->seed, .cores = in->config.cores};
    unsigned has = 0, hits = 0;
    assert_ok(carm_sampled_open(&s, &in->config, in->beside.nlevels ? &in->beside : NULL, in->share,
                                in->seed, &plan, &err));
    put_plan(text, &plan);
    for (uint64_t i = 0; i < ACCESSES; i++) {
        const struct drawn d = draw(&trace);
        const uint32_t who = i % 1999 == 0 ? 5 : (uint32_t)(d.r >> 30) % 5; /* 5 has few lines */
        const uint32_t window = who == 4 ? 0 : window_of(i);                /* no window sees 4 */
        if (!carm_sampled_has(s, d.address, d.bytes, window)) {
            if (who == 3) {
                carm_sampled_pass(s, 1, who);
            }
            continue;
        }
        has++;
        if (d.kind == CARM_ACCESS_LOAD && !window && who != 3 &&
            carm_sampled_hits(s, d.core, d.address, d.bytes)) {
            hits++;
            continue;
        }
        carm_sampled_access(s, d.core, d.core, d.address, d.bytes, d.kind, window, who == 3, who);
    }
    put(text, "%u %u\n", has, hits);
    assert_ok(carm_sampled_end(s, ACCESSES, &err));
    for (uint32_t who = 0; who < WHO; who++) {
        struct carm_sampled_sum sum = {.cold = 0.0};
        const double executions = who % 2 ? 0.0 : ACCESSES / 5.0;
        carm_sampled_add(s, who, executions, &sum);
        carm_sampled_add(s, who, executions, &whole);
        carm_sampled_read(s, &sum, got);
        if (who != 0 && who != 2) {
            put_estimates(text, got, in->config.nlevels);
        }
    }
    carm_sampled_read(s, &whole, got);
    put_estimates(text, got, in->config.nlevels);
    carm_sampled_close(s);
}

TEST(samples)
{
    static const struct sampling cases[] = {
        {{.levels = {{2 * KIB, 2, 1}, {32 * KIB, 4, 1}, {128 * KIB, 8, 2}},
          .nlevels = 3,
          .cores = 2},
         {.nlevels = 0},
         0.3,
         5,
         "64/128 131072 174762 131072 114004 256 2 1 28c31cf8df2ec325 3a1b774107cb1265 312 1771ac1175d886bd\n"
         "139698 1\n"
         "4.5905e+06 (4.5338e+06 4.6472e+06) 2.6582e+06, 52251: 49997 52251, 6574 45207 0 470\n"
         "2.3295e+06 (2.2469e+06 2.4121e+06) 1.2698e+06, 22432: 32822 22432, 6444 14260 1308 420\n"
         "1.9327e+06 (1.8777e+06 1.9876e+06) 9.805e+05, 16686: 22432 16686, 5322 10222 1142 0\n"
         "3.5353e+06 (3.4891e+06 3.5815e+06) 2.0705e+06, 40225: 38460 40225, 6706 33051 0 468\n"
         "2.3464e+06 (2.2771e+06 2.4156e+06) 1.2814e+06, 22672: 33398 22672, 6558 14306 1396 412\n"
         "1.9441e+06 (1.9029e+06 1.9852e+06) 9.8137e+05, 16818: 22672 16818, 5376 10288 1154 0\n"
         "3.0756e+06 (28416 6.1228e+06) 0, 48056: 0 48056, 6396 41216 0 444\n"
         "2.2803e+06 (2.1943e+06 2.3663e+06) 1.2448e+06, 21836: 31978 21836, 6266 13850 1322 398\n"
         "1.9035e+06 (1.8435e+06 1.9635e+06) 9.7364e+05, 16344: 21836 16344, 5156 10066 1122 0\n"
         "19947 (16211 23684) 15162, 288.8: 257.35 288.8, 8 280.8 0 0\n"
         "5248 (3213.7 8062.8) 2444, 46: 82 46, 8 36 2 0\n"
         "4096 (2341.2 16126) 1900, 28: 46 28, 4 20 4 0\n"
         "1.853e+07 (1.5334e+07 2.1695e+07) 1.1462e+07, 2.2434e+05: 1.6871e+05 2.2434e+05, 32674 1.8934e+05 0 "
         "2322\n"
         "1.1614e+07 (1.1268e+07 1.1961e+07) 6.3457e+06, 1.1199e+05: 1.6445e+05 1.1199e+05, 32054 71294 6560 2078\n"
         "9.6753e+06 (9.443e+06 9.9075e+06) 4.9061e+06, 83554: 1.1199e+05 83554, 26216 51412 5926 0\n"},
        {{.levels = {{8 * KIB, 8, 1}, {512 * KIB, 8, 1}}, .nlevels = 2, .cores = 1},
         {.levels = {{4 * KIB, 4, 1}, {256 * KIB, 16, 1}}, .nlevels = 2, .cores = 1},
         0.02,
         0,
         "16/256 131072 557056 26072 47056 256 3 8 8a794842334c2325 1f2a0110217aa525 24 a9488646b5ac417d\n"
         "24873 0\n"
         "3.9044e+06 (3.7054e+06 4.1033e+06) 2.2198e+06, 44321: 50683 44321, 4800 39521 0 0\n"
         "8.3456e+05 (5.9304e+05 1.0761e+06) 2.4525e+05, 5360: 31776 5360, 4272 800 288 0\n"
         "3.0352e+06 (2.8798e+06 3.1907e+06) 1.8067e+06, 35174: 39629 35174, 5056 30118 0 0\n"
         "8.3968e+05 (6.1718e+05 1.0622e+06) 2.499e+05, 5776: 32160 5776, 4624 816 336 0\n"
         "3.0372e+06 (0 6.0744e+06) 0, 47456: 0 47456, 5296 42160 0 0\n"
         "8.407e+05 (5.9804e+05 1.0834e+06) 2.5602e+05, 5920: 31984 5920, 4800 752 368 0\n"
         "22121 (5294.7 44861) 0, 345.64: 392.77 345.64, 16 329.64 0 0\n"
         "2048 (0 89722) 0, 0: 64 0, 0 0 0 0\n"
         "1.6451e+07 (1.3021e+07 1.988e+07) 9.9426e+06, 1.9885e+05: 1.7071e+05 1.9885e+05, 25760 1.7309e+05 0 0\n"
         "4.2578e+06 (2.9472e+06 5.5684e+06) 1.2501e+06, 28704: 1.5965e+05 28704, 23504 3600 1600 0\n"},
        {{.levels = {{6 * KIB, 2, 1}, {64 * KIB, 8, 1}, {1024 * KIB, 16, 1}},
          .nlevels = 3,
          .cores = 1,
          .last = CARM_LAST_EXCLUSIVE},
         {.nlevels = 0},
         1.0,
         9,
         "128/128 131072 0 131072 0 256 1 1 28c31cf8df2ec325 87e004e2fa1bcb25 1024 f2929686b07ef725\n"
         "200000 0\n"
         "4.1244e+06 (4.0745e+06 4.1743e+06) 2.3258e+06, 46221: 49686 46221, 5238 40983 0 0\n"
         "2.5939e+06 (2.5936e+06 2.5941e+06) 5.0892e+05, 17658: 32377 17658, 5064 11144 1450 0\n"
         "7.7178e+05 (7.7152e+05 7.7203e+05) 1.3952e+05, 4744: 17658 4744, 4736 0 8 0\n"
         "3.0946e+06 (3.0559e+06 3.1334e+06) 1.752e+06, 34997: 37202 34997, 5193 29804 0 0\n"
         "2.5727e+06 (2.5724e+06 2.5729e+06) 5.0379e+05, 17565: 32078 17565, 5032 11071 1462 0\n"
         "7.5117e+05 (7.5091e+05 7.5142e+05) 1.351e+05, 4694: 17565 4694, 4682 0 12 0\n"
         "3.0822e+06 (0 6.1645e+06) 0, 48160: 0 48160, 5219 42941 0 0\n"
         "2.5951e+06 (2.5948e+06 2.5953e+06) 5.101e+05, 17629: 32138 17629, 5039 11092 1498 0\n"
         "7.5885e+05 (7.5859e+05 7.591e+05) 1.3638e+05, 4741: 17629 4741, 4721 0 20 0\n"
         "13965 (10765 17165) 11952, 212.88: 250.13 212.88, 21 191.88 0 0\n"
         "7232 (6976 7488) 1330, 53: 81 53, 21 30 2 0\n"
         "2368 (1414.8 3719.7) 513, 18: 53 18, 18 0 0 0\n"
         "1.6962e+07 (1.3802e+07 2.0122e+07) 1.0261e+07, 2.0402e+05: 1.6714e+05 2.0402e+05, 26045 1.7798e+05 0 0\n"
         "1.2928e+07 (1.2928e+07 1.2929e+07) 2.5404e+06, 87977: 1.6125e+05 87977, 25194 55378 7405 0\n"
         "3.8014e+06 (3.8012e+06 3.8017e+06) 6.951e+05, 23579: 87977 23579, 23517 0 62 0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct figures *text = no_figures();
        sample(&cases[i], text);
        expect(text, cases[i].figures, "case", i);
    }
}

/* Sums made up here. Half of an interval of three groups: t(0.975, 2) sqrt(128 x 3 / 2) = 59.62; 10 lines are 4.795 to
 * 18.39 by Poisson, none are up to 3.689. */
TEST(estimates_by_hand)
{
    static const struct {
        struct carm_sampled_sum sum;
        const char *figures;
    } cases[] = {
        {{.bytes = {6400, 640000, 1280},
          .cold = 640,
          .unmeasured = 1280,
          .seen = 1000,
          .missed = 100,
          .few_lines = 10,
          .few_written = 5,
          .accesses = {100, 100, 100, 0.1},
          .unused = {1000, 5000},
          .misses = {100, 10000, 20},
          .reasons = {{10, 0, 0, 3}, {500}},
          .lookups = {500, 1000, 29},
          .groups = {{8, -8}}},
         "7232 (5892.4 9531.6) 1130, 113: 500 113, 10 100 0 3\n"
         "7232 (7229.1 6.4026e+05) 56.5, 113: 1000 113, 5.65 0 0 0\n"
         "1280 (613.81 1.2805e+06) 0, 20: 29 20, 0 0 0 0\n"},
        {{.bytes = {640}, .misses = {10}, .lookups = {0, 30, 30}, .accesses = {1}},
         "640 (0 1516.1) 0, 10: 0 10, 0 10 0 0\n0 (0 472.18) 0, 0: 30 0, 0 0 0 0\n"
         "0 (0 472.18) 0, 0: 30 0, 0 0 0 0\n"},
        {{.bytes = {640}, .misses = {10}, .lookups = {2, 30, 30}, .accesses = {1}, .seen = 0.5},
         "640 (0 1888.7) 0, 10: 2 10, 0 10 0 0\n0 (0 472.18) 0, 0: 30 0, 0 0 0 0\n"
         "0 (0 472.18) 0, 0: 30 0, 0 0 0 0\n"},
    };
    static const struct carm_hierarchy_config config = {
        .levels = {{6 * KIB, 2, 1}, {64 * KIB, 8, 1}, {1024 * KIB, 16, 1}},
        .nlevels = 3,
        .cores = 1};
    static struct carm_sampled_plan plan;
    struct carm_sampled *s = NULL;
    assert_ok(carm_sampled_open(&s, &config, NULL, 1.0, 9, &plan, &err));
    assert_ok(carm_sampled_end(s, 1, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_level_estimate got[CARM_HIERARCHY_LEVELS_MAX];
        struct figures *text = no_figures();
        carm_sampled_read(s, &cases[i].sum, got);
        put_estimates(text, got, 3);
        expect(text, cases[i].figures, "case", i);
    }
    carm_sampled_close(s);
}
