/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "asm/builtin.h"

enum { PAGE_BYTES = 4096 };

/* An image while it is put together. */
struct making {
    const struct carm_code_spec *specs;
    size_t n;
    struct carm_code_layout *layouts; /* [n] in the text */
    struct carm_account *accounts;    /* [n] */
    bool *builtin;                    /* [n] is built in */
    struct carm_code_spec *fresh;     /* [nfresh] what the store lacks */
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

/* Finds what is built in and assembles the others. */
static int gather(struct making *m, const struct carm_table *store, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < m->n && !rc; i++) {
        char name[CARM_CODE_NAME_MAX];
        rc = carm_code_check(&m->specs[i], err);
        if (rc) {
            break;
        }
        carm_code_name(&m->specs[i], name);
        m->builtin[i] = carm_table_find(store, name, &m->layouts[i], &m->accounts[i]);
        if (!m->builtin[i]) {
            m->fresh[m->nfresh++] = m->specs[i];
        }
    }
    /* codes find their constants by distance: each image keeps its offsets, one behind the other */
    m->fresh_at = m->nfresh < m->n ? (store->begin + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES : 0;
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
                         lacks ? "; it assembles what this program does not carry, such as " : "",
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
static void lay_down(const struct making *m, const struct carm_table *store, uint8_t *text)
{
    if (m->nfresh < m->n) {
        const uint64_t constants = carm_builtin_constants(store);
        memcpy(text + constants, store->bytes + constants, store->begin - constants);
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct carm_code_layout *l = &m->layouts[i];
        if (m->builtin[i]) {
            memcpy(text + l->begin, store->bytes + l->begin, l->end - l->begin);
        }
    }
    if (m->size) {
        memcpy(text + m->fresh_at, m->bytes, m->size);
    }
}

/* Maps the text, recounts what lies in it, and makes it executable: written first, executable after,
 * never both. */
static int map_text(struct carm_image *im, const struct making *m, const struct carm_table *store,
                    struct carm_err *err)
{
    const size_t size = (size_t)m->fresh_at + m->size;
    int rc = 0;
    void *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu bytes of test codes", size);
    }
    im->text = text;
    im->text_bytes = size;
    lay_down(m, store, text);
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

int carm_image_open_from(struct carm_image **image, const struct carm_table *store,
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
    rc = gather(&m, store, err);
    rc = rc ? rc : map_text(im, &m, store, err);
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
    struct carm_table store;
    const int rc = carm_builtin_open(&store, err);
    return rc ? rc : carm_image_open_from(image, &store, specs, n, err);
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
        (void)munmap(image->text, image->text_bytes);
    }
    free(image->codes);
    free(image);
}
