/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests/run/test_trace.c steps: a program that does one of many tasks. Linked statically, since stepping
 * the dynamic linker takes seconds. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS_MAX = 1000 };

static volatile double sink;

/* three instructions and a flop in each turn; and 64 bytes loaded */
__attribute__((noinline)) static void work(uint64_t turns)
{
    if (turns) {
        __asm__ volatile("1:\n\tmulsd %%xmm1, %%xmm1\n\tdec %0\n\tjnz 1b"
                         : "+r"(turns)
                         :
                         : "xmm1", "cc");
    }
}

static void *work_100(void *arg)
{
    work(100);
    return arg;
}

static void run_threads(int n)
{
    pthread_t t[THREADS_MAX];
    for (int i = 0; i < n; i++) {
        if (pthread_create(&t[i], NULL, work_100, NULL) != 0) {
            _exit(9);
        }
    }
    for (int i = 0; i < n; i++) {
        (void)pthread_join(t[i], NULL);
    }
}

static void *outlive(void *arg)
{
    work(100);
    (void)usleep(20000); /* the first thread is gone */
    work(100);
    _exit(6);
    return arg;
}

static void *exec_again(void *arg)
{
    char *const argv[] = {arg, "loop", "300", NULL};
    (void)execv(arg, argv);
    return NULL;
}

static void on_signal(int signo)
{
    (void)signo;
    work(7);
}

static void signals(void)
{
    sigset_t all, before;
    (void)signal(SIGUSR1, on_signal);
    (void)signal(SIGTRAP, on_signal); /* blocked while it runs */
    (void)raise(SIGUSR1);
    (void)raise(SIGTRAP);
    (void)kill(getpid(), SIGCHLD); /* ignored by default */
    __asm__ volatile("int3");
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)raise(SIGTRAP);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    work(100);
}

static volatile sig_atomic_t ticks;

static void on_tick(int signo)
{
    (void)signo;
    ticks++;
    work(1000);
}

/* Work under a timer whose handler takes longer than its interval where every instruction traps. */
static void work_under_timer(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    (void)signal(SIGALRM, on_tick);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    while (!ticks) {
    }
    work(2000);
    work(2000);
}

/* Whoever waits for a timer gets its signal at once. */
static void wait_for_timer(void)
{
    const struct itimerval once = {{0, 0}, {0, 20000}};
    (void)signal(SIGALRM, on_tick);
    for (int i = 0; i < 3; i++) {
        (void)setitimer(ITIMER_REAL, &once, NULL);
        (void)pause();
    }
}

static volatile sig_atomic_t ended;

static void on_end(int signo)
{
    (void)signo;
    ended = 1;
}

static void work_until_term(void)
{
    (void)signal(SIGTERM, on_end);
    while (!ended) {
        work(100);
    }
}

/* A fault that a handler mends: the load is executed once. */
static volatile uint64_t mended;
static void on_fault(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)signo;
    (void)info;
    uc->uc_mcontext.gregs[REG_RAX] = (greg_t)(uintptr_t)&mended;
}

static void faults(void)
{
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_fault};
    (void)sigaction(SIGSEGV, &act, NULL);
    for (int i = 0; i < 20; i++) {
        uintptr_t at = 8;
        __asm__ volatile("mulsd (%0), %%xmm1" : "+a"(at) : : "xmm1");
    }
}

/* The same in a short loop, in each of 37 of its rounds. */
static void on_loop_fault(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)signo;
    (void)info;
    uc->uc_mcontext.gregs[REG_RDI] = (greg_t)(uintptr_t)&mended;
}

static void loop_faults(void)
{
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_loop_fault};
    (void)sigaction(SIGSEGV, &act, NULL);
    for (long rounds = 0; rounds < 37; rounds++) {
        uintptr_t at = (uintptr_t)&mended;
        long left = rounds;
        /* the fault comes in the last round but one, or never */
        __asm__ volatile("1: mulsd %%xmm1, %%xmm1\n\t"
                         "cmp $1, %1\n\t"
                         "cmove %%rax, %%rdi\n\t"
                         "addsd (%%rdi), %%xmm1\n\t"
                         "sub $1, %1\n\t"
                         "jns 1b"
                         : "+D"(at), "+r"(left)
                         : "a"(8L)
                         : "xmm1", "memory");
    }
}

/* Copies that run into a page that is not there; the handler ends them. Between them are 0 to 15 loads, so that the
 * fault's two records lie at each place of a chunk of records. */
static void on_string_fault(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)signo;
    (void)info;
    uc->uc_mcontext.gregs[REG_RCX] = 0;
}

static void string_faults(void)
{
    enum { PAGE = 4096, BYTES = 24, TIMES = 20000 };
    static char to[2 * BYTES];
    uint32_t random = 1;
    const struct sigaction act = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_string_fault};
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || munmap(page + PAGE, PAGE) != 0) {
        _exit(9);
    }
    (void)sigaction(SIGSEGV, &act, NULL);
    for (int i = 0; i < TIMES; i++) {
        const char *from = page + PAGE - BYTES;
        char *at = to;
        size_t n = sizeof to;
        random = random * 1664525 + 1013904223; /* Numerical Recipes, section 7.1 */
        for (uint32_t loads = random >> 28; loads; loads--) {
            (void)*(volatile char *)page;
        }
        __asm__ volatile("rep movsb" : "+S"(from), "+D"(at), "+c"(n) : : "memory");
    }
}

/* Code that ends with the last page that is there, and code in which a multiplication lies across two pages: two
 * multiplications each. */
static int work_at_edges(void)
{
    static const unsigned char code[] = {0xf2, 0x0f, 0x59, 0xc9, 0xf2, 0x0f, 0x59, 0xc9, 0xc3};
    enum { PAGE = 4096, PAGES = 3 };
    static const int begins[] = {PAGE - 6, 2 * PAGE - (int)sizeof code};
    unsigned char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || munmap(at + 2 * PAGE, PAGE) != 0) {
        return 9;
    }
    for (int i = 0; i < 2; i++) {
        memcpy(at + begins[i], code, sizeof code);
        __asm__ volatile("call *%0" : : "r"(at + begins[i]) : "xmm1", "memory");
    }
    return 0;
}

/* The last processor of those that it has: then it has this one, and runs on it. */
static int choose_processor(void)
{
    cpu_set_t set, got;
    int last = CPU_SETSIZE - 1;
    (void)sched_getaffinity(0, sizeof set, &set);
    while (!CPU_ISSET((size_t)last, &set)) {
        last--;
    }
    CPU_ZERO(&set);
    CPU_SET((size_t)last, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 &&
                   sched_getaffinity(0, sizeof got, &got) == 0 && CPU_EQUAL(&set, &got) &&
                   sched_getcpu() == last
               ? 3
               : 9;
}

static int child_of(void (*task)(void))
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        task();
        _exit(4);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 9;
}

static void work_a_lot(void)
{
    work(1000);
}

/* A flop right behind the system call, where parent and child go on. */
static int fork_and_multiply(void)
{
    long pid = 57; /* fork */
    int status = 9;
    __asm__ volatile("syscall\n\tmulsd %%xmm1, %%xmm1"
                     : "+a"(pid)
                     :
                     : "rcx", "r11", "xmm1", "memory");
    if (pid == 0) {
        _exit(0);
    }
    return wait(&status) == pid ? WEXITSTATUS(status) : 9;
}

static int stop_child(void)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        work(100);
        (void)raise(SIGSTOP);
        work(100);
        _exit(0);
    }
    if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status)) {
        return 8;
    }
    work(100);
    (void)kill(pid, SIGCONT);
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? 0 : 7;
}

/* Copies, fills and compares up to n bytes at offsets that are equal in their lines and that are not. */
static void move_strings(size_t n)
{
    static char from[1 << 13], to[1 << 13];
    for (size_t i = 0; i < 400; i++) {
        char *di = to + i % 5 * 64 + i * 7 % 64;
        const char *si = from + (i % 2 ? (uintptr_t)di % 64 : i * 13 % 64);
        size_t left = i * 61 % n;
        void *filled = di;
        __asm__ volatile("rep movsb" : "+S"(si), "+D"(di), "+c"(left)::"memory");
        left = i * 67 % n / 8;
        __asm__ volatile("rep stosq" : "+D"(filled), "+c"(left) : "a"(0L) : "memory");
        si = from;
        di = to;
        left = i % 100;
        __asm__ volatile("repe cmpsb" : "+S"(si), "+D"(di), "+c"(left)::"memory", "cc");
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 9;
    }
    const char *task = argv[1];
    const int n = argv[2] ? (int)strtol(argv[2], NULL, 10) : 0;
    if (strcmp(task, "loop") == 0) {
        work((uint64_t)n);
        return n % 100;
    }
    if (strcmp(task, "threads") == 0) {
        run_threads(n);
    } else if (strcmp(task, "fork") == 0) {
        return child_of(work_a_lot);
    } else if (strcmp(task, "fork-flop") == 0) {
        return fork_and_multiply();
    } else if (strcmp(task, "exec") == 0) {
        (void)execl(argv[0], argv[0], "loop", "200", (char *)NULL);
        return 9;
    } else if (strcmp(task, "exec-thread") == 0) {
        pthread_t t;
        (void)pthread_create(&t, NULL, exec_again, argv[0]);
        (void)pthread_join(t, NULL);
        return 9;
    } else if (strcmp(task, "leader") == 0) {
        pthread_t t;
        (void)pthread_create(&t, NULL, outlive, NULL);
        pthread_exit(NULL);
    } else if (strcmp(task, "crash") == 0) {
        work(100);
        __asm__ volatile("movl $1, 8");
    } else if (strcmp(task, "killed") == 0) {
        work(100);
        (void)kill(getpid(), SIGKILL);
    } else if (strcmp(task, "signals") == 0) {
        signals();
    } else if (strcmp(task, "timer") == 0) {
        work_under_timer();
    } else if (strcmp(task, "timer-wait") == 0) {
        wait_for_timer();
    } else if (strcmp(task, "term") == 0) {
        work_until_term();
    } else if (strcmp(task, "term-itself") == 0) {
        (void)signal(SIGTERM, on_signal);
        (void)kill(getpid(), SIGTERM);
    } else if (strcmp(task, "faults") == 0) {
        faults();
    } else if (strcmp(task, "loop-faults") == 0) {
        loop_faults();
    } else if (strcmp(task, "string-faults") == 0) {
        string_faults();
    } else if (strcmp(task, "strings") == 0) {
        move_strings((size_t)n);
    } else if (strcmp(task, "stop") == 0) {
        return stop_child();
    } else if (strcmp(task, "affinity") == 0) {
        cpu_set_t set;
        (void)sched_getaffinity(0, sizeof set, &set);
        return CPU_COUNT(&set);
    } else if (strcmp(task, "choice") == 0) {
        return choose_processor();
    } else if (strcmp(task, "edges") == 0) {
        return work_at_edges();
    } else if (strcmp(task, "budget") == 0) {
        int gate[2];
        char c = 0;
        if (pipe(gate) != 0) {
            return 9;
        }
        if (fork() == 0) { /* waits in the kernel when the budget ends */
            _exit(read(gate[0], &c, 1) == 1 ? 0 : 9);
        }
        work(50000000); /* seconds where every instruction traps: minutes */
        return write(gate[1], &c, 1) == 1 && wait(NULL) > 0 ? 2 : 9;
    } else if (strcmp(task, "daemon") == 0) {
        if (fork() == 0) {
            (void)usleep(200000);
            _exit(0);
        }
    }
    return 0;
}
