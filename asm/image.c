/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/image.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm/gen.h"
#include "base/fd.h"
#include "base/unpack.h"

/* ---- the table at an image's end ---- */

/* The records that CARM_FILE and CODE_END of asm/carm.inc write. */
struct image_header {
    uint64_t magic, table_begin, table_end, zero;
};
struct image_entry {
    uint64_t begin, end, loop_begin, loop_end;
    uint64_t loads, load_bytes, stores, store_bytes, nt_stores, fp_instructions, flops, prefetches;
    uint64_t int_instructions, instructions, stride_bytes, setup_loads, setup_load_bytes;
    char name[CARM_CODE_NAME_MAX];
};
#define IMAGE_MAGIC 0x314d524143ULL /* "CARM1" */

int carm_code_table_open(struct carm_code_table *table, const uint8_t *bytes, size_t size,
                         struct carm_err *err)
{
    struct image_header head;
    if (size < sizeof head) {
        carm_fail(err, CARM_EFORMAT, "an image of test codes is only %zu bytes long", size);
        return -CARM_EFORMAT;
    }
    memcpy(&head, bytes, sizeof head);
    if (head.magic != IMAGE_MAGIC || head.table_end > size || head.table_begin < sizeof head ||
        head.table_begin > head.table_end ||
        (head.table_end - head.table_begin) % sizeof(struct image_entry) != 0) {
        carm_fail(err, CARM_EFORMAT, "an image of test codes has no table of them");
        return -CARM_EFORMAT;
    }
    *table = (struct carm_code_table){.bytes = bytes,
                                      .size = size,
                                      .begin = head.table_begin,
                                      .n = (size_t)(head.table_end - head.table_begin) /
                                           sizeof(struct image_entry)};
    return 0;
}

static void read_entry(const struct carm_code_table *table, size_t i, struct image_entry *e)
{
    memcpy(e, table->bytes + table->begin + i * sizeof *e, sizeof *e);
    e->name[sizeof e->name - 1] = '\0';
}

int carm_code_table_entry(const struct carm_code_table *table, size_t i,
                          char name[CARM_CODE_NAME_MAX], struct carm_code_layout *layout,
                          struct carm_account *account, struct carm_err *err)
{
    struct image_entry e;
    read_entry(table, i, &e);
    if (e.begin < sizeof(struct image_header) || e.begin > e.loop_begin ||
        e.loop_begin > e.loop_end || e.loop_end > e.end || e.end > table->begin) {
        return carm_fail(err, CARM_EFORMAT, "entry %zu of an image of test codes lies outside it",
                         i);
    }
    memcpy(name, e.name, sizeof e.name);
    *layout = (struct carm_code_layout){e.begin, e.end, e.loop_begin, e.loop_end};
    *account = (struct carm_account){
        .loads = e.loads,
        .load_bytes = e.load_bytes,
        .stores = e.stores,
        .store_bytes = e.store_bytes,
        .nt_stores = e.nt_stores,
        .fp_instructions = e.fp_instructions,
        .flops = e.flops,
        .prefetches = e.prefetches,
        .int_instructions = e.int_instructions,
        .instructions = e.instructions,
        .stride_bytes = e.stride_bytes,
        .setup_loads = e.setup_loads,
        .setup_load_bytes = e.setup_load_bytes,
    };
    return 0;
}

bool carm_code_table_find(const struct carm_code_table *table, const char *name,
                          struct carm_code_layout *layout, struct carm_account *account)
{
    size_t low = 0;
    size_t high = table->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        struct image_entry e;
        char found[CARM_CODE_NAME_MAX];
        read_entry(table, middle, &e);
        const int order = strcmp(name, e.name);
        if (order == 0) {
            return carm_code_table_entry(table, middle, found, layout, account, NULL) == 0;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}

/* ---- the built-in codes ---- */

enum { ROW_BYTES = 64 }; /* of the table of constants, and its alignment */

/* The built-in codes, unpacked when they are first needed, and kept: 10 ms for 9.9 MB. */
static pthread_mutex_t unpacking = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *unpacked;
static size_t unpacked_bytes;

int carm_builtin_open(struct carm_code_table *builtin, struct carm_err *err)
{
    struct carm_err why = {""};
    int rc = 0;
    memset(builtin, 0, sizeof *builtin);
    if ((uintptr_t)carm_builtin_packed == (uintptr_t)carm_builtin_end) {
        return 0;
    }
    pthread_mutex_lock(&unpacking);
    if (!unpacked) {
        rc = carm_unpack(carm_builtin_packed, carm_builtin_end, "the built-in test codes",
                         &unpacked, &unpacked_bytes, err);
    }
    pthread_mutex_unlock(&unpacking);
    if (rc) {
        return rc;
    }
    rc = carm_code_table_open(builtin, unpacked, unpacked_bytes, &why);
    return rc ? carm_fail(
                    err, CARM_EFORMAT,
                    "the built-in test codes of this program are damaged (%s): install it again",
                    why.text)
              : 0;
}

uint64_t carm_builtin_constants(const struct carm_code_table *builtin)
{
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_layout layout = {.end = 0};
    struct carm_account account;
    if (builtin->n) {
        carm_code_table_entry(builtin, builtin->n - 1, name, &layout, &account, NULL);
    }
    const uint64_t begin = (layout.end + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
    return begin < builtin->begin ? begin : builtin->begin;
}

/* ---- nasm ---- */

/* nasm expands the macros again in each of its five passes. From this number of codes on, one expansion
 * in a separate run takes less than half the time. For fewer codes, starting nasm twice takes
 * longer. */
enum { EXPAND_ONCE = 50 };

/* Runs `nasm -f bin -o out source`, with -E to expand macros only; messages go to the file log. returns 0 or
 * negative */
static int run_nasm(bool expand, const char *source, const char *out, const char *log,
                    struct carm_err *err)
{
    char *argv[] = {"nasm", "-f", "bin", "-o", (char *)out, (char *)source, expand ? "-E" : NULL,
                    NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to start nasm");
    }
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int rc = posix_spawnp(&pid, "nasm", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "cannot start nasm (%s): install it, e.g. apt-get install nasm",
                         strerror(rc));
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return carm_fail(err, CARM_EIO, "waiting for nasm failed: %s", strerror(errno));
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    if (WIFSIGNALED(status)) {
        return carm_fail(err, CARM_EINTR, "nasm was stopped by signal %d", WTERMSIG(status));
    }
    char first[256] = "";
    FILE *f = fopen(log, "r");
    if (f) {
        if (!fgets(first, sizeof first, f)) {
            first[0] = '\0';
        }
        fclose(f);
    }
    first[strcspn(first, "\n")] = '\0';
    return carm_fail(err, CARM_EIO, "nasm failed: %s (nasm 2.15 or later is needed)", first);
}

static int read_whole(const char *path, uint8_t **bytes, size_t *size, struct carm_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = 0;
    uint8_t *buffer = NULL;
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = carm_fail(err, CARM_EIO, "cannot read nasm's output: %s", strerror(errno));
        goto out;
    }
    buffer = malloc((size_t)st.st_size + 1);
    if (!buffer) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the test codes");
        goto out;
    }
    size_t done = 0;
    while (done < (size_t)st.st_size) {
        ssize_t n = read(fd, buffer + done, (size_t)st.st_size - done);
        if (n <= 0) {
            rc = carm_fail(err, CARM_EIO, "cannot read nasm's output");
            goto out;
        }
        done += (size_t)n;
    }
    *bytes = buffer;
    *size = done;
    buffer = NULL;
out:
    free(buffer);
    carm_fd_close(fd);
    return rc;
}

int carm_image_nasm(void (*put)(FILE *out, const void *arg), const void *arg, bool expand,
                    uint8_t **bytes, size_t *size, struct carm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char folder[4096];
    char source[sizeof folder + 16];
    char expanded[sizeof folder + 16];
    char bin[sizeof folder + 16];
    char log[sizeof folder + 16];
    if (snprintf(folder, sizeof folder, "%s/carm-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
            (int)sizeof folder ||
        !mkdtemp(folder)) {
        return carm_fail(err, CARM_EIO,
                         "cannot make a temporary folder in %.200s (%s): set TMPDIR to one that is "
                         "writable",
                         tmp && *tmp ? tmp : "/tmp", strerror(errno));
    }
    snprintf(source, sizeof source, "%s/codes.asm", folder);
    snprintf(expanded, sizeof expanded, "%s/expanded.asm", folder);
    snprintf(bin, sizeof bin, "%s/codes.bin", folder);
    snprintf(log, sizeof log, "%s/nasm.log", folder);
    int rc = 0;
    FILE *f = fopen(source, "w");
    if (f) {
        put(f, arg);
        int bad = ferror(f);
        bad |= fclose(f);
        f = NULL;
        rc = bad ? carm_fail(err, CARM_EIO,
                             "cannot write the test codes' source to %.200s: %s; set TMPDIR to a "
                             "folder with room",
                             folder, strerror(errno))
                 : 0;
    } else {
        rc = carm_fail(err, CARM_EIO, "cannot write to %.200s: %s", folder, strerror(errno));
    }
    if (!rc && expand) {
        rc = run_nasm(true, source, expanded, log, err);
    }
    rc = rc ? rc : run_nasm(false, expand ? expanded : source, bin, log, err);
    rc = rc ? rc : read_whole(bin, bytes, size, err);
    unlink(source);
    unlink(expanded);
    unlink(bin);
    unlink(log);
    rmdir(folder);
    return rc;
}

struct spec_list {
    const struct carm_code_spec *specs;
    size_t n;
};

static void put_specs(FILE *out, const void *arg)
{
    const struct spec_list *list = arg;
    carm_gen_source(out, list->specs, list->n);
}

int carm_image_assemble(const struct carm_code_spec *specs, size_t n, uint8_t **bytes, size_t *size,
                        struct carm_code_layout *layouts, struct carm_account *accounts,
                        struct carm_err *err)
{
    uint8_t *image = NULL;
    size_t image_bytes = 0;
    struct carm_code_table table;
    struct carm_err why = {""};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_check(&specs[i], err);
    }
    rc = rc ? rc
            : carm_image_nasm(put_specs, &(struct spec_list){specs, n}, n >= EXPAND_ONCE, &image,
                              &image_bytes, err);
    if (rc) {
        goto out;
    }
    rc = carm_code_table_open(&table, image, image_bytes, &why);
    if (rc) {
        carm_fail(err, CARM_EFORMAT, "nasm's output: %s", why.text);
        goto out;
    }
    if (table.n != n) {
        rc = carm_fail(err, CARM_EFORMAT, "nasm's output has no table of %zu codes", n);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        char name[CARM_CODE_NAME_MAX];
        char found[CARM_CODE_NAME_MAX];
        carm_code_name(&specs[i], name);
        rc = carm_code_table_entry(&table, i, found, &layouts[i], &accounts[i], err);
        if (!rc && strcmp(found, name) != 0) {
            rc = carm_fail(err, CARM_EFORMAT, "nasm's output: entry %zu is not code %s", i, name);
        }
    }
    if (rc) {
        goto out;
    }
    *bytes = image;
    *size = image_bytes;
    image = NULL;
out:
    free(image);
    return rc;
}

/* ---- the codes of a plan ---- */

enum { PAGE_BYTES = 4096 };

/* An image while it is put together. */
struct making {
    const struct carm_code_spec *specs;
    size_t n;
    struct carm_code_layout *layouts; /* [n] in the text */
    struct carm_account *accounts;    /* [n] */
    bool *builtin;                    /* [n] is built in */
    struct carm_code_spec *fresh;     /* [nfresh] codes that are not built in */
    struct carm_code_layout *fresh_layouts;
    struct carm_account *fresh_accounts;
    size_t nfresh;
    uint64_t fresh_at; /* where the fresh image begins in the text */
    uint8_t *bytes;    /* the fresh image */
    size_t size;
};

static bool making_open(struct making *m, const struct carm_code_spec *specs, size_t n)
{
    *m = (struct making){.specs = specs, .n = n};
    m->layouts = calloc(n, sizeof *m->layouts);
    m->accounts = calloc(n, sizeof *m->accounts);
    m->builtin = calloc(n, sizeof *m->builtin);
    m->fresh = calloc(n, sizeof *m->fresh);
    m->fresh_layouts = calloc(n, sizeof *m->fresh_layouts);
    m->fresh_accounts = calloc(n, sizeof *m->fresh_accounts);
    return m->layouts && m->accounts && m->builtin && m->fresh && m->fresh_layouts &&
           m->fresh_accounts;
}

static void making_close(struct making *m)
{
    free(m->layouts);
    free(m->accounts);
    free(m->builtin);
    free(m->fresh);
    free(m->fresh_layouts);
    free(m->fresh_accounts);
    free(m->bytes);
}

/* Finds the built-in codes and assembles the others. */
static int gather(struct making *m, const struct carm_code_table *builtin, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < m->n && !rc; i++) {
        char name[CARM_CODE_NAME_MAX];
        rc = carm_code_check(&m->specs[i], err);
        if (rc) {
            break;
        }
        carm_code_name(&m->specs[i], name);
        m->builtin[i] = carm_code_table_find(builtin, name, &m->layouts[i], &m->accounts[i]);
        if (!m->builtin[i]) {
            m->fresh[m->nfresh++] = m->specs[i];
        }
    }
    /* codes address their constants by distance, so each image keeps its offsets; the fresh image follows the built-in
     * one */
    m->fresh_at =
        m->nfresh < m->n ? (builtin->begin + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES : 0;
    if (rc || !m->nfresh) {
        return rc;
    }
    struct carm_err why = {""};
    char name[CARM_CODE_NAME_MAX];
    uint8_t *bytes = NULL;
    size_t size = 0;
    carm_code_name(&m->fresh[0], name);
    rc = carm_image_assemble(m->fresh, m->nfresh, &bytes, &size, m->fresh_layouts,
                             m->fresh_accounts, &why);
    if (rc) {
        const bool lacks = rc == -CARM_ENOTSUP;
        return carm_fail(err, (enum carm_error)(-rc), "%s%s%s", why.text,
                         lacks ? "; it assembles test codes that are not built in, such as " : "",
                         lacks ? name : "");
    }
    m->bytes = bytes;
    m->size = size;
    for (size_t i = 0, k = 0; i < m->n; i++) {
        if (!m->builtin[i]) {
            const struct carm_code_layout *l = &m->fresh_layouts[k];
            m->layouts[i] =
                (struct carm_code_layout){m->fresh_at + l->begin, m->fresh_at + l->end,
                                          m->fresh_at + l->loop_begin, m->fresh_at + l->loop_end};
            m->accounts[i] = m->fresh_accounts[k++];
        }
    }
    return rc;
}

/* Copies the codes that were asked for, and the constants, to their places. */
static void lay_down(const struct making *m, const struct carm_code_table *builtin, uint8_t *text)
{
    if (m->nfresh < m->n) {
        const uint64_t constants = carm_builtin_constants(builtin);
        memcpy(text + constants, builtin->bytes + constants, builtin->begin - constants);
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct carm_code_layout *l = &m->layouts[i];
        if (m->builtin[i]) {
            memcpy(text + l->begin, builtin->bytes + l->begin, l->end - l->begin);
        }
    }
    if (m->size) {
        memcpy(text + m->fresh_at, m->bytes, m->size);
    }
}

/* Maps the text, recounts its codes, and makes it executable. It is never writable and
 * executable at the same time. */
static int map_text(struct carm_image *im, const struct making *m,
                    const struct carm_code_table *builtin, struct carm_err *err)
{
    const size_t size = (size_t)m->fresh_at + m->size;
    int rc = 0;
    void *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu bytes of test codes", size);
    }
    im->text = text;
    im->text_bytes = size;
    lay_down(m, builtin, text);
    for (size_t i = 0; i < m->n && !rc; i++) {
        rc = carm_recount_check(&m->specs[i], text, size, &m->layouts[i], &m->accounts[i], err);
    }
    if (!rc && mprotect(text, size, PROT_READ | PROT_EXEC) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the system refuses to make generated code executable (%s): check SELinux "
                       "execmem or a hardened kernel's settings",
                       strerror(errno));
    }
    return rc;
}

int carm_image_open_from(struct carm_image **image, const struct carm_code_table *builtin,
                         const struct carm_code_spec *specs, size_t n, struct carm_err *err)
{
    struct making m;
    struct carm_image *im = calloc(1, sizeof *im);
    const bool room = making_open(&m, specs, n);
    int rc = 0;
    if (im) {
        im->codes = calloc(n, sizeof *im->codes);
    }
    if (!room || !im || !im->codes) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu test codes", n);
        goto out;
    }
    rc = gather(&m, builtin, err);
    rc = rc ? rc : map_text(im, &m, builtin, err);
    if (rc) {
        goto out;
    }
    im->n = n;
    for (size_t i = 0; i < n; i++) {
        struct carm_code *c = &im->codes[i];
        c->spec = specs[i];
        carm_code_name(&specs[i], c->name);
        c->layout = m.layouts[i];
        c->account = m.accounts[i];
        uintptr_t entry = (uintptr_t)im->text + m.layouts[i].begin;
        memcpy(&c->run, &entry, sizeof entry);
    }
    *image = im;
    im = NULL;
out:
    carm_image_close(im);
    making_close(&m);
    return rc;
}

int carm_image_open(struct carm_image **image, const struct carm_code_spec *specs, size_t n,
                    struct carm_err *err)
{
    struct carm_code_table builtin;
    const int rc = carm_builtin_open(&builtin, err);
    return rc ? rc : carm_image_open_from(image, &builtin, specs, n, err);
}

const struct carm_code *carm_image_find(const struct carm_image *image, const char *name)
{
    for (size_t i = 0; i < image->n; i++) {
        if (strcmp(image->codes[i].name, name) == 0) {
            return &image->codes[i];
        }
    }
    return NULL;
}

void carm_image_close(struct carm_image *image)
{
    if (!image) {
        return;
    }
    if (image->text) {
        munmap(image->text, image->text_bytes);
    }
    free(image->codes);
    free(image);
}
