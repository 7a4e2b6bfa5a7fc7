/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs as text for the tests of carm sol: one good graph, and ways to change it. */
#pragma once

#include "models/file/sol/graph.h"
#include "tests/unit.h"

/* Linear, bias, slice: the figures in test_graph.c are worked from these shapes. */
static const char sol_good[] =
    "model_name: good\n"                                                                 /* 1 */
    "layers:\n"                                                                          /* 2 */
    "  start:\n"                                                                         /* 3 */
    "    type: start\n"                                                                  /* 4 */
    "    einsum_equation: ''\n"                                                          /* 5 */
    "    is_real_einsum: false\n"                                                        /* 6 */
    "    is_einsum_supportable: false\n"                                                 /* 7 */
    "    tensor_names: {inputs: [], outputs: [start.Output]}\n"                          /* 8 */
    "    tensor_types: {inputs: [], outputs: [output]}\n"                                /* 9 */
    "    tensor_shapes: {inputs: [], outputs: [[2, 3]]}\n"                               /* 10 */
    "    connections: {inputs: [], outputs: [linear]}\n"                                 /* 11 */
    "  linear:\n"                                                                        /* 12 */
    "    type: linear\n"                                                                 /* 13 */
    "    einsum_equation: MK,NK->MN\n"                                                   /* 14 */
    "    elementwise_op: mul\n"                                                          /* 15 */
    "    reduction_op: add\n"                                                            /* 16 */
    "    is_real_einsum: true\n"                                                         /* 17 */
    "    is_einsum_supportable: true\n"                                                  /* 18 */
    "    tensor_names: {inputs: [start.Output, linear.Weight], outputs: [linear.Out]}\n" /* 19 */
    "    tensor_types: {inputs: [input, weight], outputs: [output]}\n"                   /* 20 */
    "    tensor_shapes: {inputs: [[2, 3], [5, 3]], outputs: [[2, 5]]}\n"                 /* 21 */
    "    connections: {inputs: [start], outputs: [bias]}\n"                              /* 22 */
    "  bias:\n"                                                                          /* 23 */
    "    connections: {outputs: [slice], inputs: [linear]}\n"                            /* 24 */
    "    tensor_shapes: {outputs: [[2, 5]], inputs: [[2, 5], [5]]}\n"                    /* 25 */
    "    tensor_types: {outputs: [output], inputs: [input, bias]}\n"                     /* 26 */
    "    tensor_names: {outputs: [bias.Out], inputs: [linear.Out, bias.Bias]}\n"         /* 27 */
    "    is_real_einsum: false\n"                                                        /* 28 */
    "    reduction_op: none\n"                                                           /* 29 */
    "    elementwise_op: add\n"                                                          /* 30 */
    "    einsum_equation: AB->AB\n"                                                      /* 31 */
    "    type: add\n"                                                                    /* 32 */
    "  slice:\n"                                                                         /* 33 */
    "    type: __getitem__\n"                                                            /* 34 */
    "    einsum_equation: null\n"                                                        /* 35 */
    "    elementwise_op: ~\n"                                                            /* 36 */
    "    reduction_op:\n"                                                                /* 37 */
    "    is_real_einsum: false\n"                                                        /* 38 */
    "    is_einsum_supportable: false\n"                                                 /* 39 */
    "    raw_attributes: '[[Tensor(...), slice(0, 1)], {}]'\n"                           /* 40 */
    "    access: [{index: 0, boxes: [[[0, 1], [0, 5]]]}]\n"                              /* 41 */
    "    tensor_names: {inputs: [bias.Out], outputs: [slice.Out]}\n"                     /* 42 */
    "    tensor_types: {inputs: [input], outputs: [output]}\n"                           /* 43 */
    "    tensor_shapes: {inputs: [[2, 5]], outputs: [[1, 5]]}\n"                         /* 44 */
    "    connections: {inputs: [bias], outputs: []}\n";                                  /* 45 */

CLOSED_BY(carm_sol_graph_close)
static inline struct carm_sol_graph *sol_parse(const char *text)
{
    struct carm_sol_graph *graph = NULL;
    assert_ok(carm_sol_graph_parse(text, strlen(text), "g.yaml", &graph, &err));
    assert_non_null(graph);
    return closed_later(by_carm_sol_graph_close, graph);
}

/* The whole message. */
static inline void sol_refused(const char *text, const char *message)
{
    struct carm_sol_graph *graph = (void *)&graph;
    err = (struct carm_err){""};
    assert_int_equal(carm_sol_graph_parse(text, strlen(text), "g.yaml", &graph, &err),
                     -CARM_EFORMAT);
    assert_null(graph);
    assert_string_equal(err.text, message);
}
