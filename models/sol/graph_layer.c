/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One layer's map. Its keys come in any order: what they say lies in the draft's slots until the
 * map closes, then goes to the graph's pools (models/sol/graph_store.c). */
#include <stdbool.h>
#include <string.h>

#include "models/sol/draft.h"

enum key {
    TYPE,
    EQUATION,
    ELEMENTWISE,
    REDUCTION,
    REAL,
    SUPPORTABLE,
    NAMES,
    ROLES,
    SHAPES,
    CONNECTIONS,
    NKEYS
};

static const struct {
    const char name[24];
    size_t length;
    bool required;
} keys[NKEYS] = {
    [TYPE] = {"type", 4, true},
    [EQUATION] = {"einsum_equation", 15, false},
    [ELEMENTWISE] = {"elementwise_op", 14, false},
    [REDUCTION] = {"reduction_op", 12, false},
    [REAL] = {"is_real_einsum", 14, true},
    [SUPPORTABLE] = {"is_einsum_supportable", 21, false},
    [NAMES] = {"tensor_names", 12, true},
    [ROLES] = {"tensor_types", 12, true},
    [SHAPES] = {"tensor_shapes", 13, true},
    [CONNECTIONS] = {"connections", 11, true},
};

static const char *const sides[2] = {"inputs", "outputs"};

/* The layer in hand. */
struct hand {
    struct carm_sol_draft *draft;
    struct carm_sol_layer *layer;
    struct carm_err *err;
};

static int push(const struct hand *hand, struct carm_sol_list *list, uint64_t value)
{
    if (list->n == list->room) {
        const int rc = carm_sol_grow(&list->v, &list->room, list->n, 1, sizeof *list->v);
        if (rc) {
            return carm_sol_draft_fail(hand->draft, rc, hand->err);
        }
    }
    list->v[list->n++] = value;
    return 0;
}

static int refuse(const struct hand *hand, const struct carm_yaml_item *item, enum key key,
                  const char *reason)
{
    return carm_sol_draft_refuse(hand->draft, hand->layer,
                                 carm_sol_line_in(carm_sol_with_line(0, item->line)), hand->err,
                                 "%s %s", keys[key].name, reason);
}

/* ---- members of lists ------------------------------------------------------------------------ */

static int add_name(const struct hand *hand, enum key key, int side,
                    const struct carm_yaml_item *item)
{
    struct carm_sol_slots *slots = &hand->draft->slots;
    if (item->kind != CARM_YAML_SCALAR || item->length == 0) {
        return refuse(hand, item, key, "has a member that is no name");
    }
    const struct carm_sol_pending head = {
        .hash = carm_names_hash(&hand->draft->names, item->text, item->length),
        .length = (uint32_t)item->length};
    const size_t at = slots->used;
    const int rc = carm_sol_grow(&slots->pending, &slots->room, at, sizeof head + item->length, 1);
    if (rc) {
        return carm_sol_draft_fail(hand->draft, rc, hand->err);
    }
    memcpy(slots->pending + at, &head, sizeof head);
    memcpy(slots->pending + at + sizeof head, item->text, item->length);
    slots->used += sizeof head + item->length;
    return push(hand, key == NAMES ? &slots->names[side] : &slots->links[side],
                carm_sol_with_line((uint32_t)at, item->line));
}

static int add_role(const struct hand *hand, int side, const struct carm_yaml_item *item)
{
    static const char *const words[] = {[CARM_SOL_INPUT] = "input",
                                        [CARM_SOL_WEIGHT] = "weight",
                                        [CARM_SOL_BIAS] = "bias",
                                        [CARM_SOL_OUTPUT] = "output"};
    if (item->kind != CARM_YAML_SCALAR) {
        return refuse(hand, item, ROLES, "has a member that is no word");
    }
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (*item->text == *words[i] && strcmp(item->text, words[i]) == 0) {
            return push(hand, &hand->draft->slots.roles[side], i);
        }
    }
    return carm_sol_draft_refuse(hand->draft, hand->layer,
                                 carm_sol_line_in(carm_sol_with_line(0, item->line)), hand->err,
                                 "tensor_types has %.40s: a tensor is input, weight, bias or "
                                 "output",
                                 item->text);
}

static int add_shape(const struct hand *hand, int side, const struct carm_yaml_item *item)
{
    struct carm_sol_slots *slots = &hand->draft->slots;
    struct carm_yaml_item member;
    uint32_t rank = 0;
    const size_t line = item->line;
    if (item->kind != CARM_YAML_LIST) {
        return refuse(hand, item, SHAPES, "has a member that is no list of sizes");
    }
    for (;;) {
        uint64_t extent = 0;
        int rc = carm_yaml_next(hand->draft->yaml, &member, hand->err);
        if (!rc && member.kind == CARM_YAML_CLOSE) {
            return push(hand, &slots->ranks[side], carm_sol_with_line(rank, line));
        }
        rc = rc ? rc
                : carm_yaml_count(hand->draft->yaml, &member, "a size in tensor_shapes", &extent,
                                  hand->err);
        if (!rc && ++rank > CARM_SOL_RANK_MAX) {
            return refuse(hand, &member, SHAPES, "has a shape of more than 64 dimensions");
        }
        rc = rc ? rc : push(hand, &slots->extents[side], extent);
        if (rc) {
            return rc;
        }
    }
}

static int add_member(const struct hand *hand, enum key key, int side,
                      const struct carm_yaml_item *item)
{
    switch (key) {
    case ROLES:
        return add_role(hand, side, item);
    case SHAPES:
        return add_shape(hand, side, item);
    default:
        return add_name(hand, key, side, item);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

static int read_list(const struct hand *hand, enum key key, int side)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(hand->draft->yaml, &item, hand->err);
    if (rc || carm_yaml_is_null(&item)) {
        return rc;
    }
    if (item.kind != CARM_YAML_LIST) {
        return refuse(hand, &item, key,
                      side ? "has outputs that are no list" : "has inputs that are no list");
    }
    while (!rc) {
        rc = carm_yaml_next(hand->draft->yaml, &item, hand->err);
        if (!rc && item.kind == CARM_YAML_CLOSE) {
            return 0;
        }
        rc = rc ? rc : add_member(hand, key, side, &item);
    }
    return rc;
}

/* { inputs: [...], outputs: [...] } */
static int read_sides(const struct hand *hand, enum key key)
{
    bool seen[2] = {false, false};
    struct carm_yaml_item item;
    int rc = carm_yaml_next(hand->draft->yaml, &item, hand->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_MAP) {
        return refuse(hand, &item, key, "is no map of inputs and outputs");
    }
    const struct carm_yaml_item open = item;
    while (!rc) {
        rc = carm_yaml_key(hand->draft->yaml, &item, hand->err);
        if (rc || item.kind == CARM_YAML_CLOSE) {
            break;
        }
        const int side = strcmp(item.text, sides[0]) == 0   ? 0
                         : strcmp(item.text, sides[1]) == 0 ? 1
                                                            : -1;
        if (side >= 0 && seen[side]) {
            return refuse(hand, &item, key, side ? "has outputs twice" : "has inputs twice");
        }
        if (side >= 0) {
            seen[side] = true;
        }
        rc = side < 0 ? carm_yaml_skip(hand->draft->yaml, hand->err) : read_list(hand, key, side);
    }
    if (!rc && !(seen[0] && seen[1])) {
        return refuse(hand, &open, key, seen[0] ? "lacks outputs" : "lacks inputs");
    }
    return rc;
}

static int read_text(const struct hand *hand, enum key key, uint32_t *offset)
{
    struct carm_yaml_item item;
    uint32_t number = 0;
    int rc = carm_yaml_next(hand->draft->yaml, &item, hand->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_SCALAR) {
        return refuse(hand, &item, key, "is no text");
    }
    if (!carm_yaml_is_null(&item)) {
        rc = carm_sol_draft_name(hand->draft, item.text, item.length, &number, hand->err);
    }
    if (!rc && key == TYPE && number == 0) {
        return refuse(hand, &item, key, "is empty");
    }
    *offset = hand->draft->names.offsets[number];
    return rc;
}

static int read_flag(const struct hand *hand, enum key key, bool *flag)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(hand->draft->yaml, &item, hand->err);
    if (rc || (key == SUPPORTABLE && carm_yaml_is_null(&item))) {
        return rc;
    }
    return carm_yaml_bool(hand->draft->yaml, &item, keys[key].name, flag, hand->err);
}

static int read_value(const struct hand *hand, enum key key)
{
    switch (key) {
    case TYPE:
        return read_text(hand, key, &hand->layer->type);
    case EQUATION:
        return read_text(hand, key, &hand->layer->equation);
    case ELEMENTWISE:
        return read_text(hand, key, &hand->layer->elementwise);
    case REDUCTION:
        return read_text(hand, key, &hand->layer->reduction);
    case REAL:
        return read_flag(hand, key, &hand->layer->real_einsum);
    case SUPPORTABLE:
        return read_flag(hand, key, &hand->layer->supportable);
    case NAMES:
    case ROLES:
    case SHAPES:
    case CONNECTIONS:
        return read_sides(hand, key);
    default:
        return carm_yaml_skip(hand->draft->yaml, hand->err);
    }
}

static enum key find_key(const struct carm_yaml_item *item)
{
    enum key key = TYPE;
    while (key < NKEYS && (item->length != keys[key].length ||
                           memcmp(item->text, keys[key].name, item->length) != 0)) {
        key++;
    }
    return key;
}

static int read_keys(const struct hand *hand)
{
    unsigned seen = 0;
    struct carm_yaml_item item;
    int rc = 0;
    while (!rc) {
        rc = carm_yaml_key(hand->draft->yaml, &item, hand->err);
        if (rc || item.kind == CARM_YAML_CLOSE) {
            break;
        }
        const enum key key = find_key(&item);
        if (key < NKEYS && (seen >> key & 1U)) {
            return refuse(hand, &item, key, "stands here a second time");
        }
        seen |= 1U << key;
        rc = read_value(hand, key);
    }
    for (enum key key = TYPE; !rc && key < NKEYS; key++) {
        if (keys[key].required && !(seen >> key & 1U)) {
            return carm_sol_draft_refuse(hand->draft, hand->layer, 0, hand->err,
                                         "the key %s is missing", keys[key].name);
        }
    }
    return rc;
}

int carm_sol_read_layer(struct carm_sol_draft *draft, struct carm_sol_layer *layer,
                        struct carm_err *err)
{
    const struct hand hand = {.draft = draft, .layer = layer, .err = err};
    struct carm_sol_slots *slots = &draft->slots;
    for (int side = 0; side < 2; side++) {
        slots->names[side].n = slots->roles[side].n = slots->ranks[side].n = 0;
        slots->extents[side].n = slots->links[side].n = 0;
    }
    slots->used = 0;
    layer->supportable = true; /* where the file does not say otherwise */
    int rc = read_keys(&hand);
    rc = rc ? rc : carm_sol_store_layer(draft, layer, err);
    layer->kind = (uint8_t)carm_sol_kind_find(draft->names.text + layer->type);
    return rc;
}
