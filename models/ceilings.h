/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measured ceilings of a set of roofs: "ceilings" of a set in model.json.
 * source: Williams, Waterman, Patterson 2009, appendix A.1.2 to A.1.4 and A.2 */
#ifndef CARM_MODELS_CEILINGS_H
#define CARM_MODELS_CEILINGS_H

#include "base/err.h"
#include "models/model.h"

/* "in-core", "mix", "memory", "busy", "traffic": names in the file and of --ceilings */
const char *carm_ceiling_group_name(enum carm_ceiling_group group);

/* The inverse of carm_ceiling_group_name: 0 or -CARM_EINVAL with the list. */
int carm_ceiling_group_parse(const char *name, enum carm_ceiling_group *group,
                             struct carm_err *err);

/* The ceiling of that name, borrowed from roofs, or NULL when the set has none. */
const struct carm_ceiling_roof *carm_ceilings_find(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group, const char *name);

/* As above, but NULL as well where it was not measured. */
const struct carm_ceiling_roof *carm_ceilings_measured(const struct carm_roofs *roofs,
                                                       enum carm_ceiling_group group,
                                                       const char *name);

/* The one with the highest rate of a group whose name begins with prefix ("" = any), or NULL when
 * none was measured. */
const struct carm_ceiling_roof *carm_ceilings_best(const struct carm_roofs *roofs,
                                                   enum carm_ceiling_group group,
                                                   const char *prefix);

/* What one optimisation gives over a measured ceiling: the rate of the next ceiling over its own.
 * by      out: what does it, for a reader ("SIMD"); borrowed, static
 * returns 0 where there is no next one, or it was not measured */
double carm_ceiling_gap(const struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                        const char **by);

/* Copies one ceiling to the end of the set's: 0 or -CARM_ENOMEM (the set is as it was). */
int carm_ceilings_add(struct carm_roofs *roofs, const struct carm_ceiling_roof *ceiling,
                      struct carm_err *err);

#endif
