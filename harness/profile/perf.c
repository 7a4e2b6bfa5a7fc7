/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

enum {
    PAGES_MAX = 64, /* of a ring: some 6 seconds of samples */
    SAMPLE_ID = 16, /* bytes at the end of other records: pid, tid, time */
};

struct ring {
    int fd;
    int cpu;
    struct perf_event_mmap_page *page;
    size_t bytes; /* of data, a power of two */
};

struct waiting {
    uint64_t time;
    size_t at;    /* in the bytes */
    uint32_t cpu; /* + 1: the ring's */
};

struct carm_perf {
    struct ring *rings;
    size_t nrings;
    size_t page;
    uint8_t *bytes; /* records that wait for earlier records of other processors */
    size_t used, room;
    struct waiting *records;
    size_t nrecords, records_room;
    uint64_t lost;
};

static void give(struct carm_perf *p, const uint8_t *bytes, uint64_t time, uint32_t cpu,
                 void (*take)(void *arg, const struct carm_record *record), void *arg)
{
    struct carm_record record = {.time = time, .weight = 1, .cpu = cpu};
    struct perf_event_header head;
    uint32_t ids[2];
    uint64_t words[3];
    memcpy(&head, bytes, sizeof head);
    const uint8_t *body = bytes + sizeof head;
    switch (head.type) {
    case PERF_RECORD_SAMPLE: /* ip, pid and tid, time */
        memcpy(words, body, sizeof words);
        memcpy(ids, body + 8, sizeof ids);
        record.kind = CARM_RECORD_SAMPLE;
        record.at = words[0];
        break;
    case PERF_RECORD_MMAP2: {
        /* pid, tid, address, bytes, offset, device, inode, generation, protection, path */
        const size_t path = sizeof head + 64;
        memcpy(ids, body, sizeof ids);
        memcpy(words, body + 8, sizeof words);
        record.kind = CARM_RECORD_MAP;
        record.at = words[0];
        record.end = words[0] + words[1];
        record.offset = words[2];
        memcpy(&record.inode, body + 40, sizeof record.inode);
        record.path = (const char *)bytes + path;
        record.path_room = head.size > path + SAMPLE_ID ? head.size - path - SAMPLE_ID : 0;
        break;
    }
    case PERF_RECORD_COMM:
        if (!(head.misc & PERF_RECORD_MISC_COMM_EXEC)) {
            return;
        }
        memcpy(ids, body, sizeof ids);
        record.kind = CARM_RECORD_EXEC;
        break;
    case PERF_RECORD_FORK: /* pid, parent's pid */
        memcpy(ids, body, sizeof ids);
        record.kind = CARM_RECORD_FORK;
        break;
    case PERF_RECORD_LOST:
        memcpy(words, body, 16);
        p->lost += words[1];
        return;
    case PERF_RECORD_LOST_SAMPLES:
        memcpy(words, body, 8);
        p->lost += words[0];
        return;
    default:
        return;
    }
    record.pid = ids[0];
    record.tid = ids[1];
    take(arg, &record);
}

static int by_time(const void *left, const void *right)
{
    const struct waiting *a = left;
    const struct waiting *b = right;
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

static void read_ring(struct carm_perf *p, const struct ring *ring)
{
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    while (tail < head) {
        struct perf_event_header h;
        copy_out(ring, tail, (uint8_t *)&h, sizeof h);
        if (h.size < sizeof h || h.size > head - tail) {
            break;
        }
        if (carm_array_grow(&p->bytes, &p->room, p->used, h.size, 1, "samples", NULL) != 0 ||
            carm_array_grow(&p->records, &p->records_room, p->nrecords, 1, sizeof *p->records,
                            "samples", NULL) != 0) {
            p->lost++;
            break; /* no memory */
        }
        copy_out(ring, tail, p->bytes + p->used, h.size);
        struct waiting r = {.at = p->used, .cpu = (uint32_t)ring->cpu + 1};
        memcpy(&r.time, p->bytes + p->used + h.size - 8, sizeof r.time);
        p->records[p->nrecords++] = r;
        p->used += h.size;
        tail += h.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Passes on the records up to a time, in order of time. Later records stay. */
static void use_records(struct carm_perf *p, uint64_t until,
                        void (*take)(void *arg, const struct carm_record *record), void *arg)
{
    size_t done = 0;
    size_t kept = 0;
    if (p->nrecords) {
        qsort(p->records, p->nrecords, sizeof *p->records, by_time);
    }
    while (done < p->nrecords && p->records[done].time <= until) {
        give(p, p->bytes + p->records[done].at, p->records[done].time, p->records[done].cpu, take,
             arg);
        done++;
    }
    uint8_t *left = done < p->nrecords ? malloc(p->used) : NULL;
    for (size_t i = done; left && i < p->nrecords; i++) {
        struct perf_event_header h;
        memcpy(&h, p->bytes + p->records[i].at, sizeof h);
        memcpy(left + kept, p->bytes + p->records[i].at, h.size);
        p->records[i - done] = (struct waiting){p->records[i].time, kept, p->records[i].cpu};
        kept += h.size;
    }
    if (left) {
        memcpy(p->bytes, left, kept);
    }
    p->nrecords = left ? p->nrecords - done : 0;
    p->used = kept;
    free(left);
}

uint64_t carm_perf_lost(const struct carm_perf *p)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < p->nrings; i++) {
        uint64_t words[2] = {0, 0}; /* value, lost */
        if (read(p->rings[i].fd, words, sizeof words) == (ssize_t)sizeof words) {
            lost += words[1];
        }
    }
    return lost;
}

uint64_t carm_perf_read(struct carm_perf *p, uint64_t until_ns,
                        void (*take)(void *arg, const struct carm_record *record), void *arg)
{
    for (size_t i = 0; i < p->nrings; i++) {
        read_ring(p, &p->rings[i]);
    }
    use_records(p, until_ns, take, arg);
    const uint64_t lost = p->lost;
    p->lost = 0;
    return lost;
}

static int refuse(struct carm_err *err, int code)
{
    if (code == EACCES || code == EPERM) {
        return carm_fail(err, CARM_ENOTSUP,
                         "perf_event_open is not allowed here (%s): set "
                         "kernel.perf_event_paranoid to 2 or less, and let the container's seccomp "
                         "filter pass perf_event_open",
                         strerror(code));
    }
    return carm_fail(err, CARM_ENOTSUP, "perf_event_open does not work here (%s)", strerror(code));
}

/* returns 0 or errno */
static int open_ring(struct ring *ring, size_t page, pid_t pid, int cpu, unsigned hz)
{
    ring->cpu = cpu;
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
        .mmap2 = 1,
        .comm = 1,
        .comm_exec = 1,
        .task = 1,
        .enable_on_exec = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .read_format = PERF_FORMAT_LOST,
    };
    ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0 && errno == EINVAL) {
        attr.read_format = 0; /* before Linux 6.0 */
        ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    }
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

void carm_perf_close(struct carm_perf *p)
{
    if (!p) {
        return;
    }
    for (size_t i = 0; i < p->nrings; i++) {
        munmap(p->rings[i].page, p->rings[i].bytes + p->page);
        close(p->rings[i].fd);
    }
    free(p->rings);
    free(p->bytes);
    free(p->records);
    free(p);
}

int carm_perf_open(struct carm_perf **out, pid_t pid, unsigned hz, struct carm_err *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    struct carm_perf *p = calloc(1, sizeof *p);
    struct ring *rings = calloc((size_t)(cpus > 0 ? cpus : 1), sizeof *rings);
    int code = 0;
    if (!p || !rings) {
        free(p);
        free(rings);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    p->rings = rings;
    p->page = (size_t)sysconf(_SC_PAGESIZE);
    for (long cpu = 0; cpu < cpus && !code; cpu++) {
        code = open_ring(&p->rings[p->nrings], p->page, pid, (int)cpu, hz);
        if (!code) {
            p->nrings++;
        } else if (code == ENODEV) {
            code = 0; /* the processor is offline */
        }
    }
    if (code || !p->nrings) {
        carm_perf_close(p);
        return refuse(err, code);
    }
    *out = p;
    return 0;
}
