/* SPDX-License-Identifier: MIT */
#include "harness/count/row.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/job.h"
#include "base/outfile.h"
#include "base/text.h"

static const char first_columns[] =
    "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,"
    "calls,share,flops_low,flops_high,bytes_low,bytes_high,operations,metric";

/* Whether a quantity has a special column; all other quantities have columns after these, by name. */
static bool has_own_column(enum carm_quantity q)
{
    return q == CARM_Q_FLOPS || q == CARM_Q_BYTES || q == CARM_Q_DRAM_BYTES;
}

/* Below this share of the flops a width or a precision is a by-product, such as a stray conversion;
 * chosen by hand. */
static const double by_product = 0.01;

static double value_of(const struct carm_counts *c, enum carm_quantity q)
{
    return carm_count_has(c, q) ? c->q[q].value : 0.0;
}

/* Operations on integers for each flop and for each byte from which on a program counts as integer code. Below these
 * ratios the operations belong to other work: C libraries search strings with vectors, and vector code computes indices
 * with such operations. Chosen by hand. */
static const double beside_flops = 10.0;
static const double beside_bytes = 0.01;

/* Sets isa to the widest vector with at least a hundredth of the operations, and precision to the element width with
 * the most operations. */
static void describe_integers(struct carm_row *row)
{
    static const char *const widths[] = {"sse", "avx2", "avx512"};
    static const char *const elements[] = {"int8", "int16", "int32", "int64"};
    const struct carm_counts *c = &row->counts;
    const double all = value_of(c, CARM_Q_INT_OPS);
    double most = 0.0;
    if ((row->metric && *row->metric) || !(all > beside_flops * value_of(c, CARM_Q_FLOPS)) ||
        !(all >= beside_bytes * value_of(c, CARM_Q_BYTES))) {
        return;
    }
    row->operations = all;
    row->metric = "op";
    double in_vectors = 0.0;
    for (int w = 0; w < 3; w++) {
        const double part = value_of(c, (enum carm_quantity)(CARM_Q_INT_128 + w));
        in_vectors += part;
        if (part >= by_product * all) {
            row->isa = widths[w];
        }
    }
    if (all - in_vectors >= by_product * all) { /* the rest is of tiles */
        row->isa = "amx";
    }
    for (int i = 0; i < 4; i++) {
        const double part = value_of(c, (enum carm_quantity)(CARM_Q_INT8_OPS + i));
        if (part > most) {
            most = part;
            row->precision = elements[i];
        }
    }
}

/* Sets isa to the widest vector with at least a hundredth of the flops, and precision to those with as much. */
static void describe_flops(struct carm_row *row)
{
    static const char *const widths[] = {"scalar", "sse", "avx2", "avx512"};
    const struct carm_counts *c = &row->counts;
    const double all = value_of(c, CARM_Q_FLOPS);
    double sum = value_of(c, CARM_Q_FLOPS_OTHER);
    row->isa = "";
    row->precision = "";
    if (!(all > 0.0)) {
        return;
    }
    const char *widest = "";
    for (int w = 0; w < 4; w++) {
        const double flops = value_of(c, (enum carm_quantity)(CARM_Q_DP_SCALAR + w)) +
                             value_of(c, (enum carm_quantity)(CARM_Q_SP_SCALAR + w));
        sum += flops;
        if (flops >= by_product * all) {
            widest = widths[w];
        }
    }
    /* the widest vector is known only if the counts by width add up to all flops */
    if (sum >= (1.0 - by_product) * all) {
        row->isa = widest;
    }
    if (carm_count_has(c, CARM_Q_FLOPS_DP) && carm_count_has(c, CARM_Q_FLOPS_SP)) {
        const bool dp = c->q[CARM_Q_FLOPS_DP].value >= by_product * all;
        const bool sp = c->q[CARM_Q_FLOPS_SP].value >= by_product * all;
        row->precision = dp && sp ? "mixed" : dp ? "dp" : sp ? "sp" : "";
    }
}

void carm_row_describe(struct carm_row *row)
{
    struct carm_job job;
    carm_job_read(&job);
    row->rank[0] = '\0';
    if (job.ranked) {
        snprintf(row->rank, sizeof row->rank, "%ld", job.rank);
    }
    describe_flops(row);
    describe_integers(row);
}

/* ---- text ---- */

/* The fewest digits that read back as the same value; whole numbers in full. */
static void put_number(FILE *out, double value)
{
    char text[48] = "";
    if (!(value > -1e300 && value < 1e300)) {
        return;
    }
    if (value > -9e15 && value < 9e15 && value == (double)(long long)value) {
        fprintf(out, "%lld", (long long)value);
        return;
    }
    for (int digits = 9; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    fputs(text, out);
}

static void put_count(FILE *out, const struct carm_counts *c, enum carm_quantity q)
{
    if (carm_count_has(c, q)) {
        put_number(out, c->q[q].value);
    }
}

static void put_bounds(FILE *out, const struct carm_counts *c, enum carm_quantity q)
{
    fputc(',', out);
    if (carm_count_has(c, q)) {
        put_number(out, c->q[q].low);
    }
    fputc(',', out);
    if (carm_count_has(c, q)) {
        put_number(out, c->q[q].high);
    }
}

/* Columns of the bounds of bytes between levels, for bytes that were simulated for a sample. */
static const struct {
    enum carm_quantity q;
    const char *name;
} sampled[] = {{CARM_Q_L2_BYTES, "l2_bytes"},
               {CARM_Q_L3_BYTES, "l3_bytes"},
               {CARM_Q_DRAM_BYTES, "dram_bytes"}};

static void put_sampled(FILE *out, const struct carm_counts *c)
{
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
        const enum carm_quantity q = sampled[i].q;
        if (carm_count_has(c, q) && c->q[q].low < c->q[q].high) {
            put_bounds(out, c, q);
        } else {
            fputs(",,", out);
        }
    }
}

static void put_positive(FILE *out, double value)
{
    if (value > 0.0) {
        put_number(out, value);
    }
}

/* A name of the counted program or of the system, without characters that steer a terminal or break a line. */
static void put_text(FILE *out, const char *text)
{
    char clean[1024];
    carm_csv_put(out, carm_text_clean(clean, sizeof clean, text, false));
}

static void put_counted_by(FILE *out, const struct carm_counts *c, const char *note)
{
    char text[768];
    const enum carm_quantity q = carm_count_has(c, CARM_Q_FLOPS) ? CARM_Q_FLOPS : CARM_Q_BYTES;
    const bool reason = !carm_count_has(c, q) && note[0];
    snprintf(text, sizeof text, "%s%s%s", carm_counted_name(c->q[q].by), reason ? ": " : "",
             reason ? note : "");
    carm_csv_put(out, text);
}

static void put_word(FILE *out, const char *word)
{
    fputc(',', out);
    carm_csv_put(out, word ? word : "");
}

static void put_verdict(FILE *out, const struct carm_row_part *part)
{
    const double numbers[] = {part->gain_low, part->gain_high};
    put_word(out, part->limit);
    put_word(out, part->limit_by);
    fputc(',', out);
    if (part->limit && *part->limit) {
        put_number(out, part->explains);
    }
    put_word(out, part->second);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        fputc(',', out);
        put_positive(out, numbers[i]);
    }
    put_word(out, part->advice);
}

static void put_part(FILE *out, const struct carm_row_part *part)
{
    const bool is = part->kind && *part->kind;
    fputc(',', out);
    carm_csv_put(out, is ? part->kind : "");
    fputc(',', out);
    if (is && part->time_share >= 0.0) {
        put_number(out, part->time_share);
    }
    fputc(',', out);
    if (is && part->samples >= 0.0) {
        put_number(out, part->samples);
    }
    fputc(',', out);
    put_positive(out, part->entries);
    fputc(',', out);
    put_positive(out, part->trips);
    fputc(',', out);
    put_text(out, part->source);
    fputc(',', out);
    put_text(out, part->module);
    put_verdict(out, part);
}

/* The source of the bytes between the levels of the memory hierarchy. */
static const char *levels_by(const struct carm_counts *c)
{
    const enum carm_counted by = c->q[CARM_Q_DRAM_BYTES].by;
    return by == CARM_COUNTED_NOT ? "" : by == CARM_COUNTED_PMU ? "uncore" : carm_counted_name(by);
}

static void put_row(FILE *out, const struct carm_row *row, const char *host, const char *job)
{
    const struct carm_counts *c = &row->counts;
    char note[sizeof row->note + sizeof c->note + 2];
    snprintf(note, sizeof note, "%s%s%s", row->note, row->note[0] && c->note[0] ? "; " : "",
             c->note);
    put_text(out, row->name);
    fputc(',', out);
    put_count(out, c, CARM_Q_FLOPS);
    fputc(',', out);
    put_count(out, c, CARM_Q_BYTES);
    fputc(',', out);
    put_positive(out, row->seconds);
    fputc(',', out);
    put_count(out, c, CARM_Q_DRAM_BYTES);
    fputc(',', out);
    put_positive(out, row->threads);
    fputc(',', out);
    carm_csv_put(out, row->isa ? row->isa : "");
    fputc(',', out);
    carm_csv_put(out, row->precision ? row->precision : "");
    fputc(',', out);
    put_counted_by(out, c, note);
    fprintf(out, ",%llu,", (unsigned long long)row->calls);
    put_positive(out, row->share);
    put_bounds(out, c, CARM_Q_FLOPS);
    put_bounds(out, c, CARM_Q_BYTES);
    fputc(',', out);
    put_positive(out, row->operations);
    fputc(',', out);
    carm_csv_put(out, row->metric ? row->metric : "");
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (!has_own_column((enum carm_quantity)q)) {
            fputc(',', out);
            put_count(out, c, (enum carm_quantity)q);
        }
    }
    fputc(',', out);
    put_text(out, host);
    fprintf(out, ",%ld,", (long)getpid());
    put_text(out, job);
    fputc(',', out);
    put_text(out, row->rank);
    fputc(',', out);
    carm_csv_put(out, levels_by(c));
    put_sampled(out, c);
    fputc(',', out);
    put_text(out, note);
    put_part(out, &row->part);
    put_word(out, row->asks_for);
    put_word(out, row->part.cores);
    fputc('\n', out);
}

static void put_header(FILE *out)
{
    fputs(first_columns, out);
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (!has_own_column((enum carm_quantity)q)) {
            fprintf(out, ",%s", carm_quantity_name((enum carm_quantity)q));
        }
    }
    fputs(",host,pid,job,rank,levels_by", out);
    for (size_t i = 0; i < sizeof sampled / sizeof *sampled; i++) {
        fprintf(out, ",%s_low,%s_high", sampled[i].name, sampled[i].name);
    }
    fputs(",note,kind,time_share,samples,entries,trips,source,module,"
          "limit,limit_by,explains,second,gain_low,gain_high,advice,asks_for,cores\n",
          out);
}

/* The header and then the rows; header_size: offset of the rows. */
static char *format_rows(const struct carm_row *rows, int n, size_t *header_size, size_t *size)
{
    struct utsname host = {.nodename = ""};
    struct carm_job job;
    char *text = NULL;
    long at = 0;
    /* the program may have set a locale whose decimal point is a comma */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) {
        return NULL;
    }
    locale_t before = uselocale(plain);
    FILE *out = open_memstream(&text, size);
    if (out) {
        uname(&host);
        carm_job_read(&job);
        put_header(out);
        at = ftell(out);
        for (int i = 0; i < n; i++) {
            put_row(out, &rows[i], host.nodename, job.program);
        }
        if (fclose(out) != 0 || at < 0) {
            free(text);
            text = NULL;
        }
    }
    uselocale(before);
    freelocale(plain);
    *header_size = (size_t)at;
    return text;
}

/* ---- file ---- */

static int fail_errno(struct carm_err *err, const char *path, const char *doing)
{
    return carm_fail(err, CARM_EIO,
                     "%.300s cannot be %s (%s): name a file in a folder that exists, may be "
                     "written to and has room",
                     path, doing, strerror(errno));
}

struct target {
    int fd;
    bool locked, regular;
    off_t size; /* before; 0 unless the path is a regular file */
};

/* Opens and locks path. A pipe (/dev/stdout) is opened for writing only: with its reading end open, too, a write would
 * block for ever when the reader has gone. */
static int open_target(struct target *t, const char *path, struct carm_err *err)
{
    struct stat st;
    const bool pipe = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    t->fd =
        open(path, (pipe ? O_WRONLY | O_NONBLOCK : O_RDWR | O_CREAT) | O_APPEND | O_CLOEXEC, 0666);
    if (t->fd < 0 || (pipe && fcntl(t->fd, F_SETFL, O_APPEND) != 0)) {
        return fail_errno(err, path, "written");
    }
    do {
        /* without locks in the file system, rows are still appended by one write */
        t->locked = flock(t->fd, LOCK_EX) == 0;
    } while (!t->locked && errno == EINTR);
    if (fstat(t->fd, &st) != 0) {
        return fail_errno(err, path, "read");
    }
    t->regular = S_ISREG(st.st_mode);
    t->size = t->regular ? st.st_size : 0;
    return 0;
}

/* A file that is not empty must begin with this header. */
static int check_target(const struct target *t, const char *path, const char *header,
                        size_t header_size, struct carm_err *err)
{
    int rc = 0;
    char *have = t->size > 0 ? malloc(header_size + 1) : NULL;
    if (t->size > 0 && (!have || pread(t->fd, have, header_size, 0) != (ssize_t)header_size ||
                        memcmp(have, header, header_size) != 0)) {
        rc = carm_fail(err, CARM_EFORMAT,
                       "%.300s is another kind of file (its first line is not that of this "
                       "version's rows): name another one",
                       path);
    }
    free(have);
    return rc;
}

/* Whether the file ends with a line end. A killed writer may have left half a line; the next row needs a new line. */
static bool ends_in_a_line(int fd, off_t size)
{
    char last = '\n';
    return pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

static int write_target(const struct target *t, const char *text, size_t size)
{
    if (t->size > 0 && !ends_in_a_line(t->fd, t->size) && carm_outfile_write_all(t->fd, "\n", 1)) {
        return -1;
    }
    return carm_outfile_write_all(t->fd, text, size);
}

/* text [size]: the header and then rows. Without rows, an empty file gets the header alone, so that a program that is
 * killed before its first row leaves a readable file. */
static int append(const char *path, const char *text, size_t header_size, size_t size,
                  struct carm_err *err)
{
    struct target t = {.fd = -1};
    int rc = open_target(&t, path, err);
    rc = rc ? rc : check_target(&t, path, text, header_size, err);
    if (!rc && (size > header_size || (t.regular && t.size == 0))) {
        const size_t skip = t.size > 0 ? header_size : 0;
        if (write_target(&t, text + skip, size - skip)) {
            rc = fail_errno(err, path, "written");
            if (t.locked) { /* without the lock, rows of another process could be removed, too */
                (void)!ftruncate(t.fd, t.size);
            }
        }
    }
    if (t.fd >= 0 && close(t.fd) != 0 && !rc) {
        rc = fail_errno(err, path, "written");
    }
    return rc;
}

int carm_row_append(const char *path, const struct carm_row *rows, int n, struct carm_err *err)
{
    size_t header_size = 0;
    size_t size = 0;
    char *text = format_rows(rows, n, &header_size, &size);
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %d rows of %.300s", n, path);
    }
    const int rc = append(path, text, header_size, size, err);
    free(text);
    return rc;
}

int carm_row_append_text(const char *path, const char *rows, size_t size, struct carm_err *err)
{
    size_t header_size = 0;
    size_t unused = 0;
    char *header = format_rows(NULL, 0, &header_size, &unused);
    char *text = header ? realloc(header, header_size + size) : NULL;
    if (!text) {
        free(header);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for rows of %.300s", path);
    }
    memcpy(text + header_size, rows, size);
    const int rc = append(path, text, header_size, header_size + size, err);
    free(text);
    return rc;
}

int carm_row_check(const char *path, struct carm_err *err)
{
    return carm_row_append(path, NULL, 0, err);
}
