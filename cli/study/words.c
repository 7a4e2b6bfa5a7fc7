/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/study/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "kernels/classes/codes.h"
#include "kernels/dwarfs/study.h"
#include "kernels/gemm/study.h"
#include "plots/gnuplot.h"

enum { DWARFS_N_MAX = 1024 };

static int parse_count(const char *option, const char *word, long least, long most, long *value,
                       struct carm_err *err)
{
    char *end = NULL;
    errno = 0;
    const long n = *word >= '0' && *word <= '9' ? strtol(word, &end, 10) : -1;
    if (errno || !end || *end || n < least || n > most) {
        return carm_fail(err, CARM_EINVAL,
                         "--%s needs a whole number from %ld to %ld, not \"%.40s\"", option, least,
                         most, word);
    }
    *value = n;
    return 0;
}

static int parse_budget(const char *word, double *seconds, struct carm_err *err)
{
    if (!carm_number_between(word, 0.0, 1e6, seconds) || *seconds == 0.0) {
        return carm_fail(err, CARM_EINVAL,
                         "--budget needs seconds, more than 0 and at most 1000000, not \"%.40s\"",
                         word);
    }
    return 0;
}

static int parse_kernels(const char *list, unsigned *kernels, struct carm_err *err)
{
    while (*list) {
        const size_t len = strcspn(list, ",");
        int k = 0;
        while (k < CARM_DWARF_KERNELS && (strlen(carm_dwarf_words[k]) != len ||
                                          strncmp(list, carm_dwarf_words[k], len) != 0)) {
            k++;
        }
        if (k == CARM_DWARF_KERNELS) {
            return carm_fail(err, CARM_EINVAL,
                             "--kernels takes spmv, lbmhd, stencil, fft and transpose, joined by "
                             "commas, not \"%.40s\"",
                             list);
        }
        *kernels |= 1U << k;
        list += len + (list[len] == ',');
    }
    return 0;
}

/* Reads the precision. Precisions other than dp have only the library's step, and the library
 * chooses its ISA. */
static int parse_precision(const struct carm_study_words *words, enum carm_precision *precision,
                           struct carm_err *err)
{
    int rc = carm_precision_parse(words->precision, precision, err);
    if (!rc && *precision != CARM_DP && *precision != CARM_INT8 && *precision != CARM_BF16) {
        rc = carm_fail(err, CARM_EINVAL, "--precision takes dp, int8 and bf16, not %s",
                       words->precision);
    }
    if (!rc && *precision != CARM_DP && (words->isa || words->variants || words->resume)) {
        rc = carm_fail(
            err, CARM_EINVAL,
            "--%s goes with the steps in dp: --precision %s has the library's product alone",
            words->isa        ? "isa"
            : words->variants ? "variants"
                              : "resume",
            words->precision);
    }
    return rc;
}

/* Checks the files and their options. */
static int check_files(const struct carm_study_words *words, struct carm_err *err)
{
    if (words->plot && !carm_gnuplot_format(words->plot)) {
        return carm_fail(err, CARM_EINVAL, "the picture's name must end in .svg, .png or .pdf");
    }
    if (words->resume && !words->output) {
        return carm_fail(err, CARM_EINVAL,
                         "--resume goes on with the points of a file: name it with --output");
    }
    return 0;
}

int carm_study_read_words(const struct carm_study_words *words, const struct carm_study_ops *study,
                          struct carm_study_options *options, struct carm_err *err)
{
    long n = 0, variants = 0, largest = CARM_CLASS_K_MAX;
    const long n_max = study == &carm_gemm_study ? CARM_GEMM_N_MAX : DWARFS_N_MAX;
    const struct {
        const char *option, *word;
        long least, most, *value;
    } numbers[] = {
        {"n", words->n, 1, n_max, &n},
        {"variants", words->variants, 0, CARM_GEMM_VARIANTS_MAX, &variants},
        {"largest", words->largest, 0, CARM_CLASS_K_MAX, &largest},
    };
    int rc = 0;
    *options = (struct carm_study_options){.has_isa = words->isa != NULL,
                                           .budget = study == &carm_classes_study ? 60.0 : 300.0,
                                           .matrix = words->matrix};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !rc; i++) {
        if (numbers[i].word) {
            rc = parse_count(numbers[i].option, numbers[i].word, numbers[i].least, numbers[i].most,
                             numbers[i].value, err);
        }
    }
    options->n = (size_t)n;
    options->variants = (size_t)variants;
    options->largest = (unsigned)largest;
    rc = rc || !words->budget ? rc : parse_budget(words->budget, &options->budget, err);
    rc = rc || !words->isa ? rc : carm_isa_parse(words->isa, &options->isa, err);
    if (!rc && words->isa && carm_isas[options->isa].columns) {
        return carm_fail(err, CARM_EINVAL, "no study uses tiles: choose another --isa than %s",
                         words->isa);
    }
    rc = rc || !words->precision ? rc : parse_precision(words, &options->precision, err);
    rc = rc || !words->kernels ? rc : parse_kernels(words->kernels, &options->kernels, err);
    return rc ? rc : check_files(words, err);
}
