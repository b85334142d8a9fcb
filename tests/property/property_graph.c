/* Makes a random program, line by line.
 *
 * Each line is offered to the library, which knows the shapes, and to the oracle,
 * which knows how large values become; a line that either refuses is dropped.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/node.h"
#include "property_feed.h"
#include "property_maker.h"

/* ---- who depends on whom ---- */

void ancestry_join(ancestry *to, const ancestry *from)
{
    for (int i = 0; i < MAX_VALUES / 64; i++) to->bits[i] |= from->bits[i];
}

bool ancestry_has(const ancestry *a, int which)
{
    return a->bits[which / 64] >> (which % 64) & 1;
}

void ancestry_add(ancestry *a, int which)
{
    a->bits[which / 64] |= (uint64_t)1 << (which % 64);
}

int ancestry_count(const ancestry *a)
{
    int n = 0;
    for (int i = 0; i < MAX_VALUES / 64; i++) n += __builtin_popcountll(a->bits[i]);
    return n;
}

/* ---- taking a line ---- */

void fresh_name(maker *m, char name[NAME_ROOM])
{
    snprintf(name, NAME_ROOM, "t%d", m->nnames++);
}

/* More than half of the elements are definite. */
static bool is_definite(const value *v)
{
    int64_t known = 0;
    for (int64_t i = 0; v && i < v->n; i++) known += number_known(v->at[i]) && isfinite(v->at[i].v);
    return v && 2 * known > v->n;
}

static bool note_result(maker *m, mtf_graph *g, const oracle *o, const char *name,
                        const ancestry *from)
{
    mtf_tensor *x = mtf_find(g, name);
    if (!x || m->nvalues == MAX_VALUES) return false;
    mtf_shape   shape = mtf_shape_of_tensor(x);
    made_value *v = &m->values[m->nvalues];
    *v = (made_value){
        .type = x->type, .ndims = shape.ndims, .from = *from, .peak = oracle_peak(o, x)};
    snprintf(v->name, NAME_ROOM, "%s", name);
    v->variable = !strcmp(x->node->op->name, "variable");
    v->retired =
        mtf_shape_size(shape) > MOST_ELEMENTS * m->scale || !is_definite(oracle_value(o, x));
    for (int i = 0; i < v->ndims; i++) {
        snprintf(v->dims[i], NAME_ROOM, "%s", shape.dims[i].name);
        v->sizes[i] = shape.dims[i].size;
    }
    ancestry_add(&v->from, m->nvalues++);
    return true;
}

/* Lines of a text become lines of the case. */
static bool append_lines(property_case *c, const char *text, int depth)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (c->nlines == MAX_LINES || n + 40 >= LINE_ROOM) return false;
        snprintf(c->lines[c->nlines++], LINE_ROOM, "%*s%.*s", 8 * depth, "", (int)n, text);
        text += n + (text[n] == '\n');
    }
    return true;
}

bool maker_accept(maker *m, const char *text, int nresults, char results[][NAME_ROOM],
                  const ancestry *from)
{
    property_case *c = m->c;
    static char    whole[TEXT_ROOM + MAX_DEPTH * LINE_ROOM];
    int            lines = c->nlines, values = m->nvalues;
    if (m->ended || !append_lines(c, text, m->depth)) {
        c->nlines = lines;
        return false;
    }
    case_text(c, whole);
    size_t used = strlen(whole);
    for (int k = m->depth - 1; k >= 0; k--)
        used += (size_t)snprintf(whole + used, sizeof whole - used, "%s\n", m->closers[k]);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, whole, "random");
    oracle      *o = g && mtf_ok(s) ? oracle_new(g, c->seed) : NULL;
    bool         good = o && feed_all(g, NULL, o) && oracle_step(o);
    for (int i = 0; i < nresults && good; i++) good = note_result(m, g, o, results[i], from);
    oracle_free(o);
    m->ended = !strncmp(mtf_error(s), "internal", strlen("internal"));
    mtf_close(s);
    if (m->ended) /* a fault of the library's own: the program ends here, and shows it */
        for (int k = m->depth - 1; k >= 0; k--) append_lines(c, m->closers[k], k + 1);
    else if (!good)
        c->nlines = lines, m->nvalues = values;
    if (good && m->depth) ancestry_join(&m->used, from);
    return good;
}

/* ---- lines ---- */

/* Brings a float back into bounds where it has left them: sums stay exact only while they are small.
 */
static void tame(maker *m, int index)
{
    made_value *v = &m->values[index];
    bool        brief = v->type == MTF_BF16 || v->type == MTF_F16;
    char        text[LINE_ROOM], name[1][NAME_ROOM];
    if (!made_is_float(v) || v->retired || v->peak <= (brief ? 8 : 64)) return;
    fresh_name(m, name[0]);
    if (dice_odds(&m->dice, 60))
        snprintf(text, sizeof text, "%s = clip(%s, low=-4, high=4)", name[0], v->name);
    else if (v->peak < 1e4)
        snprintf(text, sizeof text, "%s = %s * %.9g", name[0], v->name,
                 ldexp(1, -(int)log2(v->peak)));
    else
        snprintf(text, sizeof text, "%s = tanh(%s)", name[0], v->name);
    v->retired = true;
    ancestry from = v->from;
    maker_accept(m, text, 1, name, &from);
}

static const line_template *choose_template(maker *m, unsigned with)
{
    /* Large tensors of aimed lines would cost the oracle half a minute. */
    unsigned without = (m->depth ? ROOT : 0) | (m->scale > 1 ? AIM : 0);
    if (m->plain) with |= BOTH;
    if (m->npool == POOL && !(with & AIM) && dice_odds(&m->dice, 30)) with |= WIDE;
    for (;;) {
        int total = 0, at;
        for (int i = 0; i < nline_templates; i++) total += line_templates[i].weight;
        at = dice_below(&m->dice, total);
        const line_template *t = line_templates;
        while (at >= t->weight) at -= t++->weight;
        if (!(t->flags & without) && (t->flags & with) == with) return t;
    }
}

static bool add_line_with(maker *m, unsigned flags)
{
    char                 text[2 * LINE_ROOM], names[3][NAME_ROOM];
    line_choice          l;
    const line_template *t = choose_template(m, flags);
    if (!fill_template(m, t, &l, text, sizeof text)) return false;
    int      n = 0, before = m->nvalues;
    ancestry from = {{0}};
    for (int k = 0; k < 3; k++)
        if (l.named[k]) memcpy(names[n++], l.results[k], NAME_ROOM);
    for (int k = 0; k < l.noperands; k++) ancestry_join(&from, &l.operand[k]->from);
    if (!maker_accept(m, text, n, names, &from)) return false;
    for (int k = 0; k < l.noperands; k++) m->values[l.operand[k] - m->values].used = true;
    for (int i = before, end = m->nvalues; i < end; i++) tame(m, i);
    return true;
}

bool add_line(maker *m)
{
    return add_line_with(m, 0);
}

/* Summed and repeated until the dimensions are the same; then cut to what may be carried on. */
bool add_alike(maker *m, const made_value *like, char name[NAME_ROOM])
{
    char       text[LINE_ROOM], shape[LINE_ROOM - 80], names[1][NAME_ROOM];
    made_value want = *like;
    int        from = -1, seen = 0;
    for (int i = 0; i < m->nvalues; i++) {
        const made_value *v = &m->values[i];
        bool              agrees = v->type == want.type && !v->retired;
        for (int d = 0; d < v->ndims && agrees; d++) {
            int k = made_find(&want, v->dims[d]);
            agrees = k < 0 || want.sizes[k] == v->sizes[d];
        }
        int weight = 1 + 3 * (i > m->nvalues - 5);
        if (agrees && dice_below(&m->dice, seen += weight) < weight) from = i;
    }
    if (from < 0) return false;
    ancestry who = m->values[from].from;
    write_shape_of(&want, shape, sizeof shape);
    fresh_name(m, names[0]);
    snprintf(text, sizeof text, "%s: [%s] = einsum(%s)", names[0], shape, m->values[from].name);
    if (!maker_accept(m, text, 1, names, &who)) return false;
    made_value *made = &m->values[m->nvalues - 1];
    if (made_is_float(made) && (made->peak > 4 || m->depth)) {
        char old[NAME_ROOM];
        memcpy(old, names[0], NAME_ROOM);
        made->retired = true;
        fresh_name(m, names[0]);
        snprintf(text, sizeof text, "%s = clip(%s, low=-2, high=2)", names[0], old);
        if (!maker_accept(m, text, 1, names, &who)) return false;
    }
    memcpy(name, names[0], NAME_ROOM);
    return true;
}

/* ---- gradients and assignments ---- */

/* A sum of the same dimensions that is owed where `owed` is cut: what is assigned is scattered. */
static bool add_owed(maker *m, const made_value *like, char name[NAME_ROOM])
{
    char     text[2 * LINE_ROOM], shape[LINE_ROOM - 80], names[2][NAME_ROOM];
    ancestry none = {{0}};
    if (like->type == MTF_BOOL) return false;
    write_shape_of(like, shape, sizeof shape);
    fresh_name(m, names[0]);
    fresh_name(m, names[1]);
    snprintf(text, sizeof text, "%s: %s[owed=3%s%s] = input\n%s = reduce_sum(%s, over=(owed))",
             names[0], mtf_dtype_name(like->type), *shape ? ", " : "", shape, names[1], names[0]);
    memcpy(name, names[1], NAME_ROOM);
    return maker_accept(m, text, 2, names, &none);
}

static void add_assignment(maker *m)
{
    static const char *const modes[] = {"", ", mode=add", ", mode=sub"};
    char                     text[LINE_ROOM], fresh[NAME_ROOM], name[1][NAME_ROOM];
    int                      which = -1, seen = 0;
    for (int i = 0; i < m->nvalues; i++)
        if (m->values[i].variable && dice_below(&m->dice, ++seen) == 0) which = i;
    if (which < 0 || m->depth) return;
    made_value w = m->values[which];
    if (!(dice_odds(&m->dice, 40) ? add_owed : add_alike)(m, &w, fresh)) return;
    ancestry from = m->values[m->nvalues - 1].from;
    fresh_name(m, name[0]);
    snprintf(text, sizeof text, "%s = assign(%s, %s%s)", name[0], w.name, fresh,
             w.type == MTF_BOOL ? "" : modes[dice_below(&m->dice, 3)]);
    if (!maker_accept(m, text, 1, name, &from) || !dice_odds(&m->dice, 40)) return;
    fresh_name(m, name[0]);
    snprintf(text, sizeof text, "%s = read(%s)", name[0], w.name);
    maker_accept(m, text, 1, name, &from);
}

/* What to differentiate by: floats that y depends on.  Writes two lists. */
static int choose_sources(maker *m, const made_value *y, char names[3][NAME_ROOM], char *left,
                          char *right, size_t room)
{
    int n = 0;
    for (int tries = 0; tries < 40 && n < 3; tries++) {
        int               k = dice_below(&m->dice, m->nvalues);
        const made_value *x = &m->values[k];
        char              again[NAME_ROOM + 2];
        if (!ancestry_has(&y->from, k) || !made_is_float(x) || !strcmp(x->name, y->name)) continue;
        snprintf(again, sizeof again, " %s,", x->name);
        size_t a = strlen(left), b = strlen(right);
        if (strstr(right, again)) continue;
        fresh_name(m, names[n]);
        snprintf(left + a, room - a, "%s%s", n ? ", " : "", names[n]);
        snprintf(right + b, room - b, " %s,", x->name);
        n++;
        if (dice_odds(&m->dice, 50)) break;
    }
    if (n) right[strlen(right) - 1] = 0;
    return n;
}

bool add_gradient(maker *m)
{
    line_choice       none = {.d = -1, .f = -1};
    const made_value *chosen = choose_operand(m, &none, 'x'),
                     *other = choose_operand(m, &none, 'x');
    char names[3][NAME_ROOM], text[LINE_ROOM], left[120] = "", right[120] = "";
    char dy[NAME_ROOM], given[2 * NAME_ROOM] = "", more[2 * NAME_ROOM] = "";
    if (!chosen) return false;
    made_value y = *chosen;
    if (dice_odds(&m->dice, 15) && other != chosen) {
        snprintf(more, sizeof more, ", %s", other->name);
        ancestry_join(&y.from, &other->from);
    } else if (dice_odds(&m->dice, 15) && add_alike(m, &y, dy)) {
        snprintf(given, sizeof given, "; %s", dy);
        ancestry_join(&y.from, &m->values[m->nvalues - 1].from);
    }
    int n = choose_sources(m, &y, names, left, right, sizeof left), before = m->nvalues;
    if (!n) return false;
    snprintf(text, sizeof text, "%s = gradients(%s%s;%s%s)", left, y.name, more, right, given);
    if (!maker_accept(m, text, n, names, &y.from)) return false;
    for (int i = before, end = m->nvalues; i < end; i++) tame(m, i);
    return true;
}

/* ---- the whole ---- */

static void choose_pool(maker *m, bool wide)
{
    static const int64_t sizes[] = {1, 2, 2, 3, 3, 4, 5, 5, 6, 7}, small[] = {2, 2, 2, 3, 3},
                         large[] = {1, 3, 8, 17, 32, 33, 64};
    static const char *const odd[] = {"_parts",   "_low",        "_tap",        "_nth",
                                      "_factors", "_candidates", "_iterations", "_one"};
    bool                     strange = !m->plain && dice_odds(&m->dice, 20);
    m->npool = wide ? POOL : 6;
    for (int i = 0; i < m->npool; i++) {
        snprintf(m->pool[i], NAME_ROOM, "%c", 'a' + i);
        m->pool_size[i] = wide           ? (i % 4 == 3 ? small[dice_below(&m->dice, 5)] : 1)
                          : m->scale > 1 ? large[dice_below(&m->dice, 7)]
                                         : sizes[dice_below(&m->dice, 10)];
        if (strange && dice_odds(&m->dice, 40)) snprintf(m->pool[i], NAME_ROOM, "%s", odd[i % 8]);
    }
}

static void fill_program(maker *m, int wanted)
{
    for (int tries = 0; tries < 12 * wanted && m->c->nlines < wanted && !m->ended; tries++) {
        int what = dice_below(&m->dice, 100);
        if (what < (m->c->nlines > wanted / 2 ? 14 : 4))
            add_gradient(m);
        else if (what < 24 && m->c->nlines > 3)
            add_block(m);
        else if (what < 28)
            add_assignment(m);
        else
            add_line(m);
    }
}

static bool holds_steps_apart(const property_case *c)
{
    for (int i = 0; i < c->nlines; i++)
        if (strstr(c->lines[i], "assign(") || strstr(c->lines[i], "random_") ||
            strstr(c->lines[i], "dropout") || strstr(c->lines[i], "categorical"))
            return true;
    return false;
}

/* The names that a line gives to its results, at the root. */
static int root_names(const property_case *c, int room, char names[][NAME_ROOM])
{
    int n = 0;
    for (int i = 0; i < c->nlines; i++) {
        const char *at = c->lines[i], *end = strstr(at, " = ");
        if (!end || at[0] == ' ') continue;
        while (at < end && n < room) {
            size_t length = strcspn(at, ",: =");
            snprintf(names[n++], NAME_ROOM, "%.*s", (int)length, at);
            at += length;
            if (*at != ',') break;
            at += 2;
        }
    }
    return n;
}

/* How often a name stands in the text besides where it is given. */
static bool is_used(const property_case *c, const char *name)
{
    size_t length = strlen(name);
    int    seen = 0;
    for (int i = 0; i < c->nlines; i++)
        for (const char *at = c->lines[i]; (at = strstr(at, name)); at += length) {
            char after = at[length], before = at > c->lines[i] ? at[-1] : ' ';
            bool whole = !(after >= '0' && after <= '9') && (before == ' ' || before == '(');
            seen += whole;
        }
    return seen > 1;
}

void case_choose_fetches(property_case *c, dice *d)
{
    static char names[2 * MAX_LINES][NAME_ROOM];
    int         n = root_names(c, 2 * MAX_LINES, names);
    c->nfetches = 0;
    for (int tries = 0; tries < 20 && n && c->nfetches < 1 + dice_below(d, 2); tries++) {
        int k = n - 1 - (int)((double)n * pow(dice_below(d, 1000) / 1000.0, 2));
        /* Mostly what nobody uses: there everything else comes together. */
        if (is_used(c, names[k]) && !dice_odds(d, 20)) continue;
        if (c->nfetches && !strcmp(c->fetches[0].name, names[k])) continue;
        snprintf(c->fetches[c->nfetches++].name, NAME_ROOM, "%s", names[k]);
    }
    if (!c->nfetches && n) snprintf(c->fetches[c->nfetches++].name, NAME_ROOM, "%s", names[n - 1]);
}

void case_fetch_ends(property_case *c)
{
    static char names[2 * MAX_LINES][NAME_ROOM];
    c->nfetches = 0;
    for (int i = root_names(c, 2 * MAX_LINES, names) - 1; i >= 0 && c->nfetches < MAX_FETCHES; i--)
        if (!is_used(c, names[i]))
            snprintf(c->fetches[c->nfetches++].name, NAME_ROOM, "%s", names[i]);
}

static void make(property_case *c, maker *m, int wanted, bool wide)
{
    *c = (property_case){.steps = 1};
    c->seed = dice_bits(&m->dice) % 1000;
    c->check = dice_odds(&m->dice, 20);
    choose_pool(m, wide);
    fill_program(m, wanted - 2);
    bool aimed = m->scale == 1 && dice_odds(&m->dice, 50);
    for (int tries = 0; tries < 8 && aimed && !add_line_with(m, AIM); tries++) continue;
    for (int tries = 0; tries < 5 && dice_odds(&m->dice, 70) && !add_gradient(m); tries++) continue;
}

void case_make_program(property_case *c, uint64_t seed)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_F32, MTF_F32,  MTF_F32, MTF_F64,
                                      MTF_F64, MTF_F64, MTF_BF16, MTF_F16};
    static maker           m;
    m = (maker){.c = c, .dice = {seed}};
    m.type = types[dice_below(&m.dice, 9)];
    bool wide = dice_odds(&m.dice, 30);
    m.scale = !wide && dice_odds(&m.dice, 2) ? 20 : 1;
    make(c, &m, 6 + dice_below(&m.dice, m.scale > 1 ? 6 : wide ? 20 : 34), wide);
    if (holds_steps_apart(c)) c->steps = 1 + dice_below(&m.dice, MAX_STEPS);
    case_choose_fetches(c, &m.dice);
}

void case_make_graph(property_case *c, uint64_t seed)
{
    static char  names[2 * MAX_LINES][NAME_ROOM];
    static maker m;
    m = (maker){.c = c, .dice = {seed}, .plain = true, .scale = 1};
    m.type = dice_odds(&m.dice, 12) ? MTF_F32 : MTF_F64;
    make(c, &m, 10 + dice_below(&m.dice, 31), false);
    int n = root_names(c, 2 * MAX_LINES, names);
    for (int i = n - 1; i >= 0 && c->nfetches < MAX_FETCHES; i--)
        if (!is_used(c, names[i]) || dice_odds(&m.dice, 25))
            snprintf(c->fetches[c->nfetches++].name, NAME_ROOM, "%s", names[i]);
}
