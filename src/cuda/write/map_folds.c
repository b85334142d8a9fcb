/* Maps that fold along rows: what folds are in the text of kernels. */
#include <stdio.h>

#include "cuda/write/map_rows.h"
#include "program/scalar.h"

static const char *element_name(const row_text *r)
{
    return r->m.vector > 1 ? "e" : "0";
}

/* What a thread has of a fold. */
static const char *part_name(const row_text *r)
{
    return r->at_once > 1 ? "s%d[q]" : "s%d";
}

static bool is_in(const row_text *r, int step, int pass)
{
    return map_passes_fold(r->m.i, &r->passes, step) == pass;
}

/* ---- sums that are made with a maximum ---- */

/* m, or what is between it and the maximum, if the maximum were `top`. */
static void add_limit(row_text *r, int reg, int fold, const char *top)
{
    map_text *m = &r->m;
    if (reg == fold) {
        text_add(&m->t, "%s", top);
        return;
    }
    const scalar_step *s = &m->i->map.steps[reg - m->i->nin];
    bool               first = r->passes.depth[s->a] > 0;
    text_add(&m->t, "fn_%s(", scalar_infos[s->fn].name);
    add_limit(r, first ? s->a : s->b, fold, top);
    text_add(&m->t, ", %s)", m->name[first ? s->b : s->a]);
}

/* What is subtracted so far: a number, so that -infinity gives 0. */
static void add_subtracted(row_text *r, int sum, const char *type)
{
    map_text *m = &r->m;
    char      top[60];
    snprintf(top, sizeof top, "LARGER(s%d, -3.40282347e+38f)", r->passes.top[sum]);
    text_add(&m->t, "%*s%sless%d = ", 4 * m->indent, "", type, sum);
    add_limit(r, map_passes_limit(m->i, sum), r->passes.top[sum], top);
    text_add(&m->t, ";\n");
}

/* Its maximum is in the fold already. */
void map_folds_piece(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        int reg = m->i->nin + s;
        if (!is_in(r, s, pass) || !r->passes.top[reg]) continue;
        map_line(m, "f32 was%d = less%d;", reg, reg);
        add_subtracted(r, reg, "");
        map_line(m, "s%d *= exp_fast(was%d - less%d);", reg, reg, reg);
        text_add(&m->t, "%*s", 4 * m->indent, "");
        if (m->vector > 1) text_add(&m->t, "UNROLL for (int e = 0; e < %d; e++) ", m->vector);
        if (m->slanted)
            text_add(&m->t, "if (l0 + e >= 0 && l0 + e < %lld) ", (long long)m->nest.elements);
        text_add(&m->t, "s%d += exp_fast(x%d[%s] - less%d);\n", reg, reg, element_name(r), reg);
    }
}

void map_folds_declare(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++)
        if (is_in(r, s, pass) && r->passes.top[m->i->nin + s])
            map_line(m, "f32 x%d[%d];", m->i->nin + s, m->vector);
}

/* ---- all folds ---- */

/* What a fold begins with. */
static void write_first(const row_text *r, int step, char to[40])
{
    scalar_fn fn = r->m.i->map.steps[step].fn;
    snprintf(to, 40, fn == FN_ROW_SUM ? "0" : "%s<%s>()", fn == FN_ROW_MAX ? "lowest" : "highest",
             kernel_type(r->m.type[r->m.i->nin + step]));
}

void map_folds_begin(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        if (!is_in(r, s, pass)) continue;
        int         reg = m->i->nin + s;
        const char *type = kernel_type(m->type[reg]);
        char        first[40];
        write_first(r, s, first);
        if (r->at_once > 1)
            map_line(m, "%s s%d[%d] = {%s, %s};", type, reg, r->at_once, first, first);
        else
            map_line(m, "%s s%d = %s;", type, reg, first);
        if (r->passes.top[reg]) add_subtracted(r, reg, "f32 ");
    }
}

static bool is_read_once(const instr *i, int reg)
{
    int n = 0;
    for (int o = 0; o < i->nout; o++) n += i->map.results[o] == reg;
    for (int s = 0; s < i->map.nsteps; s++) {
        int of[3], operands = map_operands(&i->map.steps[s], of);
        for (int k = 0; k < operands; k++) n += of[k] == reg;
    }
    return n == 1;
}

/* A product that is only added up: it need not be rounded before. */
static const scalar_step *product_of(const row_text *r, const scalar_step *sum)
{
    const instr       *i = r->m.i;
    const scalar_step *s = map_register_step(i, sum->a);
    bool               is_product = s && (s->fn == FN_multiply || s->fn == FN_square);
    if (!is_product || sum->fn != FN_ROW_SUM || r->m.type[sum->a] != MTF_F32) return NULL;
    return is_read_once(i, sum->a) ? s : NULL;
}

void map_folds_add(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        const scalar_step *step = &m->i->map.steps[s];
        if (!is_in(r, s, pass)) continue;
        int                reg = m->i->nin + s;
        const char        *join = step->fn == FN_ROW_SUM   ? "ADD"
                                  : step->fn == FN_ROW_MAX ? "LARGER"
                                                           : "SMALLER";
        char               part[NAME_ROOM];
        const scalar_step *product = product_of(r, step);
        snprintf(part, sizeof part, part_name(r), reg);
        if (r->passes.top[reg])
            map_line(m, "x%d[%s] = %s;", reg, element_name(r),
                     m->name[map_passes_scaled(m->i, reg)]);
        else if (product)
            map_line(m, "%s = fused(%s, %s, %s);", part, m->name[product->a],
                     m->name[product->fn == FN_square ? product->a : product->b], part);
        else
            map_line(m, "%s = %s(%s, %s);", part, join, part, m->name[step->a]);
    }
}

static const char *fold_word(scalar_fn fn)
{
    return fn == FN_ROW_SUM ? "sum" : fn == FN_ROW_MAX ? "max" : "min";
}

/* Each fold has memory of its own.  One that is made row after row, without another one in between,
 * must wait before it uses that again. */
static int place_of(const row_text *r, int step)
{
    int folds = 0;
    for (int s = 0; s < r->m.i->map.nsteps; s++) folds += map_folds(r->m.i->map.steps[s].fn);
    return r->columns.sums && folds == 1 ? -1 : step;
}

void map_folds_end(row_text *r, int pass)
{
    map_text *m = &r->m;
    for (int s = 0; s < m->i->map.nsteps; s++) {
        if (!is_in(r, s, pass)) continue;
        int reg = m->i->nin + s, top = r->passes.top[reg];
        if (top) {
            char all[20];
            snprintf(all, sizeof all, "r%d", top);
            text_add(&m->t, "%*ss%d *= exp_fast(less%d - ", 4 * m->indent, "", reg, reg);
            add_limit(r, map_passes_limit(m->i, reg), top, all);
            text_add(&m->t, ");\n");
        }
        if (map_rows_idle(r)) {
            char first[40];
            write_first(r, s, first);
            if (r->at_once > 1)
                map_line(m, "if (lane >= %lld) s%d[0] = s%d[1] = %s;", (long long)r->pieces, reg,
                         reg, first);
            else
                map_line(m, "if (lane >= %lld) s%d = %s;", (long long)r->pieces, reg, first);
        }
        if (r->at_once > 1) {
            map_line(m, "rows_%s<%d, %d>(s%d);", fold_word(m->i->map.steps[s].fn), r->threads,
                     place_of(r, s), reg);
            continue;
        }
        text_add(&m->t, "%*s%s r%d = group_%s<%d", 4 * m->indent, "", kernel_type(m->type[reg]),
                 reg, fold_word(m->i->map.steps[s].fn), r->threads);
        if (r->threads > WARP_SIZE) text_add(&m->t, ", %d", place_of(r, s));
        text_add(&m->t, ">(s%d);\n", reg);
    }
}
