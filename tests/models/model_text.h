/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of models in tests: the sample, the way from text to a model and back, what is refused. */
#pragma once

#include "models/model.h"
#include "tests/unit.h"

/* A file of the source tree, below CARM_TOP. Valid until the next call */
static inline const char *source_file(const char *name)
{
    static char path[4096];
    const char *top = getenv("CARM_TOP");
    (void)snprintf(path, sizeof path, "%s/%s", top && *top ? top : ".", name);
    return path;
}

/* The models and texts below are valid until the test ends. */
CLOSED_BY(carm_model_free)
static inline struct carm_model *read_model(const char *path)
{
    struct carm_model *m = NULL;
    assert_ok(carm_model_read(path, &m, &err));
    return closed_later(by_carm_model_free, m);
}
static inline struct carm_model *read_sample(void)
{
    return read_model(source_file("tests/data/sample-model.json"));
}

static inline struct carm_model *empty_model(void)
{
    struct carm_model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    return closed_later(by_carm_model_free, m);
}

static inline char *model_as_text(const struct carm_model *m)
{
    char *text = carm_model_to_json(m);
    assert_non_null(text);
    return closed_later(free, text);
}

/* The members that each file must have, for a machine of so many threads. */
static inline struct carm_model least_model(int threads)
{
    struct carm_model m = {.created = "2026-01-02T03:04:05Z", .carm_version = "0.1"};
    m.machine.cores = m.machine.threads = threads;
    m.machine.memory_bytes = m.machine.page_bytes = 4096;
    m.machine.tsc_hz = 1e9;
    m.config = (struct carm_config){.reps = 1, .precision = "dp", .ldst = "2:1"};
    return m;
}

static inline struct carm_model *parse_model(const char *text)
{
    struct carm_model *m = NULL;
    assert_ok(carm_model_parse(text, strlen(text), "m.json", &m, &err));
    return closed_later(by_carm_model_free, m);
}

/* Written as text and read again; the same text once more. */
static inline struct carm_model *there_and_back(const struct carm_model *m)
{
    const char *text = model_as_text(m);
    struct carm_model *back = parse_model(text);
    assert_string_equal(text, model_as_text(back));
    return back;
}

/* A text that is refused with a sentence that begins so. */
static inline void refuse_text(const char *text, size_t size, const char *message)
{
    struct carm_model left = {.created = ""};
    struct carm_model *out = &left;
    err.text[0] = '\0';
    assert_int_equal(carm_model_parse(text, size, "m.json", &out, &err), -CARM_EFORMAT);
    assert_null(out);
    fail_if(strncmp(err.text, message, strlen(message)) != 0, "expected: %s\n        got: %s",
            message, err.text);
}

/* The model as text is refused, with this sentence. */
static inline void refuse_model(const struct carm_model *m, const char *message)
{
    const char *text = model_as_text(m);
    refuse_text(text, strlen(text), message);
}

/* A fault in a text: the first `from` behind the first `after` becomes `to`. */
struct text_fault {
    const char *after, *from, *to;
    const char *message; /* how the refusal goes on behind "m.json: " */
};

/* Each fault alone is refused. */
static inline void refuse_faults(const struct carm_model *m, const struct text_fault *faults,
                                 size_t n)
{
    const char *text = model_as_text(m);
    for (size_t i = 0; i < n; i++) {
        char message[400];
        char *wrong = text_changed(text, faults[i].after, faults[i].from, faults[i].to);
        (void)snprintf(message, sizeof message, "m.json: %s", faults[i].message);
        refuse_text(wrong, strlen(wrong), message);
    }
}
