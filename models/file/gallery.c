/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/gallery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/text.h"
#include "base/unpack.h"

static const struct carm_asset_machine *find(const char *name)
{
    const struct carm_asset_machine *m = carm_asset_machines;
    while (m->name && strcmp(m->name, name) != 0) {
        m++;
    }
    return m->name ? m : NULL;
}

bool carm_gallery_has(const char *operand)
{
    return find(operand) && access(operand, F_OK) != 0;
}

const char *carm_gallery_name(size_t i)
{
    return carm_asset_machines[i].name;
}

char *carm_gallery_names(char *dst, size_t size)
{
    *dst = '\0';
    for (size_t i = 0; carm_gallery_name(i); i++) {
        carm_text_list(dst, size, ", ", "%s", carm_gallery_name(i));
    }
    return dst;
}

int carm_gallery_open(const char *name, struct carm_model **out, struct carm_err *err)
{
    const struct carm_asset_machine *machine = find(name);
    *out = NULL;
    if (!machine) {
        char clean[64], names[320];
        return carm_fail(
            err, CARM_EINVAL,
            "there is neither a file nor a measured machine \"%s\"; the machines are %s",
            carm_text_clean(clean, sizeof clean, name, false),
            carm_gallery_names(names, sizeof names));
    }
    uint8_t *text = NULL;
    size_t size = 0;
    int rc = carm_unpack(machine->packed, machine->end, "the measured machines", &text, &size, err);
    rc = rc ? rc : carm_model_parse((const char *)text, size, name, out, err);
    free(text);
    if (!rc) {
        snprintf((*out)->machine.hostname, sizeof(*out)->machine.hostname, "%s", name);
    }
    return rc;
}
