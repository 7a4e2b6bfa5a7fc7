/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/limits.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 2 * PATH_MAX };

/* The mount of a controller's groups. */
struct tree {
    bool found;
    bool first;           /* version 1 */
    char mount[PATH_MAX]; /* folder of the mount */
    char top[PATH_MAX];   /* control group that the mount's folder shows */
    char group[PATH_MAX]; /* control group of this process */
};

static FILE *open_below(const char *root, const char *path)
{
    char full[LINE_MOST];
    const int n = snprintf(full, sizeof full, "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof full ? fopen(full, "re") : NULL;
}

/* Whether a comma-separated list contains the word. */
static bool lists(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* mountinfo writes space, tab, line end and backslash as \ooo. */
static void unescape(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
            s[3] >= '0' && s[3] <= '7') {
            *to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *to++ = *s;
        }
    }
    *to = '\0';
}

/* "36 35 0:32 TOP MOUNT options optional... - TYPE source OPTIONS" */
static bool parse_mount(char *line, const char *controller, bool first, struct tree *tree)
{
    char *save = NULL;
    char *fields[5];
    char *end = strstr(line, " - ");
    if (!end) {
        return false;
    }
    *end = '\0';
    char *type = strtok_r(end + 3, " \n", &save);
    (void)strtok_r(NULL, " \n", &save);
    const char *options = strtok_r(NULL, " \n", &save);
    if (!type || strcmp(type, first ? "cgroup" : "cgroup2") != 0 ||
        (first && (!options || !lists(options, controller)))) {
        return false;
    }
    save = NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        fields[i] = strtok_r(i ? NULL : line, " ", &save);
        if (!fields[i]) {
            return false;
        }
    }
    unescape(fields[3]);
    unescape(fields[4]);
    return snprintf(tree->top, sizeof tree->top, "%s", fields[3]) < (int)sizeof tree->top &&
           snprintf(tree->mount, sizeof tree->mount, "%s", fields[4]) < (int)sizeof tree->mount;
}

/* Whether this process's group is the mount's group or below it. */
static bool is_inside(const struct tree *tree)
{
    const size_t n = strcmp(tree->top, "/") == 0 ? 0 : strlen(tree->top);
    return strncmp(tree->group, tree->top, n) == 0 &&
           (tree->group[n] == '/' || tree->group[n] == '\0') && strstr(tree->group, "/..") == NULL;
}

/* The first mount that shows this process's group; else the first mount. A container may see
 * mounts of the host's groups beside its own. */
static bool find_mount(const char *root, const char *controller, struct tree *tree)
{
    char line[LINE_MOST];
    struct tree *next = malloc(sizeof *next);
    FILE *f = next ? open_below(root, "/proc/self/mountinfo") : NULL;
    bool found = false;
    while (f && !(found && is_inside(tree)) && fgets(line, sizeof line, f)) {
        *next = *tree;
        if (parse_mount(line, controller, tree->first, next) && (!found || is_inside(next))) {
            *tree = *next;
            found = true;
        }
    }
    if (f) {
        fclose(f);
    }
    free(next);
    return found;
}

/* The group of version 1 or 2: "4:cpu,cpuacct:/group", "0::/group". */
static bool find_group(const char *root, const char *controller, struct tree *tree)
{
    char line[LINE_MOST];
    FILE *f = open_below(root, "/proc/self/cgroup");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (group) {
            *group++ = '\0';
            *list++ = '\0';
            found = tree->first ? lists(list, controller) : strcmp(line, "0") == 0 && !*list;
            found = found && snprintf(tree->group, sizeof tree->group, "%s", group) <
                                 (int)sizeof tree->group;
        }
    }
    if (f) {
        fclose(f);
    }
    return found;
}

static void find_tree(const char *root, const char *controller, struct tree *tree)
{
    for (int version = 1; version <= 2 && !tree->found; version++) {
        *tree = (struct tree){.first = version == 1};
        tree->found = find_group(root, controller, tree) && find_mount(root, controller, tree);
    }
}

/* Path of the process's group below the folder of the mount. In a container the mount may show
 * the container's group alone, under a path that is not in this process's namespace: then the
 * folder itself is the group, and the path is "". */
static const char *group_below(const struct tree *tree)
{
    const size_t n = strcmp(tree->top, "/") == 0 ? 0 : strlen(tree->top);
    return is_inside(tree) ? tree->group + n : "";
}

/* A number in a file of a group; UINT64_MAX for "max" and for a missing file or key.
 * second  out: the number that follows the first, NULL = not wanted
 * key     of a file of lines "key number"; NULL = the file begins with the number */
static uint64_t read_number(const char *folder, const char *name, const char *key, uint64_t *second)
{
    char line[256];
    uint64_t value = UINT64_MAX;
    FILE *f = open_below(folder, name);
    const size_t n = key ? strlen(key) : 0;
    while (f && fgets(line, sizeof line, f)) {
        char *at = line + n;
        if (key && (strncmp(line, key, n) != 0 || line[n] != ' ')) {
            continue;
        }
        errno = 0;
        char *end = at;
        const unsigned long long number = strtoull(at, &end, 10);
        const bool is_number = end > at && errno == 0 && !strchr(line, '-');
        value = is_number ? number : UINT64_MAX;
        if (second) {
            at = is_number ? end : at + strcspn(at, " \n");
            *second = strtoull(at, NULL, 10);
        }
        break;
    }
    if (f) {
        fclose(f);
    }
    return value;
}

static void take_quota(const char *folder, bool first, struct carm_limits *out)
{
    uint64_t period = 0;
    uint64_t quota;
    if (first) {
        quota = read_number(folder, "/cpu.cfs_quota_us", NULL, NULL);
        period = read_number(folder, "/cpu.cfs_period_us", NULL, NULL);
    } else {
        quota = read_number(folder, "/cpu.max", NULL, &period);
    }
    if (quota > 0 && quota != UINT64_MAX && period > 0 && period != UINT64_MAX) {
        const double cpus = (double)quota / (double)period;
        out->cpus = out->cpus > 0.0 && out->cpus < cpus ? out->cpus : cpus;
    }
}

static void take_memory(const char *folder, bool first, struct carm_limits *out)
{
    /* cgroup version 1 writes a number near 2^63 for "no limit" */
    const uint64_t unlimited = UINT64_C(1) << 60;
    uint64_t limit =
        read_number(folder, first ? "/memory.limit_in_bytes" : "/memory.max", NULL, NULL);
    const uint64_t high = first ? UINT64_MAX : read_number(folder, "/memory.high", NULL, NULL);
    uint64_t used =
        read_number(folder, first ? "/memory.usage_in_bytes" : "/memory.current", NULL, NULL);
    /* page cache that is not in use: the kernel drops it before a group reaches its limit */
    const uint64_t files =
        read_number(folder, "/memory.stat", first ? "total_inactive_file" : "inactive_file", NULL);
    /* version 1: the least limit of this group and its ancestors, which a container may not see */
    const uint64_t above =
        first ? read_number(folder, "/memory.stat", "hierarchical_memory_limit", NULL) : UINT64_MAX;
    limit = high < limit ? high : limit;
    limit = above < limit ? above : limit;
    if (limit >= unlimited) {
        return;
    }
    used = used == UINT64_MAX ? 0 : used;
    used -= files != UINT64_MAX && files < used ? files : 0;
    const uint64_t left = limit > used ? limit - used : 0;
    out->memory_bytes = limit < out->memory_bytes ? limit : out->memory_bytes;
    out->memory_left = left < out->memory_left ? left : out->memory_left;
}

/* Each group from the process's own up to the top. */
static void walk(const char *root, const struct tree *tree,
                 void (*take)(const char *folder, bool first, struct carm_limits *out),
                 struct carm_limits *out)
{
    static char folder[3 * PATH_MAX];
    if (!tree->found) {
        return;
    }
    const int base = snprintf(folder, sizeof folder, "%s%s", root, tree->mount);
    if (base < 0 || snprintf(folder + base, sizeof folder - (size_t)base, "%s",
                             group_below(tree)) >= (int)(sizeof folder - (size_t)base)) {
        return;
    }
    for (;;) {
        take(folder, tree->first, out);
        char *slash = strrchr(folder, '/');
        if (!slash || slash < folder + base) {
            return;
        }
        *slash = '\0';
    }
}

void carm_limits_read(const char *root, struct carm_limits *out)
{
    static const struct {
        const char *name;
        void (*take)(const char *folder, bool first, struct carm_limits *out);
    } controllers[] = {{"cpu", take_quota}, {"memory", take_memory}};
    struct tree tree; /* 12 KiB */
    *out = (struct carm_limits){.memory_bytes = UINT64_MAX, .memory_left = UINT64_MAX};
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        tree.found = false;
        find_tree(root, controllers[i].name, &tree);
        walk(root, &tree, controllers[i].take, out);
    }
}
