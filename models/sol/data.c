/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/data.h"

#include <ctype.h>
#include <string.h>

#include "models/sol/arch.h"

/* Put into the program by the build, zero-terminated: data/sol-NAME.yaml. */
extern const char carm_asset_data_sol_a100_sxm4[];
extern const char carm_asset_data_sol_b200[];
extern const char carm_asset_data_sol_h100_pcie[];
extern const char carm_asset_data_sol_convolution_stack[];
extern const char carm_asset_data_sol_linear_relu_linear[];
extern const char carm_asset_data_sol_long_context_attention[];
extern const char carm_asset_data_sol_transformer_block[];
extern const char carm_asset_data_sol_worked_example[];

static const char *const arch_names[] = {"a100-sxm4", "b200", "h100-pcie", NULL};
static const char *const arch_texts[] = {
    carm_asset_data_sol_a100_sxm4,
    carm_asset_data_sol_b200,
    carm_asset_data_sol_h100_pcie,
};

static const char *const example_names[] = {
    "linear-relu-linear",     "transformer-block", "convolution-stack",
    "long-context-attention", "worked-example",    NULL,
};
static const char *const example_texts[] = {
    carm_asset_data_sol_linear_relu_linear, carm_asset_data_sol_transformer_block,
    carm_asset_data_sol_convolution_stack,  carm_asset_data_sol_long_context_attention,
    carm_asset_data_sol_worked_example,
};

static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static bool is_same(const char *a, const char *b)
{
    while (*a && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

static const char *find(const char *const *names, const char *const *texts, const char *name,
                        size_t *size_bytes)
{
    for (size_t i = 0; names[i]; i++) {
        if (is_same(names[i], name)) {
            if (size_bytes) {
                *size_bytes = strlen(texts[i]);
            }
            return texts[i];
        }
    }
    return NULL;
}

const char *carm_sol_arch_text(const char *name, size_t *size_bytes)
{
    return find(arch_names, arch_texts, name, size_bytes);
}

const char *const *carm_sol_arch_names(void)
{
    return arch_names;
}

const char *carm_sol_example_text(const char *name, size_t *size_bytes)
{
    return find(example_names, example_texts, name, size_bytes);
}

const char *const *carm_sol_example_names(void)
{
    return example_names;
}
