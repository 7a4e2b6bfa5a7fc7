/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codes of latencies: all of the table assemble, pass the recount, and run within their window where this CPU has
 * them; the recount finds planted faults. */
#include <sys/mman.h>

#include "asm/chain/image.h"
#include "asm/image.h"
#include "harness/machine/cpu.h"
#include "tests/asm/flips.h"
#include "tests/fingerprint.h"
#include "tests/unit.h"

static struct carm_chain_code *codes;
static size_t ncodes;
static uint8_t *bytes;
static size_t size;
static struct carm_code_table table;

static int set_up(void **state)
{
    err = (struct carm_err){""};
    int rc = carm_chain_all(&codes, &ncodes, &err);
    rc = rc ? rc
            : carm_image_nasm(carm_chain_image_source, &(struct carm_chain_list){codes, ncodes},
                              true, &bytes, &size, &err);
    rc = rc ? rc : carm_code_table_open(&table, bytes, size, &err);
    if (rc) {
        fprintf(stderr, "%s\n", err.text);
    }
    return rc;
}

static int tear_down(void **state)
{
    free(codes);
    free(bytes);
    return 0;
}

TEST(names)
{
    char before[CARM_CODE_NAME_MAX] = "";
    assert_true(ncodes > 250);
    for (size_t i = 0; i < ncodes; i++) {
        struct carm_chain_code back;
        char name[CARM_CODE_NAME_MAX];
        carm_chain_name(&codes[i], name);
        assert_true(strcmp(before, name) < 0);
        assert_true(carm_chain_is_name(name));
        assert_int_equal(carm_chain_parse(name, &back, NULL), 0);
        assert_memory_equal(&back, &codes[i], sizeof back);
        assert_true(!codes[i].row || codes[i].row->isas || codes[i].isa == CARM_SCALAR);
        memcpy(before, name, sizeof before);
    }
    struct carm_chain_code none;
    assert_refused(carm_chain_parse("L.add.avx2", &none, &err), -CARM_EINVAL, "L.add.avx2");
    assert_false(carm_chain_is_name("A.avx2.dp.2:1"));
}

/* A loop has its measured instructions, about: 48, as many whole rounds of the ways as hold them; or the
 * units of its row. A chase has 32 loads, or one of each chain; a gather four of each. */
TEST(loops_have_their_length)
{
    for (size_t i = 0; i < ncodes; i++) {
        const struct carm_chain_code *c = &codes[i];
        const unsigned units = carm_chain_units(c);
        const unsigned each = carm_chain_measured(c) ? carm_chain_measured(c) : 1;
        char name[CARM_CODE_NAME_MAX];
        unsigned least = 0, most = 0;
        carm_chain_name(c, name);
        if (c->form == CARM_CHAIN_CHASE) {
            least = c->chains >= 32 ? 1 : 32 / c->chains;
            most = least;
        } else if (c->form == CARM_CHAIN_GATHER) {
            least = most = 4;
        } else if (c->form == CARM_CHAIN_LATENCY ? c->row->units != 0 : c->row->ways == 0) {
            least = most = c->row->units;
        } else if (c->form == CARM_CHAIN_LATENCY) {
            least = (48 - each + 1) / each;
            most = 48 / each;
        } else {
            const unsigned ways = c->row->ways;
            assert_int_equal(units % ways, 0);
            least = (48 + each - 1) / each;
            most = 48 / each + ways;
        }
        fail_if(units < least || units > most, "%s: %u units, not %u to %u", name, units, least,
                most);
    }
}

static int by_number(const void *a, const void *b)
{
    return (int)*(const unsigned *)a - (int)*(const unsigned *)b;
}

/* The numbers of chains that are measured, side by side; the instructions beside loads; whole vectors of gathers. */
TEST(chases_are_those_that_are_read)
{
    static const unsigned chains[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64};
    static const unsigned gathers[][4] = {{4, 8, 16, 24}, {8, 16, 32, 48}};
    static const unsigned beside[] = {4, 8, 16, 32, 64};
    unsigned k[3][32], b[32]; /* chases, gathers of AVX2 and AVX-512 */
    size_t n[3] = {0}, nb = 0;
    for (size_t i = 0; i < ncodes; i++) {
        const struct carm_chain_code *c = &codes[i];
        const size_t kind = c->form == CARM_CHAIN_CHASE ? 0 : c->isa == CARM_AVX512 ? 2 : 1;
        if (c->form == CARM_CHAIN_CHASE && c->beside) {
            assert_int_equal(c->chains, 40);
            b[nb++] = c->beside;
        } else if (c->form == CARM_CHAIN_CHASE || c->form == CARM_CHAIN_GATHER) {
            k[kind][n[kind]++] = c->chains;
        }
    }
    assert_true(n[0] == sizeof chains / sizeof *chains && n[1] == 4 && n[2] == 4 && nb == 5);
    for (size_t kind = 0; kind < 3; kind++) {
        qsort(k[kind], n[kind], sizeof **k, by_number);
    }
    qsort(b, nb, sizeof *b, by_number);
    assert_memory_equal(k[0], chains, sizeof chains);
    assert_memory_equal(k[1], gathers[0], sizeof gathers[0]);
    assert_memory_equal(k[2], gathers[1], sizeof gathers[1]);
    assert_memory_equal(b, beside, sizeof beside);
}

/* A code's source sets every vector register that it may name: junk from before may be denormal, and slow. */
TEST(registers_begin_with_values)
{
    static const char *const moves[] = {"T.add.sse.dp", "xmm", "T.add.avx512.sp", "zmm"};
    for (size_t i = 0; i < 4; i += 2) {
        struct carm_chain_code code;
        char *text = NULL;
        size_t length = 0;
        assert_ok(carm_chain_parse(moves[i], &code, &err));
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        carm_chain_image_source(out, &(struct carm_chain_list){&code, 1});
        assert_int_equal(fclose(out), 0);
        const char *loop = strstr(text, "CHAIN_LOOP\n");
        assert_non_null(loop);
        for (unsigned r = 0; r < 15; r++) {
            char line[64];
            (void)snprintf(line, sizeof line, "movups %s%u, [carm_chain_", moves[i + 1], r);
            fail_if(!strstr(text, line) || strstr(text, line) > loop, "%s: no %s", moves[i], line);
        }
        free(text);
    }
}

static void entry(size_t i, struct carm_code_layout *layout, struct carm_account *account)
{
    char name[CARM_CODE_NAME_MAX];
    assert_int_equal(carm_code_table_entry(&table, i, name, layout, account, NULL), 0);
}

TEST(recounted)
{
    assert_int_equal(table.n, ncodes);
    for (size_t i = 0; i < ncodes; i++) {
        struct carm_code_layout layout;
        struct carm_account account;
        struct carm_chain_account found;
        entry(i, &layout, &account);
        assert_ok(
            carm_chain_recount_check(&codes[i], bytes, size, &layout, &account, &found, &err));
    }
}

static size_t index_of(const char *name)
{
    for (size_t i = 0; i < ncodes; i++) {
        char its[CARM_CODE_NAME_MAX];
        carm_chain_name(&codes[i], its);
        if (strcmp(its, name) == 0) {
            return i;
        }
    }
    fail_msg("no code %s", name);
    return 0;
}

/* A code with bytes changed from the first place in its loop where `from` lies, or another account, and what the recount says of it. */
TEST(plants)
{
    static const struct {
        const char *name, *from, *to;
        size_t n;
        int account; /* 1: one instruction more; 2: one load more; 3: one measured more */
        const char *want;
    } faults[] = {
        /* add rax, r11 -> add rbx, r11: the chain breaks */
        {"L.int-add", "\x4c\x01\xd8", "\x4c\x01\xdb", 3, 0, "instructions on the chain: 47"},
        /* add rbx, r11 -> add rax, r11: two ways become one */
        {"T.int-add", "\x4c\x01\xdb", "\x4c\x01\xd8", 3, 0, "wait for one another"},
        /* addpd xmm0, xmm12 -> addpd xmm1, xmm12 */
        {"L.add.sse.dp", "\x66\x41\x0f\x58\xc4", "\x66\x41\x0f\x58\xcc", 5, 0, "on the chain: 47"},
        /* mov [rdi], rax -> mov [rdi-8], ... of another length is no plant: a store becomes a load */
        {"L.forward", "\x48\x89\x07", "\x48\x8b\x07", 3, 0, "loads"},
        {"L.lea", "", "", 0, 1, "instructions: 50 in its bytes, 51 due"},
        {"P.k4", "", "", 0, 2, "loads"},
        {"T.add.avx2.dp", "", "", 0, 3, "measured instructions"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct carm_code_layout layout;
        struct carm_account account;
        struct carm_chain_account found;
        err = (struct carm_err){""};
        const size_t code = index_of(faults[i].name);
        uint8_t *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        entry(code, &layout, &account);
        account.instructions += faults[i].account == 1;
        account.loads += faults[i].account == 2;
        account.fp_instructions += faults[i].account == 3;
        const size_t at = layout.loop_begin;
        const uint8_t *place = memmem(copy + at, layout.end - at, faults[i].from, faults[i].n);
        assert_non_null(place);
        memcpy(copy + (place - copy), faults[i].to, faults[i].n);
        assert_int_equal(
            carm_chain_recount_check(&codes[code], copy, size, &layout, &account, &found, &err),
            -CARM_EFORMAT);
        fail_if(!strstr(err.text, faults[i].want), "%s: expected '%s', got: %s", faults[i].name,
                faults[i].want, err.text);
        free(copy);
    }
}

#define PUSHES "53 55 4154 4155 4156 4157"
#define POPS   "415f 415e 415d 415c 5d 5b"

/* Appends bytes in hexadecimal digits with blanks, `times` times. */
static void put(uint8_t *code, uint64_t *n, const char *hex, unsigned times)
{
    for (; times > 0; times--) {
        unsigned byte = 0;
        int read = 0;
        for (const char *at = hex; sscanf(at, " %2x%n", &byte, &read) == 1; at += read) {
            code[(*n)++] = (uint8_t)byte;
        }
    }
}

/* Loops by hand, closed by `dec rsi; jnz`: their figures, or why they are refused. */
TEST(loops_by_hand)
{
    static const char outside[] = "it reaches outside the window";
    static const char address[] = "its address is neither in the window nor a chain's";
    static const char forbidden[] = "no code of latencies may execute it";
    static const char forward[] = "it does not jump forward in the loop";
    static const char segment[] = "it reaches another segment";
    static const char moved[] = "it changes the stack or the window";
    static const char function[] = "it does not call a function of the code";
    static const char left[] = "registers are not restored";
    static const struct {
        const char *loop, *why;   /* NULL: it is accepted */
        const char *entry, *exit; /* NULL: as they are to be */
        unsigned instructions, loads, stores, carried, times;
    } rows[] = {
        /* clang-format off */
        {"4801c0", NULL, NULL, NULL, 3, 0, 0, 1, 1}, {"4801c0 4831c0", NULL, NULL, NULL, 4, 0, 0, 0, 1},
        {"4831d0", NULL, NULL, NULL, 3, 0, 0, 1, 1}, {"483307", NULL, NULL, NULL, 3, 1, 0, 1, 1},
        {"01c0", NULL, NULL, NULL, 12, 0, 0, 10, 10}, {"4c11d8", NULL, NULL, NULL, 3, 0, 0, 1, 1},
        {"490f45c3", NULL, NULL, NULL, 3, 0, 0, 1, 1}, {"488907 488b07", NULL, NULL, NULL, 4, 1, 1, 2, 1},
        {"498907 488b07", NULL, NULL, NULL, 4, 1, 1, 2, 1}, /* [r15] is [rdi] */
        {"488b07 4801c8 488907", NULL, NULL, NULL, 5, 1, 1, 3, 1}, {"480107", NULL, NULL, NULL, 3, 1, 1, 1, 1},
        {"488b4708 488b1f 48891f 480307 48894708", NULL, NULL, NULL, 7, 3, 2, 3, 1}, /* two places */
        {"488907 488b4707", NULL, NULL, NULL, 4, 1, 1, 2, 1}, {"488907 488b4708", NULL, NULL, NULL, 4, 1, 1, 0, 1},
        {"48894707 488b07", NULL, NULL, NULL, 4, 1, 1, 2, 1}, {"48894708 488b07", NULL, NULL, NULL, 4, 1, 1, 0, 1},
        {"488907 488b02", NULL, NULL, NULL, 4, 1, 1, 0, 1}, {"488907 8907 488b07", NULL, NULL, NULL, 5, 1, 2, 2, 1},
        {"488b00", NULL, NULL, NULL, 3, 1, 0, 1, 1}, {"488b0418", NULL, NULL, NULL, 3, 1, 0, 1, 1},
        {"488b0402", NULL, NULL, NULL, 3, 1, 0, 1, 1}, {"488d4008", NULL, NULL, NULL, 3, 0, 0, 1, 1},
        {"488d871000ffff", NULL, NULL, NULL, 3, 0, 0, 0, 1}, {"c5f976c0", NULL, NULL, NULL, 3, 0, 0, 0, 1},
        {"488b87f83f0000", NULL, NULL, NULL, 3, 1, 0, 0, 1}, {"488b87f93f0000", outside, .times = 1},
        {"488b47ff", outside, .times = 1}, {"64488b07", segment, .times = 1}, {"65488b07", segment, .times = 1},
        {"488b0424", address, .times = 1}, {"488b06", address, .times = 1}, {"498b03", address, .times = 1},
        {"488b01", address, .times = 1}, {"67488b07", address, .times = 1},
        {"488b0500000000", address, .times = 1}, {"0f05", forbidden, .times = 1}, {"0f07", forbidden, .times = 1},
        {"cc", forbidden, .times = 1}, {"e400", forbidden, .times = 1}, {"6c", forbidden, .times = 1},
        {"a4", forbidden, .times = 1}, {"50", forbidden, .times = 1}, {"58", forbidden, .times = 1},
        {"f4", forbidden, .times = 1}, {"0f32", forbidden, .times = 1}, {"48ffcf", moved, .times = 1},
        {"48ffcc", moved, .times = 1},
        {"eb00", NULL, NULL, NULL, 3, 0, 0, 0, 1}, {"eb09", forward, .times = 1}, {"eb0a", forward, .times = 1},
        {"ebff", forward, .times = 1}, {"7400", NULL, NULL, NULL, 3, 0, 0, 0, 1}, {"7408", NULL, NULL, NULL, 3, 0, 0, 0, 1},
        {"7409", forward, .times = 1}, {"74ff", forward, .times = 1}, {"ffe0", NULL, NULL, NULL, 3, 0, 0, 0, 1},
        {"ff27", forward, .times = 1}, {"c3", "the loop does not end by it", .times = 1},
        {"eb01 c3 e8faffffff", NULL, NULL, NULL, 4, 0, 0, 0, 1},
        {"eb04 48ffce c3 e8f7ffffff", NULL, NULL, NULL, 5, 0, 0, 1, 1},
        {"eb06 e800000000 c3 e8f5ffffff", function, .times = 1}, {"e8f0ffffff", function, .times = 1},
        {"e8f1ffffff", forbidden, .times = 1}, {"e814000000", function, .times = 1},
        {"e813000000", NULL, NULL, NULL, 3, 0, 0, 0, 1},
        {"90", NULL, NULL, NULL, 8193, 0, 0, 0, 8191}, {"90", "the loop has no end", .times = 8192},
        {"", "the callee-saved registers are to be saved here", "55", .times = 1},
        {"", forbidden, PUSHES "cc", .times = 1}, {"", left, NULL, "c3", .times = 1},
        {"", left, NULL, "415f 415e 415d 415c 5d c3", .times = 1}, {"", left, NULL, POPS "c3 90", .times = 1},
        {"", "the code does not return", NULL, POPS, .times = 1}, {"", forbidden, NULL, POPS "5b c3", .times = 1},
        {"c5fdefc1", "vzeroupper is missing", .times = 1}, {"62f1fd48efc1", "vzeroupper is missing", .times = 1},
        {"c5fdefc1", NULL, NULL, "c5f877" POPS "c3", 3, 0, 0, 1, 1}, {"c5f9efc1", NULL, NULL, NULL, 3, 0, 0, 1, 1},
        /* clang-format on */
    };
    static uint8_t code[16384];
    const struct carm_chain_code *any = &codes[index_of("L.int-add")];
    const struct carm_account none = {0};
    struct carm_chain_account is;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_code_layout l = {0};
        put(code, &l.loop_begin, rows[i].entry ? rows[i].entry : PUSHES, 1);
        l.loop_end = l.loop_begin;
        put(code, &l.loop_end, rows[i].loop, rows[i].times);
        put(code, &l.loop_end, "48ffce 0f85", 1);
        const int32_t back = (int32_t)l.loop_begin - (int32_t)l.loop_end - 4;
        memcpy(code + l.loop_end, &back, sizeof back);
        l.end = l.loop_end += sizeof back;
        put(code, &l.end, rows[i].exit ? rows[i].exit : POPS "c3", 1);
        err = (struct carm_err){""};
        assert_int_equal(carm_chain_recount_check(any, code, l.end, &l, &none, &is, &err),
                         -CARM_EFORMAT);
        fail_if(!strstr(err.text, rows[i].why ? rows[i].why : " in its bytes, 0 due") ||
                    (!rows[i].why &&
                     (is.instructions != rows[i].instructions || is.loads != rows[i].loads ||
                      is.stores != rows[i].stores || is.carried != rows[i].carried)),
                "row %zu, %s: %s; %u instructions, %u loads, %u stores, %u carried", i,
                rows[i].loop, err.text, is.instructions, is.loads, is.stores, is.carried);
        assert_int_equal(strncmp(err.text, "latency code L.int-add: ", 24), 0);
    }
    /* the last code's places, its begin and end, and its loop's; the image's size */
    static const char layout[] = "a code lies outside its image";
    static const struct {
        uint64_t places[4], size;
        const char *why;
    } places[] = {
        {{0, 34, 10, 23}, 33, layout},   {{11, 34, 10, 23}, 34, layout},
        {{0, 34, 10, 10}, 34, layout},   {{0, 34, 10, 35}, 35, layout},
        {{0, 34, 0, 23}, 34, forbidden}, {{0, 23, 10, 23}, 34, "the code does not return"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct carm_code_layout l;
        memcpy(&l, places[i].places, sizeof l);
        assert_refused(carm_chain_recount_check(any, code, places[i].size, &l, &none, &is, &err),
                       -CARM_EFORMAT, places[i].why);
    }
}

static const struct {
    const char *name;
    struct reason reasons[REASONS_MOST];
} flips[] = {
    {"L.forward",
     {{"", 1070},
      {"# in its bytes, # due", 285},
      {"foreign", 241},
      {"it reaches outside the window", 113},
      {"it changes the stack or the window", 68},
      {"the callee-saved registers are to be saved here", 58},
      {"its address is neither in the window nor a chain's", 33},
      {"the loop does not end by it", 16},
      {"the loop is not closed by `dec rsi; jnz`", 16},
      {"it does not jump forward in the loop", 10},
      {"registers are not restored", 5},
      {"the code does not return", 5}}},
    {"G.avx2.k4",
     {{"", 501},
      {"foreign", 304},
      {"it reaches outside the window", 92},
      {"# in its bytes, # due", 76},
      {"it does not follow pointers", 64},
      {"the callee-saved registers are to be saved here", 57},
      {"its address is neither in the window nor a chain's", 40},
      {"the loop is not closed by `dec rsi; jnz`", 16},
      {"the code does not return", 8},
      {"it does not jump forward in the loop", 7},
      {"registers are not restored", 5},
      {"it changes the stack or the window", 4},
      {"vzeroupper is missing", 2}}},
};

struct flipped {
    const struct carm_chain_code *code;
    struct carm_code_layout layout;
    struct carm_account account;
};

static int check_flipped(void *arg)
{
    struct flipped *f = arg;
    struct carm_chain_account found;
    return carm_chain_recount_check(f->code, bytes, size, &f->layout, &f->account, &found, &err);
}

/* Nothing crashes, and each fault is found by the rule that it breaks. */
TEST(flipped_bits)
{
    unsigned wrong = 0;
    for (size_t n = 0; n < sizeof flips / sizeof *flips; n++) {
        struct flipped f = {.code = &codes[index_of(flips[n].name)]};
        entry(index_of(flips[n].name), &f.layout, &f.account);
        wrong += flip_bits(flips[n].name, bytes, &f.layout, check_flipped, &f, flips[n].reasons);
    }
    assert_int_equal(wrong, 0);
}

/* Latencies of two versions of carm are the same instructions'. */
TEST(sources_stay)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    carm_chain_image_source(out, &(struct carm_chain_list){codes, ncodes});
    assert_int_equal(fclose(out), 0);
    const uint64_t is = fingerprint(FINGERPRINT_NONE, text, length);
    free(text);
    fail_if(is != UINT64_C(0xb8e6b0c3f0a09342), "the sources of latency codes are 0x%llx",
            (unsigned long long)is);
}

static bool has(const struct carm_cpu *cpu, const struct carm_cpu_bits *needs)
{
    return !(needs->xcr0 & ~cpu->has.xcr0) && !(needs->leaf1_ecx & ~cpu->has.leaf1_ecx) &&
           !(needs->leaf7_ebx & ~cpu->has.leaf7_ebx);
}

/* Every code that this CPU has, in a window between pages that nothing may touch. */
TEST(within_the_window)
{
    enum { PAGE = 4096 };
    struct carm_cpu cpu;
    struct carm_chain_image *image = NULL;
    carm_cpu_read(&cpu);
    assert_ok(carm_chain_image_open(&image, codes, ncodes, &err));
    char *map = mmap(NULL, CARM_CHAIN_WINDOW_BYTES + 2 * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(map + PAGE + CARM_CHAIN_WINDOW_BYTES, PAGE, PROT_NONE), 0);
    char *window = map + PAGE;
    for (size_t i = 0; i < image->n; i++) {
        const struct carm_chain *c = &image->chains[i];
        const struct carm_cpu_bits needs = carm_chain_needs(&c->code);
        if (!has(&cpu, &needs)) {
            continue;
        }
        /* chases: each pointer points to itself */
        for (unsigned k = 0; k < CARM_CHASE_CHAINS_MAX; k++) {
            char *const self = window + 8 * k;
            memcpy(window + 8 * k, &self, sizeof self);
        }
        c->run(window, 3, (uint64_t)1 << 45);
        if (!c->code.row) {
            for (unsigned k = 0; k < c->code.chains; k++) {
                char *const self = window + 8 * k;
                assert_memory_equal(window + 8 * k, &self, sizeof self);
            }
        }
    }
    munmap(map, CARM_CHAIN_WINDOW_BYTES + 2 * PAGE);
    carm_chain_image_close(image);
    carm_chain_image_close(NULL);
}

/* A chase of k chains leaves its pointers where so many steps lead. */
TEST(chases)
{
    enum { NODES = 257 };
    enum { WANTED = 5 };
    struct carm_chain_code some[WANTED];
    static const char *const wanted[WANTED] = {"P.k1", "P.k10", "P.k12", "P.b8.k40",
                                               "G.avx512.k16"};
    struct carm_chain_image *image = NULL;
    struct carm_cpu cpu;
    static uint64_t nodes[NODES];
    uint64_t *window = aligned_alloc(4096, CARM_CHAIN_WINDOW_BYTES);
    assert_non_null(window);
    carm_cpu_read(&cpu);
    for (size_t i = 0; i < WANTED; i++) {
        assert_int_equal(carm_chain_parse(wanted[i], &some[i], NULL), 0);
    }
    assert_int_equal(carm_chain_image_open(&image, some, WANTED, NULL), 0);
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] = (uint64_t)(uintptr_t)&nodes[(i + 5) % NODES];
    }
    for (size_t i = 0; i < WANTED; i++) {
        const struct carm_chain *c = &image->chains[i];
        const struct carm_cpu_bits needs = carm_chain_needs(&c->code);
        if (!has(&cpu, &needs)) {
            continue;
        }
        for (unsigned k = 0; k < c->code.chains; k++) {
            window[k] = (uint64_t)(uintptr_t)&nodes[k];
        }
        c->run(window, 7, 0);
        const size_t steps = 7 * (size_t)c->units;
        for (unsigned k = 0; k < c->code.chains; k++) {
            assert_true(window[k] == (uint64_t)(uintptr_t)&nodes[(k + 5 * steps) % NODES]);
        }
    }
    free(window);
    carm_chain_image_close(image);
}

RUN_TESTS(set_up, tear_down)
