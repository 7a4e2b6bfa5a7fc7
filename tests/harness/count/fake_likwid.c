/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for liblikwid: thread t counts (t + 1) times what an event says. */
#include "tests/harness/count/fake_counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern struct fake_counters fake;
struct fake_counters fake = {.counters = 6};

enum { GROUPS = 16, EVENTS = 64, THREADS = 1024 };

static struct {
    int n;
    int weight[EVENTS];
    double result[EVENTS][THREADS];
    long since[THREADS];
} groups[GROUPS];
static int ngroups, active, threads;
static int cpu_of[THREADS];

/* as likwid.h declares them */
int topology_init(void);
void HPMmode(int mode);
int perfmon_init(int n, const int *cpus);
void perfmon_finalize(void);
int perfmon_addEventSet(const char *events);
int perfmon_setupCounters(int group);
int perfmon_startCounters(void);
int perfmon_stopCounters(void);
int perfmon_readCounters(void);
int perfmon_readCountersCpu(int cpu);
double perfmon_getResult(int group, int event, int thread);

int topology_init(void)
{
    return 0;
}

void HPMmode(int mode)
{
    fake.mode = mode;
}

int perfmon_init(int n, const int *cpus)
{
    fake.inits++;
    if (fake.noise) {
        (void)fputs(fake.noise, stderr);
    }
    threads = n < THREADS ? n : THREADS;
    memcpy(cpu_of, cpus, (size_t)threads * sizeof *cpus);
    ngroups = 0;
    active = -1;
    return fake.init;
}

void perfmon_finalize(void)
{
    fake.inits--;
}

/* "E3:PMC0,MERGE:PMC1": an event on a counter that is not there is kept, and has no result */
int perfmon_addEventSet(const char *events)
{
    char text[512];
    char *save = NULL;
    (void)snprintf(fake.last_events, sizeof fake.last_events, "%s", events);
    (void)snprintf(text, sizeof text, "%s", events);
    memset(&groups[ngroups], 0, sizeof groups[ngroups]);
    int good = 0;
    for (char *e = strtok_r(text, ",", &save); e; e = strtok_r(NULL, ",", &save)) {
        const char *counter = strchr(e, ':') + 1;
        const int number = atoi(counter + strcspn(counter, "0123456789"));
        const bool there = (strncmp(counter, "PMC", 3) != 0 || number < fake.counters) &&
                           (strncmp(counter, "MBOX", 4) != 0 || number < fake.units) &&
                           !(fake.missing && strstr(e, fake.missing));
        groups[ngroups].weight[groups[ngroups].n++] = !there                        ? -1
                                                      : strncmp(e, "MERGE", 5) == 0 ? 0
                                                                                    : atoi(e + 1);
        good += there;
    }
    return good ? ngroups++ : -1;
}

int perfmon_setupCounters(int group)
{
    fake.setups++;
    active = group;
    return 0;
}

int perfmon_startCounters(void)
{
    fake.running++;
    for (int t = 0; t < threads; t++) {
        groups[active].since[t] = fake.ticks;
    }
    return 0;
}

static void take(int t)
{
    for (int e = 0; e < groups[active].n; e++) {
        groups[active].result[e][t] += (double)groups[active].weight[e] *
                                       (double)(fake.ticks - groups[active].since[t]) * (t + 1);
    }
    groups[active].since[t] = fake.ticks;
}

int perfmon_readCounters(void)
{
    for (int t = 0; t < threads; t++) {
        take(t);
    }
    return fake.running ? 0 : -1;
}

int perfmon_stopCounters(void)
{
    const int rc = perfmon_readCounters();
    fake.running--;
    return rc;
}

int perfmon_readCountersCpu(int cpu)
{
    for (int t = 0; t < threads; t++) {
        if (cpu_of[t] == cpu) {
            take(t);
            return fake.running ? 0 : -1;
        }
    }
    return -1;
}

double perfmon_getResult(int group, int event, int thread)
{
    return groups[group].weight[event] < 0 ? (double)NAN : groups[group].result[event][thread];
}
