/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/chain/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "asm/image.h"
#include "base/unpack.h"

/* The built-in codes, or those that nasm makes now. *bytes is to be released with free. */
static int find_bytes(const struct carm_chain_code *codes, size_t n, uint8_t **bytes, size_t *size,
                      struct carm_err *err)
{
    if ((uintptr_t)carm_builtin_chains_packed != (uintptr_t)carm_builtin_chains_end) {
        return carm_unpack(carm_builtin_chains_packed, carm_builtin_chains_end,
                           "the built-in latency codes", bytes, size, err);
    }
    return carm_image_nasm(carm_chain_image_source, &(struct carm_chain_list){codes, n}, false,
                           bytes, size, err);
}

void carm_chain_image_source(FILE *out, const void *list)
{
    const struct carm_chain_list *l = list;
    carm_chain_source(out, l->codes, l->n);
}

/* Takes the codes from the table of an image, recounts each and fills in its address. */
static int take(struct carm_chain_image *im, const struct carm_code_table *table,
                const struct carm_chain_code *codes, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < im->n && !rc; i++) {
        struct carm_chain *c = &im->chains[i];
        struct carm_code_layout layout;
        struct carm_account account;
        char name[CARM_CODE_NAME_MAX];
        bool found = false;
        c->code = codes[i];
        c->units = carm_chain_units(&codes[i]);
        carm_chain_name(&codes[i], c->name);
        for (size_t k = 0; k < table->n && !found && !rc; k++) {
            rc = carm_code_table_entry(table, k, name, &layout, &account, err);
            found = !rc && strcmp(name, c->name) == 0;
        }
        if (!rc && !found) {
            rc = carm_fail(err, CARM_EFORMAT, "latency code %s is not among those built in",
                           c->name);
        }
        rc = rc ? rc
                : carm_chain_recount_check(&codes[i], im->text, im->text_bytes, &layout, &account,
                                           &c->account, err);
        if (!rc) {
            const uintptr_t entry = (uintptr_t)im->text + layout.begin;
            memcpy(&c->run, &entry, sizeof entry);
        }
    }
    return rc;
}

int carm_chain_image_open(struct carm_chain_image **image, const struct carm_chain_code *codes,
                          size_t n, struct carm_err *err)
{
    struct carm_code_table table;
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct carm_chain_image *im = calloc(1, sizeof *im);
    int rc = 0;
    if (im) {
        im->chains = calloc(n, sizeof *im->chains);
    }
    if (!im || !im->chains) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu latency codes", n);
        goto out;
    }
    im->n = n;
    rc = find_bytes(codes, n, &bytes, &size, err);
    rc = rc ? rc : carm_code_table_open(&table, bytes, size, err);
    if (rc) {
        goto out;
    }
    im->text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (im->text == MAP_FAILED) {
        im->text = NULL;
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu bytes of latency codes", size);
        goto out;
    }
    im->text_bytes = size;
    memcpy(im->text, bytes, size);
    rc = take(im, &table, codes, err);
    if (!rc && mprotect(im->text, size, PROT_READ | PROT_EXEC) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the system refuses to make generated code executable (%s): check SELinux "
                       "execmem or a hardened kernel's settings",
                       strerror(errno));
    }
    if (!rc) {
        *image = im;
        im = NULL;
    }
out:
    free(bytes);
    carm_chain_image_close(im);
    return rc;
}

void carm_chain_image_close(struct carm_chain_image *image)
{
    if (!image) {
        return;
    }
    if (image->text) {
        munmap(image->text, image->text_bytes);
    }
    free(image->chains);
    free(image);
}

const struct carm_chain *carm_chain_image_find(const struct carm_chain_image *image,
                                               const char *name)
{
    for (size_t i = 0; i < image->n; i++) {
        if (strcmp(image->chains[i].name, name) == 0) {
            return &image->chains[i];
        }
    }
    return NULL;
}
