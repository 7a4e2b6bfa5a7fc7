/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/yaml.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

#include "base/array.h"
#include "base/hash.h"

/* libyaml buffers a whole scalar: limits of the input without an item, and of the kept items.
 * Comments and blank lines count, too. */
enum { SILENCE_MAX = 4 << 20, KEPT_MAX = 256 << 20 };

/* The items of an anchor's node, kept for its aliases. */
struct kept {
    enum carm_yaml_kind kind;
    bool plain, alias;
    uint32_t length;
    size_t text; /* in kept_text; of an alias the anchor's number */
};

struct anchor {
    size_t begin, end; /* in kept; end 0 = its node is open */
};

struct open_anchor {
    size_t begin;
    uint32_t number;
    unsigned depth; /* outside of its node */
};

/* The position in kept items that are given again. */
struct copy {
    size_t at, end; /* in kept */
};

struct carm_yaml {
    yaml_parser_t parser;
    yaml_event_t event; /* of the last item: its text lies here */
    char *name;
    FILE *in;         /* or NULL: text */
    const char *text; /* borrowed */
    size_t at, size;  /* of text */
    size_t silence;   /* bytes given to the parser since the last item */
    int read_errno;
    unsigned depth;
    bool started, ended;
    struct carm_names names; /* of anchors */
    struct anchor *anchors;  /* [names.n] */
    size_t anchors_room;
    struct open_anchor open[CARM_YAML_DEPTH_MAX + 2]; /* innermost last */
    unsigned nopen;
    struct kept *kept;
    size_t nkept, kept_room;
    char *kept_text;
    size_t kept_used, kept_text_room;
    struct copy copies[CARM_YAML_DEPTH_MAX + 1]; /* innermost last */
    unsigned ncopies;
    size_t copied;    /* items given by aliases so far */
    size_t copy_line; /* of the outermost alias */
};

/* ---- messages ---- */

/* A file's strings may hold terminal escapes, and messages go to terminals. */
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
    va_list ap;
    va_start(ap, format);
    vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    blank_controls(reason);
    return carm_fail(err, CARM_EFORMAT, "%.160s, line %zu: %s", yaml->name, line, reason);
}

/* The parser's error. Errors of libyaml's reader (bytes that are not text) lie ahead of the
 * parser's mark: the lines up to the error are counted. */
static int parser_failed(const struct carm_yaml *yaml, struct carm_err *err)
{
    const yaml_parser_t *p = &yaml->parser;
    if (yaml->read_errno) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", yaml->name,
                         strerror(yaml->read_errno));
    }
    if (p->error == YAML_MEMORY_ERROR) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.256s", yaml->name);
    }
    if (yaml->silence > SILENCE_MAX) {
        return carm_yaml_refuse(
            yaml, p->mark.line + 1, err,
            "more than %d MiB without a value: carm reads scalars of up to %d bytes",
            SILENCE_MAX >> 20, CARM_YAML_SCALAR_MAX);
    }
    const char *problem = p->problem ? p->problem : "it ends in the middle";
    if (p->error == YAML_READER_ERROR) {
        size_t line = p->mark.line + 1;
        for (const unsigned char *c = p->buffer.pointer; c < p->buffer.last; c++) {
            line += *c == '\n';
        }
        return carm_yaml_refuse(yaml, line, err, "not UTF-8 text: %.100s", problem);
    }
    return carm_yaml_refuse(yaml, p->problem_mark.line + 1, err, "not valid YAML: %.100s%s%.100s",
                            problem, p->context ? " " : "", p->context ? p->context : "");
}

/* ---- input ---- */

static int give(void *data, unsigned char *buffer, size_t size, size_t *given)
{
    struct carm_yaml *yaml = data;
    if (yaml->in) {
        errno = 0;
        *given = fread(buffer, 1, size, yaml->in);
        if (*given == 0 && ferror(yaml->in)) {
            yaml->read_errno = errno ? errno : EIO;
            return 0;
        }
    } else {
        *given = size < yaml->size - yaml->at ? size : yaml->size - yaml->at;
        memcpy(buffer, yaml->text + yaml->at, *given);
        yaml->at += *given;
    }
    yaml->silence += *given;
    return yaml->silence <= SILENCE_MAX;
}

static int no_memory(const char *name, struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.256s", name);
}

/* returns a reader without input, or NULL */
static struct carm_yaml *new_reader(const char *name)
{
    struct carm_yaml *yaml = calloc(1, sizeof *yaml);
    if (!yaml) {
        return NULL;
    }
    yaml->name = strdup(name);
    if (!yaml->name || !yaml_parser_initialize(&yaml->parser)) {
        free(yaml->name);
        free(yaml);
        return NULL;
    }
    yaml_parser_set_input(&yaml->parser, give, yaml);
    carm_names_open(&yaml->names);
    return yaml;
}

static int open_file(struct carm_yaml *yaml, const char *path, struct carm_err *err)
{
    struct stat about;
    yaml->in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (!yaml->in || fstat(fileno(yaml->in), &about)) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    }
    if (S_ISDIR(about.st_mode)) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: it is a directory; name a file in it",
                         path);
    }
    return 0;
}

int carm_yaml_open(const char *path, struct carm_yaml **yaml, struct carm_err *err)
{
    struct carm_yaml *reader = new_reader(strcmp(path, "-") == 0 ? "standard input" : path);
    *yaml = NULL;
    if (!reader) {
        return no_memory(path, err);
    }
    const int rc = open_file(reader, path, err);
    if (rc) {
        carm_yaml_close(reader);
        return rc;
    }
    *yaml = reader;
    return 0;
}

int carm_yaml_open_text(const char *text, size_t size_bytes, const char *name,
                        struct carm_yaml **yaml, struct carm_err *err)
{
    *yaml = new_reader(name);
    if (!*yaml) {
        return no_memory(name, err);
    }
    (*yaml)->text = text;
    (*yaml)->size = size_bytes;
    return 0;
}

void carm_yaml_close(struct carm_yaml *yaml)
{
    if (!yaml) {
        return;
    }
    yaml_event_delete(&yaml->event);
    yaml_parser_delete(&yaml->parser);
    if (yaml->in && yaml->in != stdin) {
        fclose(yaml->in);
    }
    carm_names_close(&yaml->names);
    free(yaml->anchors);
    free(yaml->kept);
    free(yaml->kept_text);
    free(yaml->name);
    free(yaml);
}

/* ---- items ---- */

static int next_event(struct carm_yaml *yaml, struct carm_err *err)
{
    yaml_event_delete(&yaml->event);
    if (!yaml_parser_parse(&yaml->parser, &yaml->event)) {
        return parser_failed(yaml, err);
    }
    return 0;
}

static size_t line_of(const struct carm_yaml *yaml)
{
    return yaml->event.start_mark.line + 1;
}

static int start(struct carm_yaml *yaml, struct carm_err *err)
{
    int rc = next_event(yaml, err); /* the stream's start */
    rc = rc ? rc : next_event(yaml, err);
    if (rc) {
        return rc;
    }
    if (yaml->event.type == YAML_STREAM_END_EVENT) {
        return carm_yaml_refuse(yaml, line_of(yaml), err, "the file is empty: it has no document");
    }
    yaml->started = true;
    return next_event(yaml, err);
}

static int end(struct carm_yaml *yaml, struct carm_err *err)
{
    const int rc = next_event(yaml, err);
    if (rc) {
        return rc;
    }
    if (yaml->event.type != YAML_STREAM_END_EVENT) {
        return carm_yaml_refuse(yaml, line_of(yaml), err,
                                "a second document: put each document into a file of its own");
    }
    yaml->ended = true;
    return 0;
}

static int bad_tag(const struct carm_yaml *yaml, const yaml_char_t *tag, struct carm_err *err)
{
    return carm_yaml_refuse(yaml, line_of(yaml), err,
                            "the tag %.60s: only YAML's own are read, where they fit; leave it out",
                            (const char *)tag);
}

/* The words after tag:yaml.org,2002:, or "str" for the tag "!". NULL = not one of the core */
static const char *core_tag(const yaml_char_t *tag)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    const char *text = (const char *)tag;
    if (strcmp(text, "!") == 0) {
        return "str";
    }
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : NULL;
}

static int scalar(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err)
{
    const yaml_event_t *e = &yaml->event;
    item->kind = CARM_YAML_SCALAR;
    item->text = (const char *)e->data.scalar.value;
    item->length = e->data.scalar.length;
    item->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (item->length > CARM_YAML_SCALAR_MAX) {
        return carm_yaml_refuse(yaml, item->line, err, "a scalar of %zu bytes: %d is the most",
                                item->length, CARM_YAML_SCALAR_MAX);
    }
    /* only escapes can write one */
    if (e->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE &&
        strlen(item->text) != item->length) {
        return carm_yaml_refuse(yaml, item->line, err, "a scalar with a zero byte inside");
    }
    if (e->data.scalar.tag) {
        const char *core = core_tag(e->data.scalar.tag);
        const bool text = core && strcmp(core, "str") == 0;
        if (!text && (!core || (strcmp(core, "int") != 0 && strcmp(core, "float") != 0 &&
                                strcmp(core, "bool") != 0 && strcmp(core, "null") != 0))) {
            return bad_tag(yaml, e->data.scalar.tag, err);
        }
        item->plain = !text;
    }
    return 0;
}

static int deeper(struct carm_yaml *yaml, const struct carm_yaml_item *item, struct carm_err *err)
{
    if (++yaml->depth > CARM_YAML_DEPTH_MAX) {
        return carm_yaml_refuse(yaml, item->line, err,
                                "maps and lists nest more than %d deep: no graph, architecture or "
                                "analysis does",
                                CARM_YAML_DEPTH_MAX);
    }
    return 0;
}

static int enter(struct carm_yaml *yaml, struct carm_yaml_item *item, enum carm_yaml_kind kind,
                 struct carm_err *err)
{
    const yaml_event_t *e = &yaml->event;
    const bool map = kind == CARM_YAML_MAP;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    const char *core = tag ? core_tag(tag) : NULL;
    /* PyYAML's tuples are lists */
    if (tag && strcmp((const char *)tag, "!") != 0 &&
        (!core ||
         (strcmp(core, map ? "map" : "seq") != 0 && (map || strcmp(core, "python/tuple") != 0)))) {
        return bad_tag(yaml, tag, err);
    }
    item->kind = kind;
    return deeper(yaml, item, err);
}
/* ---- anchors and aliases ---- */

static int keep(struct carm_yaml *yaml, const struct carm_yaml_item *item, struct carm_err *err)
{
    const bool text = item->kind == CARM_YAML_SCALAR;
    const size_t bytes = text ? item->length + 1 : 0;
    if (yaml->nkept == CARM_YAML_COPIES_MAX || yaml->kept_used > KEPT_MAX) {
        return carm_yaml_refuse(yaml, item->line, err,
                                "what has anchors (&) is more than %d values or %d MiB",
                                CARM_YAML_COPIES_MAX, KEPT_MAX >> 20);
    }
    int rc = carm_array_grow(&yaml->kept, &yaml->kept_room, yaml->nkept, 1, sizeof *yaml->kept,
                             "what has an anchor", err);
    rc = rc ? rc
            : carm_array_grow(&yaml->kept_text, &yaml->kept_text_room, yaml->kept_used, bytes, 1,
                              "what has an anchor", err);
    if (rc) {
        return rc;
    }
    yaml->kept[yaml->nkept++] = (struct kept){.kind = item->kind,
                                              .plain = item->plain,
                                              .length = (uint32_t)item->length,
                                              .text = yaml->kept_used};
    if (bytes > 0) {
        memcpy(yaml->kept_text + yaml->kept_used, item->text, item->length);
        yaml->kept_text[yaml->kept_used + item->length] = '\0';
    }
    yaml->kept_used += bytes;
    return 0;
}

/* The number of an anchor's name; new ones have no node yet. */
static int anchor_number(struct carm_yaml *yaml, const yaml_char_t *name, uint32_t *number,
                         struct carm_err *err)
{
    const uint32_t n = yaml->names.n;
    int rc = carm_names_add(&yaml->names, (const char *)name, strlen((const char *)name), number);
    if (rc) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the anchors of %.256s",
                         yaml->name);
    }
    if (*number == n) {
        rc = carm_array_grow(&yaml->anchors, &yaml->anchors_room, n, 1, sizeof *yaml->anchors,
                             "the anchors", err);
        if (rc == 0) {
            yaml->anchors[n] = (struct anchor){.end = 0};
        }
    }
    return rc;
}

static const yaml_char_t *anchor_of(const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return e->data.scalar.anchor;
    case YAML_MAPPING_START_EVENT:
        return e->data.mapping_start.anchor;
    case YAML_SEQUENCE_START_EVENT:
        return e->data.sequence_start.anchor;
    default:
        return NULL;
    }
}

static int open_anchor(struct carm_yaml *yaml, const yaml_char_t *name, unsigned depth,
                       struct carm_err *err)
{
    uint32_t number = 0;
    const int rc = anchor_number(yaml, name, &number, err);
    if (rc == 0) {
        yaml->anchors[number] = (struct anchor){.begin = yaml->nkept};
        yaml->open[yaml->nopen++] =
            (struct open_anchor){.begin = yaml->nkept, .number = number, .depth = depth};
    }
    return rc;
}

/* The same name may have been given again inside: then that one counts. */
static void close_anchor(struct carm_yaml *yaml)
{
    const struct open_anchor *open = &yaml->open[--yaml->nopen];
    struct anchor *anchor = &yaml->anchors[open->number];
    if (anchor->begin == open->begin) {
        anchor->end = yaml->nkept;
    }
}

/* After an item of the file itself: keeps it where an anchor is open, which it may open or close. */
static int note_anchors(struct carm_yaml *yaml, const struct carm_yaml_item *item,
                        struct carm_err *err)
{
    const yaml_char_t *name = anchor_of(&yaml->event);
    const bool begins = item->kind == CARM_YAML_MAP || item->kind == CARM_YAML_LIST;
    int rc = name ? open_anchor(yaml, name, yaml->depth - begins, err) : 0;
    if (rc || yaml->nopen == 0) {
        return rc;
    }
    rc = keep(yaml, item, err);
    while (!begins && yaml->nopen > 0 && yaml->open[yaml->nopen - 1].depth == yaml->depth) {
        close_anchor(yaml);
    }
    return rc;
}

/* Begins to give an anchor's node again. */
static int copy_anchor(struct carm_yaml *yaml, uint32_t number, size_t line, struct carm_err *err)
{
    const struct anchor *anchor = &yaml->anchors[number];
    if (anchor->end == 0) {
        return carm_yaml_refuse(yaml, line, err, "the alias *%.40s is used inside its own anchor",
                                carm_names_text(&yaml->names, number));
    }
    assert(yaml->ncopies <= CARM_YAML_DEPTH_MAX);
    yaml->copies[yaml->ncopies++] = (struct copy){.at = anchor->begin, .end = anchor->end};
    return 0;
}

/* An alias of the file itself. */
static int alias(struct carm_yaml *yaml, const struct carm_yaml_item *item, struct carm_err *err)
{
    const yaml_char_t *name = yaml->event.data.alias.anchor;
    const uint32_t known = yaml->names.n;
    uint32_t number = 0;
    int rc = anchor_number(yaml, name, &number, err);
    if (rc) {
        return rc;
    }
    if (number == known) {
        return carm_yaml_refuse(yaml, item->line, err, "the alias *%.40s has no anchor before it",
                                (const char *)name);
    }
    rc = copy_anchor(yaml, number, item->line, err);
    if (rc == 0 && yaml->nopen > 0) {
        rc = keep(yaml, item, err);
        if (rc == 0) {
            yaml->kept[yaml->nkept - 1].alias = true;
            yaml->kept[yaml->nkept - 1].text = number;
        }
    }
    yaml->copy_line = item->line;
    return rc;
}

/* The next item of an alias. */
static int next_copy(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err)
{
    const size_t read = yaml->event.end_mark.index;
    const size_t most = read < CARM_YAML_COPIES_MAX / CARM_YAML_GROWTH ? read * CARM_YAML_GROWTH
                                                                       : CARM_YAML_COPIES_MAX;
    struct copy *copy = &yaml->copies[yaml->ncopies - 1];
    const struct kept *kept = &yaml->kept[copy->at++];
    if (copy->at == copy->end) {
        yaml->ncopies--;
    }
    item->line = yaml->copy_line;
    if (++yaml->copied > most) {
        return carm_yaml_refuse(yaml, item->line, err,
                                "the aliases so far stand for more than %zu values: write them out",
                                most);
    }
    if (kept->alias) {
        const int rc = copy_anchor(yaml, (uint32_t)kept->text, item->line, err);
        return rc ? rc : next_copy(yaml, item, err);
    }
    item->kind = kept->kind;
    if (kept->kind == CARM_YAML_SCALAR) {
        item->text = yaml->kept_text + kept->text;
        item->length = kept->length;
        item->plain = kept->plain;
        return 0;
    }
    if (kept->kind == CARM_YAML_CLOSE) {
        yaml->depth--;
        return 0;
    }
    return deeper(yaml, item, err);
}

/* ---- the stream ---- */

static int next_item(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err)
{
    switch (yaml->event.type) {
    case YAML_SCALAR_EVENT:
        return scalar(yaml, item, err);
    case YAML_MAPPING_START_EVENT:
        return enter(yaml, item, CARM_YAML_MAP, err);
    case YAML_SEQUENCE_START_EVENT:
        return enter(yaml, item, CARM_YAML_LIST, err);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        assert(yaml->depth > 0);
        yaml->depth--;
        item->kind = CARM_YAML_CLOSE;
        return 0;
    default: /* the document's end */
        return end(yaml, err);
    }
}

int carm_yaml_next(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err)
{
    *item = (struct carm_yaml_item){.kind = CARM_YAML_END, .text = "", .line = line_of(yaml)};
    if (yaml->ended) {
        return 0;
    }
    if (yaml->ncopies > 0) {
        return next_copy(yaml, item, err);
    }
    int rc = yaml->started ? next_event(yaml, err) : start(yaml, err);
    if (rc) {
        return rc;
    }
    yaml->silence = 0;
    item->line = line_of(yaml);
    if (yaml->event.type == YAML_ALIAS_EVENT) {
        rc = alias(yaml, item, err);
        return rc ? rc : next_copy(yaml, item, err);
    }
    rc = next_item(yaml, item, err);
    return rc ? rc : note_anchors(yaml, item, err);
}

int carm_yaml_key(struct carm_yaml *yaml, struct carm_yaml_item *item, struct carm_err *err)
{
    const int rc = carm_yaml_next(yaml, item, err);
    if (rc) {
        return rc;
    }
    if (item->kind == CARM_YAML_MAP || item->kind == CARM_YAML_LIST) {
        return carm_yaml_refuse(yaml, item->line, err, "a key that is a map or a list, not text");
    }
    if (item->kind == CARM_YAML_SCALAR && item->plain && item->length == 2 &&
        memcmp(item->text, "<<", 2) == 0) {
        return carm_yaml_refuse(yaml, item->line, err,
                                "a merge key (<<): it is not read; write the keys out");
    }
    return 0;
}

bool carm_yaml_more_keys(struct carm_yaml *yaml, struct carm_yaml_item *key, int *rc,
                         struct carm_err *err)
{
    *rc = *rc ? *rc : carm_yaml_key(yaml, key, err);
    return !*rc && key->kind == CARM_YAML_SCALAR;
}

bool carm_yaml_more_members(struct carm_yaml *yaml, struct carm_yaml_item *member, int *rc,
                            struct carm_err *err)
{
    *rc = *rc ? *rc : carm_yaml_next(yaml, member, err);
    return !*rc && member->kind != CARM_YAML_CLOSE;
}

int carm_yaml_leave(struct carm_yaml *yaml, struct carm_err *err)
{
    struct carm_yaml_item item;
    const unsigned depth = yaml->depth - 1;
    int rc = 0;
    assert(yaml->depth > 0);
    while (rc == 0 && yaml->depth > depth) {
        rc = carm_yaml_next(yaml, &item, err);
    }
    return rc;
}

int carm_yaml_skip(struct carm_yaml *yaml, struct carm_err *err)
{
    struct carm_yaml_item item;
    const unsigned depth = yaml->depth;
    do {
        const int rc = carm_yaml_next(yaml, &item, err);
        if (rc) {
            return rc;
        }
    } while (yaml->depth > depth);
    return 0;
}

/* ---- numbers, texts and truth values ---- */

/* Both YAML 1.1, which PyYAML writes, and 1.2 are read, but for words that mean different numbers in
 * the two. */
enum { NUMBER_MAX = 64 };

static int not_a(const struct carm_yaml *yaml, const struct carm_yaml_item *item, const char *what,
                 const char *expected, struct carm_err *err)
{
    switch (item->kind) {
    case CARM_YAML_MAP:
        return carm_yaml_refuse(yaml, item->line, err, "%s is a map, not %s", what, expected);
    case CARM_YAML_LIST:
        return carm_yaml_refuse(yaml, item->line, err, "%s is a list, not %s", what, expected);
    case CARM_YAML_SCALAR:
        return carm_yaml_refuse(yaml, item->line, err, "%s is %s%.40s%s, not %s", what,
                                item->plain && item->length ? "" : "\"", item->text,
                                item->plain && item->length ? "" : "\"", expected);
    default:
        return carm_yaml_refuse(yaml, item->line, err, "%s is missing: %s is expected", what,
                                expected);
    }
}

int carm_yaml_count(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                    const char *what, uint64_t *value, struct carm_err *err)
{
    static const char expected[] = "a whole number from 0 to 9223372036854775807 in digits";
    const char *s = item->text;
    uint64_t v = 0;
    bool digit = false; /* the character before */
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
        return not_a(yaml, item, what, "a number", err); /* nor hexadecimal, .inf, .nan */
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
