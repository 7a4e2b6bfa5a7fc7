/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for libpapi: a processor with as many counters as a test says. For a program that a test runs, the
 * environment says what its events count between start and stop: CARM_FAKE_COUNTS="INSTRUCTION_RETIRED=1234 ..." */
#include "tests/harness/count/fake_counters.h"

extern struct fake_counters fake;
struct fake_counters fake = {.counters = 8};

#if __has_include(<papi.h>)
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 64, EVENTS = 64, CORE = 0, UNCORE = 1 };

struct set {
    bool used, running, multiplexed;
    int component;
    int n;
    long weight[EVENTS];
    char kind[EVENTS];
    char name[EVENTS][128];
    long start;
};

static struct set sets[SETS];
static int initialised;

int PAPI_is_initialized(void)
{
    return initialised;
}

int PAPI_set_debug(int level)
{
    (void)level;
    return PAPI_OK;
}

int PAPI_library_init(int version)
{
    fake.inits++;
    initialised = fake.init ? 0 : PAPI_LOW_LEVEL_INITED;
    return fake.init ? fake.init : version;
}

int PAPI_thread_init(unsigned long (*id)(void))
{
    return id() ? PAPI_OK : PAPI_EINVAL;
}

int PAPI_multiplex_init(void)
{
    return PAPI_OK;
}

char *PAPI_strerror(int code)
{
    static char text[32];
    (void)snprintf(text, sizeof text, "fake error %d", code);
    return text;
}

int PAPI_get_component_index(const char *name)
{
    return strcmp(name, "perf_event") == 0          ? CORE
           : strcmp(name, "perf_event_uncore") == 0 ? UNCORE
                                                    : -1;
}

const PAPI_component_info_t *PAPI_get_component_info(int component)
{
    static PAPI_component_info_t info;
    memset(&info, 0, sizeof info);
    if (component == UNCORE && fake.units == 0) {
        info.disabled = PAPI_ECMP;
        (void)snprintf(info.disabled_reason, sizeof info.disabled_reason, "No uncore PMUs found");
    }
    return &info;
}

int PAPI_create_eventset(int *eventset)
{
    for (int i = 0; i < SETS; i++) {
        if (!sets[i].used) {
            memset(&sets[i], 0, sizeof sets[i]);
            sets[i].used = true;
            *eventset = i;
            fake.sets_open++;
            return PAPI_OK;
        }
    }
    return PAPI_ENOMEM;
}

int PAPI_assign_eventset_component(int eventset, int component)
{
    sets[eventset].component = component;
    return PAPI_OK;
}

static bool fits(const struct set *s)
{
    int slots = 0;
    for (int i = 0; i < s->n; i++) {
        slots += s->kind[i] == 'E' ? 1 : s->kind[i] == 'W' ? 2 : 0;
    }
    return s->multiplexed || slots <= fake.counters;
}

/* What the environment says of an event: its count, or 0. */
static long count_of(const char *said, const char *event)
{
    const size_t n = strlen(event);
    while (*said) {
        said += strspn(said, " ");
        if (strncmp(said, event, n) == 0 && said[n] == '=') {
            return atol(said + n + 1);
        }
        said += strcspn(said, " ");
    }
    return 0;
}

int PAPI_add_named_event(int eventset, const char *name)
{
    const char *said = getenv("CARM_FAKE_COUNTS");
    struct set *s = &sets[eventset];
    const char *at = strstr(name, "::");
    if (!at || strncmp(name, "absent::", 8) == 0 || (fake.missing && strstr(name, fake.missing))) {
        return PAPI_ENOEVNT;
    }
    if (s->component == UNCORE) {
        const char *unit = strpbrk(name, "0123456789");
        if (!strstr(name, ":cpu=") || (unit && unit < at && atoi(unit) >= fake.units)) {
            return PAPI_ENOEVNT;
        }
    }
    for (int i = 0; i < s->n; i++) {
        if (strcmp(s->name[i], name) == 0) {
            return PAPI_ECNFLCT;
        }
    }
    s->kind[s->n] = strncmp(name, "perf::", 6) == 0 || s->component == UNCORE ? 'S' : at[2];
    s->weight[s->n] = said ? count_of(said, at + 2) : atoi(at + 3);
    fake.each_run = said ? 1 : fake.each_run;
    (void)snprintf(s->name[s->n], sizeof s->name[0], "%s", name);
    s->n++;
    if (!fits(s) && !fake.conflict_at_start) {
        s->n--;
        return PAPI_ECNFLCT;
    }
    return PAPI_OK;
}

int PAPI_set_multiplex(int eventset)
{
    fake.multiplexed++;
    sets[eventset].multiplexed = true;
    return PAPI_OK;
}

int PAPI_attach(int eventset, unsigned long pid)
{
    (void)eventset;
    fake.attached = (int)pid;
    return fake.attach;
}

int PAPI_set_opt(int option, PAPI_option_t *value)
{
    if (option == PAPI_INHERIT && sets[value->inherit.eventset].n == 0) {
        fake.inherited = value->inherit.inherit;
    }
    return PAPI_OK;
}

int PAPI_start(int eventset)
{
    struct set *s = &sets[eventset];
    if (s->running) {
        return PAPI_EISRUN;
    }
    if (!fits(s)) {
        return PAPI_ECNFLCT;
    }
    s->start = fake.ticks;
    s->running = true;
    return PAPI_OK;
}

int PAPI_read(int eventset, long long *values)
{
    const struct set *s = &sets[eventset];
    for (int i = 0; i < s->n; i++) {
        const bool seen = !s->multiplexed || s->kind[i] == 'S' || !fake.never_ran;
        values[i] = seen ? s->weight[i] * (fake.ticks - s->start) : 0;
    }
    return PAPI_OK;
}

int PAPI_stop(int eventset, long long *values)
{
    if (!sets[eventset].running) {
        return PAPI_ENOTRUN;
    }
    sets[eventset].running = false;
    fake.ticks += fake.each_run;
    return PAPI_read(eventset, values);
}

int PAPI_cleanup_eventset(int eventset)
{
    sets[eventset].n = 0;
    return sets[eventset].running ? PAPI_EISRUN : PAPI_OK;
}

int PAPI_destroy_eventset(int *eventset)
{
    sets[*eventset].used = false;
    fake.sets_open--;
    *eventset = PAPI_NULL;
    return PAPI_OK;
}

int PAPI_unregister_thread(void)
{
    fake.unregistered++;
    return PAPI_OK;
}
#endif
