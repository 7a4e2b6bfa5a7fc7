/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that a translator gets wrong easily: tests/harness/translate/programs_test.sh runs each task free
 * and counted and compares what it prints. */
#include <asm/prctl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;
static const char *self;
/* The memory as the kernel lists it: /proc/self/maps is shown without carm's. */
#define MAPS "/proc/thread-self/maps"

enum { PAGE = 4096 };

/* mov eax, value; ret */
static void put_return(uint8_t *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

static int call(const void *code)
{
    int (*f)(void);
    memcpy(&f, &code, sizeof f);
    return f();
}

static uint8_t *pages(size_t n, int prot)
{
    return mmap(NULL, n * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- code that changes ---- */

static void rewrite(void)
{
    uint8_t *code = pages(2, PROT_READ | PROT_WRITE);
    int sum = 0;
    for (uint32_t i = 0; i < 50; i++) {
        (void)mprotect(code, 2 * PAGE, PROT_READ | PROT_WRITE);
        put_return(code + PAGE - 3, i); /* across two pages */
        (void)mprotect(code, 2 * PAGE, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 3; k++) {
            sum = sum * 3 + call(code + PAGE - 3);
        }
    }
    printf("%d\n", sum);
}

static void remap(void)
{
    uint8_t *const at = pages(32, PROT_NONE);
    int sum = 0;
    for (uint32_t i = 0; i < 50; i++) {
        uint8_t *code =
            mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        put_return(code + 64 * (i % 3), i);
        (void)mprotect(code, PAGE, PROT_READ | PROT_EXEC);
        sum = sum * 3 + call(code + 64 * (i % 3));
        if (i % 2) {
            (void)munmap(code, PAGE);
        } else {
            code = mremap(code, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, code + 16 * PAGE);
            sum += call(code + 64 * (i % 3));
            (void)munmap(code, PAGE);
        }
    }
    printf("%d\n", sum);
}

static void jit(void)
{
    uint8_t *code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    int sum = 0;
    for (uint32_t i = 0; i < 50; i++) {
        put_return(code, i);
        sum = sum * 3 + call(code);
    }
    printf("%d\n", sum);
}

static void alias(void)
{
    const int fd = memfd_create("code", 0);
    (void)!ftruncate(fd, PAGE);
    uint8_t *write_at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *run_at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    int sum = 0;
    for (uint32_t i = 0; i < 50; i++) {
        put_return(write_at, i);
        sum = sum * 3 + call(run_at);
    }
    printf("%d\n", sum);
}

/* One thread writes what another executes. */
static uint8_t *shared_code;
static volatile bool over;

static void *execute(void *arg)
{
    long *bad = arg;
    while (!over) {
        *bad += call(shared_code) % 7 != 0;
    }
    return NULL;
}

static void cross(void)
{
    pthread_t thread;
    long bad = 0;
    shared_code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    shared_code += 3; /* the operand is aligned: it changes at once */
    put_return(shared_code, 0);
    (void)pthread_create(&thread, NULL, execute, &bad);
    for (uint32_t i = 1; i <= 300000; i++) {
        __atomic_store_n((uint32_t *)(void *)(shared_code + 1), 7 * (i % 3000), __ATOMIC_RELAXED);
    }
    over = true;
    (void)pthread_join(thread, NULL);
    printf("%ld\n", bad);
}

/* mov eax, 0xc3c03190: two bytes on stand nop; xor eax, eax; ret */
static void middle(void)
{
    uint8_t *code = pages(1, PROT_READ | PROT_WRITE);
    static const uint8_t bytes[] = {0xb8, 0x90, 0x31, 0xc0, 0xc3, 0xc3};
    memcpy(code, bytes, sizeof bytes);
    (void)mprotect(code, PAGE, PROT_READ | PROT_EXEC);
    printf("%x %d %x\n", call(code), call(code + 1), call(code));
}

static void edge(void)
{
    uint8_t *code = pages(2, PROT_READ | PROT_WRITE);
    put_return(code + PAGE - 6, 77);
    (void)munmap(code + PAGE, PAGE);
    (void)mprotect(code, PAGE, PROT_READ | PROT_EXEC);
    printf("%d\n", call(code + PAGE - 6));
}

/* ---- faults ---- */

static sigjmp_buf back;
static volatile int depth;

static void jump_back(int signo)
{
    siglongjmp(back, signo);
}

__attribute__((noinline)) static int deeper(int n)
{
    volatile char room[1000];
    room[n % 1000] = (char)n;
    depth = n;
    return deeper(n + 1) + room[n % 1000];
}

static void overflow(void)
{
    static uint8_t stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction act = {.sa_flags = SA_ONSTACK, .sa_handler = jump_back};
    (void)sigaltstack(&alternate, NULL);
    (void)sigaction(SIGSEGV, &act, NULL);
    for (int i = 0; i < 3; i++) {
        const int signo = sigsetjmp(back, 1);
        if (signo == 0) {
            printf("%d\n", deeper(0));
        }
        printf("signal %d, deep: %d\n", signo, depth > 1000);
    }
}

static void overflow_to_death(void)
{
    (void)signal(SIGSEGV, jump_back); /* its frame finds no room */
    printf("%d\n", deeper(0));
}

extern const char skip_from[], skip_to[];
static volatile uint64_t skipped;

static void skip(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)signo;
    skipped += (uint64_t)(uintptr_t)info->si_addr;
    if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] == (uint64_t)(uintptr_t)skip_from) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)skip_to;
        uc->uc_mcontext.gregs[REG_RBX] += 5;
    }
}

static void resume(void)
{
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = skip};
    uint64_t rbx = 1;
    (void)sigaction(SIGSEGV, &act, NULL);
    for (uintptr_t i = 0; i < 30; i++) {
        __asm__ volatile(".global skip_from\nskip_from:\n\tmov %1, (%1)\n\tadd $1000, %0\n"
                         ".global skip_to\nskip_to:\n\tadd $1, %0"
                         : "+b"(rbx)
                         : "r"(i + 8)
                         : "memory", "cc");
    }
    printf("%llu %llu\n", (unsigned long long)rbx, (unsigned long long)skipped);
}

static void divide(void)
{
    (void)signal(SIGFPE, jump_back);
    (void)signal(SIGILL, jump_back);
    volatile int zero = 0;
    int signo = sigsetjmp(back, 1);
    if (signo == 0) {
        printf("%d\n", 5 / zero);
    }
    printf("%d\n", signo);
    signo = sigsetjmp(back, 1);
    if (signo == 0) {
        __asm__ volatile("ud2");
    }
    printf("%d\n", signo);
}

static void nowhere(void)
{
    (void)signal(SIGSEGV, jump_back);
    const int signo = sigsetjmp(back, 1);
    if (signo == 0) {
        (void)call((const void *)8);
    }
    printf("%d\n", signo);
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;

static void tick(int signo)
{
    (void)signo;
    ticks++;
}

/* A result that any register, flag or vector that a signal changes would spoil. */
__attribute__((noinline)) static double mix(uint64_t n, double x)
{
    uint64_t h = 1;
    __asm__ volatile("" : "+r"(h)); /* computed anew each time */
    for (uint64_t i = 0; i < n; i++) {
        h = h * 6364136223846793005U + i;
        x = x * 0.5 + (double)(h >> 40);
        h += h & 1 ? 3 : (uint64_t)__builtin_popcountll(h);
    }
    return x + (double)(h & 0xffff);
}

static void storm(void)
{
    const struct itimerval often = {{0, 300}, {0, 300}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    (void)signal(SIGALRM, tick);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    double sum = 0;
    int rounds = 0;
    while (ticks < 300) {
        sum = mix(20000, 1.0);
        rounds++;
    }
    (void)setitimer(ITIMER_REAL, &never, NULL);
    printf("%.17g %d\n", sum, rounds > 0);
}

/* A handler that is interrupted in code that changes, and that changes it. */
static void rewrite_now(int signo)
{
    (void)signo;
    put_return(shared_code, 1000 + (uint32_t)ticks % 5);
    ticks++;
}

static void storm_of_code(void)
{
    const struct itimerval often = {{0, 300}, {0, 300}};
    const struct itimerval never = {{0, 0}, {0, 0}};
    long bad = 0;
    shared_code = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(shared_code, 1000);
    (void)signal(SIGALRM, rewrite_now);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    while (ticks < 300) {
        bad += call(shared_code) / 5 != 200;
    }
    (void)setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld\n", bad);
}

/* popf sets the flag for unaligned accesses; pushf reads it. */
static void flags(void)
{
    uint64_t before = 0, with = 0, after = 0;
    __asm__ volatile("pushfq\n\tpop %0\n\tmov %0, %1\n\tor $0x40001, %1\n\tpush %1\n\tpopfq\n\t"
                     "pushfq\n\tpop %1\n\tmov %0, %2\n\tand $~1, %2\n\tpush %2\n\tpopfq\n\t"
                     "pushfq\n\tpop %2"
                     : "=&r"(before), "=&r"(with), "=&r"(after)
                     :
                     : "cc", "memory");
    printf("%llx %llx %llx\n", (unsigned long long)before & 0x40001,
           (unsigned long long)with & 0x40001, (unsigned long long)after & 0x40001);
}

/* ... and stays set. */
static void unaligned(void)
{
    __asm__ volatile("pushfq\n\torq $0x40000, (%%rsp)\n\tpopfq\n\tmov $39, %%eax\n\tsyscall\n\t"
                     "mov 1(%%rsp), %%eax"
                     :
                     :
                     : "rax", "rcx", "r11", "cc", "memory");
}

enum { SENDERS = 4, EACH = 400 };
static pthread_t threads[SENDERS];
static pthread_barrier_t barrier;
static double results[SENDERS];

static void *send_all(void *arg)
{
    const int me = (int)(intptr_t)arg;
    (void)pthread_barrier_wait(&barrier);
    for (int i = 0; i < EACH; i++) {
        (void)pthread_kill(threads[(me + 1 + i % (SENDERS - 1)) % SENDERS], SIGUSR1);
        results[me] += mix(200, i);
    }
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static void crossfire(void)
{
    (void)signal(SIGUSR1, tick);
    (void)pthread_barrier_init(&barrier, NULL, SENDERS);
    for (int i = 0; i < SENDERS; i++) {
        (void)pthread_create(&threads[i], NULL, send_all, (void *)(intptr_t)i);
    }
    double sum = 0;
    for (int i = 0; i < SENDERS; i++) {
        (void)pthread_join(threads[i], NULL);
        sum += results[i];
    }
    printf("%.17g %d\n", sum, ticks > 0);
}

static void inner(int signo)
{
    sigset_t mask;
    (void)sigprocmask(SIG_BLOCK, NULL, &mask);
    printf("inner %d: usr1 %d usr2 %d\n", signo, sigismember(&mask, SIGUSR1),
           sigismember(&mask, SIGUSR2));
}

static void outer(int signo, siginfo_t *info, void *context)
{
    stack_t where;
    (void)context;
    (void)sigaltstack(NULL, &where);
    printf("outer %d code %d value %d on alternate %d\n", signo, info->si_code,
           info->si_value.sival_int, where.ss_flags);
    (void)raise(SIGUSR2);
    printf("outer goes on\n");
}

static void nested(void)
{
    static uint8_t stack[65536];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction act = {.sa_flags = SA_SIGINFO | SA_ONSTACK, .sa_sigaction = outer};
    struct sigaction old;
    sigset_t all, before;
    (void)sigaltstack(&alternate, NULL);
    (void)sigaction(SIGUSR1, &act, NULL);
    act = (struct sigaction){.sa_flags = (int)SA_RESETHAND, .sa_handler = inner};
    (void)sigaction(SIGUSR2, &act, NULL);
    (void)sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42});
    (void)sigaction(SIGUSR2, NULL, &old);
    printf("reset: %d\n", old.sa_handler == SIG_DFL);
    act.sa_flags = SA_NODEFER;
    (void)sigaction(SIGUSR2, &act, NULL);
    (void)raise(SIGUSR2);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    (void)raise(SIGUSR2);
    (void)raise(SIGUSR1);
    printf("blocked\n");
    (void)sigdelset(&all, SIGUSR2);
    (void)sigsuspend(&all);
    printf("suspended\n");
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void interrupted(void)
{
    int gate[2];
    char c = 0;
    struct sigaction act = {.sa_handler = tick};
    struct itimerval once = {{0, 0}, {0, 20000}};
    (void)!pipe(gate);
    (void)sigaction(SIGALRM, &act, NULL);
    (void)setitimer(ITIMER_REAL, &once, NULL);
    ssize_t n = read(gate[0], &c, 1);
    printf("%zd %d %d\n", n, errno == EINTR, ticks);
    act.sa_flags = SA_RESTART;
    (void)sigaction(SIGALRM, &act, NULL);
    (void)setitimer(ITIMER_REAL, &once, NULL);
    if (fork() == 0) {
        (void)usleep(60000);
        (void)!write(gate[1], "x", 1);
        _exit(0);
    }
    n = read(gate[0], &c, 1);
    printf("%zd %c %d\n", n, c, ticks);
    (void)wait(NULL);
    const struct timespec rest = {0, 50000000};
    struct timespec left;
    once.it_value.tv_usec = 10000;
    (void)setitimer(ITIMER_REAL, &once, NULL);
    printf("%d %d\n", nanosleep(&rest, &left), errno == EINTR && left.tv_nsec > 0);
}

/* ---- processes ---- */

static void forks(int levels)
{
    int status = 0;
    int sum = 1;
    for (int i = 0; i < 2 && levels > 0; i++) {
        (void)fflush(stdout);
        if (fork() == 0) {
            forks(levels - 1);
        }
    }
    while (wait(&status) > 0) {
        sum += WEXITSTATUS(status);
    }
    if (levels == 5) {
        printf("%d\n", sum);
    }
    exit(sum & 127);
}

/* Parent and child go on with code that neither has executed before the fork, so that both write to the translated
 * code that they share; often enough that each makes it its own. */
#define PART(n)                                                          \
    __attribute__((noinline)) static unsigned part##n(unsigned x)        \
    {                                                                    \
        return x % (n + 2U) ? x * (2U * n + 3U) + 1U : x / (n + 2U) ^ n; \
    }
PART(0)
PART(1)
PART(2)
PART(3)
PART(4)
PART(5)
PART(6)
PART(7)

static void divided(void)
{
    enum { PARTS = 8, TURNS = 3000 };
    static unsigned (*const parts[PARTS])(unsigned) = {part0, part1, part2, part3,
                                                       part4, part5, part6, part7};
    unsigned sum = 7;
    for (unsigned i = 0; i < PARTS; i += 2) {
        int status = 0;
        const pid_t pid = fork();
        const unsigned to = pid == 0 ? i + 2 : i + 1;
        for (unsigned k = pid == 0 ? i + 1 : i; k < to; k++) {
            for (unsigned turn = 0; turn < TURNS; turn++) {
                sum = parts[(turn & 1) ? k : turn % (k + 1)](sum + turn);
            }
        }
        if (pid == 0) {
            const pid_t second = fork();
            _exit(second ? (waitpid(second, &status, 0), (int)(sum & 0x3f) ^ status >> 8)
                         : (int)(part7(sum) & 0x3f));
        }
        waitpid(pid, &status, 0);
        printf("%u %x\n", sum, status);
    }
}

/* Children are stopped and continued while they execute a program. */
static void stops(void)
{
    int status = 0;
    for (unsigned i = 0; i < 40; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            execl("./hostile", "./hostile", "chain", "0", NULL);
            _exit(1);
        }
        nanosleep(&(struct timespec){0, (long)(i * 2654435761U % 3000000)}, NULL);
        kill(pid, SIGSTOP);
        nanosleep(&(struct timespec){0, (long)(i * 40503U % 300000)}, NULL);
        kill(pid, SIGCONT);
        waitpid(pid, &status, 0);
    }
    puts("continued");
}

static void chain(int n)
{
    char text[16];
    if (n == 0) {
        printf("end of the chain\n");
        return;
    }
    (void)snprintf(text, sizeof text, "%d", n - 1);
    (void)execl("/nonexistent", "x", (char *)NULL);
    (void)execl(self, self, "chain", text, (char *)NULL);
}

static void children(void)
{
    char *argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t) "chain", (char *)(uintptr_t) "2",
                    NULL};
    int status = 0;
    pid_t pid = 0;
    (void)fflush(stdout);
    pid = vfork();
    if (pid == 0) {
        (void)execv(self, argv);
        _exit(9);
    }
    (void)waitpid(pid, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    (void)fflush(stdout);
    printf("spawn %d", posix_spawn(&pid, self, NULL, NULL, argv, environ));
    (void)waitpid(pid, &status, 0);
    printf(" %d\n", WEXITSTATUS(status));
    printf("spawn %d\n", posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ));
    pid = vfork();
    if (pid == 0) {
        _exit(3);
    }
    (void)waitpid(pid, &status, 0);
    printf("vfork %d\n", WEXITSTATUS(status));
    (void)fflush(stdout);
    printf("system %d\n", system("exit 5")); /* NOLINT(cert-env33-c) */
}

/* ---- control flow ---- */

static ucontext_t contexts[2];

static void other_context(void)
{
    for (int i = 0; i < 3; i++) {
        printf("other %d\n", i);
        (void)swapcontext(&contexts[1], &contexts[0]);
    }
}

static void switch_contexts(void)
{
    static uint8_t stack[65536];
    (void)getcontext(&contexts[1]);
    contexts[1].uc_stack.ss_sp = stack;
    contexts[1].uc_stack.ss_size = sizeof stack;
    contexts[1].uc_link = &contexts[0];
    makecontext(&contexts[1], other_context, 0);
    for (int i = 0; i < 4; i++) {
        (void)swapcontext(&contexts[0], &contexts[1]);
        printf("main %d\n", i);
    }
}

/* Branches that are translated each in a way of its own. */
static void branches(void)
{
    uint64_t a = 0, n = 7;
    __asm__ volatile("1: add $3, %0\n\tloop 1b" : "+r"(a), "+c"(n) : : "cc");
    n = 0;
    __asm__ volatile("jrcxz 1f\n\tadd $100, %0\n1:\tadd $1, %0" : "+r"(a), "+c"(n) : : "cc");
    __asm__ volatile("call 1f\n\tjmp 2f\n1:\tadd $5, %0\n\tret\n2:" : "+r"(a) : : "cc", "memory");
    __asm__ volatile("push $9\n\tcall 1f\n\tjmp 2f\n1:\tadd $5, %0\n\tret $8\n2:"
                     : "+r"(a)
                     :
                     : "cc", "memory");
    uint64_t where = 0;
    __asm__ volatile("call 1f\n1:\tpop %0\n\tlea 1b(%%rip), %1\n\tsub %1, %0"
                     : "=&r"(where), "=&r"(n)
                     :
                     : "cc", "memory");
    uint64_t flags = 0;
    __asm__ volatile("stc\n\tmov $5, %%ecx\n1:\tdec %%ecx\n\tjnz 1b\n\tsetc %b0"
                     : "+r"(flags)
                     :
                     : "rcx", "cc");
    void *volatile targets[2];
    uint64_t taken = 0;
    targets[0] = &&first;
    targets[1] = &&second;
    for (int i = 0; i < 10; i++) {
        goto *targets[i % 2];
    first:
        taken += 1;
        continue;
    second:
        taken += 10;
    }
    printf("%llu %llu %llu %llu\n", (unsigned long long)a, (unsigned long long)where,
           (unsigned long long)flags, (unsigned long long)taken);
}

static void libraries(void)
{
    double sum = 0;
    for (int i = 0; i < 5; i++) {
        void *m = dlopen("libm.so.6", RTLD_NOW);
        double (*f)(double) = NULL;
        void *symbol = m ? dlsym(m, i % 2 ? "cbrt" : "tgamma") : NULL;
        memcpy(&f, &symbol, sizeof f);
        sum += f ? f(5.0) : 0;
        if (m) {
            (void)dlclose(m);
        }
    }
    printf("%.12g\n", sum);
}

/* Code in the middle of reserved memory, which leaves 32 MiB at no multiple of 64 MiB, as Java's heap and the C library's
 * memory for threads do. */
static void crowded(void)
{
    static const unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3}; /* lea eax, [rdi + 1]; ret */
    const uint64_t middle = UINT64_C(0x100000000000), around = UINT64_C(3) << 29,
                   hole = UINT64_C(32) << 20;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    char *all = mmap((void *)(middle - around), 2 * around, PROT_NONE, flags, -1, 0);
    if (all != (char *)(middle - around) || munmap(all + around + 3 * hole, hole) != 0 ||
        mprotect(all + around, sizeof code, PROT_READ | PROT_WRITE) != 0) {
        printf("there is other memory\n");
        return;
    }
    memcpy(all + around, code, sizeof code);
    int (*f)(int) = NULL;
    char *begin = all + around;
    memcpy(&f, &begin, sizeof f);
    const int executable = mprotect(begin, sizeof code, PROT_READ | PROT_EXEC);
    printf("%d %d\n", executable, f(41));
}

/* ---- what is refused ---- */

static void old_call(void)
{
    long result = 20; /* getpid of 32-bit code */
    __asm__ volatile("int $0x80" : "+a"(result) : : "r8", "r9", "r10", "r11", "memory");
    printf("%d\n", result == getpid());
}

static void segment(void)
{
    static uint64_t values[4] = {11, 22, 33, 44};
    uint64_t got = 0;
    (void)syscall(SYS_arch_prctl, ARCH_SET_GS, values);
    __asm__ volatile("mov %%gs:16, %0" : "=r"(got));
    printf("%llu\n", (unsigned long long)got);
}

static void restricted(void)
{
    printf("strict\n");
    (void)fflush(stdout);
    (void)prctl(PR_SET_SECCOMP, 1);
    (void)syscall(SYS_exit, 7);
}

static void traced(void)
{
    int status = 0;
    (void)fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)raise(SIGSTOP);
        _exit(6);
    }
    (void)waitpid(pid, &status, 0);
    printf("stopped %d\n", WIFSTOPPED(status));
    (void)ptrace(PTRACE_CONT, pid, NULL, NULL);
    (void)waitpid(pid, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
}

static void killed(void)
{
    printf("dies\n");
    (void)fflush(stdout);
    (void)kill(getpid(), SIGKILL);
}

/* Everything that carm and the counting share with this program: 0xff, as far as it lies in memory; the begin of each
 * mapping, where the numbers are. It stays alive for a while, in which carm reads it. */
static void overwrite(void)
{
    enum { FIRST = 1 << 20, PAGE_BYTES = 4096, MAPS_MAX = 64 };
    const struct timespec moment = {0, 20000000};
    struct {
        unsigned char *begin;
        size_t bytes;
    } maps[MAPS_MAX];
    size_t n = 0;
    size_t control = 0;
    char line[1024];
    FILE *f = fopen(MAPS, "re");
    while (f && n < MAPS_MAX && fgets(line, sizeof line, f)) {
        uint64_t begin = 0;
        uint64_t end = 0;
        char flags[5] = "";
        if (strstr(line, "/memfd:carm-") &&
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, flags) == 3 &&
            strcmp(flags, "rw-s") == 0) {
            control = strstr(line, "carm-control") ? n : control;
            maps[n].begin = (unsigned char *)(uintptr_t)begin;
            maps[n++].bytes = end - begin < FIRST ? end - begin : FIRST;
        }
    }
    if (f) {
        (void)fclose(f);
    }
    printf("overwritten\n");
    (void)fflush(stdout);
    static unsigned char ones[FIRST];
    memset(ones, 0xff, sizeof ones);
    /* by a call that may fail: once the control, the last one, is overwritten, the engine unmaps all */
    const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    for (int round = 0; round < 10; round++) {
        for (size_t k = 1; k <= n; k++) {
            const size_t i = (control + k) % n;
            (void)!pwrite(memory, ones, maps[i].bytes, (off_t)(uintptr_t)maps[i].begin);
        }
        (void)nanosleep(&moment, NULL);
    }
    _exit(0);
}

/* Adds to n words of a file that carm shares with the program.
 * at  in the file */
static void add_to_shared(const char *name, uint64_t at, int n, uint64_t more)
{
    char line[1024];
    FILE *f = fopen(MAPS, "re");
    while (f && fgets(line, sizeof line, f)) {
        uint64_t begin = 0;
        uint64_t end = 0;
        uint64_t offset = 0;
        if (strstr(line, name) &&
            sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) == 3 &&
            at >= offset && at < offset + (end - begin)) {
            uint64_t *words = (uint64_t *)(uintptr_t)(begin + (at - offset));
            for (int i = 0; i < n; i++) {
                words[i] += more;
            }
        }
    }
    if (f) {
        (void)fclose(f);
    }
    printf("more\n");
}

/* Only its counts: they become so large that no processor reaches them. The first slot's, in the file (tally.h) */
static void inflate(void)
{
    add_to_shared("/memfd:carm-tally", (128 << 20) + (4 << 20), 1000, UINT64_C(1000000000000000));
}

/* Only the corrections of single instructions, whose sum carm does not use. xsave has some: a program whose functions are
 * all bound at its start may have no other. */
static void inflate_sites(void)
{
    static uint8_t area[4096] __attribute__((aligned(64)));
    __asm__ volatile("xsave %0" : "+m"(area) : "a"(1), "d"(0));
    add_to_shared("/memfd:carm-tally", (128 << 20) + (12 << 20), 1000, UINT64_C(1000000000000000));
}

/* The control says that nothing more is to be counted. */
static void halt(void)
{
    add_to_shared("/memfd:carm-control", 0, 1, UINT64_C(1) << 32);
}

/* A request to follow a process that is none of the program's: init, and the one that started carm. */
static void foreign(void)
{
    char line[1024];
    FILE *f = fopen(MAPS, "re");
    uint32_t *control = NULL;
    while (f && fgets(line, sizeof line, f)) {
        uint64_t begin = 0;
        if (strstr(line, "/memfd:carm-control") && sscanf(line, "%" SCNx64 "-", &begin) == 1) {
            control = (uint32_t *)(uintptr_t)begin;
        }
    }
    if (f) {
        (void)fclose(f);
    }
    const char *victim = getenv("VICTIM"); // NOLINT(concurrency-mt-unsafe)
    if (control && victim) {
        /* bell, stop, tracer; then state and thread */
        const off_t request = (off_t)(uintptr_t)(control + 3);
        const uint32_t asked[2] = {2, (uint32_t)strtol(victim, NULL, 10)};
        uint32_t state = asked[0];
        const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
        (void)!pwrite(memory, asked, sizeof asked, request);
        for (int i = 0; i < 100 && state == asked[0]; i++) {
            const struct timespec moment = {0, 10000000};
            (void)nanosleep(&moment, NULL);
            if (pread(memory, &state, sizeof state, request) != (ssize_t)sizeof state) {
                break;
            }
        }
    }
    if (victim && snprintf(line, sizeof line, "/proc/%s/status", victim) > 0 &&
        (f = fopen(line, "re"))) {
        while (fgets(line, sizeof line, f)) {
            if (strncmp(line, "TracerPid:", 10) == 0) {
                printf("traced by%s\n", atoi(line + 10) ? " carm" : " nobody");
            }
        }
        (void)fclose(f);
    }
}

/* Hot code of a file in whose place there is a pipe when carm looks for its symbols. */
static void replaced(void)
{
    static const unsigned char code[4096] = {0xff, 0xcf, 0x75, 0xfc,
                                             0xc3}; /* 1: dec edi; jnz 1b; ret */
    const char *path = "replaced.bin";
    (void)unlink(path);
    FILE *f = fopen(path, "wbe");
    if (!f || fwrite(code, sizeof code, 1, f) != 1 || fclose(f) != 0) {
        return;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = mmap(NULL, sizeof code, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    void (*run)(int) = NULL;
    memcpy(&run, &at, sizeof run);
    run(1);
    (void)unlink(path);
    printf("pipe %d\n", mkfifo(path, 0600));
    run(300000000);
}

/* A number of /proc/self/status in MiB, downwards. */
static long status_mib(const char *name)
{
    char line[256];
    long kib = -1024;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtol(line + strlen(name), NULL, 10);
        }
    }
    if (f) {
        (void)fclose(f);
    }
    return kib >> 10;
}

/* What the counting adds to the address space is small: 0 = less than a GiB in all. */
static void address_space(void)
{
    printf("%ld\n", status_mib("VmSize:") >> 10);
}

/* All of its memory is locked: a few MiB, whatever the counting had mapped. */
static void lock_all(void)
{
    const int now = mlockall(MCL_CURRENT);
    const int later = mlockall(MCL_CURRENT | MCL_FUTURE);
    printf("%d %d, more than 32 MiB: %d\n", now, later, status_mib("VmLck:") > 32);
}

static void *nap(void *arg)
{
    const struct timespec time = {0, 300000000};
    if (arg) {
        (void)nanosleep(&time, NULL);
    }
    return NULL;
}

/* The same behind a thread that has ended. */
static void lock_behind(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, nap, NULL);
    (void)pthread_join(thread, NULL);
    lock_all();
}

/* The same beside a thread: what the counting has mapped may be locked, but does not fill memory. */
static void lock_beside(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, nap, &thread);
    const int now = mlockall(MCL_CURRENT | MCL_FUTURE);
    printf("%d, more than 64 MiB: %d\n", now, status_mib("VmRSS:") > 64);
    (void)pthread_join(thread, NULL);
}

/* As much memory as it has left itself. */
static void limit(void)
{
    enum { PIECE = 8 << 20, MOST = 400 << 20 };
    const struct rlimit most = {MOST, MOST};
    int n = 0;
    printf("%d", setrlimit(RLIMIT_AS, &most));
    while (n < MOST / PIECE - 4 && malloc(PIECE)) {
        n++;
    }
    printf(" %d\n", n);
}

/* The same beside a thread. */
static void limit_beside(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, nap, &thread);
    limit();
    struct rlimit is;
    printf("%d\n", getrlimit(RLIMIT_AS, &is) == 0 && !malloc(is.rlim_cur));
    (void)pthread_join(thread, NULL);
}

/* Memory that is writable and executable: there is none, neither of the program nor of what counts it. */
static void writable_code(void)
{
    char line[1024];
    int n = 0;
    FILE *f = fopen(MAPS, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *flags = strchr(line, ' ');
        n += flags && strncmp(flags, " rwx", 4) == 0;
    }
    if (f) {
        (void)fclose(f);
    }
    printf("%d\n", n);
}

static const void *fault_page;

static void tell_fault(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    printf("%d where it writes: %d, stack top %04x\n", signo, info->si_addr == fault_page,
           uc->uc_mcontext.fpregs->swd >> 11 & 7);
    siglongjmp(back, 1);
}

/* With an exception that waits, since AMD's processors give the address only then: in the images of xsave, and in the
 * frame of the signal. */
static uint64_t divides_at;

static void tell_x87(int signo, siginfo_t *info, void *context)
{
    (void)info;
    const ucontext_t *uc = context;
    printf("%d x87 at %d\n", signo, uc->uc_mcontext.fpregs->rip == divides_at);
    siglongjmp(back, 1);
}

static void x87_state(void)
{
    enum { IMAGE = 16 << 10, IP = 8 };
    static uint8_t images[4][IMAGE] __attribute__((aligned(64)));
    const uint16_t trapping = 0x37b; /* division by zero is not masked */
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = tell_x87};
    uint64_t at = 0;
    (void)sigaction(SIGFPE, &act, NULL);
    __asm__ volatile("fninit; fldcw %[trapping]; fld1; fldz; 1: fdivrp %%st, %%st(1)\n\t"
                     "xsave64 (%[i0]); xsave (%[i1]); xsaveopt64 (%[i2]); xsavec64 (%[i3])\n\t"
                     "fnclex; fninit; lea 1b(%%rip), %[at]"
                     : [at] "=&r"(at)
                     : [trapping] "m"(trapping), [i0] "r"(images[0]), [i1] "r"(images[1]),
                       [i2] "r"(images[2]), [i3] "r"(images[3]), "a"(7), "d"(0)
                     : "memory");
    for (int i = 0; i < 4; i++) {
        uint64_t ip = 0;
        memcpy(&ip, images[i] + IP, i == 1 ? 4 : 8);
        printf("%d ", ip == (i == 1 ? (uint32_t)at : at));
    }
    if (sigsetjmp(back, 1) == 0) {
        __asm__ volatile("fninit; fldcw %[trapping]; lea 1f(%%rip), %[at]; mov %[at], %[kept]\n\t"
                         "fld1; fldz; 1: fdivrp %%st, %%st(1); fwait"
                         : [at] "=&r"(at), [kept] "=m"(divides_at)
                         : [trapping] "m"(trapping));
    }
}

/* Position-independent code asks the x87 unit where it is. */
static void x87(void)
{
    struct {
        uint32_t control, status, tag, ip, rest[3];
    } environment;
    uint8_t state[512] __attribute__((aligned(64))) = {0};
    uint64_t here = 0;
    for (int i = 0; i < 3; i++) {
        __asm__ volatile("1: fldz; fnstenv %0; fxsave64 %1; fstp %%st; lea 1b(%%rip), %2"
                         : "=m"(environment), "=m"(state), "=r"(here));
    }
    const uint32_t control = environment.control & 0xffff;
    uint64_t ip = 0;
    memcpy(&ip, state + 8, sizeof ip);
    printf("%d %d %x\n", environment.ip == (uint32_t)here, ip == 0 || ip == here, control);
    const int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, zero, 0);
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = tell_fault};
    (void)sigaction(SIGSEGV, &act, NULL);
    fault_page = page;
    if (sigsetjmp(back, 1) == 0) {
        __asm__ volatile("fldz; fnsave %0" : "=m"(*(char(*)[108])page));
    }
    x87_state();
}

static void tell_where(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    printf("%d at its instruction: %d\n", signo,
           (uintptr_t)info->si_addr == (uintptr_t)uc->uc_mcontext.gregs[REG_RIP]);
    siglongjmp(back, 1);
}

static void fault_addresses(void)
{
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = tell_where};
    (void)sigaction(SIGFPE, &act, NULL);
    (void)sigaction(SIGILL, &act, NULL);
    volatile int zero = 0;
    if (sigsetjmp(back, 1) == 0) {
        printf("%d\n", 5 / zero);
    }
    if (sigsetjmp(back, 1) == 0) {
        __asm__ volatile("ud2");
    }
}

/* time() of the page of system calls that old programs use, where the kernel has it */
static void old_page(void)
{
    char line[1024];
    bool there = false;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f)) {
        there |= strstr(line, "[vsyscall]") != NULL;
    }
    if (f) {
        (void)fclose(f);
    }
    const uintptr_t at = UINT64_C(0xffffffffff600400);
    time_t (*old_time)(time_t *);
    memcpy(&old_time, &at, sizeof at);
    const time_t now = time(NULL);
    time_t is = 0;
    printf("%d\n", !there || (old_time(&is) == is && is - now < 10));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } tasks[] = {
        {"rewrite", rewrite},
        {"remap", remap},
        {"jit", jit},
        {"alias", alias},
        {"cross", cross},
        {"middle", middle},
        {"edge", edge},
        {"overflow", overflow},
        {"death", overflow_to_death},
        {"resume", resume},
        {"divide", divide},
        {"nowhere", nowhere},
        {"storm", storm},
        {"storm-of-code", storm_of_code},
        {"flags", flags},
        {"unaligned", unaligned},
        {"crossfire", crossfire},
        {"nested", nested},
        {"interrupted", interrupted},
        {"children", children},
        {"contexts", switch_contexts},
        {"branches", branches},
        {"libraries", libraries},
        {"crowded", crowded},
        {"int80", old_call},
        {"gs", segment},
        {"seccomp", restricted},
        {"ptrace", traced},
        {"killed", killed},
        {"overwrite", overwrite},
        {"inflate", inflate},
        {"inflate-sites", inflate_sites},
        {"halt", halt},
        {"foreign", foreign},
        {"replaced", replaced},
        {"space", address_space},
        {"lock", lock_all},
        {"lock-behind", lock_behind},
        {"lock-beside", lock_beside},
        {"divided", divided},
        {"limit", limit},
        {"limit-beside", limit_beside},
        {"wx", writable_code},
        {"where", fault_addresses},
        {"vsyscall", old_page},
        {"x87", x87},
    };
    self = argv[0];
    if (argc > 2 && strcmp(argv[1], "chain") == 0) {
        chain((int)strtol(argv[2], NULL, 10));
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "forks") == 0) {
        forks(5);
    }
    if (argc > 1 && strcmp(argv[1], "stops") == 0) {
        stops();
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < sizeof tasks / sizeof *tasks; i++) {
        if (strcmp(argv[1], tasks[i].name) == 0) {
            tasks[i].run();
            return 0;
        }
    }
    return 2;
}
