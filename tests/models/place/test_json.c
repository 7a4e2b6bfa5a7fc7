/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placed points as JSON, each member of an object. Numbers are those of the structures, quotients aside. */
#include "models/place/json.h"
#include "tests/unit.h"

static char text[16384];

/* "[", the points, "]". Valid until the next call */
static const char *written(struct carm_place_json json, struct carm_placed *const *placed, size_t n)
{
    json.out = fmemopen(text, sizeof text, "w");
    assert_non_null(json.out);
    carm_place_json_begin(&json);
    for (size_t i = 0; i < n; i++) {
        carm_place_json_put(&json, placed[i]);
    }
    carm_place_json_end(&json);
    assert_int_equal(json.points, n);
    assert_int_equal(fclose(json.out), 0);
    return text;
}

static struct carm_place_set set = {
    .measured = {.memory = {{.name = "no affinity", .step = "pin threads"}},
                 .compute = {{.name = "add", .step = ""}, {.name = "no fma", .step = "fuse"}}}};
static const struct carm_roofs roofs = {.isa = "avx2", .precision = "dp", .threads = 2};

/* A loop of 80 flops in 2 s, 1 s of it on processors. */
TEST(everything)
{
    struct carm_point p = carm_point_blank();
    struct carm_view view = {.kind = CARM_VIEW_NODE,
                             .program = "solve",
                             .job = "7",
                             .host = "n1",
                             .rank = "",
                             .ranks = 2,
                             .nodes = 1,
                             .imbalance = {.time = 1.25, .work = 1.5, .bytes = 0, .dram = 1.75},
                             .intensity = {1, 2, 3},
                             .performance = {-1, -1, -1},
                             .slowest = "rank 0",
                             .fastest = "rank 1",
                             .busiest = "rank 2"};
    struct carm_placed d = {
        .point = &p,
        .set = &set,
        .roofs = &roofs,
        .rows = 3,
        .imbalance = 1.125,
        .has = {true, true},
        .has_own = {true, true},
        .has_runtime = true,
        .has_levels = true,
        .view = &view,
        .cost = {.at = {48, 0}, .gain = 1.5, .lost = 0.25},
        .notes = {"roofs", "host", "merge", "changed"},
        .own = {.has_memory = true,
                .has_compute = true,
                .nlevels = 2,
                .levels = {{"L1", 96}, {"L2", 32}},
                .memory = "loads alone",
                .compute = "adds"},
        .own_roof = {{.bandwidth = 96, .peak = 40, .roof = 60, .share = 0.75, .gain = 1.6},
                     {.bandwidth = 12, .peak = 41, .roof = 61, .share = 0.7, .gain = 1.7}},
        .levels = {.n = 2,
                   .binds = 1,
                   .advice = "block",
                   .at = {{.name = "L1",
                           .intensity = 0.5,
                           .intensity_low = 0.5,
                           .intensity_high = 0.5,
                           .bandwidth = 100,
                           .roof = 50,
                           .share = 0.25,
                           .unused = -1,
                           .misses = {9, 9, 9, 9}},
                          {.name = "L2",
                           .intensity = 2,
                           .intensity_low = 1,
                           .intensity_high = 4,
                           .bandwidth = 20,
                           .roof = 40,
                           .share = 0.5,
                           .unused = 0.125,
                           .misses = {0.5, 0.25, 0.125, 0.0625}}}},
        .runtime = {{{.known = true,
                      .rate = 10,
                      .gain = 8,
                      .share = 0.25,
                      .name = "SIMD",
                      .step = "vectorise",
                      .how = "scalar"},
                     {.how = "not counted"},
                     {.how = "not either"},
                     {.known = true,
                      .memory = true,
                      .rate = 11,
                      .gain = 2,
                      .share = 0.5,
                      .name = "prefetch",
                      .step = "do",
                      .how = "none"}}}};
    d.place[0] = (struct carm_place){
        .intensity = 0.5,
        .performance = 80,
        .roof = 100,
        .share = 0.8,
        .intensity_low = 0.4,
        .intensity_high = 0.6,
        .share_low = 0.7,
        .share_high = 0.9,
        .ceilings = {{.name = "L2", .at = 60},
                     {.name = "add", .at = 90, .compute = true},
                     {.name = "L1", .at = 100, .roof = true}},
        .nceilings = 3,
        .above = 1,
        .below = 0,
        .bound = CARM_BOUND_BOTH,
        .advice = "wait",
        .has_region = true,
        .region = CARM_REGION_BOTH,
        .ngains = 2,
        .gains = {{.compute = true, .index = 1, .from = 50, .to = 75, .times = 1.5},
                  {.compute = false, .index = 0, .from = 20, .to = 44, .times = 2.2}}};
    d.place[1] = (struct carm_place){.intensity = INFINITY,
                                     .performance = 80,
                                     .roof = 40,
                                     .share = 2,
                                     .intensity_low = 8,
                                     .intensity_high = 8,
                                     .ceilings = {{.name = "DRAM", .at = 40}},
                                     .nceilings = 1,
                                     .above = -1,
                                     .below = 0,
                                     .over = true,
                                     .bound = CARM_BOUND_COMPUTE,
                                     .advice = "why"};
    p.name = "solve: f \"loop\"";
    p.flops = 80;
    p.bytes = 160;
    p.dram_bytes = 10;
    p.level_bytes[0] = 20;
    p.level_bytes[1] = 15;
    p.levels_by = "simulated";
    p.seconds = 2;
    p.task_seconds = 1;
    p.threads = 1;
    p.isa = "avx2";
    p.precision = "dp";
    p.counted_by = "stepped";
    p.note = "own";
    p.kind = "loop";
    p.source = "a.c:7";
    p.module = "a.out";
    p.time_share = 0.5;
    p.samples = 400000;
    p.entries = 3;
    p.trips = 7;
    for (int w = 0; w < 4; w++) {
        p.mix.q[CARM_RUNMIX_DP + w] = 2 << w; /* 4, 8 and 16 in vectors */
        p.mix.q[CARM_RUNMIX_SP + w] = 1 << w; /* 2, 4 and 8 */
    }
    p.limit = "dram";
    p.limit_by = "estimate";
    p.second = "fp";
    p.advice = "block";
    p.explains = 0.9;
    p.gain_low = 1.5;
    p.gain_high = 3;
    assert_string_equal(
        written((struct carm_place_json){.ceilings = true, .runtime = true, .file = 4},
                (struct carm_placed *[]){&d}, 1),
        "[\n {\"name\": \"solve: f \\\"loop\\\"\", \"flops\": 80, \"bytes\": 160, \"seconds\": 2, "
        "\"dram_bytes\": 10, \"threads\": 1, \"isa\": \"avx2\", \"precision\": \"dp\", "
        "\"counted_by\": \"stepped\", \"rows\": 3, \"imbalance\": 1.125, \"performance\": 80, "
        "\"roofs\": {\"isa\": \"avx2\", \"precision\": \"dp\", \"threads\": 2}, "
        "\"cache_aware\": {\"intensity\": 0.5, \"roof\": 100, \"share\": 0.8, \"intensity_low\": 0.4, "
        "\"intensity_high\": 0.6, \"share_low\": 0.7, \"share_high\": 0.9, \"bound\": \"both\", "
        "\"below\": {\"name\": \"L2\", \"kind\": \"memory\", \"performance\": 60, \"left\": 0.75, "
        "\"roof\": false}, \"above\": {\"name\": \"add\", \"kind\": \"compute\", \"performance\": 90, "
        "\"left\": 1.125, \"roof\": false}, \"left_roof\": 1.25, \"over\": false, \"advice\": \"wait\", "
        "\"own\": {\"roof\": 60, \"share\": 0.75, \"gain\": 1.6, \"bandwidth\": 96, \"peak\": 40, "
        "\"levels\": [{\"level\": \"L1\", \"bandwidth\": 96}, {\"level\": \"L2\", \"bandwidth\": 32}], "
        "\"memory\": \"loads alone\", \"compute\": \"adds\"}, \"region\": \"memory and compute\", "
        "\"optimisations\": [{\"ceiling\": \"no fma\", \"kind\": \"compute\", \"step\": \"fuse\", "
        "\"from\": 50, \"to\": 75, \"times\": 1.5}, {\"ceiling\": \"no affinity\", \"kind\": \"memory\", "
        "\"step\": \"pin threads\", \"from\": 20, \"to\": 44, \"times\": 2.2}], "
        "\"ceilings\": [{\"name\": \"L1\", \"kind\": \"memory\", \"performance\": 100, \"left\": 1.25, "
        "\"roof\": true}, {\"name\": \"add\", \"kind\": \"compute\", \"performance\": 90, \"left\": 1.125, "
        "\"roof\": false}, {\"name\": \"L2\", \"kind\": \"memory\", \"performance\": 60, \"left\": 0.75, "
        "\"roof\": false}]}, \"original\": {\"intensity\": null, \"roof\": 40, \"share\": 2, "
        "\"bound\": \"compute\", \"below\": {\"name\": \"DRAM\", \"kind\": \"memory\", \"performance\": 40, "
        "\"left\": 0.5, \"roof\": false}, \"above\": null, \"left_roof\": 0.5, \"over\": true, "
        "\"advice\": \"why\", \"own\": {\"roof\": 61, \"share\": 0.7, \"gain\": 1.7, \"bandwidth\": 12, "
        "\"peak\": 41, \"levels\": [], \"compute\": \"adds\"}, \"ceilings\": [{\"name\": \"DRAM\", "
        "\"kind\": \"memory\", \"performance\": 40, \"left\": 0.5, \"roof\": false}]}, \"l2_bytes\": 20, "
        "\"l3_bytes\": 15, \"levels_by\": \"simulated\", \"levels\": [{\"level\": \"L1\", "
        "\"intensity\": 0.5, \"bandwidth\": 100, \"roof\": 50, \"share\": 0.25, \"unused\": null}, "
        "{\"level\": \"L2\", \"intensity\": 2, \"intensity_low\": 1, \"intensity_high\": 4, "
        "\"bandwidth\": 20, \"roof\": 40, \"share\": 0.5, \"unused\": 0.125, \"compulsory\": 0.5, "
        "\"capacity\": 0.25, \"conflict\": 0.125, \"coherence\": 0.0625}], \"binds\": \"L2\", "
        "\"levels_advice\": \"block\", \"runtime\": [{\"kind\": \"simd\", \"known\": true, \"name\": \"SIMD\", "
        "\"share\": 0.25, \"rate\": 10, \"unit\": \"flop/s\", \"gain\": 8, \"step\": \"vectorise\", "
        "\"counted\": \"scalar\"}, {\"kind\": \"balance\", \"known\": false, \"counted\": \"not counted\"}, "
        "{\"kind\": \"fp-share\", \"known\": false, \"counted\": \"not either\"}, {\"kind\": \"prefetch\", "
        "\"known\": true, \"name\": \"prefetch\", \"share\": 0.5, \"rate\": 11, \"unit\": \"byte/s\", "
        "\"gain\": 2, \"step\": \"do\", \"counted\": \"none\"}], \"view\": \"node\", \"program\": \"solve\", "
        "\"job\": \"7\", \"host\": \"n1\", \"rank\": \"\", \"ranks\": 2, \"nodes\": 1, "
        "\"uneven\": {\"of\": \"largest over mean\", \"work\": 1.5, \"bytes\": null, \"time\": 1.25, "
        "\"dram_bytes_of_nodes\": 1.75, \"lost\": 0.25, \"gain\": 1.5, \"cache_aware_ceiling\": 48, "
        "\"original_ceiling\": null, \"slowest\": \"rank 0\", \"fastest\": \"rank 1\", "
        "\"most_work\": \"rank 2\", \"rank_intensity\": {\"least\": 1, \"median\": 2, \"most\": 3}, "
        "\"rank_performance\": null}, \"part\": {\"kind\": \"loop\", \"source\": \"a.c:7\", "
        "\"module\": \"a.out\", \"time_share\": 0.5, \"samples\": 400000, \"entries\": 3, \"trips\": 7, "
        "\"vector_share\": 0.525}, \"verdict\": {\"limit\": \"dram\", "
        "\"limited_by\": \"maybe DRAM bandwidth and floating-point and vector units\", "
        "\"estimate\": true, \"explains\": 0.9, \"second\": \"fp\", \"gain_low\": 1.5, \"gain_high\": 3, "
        "\"gain\": \"1.5..3x\", \"advice\": \"block\", "
        "\"text\": \"may be limited by DRAM bandwidth and floating-point and vector units for 90% of its time: "
        "block the loops, so that data is used again while it is in a nearer cache, 1.5..3x\"}, "
        "\"file\": 4, \"not_placed\": [], "
        "\"note\": \"own; it waits: on CPUs for 1 s of 2 s, and rates are over these; roofs; host; merge; changed\"}\n"
        "]\n");
    /* fewer members */
    d.place[0].nceilings = 0;
    d.own.has_memory = d.own.has_compute = false;
    d.levels.binds = -1;
    d.has_runtime = false;
    p.second = "";
    p.advice = "";
    p.gain_high = -1;
    view.ranks = 1;
    d.place[0].has_region = false;
    static const char *const pieces[] = {
        "\"peak\": 40, \"levels\": []}}, \"original\"",
        "\"binds\": \"compute\"",
        "\"runtime\": null, \"view\": \"node\"",
        "\"ranks\": 1, \"nodes\": 1, \"uneven\": null, \"part\"",
        ("\"estimate\": true, \"explains\": 0.9, \"second\": \"\", \"gain_low\": 1.5, \"gain_high\": null, "
         "\"gain\": \"over 1.5x\", \"advice\": \"\", \"text\""),
        "}, \"not_placed\": []"};
    (void)written((struct carm_place_json){.runtime = true}, (struct carm_placed *[]){&d}, 1);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        fail_if(!strstr(text, pieces[i]), "%s is not in %s", pieces[i], text);
    }
}

TEST(little)
{
    struct carm_point p = carm_point_blank(), q = p;
    static struct carm_place_set swaps = {.metric = "swaps"};
    struct carm_placed none = {.point = &p,
                               .set = &set,
                               .unplaced = "its flops",
                               .rows = 1,
                               .notes = {"", "", "", ""}},
                       other = {.point = &q,
                                .set = &swaps,
                                .roofs = &roofs,
                                .rows = 1,
                                .why = {{"one"}, {"two"}},
                                .notes = {"", "", "", ""}};
    p.name = "p";
    q.name = "q";
    q.flops = 4;
    q.operations = 3;
    q.seconds = 8;
    q.kind = "function";
    assert_string_equal(
        written((struct carm_place_json){.out = NULL}, (struct carm_placed *[]){&none, &other}, 2),
        "[\n {\"name\": \"p\", \"flops\": null, \"bytes\": null, \"seconds\": null, \"dram_bytes\": null, "
        "\"threads\": null, \"isa\": \"\", \"precision\": \"\", \"counted_by\": \"\", \"rows\": 1, "
        "\"imbalance\": null, \"performance\": null, \"roofs\": null, \"cache_aware\": null, "
        "\"original\": null, \"not_placed\": [\"its flops\"], \"note\": \"\"},\n {\"name\": \"q\", "
        "\"metric\": \"swaps\", \"operations\": 4, \"bytes\": null, \"seconds\": 8, \"dram_bytes\": null, "
        "\"threads\": null, \"isa\": \"\", \"precision\": \"\", \"counted_by\": \"\", \"rows\": 1, "
        "\"imbalance\": null, \"performance\": 0.5, \"roofs\": {\"isa\": \"avx2\", \"precision\": \"dp\", "
        "\"threads\": 2}, \"cache_aware\": null, \"original\": null, \"part\": {\"kind\": \"function\", "
        "\"source\": \"\", \"module\": \"\", \"time_share\": null, \"samples\": null, \"entries\": null, "
        "\"trips\": null, \"vector_share\": null}, \"not_placed\": [\"one\", \"two\"], \"note\": \"\"}\n]\n");
    other.has[1] = true;
    other.unplaced = "x";
    q.metric = "swap";
    (void)written((struct carm_place_json){.out = NULL}, (struct carm_placed *[]){&other}, 1);
    assert_non_null(strstr(text, "\"metric\": \"swap\", \"operations\": 3, "));
    assert_non_null(strstr(text, "\"performance\": null, \"roofs\": null, "));
    assert_non_null(strstr(text, "\"not_placed\": [\"x\"], "));
    assert_string_equal(written((struct carm_place_json){.out = NULL}, NULL, 0), "[]\n");
}
