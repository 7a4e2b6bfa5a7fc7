/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops of a child, stopped, copied and changed: what is tried, what is refused, and that the child does as it would
 * have without. Times decide nothing. */
#define OWN_MAIN
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/observer.h"
#include "harness/whatif/stop.h"
#include "harness/whatif/trial.h"
#include "harness/whatif/turns.h"
#include "tests/unit.h"

/* Each takes rdi: to, rsi: from, rdx: index, rcx: end; a loop is what lies between its two names. */
void triad(double *to, const double *from, long index, long end);
void dot(double *to, const double *from, long index, long end);
void calls(double *to, const double *from, long index, long end);
void chase(double *to, const double *from, long index, long end);
void until(double *to, const double *from, long index, long end);
void indices(double *to, const double *from, long index, long end);
extern const uint8_t triad_head[], triad_end[], dot_head[], dot_end[], calls_head[], calls_end[];
extern const uint8_t chase_head[], chase_end[], until_head[], until_end[];
extern const uint8_t indices_head[], indices_end[];
void slow(double *to, const double *from, long index, long end);
extern const uint8_t slow_head[], slow_end[];
void forks(double *to, const double *from, long index, long end);
extern const uint8_t forks_head[], forks_way[], forks_end[];
void stored(double *to, const double *from, long index, long end);
void beside(double *to, const double *from, long index, long end);
extern const uint8_t stored_head[], stored_end[], beside_head[], beside_end[];
void nest(double *to, const double *from, long index, long end);
extern const uint8_t nest_head[], nest_store[], nest_end[];
__asm__(".text\n"
        "triad: triad_head:\n"
        " movupd (%rsi,%rdx,8), %xmm0\n mulpd %xmm0, %xmm0\n movups %xmm0, (%rdi,%rdx,8)\n"
        " add $2, %rdx\n cmp %rcx, %rdx\n jl triad_head\n"
        "triad_end: ret\n"
        "dot: xorpd %xmm1, %xmm1\n"
        "dot_head: movsd (%rsi,%rdx,8), %xmm0\n divsd %xmm1, %xmm0\n addsd %xmm0, %xmm1\n"
        " add $1, %rdx\n cmp %rcx, %rdx\n jl dot_head\n"
        "dot_end: movsd %xmm1, (%rdi)\n ret\n"
        "calls: push %rbx\n push %rbp\n mov %rcx, %rbx\n mov %rdx, %rbp\n"
        "calls_head: mov $39, %eax\n call a_call\n add $1, %rbp\n cmp %rbx, %rbp\n jl calls_head\n"
        "calls_end: pop %rbp\n pop %rbx\n ret\n"
        "a_call: syscall\n ret\n"
        "chase: mov %rsi, %rax\n"
        "chase_head: mov (%rax), %rax\n add $1, %rdx\n cmp %rcx, %rdx\n jl chase_head\n"
        "chase_end: mov %rax, (%rdi)\n ret\n"
        /* sums up numbers, as long as none of them is negative */
        "until: xorpd %xmm1, %xmm1\n xorpd %xmm2, %xmm2\n"
        "until_head: movsd (%rsi,%rdx,8), %xmm0\n addsd %xmm0, %xmm1\n ucomisd %xmm0, %xmm2\n"
        " ja until_end\n add $1, %rdx\n cmp %rcx, %rdx\n jl until_head\n"
        "until_end: movsd %xmm1, (%rdi)\n ret\n"
        "indices: xorpd %xmm1, %xmm1\n"
        "indices_head: mov (%rsi,%rdx,8), %rax\n addsd (%rdi,%rax,8), %xmm1\n add $1, %rdx\n"
        " cmp %rcx, %rdx\n jl indices_head\n"
        "indices_end: ret\n"
        /* 20 iterations of some 10 ms, which a unit has 16 of */
        "slow: xor %edx, %edx\n"
        "slow_head: mov $40000000, %eax\n"
        "1: sub $1, %eax\n jnz 1b\n add $1, %rdx\n cmp $20, %rdx\n jl slow_head\n"
        "slow_end: ret\n"
        /* two ways, which a branch takes in turns */
        "forks: xor %eax, %eax\n"
        "forks_head: test $1, %dl\n jz 1f\n"
        "forks_way: add (%rsi,%rdx,8), %rax\n"
        "1: add $1, %rdx\n cmp %rcx, %rdx\n jl forks_head\n"
        "forks_end: mov %rax, (%rdi)\n ret\n"
        /* a sum that goes through memory; stores that wait for no load */
        "stored: add $1, %rdx\n"
        "stored_head: movsd -8(%rdi,%rdx,8), %xmm0\n addsd (%rsi,%rdx,8), %xmm0\n"
        " movsd %xmm0, (%rdi,%rdx,8)\n add $1, %rdx\n cmp %rcx, %rdx\n jl stored_head\n"
        "stored_end: ret\n"
        "beside: add $1, %rdx\n"
        "beside_head: movsd -8(%rdi,%rdx,8), %xmm1\n movsd (%rsi,%rdx,8), %xmm0\n"
        " movsd %xmm0, (%rdi,%rdx,8)\n add $1, %rdx\n cmp %rcx, %rdx\n jl beside_head\n"
        "beside_end: ret\n"
        /* two loops of 400 iterations, one behind the other */
        "nest: xorpd %xmm1, %xmm1\n"
        "nest_head: xor %r8d, %r8d\n"
        "1: addsd (%rsi,%r8,8), %xmm1\n add $1, %r8\n cmp $400, %r8\n jl 1b\n xor %r8d, %r8d\n"
        "2: movsd (%rsi,%r8,8), %xmm0\n mulsd %xmm0, %xmm0\n"
        "nest_store: movsd %xmm0, (%rdi,%r8,8)\n add $1, %r8\n cmp $400, %r8\n jl 2b\n"
        " add $64, %rdx\n cmp %rcx, %rdx\n jl nest_head\n"
        "nest_end: ret\n");

enum { N = 1 << 16 };

struct child {
    pid_t pid;
    int result; /* read end: the child's result comes at its end */
    volatile int *go_on;
};

struct what {
    void (*loop)(double *to, const double *from, long index, long end);
    void (*prepare)(double **to); /* in the child; may give it other memory; NULL */
};

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
    alarms++;
}

static uint64_t sum_of(const double *v)
{
    uint64_t sum = 0;
    for (int i = 0; i < N; i++) {
        uint64_t word;
        memcpy(&word, &v[i], sizeof word);
        sum = sum * 31 + word;
    }
    return sum;
}

static _Noreturn void be_child(const struct what *what, volatile int *go_on, int report)
{
    double *to = aligned_alloc(64, N * sizeof *to);
    double *from = aligned_alloc(64, N * sizeof *from);
    for (int i = 0; i < N && to && from; i++) {
        from[i] = 1.0 + i;
        to[i] = 0.0;
        if (what->loop == chase) { /* each word is the address of the next line's */
            const double *next = &from[(i + 8) % N];
            memcpy(&from[i], &next, sizeof next);
        }
        if (what->loop == indices) {
            const uint64_t index = (uint64_t)i * (uint64_t)i * 7919 % N;
            memcpy(&from[i], &index, sizeof index);
        }
    }
    if (what->prepare) {
        what->prepare(&to);
    }
    while (*go_on == 1) {
        what->loop(to, from, 0, N);
    }
    /* the last time, whatever was done before */
    what->loop(to, from, 0, N);
    const uint64_t sum = sum_of(to);
    _exit(write(report, &sum, sizeof sum) == sizeof sum ? 0 : 1);
}

static struct child open_child(const struct what *what)
{
    int ends[2];
    struct child child;
    child.go_on = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(child.go_on != MAP_FAILED);
    *child.go_on = 1;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child.pid = fork();
    if (child.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_child(what, child.go_on, ends[1]);
    }
    close(ends[1]);
    child.result = ends[0];
    usleep(20000); /* it is in its loop by then, or will be when it is looked for */
    return child;
}

/* Its result, which must be that of a child that nobody watched. */
static uint64_t close_child(struct child *child)
{
    uint64_t sum = 0;
    int status = 0;
    *child->go_on = 2;
    assert_int_equal(read(child->result, &sum, sizeof sum), sizeof sum);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* no copy is left */
    close(child->result);
    munmap((void *)(uintptr_t)child->go_on, 4096);
    return sum;
}

static uint64_t unwatched(const struct what *what)
{
    struct child child = open_child(what);
    return close_child(&child);
}

/* A busy machine reaches a loop late, and ends what it times late. */
static const double reached_seconds = 600.0;
enum { LIMIT_SECONDS = 600 };
static struct carm_stop stop;

static struct carm_trial_settings settings = {
    .tsc_hz = 2.6e9, .seconds = 60.0, .limit = LIMIT_SECONDS, .copy = 60.0};

static void measure(struct child *child, const uint8_t *head, const uint8_t *end, uint64_t memory,
                    int snapshots, struct carm_trial *trial, struct carm_trial_result *result)
{
    const uint8_t *cut = head == forks_head ? forks_way : end;
    const struct carm_body_piece pieces[2] = {
        {(uint64_t)(uintptr_t)head, head, (size_t)(cut - head), 0.5},
        {(uint64_t)(uintptr_t)cut, cut, (size_t)(end - cut), -1.0},
    };
    settings.memory = memory;
    const uint64_t at = pieces[0].at;
    stop = (struct carm_stop){.pid = child->pid};
    assert_ok(carm_trial_open(trial, at, pieces, cut < end ? 2 : 1, &err));
    for (int i = 0; i < snapshots; i++) {
        pid_t thread = 0;
        assert_int_equal(carm_stop_at(&stop, &at, 1, reached_seconds, NULL, &thread), 0);
        assert_int_equal(thread, child->pid);
        carm_trial_measure(trial, thread, &settings, result);
        carm_stop_release(&stop);
    }
    assert_false(carm_stop_ended(&stop));
}

/* A loop that can be tried, after its snapshots. */
struct tried {
    struct child child;
    struct carm_trial t;
    struct carm_trial_result r;
};

static void begin(struct tried *x, const struct what *what, const uint8_t *head, const uint8_t *end,
                  int snapshots)
{
    x->child = open_child(what);
    measure(&x->child, head, end, 0, snapshots, &x->t, &x->r);
    assert_string_equal(x->r.why, "");
}

/* Whether other processes had the child's processor for a part of its time: they had its copies' as well. */
static bool others_have_its_cpu(const struct tried *x)
{
    clockid_t clock;
    struct timespec ran = {0, 0};
    assert_int_equal(clock_getcpuclockid(x->child.pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &ran), 0);
    return carm_seconds_queued(x->child.pid) >
           0.1 * ((double)ran.tv_sec + 1e-9 * (double)ran.tv_nsec);
}

/* Copies that wait for a processor may be too slow to be timed, or seem so slow that a change is not tried. */
static void is_measured(const struct tried *x, int change)
{
    const double ratio = x->r.ratio[change];
    assert_true(ratio > 0.0 || (isnan(ratio) && others_have_its_cpu(x)));
}

/* The child's result */
static uint64_t end(struct tried *x)
{
    carm_trial_close(&x->t);
    return close_child(&x->child);
}

static void a_loop_goes_on_unharmed(void **state)
{
    const struct what what = {triad, NULL};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, triad_head, triad_end, 2);
    assert_true(x.r.null > 0.0 && x.r.seconds > 0.0);
    assert_true(x.t.far); /* 1 MiB */
    assert_int_equal(x.t.body.n, 6);
    assert_int_equal(x.t.body.ops[0].stride, 16);
    /* one load, one store, one product */
    assert_int_equal(x.t.changed[CARM_VARIANT_NEAR], 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_STREAMING], 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_STORES], 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_ARITHMETIC], 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_L1], 2);
    assert_true(x.t.idle[CARM_VARIANT_DIVISIONS] && x.t.idle[CARM_VARIANT_CHAINS]);
    assert_true(x.t.idle[CARM_VARIANT_KNOWN]);
    assert_true(x.t.cpus >= 1);
    /* a load in one stream, a store in another */
    assert_int_equal(x.t.body.streams, 2);
    assert_int_equal(x.t.body.ops[0].stream, 1);
    assert_int_equal(x.t.body.ops[2].stream, 2);
    assert_true(x.t.idle[CARM_VARIANT_STREAM3]);
    is_measured(&x, CARM_VARIANT_L1);
    is_measured(&x, CARM_VARIANT_STREAMING);
    assert_true(isnan(x.r.ratio[CARM_VARIANT_DIVISIONS]));
    assert_true(end(&x) == sum);
}

static void a_chain_and_a_division(void **state)
{
    const struct what what = {dot, NULL};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, dot_head, dot_end, 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_DIVISIONS], 1);
    assert_int_equal(x.t.body.ncarried, 1);
    is_measured(&x, CARM_VARIANT_CHAINS);
    assert_true(x.t.idle[CARM_VARIANT_STORES]);
    assert_true(end(&x) == sum);
}

static void a_pointer_that_is_followed(void **state)
{
    const struct what what = {chase, NULL};
    struct tried x;
    begin(&x, &what, chase_head, chase_end, 1);
    assert_non_null(strstr(x.t.refused[CARM_VARIANT_L1], "wait for each other"));
    assert_true(isnan(x.r.ratio[CARM_VARIANT_L1]));
    (void)end(&x);
}

/* Memory of their own for loads and stores would break the chain, and seem to gain what an L1 does not. */
static void a_chain_through_memory(void **state)
{
    const struct what through = {stored, NULL}, not_through = {beside, NULL};
    struct tried x;
    begin(&x, &through, stored_head, stored_end, 1);
    assert_non_null(strstr(x.t.refused[CARM_VARIANT_L1], "wait for what those before have stored"));
    assert_non_null(strstr(x.t.refused[CARM_VARIANT_STORES], "load what it stores"));
    assert_true(isnan(x.r.ratio[CARM_VARIANT_L1]));
    (void)end(&x);
    begin(&x, &not_through, beside_head, beside_end, 1);
    assert_true(x.t.body.ops[0].forwarded > 100);
    assert_string_equal(x.t.refused[CARM_VARIANT_L1], "");
    assert_int_equal(x.t.changed[CARM_VARIANT_L1], 3);
    (void)end(&x);
}

/* The second loop is observed as well, which some thousand instructions of the first one would hide. */
static void a_nest(void **state)
{
    const struct what what = {nest, NULL};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, nest_head, nest_end, 1);
    const struct carm_body_op *store = carm_body_find(&x.t.body, (uint64_t)(uintptr_t)nest_store);
    assert_non_null(store);
    assert_int_equal(store->stride, 8);
    assert_true(store->stream > 0);
    assert_int_equal(carm_region_copies(&x.t.body), 16);
    x.t.body.takes_long = true;
    assert_int_equal(carm_region_copies(&x.t.body), 1);
    assert_true(end(&x) == sum);
}

/* In the copies, as many accesses lie across two lines as in the program, and none touches another's memory. */
static void accesses_across_lines(void **state)
{
    struct carm_body_op ops[3] = {
        {.varies = true, .unaligned = true, .first = 0x1028, .stride = 32},
        {.varies = true, .first = 0x2020, .stride = 32},
        {.varies = true, .unaligned = true, .first = 0x3028, .stride = 0}};
    const struct carm_body body = {.ops = ops, .n = 3};
    for (unsigned c = 0; c < carm_region_copies(&body); c++) {
        const size_t first = carm_region_scratch(&body, 0, c);
        const size_t second = carm_region_scratch(&body, 1, c);
        const size_t third = carm_region_scratch(&body, 2, c);
        assert_int_equal(first % 64, c % 2 ? 0x08 : 0x28);
        assert_int_equal(second % 64, c % 2 ? 0x00 : 0x20);
        assert_int_equal(third % 64, 0);
        assert_true(first + 64 <= second && second + 32 <= third);
        /* within 4 KiB, which has these five lines twelve times */
        assert_true(third + 128 <= CARM_REGION_SCRATCH + 4096);
        if (c % 12 > 0) {
            assert_true(carm_region_scratch(&body, 2, c - 1) + 64 <= first);
        }
    }
}

static void across_a_line_of_code(void **state)
{
    struct carm_body_op ops[2] = {{.at = 0x1038, .in.length = 5}, {.at = 0x103d, .in.length = 3}};
    const struct carm_body body = {.ops = ops, .n = 2};
    assert_false(carm_body_crosses(&body));
    ops[1].in.length = 4;
    assert_true(carm_body_crosses(&body));
    ops[0].at = ops[1].at = 0x1040;
    assert_false(carm_body_crosses(&body));
}

/* What a branch depends on stays as it is. */
static void branches_decide(void **state)
{
    const struct what what = {until, NULL};
    struct tried x;
    begin(&x, &what, until_head, until_end, 1);
    assert_true(x.t.body.ops[0].decides);  /* the load */
    assert_false(x.t.body.ops[1].decides); /* the sum */
    assert_true(x.t.idle[CARM_VARIANT_L1] && x.t.l1_partly);
    assert_int_equal(x.t.changed[CARM_VARIANT_ARITHMETIC], 1);
    (void)end(&x);
}

static void ways_are_known(void **state)
{
    const struct what what = {forks, NULL};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, forks_head, forks_end, 1);
    assert_true(x.t.body.forks && x.t.body.ops[1].forks);
    assert_false(x.t.body.ops[x.t.body.n - 1].forks); /* the end of the loop */
    assert_string_equal(x.t.refused[CARM_VARIANT_KNOWN], "");
    assert_int_equal(x.t.changed[CARM_VARIANT_KNOWN], 1);
    is_measured(&x, CARM_VARIANT_KNOWN);
    assert_true(end(&x) == sum);
}

/* Copies of a loop of 10 ms for an iteration take 10 s for their first 64 units: 60 s are allowed for each. */
static void its_time_ends(void **state)
{
    const struct what long_one = {slow, NULL}, short_one = {triad, NULL};
    struct tried x;
    x.child = open_child(&long_one);
    settings.limit = 0.5;
    measure(&x.child, slow_head, slow_end, 0, 1, &x.t, &x.r);
    assert_false(x.t.far); /* no data */
    assert_true(isnan(x.t.inside_l1));
    settings.limit = LIMIT_SECONDS;
    assert_non_null(strstr(x.r.why, "the end of its time"));
    assert_true(x.r.spent < 5.0); /* a tenth would do on an idle machine */
    (void)end(&x);
    settings.limit = 0.0;
    x.child = open_child(&short_one);
    measure(&x.child, triad_head, triad_end, 0, 1, &x.t, &x.r);
    settings.limit = LIMIT_SECONDS;
    assert_non_null(strstr(x.r.why, "the end of its time came before"));
    (void)end(&x);
}

/* What three snapshots have no time for is not begun: 1000 s are left, of which a snapshot takes 100. */
static void copies_take_too_long(void **state)
{
    struct carm_trial t = {.variants_seconds = 100.0};
    const struct carm_snapshot s = {.trial = &t, .limit = carm_seconds_now() + 1000.0};
    struct carm_trial_stage stage = {.n = 0};
    assert_true(carm_turns_has_time(&s, CARM_TRIAL_HUGE, &stage, 250.0));
    stage.seconds = 280.0; /* measured: counts before the guess */
    assert_false(carm_turns_has_time(&s, CARM_TRIAL_HUGE, &stage, 250.0));
    assert_non_null(strstr(t.refused[CARM_TRIAL_HUGE], "take too long"));
    t.snapshots = 2;
    assert_true(carm_turns_has_time(&s, CARM_TRIAL_CORES, &stage, 250.0));
    stage = (struct carm_trial_stage){.n = 3, .seconds = 1001.0}; /* enough have measured it */
    assert_false(carm_turns_has_time(&s, CARM_TRIAL_CORES, &stage, 250.0));
    assert_string_equal(t.refused[CARM_TRIAL_CORES], "");
}

static void numbers_that_name_others(void **state)
{
    const struct what what = {indices, NULL};
    struct tried x;
    begin(&x, &what, indices_head, indices_end, 1);
    assert_int_equal(x.t.changed[CARM_VARIANT_INDIRECT], 1);
    assert_int_equal(x.t.body.ops[1].stride, 0);
    assert_false(x.t.huge_already);
    (void)end(&x);
}

/* A root of memory becomes the square of a load: a product with the register that it overwrites would wait for it. */
static void a_root_waits_for_nothing(void **state)
{
    static const uint8_t loop[] = {0x0f, 0x51, 0x04, 0x86, /* sqrtps xmm0, [rsi + 4 rax] */
                                   0x48, 0xff, 0xc8,       /* dec rax */
                                   0x75, 0xf7};            /* jnz */
    static const uint8_t square[] = {0x0f, 0x59, 0xc0}, product[] = {0x0f, 0x59, 0x04};
    const struct carm_body_piece piece = {0x400000, loop, sizeof loop, -1.0};
    struct carm_variant_code code;
    struct carm_region region;
    struct carm_body body;
    assert_ok(carm_body_open(&body, piece.at, &piece, 1, &err));
    assert_ok(carm_region_open(&region, 0x800000, 0x600000, &err));
    carm_region_emit(&region, &body, CARM_VARIANT_DIVISIONS, false, &code);
    assert_int_equal(code.changed, 1);
    assert_non_null(memmem(region.code, region.used, square, sizeof square));
    assert_null(memmem(region.code, region.used, product, sizeof product));
    carm_region_close(&region);
    carm_body_close(&body);
}

/* A variant of a loop's bytes, whose head lies so many bytes behind their begin.
 * returns the bytes of its copies */
static const uint8_t *emitted(const uint8_t *loop, size_t n, size_t head, enum carm_variant variant,
                              unsigned changed, size_t *size)
{
    static struct carm_region region;
    const struct carm_body_piece pieces[2] = {{0x400000 + head, loop + head, n - head, -1.0},
                                              {0x400000, loop, head, -1.0}};
    struct carm_variant_code code;
    struct carm_body body;
    carm_region_close(&region);
    assert_ok(carm_body_open(&body, pieces[0].at, pieces, head ? 2 : 1, &err));
    assert_ok(carm_region_open(&region, 0x800000, 0x600000, &err));
    carm_region_emit(&region, &body, variant, false, &code);
    assert_int_equal(code.changed, changed);
    *size = region.used - (code.start - region.code_at);
    carm_body_close(&body);
    return region.code + (code.start - region.code_at);
}

static void variants_of_avx512(void **state)
{
    static const uint8_t loop[] = {
        0x62, 0xf1, 0xfd, 0x48, 0x51, 0x04, 0xc6, /* vsqrtpd zmm0, [rsi + 8 rax] */
        0x62, 0xf1, 0xfd, 0x48, 0x29, 0x04, 0xc7, /* vmovapd [rdi + 8 rax], zmm0 */
        0x48, 0x83, 0xc0, 0x08,                   /* add rax, 8 */
        0x48, 0x39, 0xc8, 0x75, 0xe9};            /* cmp rax, rcx; jne */
    static const uint8_t square[] = {0x62, 0xf1, 0xfd, 0x48, 0x59, 0xc0};
    static const uint8_t stream[] = {0x62, 0xf1, 0x7c, 0x48, 0x2b, 0x04, 0xc7};
    static const uint8_t loads[] = {0x62, 0xf1, 0x7c, 0x48, 0x10, 0x04, 0xc6};
    size_t n = 0;
    const uint8_t *code = emitted(loop, sizeof loop, 0, CARM_VARIANT_DIVISIONS, 1, &n);
    assert_non_null(memmem(code, n, square, sizeof square));
    code = emitted(loop, sizeof loop, 0, CARM_VARIANT_STREAMING, 1, &n);
    assert_non_null(memmem(code, n, stream, sizeof stream));
    code = emitted(loop, sizeof loop, 0, CARM_VARIANT_ARITHMETIC, 1, &n);
    assert_non_null(memmem(code, n, loads, sizeof loads));
}

static void much_slower_is_no_change(void **state)
{
    static struct carm_trial t;
    carm_turns_refuse_slow(&t, CARM_VARIANT_STREAMING, 0.01);
    carm_turns_refuse_slow(&t, CARM_VARIANT_STORES, 0.3);
    carm_turns_refuse_slow(&t, CARM_VARIANT_L1, NAN);
    assert_non_null(strstr(t.refused[CARM_VARIANT_STREAMING], "more than 5 times as long"));
    assert_true(!t.refused[CARM_VARIANT_STORES][0] && !t.refused[CARM_VARIANT_L1][0]);
}

/* A sum in order, as compilers make it of a vector's elements: more accumulators would end the chain inside an iteration. */
static void a_chain_inside_an_iteration(void **state)
{
    static const uint8_t loop[] = {0x66, 0x0f, 0x28, 0x00, /* movapd xmm0, [rax] */
                                   0xf2, 0x0f, 0x58, 0xc8, /* addsd xmm1, xmm0 */
                                   0x66, 0x0f, 0x15, 0xc0, /* unpckhpd xmm0, xmm0 */
                                   0xf2, 0x0f, 0x58, 0xc8, /* addsd xmm1, xmm0 */
                                   0x48, 0x83, 0xc0, 0x10, 0x48, 0x39, 0xc8, 0x75, 0xe7};
    const struct carm_body_piece whole = {0x400000, loop, sizeof loop, -1.0};
    struct carm_body body;
    assert_ok(carm_body_open(&body, whole.at, &whole, 1, &err));
    assert_true(body.ncarried == 1 && body.carried[0] == 1 && body.folds);
    carm_body_close(&body);
    const struct carm_body_piece once = {0x400008, loop + 8, sizeof loop - 8, -1.0};
    assert_ok(carm_body_open(&body, once.at, &once, 1, &err));
    assert_false(body.folds);
    carm_body_close(&body);
}

/* Stores past the caches go through them, where all data are in L1, and nothing is prefetched. */
static void in_l1_nothing_is_elsewhere(void **state)
{
    static const uint8_t loop[] = {0x0f, 0x18, 0x8c, 0x06, 0,
                                   1,    0,    0,          /* prefetcht0 256(rsi + rax) */
                                   0x0f, 0x28, 0x04, 0x06, /* movaps xmm0, [rsi + rax] */
                                   0x0f, 0x2b, 0x04, 0x07, /* movntps [rdi + rax], xmm0 */
                                   0x48, 0x83, 0xc0, 0x10, /* add rax, 16 */
                                   0x48, 0x39, 0xc8, 0x75, 0xe7};
    size_t n = 0;
    const uint8_t *code = emitted(loop, sizeof loop, 0, CARM_VARIANT_L1, 3, &n);
    assert_null(memmem(code, n, "\x0f\x18", 2));
    assert_null(memmem(code, n, "\x0f\x2b", 2));
    assert_non_null(memmem(code, n, "\x0f\x29\x05", 3)); /* movaps [rip + ...], xmm0 */
    (void)emitted(loop, sizeof loop, 0, CARM_VARIANT_STREAMING, 0, &n);
}

/* A loop that is entered in its middle, as compilers lay pointers' loops out: the branch leads to a block before the head. */
static void copies_go_on_without_jumps(void **state)
{
    static const uint8_t loop[] = {0x48, 0x83, 0xc0, 0x10, /* add rax, 16 */
                                   0x0f, 0x28, 0x00,       /* head: movaps xmm0, [rax] */
                                   0x0f, 0x29, 0x07,       /* movaps [rdi], xmm0 */
                                   0x48, 0x39, 0xc8, 0x75, 0xf1};
    size_t n = 0;
    const uint8_t *code = emitted(loop, sizeof loop, 4, CARM_VARIANT_UNCHANGED, 0, &n);
    /* sixteen times all instructions, the branch with four bytes more, and a jump to the count of the unit */
    assert_int_equal(n, 16 * (sizeof loop + 4) + 5);
    assert_non_null(memmem(code, n, "\x48\x39\xc8\x0f\x84", 5)); /* je: out of the loop */
}

/* ---- refused ---- */

static void refused(const struct what *what, const uint8_t *head, const uint8_t *end,
                    uint64_t memory, const char *reason)
{
    struct carm_trial t;
    struct carm_trial_result r;
    const uint64_t sum = unwatched(what);
    struct child child = open_child(what);
    measure(&child, head, end, memory, 1, &t, &r);
    if (!strstr(r.why, reason)) {
        print_message("'%s' is not '%s'\n", r.why, reason);
    }
    assert_non_null(strstr(r.why, reason));
    carm_trial_close(&t);
    assert_true(close_child(&child) == sum);
}

static void under_seccomp(double **to)
{
    struct sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    const struct sock_fprog filter = {1, &allow};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

static void without_fork(double **to)
{
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 4096, MADV_DONTFORK);
}

static void wiped_by_fork(double **to)
{
    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, 4096, MADV_WIPEONFORK);
}

static void without_traps(double **to)
{
    (void)signal(SIGTRAP, SIG_IGN);
}

static void sharing(double **to)
{
    *to = mmap(NULL, N * sizeof **to, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void is_refused(void **state)
{
    const struct what seccomp = {triad, under_seccomp};
    const struct what no_fork = {triad, without_fork};
    const struct what wiped = {triad, wiped_by_fork};
    const struct what shared = {triad, sharing};
    const struct what plain = {triad, NULL};
    const struct what calling = {calls, NULL};
    refused(&seccomp, triad_head, triad_end, 0, "seccomp");
    refused(&no_fork, triad_head, triad_end, 0, "MADV_DONTFORK");
    refused(&wiped, triad_head, triad_end, 0, "MADV_WIPEONFORK");
    refused(&shared, triad_head, triad_end, 0, "memory that it shares");
    refused(&plain, triad_head, triad_end, 1, "--memory");
    refused(&calling, calls_head, calls_end, 0, "a system call (39)");
}

/* Tebibytes of address space, as sanitizers and runtimes of languages have: nobody may walk through all of it. */
static void reserving(double **to)
{
    (void)mmap(NULL, (size_t)4 << 40, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void address_space_is_reserved(void **state)
{
    const struct what what = {triad, reserving};
    struct tried x;
    begin(&x, &what, triad_head, triad_end, 1);
    (void)end(&x);
}

/* As by ulimit -Sv: there is no room for one page more. */
static void limited(double **to)
{
    struct rlimit limit;
    (void)to;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 4096;
    setrlimit(RLIMIT_AS, &limit);
}

/* As by ulimit -v */
static void surely_limited(double **to)
{
    const struct rlimit limit = {4096, 4096};
    (void)to;
    setrlimit(RLIMIT_AS, &limit);
}

static void address_space_is_limited(void **state)
{
    const struct what what = {triad, limited}, surely = {triad, surely_limited};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, triad_head, triad_end, 1);
    assert_true(end(&x) == sum);
    refused(&surely, triad_head, triad_end, 0, "its memory is limited (ulimit -v, -d)");
}

/* ---- signals ---- */

static void with_alarms(double **to)
{
    const struct itimerval each = {{0, 500}, {0, 500}};
    (void)signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &each, NULL);
}

static void signals_are_the_programs(void **state)
{
    const struct what what = {triad, with_alarms};
    struct tried x;
    const uint64_t sum = unwatched(&what);
    begin(&x, &what, triad_head, triad_end, 3);
    assert_true(end(&x) == sum);
}

/* What carm_stop_at says of a loop of the child. */
static int watch(const struct child *child, const uint8_t *head, double seconds)
{
    const uint64_t at = (uint64_t)(uintptr_t)head;
    pid_t thread = 0;
    stop = (struct carm_stop){.pid = child->pid};
    return carm_stop_at(&stop, &at, 1, seconds, NULL, &thread);
}

/* One that is stopped by a signal stays so, until it is told to go on. */
static void it_stays_stopped(void **state)
{
    const struct what what = {triad, NULL};
    siginfo_t info;
    struct child child = open_child(&what);
    const pid_t killer = fork();
    if (killer == 0) {
        usleep(20000); /* it is watched by then; before or after it would be stopped as well */
        kill(child.pid, SIGSTOP);
        _exit(0);
    }
    assert_int_equal(watch(&child, dot_head, 0.1), -1);
    assert_int_equal(waitpid(killer, NULL, 0), killer);
    usleep(20000);
    assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WSTOPPED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(info.si_pid, child.pid);
    kill(child.pid, SIGCONT);
    (void)close_child(&child);
}

static void it_is_not_reached(void **state)
{
    const struct what what = {triad, NULL};
    struct child child = open_child(&what);
    assert_int_equal(watch(&child, dot_head, 0.05), -1);
    assert_int_equal(stop.nthreads, 0);
    (void)close_child(&child);
}

static void *beside_it(void *to)
{
    double *from = calloc(64, sizeof *from);
    for (volatile bool on = from; on;) {
        triad(to, from, 0, 64);
    }
    free(from);
    return NULL;
}
static void with_threads(double **to)
{
    (void)to;
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, beside_it, calloc(64, sizeof(double))), 0);
    }
}

/* A thread that is told to stop as it comes to a breakpoint has a signal to come, which would end the program. */
static void others_are_there_as_well(void **state)
{
    const struct what what = {triad, with_threads};
    struct child child = open_child(&what);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(watch(&child, triad_head, reached_seconds), 0);
        carm_stop_release(&stop);
    }
    assert_false(carm_stop_ended(&stop));
    (void)close_child(&child);
}

/* A breakpoint would make the kernel reset what the program has told it of SIGTRAP. */
static void traps_are_ignored(void **state)
{
    const struct what what = {triad, without_traps};
    struct child child = open_child(&what);
    assert_int_equal(watch(&child, triad_head, 0.2), -1);
    assert_true(stop.masked);
    (void)close_child(&child);
}

static void without_signals(double **to)
{
    sigset_t all;
    (void)to;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

static void signals_are_blocked(void **state)
{
    const struct what what = {triad, without_signals};
    const uint64_t sum = unwatched(&what);
    struct child child = open_child(&what);
    assert_int_equal(watch(&child, triad_head, 0.2), -1);
    assert_true(stop.masked);
    assert_true(close_child(&child) == sum);
}

/* As debuggers are kept away: carm becomes its tracer, and lets it go on. */
static void asks_to_be_traced(double **to)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGUSR2);
}

static void it_is_traced_already(void **state)
{
    const struct what what = {triad, asks_to_be_traced};
    uint64_t sum = 0;
    signal(SIGUSR2, SIG_IGN);
    const struct what plain = {triad, NULL};
    const uint64_t want = unwatched(&plain);
    struct child child = open_child(&what);
    (void)watch(&child, triad_head, 0.05);
    carm_stop_release(&stop);
    for (int i = 0; i < 100 && !carm_stop_ended(&stop); i++) {
        usleep(1000);
    }
    *child.go_on = 2;
    carm_stop_await_end(&stop);
    assert_int_equal(read(child.result, &sum, sizeof sum), sizeof sum);
    assert_true(WIFEXITED(stop.status) && WEXITSTATUS(stop.status) == 0 && sum == want);
    close(child.result);
    munmap((void *)(uintptr_t)child.go_on, 4096);
}

static void it_ends_meanwhile(void **state)
{
    const struct what what = {triad, NULL};
    struct child child = open_child(&what);
    kill(child.pid, SIGKILL);
    assert_int_equal(watch(&child, dot_head, 5.0), -1);
    while (!carm_stop_ended(&stop)) {
        usleep(1000);
    }
    assert_true(WIFSIGNALED(stop.status) && WTERMSIG(stop.status) == SIGKILL);
    close(child.result);
    munmap((void *)(uintptr_t)child.go_on, 4096);
}

static int leave[2];
static double *of_thread;

static void *loop_for_ever(void *arg)
{
    for (;;) {
        triad(of_thread, of_thread, 0, N);
    }
    return arg;
}

static void thread_loops(double **to)
{
    pthread_t thread;
    char byte;
    of_thread = *to;
    if (pthread_create(&thread, NULL, loop_for_ever, NULL) == 0 &&
        read(leave[0], &byte, 1) == 1) { // NOLINT: as the child's end
        _exit(7);
    }
}

/* The process ends while another thread than its first is stopped: its end waits for the thread's tracer. */
static void it_ends_while_a_thread_is_stopped(void **state)
{
    const struct what what = {triad, thread_loops};
    assert_int_equal(pipe2(leave, O_CLOEXEC), 0);
    struct child child = open_child(&what);
    assert_int_equal(watch(&child, triad_head, 20.0), 0);
    assert_int_equal(stop.nthreads, 1);
    assert_int_equal(write(leave[1], "x", 1), 1);
    usleep(50000);
    carm_stop_release(&stop);
    for (int i = 0; i < 5000 && !carm_stop_ended(&stop); i++) {
        usleep(1000);
    }
    assert_true(stop.ended && WIFEXITED(stop.status) && WEXITSTATUS(stop.status) == 7);
    close(leave[0]);
    close(leave[1]);
    close(child.result);
    munmap((void *)(uintptr_t)child.go_on, 4096);
}

/* ---- code that is refused ---- */

static void code_is_refused(const void *bytes, size_t n, const char *reason)
{
    struct carm_trial t;
    err = (struct carm_err){""};
    const struct carm_body_piece piece = {0x400000, bytes, n, -1.0};
    assert_refused(carm_trial_open(&t, 0x400000, &piece, 1, &err), -CARM_ENOTSUP, reason);
}

static void codes_are_refused(void **state)
{
    code_is_refused("\xff\xe0", 2, "jumps by a table");
    code_is_refused("\xe2\xfe", 2, "rcx");
    code_is_refused("\xc3", 1, "returns");
    code_is_refused("\x06", 1, "not known");
}

/* Whether this process has a filter of system calls: its children cannot be copied. */
static bool is_filtered(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    int mode = 0;
    while (status && fgets(line, sizeof line, status)) {
        mode = strncmp(line, "Seccomp:", 8) == 0 ? (int)strtol(line + 8, NULL, 10) : mode;
    }
    if (status) {
        fclose(status);
    }
    return mode != 0;
}

static void all_is_refused_behind_a_filter(void **state)
{
    const struct what plain = {triad, NULL};
    refused(&plain, triad_head, triad_end, 0, "seccomp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_goes_on_unharmed),
        cmocka_unit_test(a_chain_and_a_division),
        cmocka_unit_test(a_pointer_that_is_followed),
        cmocka_unit_test(a_chain_through_memory),
        cmocka_unit_test(a_nest),
        cmocka_unit_test(across_a_line_of_code),
        cmocka_unit_test(accesses_across_lines),
        cmocka_unit_test(branches_decide),
        cmocka_unit_test(ways_are_known),
        cmocka_unit_test(a_root_waits_for_nothing),
        cmocka_unit_test(variants_of_avx512),
        cmocka_unit_test(much_slower_is_no_change),
        cmocka_unit_test(a_chain_inside_an_iteration),
        cmocka_unit_test(in_l1_nothing_is_elsewhere),
        cmocka_unit_test(copies_go_on_without_jumps),
        cmocka_unit_test(its_time_ends),
        cmocka_unit_test(copies_take_too_long),
        cmocka_unit_test(numbers_that_name_others),
        cmocka_unit_test(is_refused),
        cmocka_unit_test(address_space_is_reserved),
        cmocka_unit_test(address_space_is_limited),
        cmocka_unit_test(signals_are_the_programs),
        cmocka_unit_test(it_stays_stopped),
        cmocka_unit_test(it_is_not_reached),
        cmocka_unit_test(others_are_there_as_well),
        cmocka_unit_test(traps_are_ignored),
        cmocka_unit_test(signals_are_blocked),
        cmocka_unit_test(it_is_traced_already),
        cmocka_unit_test(it_ends_meanwhile),
        cmocka_unit_test(it_ends_while_a_thread_is_stopped),
        cmocka_unit_test(codes_are_refused),
    };
    const struct CMUnitTest filtered[] = {
        cmocka_unit_test(all_is_refused_behind_a_filter),
        cmocka_unit_test(codes_are_refused),
    };
    if (is_filtered()) { /* as in a container */
        printf("skipped: nothing is copied behind a filter of system calls\n");
        return cmocka_run_group_tests_name("tests", filtered, NULL, NULL);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
