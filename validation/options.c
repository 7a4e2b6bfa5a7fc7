/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "harness/machine/team.h"

bool carm_level_list_has(const struct carm_level_list *list, const char *level)
{
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->names[i], level) == 0) {
            return true;
        }
    }
    return list->n == 0;
}

int carm_list_each(const char *list, const char *option,
                   int (*take)(void *to, const char *word, struct carm_err *err), void *to,
                   struct carm_err *err)
{
    int words = 0;
    if (list[strspn(list, ",")] == '\0') {
        return carm_fail(err, CARM_EINVAL, "--%s needs at least one value", option);
    }
    while (*list) {
        char word[256];
        const size_t length = strcspn(list, ",");
        if (length >= sizeof word) {
            return carm_fail(err, CARM_EINVAL, "--%s: '%.32s...' is too long", option, list);
        }
        if (++words > CARM_LIST_MAX) {
            return carm_fail(err, CARM_EINVAL, "--%s: at most %d values", option, CARM_LIST_MAX);
        }
        snprintf(word, sizeof word, "%.*s", (int)length, list);
        const int rc = take(to, word, err);
        if (rc) {
            return rc;
        }
        list += length + (list[length] == ',');
    }
    return 0;
}

/* A whole number; false on anything else. */
static bool parse_whole(const char *word, unsigned long long *value)
{
    char *end = NULL;
    errno = 0;
    if (!isdigit((unsigned char)*word)) {
        return false;
    }
    *value = strtoull(word, &end, 10);
    return *end == '\0' && errno == 0;
}

int carm_budget_parse(const char *word, double usual_seconds, bool quick, size_t reps,
                      double *seconds, struct carm_err *err)
{
    if (!word) {
        const double usual = quick ? CARM_REPS_QUICK : CARM_REPS;
        *seconds = (quick ? CARM_BUDGET_QUICK : usual_seconds) * fmin(1.0, (double)reps / usual);
        return 0;
    }
    if (!carm_number_between(word, 0.0, 86400.0, seconds)) {
        return carm_fail(err, CARM_EINVAL,
                         "--budget '%.32s' is no number of seconds: give 0 to 86400", word);
    }
    return 0;
}

int carm_reps_parse(const char *word, size_t *reps, struct carm_err *err)
{
    unsigned long long n = 0;
    if (!word) {
        return 0;
    }
    if (!parse_whole(word, &n) || n < CARM_REPS_MIN || n > CARM_MAX_REPS) {
        return carm_fail(err, CARM_EINVAL,
                         "--reps %.32s: give %d to %d repetitions (8192 is the CARM paper's "
                         "number)",
                         word, CARM_REPS_MIN, CARM_MAX_REPS);
    }
    *reps = (size_t)n;
    return 0;
}
