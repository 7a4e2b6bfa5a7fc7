/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/stay.h"

#include <emmintrin.h>
#include <math.h>
#include <sys/mman.h>

#include "base/observer.h"
#include "harness/machine/stats.h"

enum { LINE = 64, LEAST_LINES = 1024, NOW_LAPS = 4, NOW_LOADS = 1 << 18 };

/* Each line points to another one, all in one cycle that no prefetcher follows: a linear congruential generator with
 * full period. source: Knuth, The Art of Computer Programming 2, section 3.2.1.2, theorem A
 * lines  a power of two */
static void link_lines(char *base, size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        const size_t next = (i * 2862933555777941757ULL + 3037000493ULL) % lines;
        *(void **)(void *)(base + i * LINE) = base + next * LINE;
    }
}

/* returns NULL: no memory */
static char *open_lines(size_t lines)
{
    char *base =
        mmap(NULL, lines * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    madvise(base, lines * LINE, MADV_HUGEPAGE);
    link_lines(base, lines);
    return base;
}

/* returns the seconds of a load, each with the address of the next */
static double chase(char *base, size_t lines)
{
    void *p = base;
    const double begin = carm_seconds_now();
    for (size_t i = 0; i < lines; i++) {
        p = *(void *volatile *)p;
    }
    return (carm_seconds_now() - begin) / (double)lines;
}

static void flush(const char *base, size_t lines)
{
    for (size_t i = 0; i < lines; i++) {
        __builtin_ia32_clflush(base + i * LINE);
    }
    __builtin_ia32_mfence();
}

/* The share of the lines that a lap after `wait` seconds finds in the last cache.
 * near, far  seconds of a load from the last cache, from memory */
static double share_after(char *base, size_t lines, double wait, double near, double far)
{
    chase(base, lines);
    for (const double until = carm_seconds_now() + wait; carm_seconds_now() < until;) {
    }
    return fmin(1.0, fmax(0.0, (far - chase(base, lines)) / (far - near)));
}

static void measure(struct carm_stay *stay, char *base, size_t lines, double kept)
{
    /* from the time of a loop over L3 to a wait after which a restless host left nothing */
    static const double waits[CARM_STAY_WAITS] = {1e-3, 3e-3, 10e-3, 30e-3, 100e-3};
    static const double apart =
        1.5; /* least ratio of memory's to the last cache's latency; usual: 4 and more */
    static const double gone =
        0.05; /* with fewer lines left, longer waits are not measured; chosen by hand */
    double near = INFINITY;
    chase(base, lines);
    for (int i = 0; i < 3; i++) {
        near = fmin(near, chase(base, lines));
    }
    flush(base, lines);
    const double far = chase(base, lines);
    while (stay->n < CARM_STAY_WAITS && far > apart * near) {
        const double wait = waits[stay->n];
        const double once = share_after(base, lines, wait, near, far);
        const double twice =
            wait > 0.02 ? once : share_after(base, lines, wait, near, far); /* long waits once */
        stay->seconds[stay->n] = wait;
        stay->share[stay->n] = fmax(0.0, 0.5 * (once + twice) - kept) / (1.0 - kept);
        if (stay->share[stay->n++] < gone) {
            break;
        }
    }
}

void carm_stay_measure(struct carm_stay *stay, uint64_t room_bytes, uint64_t private_bytes)
{
    size_t lines = LEAST_LINES;
    *stay = (struct carm_stay){.looked = true};
    while (4 * lines * LINE <= room_bytes) { /* a quarter to half of the room */
        lines *= 2;
    }
    const double kept = (double)private_bytes / (double)(lines * LINE);
    if (kept > 0.5) { /* private caches hold most of the set, too */
        return;
    }
    char *base = open_lines(lines);
    if (!base) {
        return;
    }
    measure(stay, base, lines, kept);
    munmap(base, lines * LINE);
}

/* Seconds of one lap that loads all bytes, 16 bytes with each load. */
static double stream(const char *base, size_t lines)
{
    const double begin = carm_seconds_now();
    for (size_t i = 0; i < lines; i++) {
        const volatile __m128i *line = (const volatile __m128i *)(const void *)(base + i * LINE);
        (void)line[0];
        (void)line[1];
        (void)line[2];
        (void)line[3];
    }
    return carm_seconds_now() - begin;
}

void carm_memory_now_measure(struct carm_memory_now *now, uint64_t bytes)
{
    size_t lines = LEAST_LINES;
    *now = (struct carm_memory_now){.looked = true};
    while (lines * LINE < bytes) {
        lines *= 2;
    }
    char *base = open_lines(lines);
    if (!base) {
        return;
    }
    double laps[NOW_LAPS];
    for (int i = 0; i < NOW_LAPS; i++) {
        laps[i] = stream(base, lines);
    }
    now->bandwidth = (double)(lines * LINE) / carm_stats_median(laps, NOW_LAPS);
    now->seconds = chase(base, lines < NOW_LOADS ? lines : NOW_LOADS);
    munmap(base, lines * LINE);
}

double carm_stay_share(const struct carm_stay *stay, double seconds)
{
    double at = 0.0, share = 1.0;
    for (size_t i = 0; i < stay->n; i++) {
        if (seconds <= stay->seconds[i]) {
            return share + (stay->share[i] - share) * (seconds - at) / (stay->seconds[i] - at);
        }
        at = stay->seconds[i];
        share = stay->share[i];
    }
    return stay->n ? pow(share, seconds / at) : 1.0;
}

double carm_stay_half(const struct carm_stay *stay)
{
    double at = 0.0, share = 1.0;
    for (size_t i = 0; i < stay->n; i++) {
        if (stay->share[i] < 0.5) {
            return at + (stay->seconds[i] - at) * (share - 0.5) / (share - stay->share[i]);
        }
        at = stay->seconds[i];
        share = stay->share[i];
    }
    return INFINITY;
}
