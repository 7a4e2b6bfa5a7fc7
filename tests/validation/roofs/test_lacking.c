/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which roofs a model lacks for a point. Measuring them: tests/cli/build_test.sh. */
#include "tests/unit.h"
#include "validation/roofs/lacking.h"

TEST(lacking_sets_are_found)
{
    struct carm_roofs sets[] = {{.isa = "avx2", .precision = "dp", .threads = 1},
                                {.isa = "scalar", .precision = "dp", .threads = 2}};
    const struct carm_model model = {.roofs = sets, .nroofs = 2};
    struct carm_cpu cpu = {.fma = true};
    const struct carm_topo topo = {.cores = 2};
    struct carm_build_lack l;
    cpu.isa[CARM_SCALAR] = cpu.isa[CARM_SSE] = cpu.isa[CARM_AVX2] = true;
    assert_false(carm_build_lacks(&model, "avx2", "dp", 1, &cpu, &topo, &l));
    assert_true(carm_build_lacks(&model, "avx2", "dp", 2, &cpu, &topo, &l));
    assert_true(carm_build_lacks(&model, "sse", "sp", 1, &cpu, &topo, &l));
    assert_int_equal(l.isa, CARM_SSE);
    assert_int_equal(l.precision, CARM_SP);
    assert_int_equal(l.threads, 1);
    /* not of this CPU, of more threads than cores, or not known */
    assert_false(carm_build_lacks(&model, "avx512", "dp", 1, &cpu, &topo, &l));
    assert_false(carm_build_lacks(&model, "sse", "dp", 3, &cpu, &topo, &l));
    assert_false(carm_build_lacks(&model, "sse", "dp", 0, &cpu, &topo, &l));
    assert_false(carm_build_lacks(&model, "", "dp", 1, &cpu, &topo, &l));
    assert_false(carm_build_lacks(&model, "sse", "mixed", 1, &cpu, &topo, &l));
    assert_false(carm_build_lacks(&model, "sse", "int8", 1, &cpu, &topo, &l));
}
