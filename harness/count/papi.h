/* SPDX-License-Identifier: MIT */
/* PAPI's functions, found at run time; for harness/counters_papi*.c alone. Compiles only where papi.h
 * is. */
#ifndef CARM_HARNESS_COUNT_PAPI_H
#define CARM_HARNESS_COUNT_PAPI_H

#if __has_include(<papi.h>)
#include <papi.h>

#include "harness/count/provider.h"

/* clang-format off */
#define CARM_PAPI_FUNCTIONS(X) \
    X(library_init) X(is_initialized) X(thread_init) X(multiplex_init) X(set_debug) X(strerror) \
    X(get_component_index) X(get_component_info) X(create_eventset) X(assign_eventset_component) \
    X(add_named_event) X(set_multiplex) X(attach) X(set_opt) X(start) X(read) X(stop) \
    X(cleanup_eventset) X(destroy_eventset) X(unregister_thread)
/* clang-format on */

#define CARM_PAPI_MEMBER(name) __typeof__(PAPI_##name) *name; // NOLINT(bugprone-macro-parentheses)
struct carm_papi {
    CARM_PAPI_FUNCTIONS(CARM_PAPI_MEMBER)
    int component;        /* index of perf_event */
    unsigned long opener; /* carm_papi_thread of who opened it */
};

/* A number for the calling thread that no later one gets: PAPI keeps what it knows of a thread under
 * this, and pthread_self comes again when a thread has ended. */
unsigned long carm_papi_thread(void);

/* Held while sets are made and taken apart: PAPI's tables of native events are not safe there. */
void carm_papi_lock(void);
void carm_papi_unlock(void);

/* The event's name as PAPI is to get it; software events count kernel mode, too, where that is allowed.
 * returns false when it could only read zero here */
bool carm_papi_event_name(const struct carm_counters *c, const struct carm_event *e,
                          char name[128]);

void carm_papi_destroy(const struct carm_papi *p, int eventset);

int carm_papi_set_open(struct carm_counter_set *s, struct carm_err *err);
int carm_papi_set_start(struct carm_counter_set *s, struct carm_err *err);
int carm_papi_set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                       struct carm_err *err);
void carm_papi_set_close(struct carm_counter_set *s);

#endif
#endif
