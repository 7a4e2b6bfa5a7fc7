/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "asm/chain/image.h"
#include "asm/gen.h"
#include "asm/image.h"
#include "base/number.h"

static const char *opt_ai;
static const char *opt_account;

static const struct carm_opt options[] = {
    {"ai", 0, "I", NULL,
     "For codes of kind C: choose units and floating-point instructions so that the operational "
     "intensity is as close to I flop/byte as possible. I is a number, a fraction (1/12) or a power "
     "(2^-3).",
     &opt_ai, NULL},
    {"account", 0, NULL, NULL,
     "Print what one pass of the loop executes in place of the source. The macros and the disassembler "
     "count it separately and must agree.",
     &opt_account, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

static int print_account(const struct carm_code_spec *specs, size_t n)
{
    struct carm_image *image = NULL;
    struct carm_err err;
    if (carm_image_open(&image, specs, n, &err) != 0) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    for (size_t i = 0; i < n; i++) {
        const struct carm_account *a = &image->codes[i].account;
        uint64_t flops = 0;
        uint64_t bytes = 0;
        const bool integer = carm_precisions[specs[i].precision].integer;
        carm_code_intensity(&specs[i], &flops, &bytes);
        printf("%s\n  loads %" PRIu64 " (%" PRIu64 " bytes)  stores %" PRIu64 " (%" PRIu64
               " bytes, %" PRIu64 " non-temporal)\n  %s %" PRIu64 " in %" PRIu64
               " instructions  prefetches %" PRIu64 "\n  instructions %" PRIu64 " (%" PRIu64
               " integer additions)  advances %" PRIu64 " bytes\n  operational intensity ",
               image->codes[i].name, a->loads, a->load_bytes, a->stores, a->store_bytes,
               a->nt_stores, integer ? "operations" : "flops", a->flops, a->fp_instructions,
               a->prefetches, a->instructions, a->int_instructions, a->stride_bytes);
        if (bytes && flops) {
            printf("%" PRIu64 "/%" PRIu64 " = %g %s/byte\n", flops, bytes,
                   (double)flops / (double)bytes, integer ? "op" : "flop");
        } else {
            printf("%s\n", bytes ? "0 (no flops)" : "none (no bytes)");
        }
    }
    carm_image_close(image);
    return CARM_EXIT_OK;
}

enum { MOST = 64 };

static int print_chain_accounts(const struct carm_chain_code *codes, size_t n)
{
    struct carm_chain_image *image = NULL;
    struct carm_err err;
    if (carm_chain_image_open(&image, codes, n, &err) != 0) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    for (size_t i = 0; i < n; i++) {
        const struct carm_chain_account *a = &image->chains[i].account;
        printf("%s\n  units %u  instructions %u  loads %u  stores %u\n"
               "  dependent from one iteration to the next %u\n",
               image->chains[i].name, image->chains[i].units, a->instructions, a->loads, a->stores,
               a->carried);
    }
    carm_chain_image_close(image);
    return CARM_EXIT_OK;
}

/* Prints codes of latencies, which have no intensity. */
static int run_chains(int noperands, char **operands)
{
    struct carm_chain_code codes[MOST];
    struct carm_err err;
    for (int i = 0; i < noperands; i++) {
        if (!carm_chain_is_name(operands[i]) || opt_ai) {
            return carm_say_error(
                CARM_EXIT_MISUSE,
                "a test code of latencies (%s) cannot be combined with --ai or other test codes",
                operands[0]);
        }
        if (carm_chain_parse(operands[i], &codes[i], &err)) {
            return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
        }
    }
    if (opt_account) {
        return print_chain_accounts(codes, (size_t)noperands);
    }
    carm_chain_source(stdout, codes, (size_t)noperands);
    return CARM_EXIT_OK;
}

static int run(int noperands, char **operands)
{
    struct carm_code_spec specs[MOST];
    struct carm_err err;
    if (noperands < 1) {
        return carm_say_error(CARM_EXIT_MISUSE, "name a test code, e.g. `carm asm A.avx2.dp.2:1`; "
                                                "`carm asm --help` describes the names");
    }
    if (carm_chain_is_name(operands[0])) {
        return run_chains(noperands, operands);
    }
    double ai = 0.0;
    if (opt_ai) {
        const char *end = carm_number_ratio(opt_ai, &ai);
        if (!end || *end || !isfinite(ai)) {
            return carm_say_error(CARM_EXIT_MISUSE,
                                  "--ai '%s' is no intensity: write 0.25, 1/12 or "
                                  "2^-3",
                                  opt_ai);
        }
    }
    for (int i = 0; i < noperands; i++) {
        int rc = carm_code_parse(operands[i], &specs[i], &err);
        if (!rc && opt_ai && specs[i].kind != CARM_KIND_C) {
            return carm_say_error(
                CARM_EXIT_MISUSE,
                "--ai is for test codes of kind C (memory and flops); '%s' is of another kind",
                operands[i]);
        }
        rc = !rc && opt_ai ? carm_code_set_intensity(&specs[i], ai, &err) : rc;
        if (rc) {
            return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
        }
    }
    if (opt_account) {
        return print_account(specs, (size_t)noperands);
    }
    carm_gen_source(stdout, specs, (size_t)noperands);
    return CARM_EXIT_OK;
}

const struct carm_command carm_command_asm = {
    .name = "asm",
    .summary = "the NASM source of any test code",
    .operands = "CODE...",
    .details =
        "Prints one NASM file with the named test codes and their macros; `nasm -f bin` assembles "
        "it. The name encodes everything; a dot separates its fields. The first fields are the kind and "
        "what it needs: A.ISA.PRECISION.MIX (memory only), B.ISA.PRECISION.OP (floating point only), "
        "C.ISA.PRECISION.MIX.OP (both), R.ISA.PRECISION (loads of random lines), "
        "W.ISA.PRECISION.MIX.OP.iN (both and integer additions: the issue width of the front end).\n\n"
        "Optional fields follow in any order: uN (units of loads and stores in the loop; R: lines), fN "
        "(floating-point instructions in the loop), cN (independent chains), iN (integer additions; B and "
        "W), pN (software prefetch N bytes ahead), sN (2 to 6 streams; A and C: an array for each load and "
        "each store of a unit, such as 1:1.s2, a copy, 2:1.s3, a triad, or 2:1update.s2, y += a x; loads alone, stores "
        "alone and updates alone take turns in all arrays), jN (loads of every N-th line; A with loads alone), block or blockN (all loads of "
        "the loop, or of N units, before their stores).\n\n"
        "ISA: " CARM_HELP(CARM_ISA_TABLE) ". PRECISION: " CARM_HELP(
            CARM_PRECISION_TABLE) ". MIX: "
                                  "LOADS:STORES in vectors, LOADS:STORESnt with non-temporal stores, LOADS:1update where the store goes to the last vector loaded, or a name: " CARM_HELP(
                                      CARM_MIX_TABLE) ". OP: " CARM_HELP(CARM_OP_TABLE) ".\n\n"
                                                                                        "Codes of latencies: L.KIND.ISA.PRECISION (a chain of dependent instructions), "
                                                                                        "T.KIND.ISA.PRECISION (independent ones), P.kN (a chase of N chains of pointers), P.bM.kN (with M instructions beside each load), G.ISA.kN (the same with gathers). "
                                                                                        "Kinds without vectors have no ISA: L.int-mul.int64, L.load.\n\n"
                                                                                        "The names of the codes that a model was measured with are in the model; `carm show` "
                                                                                        "prints them.",
    .examples = "carm asm A.avx512.dp.2:1.u8 > a.asm && nasm -f bin -o a.bin a.asm\n"
                "carm asm C.avx2.dp.2:1.fma --ai 1/12\n"
                "carm asm --account B.avx2.sp.mad C.sse.dp.1:1.mad",
    .opts = options,
    .max_operands = 64,
    .run = run,
};
