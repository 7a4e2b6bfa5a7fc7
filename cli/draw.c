/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/draw.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* The picture: a title, ROWS rows of cells behind a column of tick labels, the axis, its ticks. A
 * cell holds a character, or 2 x 4 dots as a braille character does; in ASCII three heights. */
enum {
    ROWS = 19,
    LEFT = 13, /* columns of the tick labels and the axis */
    COLS = CARM_DRAW_COLUMNS - LEFT,
    DOTS_X = 2,
    DOTS_Y = 4,
    PEAK = CARM_DRAW_LEVELS_MAX, /* the peak as the owner of dots */
    NOBODY = PEAK + 1,
};

struct cell {
    uint8_t dots;  /* braille bits */
    uint8_t low;   /* lowest dot row, for ASCII */
    uint8_t owner; /* whose dots, whose text: gives the colour */
    char text[5];  /* one character in UTF-8, "" = dots */
};

struct canvas {
    struct cell cells[ROWS][COLS];
    double x0, x1, y0, y1; /* log2 of flop/byte and flop/s */
};

/* Blue, orange, cyan, magenta, green, ... of the terminal's own palette, so that they suit its
 * background; names and heights tell the lines apart where colour does not. */
static const char *const colours[] = {"\033[34m", "\033[33m", "\033[36m", "\033[35m",
                                      "\033[32m", "\033[31m", "\033[94m", "\033[95m"};

const char *carm_draw_colour(size_t colour)
{
    return colours[colour % (sizeof colours / sizeof *colours)];
}

/* Puts the dot nearest to (x, y), counted in dots from the bottom left corner. */
static void put_dot(struct canvas *c, int x, int y, int owner)
{
    /* Bits of a braille character: U+2800 + bit, left column 1 2 3 7, right column 4 5 6 8. */
    static const uint8_t bits[DOTS_Y][DOTS_X] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    if (x < 0 || y < 0 || x >= COLS * DOTS_X || y >= ROWS * DOTS_Y)
        return;
    int up = ROWS * DOTS_Y - 1 - y;
    struct cell *cell = &c->cells[up / DOTS_Y][x / DOTS_X];
    if (cell->dots == 0 || up % DOTS_Y > cell->low)
        cell->low = (uint8_t)(up % DOTS_Y);
    cell->dots |= bits[up % DOTS_Y][x % DOTS_X];
    cell->owner = (uint8_t)owner;
}

/* The height in dots of log2 performance y. */
static int dot_row(const struct canvas *c, double y)
{
    return (int)lround((y - c->y0) / (c->y1 - c->y0) * (ROWS * DOTS_Y - 1));
}

static double dot_x(const struct canvas *c, int dot)
{
    return c->x0 + (c->x1 - c->x0) * dot / (COLS * DOTS_X - 1);
}

static void draw_lines(struct canvas *c, const struct carm_draw_roofline *p)
{
    double peak = log2(p->peak), fastest = p->levels[0].bandwidth;
    for (size_t i = 0; i < p->nlevels; i++)
        fastest = fmax(fastest, p->levels[i].bandwidth);
    for (int dot = 0; dot < COLS * DOTS_X; dot++) {
        double x = dot_x(c, dot);
        if (x + log2(fastest) >= peak)
            put_dot(c, dot, dot_row(c, peak), PEAK);
        for (size_t i = 0; i < p->nlevels; i++) {
            double y = x + log2(p->levels[i].bandwidth);
            if (y < peak)
                put_dot(c, dot, dot_row(c, y), (int)i);
        }
    }
}

/* True when the cells there are inside and hold nothing but owner's dots. */
static bool is_free(const struct canvas *c, int row, int col, int width, int owner)
{
    if (row < 0 || row >= ROWS || col < 0 || col + width > COLS)
        return false;
    for (int i = col; i < col + width; i++) {
        const struct cell *cell = &c->cells[row][i];
        if (cell->text[0] || (cell->dots && cell->owner != owner))
            return false;
    }
    return true;
}

/* s must be clean UTF-8 that fits. */
static void put_text(struct canvas *c, int row, int col, const char *s, int owner)
{
    while (*s && col < COLS) {
        struct cell *cell = &c->cells[row][col++];
        size_t n = 1;
        while (n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80)
            n++;
        memset(cell->text, 0, sizeof cell->text);
        memcpy(cell->text, s, n);
        cell->owner = (uint8_t)owner;
        s += n;
    }
}

/* Writes a level's name onto its line, as far left as it touches no other line. */
static void name_line(struct canvas *c, const struct carm_draw_roofline *p, size_t level)
{
    const char *name = p->levels[level].name;
    int width = (int)carm_text_width(name);
    if (width > 6)
        return; /* the legend has it */
    double b = log2(p->levels[level].bandwidth);
    for (int col = 2; col + width < COLS; col++) {
        double y = dot_x(c, col * DOTS_X + width) + b; /* the middle of the name */
        if (y >= log2(p->peak))
            return;
        int row = ROWS - 1 - dot_row(c, y) / DOTS_Y;
        if (is_free(c, row, col - 1, width + 2, (int)level)) {
            put_text(c, row, col, name, (int)level);
            return;
        }
    }
}

static void legend_line(const struct carm_draw_roofline *p, size_t level, size_t width, char *dst,
                        size_t size)
{
    char b[CARM_TEXT_NUMBER_MAX];
    const char *name = p->levels[level].name;
    (void)snprintf(dst, size, "%s%*s%s", name, (int)(width - carm_text_width(name)) + 2, "",
                   carm_text_si(b, sizeof b, p->levels[level].bandwidth, "B/s"));
}

/* The values, at the bottom right, where no roof is; below the picture when a line is in the way.
 * returns true when they are in the picture */
static bool place_legend(struct canvas *c, const struct carm_draw_roofline *p, size_t name_width)
{
    int widest = 0, first = ROWS - 1 - (int)p->nlevels;
    char line[CARM_DRAW_COLUMNS * 4];
    for (size_t i = 0; i < p->nlevels; i++) {
        legend_line(p, i, name_width, line, sizeof line);
        int w = (int)carm_text_width(line);
        widest = w > widest ? w : widest;
    }
    int col = COLS - widest - 1;
    for (int row = first - 1; row < ROWS; row++)
        if (!is_free(c, row, col - 1, widest + 1, NOBODY))
            return false;
    for (size_t i = 0; i < p->nlevels; i++) {
        legend_line(p, i, name_width, line, sizeof line);
        put_text(c, first + (int)i, col, line, (int)i);
    }
    return true;
}

static void name_peak(struct canvas *c, const struct carm_draw_roofline *p)
{
    char value[CARM_TEXT_NUMBER_MAX], label[COLS];
    (void)snprintf(label, sizeof label, "%.24s %s", p->peak_name,
                   carm_text_si(value, sizeof value, p->peak, "flop/s"));
    int row = ROWS - 2 - dot_row(c, log2(p->peak)) / DOTS_Y;
    put_text(c, row < 0 ? 0 : row, COLS - (int)carm_text_width(label) - 1, label, PEAK);
}

static void print_cell(FILE *out, const struct carm_draw_roofline *p, const struct cell *cell,
                       int *colour)
{
    bool blank = !cell->dots && !cell->text[0];
    int want = blank || cell->owner >= PEAK ? -1 : cell->owner;
    if (p->colour && want != *colour) {
        (void)fputs(want < 0 ? "\033[0m" : carm_draw_colour(p->levels[want].colour), out);
        *colour = want;
    }
    if (cell->text[0])
        (void)fputs(cell->text, out);
    else if (blank)
        (void)fputc(' ', out);
    else if (p->ascii) /* dot rows from the top: ' is high, . is low */
        (void)fputc(cell->low == 0 ? '\'' : cell->low == DOTS_Y - 1 ? '.' : '-', out);
    else /* U+2800 + dots in UTF-8 */
        (void)fprintf(out, "\xe2%c%c", 0xa0 + (cell->dots >> 6), 0x80 + (cell->dots & 0x3f));
}

/* 100 Gflop/s, where a value would read 100.0 Gflop/s */
static void tick_label(char *dst, size_t size, double value)
{
    (void)carm_text_si(dst, size, value, "flop/s");
    char *dot = strchr(dst, '.'), *space = strchr(dst, ' ');
    if (dot && space && dot < space)
        memmove(dot, space, strlen(space) + 1);
}

static void print_rows(FILE *out, const struct canvas *c, const struct carm_draw_roofline *p)
{
    char labels[ROWS][CARM_TEXT_NUMBER_MAX] = {""};
    /* Ticks at 1, 10, 100 ...; also at 2 and 5 where that leaves few. */
    double low = c->y0 * log10(2), high = c->y1 * log10(2);
    bool few = high - low < 3;
    for (int decade = (int)floor(low); decade <= high; decade++) {
        for (int k = 0; k < (few ? 3 : 1); k++) {
            double value = pow(10, decade) * (double[]){1, 2, 5}[k];
            int dots = dot_row(c, log2(value));
            if (dots >= 0 && dots < ROWS * DOTS_Y)
                tick_label(labels[ROWS - 1 - dots / DOTS_Y], CARM_TEXT_NUMBER_MAX, value);
        }
    }
    for (int row = 0; row < ROWS; row++) {
        int last = COLS - 1, colour = -1;
        while (last >= 0 && !c->cells[row][last].dots && !c->cells[row][last].text[0])
            last--;
        const char *axis = p->ascii ? "|" : *labels[row] ? "\u2524" : "\u2502";
        (void)fprintf(out, "%*s%s", LEFT - 1, labels[row], axis);
        for (int col = 0; col <= last; col++)
            print_cell(out, p, &c->cells[row][col], &colour);
        (void)fputs(colour >= 0 ? "\033[0m\n" : "\n", out);
    }
}

static void print_x_axis(FILE *out, const struct canvas *c, const struct carm_draw_roofline *p)
{
    char ticks[COLS + 1], axis[COLS + 1];
    memset(ticks, ' ', COLS);
    memset(axis, '-', COLS);
    ticks[COLS] = axis[COLS] = 0;
    int step = 1, end = 0;
    while ((c->x1 - c->x0) / step > 9)
        step *= 2;
    for (int t = (int)ceil(c->x0 / step) * step; t <= c->x1; t += step) {
        char label[CARM_TEXT_NUMBER_MAX];
        int n = abs(t) > 15 ? snprintf(label, sizeof label, "2^%d", t)
                : t < 0     ? snprintf(label, sizeof label, "1/%.0f", exp2(-t))
                            : snprintf(label, sizeof label, "%.0f", exp2(t));
        int col = (int)lround((t - c->x0) / (c->x1 - c->x0) * (COLS - 1));
        int start = col - n / 2 < 0 ? 0 : col - n / 2;
        axis[col] = '+';
        if (start < end || start + n > COLS)
            continue;
        memcpy(ticks + start, label, (size_t)n);
        end = start + n + 1;
    }
    for (int i = COLS - 1; i > 0 && ticks[i] == ' '; i--)
        ticks[i] = 0;
    (void)fprintf(out, "%*s%s", LEFT - 1, "", p->ascii ? "+" : "\u2514");
    for (const char *a = axis; *a; a++)
        (void)fputs(p->ascii ? (char[]){*a, 0} : *a == '+' ? "\u252c" : "\u2500", out);
    (void)fprintf(out, "\n%*s%s\n%*soperational intensity, flop/byte\n", LEFT, "", ticks,
                  LEFT + COLS / 2 - 16, "");
}

void carm_draw_print(FILE *out, const struct carm_draw_roofline *p)
{
    assert(p->nlevels >= 1 && p->nlevels <= CARM_DRAW_LEVELS_MAX && p->peak > 0);
    struct canvas c;
    memset(&c, 0, sizeof c);
    double fast = p->levels[0].bandwidth, slow = fast;
    size_t name_width = 0;
    for (size_t i = 0; i < p->nlevels; i++) {
        size_t w = carm_text_width(p->levels[i].name);
        fast = fmax(fast, p->levels[i].bandwidth);
        slow = fmin(slow, p->levels[i].bandwidth);
        name_width = w > name_width ? w : name_width;
    }
    /* From some octaves left of the first ridge point, so that the slopes are seen, to some right
     * of the last one, so that the roof is; the lowest line begins in the corner. */
    c.x0 = floor(log2(p->peak) - log2(fast) - 4.5);
    c.x1 = ceil(log2(p->peak) - log2(slow) + 3.5);
    c.y0 = log2(slow) + c.x0;
    c.y1 = log2(p->peak) + 0.15 * (log2(p->peak) - c.y0);
    draw_lines(&c, p);
    for (size_t i = 0; i < p->nlevels; i++)
        name_line(&c, p, i);
    name_peak(&c, p);
    bool inside = place_legend(&c, p, name_width);

    char title[CARM_DRAW_COLUMNS + 1];
    (void)fprintf(out, "%s\n", carm_text_clean(title, sizeof title, p->title, p->ascii));
    print_rows(out, &c, p);
    print_x_axis(out, &c, p);
    for (size_t i = 0; !inside && i < p->nlevels; i++) {
        char line[CARM_DRAW_COLUMNS * 4];
        legend_line(p, i, name_width, line, sizeof line);
        (void)fprintf(out, "%*s%s\n", LEFT, "", line);
    }
}
