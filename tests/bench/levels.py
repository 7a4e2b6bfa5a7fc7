# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated DRAM bytes over measured seconds, against the model's roofs of DRAM. usage: levels.py CARM MODEL [ROUNDS]

A triad in C waits for DRAM: its bytes of `carm run --levels`, its times by itself. Prints; never decides: other
programs on the machine change the bandwidth from second to second."""
import json
import os
import statistics
import subprocess
import sys
import tempfile

ELEMENTS, PASSES = 8 << 20, 20  # three arrays of 64 MiB
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static double *a, *b, *c;
static long n;
static int passes, threads;
static pthread_barrier_t all;

__attribute__((noinline)) static void triad(double *restrict x, const double *restrict y, const double *restrict z,
                                            long m, double s)
{
    for (long i = 0; i < m; i++) {
        x[i] = y[i] + s * z[i];
    }
}

static void *work(void *number)
{
    struct timespec begin, end;
    const long m = n / threads, at = (long)number * m;
    for (long i = at; i < at + m; i++) {
        a[i] = 0.0, b[i] = 1.0, c[i] = 2.0;
    }
    pthread_barrier_wait(&all);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < passes; i++) {
        triad(a + at, b + at, c + at, m, i);
    }
    pthread_barrier_wait(&all);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (number == 0) {
        printf("%.9f\n", (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    }
    return NULL;
}

static double *take(void)
{
    double *p = mmap(NULL, (size_t)n * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(p, (size_t)n * 8, MADV_HUGEPAGE);
    return p;
}

int main(int argc, char **argv)
{
    pthread_t others[1024];
    n = atol(argv[1]), passes = atoi(argv[2]), threads = atoi(argv[argc - 1]);
    a = take(), b = take(), c = take();
    pthread_barrier_init(&all, NULL, (unsigned)threads);
    for (long i = 1; i < threads; i++) {
        pthread_create(&others[i], NULL, work, (void *)i);
    }
    work(NULL);
    for (int i = 1; i < threads; i++) {
        pthread_join(others[i], NULL);
    }
    return 0;
}
"""


def simulated(carm, model, threads):
    """DRAM bytes of a pass."""
    subprocess.run([carm, "run", "--levels", "--no-time", "--loops", "--min-share", "0", "-q", "-m", model,
                    "-t", str(threads), "--json", "run.json", "--", "./triad", str(ELEMENTS), "2", str(threads)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open("run.json", encoding="utf-8") as file:
        parts = json.load(file)["parts"]
    return sum(p.get("dram_bytes") or 0 for p in parts if p["name"].startswith("triad loop")) / 2


def main():
    carm, model = (os.path.abspath(p) for p in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 9
    with open(model, encoding="utf-8") as file:
        sets = [r for r in json.load(file)["roofs"] if r["precision"] == "dp"]
    print("triad from DRAM: simulated bytes over measured seconds; 2:1: its mix, 4/3 of the bytes at the core")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("triad.c", "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-O3", "-march=native", "-pthread", "-o", "triad", "triad.c"], check=True)
        for threads in sorted({r["threads"] for r in sets}):
            roofs = {m["ldst"]: m["bandwidth"] for r in sets if r["threads"] == threads
                     for m in r["memory"] if m["level"] == "DRAM"}
            if "2:1" not in roofs:
                continue
            mix = 4 / 3 * roofs["2:1"]
            run = ["./triad", str(ELEMENTS), str(PASSES), str(threads)]
            times = [float(subprocess.run(run, check=True, capture_output=True, text=True).stdout) / PASSES
                     for _ in range(rounds)]
            got = simulated(carm, model, threads)
            median, best = got / statistics.median(times), got / min(times)
            print(f"{threads} thread{'s' if threads > 1 else ''}: {got / ELEMENTS:.2f} bytes an element (32 without reuse), "
                  f"{median / 1e9:.1f} GB/s, best {best / 1e9:.1f}: {median / mix:.0%}, best {best / mix:.0%} of the roof of "
                  f"2:1 ({mix / 1e9:.1f} GB/s)")


main()
