/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operands of `carm sol`: names that are built in, files, standard input; which of them are analyses. */
#include "base/job.h"
#include "models/file/sol/open.h"
#include "tests/folder.h"
#include "tests/models/model_text.h"

static const char *file_of(const char *name, const char *text)
{
    put_file(name, text);
    return path_of(name);
}

static const char graph[] =
    "model_name: %s\n"
    "layers:\n"
    "  a: {type: view, is_real_einsum: false, tensor_names: {inputs: [], outputs: [o]}, "
    "tensor_types: {inputs: [], outputs: [output]}, tensor_shapes: {inputs: [], outputs: [[6]]}, "
    "connections: {inputs: [], outputs: []}}\n";

TEST(built_in_names)
{
    size_t size = 0;
    static const struct {
        const char *name;
        bool arch, example;
    } cases[] = {{"b200", true, false},
                 {"B200", true, false},
                 {"a100_sxm4", true, false},
                 {"h100-pcie", true, false},
                 {"h100", false, false},
                 {"h100-pcie2", false, false},
                 {"transformer-block", false, true},
                 {"Worked_Example", false, true},
                 {"", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(carm_sol_arch_text(cases[i].name, NULL) != NULL, cases[i].arch);
        assert_int_equal(carm_sol_example_text(cases[i].name, NULL) != NULL, cases[i].example);
    }
    const char *text = carm_sol_arch_text("b200", &size);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(carm_sol_arch_text("h100-pcie", NULL), "H100"));
    for (const char *const *name = carm_sol_example_names(); *name; name++) {
        text = carm_sol_example_text(*name, &size);
        assert_int_equal(strlen(text), size);
    }
    assert_string_equal(carm_sol_arch_names()[0], "a100-sxm4");
    assert_null(carm_sol_arch_names()[3]);
}

TEST_BETWEEN(graphs_and_analyses, make_folder, remove_folder)
{
    char text[512], standard[] = "-", dotted[128], bare[128];
    struct carm_sol_input in;
    const int kept = dup(STDIN_FILENO);
    /* examples: a graph with its own name, an analysis with its operand's */
    assert_ok(carm_sol_input_open("linear-relu-linear", &in, &err));
    assert_true(in.graph && in.analysis && *in.name);
    assert_string_equal(in.name, in.graph->name);
    carm_sol_input_close(&in);
    assert_true(!in.graph && !in.analysis && !in.name);
    assert_ok(carm_sol_input_open("worked-example", &in, &err));
    assert_true(!in.graph && in.analysis);
    assert_string_equal(in.name, "worked-example");
    carm_sol_input_close(&in);
    assert_refused(
        carm_sol_input_open("none-such", &in, &err), -CARM_EINVAL,
        "there is neither a file nor an example \"none-such\"; the examples are linear-relu-linear, ");
    carm_sol_input_close(&in);
    assert_int_equal(carm_sol_input_open("./none-such", &in, &err), -CARM_EIO);
    carm_sol_input_close(&in);
    /* files: the graph's name, else the file's without folders and ending */
    static const struct {
        const char *file, *name, *wanted;
    } files[] = {{"g.yaml", "mine", "mine"},
                 {"g.yaml", "''", "g"},
                 {"g.h.yaml", "''", "g.h"},
                 {".hidden", "''", ".hidden"},
                 {"bare", "''", "bare"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(text, sizeof text, graph, files[i].name);
        assert_ok(carm_sol_input_open(file_of(files[i].file, text), &in, &err));
        assert_non_null(in.graph);
        assert_string_equal(in.name, files[i].wanted);
        carm_sol_input_close(&in);
    }
    (void)snprintf(dotted, sizeof dotted, "%s",
                   file_of("a.yaml", carm_sol_example_text("worked-example", NULL)));
    assert_ok(carm_sol_input_open(dotted, &in, &err));
    assert_null(in.graph);
    assert_string_equal(in.name, "a");
    carm_sol_input_close(&in);
    /* standard input */
    (void)snprintf(text, sizeof text, graph, "''");
    (void)snprintf(bare, sizeof bare, "%s", file_of("b", text));
    const char *const inputs[] = {dotted, bare}, *const names[] = {"analysis", "graph"};
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(freopen(inputs[i], "r", stdin));
        assert_ok(carm_sol_input_open(standard, &in, &err));
        assert_string_equal(in.name, names[i]);
        assert_int_equal(fileno(stdin), STDIN_FILENO); /* still open */
        carm_sol_input_close(&in);
    }
    assert_true(dup2(kept, STDIN_FILENO) == STDIN_FILENO && close(kept) == 0);
}

/* What tells an analysis: its total, or layers that count; a graph has a name, or layers that name tensors. */
TEST_BETWEEN(which_is_an_analysis, make_folder, remove_folder)
{
    static const char of_analysis[] = "a has no ", of_graph[] = "layer a: the key ";
    static const struct {
        const char *text, *refused;
    } cases[] = {
        {"total: {macs: 1}\n", "total has no unfused_elements"},
        {"layers:\n  a: {macs: 1}\n", of_analysis},
        {"layers:\n  a: {name: x, unfused_elements: 3}\n", of_analysis},
        {"layers:\n  a: {tensor_names: {inputs: [], outputs: [x]}, macs: 1}\n", of_graph},
        {"model_name: x\ntotal: {macs: 1}\nlayers:\n  a: {macs: 1}\n", of_graph},
        {"layers: {}\n", "a graph needs at least one layer"},
        {"layers: []\n", "layers"},
        {"other: 1\nlayers:\n  a: {macs: 1}\n", of_analysis},
        {"layers:\n  a: {type: x}\n  b: {macs: 1}\n", of_graph}, /* by the first one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_sol_input in;
        assert_refused(carm_sol_input_open(file_of("x.yaml", cases[i].text), &in, &err),
                       -CARM_EFORMAT, cases[i].refused);
        carm_sol_input_close(&in);
    }
}

TEST_BETWEEN(machines, make_folder, remove_folder)
{
    static struct carm_sol_arch arch;
    assert_ok(carm_sol_machine_open("H100_PCIe", "", 0, &arch, &err));
    assert_false(arch.measured);
    assert_refused(carm_sol_machine_open("b200", "avx2", 0, &arch, &err), -CARM_EINVAL,
                   "--isa and --threads choose among the roofs of a model");
    assert_refused(carm_sol_machine_open("b200", NULL, 1, &arch, &err), -CARM_EINVAL,
                   "an architecture has none");
    assert_refused(
        carm_sol_machine_open("none-such", NULL, 0, &arch, &err), -CARM_EINVAL,
        "neither a file nor an architecture \"none-such\"; the architectures are a100-sxm4, b200, h100-pcie");
    assert_int_equal(carm_sol_machine_open("./none-such", NULL, 0, &arch, &err), -CARM_EIO);
    /* a model, whose roofs are chosen, by its first brace; else an architecture */
    assert_ok(carm_sol_machine_open(source_file("tests/data/sample-model.json"), "avx512", 1, &arch,
                                    &err));
    assert_true(arch.measured);
    assert_ok(carm_sol_machine_open(file_of("a.yaml", carm_sol_arch_text("b200", NULL)), NULL, 0,
                                    &arch, &err));
    assert_false(arch.measured);
    assert_refused(carm_sol_machine_open(path_of("a.yaml"), NULL, 2, &arch, &err), -CARM_EINVAL,
                   "--isa and --threads");
    assert_int_equal(carm_sol_machine_open(file_of("a.yaml", " \n{}"), NULL, 0, &arch, &err),
                     -CARM_EFORMAT);
    assert_non_null(strstr(err.text, path_of("a.yaml")));
    const int kept = dup(STDIN_FILENO);
    assert_non_null(freopen(file_of("a.yaml", carm_sol_arch_text("b200", NULL)), "r", stdin));
    assert_ok(carm_sol_machine_open("-", NULL, 0, &arch, &err));
    assert_int_equal(fileno(stdin), STDIN_FILENO); /* still open */
    assert_true(dup2(kept, STDIN_FILENO) == STDIN_FILENO && close(kept) == 0);
    /* without an operand, the model of this machine */
    assert_int_equal(setenv("XDG_DATA_HOME", folder, 1), 0);
    assert_refused(carm_sol_machine_open(NULL, NULL, 0, &arch, &err), -CARM_EINVAL,
                   "name the machine with --arch: a100-sxm4, b200, h100-pcie, ");
    char model[512];
    assert_ok(carm_default_model_path(model, sizeof model, &err));
    char *name = strrchr(model, '/');
    *name = '\0';
    assert_int_equal(mkdir(model, 0700), 0);
    *name = '/';
    char *sample = realpath(source_file("tests/data/sample-model.json"), NULL);
    assert_true(sample && symlink(sample, model) == 0);
    free(sample);
    assert_ok(carm_sol_machine_open(NULL, "avx512", 1, &arch, &err));
    assert_true(arch.measured);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
}
