/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/listing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/text.h"

void carm_listing_close(struct carm_listing *listing)
{
    free(listing->lines);
    memset(listing, 0, sizeof *listing);
}

static int add_line(struct carm_listing *l, int number, uint64_t at, double executions,
                    const char *text, struct carm_err *err)
{
    if (l->n == CARM_LISTING_MAX) {
        l->left_out++;
        return 0;
    }
    const int rc =
        carm_array_grow(&l->lines, &l->room, l->n, 1, sizeof *l->lines, "a loop's lines", err);
    if (!rc) {
        struct carm_listing_line *to = &l->lines[l->n++];
        *to = (struct carm_listing_line){.number = number, .at = at, .executions = executions};
        carm_text_cut(to->text, sizeof to->text, text, 110, false);
    }
    return rc;
}

/* The line of source of an instruction. */
struct origin {
    const char *file; /* path; borrowed from the symbols */
    int line;
    double executions;
};

static int by_line(const void *left, const void *right)
{
    const struct origin *a = left;
    const struct origin *b = right;
    const int file = strcmp(a->file, b->file);
    return file ? file : (a->line > b->line) - (a->line < b->line);
}

/* The origins in the file with most of the instructions.
 * from  [n] sorted
 * returns their number */
static size_t main_file(const struct origin *from, size_t n, const struct origin **first)
{
    size_t most = 0;
    for (size_t i = 0, end = 0; i < n; i = end) {
        for (end = i; end < n && strcmp(from[end].file, from[i].file) == 0; end++) {
        }
        if (end - i > most) {
            most = end - i;
            *first = &from[i];
        }
    }
    return most;
}

/* Whether a line of a file is one of the origins, or next to one.
 * executions  out: of the line's most executed instruction; 0 = none */
static bool is_near(const struct origin *of, size_t n, int line, double *executions)
{
    bool near = false;
    *executions = 0.0;
    for (size_t i = 0; i < n; i++) {
        near = near || abs(of[i].line - line) <= 1;
        if (of[i].line == line && of[i].executions > *executions) {
            *executions = of[i].executions;
        }
    }
    return near;
}

/* Replaces tabs by two blanks, so that lines stay short. */
static void expand(char *dst, size_t size, const char *src)
{
    size_t n = 0;
    for (; *src && *src != '\n' && *src != '\r' && n + 3 < size; src++) {
        if (*src == '\t') {
            dst[n++] = ' ';
            dst[n++] = ' ';
        } else {
            dst[n++] = *src;
        }
    }
    dst[n] = '\0';
}

static int add_source(struct carm_listing *l, const struct origin *of, size_t n, FILE *file,
                      struct carm_err *err)
{
    char *line = NULL;
    size_t room = 0;
    int rc = 0;
    for (int number = 1; getline(&line, &room, file) > 0 && !rc; number++) {
        char text[256];
        double executions = 0.0;
        if (is_near(of, n, number, &executions)) {
            expand(text, sizeof text, line);
            rc = add_line(l, number, 0, executions, text, err);
        }
    }
    free(line);
    return rc;
}

/* Opens a source file that is not newer than the program.
 * why  out: the reason when NULL is returned */
static FILE *open_source(const char *file, const char *program, const char **why)
{
    struct stat source, of;
    if (stat(file, &source) != 0 || !S_ISREG(source.st_mode)) {
        *why = "its source file is not here";
        return NULL;
    }
    if (stat(program, &of) == 0 && source.st_mtime > of.st_mtime) {
        *why = "its source file is newer than the program";
        return NULL;
    }
    FILE *in = fopen(file, "re");
    *why = in ? "" : "its source file cannot be read";
    return in;
}

static int add_instructions(struct carm_listing *l, const struct carm_flow_code *code,
                            const char *path, struct carm_err *err)
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = 0;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    for (size_t i = 0; i < code->nops && fd >= 0 && !rc; i++) {
        const struct carm_flow_op *op = &code->ops[i];
        ZydisDecodedInstruction in;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
        char text[128];
        const ssize_t n = pread(fd, bytes, sizeof bytes, (off_t)op->at);
        if (n > 0 &&
            ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, (size_t)n, &in, operands)) &&
            ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &in, operands,
                                                         in.operand_count_visible, text,
                                                         sizeof text, op->at, NULL))) {
            rc = add_line(l, 0, op->at, op->executions, text, err);
        }
    }
    carm_fd_close(fd);
    return rc;
}

int carm_listing_open(struct carm_listing *out, const struct carm_flow_code *code,
                      const struct carm_symbols_module *symbols, const char *path,
                      struct carm_err *err)
{
    struct origin *origins = calloc(code->nops + 1, sizeof *origins);
    const struct origin *first = NULL;
    size_t n = 0;
    memset(out, 0, sizeof *out);
    out->why = "it has no debug information (-g)";
    if (!origins) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a loop's lines");
    }
    for (size_t i = 0; i < code->nops; i++) {
        struct origin *o = &origins[n];
        if (carm_symbols_line(symbols, code->ops[i].at, code->ops[i].at, &o->file, &o->line)) {
            o->executions = code->ops[i].executions;
            n++;
        }
    }
    if (n) {
        qsort(origins, n, sizeof *origins, by_line);
    }
    n = main_file(origins, n, &first);
    FILE *source = n ? open_source(first->file, path, &out->why) : NULL;
    int rc = 0;
    if (source) {
        snprintf(out->file, sizeof out->file, "%s", carm_symbols_file(first->file));
        rc = add_source(out, first, n, source, err);
        fclose(source);
    } else {
        rc = add_instructions(out, code, path, err);
    }
    free(origins);
    if (rc) {
        carm_listing_close(out);
    }
    return rc;
}
