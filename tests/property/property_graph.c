/* Makes a random graph, line by line.
 *
 * Each line is offered to the library, which knows the shapes; what it does not
 * take is dropped.  What it cannot know is kept here: which values are equal
 * bit for bit in every layout, and how large they can become.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "property_maker.h"

/* ---- taking a line ---- */

static bool note_result(maker *m, mtf_graph *g, const char *name, const value *like)
{
    mtf_tensor *x = mtf_find(g, name);
    if (!x || m->nvalues == MAX_VALUES) return false;
    mtf_shape shape = mtf_shape_of_tensor(x);
    value    *v = &m->values[m->nvalues];
    *v = *like;
    snprintf(v->name, NAME_ROOM, "%s", name);
    v->type = mtf_dtype_of_tensor(x);
    v->ndims = shape.ndims < VALUE_DIMS ? shape.ndims : VALUE_DIMS;
    bool is_float = v->type == MTF_F64 || v->type == MTF_F32;
    if (!is_float) v->exact = true, v->kinked = false, v->sources = 0, v->bound = 10;
    v->retired = shape.ndims > VALUE_DIMS || mtf_shape_size(shape) > 500;
    for (int i = 0; i < v->ndims; i++) {
        snprintf(v->dims[i], NAME_ROOM, "%s", shape.dims[i].name);
        v->sizes[i] = shape.dims[i].size;
    }
    m->nvalues++;
    return true;
}

bool maker_accept(maker *m, const char *text, int nresults, char results[][NAME_ROOM],
                  const value *like)
{
    property_case *c = m->c;
    char           whole[TEXT_ROOM];
    if (c->nlines == MAX_LINES || strlen(text) >= LINE_ROOM) return false;
    snprintf(c->lines[c->nlines++], LINE_ROOM, "%s", text);
    case_text(c, whole);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, whole, "random");
    bool         good = g && mtf_ok(s);
    for (int i = 0; i < nresults && good; i++) good = note_result(m, g, results[i], like);
    mtf_close(s);
    if (!good) c->nlines--;
    return good;
}

/* ---- what is known of the results ---- */

static double contracted(const line_choice *l)
{
    double all = 1;
    for (int k = 0; k < l->noperands; k++)
        for (int i = 0; i < l->operand[k]->ndims; i++) {
            bool seen = false;
            for (int j = 0; j < k; j++)
                seen = seen || value_find(l->operand[j], l->operand[k]->dims[i]) >= 0;
            if (!seen) all *= (double)l->operand[k]->sizes[i];
        }
    return all;
}

static double grown(const line_template *t, const line_choice *l)
{
    double largest = 0, sum = 1, product = 1;
    for (int k = 0; k < l->noperands; k++) {
        double b = l->operand[k]->bound;
        if (b > largest) largest = b;
        sum += b;
        product *= b;
    }
    switch (t->growth) {
    case GROW_ONE: return 1;
    case GROW_FEW: return 4;
    case GROW_SUM: return sum;
    case GROW_PRODUCT: return product;
    /* Random signs: sums grow less than their number of terms. */
    case GROW_CONTRACT: return product * pow(contracted(l), 0.7);
    case GROW_TENFOLD: return 10 * largest;
    default: return largest;
    }
}

static value judge(maker *m, const line_template *t, const line_choice *l)
{
    value v = {.exact = !(t->flags & SUMS), .bound = grown(t, l)};
    bool  all_exact = true;
    for (int k = 0; k < l->noperands; k++) {
        const value *o = l->operand[k];
        all_exact = all_exact && o->exact;
        v.kinked = v.kinked || o->kinked;
        if (!(t->flags & STOPS)) v.sources |= o->sources;
    }
    v.exact = v.exact && all_exact;
    v.kinked = v.kinked || (t->flags & KINK && !all_exact);
    v.variable = strstr(t->text, "= variable") != NULL;
    /* A variable may be assigned a sum later on. */
    if (v.variable) v.exact = false;
    if (t->flags & SOURCE && m->nsources < 64) v.sources |= (uint64_t)1 << m->nsources;
    return v;
}

/* Brings a value back into bounds where it may have left them. */
static void tame(maker *m, int index)
{
    value *v = &m->values[index];
    if (v->type != m->type || v->retired || v->bound <= (m->c->single ? 8 : 100)) return;
    char text[LINE_ROOM], name[1][NAME_ROOM];
    snprintf(name[0], NAME_ROOM, "t%d", m->nnames++);
    snprintf(text, sizeof text, "%s = tanh(%s * %.3g)", name[0], v->name, 2 / v->bound);
    v->retired = true;
    value like = *v;
    like.bound = 1;
    like.variable = false;
    maker_accept(m, text, 1, name, &like);
}

static bool add_line(maker *m)
{
    int total = 0, at;
    for (int i = 0; i < nline_templates; i++) total += line_templates[i].weight;
    at = dice_below(&m->dice, total);
    const line_template *t = line_templates;
    while (at >= t->weight) at -= t++->weight;

    char        text[LINE_ROOM], names[3][NAME_ROOM];
    line_choice l;
    if (!fill_template(m, t, &l, text, sizeof text)) return false;
    int n = 0, before = m->nvalues;
    for (int k = 0; k < 3; k++)
        if (l.named[k] && !(k == 2 && strstr(t->text, "= input")))
            memcpy(names[n++], l.results[k], NAME_ROOM);
    value like = judge(m, t, &l);
    if (!maker_accept(m, text, n, names, &like)) return false;
    if (t->flags & SOURCE && m->nsources < 64) m->source_of[m->nsources++] = before;
    for (int i = before, end = m->nvalues; i < end; i++) tame(m, i);
    return true;
}

/* ---- gradients and assignments ---- */

static void add_assignment(maker *m, value *v, const char *gradient)
{
    char  text[LINE_ROOM], name[1][NAME_ROOM];
    value like = {.bound = 2};
    if (!v->variable || v->assigned) return;
    snprintf(name[0], NAME_ROOM, "t%d", m->nnames++);
    snprintf(text, sizeof text, "%s = assign(%s, %s - tanh(%s) * 0.1)", name[0], v->name, v->name,
             gradient);
    v->assigned = maker_accept(m, text, 1, name, &like);
    if (!v->assigned || !dice_odds(&m->dice, 30)) return;
    snprintf(name[0], NAME_ROOM, "t%d", m->nnames++);
    snprintf(text, sizeof text, "%s = read(%s)", name[0], v->name);
    maker_accept(m, text, 1, name, &like);
}

/* The gradient of one value with respect to some of the inputs behind it. */
static bool add_gradient(maker *m)
{
    static const char *const losses[] = {"reduce_sum((", "reduce_mean(square(", "reduce_sum(sin(",
                                         "((0.5 * "};
    line_choice              none = {.d = -1, .f = -1};
    const value             *y = choose_operand(m, &none, 'x');
    if (!y || !y->sources || y->kinked) return false;
    char names[4][NAME_ROOM], text[LINE_ROOM], left[200] = "", right[200] = "";
    int  n = 0, of[4];
    for (int k = 0; k < m->nsources && n < 3; k++) {
        if (!(y->sources >> k & 1) || (n && dice_odds(&m->dice, 40))) continue;
        of[n] = m->source_of[k];
        snprintf(names[n], NAME_ROOM, "t%d", m->nnames++);
        size_t a = strlen(left), b = strlen(right);
        snprintf(left + a, sizeof left - a, "%s%s", n ? ", " : "", names[n]);
        snprintf(right + b, sizeof right - b, "%s%s", n ? ", " : "", m->values[of[n]].name);
        n++;
    }
    snprintf(text, sizeof text, "t%d = %s%s))\n%s = gradients(t%d; %s)", m->nnames,
             losses[dice_below(&m->dice, 4)], y->name, left, m->nnames, right);
    m->nnames++;
    value like = {.bound = 10 * y->bound, .sources = y->sources};
    if (!maker_accept(m, text, n, names, &like)) return false;
    for (int i = m->nvalues - n, end = m->nvalues; i < end; i++) tame(m, i);
    for (int k = 0; k < n; k++)
        if (dice_odds(&m->dice, 70)) add_assignment(m, &m->values[of[k]], names[k]);
    return true;
}

/* ---- the whole ---- */

/* Results that nothing uses, and some of the others. */
static void choose_fetches(maker *m)
{
    property_case *c = m->c;
    for (int i = m->nvalues - 1; i >= 0 && c->nfetches < MAX_FETCHES; i--) {
        const value *v = &m->values[i];
        bool         used = false;
        for (int k = 0; k < c->nlines; k++) {
            const char *at = strstr(c->lines[k], v->name);
            for (; at && !used; at = strstr(at + 1, v->name)) {
                char after = at[strlen(v->name)];
                used = at > c->lines[k] && (after < '0' || after > '9') && at[-1] != '\n';
            }
        }
        if (used && !dice_odds(&m->dice, 25)) continue;
        fetch_wish *f = &c->fetches[c->nfetches++];
        snprintf(f->name, NAME_ROOM, "%s", v->name);
        f->exact = v->exact;
    }
}

void case_make_graph(property_case *c, uint64_t seed)
{
    static const int64_t sizes[] = {1, 2, 2, 3, 3, 4, 5, 5, 6, 7};
    maker                m = {.c = c, .dice = {seed}};
    *c = (property_case){.steps = 1};
    c->single = dice_odds(&m.dice, 12);
    c->seed = dice_bits(&m.dice) % 1000;
    c->check = dice_odds(&m.dice, 12);
    m.type = c->single ? MTF_F32 : MTF_F64;
    for (int i = 0; i < POOL; i++) {
        snprintf(m.pool[i], NAME_ROOM, "%c", 'a' + i);
        m.pool_size[i] = sizes[dice_below(&m.dice, (int)(sizeof sizes / sizeof *sizes))];
    }
    int wanted = 10 + dice_below(&m.dice, c->single ? 15 : 31);
    for (int tries = 0; tries < 400 && c->nlines < wanted; tries++)
        if (dice_odds(&m.dice, c->nlines > wanted / 2 ? 15 : 3))
            add_gradient(&m);
        else
            add_line(&m);
    for (int tries = 0; tries < 5 && !add_gradient(&m); tries++) continue;
    if (dice_odds(&m.dice, 40)) c->steps = 2;
    choose_fetches(&m);
}
