/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/levels.h"

#include <math.h>
#include <stdio.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/run/report.h"

static double unused_share(const struct carm_level_estimate *e)
{
    return e->lines > 0.0 ? fmin(e->unused / (64.0 * e->lines), 1.0) : 0.0;
}

char *carm_run_reuse(char *dst, size_t size, const struct carm_run_levels *l, size_t row)
{
    const struct carm_run_figures *of = carm_run_levels_row(l, row);
    const struct carm_level_estimate *first = of ? &of->levels[0] : NULL;
    dst[0] = '\0';
    if (first && first->misses >= 1.0) {
        const double bytes = 64.0 * (1.0 - unused_share(first));
        if (bytes < 63.5) {
            snprintf(dst, size, "only %.2g of the 64 bytes of each line are used, by %.3g accesses",
                     bytes, first->lookups / first->misses);
        } else {
            snprintf(dst, size, "each line is used whole, by %.3g accesses",
                     first->lookups / first->misses);
        }
    }
    return dst;
}

static json_t *level_json(const void *figures, size_t k)
{
    char name[16];
    const struct carm_run_figures *of = figures;
    const struct carm_level_estimate *e = &of->levels[k];
    const struct carm_hierarchy_level_counts *n = &of->counts.levels[k];
    const struct carm_ci ci = {e->low, e->high};
    const bool sampled = of->counts.nlevels == 0;
    json_t *o = json_object();
    snprintf(name, sizeof name, "L%zu", k + 1);
    bool ok = carm_jwrite_text(o, "cache", name) && carm_jwrite_number(o, "lookups", e->lookups) &&
              carm_jwrite_number(o, "misses", e->misses);
    for (int r = 0; r < CARM_MISS_REASONS && ok; r++) {
        if (!(sampled && k == 0) || (r != CARM_MISS_CAPACITY && r != CARM_MISS_CONFLICT)) {
            ok = carm_jwrite_number(o, carm_miss_reason_name((enum carm_miss_reason)r),
                                    e->reasons[r]);
        }
    }
    ok = ok && (sampled || (carm_jwrite_count(o, "fills", n->fills) &&
                            carm_jwrite_count(o, "writebacks", n->writebacks) &&
                            carm_jwrite_count(o, "prefetched", n->prefetched) &&
                            carm_jwrite_count(o, "useless", n->useless)));
    return carm_jwrite_done(o, ok && carm_jwrite_number(o, "unused_bytes", e->unused) &&
                                   carm_jwrite_number(o, "bytes_behind", e->bytes) &&
                                   (!sampled || carm_jwrite_interval(o, "bytes_behind_ci95", ci)));
}

bool carm_run_figures_json(const struct carm_run_levels *l, size_t row, json_t *o)
{
    char reuse[160];
    const struct carm_run_figures *of = carm_run_levels_row(l, row);
    if (!of || !(of->levels[0].lookups > 0.0)) {
        return true;
    }
    const struct carm_run_simulation *about = carm_run_levels_about(l);
    return carm_jwrite_array(o, "caches", of, about->config.nlevels, level_json) &&
           (about->sampled ||
            (carm_jwrite_count(o, "coherence_transfers", of->counts.transfers) &&
             carm_jwrite_count(o, "coherence_invalidations", of->counts.invalidations) &&
             carm_jwrite_count(o, "coherence_contested", of->counts.contested) &&
             carm_jwrite_count(o, "nt_lines", of->counts.nt_lines) &&
             carm_jwrite_count(o, "nt_partial", of->counts.nt_partial))) &&
           carm_jwrite_text_or_null(o, "reuse", carm_run_reuse(reuse, sizeof reuse, l, row));
}

static void report_level(const struct carm_run_simulation *l, size_t k)
{
    char head[16], bytes[CARM_TEXT_NUMBER_MAX], reasons[160] = "", interval[96] = "";
    const struct carm_level_estimate *e = &l->whole.levels[k];
    size_t used = 0;
    for (int r = 0; r < CARM_MISS_REASONS; r++) {
        if (e->misses > 0.0 && e->reasons[r] >= 0.005 * e->misses) {
            used += (size_t)snprintf(
                reasons + used, sizeof reasons - used, "%s%.0f%% %s%s", used ? ", " : ": ",
                100.0 * e->reasons[r] / e->misses, carm_miss_reason_name((enum carm_miss_reason)r),
                l->sampled && k == 0 && r == CARM_MISS_CAPACITY ? " or conflict" : "");
        }
    }
    snprintf(head, sizeof head, k + 1 == l->config.nlevels ? "DRAM bytes" : "L%zu bytes", k + 2);
    if (l->sampled && e->bytes > 0.0) {
        snprintf(interval, sizeof interval, " (%.3g%% to +%.3g%%)",
                 100.0 * (e->low / e->bytes - 1.0), 100.0 * (e->high / e->bytes - 1.0));
    }
    carm_run_say(
        head,
        "%s%s; L%zu misses %.3g%% of %.4g lookups%s; %.0f%% of the bytes fetched are never used%s",
        carm_text_si(bytes, sizeof bytes, e->bytes, "B"), interval, k + 1,
        e->lookups > 0.0 ? 100.0 * e->misses / e->lookups : 0.0, e->lookups, reasons,
        100.0 * unused_share(e),
        l->whole.counts.levels[k].useless ? " (prefetches among them)" : "");
}

void carm_run_levels_report(const struct carm_run_levels *levels)
{
    const struct carm_run_simulation *l = carm_run_levels_about(levels);
    const struct carm_hierarchy_counts *c = &l->whole.counts;
    if (!l->counted) {
        return;
    }
    carm_run_say("caches", "simulated: %s; %s prefetching", l->caches,
                 l->config.next_line || l->config.streams ? "with" : "without");
    if (l->sampled) {
        carm_run_say(
            "",
            "sampled: %u of %u groups of sets; 1 of %u sets of L1 in windows of %u accesses, "
            "%.0f%% of the time",
            l->plan.sets, l->plan.of, l->plan.turns, 2 * l->plan.half,
            200.0 * l->plan.half / (2.0 * l->plan.half + l->plan.between));
    }
    if (l->sampled && l->by_length) {
        carm_run_say("",
                     "sampled, as it runs longer than %g s; --sample 100 simulates all accesses",
                     CARM_RUN_LEVELS_WHOLE_SECONDS);
    }
    if (l->sampled && l->threads > 1) {
        carm_run_say("", "a line that threads contend for is counted only if the sample has it");
    }
    if (l->threads > l->config.cores) {
        carm_run_say("", "%u threads take turns on %u simulated cores", l->threads,
                     l->config.cores);
    }
    for (size_t k = 0; k < l->config.nlevels; k++) {
        report_level(l, k);
    }
    if (c->transfers) {
        carm_run_say("coherence",
                     "%.4g misses of lines that another core had, %.4g lines taken by "
                     "stores of another core",
                     (double)c->transfers, (double)c->invalidations);
        carm_run_say(
            "",
            "in the order of the counted run; another order can make at most %.4g accesses "
            "miss: those to the lines that were taken",
            (double)c->contested);
    }
}
