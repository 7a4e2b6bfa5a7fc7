/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/compare/history.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/compare/print.h"
#include "cli/opt.h"
#include "models/file/history.h"
#include "plots/page/write.h"

enum { COMMIT = 12 }; /* letters of a commit's name, as abbreviated by git in large repositories */

/* A value as text. Exact counts have all digits, as a step may be one instruction. */
static const char *value_text(char dst[CARM_NUMBER_MAX], const struct carm_history_series *s,
                              double v)
{
    if (s->kind == CARM_CHANGE_TIME) {
        snprintf(dst, CARM_NUMBER_MAX, v < 1.0 ? "%.4g ms" : "%.4g s", v < 1.0 ? 1e3 * v : v);
    } else if (s->exact) {
        carm_number_exact(dst, v);
    } else {
        carm_text_si(dst, CARM_NUMBER_MAX, v,
                     s->kind == CARM_CHANGE_FLOPS ? "flop"
                     : s->kind == CARM_CHANGE_INSTRUCTIONS || s->kind == CARM_CHANGE_ALLOCATIONS
                         ? ""
                         : "B");
    }
    return dst;
}

static void put_step(const struct carm_history *h, const struct carm_history_series *s,
                     const struct carm_history_step *step, bool ascii)
{
    char name[64], label[64], a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX],
        change[32] = "from 0";
    if (step->before > 0.0) {
        carm_compare_percent(change, sizeof change, step->after / step->before - 1.0);
    }
    printf("  %-16.40s %-12s %11s %11s %8s  %.*s\n",
           carm_text_clean(name, sizeof name, s->name, ascii), carm_change_name(s->kind),
           value_text(a, s, step->before), value_text(b, s, step->after), change,
           h->by_commit ? COMMIT : 40,
           carm_text_clean(label, sizeof label, h->labels[step->at], ascii));
    if (s->causes[step->at]) {
        char causes[256];
        printf("  %-16s %s\n", "",
               carm_text_clean(causes, sizeof causes, s->causes[step->at], ascii));
    }
}

static void put_table(const struct carm_history *h, const struct carm_compare_history *job)
{
    char first[64], last[64];
    size_t steps = 0, exact = 0, asks = 0, scattered = 0;
    for (size_t k = 0; k < h->nseries; k++) {
        steps += h->series[k].nsteps;
        exact += h->series[k].exact && !h->series[k].asks;
        asks += h->series[k].asks;
        scattered += !h->series[k].exact;
    }
    const int wide = h->by_commit ? COMMIT : 60;
    printf("%zu step%s in %zu files, %.*s to %.*s%s.\n", steps, steps == 1 ? "" : "s", h->nfiles,
           wide, carm_text_clean(first, sizeof first, h->labels[0], job->ascii), wide,
           carm_text_clean(last, sizeof last, h->labels[h->nfiles - 1], job->ascii),
           h->by_commit ? ", in git's order" : "");
    if (steps) {
        printf("\n  %-16s %-12s %11s %11s %8s  %s\n", "", "", "before", "after", "change", "from");
    }
    for (size_t i = 0; i < h->nfiles && steps; i++) {
        for (size_t k = 0; k < h->nseries; k++) {
            const struct carm_history_series *s = &h->series[k];
            for (size_t j = 0; j < s->nsteps; j++) {
                if (s->steps[j].at == i) {
                    put_step(h, s, &s->steps[j], job->ascii);
                }
            }
        }
    }
    putchar('\n');
    if (exact) {
        carm_opt_print_wrapped("  ", 2, "%zu exact counts: each change is a step.", exact);
    }
    if (asks) {
        carm_opt_print_wrapped(
            "  ", 2,
            "%zu counts of programs that ask the system for what differs from run to run: each "
            "change by %.2g%% is a step.",
            asks, 100.0 * CARM_HISTORY_ASKS);
    }
    if (scattered) {
        carm_opt_print_wrapped(
            "  ", 2,
            "%zu values that scatter: steps of more than %.3g%%; a series without a step shows a "
            "false one in at most %.2g%% of cases. Eight files on each side are needed.",
            scattered, 100.0 * job->noise, 100.0 * CARM_HISTORY_ALARM);
    }
    if (h->by_commit && h->ncommits < h->nfiles) {
        carm_opt_print_wrapped(
            "  ", 2, "%zu of the files are no commits of this repository: they come last, by name.",
            h->nfiles - h->ncommits);
    }
    if (h->unlike) {
        carm_opt_print_wrapped("  ", 2, "%zu pairs of neighbouring files have no name in common.",
                               h->unlike);
    }
}

static json_t *make_step(const void *items, size_t i)
{
    const struct carm_history_series *s = items;
    const struct carm_history_step *step = &s->steps[i];
    json_t *o = json_object();
    return carm_jwrite_done(
        o,
        carm_jwrite_count(o, "at", step->at) && carm_jwrite_number(o, "before", step->before) &&
            carm_jwrite_number(o, "after", step->after) &&
            carm_jwrite_text_or_null(o, "causes", s->causes[step->at] ? s->causes[step->at] : ""));
}

struct all {
    const struct carm_history *history;
};

static json_t *make_label(const void *items, size_t i)
{
    const struct all *all = items;
    char clean[256];
    return json_string(carm_text_clean(clean, sizeof clean, all->history->labels[i], true));
}

static json_t *make_series(const void *items, size_t i)
{
    const struct all *all = items;
    const struct carm_history_series *s = &all->history->series[i];
    json_t *o = json_object();
    return carm_jwrite_done(o,
                            carm_jwrite_text(o, "name", s->name) &&
                                carm_jwrite_text(o, "quantity", carm_change_name(s->kind)) &&
                                carm_jwrite_bool(o, "exact", s->exact && !s->asks) &&
                                carm_jwrite_numbers(o, "values", s->values, all->history->nfiles) &&
                                carm_jwrite_array(o, "steps", s, s->nsteps, make_step));
}

/* to be released with free; NULL = no memory */
static char *make_json(const struct carm_history *h, double noise)
{
    const struct all all = {h};
    json_t *o = json_object();
    o = carm_jwrite_done(o, carm_jwrite_text(o, "schema", "carm-compare-history/1") &&
                                carm_jwrite_bool(o, "by_commit", h->by_commit) &&
                                carm_jwrite_number(o, "noise", noise) &&
                                carm_jwrite_number(o, "false_alarms", CARM_HISTORY_ALARM) &&
                                carm_jwrite_array(o, "files", &all, h->nfiles, make_label) &&
                                carm_jwrite_array(o, "series", &all, h->nseries, make_series));
    return carm_jwrite_line(o, JSON_COMPACT);
}

/* Runs git with its output into out, without its messages. returns whether git succeeded */
static bool run_git(FILE *out)
{
    char *const argv[] = {(char[]){"git"},          (char[]){"rev-list"},  (char[]){"--all"},
                          (char[]){"--topo-order"}, (char[]){"--reverse"}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    const int e =
        posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO) ||
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ||
        posix_spawnp(&pid, "git", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!e && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return !e && status == 0;
}

/* The hashes of all commits of the current folder's repository, oldest first; NULL: no git, or no repository. */
static FILE *list_commits(void)
{
    const int fd = memfd_create("commits", MFD_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!out && fd >= 0) {
        close(fd);
    }
    if (out && !run_git(out)) {
        fclose(out);
        return NULL;
    }
    if (out) {
        rewind(out);
    }
    return out;
}

int carm_compare_history_run(const struct carm_compare_history *job)
{
    struct carm_err err = {""};
    struct carm_history h;
    char *json = NULL;
    int rc = carm_history_read(&h, job->operands, job->n, &job->how, job->noise, job->only,
                               list_commits, &err);
    rc = rc || !job->page ? rc : carm_report_ready(&err);
    if (!rc && (job->json || job->page)) {
        json = make_json(&h, job->noise);
        rc = json ? 0 : carm_fail(&err, CARM_ENOMEM, "not enough memory for the history");
    }
    if (!rc && job->json) {
        fputs(json, stdout);
    } else if (!rc) {
        put_table(&h, job);
    }
    rc = rc || !job->page ? rc : carm_report_write(CARM_REPORT_HISTORY, json, job->page, &err);
    free(json);
    carm_history_close(&h);
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}
