/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/sample.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "harness/profile/perf.h"
#include "harness/profile/timer.h"

enum {
    DRAIN_NS = 50 * 1000000,  /* between two readings of the records */
    PAGES_NS = 100 * 1000000, /* from the start to the first look at its pages */
    COMPACT_FROM = 1 << 18,   /* samples */
};

struct map {
    uint64_t begin, end, offset;
    uint32_t module;
};

struct process {
    struct map *maps; /* later maps hide earlier maps of the same addresses */
    size_t n, room;
};

struct carm_sampler {
    struct carm_perf *perf;   /* NULL: the timer, or not begun */
    struct carm_timer *timer; /* NULL: perf_event_open works */
    struct carm_err why;      /* why perf_event_open does not work */
    unsigned hz;
    const uint8_t *kinds; /* [nkinds] of each processor */
    size_t nkinds;
    pthread_t thread;
    bool started;
    uint64_t start;    /* ns */
    uint64_t realtime; /* ns from CLOCK_MONOTONIC to CLOCK_REALTIME */
    sem_t ended;       /* posted at the end of the program */

    struct carm_names pids, tids;
    struct process *processes; /* by number in pids */
    size_t nprocesses, processes_room;
    size_t compact_at;
    pid_t pid;
    uint64_t most_kib; /* largest own memory so far */
    int cpu;           /* of the latest sample; -1 = not known */
    struct carm_samples samples;
    bool no_memory;
};

void carm_samples_close(struct carm_samples *samples)
{
    carm_modules_close(&samples->modules);
    free(samples->samples);
    memset(samples, 0, sizeof *samples);
}

static uint32_t number_of(struct carm_sampler *s, struct carm_names *names, uint32_t id)
{
    char text[16];
    uint32_t number = 0;
    const int n = snprintf(text, sizeof text, "%u", id);
    s->no_memory |= carm_names_add(names, text, (size_t)n, &number) != 0;
    return number;
}

static struct process *process_of(struct carm_sampler *s, uint32_t pid)
{
    static struct process none;
    const uint32_t number = number_of(s, &s->pids, pid);
    if (number >= s->nprocesses) {
        if (carm_array_grow(&s->processes, &s->processes_room, s->nprocesses, 1,
                            sizeof *s->processes, "samples", NULL) != 0) {
            s->no_memory = true;
            memset(&none, 0, sizeof none);
            return &none;
        }
        memset(&s->processes[s->nprocesses++], 0, sizeof *s->processes);
    }
    return &s->processes[number];
}

static void add_map(struct carm_sampler *s, struct process *p, const struct map *map)
{
    if (carm_array_append(&p->maps, &p->room, &p->n, map, sizeof *map, "samples", NULL) != 0) {
        s->no_memory = true;
    }
}

static void on_fork(struct carm_sampler *s, uint32_t pid, uint32_t parent_pid)
{
    (void)process_of(s, pid); /* a new process may move the array */
    const struct process *parent = process_of(s, parent_pid);
    struct process *child = process_of(s, pid);
    child->n = 0;
    for (size_t i = 0; i < parent->n; i++) {
        add_map(s, child, &parent->maps[i]);
    }
}

static uint32_t no_module(struct carm_sampler *s)
{
    uint32_t number = 0;
    s->no_memory |=
        carm_modules_add(&s->samples.modules, "", 0, CARM_MODULE_UNREAD, -1, &number) != 0;
    return number;
}

static uint32_t module_of(struct carm_sampler *s, const struct carm_record *r)
{
    uint32_t number = 0;
    char path[PATH_MAX];
    const struct carm_mapping mapping = {.pid = (pid_t)r->pid,
                                         .root = -1,
                                         .begin = r->at,
                                         .end = r->end,
                                         .inode = r->inode,
                                         .time_ns = r->time + s->realtime};
    snprintf(path, sizeof path, "%.*s", (int)r->path_room, r->path);
    const bool file = (path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) != 0) ||
                      strcmp(path, "[vdso]") == 0;
    if (!file) {
        return no_module(s);
    }
    s->no_memory |=
        carm_modules_find(&s->samples.modules, path, strlen(path), &mapping, &number) != 0;
    return number;
}

static int by_place(const void *left, const void *right)
{
    const struct carm_sample *a = left;
    const struct carm_sample *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

void carm_sample_merge(struct carm_sample *a, const struct carm_sample *b)
{
    a->n += b->n;
    a->first = b->first < a->first ? b->first : a->first;
    a->last = b->last > a->last ? b->last : a->last;
    for (int i = 0; i < CARM_SAMPLE_KINDS; i++) {
        a->on[i] += b->on[i];
    }
}

static void compact(struct carm_samples *samples)
{
    size_t n = 0;
    if (samples->nsamples) {
        qsort(samples->samples, samples->nsamples, sizeof *samples->samples, by_place);
    }
    for (size_t i = 0; i < samples->nsamples; i++) {
        if (n && by_place(&samples->samples[n - 1], &samples->samples[i]) == 0) {
            carm_sample_merge(&samples->samples[n - 1], &samples->samples[i]);
        } else {
            samples->samples[n++] = samples->samples[i];
        }
    }
    samples->nsamples = n;
}

int carm_samples_add(struct carm_samples *to, const struct carm_samples *from, struct carm_err *err)
{
    int rc = carm_array_grow(&to->samples, &to->room, to->nsamples, from->nsamples,
                             sizeof *to->samples, "samples", err);
    for (size_t i = 0; i < from->nsamples && !rc; i++) {
        struct carm_sample *sample = &to->samples[to->nsamples];
        *sample = from->samples[i];
        if (carm_modules_copy(&to->modules, &from->modules, &sample->module) != 0) {
            rc = carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
        } else {
            to->nsamples++;
            to->total += sample->n;
        }
    }
    if (to->total) {
        to->period += (from->period - to->period) * (double)from->total / (double)to->total;
    }
    to->lost += from->lost;
    to->begun += from->begun;
    to->weight += from->weight;
    to->threads = from->threads > to->threads ? from->threads : to->threads;
    to->looks = from->looks.n > to->looks.n ? from->looks : to->looks;
    compact(to);
    return rc;
}

static void on_sample(struct carm_sampler *s, const struct carm_record *r)
{
    struct carm_samples *to = &s->samples;
    const struct process *p = process_of(s, r->pid);
    const uint64_t ip = r->at;
    struct carm_sample sample = {.thread = number_of(s, &s->tids, r->tid),
                                 .at = ip,
                                 .n = 1,
                                 .first = r->time - s->start,
                                 .last = r->time - s->start};
    const struct map *map = NULL;
    s->cpu = (int)r->cpu - 1;
    if (r->cpu > 0 && r->cpu <= s->nkinds && s->kinds[r->cpu - 1] < CARM_SAMPLE_KINDS) {
        sample.on[s->kinds[r->cpu - 1]] = 1;
    }
    for (size_t i = p->n; i > 0 && !map; i--) {
        const struct map *m = &p->maps[i - 1];
        map = ip >= m->begin && ip < m->end ? m : NULL;
    }
    sample.module = map ? map->module : no_module(s);
    if (map && *carm_modules_path(&to->modules, map->module)) {
        sample.at = ip - map->begin + map->offset;
    }
    if (to->nsamples >= s->compact_at) {
        compact(to);
        s->compact_at = 2 * to->nsamples > COMPACT_FROM ? 2 * to->nsamples : COMPACT_FROM;
    }
    if (carm_array_grow(&to->samples, &to->room, to->nsamples, 1, sizeof *to->samples, "samples",
                        NULL) != 0) {
        s->no_memory = true;
        to->lost++;
        return;
    }
    to->samples[to->nsamples++] = sample;
    to->total++;
    to->weight += r->weight;
}

static void on_record(void *arg, const struct carm_record *r)
{
    struct carm_sampler *s = arg;
    switch (r->kind) {
    case CARM_RECORD_SAMPLE:
        on_sample(s, r);
        break;
    case CARM_RECORD_MAP: {
        const struct map map = {
            .begin = r->at, .end = r->end, .offset = r->offset, .module = module_of(s, r)};
        add_map(s, process_of(s, r->pid), &map);
        break;
    }
    case CARM_RECORD_FORK:
        s->samples.begun++;
        if (r->pid != r->tid) {
            on_fork(s, r->pid, r->tid);
        }
        break;
    case CARM_RECORD_EXEC:
        process_of(s, r->pid)->n = 0;
        break;
    }
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* Reads the records up to a time. last: the program has ended */
static void read_records(struct carm_sampler *s, uint64_t until, bool last)
{
    if (s->timer) {
        carm_timer_read(s->timer, last, on_record, s);
    } else {
        s->samples.lost += carm_perf_read(s->perf, until, on_record, s);
    }
}

static uint64_t kib_behind(const char *line, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 ? strtoull(line + n, NULL, 10) : 0;
}

double carm_samples_huge(FILE *rollup, uint64_t *kib)
{
    char line[128];
    uint64_t huge = 0;
    *kib = 0;
    while (fgets(line, sizeof line, rollup)) {
        const uint64_t reserved = kib_behind(line, "Private_Hugetlb:");
        *kib += kib_behind(line, "Anonymous:") + reserved;
        huge += kib_behind(line, "AnonHugePages:") + reserved;
    }
    return *kib ? (double)huge / (double)*kib : 0.0;
}

/* Keeps the share of huge pages at the time of the program's largest memory. */
static void note_pages(struct carm_sampler *s)
{
    char path[64];
    uint64_t kib = 0;
    snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", (long)s->pid);
    FILE *f = fopen(path, "re");
    const double huge = f ? carm_samples_huge(f, &kib) : 0.0;
    if (f) {
        (void)fclose(f);
    }
    if (kib >= s->most_kib && kib > 0) {
        s->most_kib = kib;
        s->samples.huge = huge;
    }
}

static void *reader(void *arg)
{
    struct carm_sampler *s = arg;
    const uint64_t margin = 1000000; /* a record may enter the ring this long after its time */
    uint64_t pages_at = s->start + PAGES_NS;
    struct timespec next;
    carm_looks_begin(&s->samples.looks);
    do {
        const uint64_t now = now_ns(CLOCK_MONOTONIC);
        s->cpu = -1;
        read_records(s, now - margin, false);
        carm_looks_take(&s->samples.looks, s->cpu);
        if (now >= pages_at) {
            note_pages(s); /* the kernel walks all page tables for this, so intervals double */
            pages_at = now + (now - s->start);
        }
        const uint64_t at = now_ns(CLOCK_REALTIME) + DRAIN_NS;
        next = (struct timespec){(time_t)(at / 1000000000U), (long)(at % 1000000000U)};
    } while (sem_timedwait(&s->ended, &next) != 0);
    carm_looks_end(&s->samples.looks);
    return NULL;
}

static void close_all(struct carm_sampler *s)
{
    for (size_t i = 0; i < s->nprocesses; i++) {
        free(s->processes[i].maps);
    }
    free(s->processes);
    carm_names_close(&s->pids);
    carm_names_close(&s->tids);
    carm_perf_close(s->perf);
    carm_timer_close(s->timer);
    carm_samples_close(&s->samples);
    free(s);
}

int carm_sampler_open(struct carm_sampler **out, unsigned hz, struct carm_err *err)
{
    struct carm_perf *probe = NULL;
    struct carm_sampler *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    carm_names_open(&s->pids);
    carm_names_open(&s->tids);
    carm_modules_open(&s->samples.modules);
    s->compact_at = COMPACT_FROM;
    s->hz = hz;
    s->samples.period = 1.0 / hz;
    const int works = carm_perf_open(&probe, 0, hz, &s->why);
    carm_perf_close(probe);
    const int rc = works == -CARM_ENOTSUP ? carm_timer_open(&s->timer, hz, err) : works;
    if (rc) {
        close_all(s);
        return works == -CARM_ENOTSUP
                   ? rc
                   : carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    *out = s;
    return 0;
}

void carm_sampler_kinds(struct carm_sampler *s, const uint8_t *kinds, size_t n)
{
    s->kinds = kinds;
    s->nkinds = n;
}

char *const *carm_sampler_environment(const struct carm_sampler *s)
{
    return s && s->timer ? carm_timer_environment(s->timer) : environ;
}

int carm_sampler_begin(struct carm_sampler *s, pid_t pid, struct carm_err *err)
{
    sigset_t all, before; /* the thread that waits for the program handles the signals */
    s->start = now_ns(CLOCK_MONOTONIC);
    s->realtime = now_ns(CLOCK_REALTIME) - s->start;
    s->pid = pid;
    const int rc = s->timer ? 0 : carm_perf_open(&s->perf, pid, s->hz, err);
    if (rc) {
        return rc;
    }
    sem_init(&s->ended, 0, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int code = pthread_create(&s->thread, NULL, reader, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->started = code == 0;
    return code ? carm_fail(err, CARM_ENOMEM, "cannot read samples: %s", strerror(code)) : 0;
}

/* Notes failures of the preloaded timer. returns 0, or -CARM_ENOTSUP when no program loaded it */
static int judge_timer(const struct carm_slots *slots, struct carm_samples *samples,
                       const struct carm_err *why, struct carm_err *err)
{
    samples->preloaded = true;
    samples->lost += slots->lost;
    if (!slots->attached) {
        return carm_fail(
            err, CARM_ENOTSUP,
            "%.200s; or link the program dynamically: the preloaded timer, which takes samples "
            "without perf_event_open, does not reach static or set-user-id programs",
            why->text);
    }
    if (samples->weight) {
        samples->period *= (double)samples->weight / (double)samples->total;
    }
    if (slots->stopped) {
        const bool one = slots->stopped == 1;
        snprintf(
            samples->incomplete, sizeof samples->incomplete,
            "%u process%s of the program use%s signal %u, which the samples need: %s none from "
            "then on",
            slots->stopped, one ? "" : "es", one ? "s" : "", slots->sig,
            one ? "it has" : "they have");
    } else if (slots->untimed) {
        snprintf(samples->incomplete, sizeof samples->incomplete,
                 "%u thread%s got no timer (%s), and no samples%s", slots->untimed,
                 slots->untimed == 1 ? "" : "s", strerror(slots->error),
                 slots->error == EAGAIN ? ": raise `ulimit -i`" : "");
    }
    return 0;
}

int carm_sampler_close(struct carm_sampler *s, struct carm_samples *samples, struct carm_err *err)
{
    int rc = 0;
    if (!s) {
        return 0;
    }
    if (s->started) {
        sem_post(&s->ended);
        pthread_join(s->thread, NULL);
        sem_destroy(&s->ended);
        read_records(s, UINT64_MAX, true);
    }
    const uint64_t lost = s->perf ? carm_perf_lost(s->perf) : 0;
    s->samples.lost = lost > s->samples.lost ? lost : s->samples.lost;
    compact(&s->samples);
    s->samples.threads = s->tids.n;
    if (s->no_memory) {
        snprintf(s->samples.incomplete, sizeof s->samples.incomplete,
                 "there was not enough memory for all samples");
    }
    if (samples && s->timer) {
        rc = judge_timer(carm_timer_slots(s->timer), &s->samples, &s->why, err);
    }
    if (samples && !rc) {
        *samples = s->samples;
        memset(&s->samples, 0, sizeof s->samples);
    }
    close_all(s);
    return rc;
}
