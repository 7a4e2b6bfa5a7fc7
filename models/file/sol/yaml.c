/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

/* Largest input without an item: libyaml buffers a whole scalar. Comments and blank lines count, too. */
enum { SILENCE_MAX = 4 << 20 };

struct carm_yaml {
    char *name;
    struct carm_yaml_item *items;
    size_t n, room;
    char *text; /* of all scalars, each with its NUL */
    size_t used, text_room;
};

/* The document while it is read. */
struct stream {
    struct carm_yaml *yaml;
    struct carm_err *err;
    yaml_parser_t parser;
    yaml_event_t event;
    FILE *in;         /* NULL = input is text */
    const char *text; /* borrowed */
    size_t at, size;  /* of text */
    size_t given;     /* bytes given to the parser */
    size_t silence;   /* bytes given to the parser since the last item */
    int read_errno;
    struct carm_names names; /* of anchors */
    uint32_t *anchors;       /* [names.n] index of each anchor's item */
    size_t anchors_room;
    uint32_t open[CARM_YAML_DEPTH_MAX]; /* open maps and lists, the innermost last */
    uint8_t depth;
    size_t copied; /* items of aliases so far */
};

/* Blanks control characters: a file's strings may hold terminal escapes, and messages go to
 * terminals. */
static void blank_controls(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            *p = '?';
        } else if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0) { /* U+0080..U+009F */
            p[0] = p[1] = '?';
        }
    }
}

int carm_yaml_refuse(const struct carm_yaml *yaml, size_t line, struct carm_err *err,
                     const char *format, ...)
{
    char reason[320];
    CARM_TEXT_OF_ARGS(reason, format);
    blank_controls(reason);
    return carm_fail(err, CARM_EFORMAT, "%.160s, line %zu: %s", yaml->name, line, reason);
}

/* The parser's error. Errors of libyaml's reader (bytes that are not text) are ahead of the
 * parser's mark, so the lines up to the error are counted here. */
static int parser_failed(const struct stream *s)
{
    const yaml_parser_t *p = &s->parser;
    if (s->read_errno) {
        return carm_fail(s->err, CARM_EIO, "cannot read %.256s: %s", s->yaml->name,
                         strerror(s->read_errno));
    }
    if (p->error == YAML_MEMORY_ERROR) {
        return carm_fail(s->err, CARM_ENOMEM, "not enough memory to read %.256s", s->yaml->name);
    }
    if (s->given > CARM_YAML_BYTES_MAX) {
        return carm_fail(s->err, CARM_EFORMAT,
                         "%.200s has more than %zu MiB, which is too much for such a file",
                         s->yaml->name, CARM_YAML_BYTES_MAX >> 20);
    }
    if (s->silence > SILENCE_MAX) {
        return carm_yaml_refuse(
            s->yaml, p->mark.line + 1, s->err,
            "more than %d MiB without a value: carm reads scalars of up to %d bytes",
            SILENCE_MAX >> 20, CARM_YAML_SCALAR_MAX);
    }
    const char *problem = p->problem ? p->problem : "it ends in the middle";
    if (p->error == YAML_READER_ERROR) {
        size_t line = p->mark.line + 1;
        for (const unsigned char *c = p->buffer.pointer; c < p->buffer.last; c++) {
            line += *c == '\n';
        }
        return carm_yaml_refuse(s->yaml, line, s->err, "not UTF-8 text: %.100s", problem);
    }
    return carm_yaml_refuse(s->yaml, p->problem_mark.line + 1, s->err,
                            "not valid YAML: %.100s%s%.100s", problem, p->context ? " " : "",
                            p->context ? p->context : "");
}

static int give(void *data, unsigned char *buffer, size_t size, size_t *given)
{
    struct stream *s = data;
    if (s->in) {
        errno = 0;
        *given = fread(buffer, 1, size, s->in);
        if (*given == 0 && ferror(s->in)) {
            s->read_errno = errno ? errno : EIO;
            return 0;
        }
    } else {
        *given = size < s->size - s->at ? size : s->size - s->at;
        memcpy(buffer, s->text + s->at, *given);
        s->at += *given;
    }
    s->given += *given;
    s->silence += *given;
    return s->silence <= SILENCE_MAX && s->given <= CARM_YAML_BYTES_MAX;
}

static int next_event(struct stream *s)
{
    yaml_event_delete(&s->event);
    return yaml_parser_parse(&s->parser, &s->event) ? 0 : parser_failed(s);
}

static size_t line_of(const struct stream *s)
{
    return s->event.start_mark.line + 1;
}

/* Adds items without contents. returns 0 or negative */
static int add_items(struct stream *s, size_t more)
{
    struct carm_yaml *yaml = s->yaml;
    if (more > CARM_YAML_ITEMS_MAX - yaml->n) {
        return carm_yaml_refuse(yaml, line_of(s), s->err,
                                "more than %d values: no graph, architecture or analysis has as "
                                "many",
                                CARM_YAML_ITEMS_MAX);
    }
    const int rc = carm_array_grow(&yaml->items, &yaml->room, yaml->n, more, sizeof *yaml->items,
                                   "the document", s->err);
    yaml->n += rc ? 0 : more;
    return rc;
}

static int bad_tag(const struct stream *s, const yaml_char_t *tag)
{
    return carm_yaml_refuse(s->yaml, line_of(s), s->err,
                            "the tag %.60s: only YAML's own are read, where they fit; leave it out",
                            (const char *)tag);
}

/* The words after tag:yaml.org,2002:, or "str" for the tag "!". NULL = not a core tag */
static const char *core_tag(const yaml_char_t *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    const char *text = (const char *)tag;
    if (strcmp(text, "!") == 0) {
        return "str";
    }
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : NULL;
}

static int add_scalar(struct stream *s)
{
    const yaml_event_t *e = &s->event;
    const char *text = (const char *)e->data.scalar.value;
    const size_t length = e->data.scalar.length;
    struct carm_yaml *yaml = s->yaml;
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (length > CARM_YAML_SCALAR_MAX) {
        return carm_yaml_refuse(yaml, line_of(s), s->err, "a scalar of %zu bytes: %d is the most",
                                length, CARM_YAML_SCALAR_MAX);
    }
    if (strlen(text) != length) { /* a NUL, by an escape */
        return carm_yaml_refuse(yaml, line_of(s), s->err, "a scalar with a zero byte inside");
    }
    if (e->data.scalar.tag) {
        const char *core = core_tag(e->data.scalar.tag);
        plain = !core || strcmp(core, "str") != 0;
        if (plain && (!core || (strcmp(core, "int") != 0 && strcmp(core, "float") != 0 &&
                                strcmp(core, "bool") != 0 && strcmp(core, "null") != 0))) {
            return bad_tag(s, e->data.scalar.tag);
        }
    }
    int rc = carm_array_grow(&yaml->text, &yaml->text_room, yaml->used, length + 1, 1,
                             "the document", s->err);
    rc = rc ? rc : add_items(s, 1);
    if (rc) {
        return rc;
    }
    memcpy(yaml->text + yaml->used, text, length + 1);
    yaml->items[yaml->n - 1] = (struct carm_yaml_item){.kind = CARM_YAML_SCALAR,
                                                       .plain = plain,
                                                       .depth = s->depth,
                                                       .line = (uint32_t)line_of(s),
                                                       .length = (uint32_t)length,
                                                       .size = 1,
                                                       .at = yaml->used};
    yaml->used += length + 1;
    return 0;
}

static int too_deep(const struct stream *s)
{
    return carm_yaml_refuse(s->yaml, line_of(s), s->err,
                            "maps and lists nest more than %d deep: no graph, architecture or "
                            "analysis does",
                            CARM_YAML_DEPTH_MAX);
}

/* Adds a map or list; its size is 0 while it is open. */
static int open_item(struct stream *s, enum carm_yaml_kind kind, const yaml_char_t *tag)
{
    const bool map = kind == CARM_YAML_MAP;
    const char *core = tag ? core_tag(tag) : NULL;
    /* PyYAML's tuples are lists */
    if (tag && strcmp((const char *)tag, "!") != 0 &&
        (!core ||
         (strcmp(core, map ? "map" : "seq") != 0 && (map || strcmp(core, "python/tuple") != 0)))) {
        return bad_tag(s, tag);
    }
    if (s->depth == CARM_YAML_DEPTH_MAX) {
        return too_deep(s);
    }
    const int rc = add_items(s, 1);
    if (rc == 0) {
        s->yaml->items[s->yaml->n - 1] = (struct carm_yaml_item){
            .kind = (uint8_t)kind, .depth = s->depth, .line = (uint32_t)line_of(s)};
        s->open[s->depth++] = (uint32_t)(s->yaml->n - 1);
    }
    return rc;
}

static int number_anchor(struct stream *s, const yaml_char_t *name, uint32_t *number)
{
    const char *text = (const char *)name;
    return carm_names_add(&s->names, text, strlen(text), number)
               ? carm_fail(s->err, CARM_ENOMEM, "not enough memory for the anchors of %.256s",
                           s->yaml->name)
               : 0;
}

/* Sets the anchor of this name to the last added item. */
static int set_anchor(struct stream *s, const yaml_char_t *name)
{
    const uint32_t known = s->names.n;
    uint32_t number = 0;
    int rc = number_anchor(s, name, &number);
    if (rc == 0 && number == known) {
        rc = carm_array_grow(&s->anchors, &s->anchors_room, known, 1, sizeof *s->anchors,
                             "the anchors", s->err);
    }
    if (rc == 0) {
        s->anchors[number] = (uint32_t)(s->yaml->n - 1);
    }
    return rc;
}

/* Copies the items of an alias's anchor. */
static int add_alias(struct stream *s)
{
    struct carm_yaml *yaml = s->yaml;
    const yaml_char_t *name = s->event.data.alias.anchor;
    const size_t read = s->event.end_mark.index;
    const size_t most = read < CARM_YAML_COPIES_MAX / CARM_YAML_GROWTH ? read * CARM_YAML_GROWTH
                                                                       : CARM_YAML_COPIES_MAX;
    const uint32_t known = s->names.n;
    uint32_t number = 0;
    int rc = number_anchor(s, name, &number);
    if (rc) {
        return rc;
    }
    if (number == known) {
        return carm_yaml_refuse(yaml, line_of(s), s->err,
                                "the alias *%.40s has no anchor before it", (const char *)name);
    }
    const size_t from = s->anchors[number], to = yaml->n, n = yaml->items[from].size;
    const int deeper = s->depth - yaml->items[from].depth;
    if (n == 0) {
        return carm_yaml_refuse(yaml, line_of(s), s->err,
                                "the alias *%.40s is used inside its own anchor",
                                (const char *)name);
    }
    s->copied += n;
    if (s->copied > most) {
        return carm_yaml_refuse(yaml, line_of(s), s->err,
                                "the aliases so far stand for more than %zu values: write them out",
                                most);
    }
    rc = add_items(s, n);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct carm_yaml_item *item = &yaml->items[to + i];
        const int depth = yaml->items[from + i].depth + deeper;
        *item = yaml->items[from + i];
        item->line = (uint32_t)line_of(s);
        item->depth = (uint8_t)depth;
        if (depth + (item->kind != CARM_YAML_SCALAR) > CARM_YAML_DEPTH_MAX) {
            rc = too_deep(s);
        }
    }
    return rc;
}

static int add_event(struct stream *s)
{
    const yaml_event_t *e = &s->event;
    const yaml_char_t *anchor = NULL;
    int rc = 0;
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        rc = add_scalar(s);
        anchor = e->data.scalar.anchor;
        break;
    case YAML_MAPPING_START_EVENT:
        rc = open_item(s, CARM_YAML_MAP, e->data.mapping_start.tag);
        anchor = e->data.mapping_start.anchor;
        break;
    case YAML_SEQUENCE_START_EVENT:
        rc = open_item(s, CARM_YAML_LIST, e->data.sequence_start.tag);
        anchor = e->data.sequence_start.anchor;
        break;
    case YAML_ALIAS_EVENT:
        return add_alias(s);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT: {
        const uint32_t open = s->open[--s->depth];
        s->yaml->items[open].size = (uint32_t)(s->yaml->n - open);
        return 0;
    }
    default:
        return 0;
    }
    return rc || !anchor ? rc : set_anchor(s, anchor);
}

static int read_document(struct stream *s, const char *root)
{
    struct carm_yaml *yaml = s->yaml;
    int rc = next_event(s); /* the stream's start */
    rc = rc ? rc : next_event(s);
    if (rc == 0 && s->event.type == YAML_STREAM_END_EVENT) {
        return carm_yaml_refuse(yaml, line_of(s), s->err, "the file is empty: it has no document");
    }
    do {
        rc = rc ? rc : next_event(s);
        s->silence = 0;
        rc = rc ? rc : add_event(s);
        if (rc == 0 && root && yaml->n && yaml->items->kind != CARM_YAML_MAP) {
            return carm_yaml_refuse(yaml, yaml->items->line, s->err, "%s", root);
        }
    } while (rc == 0 && s->event.type != YAML_DOCUMENT_END_EVENT);
    rc = rc ? rc : next_event(s);
    if (rc == 0 && s->event.type != YAML_STREAM_END_EVENT) {
        return carm_yaml_refuse(yaml, line_of(s), s->err,
                                "a second document: put each document into a file of its own");
    }
    for (size_t i = 0; i < yaml->n; i++) {
        struct carm_yaml_item *item = &yaml->items[i];
        item->text = item->kind == CARM_YAML_SCALAR ? yaml->text + item->at : "";
    }
    return rc;
}

/* Reads the document of a stream whose input is set. */
static int open_stream(struct stream *s, const char *name, const char *root, struct carm_yaml **out)
{
    struct carm_yaml *yaml = *out = calloc(1, sizeof *yaml);
    s->yaml = yaml;
    if (yaml) {
        yaml->name = strdup(name);
    }
    int rc = -CARM_ENOMEM;
    if (!yaml || !yaml->name || !yaml_parser_initialize(&s->parser)) {
        carm_fail(s->err, CARM_ENOMEM, "not enough memory to read %.256s", name);
    } else {
        yaml_parser_set_input(&s->parser, give, s);
        carm_names_open(&s->names);
        rc = read_document(s, root);
        yaml_event_delete(&s->event);
        yaml_parser_delete(&s->parser);
        carm_names_close(&s->names);
        free(s->anchors);
    }
    if (rc) {
        carm_yaml_close(yaml);
        *out = NULL;
    }
    return rc;
}

int carm_yaml_open(const char *path, const char *root, struct carm_yaml **yaml,
                   struct carm_err *err)
{
    const bool standard = strcmp(path, "-") == 0;
    struct stat about;
    struct stream s = {.err = err, .in = standard ? stdin : fopen(path, "rbe")};
    int rc;
    *yaml = NULL;
    if (!s.in || fstat(fileno(s.in), &about)) {
        rc = carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    } else if (S_ISDIR(about.st_mode)) {
        rc = carm_fail(err, CARM_EIO, "cannot read %.256s: it is a directory; name a file in it",
                       path);
    } else {
        rc = open_stream(&s, standard ? "standard input" : path, root, yaml);
    }
    if (s.in && !standard) {
        fclose(s.in);
    }
    return rc;
}

int carm_yaml_open_text(const char *text, size_t size_bytes, const char *name, const char *root,
                        struct carm_yaml **yaml, struct carm_err *err)
{
    struct stream s = {.err = err, .text = text, .size = size_bytes};
    return open_stream(&s, name, root, yaml);
}

void carm_yaml_close(struct carm_yaml *yaml)
{
    if (yaml) {
        free(yaml->items);
        free(yaml->text);
        free(yaml->name);
        free(yaml);
    }
}

const struct carm_yaml_item *carm_yaml_root(const struct carm_yaml *yaml)
{
    return yaml->items;
}

const struct carm_yaml_item *carm_yaml_next_key(const struct carm_yaml *yaml,
                                                const struct carm_yaml_item *map,
                                                const struct carm_yaml_item *key, int *rc,
                                                struct carm_err *err)
{
    key = key ? carm_yaml_after(key + 1) : map + 1;
    if (*rc || key == carm_yaml_after(map)) {
        return NULL;
    }
    if (key->kind != CARM_YAML_SCALAR) {
        *rc = carm_yaml_refuse(yaml, key->line, err, "a key that is a map or a list, not text");
    } else if (key->plain && strcmp(key->text, "<<") == 0) {
        *rc = carm_yaml_refuse(yaml, key->line, err,
                               "a merge key (<<): it is not read; write the keys out");
    }
    return *rc ? NULL : key;
}

/* Numbers of YAML 1.1, which PyYAML writes, and of 1.2 are read, except words that mean different numbers in the
 * two. */
enum { NUMBER_MAX = 64 };

static int not_a(const struct carm_yaml *yaml, const struct carm_yaml_item *item, const char *what,
                 const char *expected, struct carm_err *err)
{
    const bool quoted = !item->plain || !item->length;
    return item->kind == CARM_YAML_SCALAR
               ? carm_yaml_refuse(yaml, item->line, err, "%s is %s%.40s%s, not %s", what,
                                  quoted ? "\"" : "", item->text, quoted ? "\"" : "", expected)
               : carm_yaml_refuse(yaml, item->line, err, "%s is a %s, not %s", what,
                                  item->kind == CARM_YAML_MAP ? "map" : "list", expected);
}

int carm_yaml_count(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                    const char *what, uint64_t *value, struct carm_err *err)
{
    static const char expected[] = "a whole number from 0 to 9223372036854775807 in digits";
    const char *s = item->text;
    uint64_t v = 0;
    bool digit = false; /* the previous character is a digit */
    if (item->kind != CARM_YAML_SCALAR || !item->plain) {
        return not_a(yaml, item, what, expected, err);
    }
    if (s[0] == '0' && s[1]) { /* octal in YAML 1.1, decimal in 1.2 */
        return not_a(yaml, item, what, expected, err);
    }
    for (; *s; s++) {
        if (*s == '_' && digit) { /* 1_000 */
            digit = false;
            continue;
        }
        const unsigned d = (unsigned)(*s - '0');
        if (d > 9 || v > ((uint64_t)INT64_MAX - d) / 10) {
            return not_a(yaml, item, what, expected, err);
        }
        v = v * 10 + d;
        digit = true;
    }
    if (!digit) {
        return not_a(yaml, item, what, expected, err);
    }
    *value = v;
    return 0;
}

int carm_yaml_number(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                     const char *what, double *value, struct carm_err *err)
{
    char digits[NUMBER_MAX];
    size_t n = 0;
    if (item->kind != CARM_YAML_SCALAR || !item->plain || item->length >= sizeof digits ||
        strspn(item->text, "0123456789_.eE+-") != item->length) {
        return not_a(yaml, item, what, "a number", err); /* also hexadecimal, .inf, .nan */
    }
    for (const char *s = item->text; *s; s++) {
        if (*s != '_') {
            digits[n++] = *s;
        }
    }
    digits[n] = '\0';
    char *rest = NULL;
    const double v = strtod(digits, &rest);
    if (rest == digits || *rest || !isfinite(v)) {
        return not_a(yaml, item, what, "a number", err);
    }
    *value = v;
    return 0;
}

int carm_yaml_bool(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                   const char *what, bool *value, struct carm_err *err)
{
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE",
                                        "no",    "yes",  "No",    "Yes",  "NO",    "YES",
                                        "off",   "on",   "Off",   "On",   "OFF",   "ON"};
    if (item->kind == CARM_YAML_SCALAR && item->plain) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strcmp(item->text, words[i]) == 0) {
                *value = i % 2;
                return 0;
            }
        }
    }
    return not_a(yaml, item, what, "true or false", err);
}

bool carm_yaml_is_null(const struct carm_yaml_item *item)
{
    if (item->kind != CARM_YAML_SCALAR || !item->plain) {
        return false;
    }
    switch (item->length) {
    case 0:
        return true;
    case 1:
        return *item->text == '~';
    case 4:
        return strcmp(item->text, "null") == 0 || strcmp(item->text, "Null") == 0 ||
               strcmp(item->text, "NULL") == 0;
    default:
        return false;
    }
}
