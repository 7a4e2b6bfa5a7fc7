/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of operations of `carm sol --layers`. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/sol/print.h"
#include "base/text.h"

enum { NAME_COLUMNS = 26, TYPE_COLUMNS = 11 };

struct dear {
    double seconds; /* unfused */
    uint32_t layer;
};

/* Of operations that take equally long, the earlier one first. */
static int dearest_first(const void *a, const void *b)
{
    const struct dear *x = a, *y = b;
    if (x->seconds != y->seconds) {
        return (x->seconds < y->seconds) - (x->seconds > y->seconds);
    }
    return (x->layer > y->layer) - (x->layer < y->layer);
}

struct sums {
    double flops, unfused, fused;
    uint64_t bytes;
};

static void add(struct sums *sums, const struct carm_sol_view *v, uint32_t i)
{
    const struct carm_sol_estimate unfused = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
    sums->flops += carm_sol_flops(&v->analysis->layers[i]);
    sums->bytes += unfused.bytes;
    sums->unfused += unfused.seconds;
    sums->fused += carm_sol_view_layer(v, i, CARM_SOL_FUSED).seconds;
}

static void print_line(const char *name, const char *type, const struct sums *s, double all,
                       const char *bound)
{
    char flops[CARM_TEXT_NUMBER_MAX], bytes[CARM_TEXT_NUMBER_MAX], unfused[CARM_TEXT_NUMBER_MAX],
        fused[CARM_TEXT_NUMBER_MAX];
    /* columns are counted in characters, printf counts bytes */
    (void)printf("  %s%*s %s%*s %8s %10s %9s %5.1f%% %9s%s%s\n", name,
                 NAME_COLUMNS - (int)carm_text_width(name), "", type,
                 TYPE_COLUMNS - (int)carm_text_width(type), "",
                 carm_sol_text_count(flops, sizeof flops, s->flops),
                 carm_sol_text_bytes(bytes, sizeof bytes, s->bytes),
                 carm_sol_text_time(unfused, sizeof unfused, s->unfused),
                 all > 0.0 ? 100.0 * s->unfused / all : 0.0,
                 carm_sol_text_time(fused, sizeof fused, s->fused), *bound ? "  " : "", bound);
}

static void print_layer(const struct carm_sol_view *v, uint32_t i, double all)
{
    char name[256], type[64], bound[16];
    struct sums s = {0};
    const struct carm_sol_estimate fused = carm_sol_view_layer(v, i, CARM_SOL_FUSED);
    add(&s, v, i);
    (void)carm_sol_text_cut(name, sizeof name, carm_sol_view_layer_name(v, i), NAME_COLUMNS,
                            v->ascii);
    (void)carm_sol_text_cut(type, sizeof type, carm_sol_view_layer_type(v, i), TYPE_COLUMNS,
                            v->ascii);
    print_line(
        name, type, &s, all,
        carm_sol_text_cut(bound, sizeof bound, carm_sol_bound_word(v->arch, &fused), 10, v->ascii));
}

/* Operations that do or move something. returns how many */
static uint32_t collect(const struct carm_sol_view *v, struct dear *dear, struct sums *all)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < carm_sol_view_layers(v); i++) {
        if (carm_sol_view_works(v, i)) {
            dear[n++] = (struct dear){carm_sol_view_layer(v, i, CARM_SOL_UNFUSED).seconds, i};
            add(all, v, i);
        }
    }
    qsort(dear, n, sizeof *dear, dearest_first);
    return n;
}

static void print_table(const struct carm_sol_view *v, const struct dear *dear, uint32_t n,
                        const struct sums *all, size_t most)
{
    struct sums rest = {0};
    const uint32_t shown = n <= most ? n : (uint32_t)most;
    (void)printf("\n  %-*s %-*s %8s %10s %9s %6s %9s  %s\n", NAME_COLUMNS, "", TYPE_COLUMNS, "", "",
                 "unfused", "unfused", "", "fused", "fused is");
    (void)printf("  %-*s %-*s %8s %10s %9s %6s %9s  %s\n", NAME_COLUMNS, "operation", TYPE_COLUMNS,
                 "type", "flop", "traffic", "time", "share", "time", "limited by");
    for (uint32_t i = 0; i < shown; i++) {
        print_layer(v, dear[i].layer, all->unfused);
    }
    for (uint32_t i = shown; i < n; i++) {
        add(&rest, v, dear[i].layer);
    }
    if (n > shown) {
        char others[48];
        (void)snprintf(others, sizeof others, "%u more", n - shown);
        print_line(others, "", &rest, all->unfused, "");
    }
    print_line("all", "", all, all->unfused, "");
    if (v->result->whole_graph) {
        (void)printf("  Times of operations add up to more than those of the whole graph.\n");
    }
}

int carm_sol_print_layers(const struct carm_sol_view *view, size_t most, struct carm_err *err)
{
    const uint32_t layers = carm_sol_view_layers(view);
    struct sums all = {0};
    struct dear *dear = malloc((layers ? layers : 1) * sizeof *dear);
    if (!dear) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a table of %u operations",
                         layers);
    }
    const uint32_t n = collect(view, dear, &all);
    print_table(view, dear, n, &all, most);
    free(dear);
    return 0;
}
