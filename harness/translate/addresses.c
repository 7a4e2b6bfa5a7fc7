/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/addresses.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness/translate/memory_file.h"

enum {
    FSGSBASE = 2,
    LINE = 64,
    TOGETHER =
        16, /* records of one thread before the next thread's: a core keeps a cache line for some
             * 10 ns */
    PROCESSES = 1 << 14,
    PROCESS_AT = 47,
    THREADS_MAX = 1 << 20, /* of a run: each thread takes memory */
    TURNS =
        17, /* cached look-aheads: a sample's turns and "outside of windows"; more share places */
    MOVED_PER_NS = 512, /* most bytes that a CPU moves: more than one line in each cycle */
};

/* A full chunk, and how many of its records have been taken. The program can overwrite the
 * memory that it shares with carm at any time, so each shared value is read once, and only the
 * copy is used. */
struct pending {
    uint32_t chunk, at;
    struct carm_chunk of;
    bool is_first, is_last; /* of the chunks of its thread */
};

struct carm_addresses {
    const struct carm_address_sink *sink;
    int fd;
    struct carm_records *shared; /* MAP_FAILED: none */
    pthread_t thread;
    bool started;
    atomic_bool ended;
    bool wrong;            /* a record is impossible: the program has overwritten it */
    uint64_t begun, moved; /* ns; bytes of repeated instructions since then */
    double cpus;
    struct pending pending[CARM_CHUNKS];
    uint32_t npending, nthreads;         /* threads with pending chunks */
    uint32_t latest[CARM_CHUNKS_OWNERS]; /* by a thread's number modulo CARM_CHUNKS_OWNERS: 1 +
                                          * its latest pending chunk */
    bool late[CARM_CHUNKS];              /* chunks that are being filled, for which the merge
                                          * does not wait */
    int32_t processes[PROCESSES];        /* by number */
    uint32_t nprocesses;
    struct {
        uint64_t si, di;
        bool waits;
    } * repeats; /* [repeats_max] of each thread: before a repeated instruction */
    uint32_t repeats_max;
    struct ahead {
        uint32_t turn;                /* 1 + the turn of its windows; 0 = none */
        uint16_t lines[CARM_CLASSES]; /* from one to the next that is recorded, by class */
    } ahead[TURNS];
};

static const struct carm_record *records_of(const struct carm_addresses *a, uint32_t chunk)
{
    return (const struct carm_record *)(const void *)((const char *)a->shared + CARM_CHUNKS_AT +
                                                      (size_t)chunk * CARM_CHUNK_BYTES);
}

static uint64_t process_bits(struct carm_addresses *a, int32_t pid)
{
    uint32_t i = a->nprocesses;
    while (i > 0 && a->processes[i - 1] !=
                        pid) { /* from the end: the latest processes are the most likely */
        i--;
    }
    if (i == 0 && a->nprocesses < PROCESSES) {
        a->processes[a->nprocesses++] = pid;
        i = a->nprocesses;
    }
    return (uint64_t)(i ? i - 1 : PROCESSES - 1) << PROCESS_AT;
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* Whether the program can have moved `bytes` more bytes in the time that has passed. */
static bool moved(struct carm_addresses *a, uint64_t bytes)
{
    enum { AT_ONCE = 1 << 30 };
    a->moved = bytes > UINT64_MAX - a->moved ? UINT64_MAX : a->moved + bytes;
    if (a->moved > AT_ONCE) {
        const double most = (double)(now() - a->begun) * MOVED_PER_NS * a->cpus;
        a->wrong |= (double)a->moved > most;
    }
    return !a->wrong;
}

static uint64_t to_line_end(uint64_t at, uint64_t most)
{
    const uint64_t left = LINE - at % LINE;
    return left < most ? left : most;
}

/* turn  of windows; the sample's number of turns = outside of windows
 * returns by class, the distance in lines to the next recorded line; CARM_CLASSES = none is recorded */
static const uint16_t *look_ahead(struct carm_addresses *a, uint32_t turn)
{
    const struct carm_record_sample *s = &a->sink->sample;
    struct ahead *to = &a->ahead[turn % TURNS];
    uint16_t lines = CARM_CLASSES;
    for (size_t c = to->turn == turn + 1 ? 0 : (size_t)2 * CARM_CLASSES; c > 0; c--) {
        const size_t class = (c - 1) % CARM_CLASSES;
        const bool recorded = s->classes[class] || s->turn[class] == turn;
        lines = recorded ? 0 : lines < CARM_CLASSES ? lines + 1 : CARM_CLASSES;
        to->lines[class] = lines;
    }
    to->turn = turn + 1;
    return to->lines;
}

/* The bytes that a string instruction loads by rsi, or loads or stores by rdi. */
struct stream {
    bool any;
    enum carm_address_kind kind;
    uint64_t at, passed; /* the next address; accesses to lines that are not recorded */
};

/* Number of accesses of each stream to the next bytes: an access ends at the end of a line of any stream. */
static uint64_t accesses(const struct stream *s, uint64_t bytes)
{
    const bool together = s[0].any && s[1].any && s[0].at % LINE == s[1].at % LINE;
    uint64_t n = 0;
    bool ends = false;
    for (size_t i = 0; i < 2; i++) {
        n += s[i].any && !(i && together) ? (s[i].at % LINE + bytes) / LINE : 0;
        ends = ends || (s[i].any && (s[i].at + bytes) % LINE == 0);
    }
    return n + !ends;
}

/* A string instruction that moves upwards: one access for each line. */
static void repeat_lines(struct carm_addresses *a, uint32_t thread, struct stream s[2],
                         uint64_t left, const struct carm_address_by *by)
{
    const struct carm_address_sink *sink = a->sink;
    const uint32_t turn = by->window ? by->window / 2 % sink->sample.turns : sink->sample.turns;
    const uint16_t *ahead = look_ahead(a, turn);
    while (left) {
        uint64_t some = left,
                 none = sink->passed ? left : 0; /* bytes of lines that are not recorded */
        for (size_t i = 0; i < 2; i++) {
            const uint64_t lines = s[i].any ? ahead[s[i].at / LINE % CARM_CLASSES] : UINT16_MAX;
            const uint64_t to_recorded = lines ? lines * LINE - s[i].at % LINE : 0;
            some = s[i].any ? to_line_end(s[i].at, some) : some;
            none = s[i].any && to_recorded < none ? to_recorded : none;
        }
        const uint64_t n = none ? accesses(s, none) : 1;
        some = none ? none : some;
        for (size_t i = 0; i < 2; i++) {
            const bool passes = sink->passed && ahead[s[i].at / LINE % CARM_CLASSES];
            s[i].passed += s[i].any && passes ? n : 0;
            if (s[i].any && !passes) {
                sink->take(sink->arg, thread, s[i].at, (uint32_t)some, s[i].kind, by);
            }
            s[i].at += some;
        }
        left -= some;
    }
    for (size_t i = 0; i < 2; i++) {
        if (s[i].passed) {
            sink->passed(sink->arg, s[i].passed, s[i].kind, by);
        }
    }
}

/* An access for each element of a repeated string instruction, loads before stores. */
static void repeat(struct carm_addresses *a, uint32_t thread, uint64_t process, uint32_t what,
                   uint64_t si, uint64_t si_end, uint64_t di, uint64_t di_end,
                   const struct carm_address_by *by)
{
    const uint32_t bytes = what & CARM_REPEAT_BYTES;
    const uint64_t way = what & CARM_REPEAT_LOAD_SI ? si_end - si : di_end - di;
    const bool down = (int64_t)way < 0;
    const uint64_t n = bytes ? (down ? 0 - way : way) / bytes : 0;
    if (!moved(a, n * bytes)) {
        return;
    }
    if (a->sink->sample.wanted && !down) {
        struct stream s[2] = {
            {(what & CARM_REPEAT_LOAD_SI) != 0, CARM_ADDRESS_LOAD, si | process, 0},
            {(what & (CARM_REPEAT_LOAD_DI | CARM_REPEAT_STORE_DI)) != 0,
             what & CARM_REPEAT_STORE_DI ? CARM_ADDRESS_STORE : CARM_ADDRESS_LOAD, di | process,
             0}};
        repeat_lines(a, thread, s, n * bytes, by);
        return;
    }
    const uint64_t step = down ? 0 - (uint64_t)bytes : bytes;
    for (uint64_t i = 0; i < n; i++, si += step, di += step) {
        if (what & CARM_REPEAT_LOAD_SI) {
            a->sink->take(a->sink->arg, thread, si | process, bytes, CARM_ADDRESS_LOAD, by);
        }
        if (what & CARM_REPEAT_LOAD_DI) {
            a->sink->take(a->sink->arg, thread, di | process, bytes, CARM_ADDRESS_LOAD, by);
        }
        if (what & CARM_REPEAT_STORE_DI) {
            a->sink->take(a->sink->arg, thread, di | process, bytes, CARM_ADDRESS_STORE, by);
        }
    }
}

static bool room_for(struct carm_addresses *a, uint32_t thread)
{
    uint32_t max = a->repeats_max ? a->repeats_max : 64;
    while (max <= thread) {
        max *= 2;
    }
    if (max > a->repeats_max) {
        void *more = realloc(a->repeats, max * sizeof *a->repeats);
        if (!more) {
            return false;
        }
        a->repeats = more;
        memset(a->repeats + a->repeats_max, 0, (max - a->repeats_max) * sizeof *a->repeats);
        a->repeats_max = max;
    }
    return true;
}

/* Takes one record, or the two records before or after a string instruction. returns the number of records taken
 * n  records that are left in the chunk, at least 1 */
static uint32_t take_one(struct carm_addresses *a, const struct carm_chunk *chunk,
                         const struct carm_record *shared, uint32_t n, uint64_t process)
{
    struct carm_record r[2] = {{.what = 0}};
    memcpy(r, shared, (n < 2 ? n : 2) * sizeof *r);
    const unsigned kind = r->what >> CARM_RECORD_KIND_AT & 7;
    if (kind > CARM_RECORD_BEHIND || (kind >= CARM_RECORD_BEFORE && n < 2)) {
        a->wrong = true;
        return n;
    }
    const struct carm_address_by by = {chunk->program,
                                       r->what >> CARM_RECORD_BLOCK_AT,
                                       r->at & ~CARM_RECORD_VARIES,
                                       (r->at & CARM_RECORD_VARIES) != 0 ||
                                           kind >= CARM_RECORD_BEFORE,
                                       kind >= CARM_RECORD_BEFORE,
                                       chunk->window};
    if (kind < CARM_RECORD_BEFORE) {
        a->sink->take(a->sink->arg, chunk->thread,
                      (r->address & ((UINT64_C(1) << PROCESS_AT) - 1)) | process,
                      r->what & CARM_RECORD_BYTES_MAX, (enum carm_address_kind)kind, &by);
        return 1;
    }
    if (room_for(a, chunk->thread)) {
        const bool before = kind == CARM_RECORD_BEFORE;
        if (!before && a->repeats[chunk->thread].waits) {
            repeat(a, chunk->thread, process, r->what, a->repeats[chunk->thread].si, r[0].address,
                   a->repeats[chunk->thread].di, r[1].address, &by);
        }
        a->repeats[chunk->thread].si = r[0].address;
        a->repeats[chunk->thread].di = r[1].address;
        a->repeats[chunk->thread].waits = before;
    }
    return 2;
}

static int by_begin(const void *a, const void *b)
{
    const struct carm_chunk *x = &((const struct pending *)a)->of;
    const struct carm_chunk *y = &((const struct pending *)b)->of;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Whether a full chunk's header is within the bounds that the engine keeps. */
static bool plausible(const struct carm_chunk *chunk)
{
    return chunk->n <= CARM_CHUNK_RECORDS && chunk->thread < THREADS_MAX &&
           chunk->begin <= chunk->end;
}

/* The number of chunks that were used so far. */
static uint32_t top_of(const struct carm_addresses *a)
{
    const uint32_t top = __atomic_load_n(&a->shared->top, __ATOMIC_ACQUIRE);
    return top < CARM_CHUNKS ? top : CARM_CHUNKS;
}

/* Takes the chunks that became full. left: takes the unfinished chunks of ended threads, too */
static void collect(struct carm_addresses *a, bool left)
{
    for (uint32_t i = 0; i < top_of(a); i++) {
        const struct carm_chunk *chunk = &a->shared->chunks[i];
        const uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
        bool known = state == CARM_CHUNK_FREE || (state == CARM_CHUNK_FILLING && !left);
        for (uint32_t k = 0; !known && k < a->npending; k++) {
            known = a->pending[k].chunk == i;
        }
        if (known) {
            continue;
        }
        struct pending *p = &a->pending[a->npending++];
        *p = (struct pending){.chunk = i};
        memcpy(&p->of, chunk, sizeof p->of);
        if (state == CARM_CHUNK_FILLING) {
            uint32_t n = 0;
            while (n < CARM_CHUNK_RECORDS && records_of(a, i)[n].what) {
                n++;
            }
            p->of.n = n;
            p->of.end = p->of.begin + n;
        }
        if (!plausible(&p->of)) {
            a->wrong = true;
            p->of = (struct carm_chunk){.n = CARM_CHUNK_RECORDS};
        }
    }
    qsort(a->pending, a->npending, sizeof a->pending[0], by_begin);
}

static void release(struct carm_addresses *a, uint32_t i)
{
    const struct carm_chunk *of = &a->pending[i].of;
    struct carm_chunk *chunk = &a->shared->chunks[a->pending[i].chunk];
    memset((char *)a->shared + CARM_CHUNKS_AT + (size_t)a->pending[i].chunk * CARM_CHUNK_BYTES, 0,
           of->n * sizeof(struct carm_record));
    a->late[a->pending[i].chunk] = false;
    chunk->begin = 0;
    if (__atomic_exchange_n(&chunk->state, CARM_CHUNK_FREE, __ATOMIC_ACQ_REL) == CARM_CHUNK_FULL) {
        __atomic_fetch_sub(&a->shared->full[of->thread % CARM_CHUNKS_OWNERS], 1, __ATOMIC_ACQ_REL);
    }
    __atomic_fetch_add(&a->shared->taken, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, &a->shared->taken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    a->npending--;
    memmove(a->pending + i, a->pending + i + 1, (a->npending - i) * sizeof a->pending[0]);
}

static double time_of(const struct pending *p)
{
    const struct carm_chunk *c = &p->of;
    return (double)c->begin + (double)(c->end - c->begin) * p->at / (c->n ? c->n : 1);
}

/* Marks each thread's first and last pending chunk. returns the number of threads with pending
 * chunks */
static uint32_t mark(struct carm_addresses *a)
{
    uint32_t threads = 0;
    memset(a->latest, 0, sizeof a->latest);
    for (uint32_t i = 0; i < a->npending; i++) {
        uint32_t *latest = &a->latest[a->pending[i].of.thread % CARM_CHUNKS_OWNERS];
        a->pending[i].is_first = *latest == 0;
        a->pending[i].is_last = true;
        if (*latest) {
            a->pending[*latest - 1].is_last = false;
        }
        threads += *latest == 0;
        *latest = i + 1;
    }
    return threads;
}

/* Takes the earliest records of all threads: some of these, or all records of a single thread.
 * until: latest time. returns false when no record was taken */
static bool take_some(struct carm_addresses *a, double until)
{
    uint32_t first = a->npending;
    double earliest = until;
    for (uint32_t i = 0; i < a->npending; i++) {
        if ((double)a->pending[i].of.begin > earliest) {
            break; /* the chunks are in order of time */
        }
        const double at = a->pending[i].is_first ? time_of(&a->pending[i]) : INFINITY;
        if (at <= earliest) {
            first = i;
            earliest = at;
        }
    }
    if (first == a->npending) {
        return false;
    }
    struct pending *p = &a->pending[first];
    const struct carm_chunk *chunk = &p->of;
    const uint64_t process = process_bits(a, chunk->process);
    const uint32_t end = a->nthreads > 1 ? p->at + TOGETHER : chunk->n;
    while (p->at < chunk->n && p->at < end && !a->wrong) {
        p->at += take_one(a, chunk, records_of(a, p->chunk) + p->at, chunk->n - p->at, process);
    }
    if (p->at >= chunk->n || a->wrong) {
        release(a, first);
        a->nthreads = mark(a);
    }
    return true;
}

/* Takes records up to the time until which every thread's records are known, from pending chunks
 * and chunks that are being filled. returns false when no record was taken */
static bool merge(struct carm_addresses *a, bool all)
{
    bool any = false;
    double until = (double)UINT64_MAX;
    a->nthreads = mark(a);
    for (uint32_t i = 0; i < a->npending && !all; i++) {
        if (a->pending[i].is_last) {
            until = fmin(until, (double)a->pending[i].of.end);
        }
    }
    for (uint32_t i = 0; i < top_of(a) && !all; i++) {
        const struct carm_chunk *c = &a->shared->chunks[i];
        if (!a->late[i] && __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == CARM_CHUNK_FILLING) {
            until = fmin(until, (double)__atomic_load_n(&c->begin, __ATOMIC_ACQUIRE));
        }
    }
    while (take_some(a, until)) {
        any = true;
    }
    return any;
}

/* Stops waiting for the chunks that are being filled: their records may come after later records
 * of other threads. */
static void leave_behind(struct carm_addresses *a)
{
    for (uint32_t i = 0; i < top_of(a); i++) {
        a->late[i] |=
            __atomic_load_n(&a->shared->chunks[i].state, __ATOMIC_ACQUIRE) == CARM_CHUNK_FILLING;
    }
}

static void *work(void *arg)
{
    struct carm_addresses *a = arg;
    const struct timespec moment = {0, 20000000};
    for (;;) {
        const uint32_t bell = __atomic_load_n(&a->shared->bell, __ATOMIC_ACQUIRE);
        if (atomic_load(&a->ended)) { /* after the bell: `stop` rings after it has set this */
            break;
        }
        collect(a, false);
        if (!merge(a, false) &&
            syscall(SYS_futex, &a->shared->bell, FUTEX_WAIT, bell, &moment, NULL, 0) != 0 &&
            errno == ETIMEDOUT && a->npending) {
            leave_behind(a);
        }
    }
    return NULL;
}

bool carm_addresses_sampled_here(void)
{
    return __builtin_cpu_supports("bmi2");
}

int carm_addresses_open(struct carm_addresses **out, const struct carm_address_sink *sink,
                        struct carm_err *err)
{
    if (!(getauxval(AT_HWCAP2) & FSGSBASE)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "addresses cannot be recorded: this kernel does not allow rdfsbase (Linux "
                         "5.9 and later do)");
    }
    if (sink->sample.wanted && !carm_addresses_sampled_here()) {
        return carm_fail(err, CARM_ENOTSUP, "sampling needs a CPU with BMI2: leave --sample out");
    }
    struct carm_addresses *a = calloc(1, sizeof *a);
    if (!a) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to record addresses");
    }
    a->sink = sink;
    a->shared = MAP_FAILED;
    a->begun = now();
    a->cpus = fmax(1.0, (double)sysconf(_SC_NPROCESSORS_CONF));
    a->fd = carm_memory_file("carm-addresses", CARM_RECORDS_BYTES);
    if (a->fd >= 0) {
        a->shared = mmap(NULL, CARM_RECORDS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
    }
    if (a->shared != MAP_FAILED) {
        madvise(a->shared, CARM_RECORDS_BYTES, MADV_DONTDUMP);
    }
    a->started = a->shared != MAP_FAILED && pthread_create(&a->thread, NULL, work, a) == 0;
    if (!a->started) {
        carm_addresses_close(a);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to record addresses");
    }
    *out = a;
    return 0;
}

const struct carm_record_sample *carm_addresses_sample(const struct carm_addresses *addresses)
{
    return &addresses->sink->sample;
}

int carm_addresses_fd(const struct carm_addresses *addresses)
{
    return addresses->fd;
}

static void stop(struct carm_addresses *a)
{
    if (a->started) {
        atomic_store(&a->ended, true);
        __atomic_fetch_add(&a->shared->bell, 1, __ATOMIC_ACQ_REL);
        syscall(SYS_futex, &a->shared->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        pthread_join(a->thread, NULL);
        a->started = false;
    }
}

bool carm_addresses_drain(struct carm_addresses *addresses)
{
    stop(addresses);
    collect(addresses, true);
    merge(addresses, true);
    return !addresses->wrong;
}

void carm_addresses_close(struct carm_addresses *addresses)
{
    if (addresses) {
        stop(addresses);
        if (addresses->shared != MAP_FAILED) {
            munmap(addresses->shared, CARM_RECORDS_BYTES);
        }
        carm_fd_close(addresses->fd);
        free(addresses->repeats);
        free(addresses);
    }
}
