/* Random loops, recomputed regions and custom gradients.
 *
 * A block is written from its head on.  While it is open, each line is offered
 * together with lines that would close all open blocks; at the end it yields
 * what has been made inside.
 */
#include <stdio.h>
#include <string.h>

#include "property_maker.h"

typedef enum block_kind { BLOCK_LOOP, BLOCK_WHILE, BLOCK_RECOMPUTE, BLOCK_CUSTOM } block_kind;

typedef struct open_block {
    block_kind kind;
    int        carried, sums, given; /* given: results of a region */
    made_value in[2];
    char       params[2][NAME_ROOM], counter[NAME_ROOM];
    char       results[6][NAME_ROOM];
    int        nresults;
    int        mark; /* values before it */
    ancestry   used; /* by the blocks around it */
} open_block;

static void say(char *text, size_t room, const char *what)
{
    size_t used = strlen(text);
    snprintf(text + used, room - used, "%s", what);
}

static void say_list(char *text, size_t room, int n, char names[][NAME_ROOM])
{
    for (int i = 0; i < n; i++) {
        if (i) say(text, room, ", ");
        say(text, room, names[i]);
    }
}

/* Appends lines without offering them: they are not yet whole. */
static bool append(maker *m, const char *text)
{
    property_case *c = m->c;
    if (c->nlines == MAX_LINES || strlen(text) + 40 >= LINE_ROOM) return false;
    snprintf(c->lines[c->nlines++], LINE_ROOM, "%*s%s", 8 * m->depth, "", text);
    return true;
}

static bool choose_carried(maker *m, open_block *b)
{
    static const char place[] = {'a', 'x', 'x', 'A'};
    b->carried = 1 + dice_odds(&m->dice, 30);
    for (int i = 0; i < b->carried; i++) {
        line_choice       none = {.d = -1, .f = -1};
        char              kind = b->kind == BLOCK_CUSTOM ? 'x' : place[dice_below(&m->dice, 4)];
        const made_value *v = choose_operand(m, &none, kind);
        if (!v || made_elements(v) > 200) return false;
        b->in[i] = *v;
    }
    return true;
}

static bool is_loop(const open_block *b)
{
    return b->kind == BLOCK_LOOP || b->kind == BLOCK_WHILE;
}

/* A while loop goes on for at most three iterations, and perhaps looks at what it carries. */
static bool append_condition(maker *m, const open_block *b)
{
    static const char *const also[] = {"greater(reduce_sum(%sc), 0)", "less(reduce_max(%sc), 3)"};
    char                     head[LINE_ROOM] = "    cond(", text[160], more[60] = "";
    for (int i = 0; i < b->carried; i++) {
        say(head, sizeof head, b->params[i]);
        say(head, sizeof head, "c, ");
    }
    say(head, sizeof head, b->counter);
    say(head, sizeof head, "c) {");
    if (b->in[0].type != MTF_BOOL && dice_odds(&m->dice, 50))
        snprintf(more, sizeof more, also[dice_below(&m->dice, 2)], b->params[0]);
    snprintf(text, sizeof text,
             more[0] ? "        yield logical_and(%s, less(%sc, %d))"
                     : "        yield %sless(%sc, %d)",
             more, b->counter, dice_below(&m->dice, 4));
    return append(m, head) && append(m, text) && append(m, "    }");
}

/* The line that owns the block, and the line that opens it. */
static bool append_head(maker *m, open_block *b)
{
    static const char *const owners[] = {" = loop(", " = while(", " = recompute(",
                                         " = custom_gradient("};
    static const char *const trips[] = {", trips=1) {", ", trips=2) {", ", trips=3) {"};
    char owner[LINE_ROOM] = "", text[LINE_ROOM] = "    body(", names[2][NAME_ROOM];
    for (int i = 0; i < b->nresults; i++) fresh_name(m, b->results[i]);
    for (int i = 0; i < b->carried; i++) {
        fresh_name(m, b->params[i]);
        memcpy(names[i], b->in[i].name, NAME_ROOM);
    }
    fresh_name(m, b->counter);
    say_list(owner, sizeof owner, b->nresults, b->results);
    say(owner, sizeof owner, owners[b->kind]);
    say_list(owner, sizeof owner, b->carried, names);
    if (b->kind == BLOCK_LOOP)
        say(owner, sizeof owner, trips[dice_below(&m->dice, 3)]);
    else
        say(owner, sizeof owner, b->kind == BLOCK_WHILE ? ", 0) {" : ") {");
    if (b->kind == BLOCK_CUSTOM) snprintf(text, sizeof text, "    forward(");
    say_list(text, sizeof text, b->carried, b->params);
    if (is_loop(b)) {
        say(text, sizeof text, b->kind == BLOCK_LOOP ? "; " : ", ");
        say(text, sizeof text, b->counter);
    }
    say(text, sizeof text, ") {");
    return append(m, owner) && (b->kind != BLOCK_WHILE || append_condition(m, b)) &&
           append(m, text);
}

/* While the block is open it yields what it was given. */
static void write_closer(const open_block *b, char closer[LINE_ROOM])
{
    snprintf(closer, LINE_ROOM, "yield ");
    if (is_loop(b)) say_list(closer, LINE_ROOM, b->carried, (char(*)[NAME_ROOM])b->params);
    for (int i = 0; !is_loop(b) && i < b->given; i++) {
        say(closer, LINE_ROOM, i ? ", " : "");
        say(closer, LINE_ROOM, b->params[0]);
    }
    if (b->kind == BLOCK_WHILE) {
        say(closer, LINE_ROOM, ", ");
        say(closer, LINE_ROOM, b->counter);
        say(closer, LINE_ROOM, " + 1");
    }
    for (int i = 0; i < b->sums; i++) {
        say(closer, LINE_ROOM, i ? ", " : "; ");
        say(closer, LINE_ROOM, b->params[0]);
    }
    say(closer, LINE_ROOM, "\n}\n");
    if (b->kind == BLOCK_CUSTOM) {
        char both[2 * NAME_ROOM + 8], text[200];
        snprintf(both, sizeof both, b->carried > 1 ? "%sb, %sb" : "%sb", b->params[0],
                 b->params[1]);
        snprintf(text, sizeof text, "backward(%s, q, dq) {\nyield %s\n}\n", both, both);
        say(closer, LINE_ROOM, text);
    }
    say(closer, LINE_ROOM, "}");
}

/* The backward block of a gradient of one's own: one gradient for each input, in its shape. */
static void say_backward(maker *m, const open_block *b, char *text, size_t room)
{
    char line[LINE_ROOM], shape[LINE_ROOM - 120];
    int  k = m->nnames++;
    say(text, room, "    backward(");
    for (int i = 0; i < b->carried; i++) {
        snprintf(line, sizeof line, "%sb, ", b->params[i]);
        say(text, room, line);
    }
    snprintf(line, sizeof line, "q%d, dq%d) {\n", k, k);
    say(text, room, line);
    for (int i = 0; i < b->carried; i++) {
        write_shape_of(&b->in[i], shape, sizeof shape);
        snprintf(line, sizeof line, "        e%d_%d: [%s] = einsum(cast(dq%d, type=%s), %sb)\n", k,
                 i, shape, k, mtf_dtype_name(b->in[i].type), b->params[i]);
        say(text, room, line);
    }
    say(text, room, "        yield ");
    for (int i = 0; i < b->carried; i++) {
        snprintf(line, sizeof line, "%se%d_%d", i ? ", " : "", k, i);
        say(text, room, line);
    }
    say(text, room, "\n    }\n");
}

/* Values of the parameters: like what enters, seen from inside. */
static bool note_params(maker *m, const open_block *b)
{
    ancestry none = {{0}};
    for (int i = 0; i < b->carried; i++) {
        if (m->nvalues == MAX_VALUES) return false;
        made_value *v = &m->values[m->nvalues];
        *v = b->in[i];
        v->variable = false;
        memcpy(v->name, b->params[i], NAME_ROOM);
        ancestry_add(&v->from, m->nvalues++);
    }
    if (!is_loop(b) || m->nvalues == MAX_VALUES) return true;
    made_value *iteration = &m->values[m->nvalues];
    *iteration = (made_value){.type = MTF_I32, .from = none};
    memcpy(iteration->name, b->counter, NAME_ROOM);
    ancestry_add(&iteration->from, m->nvalues++);
    return true;
}

static bool add_inside(maker *m)
{
    int wanted = m->c->nlines + 1 + dice_below(&m->dice, 5);
    for (int tries = 0; tries < 20 && m->c->nlines < wanted && !m->ended; tries++) {
        int what = dice_below(&m->dice, 100);
        if (what < 15 && m->depth < MAX_DEPTH)
            add_block(m);
        else if (what < 22)
            add_gradient(m);
        else
            add_line(m);
    }
    return m->c->nlines < MAX_LINES - 12;
}

/* A number made inside, or around, to be summed or given. */
static const made_value *choose_inner(maker *m, const open_block *b, bool number)
{
    const made_value *found = NULL;
    int               seen = 0;
    for (int i = 0; i < m->nvalues; i++) {
        const made_value *v = &m->values[i];
        int               weight = i >= b->mark ? 6 : 1;
        if (v->retired || (number && v->type == MTF_BOOL)) continue;
        if (b->kind == BLOCK_CUSTOM && !made_is_float(v)) continue;
        if (dice_below(&m->dice, seen += weight) < weight) found = v;
    }
    return found;
}

/* Replaces the closing lines by what the block is to give. */
static void write_yield(maker *m, const open_block *b, char *text, size_t room)
{
    char list[3][NAME_ROOM];
    int  n = 0;
    text[0] = 0;
    if (is_loop(b))
        for (int i = 0; i < b->carried; i++) {
            made_value like = b->in[i];
            if (dice_odds(&m->dice, 10) || !add_alike(m, &like, list[n]))
                memcpy(list[n], b->params[i], NAME_ROOM);
            n++;
        }
    else
        for (int i = 0; i < b->given; i++) {
            const made_value *v = choose_inner(m, b, false);
            memcpy(list[n++], v ? v->name : b->params[0], NAME_ROOM);
            if (v) ancestry_join(&m->used, &v->from);
        }
    say(text, room, "        yield ");
    say_list(text, room, n, list);
    if (b->kind == BLOCK_WHILE) {
        say(text, room, ", ");
        say(text, room, b->counter);
        say(text, room, " + 1");
    }
    for (int i = 0; i < b->sums; i++) {
        const made_value *v = choose_inner(m, b, true);
        say(text, room, i ? ", " : "; ");
        say(text, room, v ? v->name : b->params[0]);
        if (v) ancestry_join(&m->used, &v->from);
    }
    say(text, room, "\n    }\n");
    if (b->kind == BLOCK_CUSTOM) say_backward(m, b, text, room);
    say(text, room, "}\n");
}

/* What was made inside is forgotten, and what depended on it depends on what it depended on. */
static ancestry close_scope(maker *m, const open_block *b)
{
    ancestry from = m->used;
    for (int i = 0; i < b->carried; i++) ancestry_join(&from, &b->in[i].from);
    for (int i = b->mark; i < MAX_VALUES; i++) from.bits[i / 64] &= ~((uint64_t)1 << (i % 64));
    m->nvalues = b->mark;
    m->used = b->used;
    return from;
}

static int count_results(const open_block *b)
{
    if (b->kind == BLOCK_LOOP) return b->carried + b->sums;
    return b->kind == BLOCK_WHILE ? b->carried + 1 + b->sums : b->given;
}

static void add_history(maker *m, const open_block *b, const ancestry *from)
{
    char name[1][NAME_ROOM], text[LINE_ROOM];
    fresh_name(m, name[0]);
    snprintf(text, sizeof text, "%s = history(%s)", name[0], b->results[0]);
    maker_accept(m, text, 1, name, from);
}

bool add_block(maker *m)
{
    static const block_kind kinds[] = {BLOCK_LOOP,  BLOCK_LOOP,      BLOCK_LOOP,  BLOCK_LOOP,
                                       BLOCK_WHILE, BLOCK_RECOMPUTE, BLOCK_CUSTOM};
    open_block b = {.mark = m->nvalues, .used = m->used, .kind = kinds[dice_below(&m->dice, 7)]};
    int        lines = m->c->nlines;
    char       text[4 * LINE_ROOM];
    if (m->depth == MAX_DEPTH || !choose_carried(m, &b)) return false;
    b.sums = is_loop(&b) && b.in[0].type != MTF_BOOL ? dice_below(&m->dice, 3) : 0;
    b.given = b.kind == BLOCK_CUSTOM ? 1 : 1 + dice_below(&m->dice, 2);
    b.nresults = count_results(&b);
    m->used = (ancestry){{0}};
    bool good = append_head(m, &b);
    write_closer(&b, m->closers[m->depth]);
    m->depth++;
    good = good && note_params(m, &b) && add_inside(m);
    if (good) write_yield(m, &b, text, sizeof text);
    m->depth--;
    ancestry from = close_scope(m, &b);
    good = good && !m->ended && maker_accept(m, text, b.nresults, b.results, &from);
    if (!good && !m->ended) m->c->nlines = lines;
    if (good && b.kind == BLOCK_LOOP && dice_odds(&m->dice, 15)) add_history(m, &b, &from);
    return good;
}
