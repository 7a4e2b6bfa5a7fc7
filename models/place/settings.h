/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hypothetical machine: "L2=2M,dram.bandwidth=2x" changes a measured model, and two bounds of a time give the gain.
 *
 * source: Williams et al. 2009, section 7 (what another roof or ridge point brings); Ilic et al. 2014, section 1 */
#pragma once

#include "models/verdict/verdict.h"
#include "models/model.h"

/* A row: identifier, word, whether it is of a level. */
#define CARM_SETTING_TABLE(ROW)       \
    ROW(SIZE, "size", true)           \
    ROW(BANDWIDTH, "bandwidth", true) \
    ROW(LATENCY, "latency", true)     \
    ROW(PEAK, "peak", false)          \
    ROW(CLOCK, "clock", false) /* of the core, L1 and L2 */

#define CARM_SETTING_ID(id, ...) CARM_SETTING_##id,
enum carm_setting_quantity { CARM_SETTING_TABLE(CARM_SETTING_ID) CARM_SETTING_COUNT };
#undef CARM_SETTING_ID

enum { CARM_SETTINGS_MAX = 16, CARM_SETTING_TEXT_MAX = 96 };

struct carm_setting {
    enum carm_setting_quantity quantity;
    char level[8];  /* "L1", ..., "DRAM"; "" = of none */
    double factor;  /* multiple of the measured value; 0 = bytes are given */
    uint64_t bytes; /* of a size */
    char text
        [CARM_SETTING_TEXT_MAX]; /* "L2 2 MiB (1 MiB today)", "DRAM bandwidth 2x": carm_settings_apply fills it in */
};

struct carm_settings {
    struct carm_setting of[CARM_SETTINGS_MAX];
    size_t n;
};

/* Reads a list: "L2=2M", "L3=1.5x", "dram.bandwidth=2x", "dram.latency=0.5x", "peak=2x", "clock=1.2x".
 * returns 0 or -CARM_EINVAL with the list of quantities */
int carm_settings_parse(const char *list, struct carm_settings *changes, struct carm_err *err);

/* "L2 2 MiB (1 MiB today) and DRAM bandwidth 2x", after carm_settings_apply. returns dst */
enum { CARM_SETTINGS_TEXT_MAX = CARM_SETTINGS_MAX * CARM_SETTING_TEXT_MAX };
char *carm_settings_text(char *dst, size_t size, const struct carm_settings *changes);

/* Whether the changes include a cache's size. */
bool carm_settings_size(const struct carm_settings *changes);

/* Changes the model: roofs, sizes of caches, latencies. A size is rounded to a sixteenth, so that sets can be sampled.
 * returns 0 or -CARM_EINVAL (the model lacks the level, or has no figure of it) */
int carm_settings_apply(struct carm_settings *changes, struct carm_model *model,
                        struct carm_err *err);

/* The gain of a program whose bound changes. At one end of the interval, the time that the bound does not explain
 * stays. At the other end it changes with the bound, as where parts of the program wait one after the other.
 * seconds        measured
 * before, after  the largest bound, 0 < before */
struct carm_verdict_gain carm_setting_gain(double seconds, double before, double after);

/* "1.8..2x", "0.6x". returns dst */
char *carm_setting_words(char *dst, size_t size, struct carm_verdict_gain gain);

/* The largest bounds of a verdict on the measured and on the changed machine. A bound refuted on the measured machine
 * is left out of both.
 * estimates  the verdict is an estimate: the time of the largest estimate is added to the largest bound
 * before     out: seconds; 0 = there is none
 * limit      out: of `after`, the largest that is no estimate */
void carm_setting_bounds(const struct carm_bounds *today, const struct carm_bounds *changed,
                         bool estimates, double *before, double *after, enum carm_limit *limit);
