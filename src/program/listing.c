/* Programs as text: one line per instruction, with its price. */
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "program/epilogue.h"
#include "program/map_form.h"
#include "program/program.h"
#include "program/scalar.h"

static const char *const fold_names[] = {
    [FOLD_SUM] = "sum",   [FOLD_MAX] = "max",       [FOLD_MIN] = "min",
    [FOLD_PROD] = "prod", [FOLD_ARGMAX] = "argmax", [FOLD_ARGMIN] = "argmin"};

/* 1234567 as 1.23M: four characters are enough for a column. */
static const char *short_number(int64_t n, char text[16])
{
    static const char units[] = " KMGTPE";
    double            v = (double)n;
    int               u = 0;
    while (v >= 999.5 && units[u + 1]) v /= 1000, u++;
    if (u == 0)
        snprintf(text, 16, "%lld", (long long)n);
    else
        number_format(text, 16, "%s%.3g%c", n == INT64_MAX ? ">" : "", v, units[u]);
    return text;
}

static void write_operand(const program *p, const access *a, textbuf *t)
{
    const buffer *b = &p->buffers[a->buffer];
    if (b->kind == BUFFER_VARIABLE)
        text_add(t, "@%s", mtf_name_of_tensor(b->cause));
    else
        text_add(t, "%%%d", a->buffer);
    if (a->offset) text_add(t, "+%lld", (long long)a->offset);
}

static void write_steps(const instr *i, textbuf *t)
{
    text_add(t, " {");
    for (int s = 0; s < i->map.nsteps; s++) {
        const scalar_step *step = &i->map.steps[s];
        text_add(t, "%s r%d = ", s ? ";" : "", i->nin + s);
        switch (step->fn) {
        case FN_IMMEDIATE:
            if (dtype_is_float(step->type))
                text_add(t, "%.9g", step->value.real);
            else
                text_add(t, "%lld", (long long)step->value.whole);
            break;
        case FN_INDEX: text_add(t, "index %d", step->a); break;
        case FN_CAST: text_add(t, "%s r%d", mtf_dtype_name(step->type), step->a); break;
        case FN_SELECT: text_add(t, "select r%d r%d r%d", step->a, step->b, step->c); break;
        default:
            text_add(t, "%s r%d", scalar_infos[step->fn].name, step->a);
            if (scalar_infos[step->fn].arity > 1) text_add(t, " r%d", step->b);
        }
    }
    text_add(t, " }");
}

static void write_details(const instr *i, textbuf *t)
{
    switch (i->kind) {
    case INSTR_MAP: write_steps(i, t); break;
    case INSTR_FOLD:
        text_add(t, " %s over %d", fold_names[i->fold.kind], i->nloops - i->fold.nkept);
        break;
    case INSTR_CONTRACT: epilogue_write(i, t); break;
    case INSTR_GROUPED:
        text_add(t, " %s %lld groups", i->grouped.sums ? "sums of" : "by",
                 (long long)i->grouped.groups);
        break;
    case INSTR_SCAN:
        text_add(t, " along %lld%s%s", (long long)i->scan.along,
                 i->scan.exclusive ? " exclusive" : "", i->scan.reverse ? " reverse" : "");
        break;
    case INSTR_ORDER:
        text_add(t, " %lld of %lld%s", (long long)i->order.k, (long long)i->order.along,
                 i->order.descending ? " descending" : "");
        break;
    case INSTR_NUCLEUS: text_add(t, " of %lld", (long long)i->nucleus.along); break;
    case INSTR_WINDOW:
        text_add(t, " %s",
                 i->window.kind == WINDOW_FORWARD ? "forward"
                 : i->window.kind == WINDOW_INPUT ? "input"
                                                  : "filter");
        break;
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD:
        text_add(t, " to %lld of %lld, %lld%s", (long long)i->attention->memory,
                 (long long)i->attention->key, (long long)i->attention->value,
                 i->attention->parts ? " in parts" : "");
        break;
    case INSTR_LOOP:
        if (i->loop.trips >= 0)
            text_add(t, " %lld iterations", (long long)i->loop.trips);
        else
            text_add(t, " while");
        break;
    default: break;
    }
}

static void write_instr(const program *p, int k, int depth, instr_way *way, textbuf *t)
{
    const instr *i = &p->instrs[k];
    char         flops[16], bytes[16];
    text_add(t, "%5d  %8s %8s  %*s%s", k, short_number(i->flops, flops),
             short_number(instr_bytes(i), bytes), 2 * depth, "", instr_name(i->kind));
    if (i->nloops) {
        text_add(t, " [");
        for (int d = 0; d < i->nloops; d++)
            text_add(t, "%s%lld", d ? " " : "", (long long)i->size[d]);
        text_add(t, "]");
    }
    if (way && way(i)) text_add(t, " %s", way(i));
    write_details(i, t);
    for (int o = 0; o < i->nout; o++) {
        text_add(t, o ? ", " : " ");
        if (i->kind == INSTR_MAP && map_sums(i, o)) text_add(t, "sum ");
        write_operand(p, &i->out[o], t);
        text_add(t, ":%s", mtf_dtype_name(i->out[o].type));
    }
    if (i->nout && i->nin) text_add(t, " <-");
    for (int o = 0; o < i->nin; o++) {
        text_add(t, o ? ", " : " ");
        write_operand(p, &i->in[o], t);
    }
    text_add(t, "   # %s\n", mtf_name_of_tensor(i->cause));
}

void program_write(const program *p, instr_way *way, textbuf *t)
{
    char a[16], b[16], c[16], d[16], e[16];
    text_add(t, "# %lld instructions, %s flops, %s bytes moved\n", (long long)p->cost.instructions,
             short_number(p->cost.flops, a), short_number(p->cost.bytes, b));
    text_add(t,
             "# memory: %lld bytes (variables %s, inputs %s, constants %s, peak of the slab %s)\n",
             (long long)p->cost.peak_bytes, short_number(p->cost.variable_bytes, a),
             short_number(p->cost.input_bytes, b), short_number(p->cost.constant_bytes, c),
             short_number(p->slab_bytes, d));
    text_add(t, "# most bytes alive at once in the slab: %lld (%s)\n", (long long)p->live_bytes,
             short_number(p->live_bytes, e));
    text_add(t, "#        flops    bytes  instruction\n");
    int depth = 0;
    for (int k = 0; k < p->ninstrs; k++) {
        if (p->instrs[k].kind == INSTR_AGAIN) depth--;
        write_instr(p, k, depth, way, t);
        if (p->instrs[k].kind == INSTR_LOOP) depth++;
    }
}
