/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/study/machine.h"

#include <locale.h>

#include "kernels/study/rows.h"
#include "base/outfile.h"

int carm_study_enter(struct carm_study_machine *here, const struct carm_study_words *words,
                     struct carm_observer *observer, int rc, struct carm_err *err)
{
    here->topo = NULL;
    here->observer = observer;
    here->lock = (struct carm_node_lock){.fd = -1};
    (void)setlocale(LC_NUMERIC, "C"); /* gnuplot reads 0.5, never 0,5 */
    carm_cpu_read(&here->cpu);
    rc = rc ? rc : carm_topo_open(&here->topo, NULL, NULL, err);
    rc = rc ? rc : carm_clock_open(&here->clock, err);
    return rc ? rc
              : carm_node_lock_open(&here->lock, "study", words->output ? words->output : "",
                                    observer, err);
}

int carm_study_check_files(const struct carm_study_words *words, bool dram, struct carm_err *err)
{
    if (words->plot && !dram) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no DRAM bandwidth, which the picture needs; `carm build` "
                         "measures it");
    }
    const int rc = words->plot ? carm_outfile_check(words->plot, err) : 0;
    return rc || !words->output ? rc
                                : carm_study_rows_check(words->output, words->resume != NULL, err);
}

int carm_study_leave(struct carm_study_machine *here, int rc)
{
    carm_node_lock_close(&here->lock, rc == 0);
    carm_topo_close(here->topo);
    return rc > 0 ? 0 : rc;
}
