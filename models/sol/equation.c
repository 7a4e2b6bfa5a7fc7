/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/equation.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { RANKS_MAX = 256, DIGITS_MAX = 6, FACTOR_DIGITS_MAX = 9 };

/* The first pass takes sizes from plain ranks; the second checks compound ranks with them. */
enum pass { PLAIN, COMPOUND };

struct rank {
    char name[DIGITS_MAX + 2];
    uint64_t size;
    uint32_t tensor; /* number of the last tensor with the rank, from 1 */
    bool sized;      /* the rank is plain somewhere, so its size is known */
    bool in_input;
};

struct parse {
    const char *text, *at;
    const struct carm_sol_operands *operands; /* or NULL */
    char *why;
    enum carm_sol_misfit misfit; /* kind of a refusal */
    enum pass pass;
    bool output, compound;          /* a compound rank was seen */
    uint32_t tensor;                /* number of the current tensor, from 1, outputs after inputs */
    const struct carm_sol_use *use; /* use in the graph; NULL = only the syntax is checked */
    unsigned dims;                  /* dimensions of the use read so far */
    size_t nranks;
    struct rank *ranks; /* [RANKS_MAX]; sizes beyond nranks are not set */
};

__attribute__((format(printf, 2, 3))) static int bad(const struct parse *p, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(p->why, CARM_SOL_WHY_MAX, format, ap);
    va_end(ap);
    return -CARM_EFORMAT;
}

/* Sets the kind of a refusal: bad(misfit(p, ...), ...) */
static struct parse *misfit(struct parse *p, enum carm_sol_misfit kind)
{
    p->misfit = kind;
    return p;
}

int carm_sol_product(const uint64_t *factors, size_t n, uint64_t *product)
{
    bool large = false;
    *product = 1;
    for (size_t i = 0; i < n; i++) {
        if (factors[i] == 0) { /* whatever the other sizes are */
            *product = 0;
            return 0;
        }
        large = large || *product > (uint64_t)INT64_MAX / factors[i];
        *product = large ? 1 : *product * factors[i];
    }
    return large ? -1 : 0;
}

static void blanks(struct parse *p)
{
    while (*p->at == ' ' || *p->at == '\t') {
        p->at++;
    }
}

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static int unexpected(const struct parse *p)
{
    return *p->at ? bad(p,
                        "character %td is not part of a rank (a capital letter with optional "
                        "digits), of a sum of ranks (P+R), comma or arrow",
                        p->at - p->text + 1)
                  : bad(p, "it ends inside parentheses");
}

/* Reads the rank that begins here; NULL = no rank, or too many. */
static struct rank *take_rank(struct parse *p)
{
    char name[DIGITS_MAX + 2] = {0};
    size_t n = 0;
    if (*p->at < 'A' || *p->at > 'Z') {
        unexpected(p);
        return NULL;
    }
    name[n++] = *p->at++;
    for (; digit(*p->at); p->at++) {
        if (n > DIGITS_MAX) {
            bad(p, "a rank has up to %d digits", DIGITS_MAX);
            return NULL;
        }
        name[n++] = *p->at;
    }
    for (size_t i = 0; i < p->nranks; i++) {
        if (memcmp(p->ranks[i].name, name, sizeof name) == 0) {
            return &p->ranks[i];
        }
    }
    if (p->nranks == RANKS_MAX) {
        bad(p, "it has more than %d ranks", RANKS_MAX);
        return NULL;
    }
    struct rank *rank = &p->ranks[p->nranks++];
    *rank = (struct rank){.size = 0};
    memcpy(rank->name, name, sizeof name);
    return rank;
}

/* Notes that the current tensor has the rank. */
static int note_use(const struct parse *p, struct rank *rank)
{
    if (p->pass == PLAIN) {
        if (rank->tensor == p->tensor) {
            return bad(p, "rank %s is used twice in one tensor: give each dimension its own",
                       rank->name);
        }
        rank->tensor = p->tensor;
        rank->in_input = rank->in_input || !p->output;
    }
    return 0;
}

static uint64_t extent_of(const struct parse *p)
{
    return p->operands->extents[p->use->dims + p->dims];
}

static int too_many_dims(struct parse *p)
{
    return p->use && p->dims >= p->use->rank
               ? bad(misfit(p, CARM_SOL_MISFIT_SHAPE),
                     "its tensor %u has more ranks than the shape has dimensions (%u)", p->tensor,
                     p->use->rank)
               : 0;
}

static enum carm_sol_misfit size_misfit(uint64_t a, uint64_t b)
{
    const uint64_t less = a < b ? a : b;
    const uint64_t more = a < b ? b : a;
    return less > 0 && more % less == 0 ? CARM_SOL_MISFIT_PART : CARM_SOL_MISFIT_SHAPE;
}

static int plain_rank(struct parse *p)
{
    struct rank *rank = take_rank(p);
    if (!rank) {
        return -CARM_EFORMAT;
    }
    int rc = note_use(p, rank);
    rc = rc ? rc : too_many_dims(p);
    if (rc || !p->use || p->pass != PLAIN) {
        p->dims++;
        return rc;
    }
    const uint64_t size = extent_of(p);
    if (!rank->sized || (rank->size == 1 && !p->operands->contraction)) {
        rank->size = size;
    } else if (size != rank->size && (size != 1 || p->operands->contraction)) {
        return bad(misfit(p, size_misfit(size, rank->size)),
                   "rank %s has size %" PRIu64 " in one tensor and %" PRIu64 " in another",
                   rank->name, rank->size, size);
    }
    rank->sized = true;
    p->dims++;
    return 0;
}

/* Skips a whole factor before a rank, as in (2P+R) or (2*P+R). */
static int skip_factor(struct parse *p)
{
    unsigned digits = 0;
    for (; digit(*p->at); p->at++) {
        if (++digits > FACTOR_DIGITS_MAX) {
            return bad(p, "a factor has up to %d digits", FACTOR_DIGITS_MAX);
        }
    }
    if (digits && *p->at == '*') {
        p->at++;
    }
    blanks(p);
    return 0;
}

static int compound_rank(struct parse *p)
{
    bool empty = false; /* a rank of the terms has size 0 */
    p->compound = true;
    do {
        p->at++; /* skips the parenthesis, plus or minus */
        blanks(p);
        int rc = skip_factor(p);
        struct rank *rank = rc ? NULL : take_rank(p);
        rc = rank ? note_use(p, rank) : -CARM_EFORMAT;
        if (rc) {
            return rc;
        }
        if (p->use && p->pass == COMPOUND && !rank->sized) {
            return bad(p,
                       "unknown rank %s: sums alone have it, and no rank or shape gives its size",
                       rank->name);
        }
        empty = empty || rank->size == 0;
        blanks(p);
    } while (*p->at == '+' || *p->at == '-');
    if (*p->at != ')') {
        return unexpected(p);
    }
    p->at++;
    const int rc = too_many_dims(p);
    if (!rc && p->use && p->pass == COMPOUND && !empty && extent_of(p) == 0) {
        return bad(misfit(p, CARM_SOL_MISFIT_SHAPE),
                   "dimension %u of its tensor %u is 0 where its ranks are not", p->dims + 1,
                   p->tensor);
    }
    p->dims++;
    return rc;
}

static bool at_arrow(const struct parse *p)
{
    return p->at[0] == '-' && p->at[1] == '>';
}

static int tensor(struct parse *p)
{
    int rc = 0;
    p->dims = 0;
    blanks(p);
    while (!rc && *p->at && *p->at != ',' && !at_arrow(p)) {
        rc = *p->at == '(' ? compound_rank(p) : plain_rank(p);
        blanks(p);
    }
    if (!rc && p->use && p->dims != p->use->rank) {
        return bad(misfit(p, CARM_SOL_MISFIT_SHAPE),
                   "its tensor %u has %u ranks, the shape %u dimensions", p->tensor, p->dims,
                   p->use->rank);
    }
    return rc;
}

/* Reads the tensors of one side, separated by commas. have: number of the layer's tensors on this
 * side, from uses on */
static int side(struct parse *p, const struct carm_sol_use *uses, uint32_t have)
{
    const char *what = p->output ? "outputs" : "inputs";
    const bool none = !have && strspn(p->at, " \t") == strcspn(p->at, "-");
    uint32_t n = 0;
    do {
        if (n) {
            p->at++; /* skips the comma */
        }
        p->use = uses && n < have ? &uses[n] : NULL;
        p->tensor++;
        n++;
        const int rc = tensor(p);
        if (rc) {
            return rc;
        }
    } while (*p->at == ',');
    n -= none;
    if (p->operands && n > have) {
        return bad(misfit(p, CARM_SOL_MISFIT_PART), "%s: %u in the equation, %u in the layer", what,
                   n, have);
    }
    return 0;
}

static int equation(struct parse *p, enum pass pass)
{
    const struct carm_sol_operands *o = p->operands;
    p->at = p->text;
    p->pass = pass;
    p->tensor = 0;
    p->output = false;
    const int rc = side(p, o ? o->uses : NULL, o ? o->inputs : 0);
    if (rc) {
        return rc;
    }
    if (!at_arrow(p)) {
        return bad(p, "it has no arrow: IN,IN->OUT");
    }
    p->at += 2;
    p->output = true;
    const int failed = side(p, o ? o->uses + o->inputs : NULL, o ? o->outputs : 0);
    return !failed && *p->at ? bad(p, "it has a second arrow") : failed;
}

static int space(const struct parse *p, uint64_t *points)
{
    uint64_t sizes[RANKS_MAX];
    for (size_t i = 0; i < p->nranks; i++) {
        if (p->operands->contraction && !p->ranks[i].in_input) {
            return bad(p, "unknown rank %s: it is in the output, but in no input",
                       p->ranks[i].name);
        }
        sizes[i] = p->ranks[i].size;
    }
    return carm_sol_product(sizes, p->nranks, points)
               ? bad(p, "the product of its ranks' sizes passes 2^63 - 1")
               : 0;
}

static int evaluate(struct parse *p, uint64_t *points)
{
    int rc = equation(p, PLAIN);
    if (rc || !p->operands) {
        return rc;
    }
    rc = p->compound ? equation(p, COMPOUND) : 0;
    return rc ? rc : space(p, points);
}

int carm_sol_equation(const char *text, const struct carm_sol_operands *operands, uint64_t *points,
                      char *why, enum carm_sol_misfit *misfit_of)
{
    struct rank ranks[RANKS_MAX];
    struct parse p = {.text = text, .at = text, .operands = operands, .ranks = ranks};
    p.why = why;
    const int rc = evaluate(&p, points);
    if (misfit_of) {
        *misfit_of = p.misfit;
    }
    return rc;
}

static uint64_t extent(const struct carm_sol_operands *o, const struct carm_sol_use *use,
                       unsigned i)
{
    return o->extents[use->dims + i];
}

static bool multiply(uint64_t a, uint64_t b, uint64_t *product)
{
    const uint64_t factors[] = {a, b};
    return carm_sol_product(factors, 2, product) == 0;
}

/* Counts a convolution. Input and output: [batch,] channels, then as many dimensions as the weight
 * has beside its two of channels */
static bool convolution(const struct carm_sol_operands *o, bool transposed, uint64_t *macs)
{
    const struct carm_sol_use *in = &o->uses[0];
    const struct carm_sol_use *weight = &o->uses[1];
    const struct carm_sol_use *out = &o->uses[o->inputs];
    if (o->inputs < 2 || o->outputs < 1 || weight->rank < 3 || in->rank != out->rank ||
        (in->rank != weight->rank && in->rank + 1 != weight->rank)) {
        return false;
    }
    const unsigned channels = in->rank == weight->rank;
    const uint64_t from = extent(o, in, channels);
    const uint64_t to = extent(o, out, channels);
    const uint64_t first = extent(o, weight, 0);
    const uint64_t second = extent(o, weight, 1);
    if (first == 0 || second == 0 || first != (transposed ? from : to) ||
        (transposed ? to : from) % second != 0) {
        return false;
    }
    if (!transposed) {
        return multiply(out->elements, weight->elements / first, macs);
    }
    /* Transposed: with a stride, most positions of the kernel have no input, so each input element
     * is multiplied with all weights of its channel. With padding, some of these products are
     * outside the output. */
    uint64_t by_input = 0, by_output = 0;
    const bool counted = to > 0 && multiply(in->elements, weight->elements / first, &by_input) &&
                         multiply(out->elements / to, weight->elements, &by_output);
    *macs = by_input < by_output ? by_input : by_output;
    return counted;
}

static bool matrices(const struct carm_sol_operands *o, uint64_t *macs)
{
    const struct carm_sol_use *in = &o->uses[0];
    if (o->inputs < 1 || o->outputs < 1 || in->rank == 0) {
        return false;
    }
    const uint64_t inner = extent(o, in, in->rank - 1U);
    const struct carm_sol_use *other = &o->uses[1];
    const bool agrees = o->inputs < 2 ||
                        (other->rank > 0 && extent(o, other, other->rank - 1U) == inner) ||
                        (other->rank > 1 && extent(o, other, other->rank - 2U) == inner);
    return agrees && multiply(o->uses[o->inputs].elements, inner, macs);
}

bool carm_sol_contraction(const char *type, const struct carm_sol_operands *operands,
                          enum carm_sol_misfit why, uint64_t *macs)
{
    static const struct {
        const char *type;
        char what; /* c: convolution, t: transposed, m: matrices */
    } types[] = {{"conv1d", 'c'},
                 {"conv2d", 'c'},
                 {"conv3d", 'c'},
                 {"convtranspose1d", 't'},
                 {"convtranspose2d", 't'},
                 {"convtranspose3d", 't'},
                 {"conv_transpose1d", 't'},
                 {"conv_transpose2d", 't'},
                 {"conv_transpose3d", 't'},
                 {"matmul", 'm'},
                 {"mm", 'm'},
                 {"bmm", 'm'},
                 {"linear", 'm'}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].type) == 0) {
            return types[i].what == 'm' ? why != CARM_SOL_MISFIT_SHAPE && matrices(operands, macs)
                                        : convolution(operands, types[i].what == 't', macs);
        }
    }
    return false;
}
