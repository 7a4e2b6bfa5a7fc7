/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/terminal.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The picture: a title, rows of cells behind a column of tick labels, the axis, its ticks and its
 * name. A cell holds a character, or 2 x 4 dots as a braille character does; in ASCII three
 * heights. */
enum {
    UNIT_MAX = 16,
    LEFT = 13,  /* columns of the tick labels and the axis */
    AROUND = 4, /* rows of title, axis, ticks and name */
    COLS_MAX = CARM_DRAW_COLUMNS_MAX - LEFT,
    ROWS_MAX = CARM_DRAW_ROWS_MAX - AROUND,
    ROWS_LEAST = 5,
    NAME_COLUMNS = 12, /* of a level's name, at most */
    LINE_MAX = 256,    /* bytes of a legend's line */
    DOTS_X = 2,
    DOTS_Y = 4,
    PEAK = CARM_DRAW_LEVELS_MAX, /* the peak as the owner of dots */
    NOBODY = PEAK + 1,
};

struct cell {
    uint8_t dots;  /* braille bits */
    uint8_t low;   /* lowest dot row, for ASCII */
    uint8_t owner; /* the line that dots or text belong to: gives the colour */
    char text[5];  /* one character in UTF-8, "" = dots */
};

struct canvas {
    int rows, cols; /* rows and columns in use */
    struct cell cells[ROWS_MAX][COLS_MAX];
    double x0, x1, y0, y1; /* log2 of flop/byte and flop/s */
};

/* Blue, orange, cyan, magenta, green, ... of the terminal's own palette, so that they suit its
 * background; without colour, names and heights distinguish the lines. */
static const char *const colours[] = {"\033[34m", "\033[33m", "\033[36m", "\033[35m",
                                      "\033[32m", "\033[31m", "\033[94m", "\033[95m"};

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

const char *carm_draw_colour(size_t colour)
{
    return colours[colour % (sizeof colours / sizeof *colours)];
}

/* Puts the dot nearest to (x, y), counted in dots from the bottom left corner. */
static void put_dot(struct canvas *c, int x, int y, int owner)
{
    /* Bits of a braille character: U+2800 + bit, left column 1 2 3 7, right column 4 5 6 8. */
    static const uint8_t bits[DOTS_Y][DOTS_X] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x < 0 || y < 0 || x >= c->cols * DOTS_X || y >= c->rows * DOTS_Y) {
        return;
    }
    int up = c->rows * DOTS_Y - 1 - y;
    struct cell *cell = &c->cells[up / DOTS_Y][x / DOTS_X];
    if (cell->dots == 0 || up % DOTS_Y > cell->low) {
        cell->low = (uint8_t)(up % DOTS_Y);
    }
    cell->dots |= bits[up % DOTS_Y][x % DOTS_X];
    cell->owner = (uint8_t)owner;
}

/* The row of dots of a log2 performance. */
static int dot_row(const struct canvas *c, double y)
{
    return (int)lround((y - c->y0) / (c->y1 - c->y0) * (c->rows * DOTS_Y - 1));
}

static double dot_x(const struct canvas *c, int dot)
{
    return c->x0 + (c->x1 - c->x0) * dot / (c->cols * DOTS_X - 1);
}

static void draw_lines(struct canvas *c, const struct carm_draw_roofline *p)
{
    double peak = log2(p->peak), fastest = p->levels[0].bandwidth;
    for (size_t i = 0; i < p->nlevels; i++) {
        fastest = fmax(fastest, p->levels[i].bandwidth);
    }
    for (int dot = 0; dot < c->cols * DOTS_X; dot++) {
        double x = dot_x(c, dot);
        if (x + log2(fastest) >= peak) {
            put_dot(c, dot, dot_row(c, peak), PEAK);
        }
        for (size_t i = 0; i < p->nlevels; i++) {
            double y = x + log2(p->levels[i].bandwidth);
            if (y < peak) {
                put_dot(c, dot, dot_row(c, y), (int)i);
            }
        }
    }
}

/* Whether the cells are inside the canvas and have no dots except owner's. */
static bool is_free(const struct canvas *c, int row, int col, int width, int owner)
{
    if (row < 0 || row >= c->rows || col < 0 || col + width > c->cols) {
        return false;
    }
    for (int i = col; i < col + width; i++) {
        const struct cell *cell = &c->cells[row][i];
        if (cell->text[0] || (cell->dots && cell->owner != owner)) {
            return false;
        }
    }
    return true;
}

/* s must be clean UTF-8 that fits. */
static void put_text(struct canvas *c, int row, int col, const char *s, int owner)
{
    while (*s && col < c->cols) {
        struct cell *cell = &c->cells[row][col++];
        size_t n = 1;
        while (n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80) {
            n++;
        }
        memset(cell->text, 0, sizeof cell->text);
        memcpy(cell->text, s, n);
        cell->owner = (uint8_t)owner;
        s += n;
    }
}

/* Writes a level's name as far left as it touches no other line: across its line, or, without room,
 * behind or before it. */
static void name_line(struct canvas *c, const struct carm_draw_roofline *p, size_t level)
{
    const char *name = p->levels[level].name;
    const int width = (int)carm_text_width(name);
    const double b = log2(p->levels[level].bandwidth);
    for (int side = 0; side < 3; side++) {
        /* the dot of the text that is on the line: its middle, beginning or end */
        const int anchor = side == 0 ? width : side == 1 ? 0 : width * DOTS_X;
        for (int col = 2; col + width < c->cols; col++) {
            const double y = dot_x(c, col * DOTS_X + anchor) + b;
            if (y >= log2(p->peak)) {
                break;
            }
            const int row = c->rows - 1 - dot_row(c, y) / DOTS_Y;
            if (is_free(c, row, col - 1, width + 2, (int)level)) {
                put_text(c, row, col, name, (int)level);
                return;
            }
        }
    }
}

static void legend_line(const struct carm_draw_roofline *p, size_t level, size_t width, char *dst,
                        size_t size)
{
    char b[CARM_TEXT_NUMBER_MAX];
    const char *name = p->levels[level].name;
    snprintf(dst, size, "%s%*s%s", name, (int)(width - carm_text_width(name)) + 2, "",
             carm_text_si(b, sizeof b, p->levels[level].bandwidth, "B/s"));
}

/* Width of the widest entry, with two blanks. */
static int legend_columns(const struct carm_draw_roofline *p, size_t name_width)
{
    char line[LINE_MAX];
    int widest = 0;
    for (size_t i = 0; i < p->nlevels; i++) {
        legend_line(p, i, name_width, line, sizeof line);
        const int width = (int)carm_text_width(line);
        widest = width > widest ? width : widest;
    }
    return widest + 2;
}

/* Puts the values into a block of cells from row `first` and column `col` on. returns false if the
 * block is not free */
static bool put_legend(struct canvas *c, const struct carm_draw_roofline *p, size_t name_width,
                       int first, int col, int width)
{
    char line[LINE_MAX];
    for (int row = first - 1; row <= first + (int)p->nlevels; row++) {
        const bool inside = row >= 0 && row < c->rows; /* also one free row above and below, inside
                                                        * the canvas */
        if (inside && !is_free(c, row, col - 1, width + 1, NOBODY)) {
            return false;
        }
    }
    if (first < 0 || first + (int)p->nlevels > c->rows) {
        return false;
    }
    for (size_t i = 0; i < p->nlevels; i++) {
        legend_line(p, i, name_width, line, sizeof line);
        put_text(c, first + (int)i, col, line, (int)i);
    }
    return true;
}

/* Places the values at the bottom right, where no roof is, or at the top left; below the picture if
 * lines are in both corners.
 * returns true when they are in the picture */
static bool place_legend(struct canvas *c, const struct carm_draw_roofline *p, size_t name_width)
{
    const int widest = legend_columns(p, name_width) - 2;
    return put_legend(c, p, name_width, c->rows - 1 - (int)p->nlevels, c->cols - widest - 1,
                      widest) ||
           put_legend(c, p, name_width, 0, 2, widest);
}

static void name_peak(struct canvas *c, const struct carm_draw_roofline *p)
{
    char value[CARM_TEXT_NUMBER_MAX];
    char name[COLS_MAX];
    char label[COLS_MAX + CARM_TEXT_NUMBER_MAX];
    char unit[UNIT_MAX];
    snprintf(unit, sizeof unit, "%s/s", p->operation);
    carm_text_si(value, sizeof value, p->peak, unit);
    /* a blank on both sides and in between; the narrowest picture has room for these */
    const int room = c->cols - 3 - (int)strlen(value);
    carm_text_fit(name, sizeof name, p->peak_name, room > 24 ? 24 : (size_t)room, p->ascii);
    snprintf(label, sizeof label, "%s %s", name, value);
    int row = c->rows - 2 - dot_row(c, log2(p->peak)) / DOTS_Y;
    put_text(c, row < 0 ? 0 : row, c->cols - (int)carm_text_width(label) - 1, label, PEAK);
}

static void print_cell(FILE *out, const struct carm_draw_roofline *p, const struct cell *cell,
                       int *colour)
{
    bool blank = !cell->dots && !cell->text[0];
    int want = blank || cell->owner >= PEAK ? -1 : cell->owner;
    if (p->colour && want != *colour) {
        fputs(want < 0 ? "\033[0m" : carm_draw_colour(p->levels[want].colour), out);
        *colour = want;
    }
    if (cell->text[0]) {
        fputs(cell->text, out);
    } else if (blank) {
        fputc(' ', out);
    } else if (p->ascii) { /* dot rows from the top: ' is high, . is low */
        fputc(cell->low == 0 ? '\'' : cell->low == DOTS_Y - 1 ? '.' : '-', out);
    } else { /* U+2800 + dots in UTF-8 */
        fprintf(out, "\xe2%c%c", 0xa0 + (cell->dots >> 6), 0x80 + (cell->dots & 0x3f));
    }
}

/* A tick's label: "100 Gflop/s" instead of a value's "100.0 Gflop/s" */
static void tick_label(char *dst, size_t size, double value, const char *operation)
{
    char unit[UNIT_MAX];
    snprintf(unit, sizeof unit, "%s/s", operation);
    carm_text_si(dst, size, value, unit);
    char *dot = strchr(dst, '.'), *space = strchr(dst, ' ');
    if (dot && space && dot < space) {
        memmove(dot, space, strlen(space) + 1);
    }
}

static void print_rows(FILE *out, const struct canvas *c, const struct carm_draw_roofline *p)
{
    char labels[ROWS_MAX][CARM_TEXT_NUMBER_MAX] = {""};
    /* ticks at 1, 10, 100 ...; also at 2 and 5 if these are few */
    double low = c->y0 * log10(2), high = c->y1 * log10(2);
    bool few = high - low < 3;
    for (int decade = (int)floor(low); decade <= high; decade++) {
        for (int k = 0; k < (few ? 3 : 1); k++) {
            double value = pow(10, decade) * (double[]){1, 2, 5}[k];
            int dots = dot_row(c, log2(value));
            if (dots >= 0 && dots < c->rows * DOTS_Y) {
                tick_label(labels[c->rows - 1 - dots / DOTS_Y], CARM_TEXT_NUMBER_MAX, value,
                           p->operation);
            }
        }
    }
    for (int row = 0; row < c->rows; row++) {
        int last = c->cols - 1, colour = -1;
        while (last >= 0 && !c->cells[row][last].dots && !c->cells[row][last].text[0]) {
            last--;
        }
        const char *axis = p->ascii ? "|" : *labels[row] ? "\u2524" : "\u2502";
        fprintf(out, "%*s%s", LEFT - 1, labels[row], axis);
        for (int col = 0; col <= last; col++) {
            print_cell(out, p, &c->cells[row][col], &colour);
        }
        fputs(colour >= 0 ? "\033[0m\n" : "\n", out);
    }
}

static void print_x_axis(FILE *out, const struct canvas *c, const struct carm_draw_roofline *p)
{
    const int cols = c->cols;
    char ticks[COLS_MAX + 1], axis[COLS_MAX + 1];
    memset(ticks, ' ', (size_t)cols);
    memset(axis, '-', (size_t)cols);
    ticks[cols] = axis[cols] = 0;
    int step = 1, end = 0;
    while ((c->x1 - c->x0) / step > 9 || (c->x1 - c->x0) * 7 / step > cols) {
        step *= 2;
    }
    for (int t = (int)ceil(c->x0 / step) * step; t <= c->x1; t += step) {
        char label[CARM_TEXT_NUMBER_MAX];
        int n = abs(t) > 15 ? snprintf(label, sizeof label, "2^%d", t)
                : t < 0     ? snprintf(label, sizeof label, "1/%.0f", exp2(-t))
                            : snprintf(label, sizeof label, "%.0f", exp2(t));
        int col = (int)lround((t - c->x0) / (c->x1 - c->x0) * (cols - 1));
        int start = col - n / 2 < 0 ? 0 : col - n / 2;
        axis[col] = '+';
        if (start < end || start + n > cols) {
            continue;
        }
        memcpy(ticks + start, label, (size_t)n);
        end = start + n + 1;
    }
    for (int i = cols - 1; i > 0 && ticks[i] == ' '; i--) {
        ticks[i] = 0;
    }
    fprintf(out, "%*s%s", LEFT - 1, "", p->ascii ? "+" : "\u2514");
    for (const char *a = axis; *a; a++) {
        fputs(p->ascii ? (char[]){*a, 0} : *a == '+' ? "\u252c" : "\u2500", out);
    }
    char name[64];
    const int width = snprintf(name, sizeof name, "operational intensity, %s/byte", p->operation);
    const int before = at_most(LEFT + cols / 2 - width / 2, LEFT + cols - width);
    fprintf(out, "\n%*s%s\n%*s%s\n", LEFT, "", ticks, before, "", name);
}

/* Prints the values below the picture, `across` in a row. */
static void print_legend(FILE *out, const struct carm_draw_roofline *p, size_t name_width,
                         int across)
{
    const int columns = legend_columns(p, name_width);
    char line[LINE_MAX];
    for (size_t i = 0; i < p->nlevels; i++) {
        legend_line(p, i, name_width, line, sizeof line);
        const bool last = i + 1 == p->nlevels || (i + 1) % (size_t)across == 0;
        const int pad = last ? 0 : columns - (int)carm_text_width(line);
        fprintf(out, "%s%*s%s", line, pad, "", last ? "\n" : "");
    }
}

/* Sets the axes: from some octaves left of the first ridge point, to show the slopes, to some right of the last, to
 * show the roof. The lowest line begins in the corner. */
static void set_axes(struct canvas *c, const struct carm_draw_roofline *p)
{
    double fast = p->levels[0].bandwidth;
    double slow = fast;
    for (size_t i = 0; i < p->nlevels; i++) {
        fast = fmax(fast, p->levels[i].bandwidth);
        slow = fmin(slow, p->levels[i].bandwidth);
    }
    c->x0 = floor(log2(p->peak) - log2(fast) - 4.5);
    c->x1 = ceil(log2(p->peak) - log2(slow) + 3.5);
    c->y0 = log2(slow) + c->x0;
    /* some room above, and at least the row that the peak's name takes */
    const double row = (c->rows * DOTS_Y - 1.0) / ((c->rows - 1) * DOTS_Y - 1.5);
    c->y1 = c->y0 + fmax(1.15, row) * (log2(p->peak) - c->y0);
}

/* Draws lines and their names on an empty canvas of `rows` rows. */
static void fill(struct canvas *c, const struct carm_draw_roofline *p, int rows)
{
    memset(c->cells, 0, sizeof c->cells);
    c->rows = rows;
    set_axes(c, p);
    draw_lines(c, p);
    for (size_t i = 0; i < p->nlevels; i++) {
        name_line(c, p, i);
    }
    name_peak(c, p);
}

/* Cuts names to the cells of the picture: a column for each character. */
static struct carm_draw_roofline fit_names(const struct carm_draw_roofline *from,
                                           struct carm_draw_level levels[CARM_DRAW_LEVELS_MAX],
                                           char names[CARM_DRAW_LEVELS_MAX][LINE_MAX / 4])
{
    struct carm_draw_roofline to = *from;
    for (size_t i = 0; i < from->nlevels; i++) {
        levels[i] = from->levels[i];
        levels[i].name =
            carm_text_fit(names[i], LINE_MAX / 4, from->levels[i].name, NAME_COLUMNS, from->ascii);
    }
    to.levels = levels;
    return to;
}

static void refuse(FILE *out, int rows)
{
    fprintf(out, "No picture: the smallest takes %d columns and %d rows.\n", CARM_DRAW_COLUMNS_MIN,
            rows);
}

void carm_draw_print(FILE *out, const struct carm_draw_roofline *picture)
{
    assert(picture->nlevels >= 1 && picture->nlevels <= CARM_DRAW_LEVELS_MAX && picture->peak > 0);
    if (picture->columns < CARM_DRAW_COLUMNS_MIN || picture->rows < CARM_DRAW_ROWS_MIN - 1) {
        refuse(out, CARM_DRAW_ROWS_MIN);
        return;
    }
    struct carm_draw_level levels[CARM_DRAW_LEVELS_MAX];
    char names[CARM_DRAW_LEVELS_MAX][LINE_MAX / 4];
    const struct carm_draw_roofline p = fit_names(picture, levels, names);
    size_t name_width = 0;
    for (size_t i = 0; i < p.nlevels; i++) {
        const size_t width = carm_text_width(levels[i].name);
        name_width = width > name_width ? width : name_width;
    }
    struct canvas *c = malloc(sizeof *c); /* 82 KiB, much of a small stack */
    if (!c) {
        fprintf(out, "No picture: not enough memory.\n");
        return;
    }
    const int columns = at_most(p.columns, CARM_DRAW_COLUMNS_MAX);
    const int rows = at_most(p.rows, CARM_DRAW_ROWS_MAX) - AROUND;
    c->cols = columns - LEFT;
    fill(c, &p, rows);
    const bool inside = place_legend(c, &p, name_width);
    const int across = columns / legend_columns(&p, name_width);
    const int below = inside ? 0 : ((int)p.nlevels + across - 1) / across;
    if (rows - below < ROWS_LEAST) {
        refuse(out, AROUND + ROWS_LEAST + below + 1);
        free(c);
        return;
    }
    if (!inside) { /* draws again, with room below */
        fill(c, &p, rows - below);
    }
    char line[CARM_DRAW_COLUMNS_MAX * 4 + 1];
    fprintf(out, "%s\n", carm_text_fit(line, sizeof line, p.title, (size_t)columns, p.ascii));
    print_rows(out, c, &p);
    print_x_axis(out, c, &p);
    if (!inside) {
        print_legend(out, &p, name_width, across);
    }
    free(c);
}
