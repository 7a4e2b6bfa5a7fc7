/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recount catches planted faults: in the macros, in the generated source and in the bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm/gen.h"
#include "asm/image.h"

extern char **environ;

/* A source of one code, assembled: what carm_image_assemble gives for an unaltered one. */
struct assembled {
    uint8_t bytes[65536];
    size_t size;
    struct carm_code_layout layout;
    struct carm_account account;
};

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/test_recount-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const files[] = {"code.asm", "code.bin", "nasm.log"};
    char path[128];
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    return rmdir(folder);
}

static void run_nasm(const char *source)
{
    char in[128];
    char out[128];
    char log[128];
    (void)snprintf(in, sizeof in, "%s/code.asm", folder);
    (void)snprintf(out, sizeof out, "%s/code.bin", folder);
    (void)snprintf(log, sizeof log, "%s/nasm.log", folder);
    FILE *f = fopen(in, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0);
    assert_int_equal(fclose(f), 0);
    char *argv[] = {"nasm", "-f", "bin", "-o", out, in, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log,
                                           O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawnp(&pid, "nasm", &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) { /* a fault that does not assemble is a fault of this file */
        char line[256] = "";
        f = fopen(log, "r");
        (void)!(f && fgets(line, sizeof line, f));
        if (f) {
            (void)fclose(f);
        }
        fail_msg("nasm refuses the altered source: %s", line);
    }
}

/* Reads the first entry of the image's table, as CARM_FILE and CODE_END of asm/carm.inc lay it. */
static void assemble(const char *source, struct assembled *out)
{
    char path[128];
    uint64_t table = 0;
    uint64_t e[16];
    run_nasm(source);
    (void)snprintf(path, sizeof path, "%s/code.bin", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out->size = fread(out->bytes, 1, sizeof out->bytes, f);
    assert_int_equal(fclose(f), 0);
    assert_in_range(out->size, 64, sizeof out->bytes - 1);
    memcpy(&table, out->bytes + 8, sizeof table);
    assert_in_range(table, 32, out->size - sizeof e);
    memcpy(e, out->bytes + table, sizeof e);
    out->layout = (struct carm_code_layout){e[0], e[1], e[2], e[3]};
    out->account = (struct carm_account){
        .loads = e[4],
        .load_bytes = e[5],
        .stores = e[6],
        .store_bytes = e[7],
        .nt_stores = e[8],
        .fp_instructions = e[9],
        .flops = e[10],
        .prefetches = e[11],
        .instructions = e[12],
        .stride_bytes = e[13],
        .setup_loads = e[14],
        .setup_load_bytes = e[15],
    };
}

static struct carm_code_spec parse(const char *name)
{
    struct carm_code_spec spec;
    struct carm_err err = {""};
    if (carm_code_parse(name, &spec, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return spec;
}

static char *source_of(const char *name)
{
    const struct carm_code_spec spec = parse(name);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    carm_gen_source(f, &spec, 1);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Replaces every `from` in text by `to`; takes text. */
static char *replace(char *text, const char *from, const char *to)
{
    char *out = NULL;
    size_t size = 0;
    const char *at = text;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    if (!strstr(text, from)) {
        fail_msg("the source has no '%s' to be altered", from);
    }
    for (const char *hit = strstr(at, from); hit; hit = strstr(at, from)) {
        (void)fwrite(at, 1, (size_t)(hit - at), f);
        (void)fputs(to, f);
        at = hit + strlen(from);
    }
    (void)fputs(at, f);
    assert_int_equal(fclose(f), 0);
    free(text);
    return out;
}

/* The counting half of LD and ST, without the instruction. */
#define COUNT_INSTRUCTION "%assign n_instr n_instr+1\n"
#define COUNT_LD                                                                                   \
    "%assign n_loads n_loads+1\n%assign n_load_bytes n_load_bytes+W\n" COUNT_INSTRUCTION
#define COUNT_ST                                                                                   \
    "%assign n_stores n_stores+1\n%assign n_store_bytes n_store_bytes+W\n" COUNT_INSTRUCTION
#define COUNT_FMA                                                                                  \
    "%assign n_fp n_fp+1\n%assign n_flops n_flops+2*LANES\n" COUNT_INSTRUCTION
#define MOVE_RAX "    mov rax, rdi\n"

struct fault {
    const char *what;
    const char *code;    /* the source is generated for this one ... */
    const char *checked; /* ... and checked as this one; NULL = the same */
    const char *from[3], *to[3];
    const char *message; /* part of the sentence that refuses it */
};

static const struct fault faults[] = {
    /* loads, stores and the stream */
    {"a load dropped, its account kept", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"}, {COUNT_LD},
     "a gap in the stream"},
    {"the last load dropped, its account kept", "A.avx512.dp.1:0.u4", NULL, {"    LD 3\n"},
     {COUNT_LD}, "slots cover 192 bytes, but its stride is 256"},
    {"a store dropped, its account kept", "A.sse.sp.2:1.u4", NULL, {"    ST 5\n"}, {COUNT_ST},
     "a gap in the stream"},
    {"a load counted twice", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"}, {"    LD 3\n" COUNT_LD},
     "bytes have loads = 8, its account says 9"},
    {"load bytes counted wrongly", "A.avx2.dp.1:0.u4", NULL, {"n_load_bytes+W"},
     {"n_load_bytes+W/2"}, "bytes have load_bytes = 128, its account says 64"},
    {"a unit less than asked for", "A.avx2.dp.2:1.u3", "A.avx2.dp.2:1.u4", {NULL}, {NULL},
     "bytes have loads = 6, its specification says 8"},
    {"another mix than asked for", "A.avx2.dp.1:2.u4", "A.avx2.dp.2:1.u4", {NULL}, {NULL},
     "bytes have loads = 4, its specification says 8"},
    {"a stride too long", "A.avx2.dp.2:1.u4", NULL, {"add rax, %1*W\n"}, {"add rax, %1*W+64\n"},
     "slots cover 384 bytes, but its stride is 448"},
    {"a stride too short, account altered with it", "A.avx2.dp.2:1.u4", NULL, {"LOOP_END 12"},
     {"LOOP_END 11"}, "slots cover 384 bytes, but its stride is 352"},
    {"a stream that goes backwards", "A.avx2.dp.2:1.u4", NULL, {"add rax, %1*W\n"},
     {"add rax, -%1*W\n"}, "the stream goes backwards"},
    {"a gap in the stream", "A.avx512.sp.1:0.u4", NULL, {"    LD 2\n    LD 3\n"},
     {"    LD 3\n    LD 4\n"}, "a gap in the stream"},
    {"a stream that does not begin at the window", "A.sse.dp.1:0.u2", NULL, {"[rax + %1*W]"},
     {"[rax + %1*W + 16]"}, "a gap in the stream"},
    {"a load from the slot before", "A.avx2.dp.1:0.u4", NULL, {"    LD 2\n"}, {"    LD 1\n"},
     "its slot overlaps an earlier one"},
    {"a load half a vector early", "A.avx2.dp.1:0.u4", NULL, {"    LD 2\n"},
     {"    MOVE R(10), [rax + 2*W-16]\n" COUNT_LD}, "its slot overlaps an earlier one"},
    {"a store into a loaded slot", "A.avx2.dp.2:1.u4", NULL, {"    ST 5\n"}, {"    ST 4\n"},
     "its slot overlaps a load's and is no update"},
    {"loads out of order", "A.avx2.dp.1:0.u4", NULL, {"    LD 1\n    LD 2\n"},
     {"    LD 2\n    LD 1\n"}, "out of order"},
    {"load and store swapped", "A.avx2.dp.2:1.u4", NULL, {"    LD 4\n    ST 5\n"},
     {"    ST 4\n    LD 5\n"}, "a load is due here"},
    {"store and load swapped", "A.avx2.dp.1:2.u4", NULL, {"    LD 3\n    ST 4\n"},
     {"    ST 3\n    LD 4\n"}, "a load is due here"},
    {"unit order where block order is asked for", "A.avx2.dp.2:1.u4", "A.avx2.dp.2:1.u4.block",
     {NULL}, {NULL}, "a load is due here"},
    {"block order where unit order is asked for", "A.avx2.dp.2:1.u4.block", "A.avx2.dp.2:1.u4",
     {NULL}, {NULL}, "a store is due here"},
    {"ordinary for non-temporal stores", "A.avx2.dp.2:1.u4", "A.avx2.dp.2:1nt.u4", {NULL}, {NULL},
     "nt_stores = 0, its specification says 4"},
    {"non-temporal stores not counted as such", "A.avx2.dp.nt.u4", NULL,
     {"%assign n_nt n_nt+1\n"}, {""}, "nt_stores = 4, its account says 0"},
    {"the loaded vector stored elsewhere", "A.avx2.dp.2:1.u4", NULL, {"MOVE [rax + %1*W], R(11)"},
     {"MOVE [rax + %1*W], R(10)"}, "it stores neither a constant nor an update"},
    {"an update that changes nothing", "A.avx2.dp.update.u4", NULL, {"    FLIP(10,11)\n"}, {""},
     "it stores neither a constant nor an update"},
    {"an update that stores to another slot", "A.avx2.dp.update.u4", NULL,
     {"MOVE [rax + %1*W], R(10)"}, {"MOVE [rax + %1*W + W], R(10)"},
     "it stores neither a constant nor an update"},
    {"an update that is not stored", "A.avx2.dp.1:0.u4", NULL, {"    LD 3\n"},
     {"    LD 3\n    FLIP(10,11)\n"}, "it does not change a vector just loaded, by a constant"},
    {"an access that does not follow the stream", "A.avx2.dp.1:0.u4", NULL, {"[rax + %1*W]"},
     {"[rdi + %1*W]"}, "its address is neither [rax + offset] nor a constant's"},
    {"an indexed access", "A.avx2.dp.1:0.u4", NULL, {"[rax + %1*W]"}, {"[rax + 8*rcx + %1*W]"},
     "its address is neither [rax + offset] nor a constant's"},
    {"a constant loaded in the loop", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"}, {"    INIT 10, 3\n"},
     "in the loop only [rax + offset] is accessed"},
    /* prefetches */
    {"prefetches at another distance", "A.avx2.dp.2:1.u4.p1024", "A.avx2.dp.2:1.u4.p1088", {NULL},
     {NULL}, "does not fetch the next line at the distance"},
    {"one prefetch a line off", "A.avx2.dp.2:1.u4.p1024", NULL, {"PREFETCH 1088"},
     {"PREFETCH 1152"}, "does not fetch the next line at the distance"},
    {"a prefetch dropped, its account kept", "A.avx2.dp.2:1.u4.p1024", NULL,
     {"    PREFETCH 1088\n"}, {"%assign n_prefetch n_prefetch+1\n" COUNT_INSTRUCTION},
     "prefetches = 5, its account says 6"},
    {"a prefetch of another kind", "A.avx2.dp.2:1.u4.p1024", NULL, {"prefetcht0"}, {"prefetchnta"},
     "outside the repertoire"},
    /* floating point */
    {"fmadd231 for fmadd213", "B.avx2.dp.fma.f40.c10", NULL, {"vfmadd213"}, {"vfmadd231"},
     "outside the repertoire"},
    {"fmadd132 for fmadd213", "B.avx512.dp.fma.f40.c10", NULL, {"vfmadd213"}, {"vfmadd132"},
     "outside the repertoire"},
    {"fmsub for fmadd", "B.avx2.sp.fma.f40.c10", NULL, {"vfmadd213"}, {"vfmsub213"},
     "outside the repertoire"},
    {"fnmadd for fmadd", "B.scalar.sp.fma.f40.c10", NULL, {"vfmadd213"}, {"vfnmadd213"},
     "outside the repertoire"},
    {"one flop for an fma", "B.avx2.dp.fma.f40.c10", NULL, {"n_flops+2*LANES"}, {"n_flops+LANES"},
     "flops = 320, its account says 160"},
    {"two flops for an add", "B.avx512.sp.add.f40.c10", NULL, {"n_flops+LANES"},
     {"n_flops+2*LANES"}, "flops = 640, its account says 1280"},
    {"lanes of the wrong element", "B.sse.dp.mul.f40.c10", NULL, {"%assign LANES W/E"},
     {"%assign LANES W/4"}, "flops = 80, its account says 160"},
    {"an fma dropped, its account kept", "C.avx2.dp.2:1.fma.u4.f8.c4", NULL,
     {"    FMA 3, 14, 15\n"}, {COUNT_FMA}, "fp_instructions = 7, its account says 8"},
    {"add for mul in mad", "B.avx2.dp.mad.f40.c10", NULL, {"MUL 3, 12"}, {"ADD 3, 12"},
     "another operation is due here"},
    {"add where mul is asked for", "B.avx2.dp.add.f40.c10", "B.avx2.dp.mul.f40.c10", {NULL}, {NULL},
     "another operation is due here"},
    {"sub for add", "B.avx2.dp.add.f40.c10", NULL, {"ARITH(add"}, {"ARITH(sub"},
     "outside the repertoire"},
    {"one constant for both turns", "B.avx2.dp.mul.f40.c10", NULL, {"MUL 3, 13"}, {"MUL 3, 12"},
     "other constants are due"},
    {"a chain fed from memory", "C.avx2.dp.2:1.fma.u4.f8.c4", NULL, {"FMA 3, 12, 13"},
     {"FMA 3, 10, 13"}, "it overwrites a register that is in use"},
    {"a chain fed from a chain", "B.avx2.dp.fma.f40.c10", NULL, {"FMA 3, 12, 13"},
     {"FMA 3, 2, 13"}, "its registers are not a chain and constants"},
    {"a chain never set", "B.avx2.dp.fma.f40.c9", NULL, {"FMA 3, 12, 13"}, {"FMA 9, 12, 13"},
     "its registers are not a chain and constants"},
    {"a destination outside its chain", "B.avx2.dp.add.f40.c10", NULL,
     {"v %+ m %+ SUFFIX R(n), R(n), R(k)"}, {"v %+ m %+ SUFFIX R(n), R(k), R(n)"},
     "does not continue a chain"},
    {"a load into a chain", "C.avx2.dp.2:1.fma.u4.f8.c4", NULL, {"    LD 3\n"},
     {"    MOVE R(2), [rax + 3*W]\n" COUNT_LD}, "it overwrites a register that is in use"},
    {"a load into a constant", "C.avx2.dp.2:1.fma.u4.f8.c4", NULL, {"    LD 3\n"},
     {"    MOVE R(12), [rax + 3*W]\n" COUNT_LD}, "it overwrites a register that is in use"},
    {"a chain less than asked for", "B.avx2.dp.add.f4.c2", NULL,
     {"ADD 1, 12\n    ADD 0, 13", "ADD 1, 13"}, {"ADD 0, 13\n    ADD 0, 12", "ADD 0, 13"},
     "bytes have 1 chains, not 2"},
    {"a pair left open", "B.avx2.dp.add.f4.c2", NULL,
     {"ADD 1, 12\n    ADD 0, 13", "ADD 1, 13"}, {"ADD 0, 13\n    ADD 0, 12", "ADD 1, 12"},
     "leaves a pair open"},
    {"a flop on memory", "C.avx2.dp.2:1.add.u4.f8.c4", NULL, {"    ADD 3, 12\n"},
     {"    vaddpd ymm3, ymm3, [rax]\n"}, "works on other operands than vector registers"},
    /* widths, precisions and instruction sets */
    {"ps for pd", "A.avx2.dp.2:1.u4", NULL, {"32, 8, ymm, pd, movapd"}, {"32, 8, ymm, ps, movaps"},
     "it is of another precision"},
    {"pd for ps", "A.avx512.sp.2:1.u4", NULL, {"64, 4, zmm, ps, movaps"},
     {"64, 4, zmm, pd, movapd"}, "it is of another precision"},
    {"pd arithmetic for ps", "B.sse.sp.mad.f8.c4", NULL, {"16, 4, xmm, ps"}, {"16, 4, xmm, pd"},
     "flops = 16, its account says 32"},
    {"an ss load among sd ones", "A.scalar.dp.1:0.u4", NULL, {"    LD 3\n"},
     {"    movss xmm10, [rax + 3*W]\n" COUNT_LD}, "slots cover 28 bytes, but its stride is 32"},
    {"packed for scalar", "B.scalar.dp.add.f8.c4", NULL, {"    ADD 3, 12\n"},
     {"    addpd xmm3, xmm12\n%assign n_fp n_fp+1\n%assign n_flops n_flops+1\n"
      COUNT_INSTRUCTION}, "flops = 9, its account says 8"},
    {"xmm in avx2 code, account altered with it", "A.avx2.dp.2:1.u4", NULL, {"32, 8, ymm"},
     {"16, 8, xmm"}, "load_bytes = 128, its specification says 256"},
    {"ymm in avx512 code, account altered with it", "B.avx512.dp.add.f8.c4", NULL, {"64, 8, zmm"},
     {"32, 8, ymm"}, "flops = 32, its specification says 64"},
    {"sse instructions in avx code", "B.avx.dp.add.f8.c4", NULL, {"    ADD 3, 12\n"},
     {"    addpd xmm3, xmm12\n%assign n_fp n_fp+1\n%assign n_flops n_flops+2\n"
      COUNT_INSTRUCTION}, "flops = 30, its specification says 32"},
    {"a legacy move in VEX code", "C.scalar.dp.2:1.fma.u4.f8.c4", NULL, {"    LD 3\n"},
     {"    movsd xmm10, [rax + 3*W]\n" COUNT_LD}, "it is of another instruction set"},
    {"VEX in sse code", "A.sse.dp.2:1.u4", NULL, {"CARM_SSE_FORMS\nCARM_NARROW"},
     {"CARM_VEX_FORMS\nCARM_NARROW"}, "it is of another instruction set"},
    {"fma in avx code", "B.avx2.dp.fma.f8.c4", "B.avx.dp.mad.f8.c4", {NULL}, {NULL},
     "flops = 64, its specification says 32"},
    {"a masked load", "A.avx512.dp.1:0.u4", NULL, {"    LD 3\n"},
     {"    vmovapd zmm10{k1}, [rax + 3*W]\n" COUNT_LD}, "no prefixes, masks, broadcasts"},
    {"a rounding of its own", "B.avx512.dp.add.f8.c4", NULL, {"    ADD 3, 12\n"},
     {"    vaddpd zmm3, zmm3, zmm12, {rz-sae}\n"}, "no prefixes, masks, broadcasts"},
    {"AVX-512DQ in AVX-512F code", "A.avx512.dp.update.u4", NULL, {"pxorq"}, {"xorpd"},
     "belongs to an instruction set that test codes do not use"},
    /* constants */
    {"a denormal constant", "B.avx2.dp.add.f8.c4", NULL, {"dq 0.318"}, {"dq 1.0e-310, 0.318"},
     "its constant is not a normal number"},
    {"an infinite constant", "B.avx2.sp.add.f8.c4", NULL, {"dd 0.318"},
     {"dd __Infinity__, 0.318"}, "its constant is not a normal number"},
    {"a constant past the image", "B.avx2.dp.add.f8.c4", NULL, {"CARM_CONSTANTS + %2*64"},
     {"CARM_CONSTANTS + %2*64 + 0x100000"}, "its constant lies outside the image"},
    {"a constant not aligned", "B.avx2.dp.add.f8.c4", NULL, {"CARM_CONSTANTS + %2*64"},
     {"CARM_CONSTANTS + %2*64 + 8"}, "its constant is not aligned"},
    {"a chain's first value not loaded", "B.avx2.dp.add.f8.c4", NULL, {"    INIT 3, 3\n"}, {""},
     "its registers are not a chain and constants"},
    {"a constant loaded twice", "B.avx2.dp.add.f8.c4", NULL, {"    INIT 3, 3\n"},
     {"    INIT 3, 3\n    INIT 3, 3\n"}, "setup_loads = 7, its specification says 6"},
    /* control flow and the calling convention */
    {"no pass loop", "A.avx2.dp.2:1.u4", NULL,
     {"    dec rdx\n    jnz carm_pass_%[carm_codes]\n"}, {""}, "no pass loop"},
    {"a pass that does not rewind", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX "    mov rcx, rsi\n"},
     {"    mov rcx, rsi\n"}, "before the pass loop stand only loads of constants"},
    {"a pass that does not begin anew", "A.avx2.dp.2:1.u4", NULL, {"jnz carm_pass_"},
     {"jnz carm_loop_"}, "no pass loop"},
    {"a pass that keeps its count", "A.avx2.dp.2:1.u4", NULL, {"    mov rcx, rsi\n"}, {""},
     "a pass must begin with"},
    {"a loop that branches elsewhere", "A.avx2.dp.2:1.u4", NULL, {"jnz carm_loop_"},
     {"jnz carm_pass_"}, "the loop is not closed by"},
    {"a loop that does not count", "A.avx2.dp.2:1.u4", NULL, {"    dec rcx "}, {"    ; dec rcx "},
     "the loop is not closed by"},
    {"a loop body not aligned", "A.avx2.dp.2:1.u4", NULL, {"carm_loop_%[carm_codes]:"},
     {"nop\ncarm_loop_%[carm_codes]:"}, "on a 64-byte line"},
    {"vzeroupper missing", "A.avx2.dp.2:1.u4", NULL, {"%define LEAVE vzeroupper"},
     {"%define LEAVE"}, "vzeroupper is missing"},
    {"vzeroupper missing in avx512", "B.avx512.dp.fma.f40.c20", NULL,
     {"%define LEAVE vzeroupper"}, {"%define LEAVE"}, "vzeroupper is missing"},
    {"vzeroupper in the loop", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"},
     {"    vzeroupper\n    LD 3\n"}, "has no place in a loop body"},
    {"vzeroupper where nothing is wide", "A.sse.dp.2:1.u4", NULL, {"    LEAVE\n"},
     {"    vzeroupper\n"}, "it is of another instruction set"},
    {"no return", "A.avx2.dp.2:1.u4", NULL, {"    LEAVE\n    ret\n"}, {"    LEAVE\n"},
     "does not end with `ret`"},
    {"instructions after the return", "A.avx2.dp.2:1.u4", NULL, {"    ret\n"},
     {"    ret\n    nop\n"}, "does not end with `ret`"},
    {"a return that pops", "A.avx2.dp.2:1.u4", NULL, {"    ret\n"}, {"    ret 8\n"},
     "outside the repertoire"},
    {"a far return", "A.avx2.dp.2:1.u4", NULL, {"    ret\n"}, {"    retf\n"},
     "outside the repertoire"},
    {"a write to a callee-saved register", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX},
     {"    mov rbx, rdi\n" MOVE_RAX}, "it writes rbx, which is the caller's"},
    {"a write to half of one", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX}, {"    inc r12d\n" MOVE_RAX},
     "it writes r12d, which is the caller's"},
    {"a write to an argument", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"},
     {"    LD 3\n    add rdi, 64\n"}, "it writes rdi, which is the caller's"},
    {"something kept on the stack", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX},
     {"    push rax\n" MOVE_RAX}, "it writes rsp, which is the caller's"},
    {"the direction flag set", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX}, {"    std\n" MOVE_RAX},
     "outside the repertoire"},
    {"MXCSR changed", "A.avx2.dp.2:1.u4", NULL, {MOVE_RAX}, {"    vldmxcsr [rdi]\n" MOVE_RAX},
     "it writes mxcsr, which is the caller's"},
    {"a mask register changed", "A.avx512.dp.2:1.u4", NULL, {MOVE_RAX},
     {"    kxorw k1, k1, k1\n" MOVE_RAX}, "it writes k1, which is the caller's"},
    {"an unknown instruction", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"},
     {"    lfence\n    LD 3\n"}, "outside the repertoire"},
    {"a nop in the loop", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"}, {"    nop\n    LD 3\n"},
     "has no place in a loop body"},
    {"bytes that are no instruction", "A.avx2.dp.2:1.u4", NULL, {"    LD 3\n"},
     {"    db 0x06\n    LD 3\n"}, "no whole instruction"},
    {"a loop where none is asked for", "A.avx2.dp.1:0.u4", "empty.avx2.dp", {NULL}, {NULL},
     "loads = 4, its specification says 0"},
};

/* Checks the altered code: the sentence must hold `message` (NULL: it must pass).
 * returns 0 or 1 after having said what is wrong */
static unsigned check(const struct fault *f, const struct assembled *a)
{
    const struct carm_code_spec spec = parse(f->checked ? f->checked : f->code);
    struct carm_err err = {""};
    char name[CARM_CODE_NAME_MAX];
    carm_code_name(&spec, name);
    int rc = carm_recount_check(&spec, a->bytes, a->size, &a->layout, &a->account, &err);
    const bool good = f->message ? rc == -CARM_EFORMAT && strstr(err.text, f->message) &&
                                       strstr(err.text, name) && !strchr(err.text, '\n')
                                 : rc == 0;
    if (!good) {
        print_error("%s: %d '%s', not '%s'\n", f->what, rc, err.text,
                    f->message ? f->message : "");
    }
    return !good;
}

static void test_planted_in_the_source(void **state)
{
    static struct assembled a;
    unsigned missed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *f = &faults[i];
        char *source = source_of(f->code);
        for (int k = 0; k < 3 && f->from[k]; k++) {
            source = replace(source, f->from[k], f->to[k]);
        }
        assemble(source, &a);
        free(source);
        missed += check(f, &a);
    }
    assert_int_equal(missed, 0);
}

/* Every code that is altered above passes when it is not. */
static void test_unaltered_passes(void **state)
{
    static struct assembled a;
    unsigned refused = 0;
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (i > 0 && strcmp(faults[i].code, faults[i - 1].code) == 0) {
            continue;
        }
        const struct fault none = {.what = faults[i].code, .code = faults[i].code};
        char *source = source_of(none.code);
        assemble(source, &a);
        free(source);
        refused += check(&none, &a);
    }
    assert_int_equal(refused, 0);
}

static void test_every_count_is_compared(void **state)
{
    static struct assembled a;
    (void)state;
    char *source = source_of("C.avx2.dp.2:1nt.fma.u4.f8.c4.p512");
    assemble(source, &a);
    free(source);
    uint64_t *const counts = (uint64_t *)&a.account;
    for (size_t i = 0; i < sizeof a.account / sizeof *counts; i++) {
        const struct fault f = {.what = "a count one too high",
                                .code = "C.avx2.dp.2:1nt.fma.u4.f8.c4.p512",
                                .message = "its account says"};
        counts[i]++;
        assert_int_equal(check(&f, &a), 0);
        counts[i]--;
    }
}

static void test_truncated(void **state)
{
    static struct assembled a;
    struct carm_account account;
    struct carm_err err = {""};
    (void)state;
    char *source = source_of("C.avx2.dp.2:1.fma.u4.f8.c4");
    assemble(source, &a);
    free(source);
    for (uint64_t end = a.layout.begin; end < a.layout.end; end++) {
        struct carm_code_layout cut = a.layout;
        cut.end = end;
        assert_int_equal(carm_recount(a.bytes, a.size, &cut, &account, &err), -CARM_EFORMAT);
    }
    assert_non_null(strstr(err.text, "does not end with `ret`"));
    /* the image itself cut off; a copy of just that size lets a sanitizer see reads past it */
    for (size_t size = 0; size < a.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, a.bytes, size);
        int rc = carm_recount(copy, size, &a.layout, &account, &err);
        free(copy);
        /* past the last constant lies only the table, which a recount does not read */
        assert_true(rc == -CARM_EFORMAT || size > a.layout.end);
    }
    struct carm_code_layout outside = {a.size + 64, a.size + 128, a.size + 64, a.size + 100};
    assert_int_equal(carm_recount(a.bytes, a.size, &outside, &account, &err), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "outside the image"));
    struct carm_code_layout moved = a.layout;
    moved.loop_begin += 64;
    assert_int_equal(carm_recount(a.bytes, a.size, &moved, &account, &err), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "the loop body does not begin here"));
    moved = a.layout;
    moved.loop_end -= 1;
    assert_int_equal(carm_recount(a.bytes, a.size, &moved, &account, &err), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "the loop body does not end here"));
}

/* Each single bit of a code flipped: nothing crashes, and what still passes has other registers or
 * constants, but the same length, or bits that the CPU ignores. */
static void test_flipped_bits(void **state)
{
    static struct assembled a;
    static const char name[] = "C.avx512.dp.2:1.fma.u4.f8.c4.p512";
    const struct carm_code_spec spec = parse(name);
    unsigned passed = 0;
    (void)state;
    char *source = source_of(name);
    assemble(source, &a);
    free(source);
    const uint64_t bits = 8 * (a.layout.loop_end - a.layout.loop_begin);
    for (uint64_t i = 0; i < bits; i++) {
        uint8_t *byte = &a.bytes[a.layout.loop_begin + i / 8];
        *byte = (uint8_t)(*byte ^ 1U << i % 8);
        passed += carm_recount_check(&spec, a.bytes, a.size, &a.layout, &a.account, NULL) == 0;
        *byte = (uint8_t)(*byte ^ 1U << i % 8);
    }
    print_message("%u of %llu flipped bits pass\n", passed, (unsigned long long)bits);
    assert_in_range(passed, 0, bits / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_in_the_source),
        cmocka_unit_test(test_unaltered_passes),
        cmocka_unit_test(test_every_count_is_compared),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped_bits),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
