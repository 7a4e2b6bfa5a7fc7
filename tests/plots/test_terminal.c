/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terminal's roofline at every size: it stays within it, and every value stands in it once. */
#include "base/text.h"
#include "plots/terminal.h"
#include "tests/unit.h"

static const struct carm_draw_level many[CARM_DRAW_LEVELS_MAX] = {
    {"L1", 1.111e12, 0},
    {"L2", 5.222e11, 1},
    {"a long name of 7", 2.333e11, 2},
    {"L3", 1.444e11, 3},
    {"L4", 7.555e10, 4},
    {"another long one", 2.666e10, 5},
    {"a third long name", 1.3e10, 6},
    {"DRAM", 6.888e9, 7},
};

/* What is drawn, to be freed. */
static char *draw(size_t nlevels, int columns, int rows, bool ascii, double peak)
{
    const struct carm_draw_roofline picture = {
        .title = "a title that is longer than the narrowest picture, in any case",
        .levels = many,
        .nlevels = nlevels,
        .peak_name = "an operation of a long name",
        .operation = "flop",
        .peak = peak,
        .columns = columns,
        .rows = rows,
        .ascii = ascii,
    };
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    carm_draw_print(out, &picture);
    assert_int_equal(fclose(out), 0);
    return text;
}

static size_t occurrences(const char *text, const char *of)
{
    size_t n = 0;
    for (const char *at = strstr(text, of); at; at = strstr(at + 1, of)) {
        n++;
    }
    return n;
}

/* Every line within the columns, all of them within the rows. */
static void check_size(char *text, int columns, int rows)
{
    int lines = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        lines++;
        fail_if(carm_text_width(line) > (size_t)columns, "%d x %d: a line of %zu columns: %s",
                columns, rows, carm_text_width(line), line);
    }
    fail_if(lines > rows, "%d x %d: %d lines", columns, rows, lines);
}

static void check_values(const char *text, size_t nlevels, double peak)
{
    char value[CARM_TEXT_NUMBER_MAX];
    for (size_t i = 0; i < nlevels; i++) {
        (void)carm_text_si(value, sizeof value, many[i].bandwidth, "B/s");
        assert_int_equal(occurrences(text, value), 1);
    }
    (void)carm_text_si(value, sizeof value, peak, "flop/s");
    assert_int_equal(occurrences(text, value), 1);
    assert_int_equal(occurrences(text, "operational intensity, flop/byte"), 1);
}

static void check(size_t nlevels, int columns, int rows, bool ascii, double peak)
{
    char *text = draw(nlevels, columns, rows, ascii, peak);
    if (strncmp(text, "No picture: the smallest takes ", 31) == 0) {
        char *end = NULL;
        const int need_columns = (int)strtol(text + 31, &end, 10);
        assert_memory_equal(end, " columns and ", 13);
        const int need_rows = (int)strtol(end + 13, &end, 10);
        assert_string_equal(end, " rows.\n");
        free(text);
        /* a row less for the prompt */
        assert_true(columns < need_columns || rows < need_rows - 1);
        assert_true(nlevels > 2 || need_rows == CARM_DRAW_ROWS_MIN);
        text = draw(nlevels, columns < need_columns ? need_columns : columns, need_rows - 1, ascii,
                    peak);
        /* many values may have to stand below, which is known once there is room for a picture */
        assert_true((need_rows == CARM_DRAW_ROWS_MIN && nlevels > 2) ||
                    !strstr(text, "No picture"));
    } else {
        check_values(text, nlevels, peak);
        check_size(text, columns, rows);
    }
    free(text);
}

TEST(sizes)
{
    static const double peaks[] = {3.217e8, 2.207e11, 9.117e14};
    for (int columns = 30; columns <= 220; columns += columns < 90 ? 1 : 13) {
        for (int rows = 8; rows <= 70; rows += rows < 30 ? 1 : 7) {
            for (size_t n = 1; n <= CARM_DRAW_LEVELS_MAX; n += n < 4 ? 1 : 4) {
                check(n, columns, rows, (columns + rows) % 2, peaks[(columns + rows / 2) % 3]);
            }
        }
    }
}

/* The largest picture is no larger on a screen that is. */
TEST(largest)
{
    char *text = draw(4, 5000, 3000, true, 2.207e11);
    check_values(text, 4, 2.207e11);
    check_size(text, CARM_DRAW_COLUMNS_MAX, CARM_DRAW_ROWS_MAX);
    free(text);
}
