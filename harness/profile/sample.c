/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum {
    PAGES_MAX = 64,          /* of a ring: some 6 seconds of samples */
    DRAIN_NS = 50 * 1000000, /* from one reading to the next */
    COMPACT_FROM = 1 << 18,  /* samples */
    SAMPLE_ID = 16,          /* bytes at the end of other records: pid, tid, time */
};

struct ring {
    int fd;
    struct perf_event_mmap_page *page;
    size_t bytes; /* of data, a power of two */
};

struct map {
    uint64_t begin, end, offset;
    uint32_t module;
};

struct process {
    struct map *maps; /* the last ones hide the first ones */
    size_t n, room;
};

struct record {
    uint64_t time;
    size_t at; /* in the bytes */
};

struct carm_sampler {
    struct ring *rings;
    size_t nrings;
    pthread_t thread;
    bool started;
    uint64_t start; /* ns */
    int ended;      /* atomic */
    size_t page;

    uint8_t *bytes; /* of records that wait for earlier ones of other processors */
    size_t used, room;
    struct record *records;
    size_t nrecords, records_room;

    struct carm_names pids, tids;
    struct process *processes; /* by number in pids */
    size_t nprocesses, processes_room;
    size_t compact_at;
    struct carm_samples samples;
    bool no_memory;
};

void carm_samples_close(struct carm_samples *samples)
{
    carm_names_close(&samples->modules);
    free(samples->samples);
    memset(samples, 0, sizeof *samples);
}

/* ---- places ---- */

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
    if (carm_array_grow(&p->maps, &p->room, p->n, 1, sizeof *p->maps, "samples", NULL) != 0) {
        s->no_memory = true;
        return;
    }
    p->maps[p->n++] = *map;
}

static void on_fork(struct carm_sampler *s, const uint32_t *ids) /* pid, ppid */
{
    if (ids[0] == ids[1]) {
        return; /* a thread */
    }
    (void)process_of(s, ids[0]); /* a new one may move the others */
    const struct process *parent = process_of(s, ids[1]);
    struct process *child = process_of(s, ids[0]);
    child->n = 0;
    for (size_t i = 0; i < parent->n; i++) {
        add_map(s, child, &parent->maps[i]);
    }
}

static uint32_t module_of(struct carm_sampler *s, const char *path, size_t room)
{
    uint32_t number = 0;
    const size_t length = strnlen(path, room);
    const bool file = length && path[0] != '\0' && strncmp(path, "//", 2) != 0 &&
                      (path[0] == '/' || strcmp(path, "[vdso]") == 0);
    s->no_memory |= carm_names_add(&s->samples.modules, path, file ? length : 0, &number) != 0;
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
        const char *path = carm_names_text(&from->modules, from->samples[i].module);
        *sample = from->samples[i];
        if (carm_names_add(&to->modules, path, strlen(path), &sample->module) != 0) {
            rc = carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
        } else {
            to->nsamples++;
            to->total += sample->n;
        }
    }
    to->lost += from->lost;
    to->threads = from->threads > to->threads ? from->threads : to->threads;
    compact(to);
    return rc;
}

static void on_sample(struct carm_sampler *s, uint64_t time, uint64_t ip, uint32_t pid,
                      uint32_t tid)
{
    struct carm_samples *to = &s->samples;
    const struct process *p = process_of(s, pid);
    struct carm_sample sample = {.thread = number_of(s, &s->tids, tid),
                                 .at = ip,
                                 .n = 1,
                                 .first = time - s->start,
                                 .last = time - s->start};
    const struct map *map = NULL;
    for (size_t i = p->n; i > 0 && !map; i--) {
        const struct map *m = &p->maps[i - 1];
        map = ip >= m->begin && ip < m->end ? m : NULL;
    }
    sample.module = map ? map->module : module_of(s, "", 0);
    if (map && *carm_names_text(&to->modules, map->module)) {
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
}

/* ---- records ---- */

static void on_record(struct carm_sampler *s, const uint8_t *record)
{
    struct perf_event_header head;
    uint32_t ids[2];
    uint64_t words[3];
    memcpy(&head, record, sizeof head);
    const uint8_t *body = record + sizeof head;
    switch (head.type) {
    case PERF_RECORD_SAMPLE: /* ip, pid and tid, time */
        memcpy(words, body, sizeof words);
        memcpy(ids, body + 8, sizeof ids);
        on_sample(s, words[2], words[0], ids[0], ids[1]);
        break;
    case PERF_RECORD_MMAP: { /* pid, tid, address, bytes, offset, path */
        memcpy(ids, body, sizeof ids);
        memcpy(words, body + 8, sizeof words);
        const size_t path = sizeof head + 32;
        const struct map map = {
            .begin = words[0],
            .end = words[0] + words[1],
            .offset = words[2],
            .module = module_of(s, (const char *)record + path,
                                head.size > path + SAMPLE_ID ? head.size - path - SAMPLE_ID : 0)};
        add_map(s, process_of(s, ids[0]), &map);
        break;
    }
    case PERF_RECORD_COMM:
        memcpy(ids, body, sizeof ids);
        if (head.misc & PERF_RECORD_MISC_COMM_EXEC) {
            process_of(s, ids[0])->n = 0;
        }
        break;
    case PERF_RECORD_FORK:
        memcpy(ids, body, sizeof ids);
        on_fork(s, ids);
        break;
    case PERF_RECORD_LOST:
        memcpy(words, body, 16);
        s->samples.lost += words[1];
        break;
    case PERF_RECORD_LOST_SAMPLES:
        memcpy(words, body, 8);
        s->samples.lost += words[0];
        break;
    default:
        break;
    }
}

static int by_time(const void *left, const void *right)
{
    const struct record *a = left;
    const struct record *b = right;
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static void copy_out(const struct ring *ring, uint64_t from, uint8_t *to, size_t n)
{
    const uint8_t *data = (const uint8_t *)ring->page + ring->page->data_offset;
    for (size_t i = 0; i < n; i++) {
        to[i] = data[(from + i) & (ring->bytes - 1)];
    }
}

static void read_ring(struct carm_sampler *s, const struct ring *ring)
{
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    while (tail < head) {
        struct perf_event_header h;
        copy_out(ring, tail, (uint8_t *)&h, sizeof h);
        if (h.size < sizeof h || h.size > head - tail) {
            break;
        }
        if (carm_array_grow(&s->bytes, &s->room, s->used, h.size, 1, "samples", NULL) != 0 ||
            carm_array_grow(&s->records, &s->records_room, s->nrecords, 1, sizeof *s->records,
                            "samples", NULL) != 0) {
            s->no_memory = true;
            break;
        }
        copy_out(ring, tail, s->bytes + s->used, h.size);
        struct record r = {.at = s->used};
        memcpy(&r.time, s->bytes + s->used + h.size - 8, sizeof r.time);
        s->records[s->nrecords++] = r;
        s->used += h.size;
        tail += h.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Those up to the time in order; the later ones stay. */
static void use_records(struct carm_sampler *s, uint64_t until)
{
    size_t done = 0;
    size_t kept = 0;
    if (s->nrecords) {
        qsort(s->records, s->nrecords, sizeof *s->records, by_time);
    }
    while (done < s->nrecords && s->records[done].time <= until) {
        on_record(s, s->bytes + s->records[done++].at);
    }
    uint8_t *left = done < s->nrecords ? malloc(s->used) : NULL;
    for (size_t i = done; left && i < s->nrecords; i++) {
        struct perf_event_header h;
        memcpy(&h, s->bytes + s->records[i].at, sizeof h);
        memcpy(left + kept, s->bytes + s->records[i].at, h.size);
        s->records[i - done] = (struct record){s->records[i].time, kept};
        kept += h.size;
    }
    if (left) {
        memcpy(s->bytes, left, kept);
    }
    s->nrecords = left ? s->nrecords - done : 0;
    s->used = kept;
    free(left);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void *reader(void *arg)
{
    struct carm_sampler *s = arg;
    const struct timespec pause = {.tv_nsec = DRAIN_NS};
    const uint64_t margin = 1000000; /* between a record's time and its place in the ring */
    while (!__atomic_load_n(&s->ended, __ATOMIC_ACQUIRE)) {
        const uint64_t before = now_ns();
        for (size_t i = 0; i < s->nrings; i++) {
            read_ring(s, &s->rings[i]);
        }
        use_records(s, before - margin);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- open and close ---- */

static int refuse(struct carm_err *err, int code)
{
    if (code == EACCES || code == EPERM) {
        return carm_fail(err, CARM_ENOTSUP,
                         "sampling is not allowed here (perf_event_open: %s): set "
                         "kernel.perf_event_paranoid to 2 or less, and let the container's seccomp "
                         "filter pass perf_event_open",
                         strerror(code));
    }
    return carm_fail(err, CARM_ENOTSUP, "sampling does not work here (perf_event_open: %s)",
                     strerror(code));
}

/* returns 0 or errno */
static int open_ring(struct ring *ring, size_t page, pid_t pid, int cpu, unsigned hz)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof attr,
        .config = PERF_COUNT_SW_TASK_CLOCK,
        .sample_period = 1000000000U / hz,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .disabled = 1,
        .inherit = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .mmap = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .enable_on_exec = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0) {
        return errno;
    }
    int code = 0;
    for (size_t pages = PAGES_MAX; pages > 0; pages /= 2) {
        void *at = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (at != MAP_FAILED) {
            ring->page = at;
            ring->bytes = pages * page;
            return 0;
        }
        code = errno;
    }
    close(ring->fd);
    return code;
}

static void close_all(struct carm_sampler *s)
{
    for (size_t i = 0; i < s->nrings; i++) {
        munmap(s->rings[i].page, s->rings[i].bytes + s->page);
        close(s->rings[i].fd);
    }
    for (size_t i = 0; i < s->nprocesses; i++) {
        free(s->processes[i].maps);
    }
    free(s->rings);
    free(s->bytes);
    free(s->records);
    free(s->processes);
    carm_names_close(&s->pids);
    carm_names_close(&s->tids);
    free(s);
}

int carm_sampler_open(struct carm_sampler **out, pid_t pid, unsigned hz, struct carm_err *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct carm_sampler *s = calloc(1, sizeof *s);
    struct ring *rings = calloc((size_t)(cpus > 0 ? cpus : 1), sizeof *rings);
    int code = 0;
    if (!s || !rings) {
        free(s);
        free(rings);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    s->rings = rings;
    s->page = (size_t)sysconf(_SC_PAGESIZE);
    s->compact_at = COMPACT_FROM;
    s->start = now_ns();
    s->samples.period = 1.0 / hz;
    carm_names_open(&s->pids);
    carm_names_open(&s->tids);
    carm_names_open(&s->samples.modules);
    for (long cpu = 0; cpu < cpus && !code; cpu++) {
        code = open_ring(&s->rings[s->nrings], s->page, pid, (int)cpu, hz);
        if (!code) {
            s->nrings++;
        } else if (code == ENODEV) {
            code = 0; /* a processor that is off */
        }
    }
    if (!code && s->nrings) {
        sigset_t all, before; /* signals are for the thread that waits for the program */
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        code = pthread_create(&s->thread, NULL, reader, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        s->started = code == 0;
    }
    if (!s->started) {
        carm_samples_close(&s->samples);
        close_all(s);
        return refuse(err, code);
    }
    *out = s;
    return 0;
}

void carm_sampler_close(struct carm_sampler *s, struct carm_samples *samples)
{
    if (!s) {
        return;
    }
    __atomic_store_n(&s->ended, 1, __ATOMIC_RELEASE);
    pthread_join(s->thread, NULL);
    for (size_t i = 0; i < s->nrings; i++) {
        read_ring(s, &s->rings[i]);
    }
    use_records(s, UINT64_MAX);
    compact(&s->samples);
    s->samples.threads = s->tids.n;
    if (s->no_memory) {
        snprintf(s->samples.incomplete, sizeof s->samples.incomplete,
                 "there was not enough memory for all samples");
    }
    if (samples) {
        *samples = s->samples;
    } else {
        carm_samples_close(&s->samples);
    }
    close_all(s);
}
