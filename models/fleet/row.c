/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/row.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/job.h"
#include "base/text.h"
#include "base/json_write.h"

static void read_boot_id(char *dst, size_t size)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, dst, size - 1);
    dst[n > 0 ? n : 0] = '\0';
    dst[strcspn(dst, "\n")] = '\0';
    if (fd >= 0) {
        (void)close(fd);
    }
}

void carm_fleet_who_read(struct carm_fleet_who *who, int rank)
{
    *who = (struct carm_fleet_who){.rank = rank};
    if (gethostname(who->host, sizeof who->host - 1) != 0 || !*who->host) {
        (void)snprintf(who->host, sizeof who->host, "localhost");
    }
    struct carm_job job;
    carm_job_read(&job);
    (void)snprintf(who->job, sizeof who->job, "%s", job.id);
    read_boot_id(who->boot_id, sizeof who->boot_id);
}

char *carm_fleet_row_text(const struct carm_fleet_who *who, const char *status, const char *reason,
                          const char *model)
{
    char now[CARM_TEXT_NUMBER_MAX];
    json_t *held = model ? json_loads(model, 0, NULL) : json_null();
    if (!held) {
        return NULL;
    }
    json_t *row = json_object();
    bool ok = carm_jwrite_text(row, "schema", "carm-fleet/1") &&
              carm_jwrite_text(row, "host", who->host) &&
              carm_jwrite_text_or_null(row, "job", who->job);
    ok = ok && (who->rank < 0 ? carm_jwrite_value(row, "rank", json_null())
                              : carm_jwrite_int(row, "rank", who->rank));
    ok = ok && carm_jwrite_text_or_null(row, "boot_id", who->boot_id) &&
         carm_jwrite_text(row, "time", carm_text_now(now, sizeof now)) &&
         carm_jwrite_text(row, "status", status) &&
         carm_jwrite_text_or_null(row, "reason", reason ? reason : "");
    ok = carm_jwrite_value(ok ? row : NULL, "model", held) && ok;
    row = carm_jwrite_done(row, ok);
    char *text = row ? json_dumps(row, JSON_COMPACT) : NULL;
    json_decref(row);
    const size_t n = text ? strlen(text) : 0;
    char *line = text ? realloc(text, n + 2) : NULL;
    if (!line) {
        free(text);
        return NULL;
    }
    memcpy(line + n, "\n", 2);
    return line;
}

void carm_fleet_row_read(const char *line, struct carm_fleet_row_said *said)
{
    json_t *row = json_loads(line, 0, NULL);
    const char *status = json_string_value(json_object_get(row, "status"));
    const char *reason = json_string_value(json_object_get(row, "reason"));
    *said = (struct carm_fleet_row_said){.ok = status && strcmp(status, "ok") == 0};
    (void)snprintf(said->status, sizeof said->status, "%s", status ? status : "failed");
    (void)snprintf(said->reason, sizeof said->reason, "%s",
                   !status  ? "what the rank sent is no row"
                   : reason ? reason
                            : "");
    json_decref(row);
}
