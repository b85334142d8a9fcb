/* A plan as JSON, for the page's script. */
#include "page/plan_data.h"

#include "base/names.h"
#include "page/escape.h"

typedef struct writer {
    const plan_view *view;
    textbuf         *t;
    int             *number; /* by tensor id: 1 + its index in the list; 0: not in it */
    textbuf          tensors, forms;
    int              ntensors, nforms;
    name_table       known_forms; /* text of the form, to its number + 1 */
} writer;

/* ---- tensors ---- */

/* [["batch",64,[0]],...]: dimensions, and the axes that cut each. */
static const char *form_text(const writer *w, const mtf_tensor *x)
{
    textbuf   t = {.arena = w->view->arena};
    placement where;
    view_placement(w->view, x, &where);
    text_add(&t, "[");
    for (int d = 0; d < x->shape.ndims; d++) {
        text_add(&t, d ? ",[" : "[");
        json_string(&t, x->shape.dims[d].name);
        text_add(&t, ",%lld,[", (long long)x->shape.dims[d].size);
        for (int a = 0; a < where.dim[d].n; a++)
            text_add(&t, a ? ",%d" : "%d", where.dim[d].axis[a]);
        text_add(&t, "]]");
    }
    text_add(&t, "]");
    return text_done(&t);
}

static int form_of(writer *w, const mtf_tensor *x)
{
    const char *text = form_text(w, x);
    if (!text) return 0;
    int *known = names_get(&w->known_forms, text);
    if (known) return *known;
    int *number = arena_new(w->view->arena, int);
    if (!number || !names_put(&w->known_forms, text, number)) return 0;
    text_add(&w->forms, "%s%s", w->nforms ? "," : "", text);
    return *number = w->nforms++;
}

static int tensor_number(writer *w, const mtf_tensor *x)
{
    if (!x) return -1;
    if (!w->number[x->id]) {
        int form = form_of(w, x);
        text_add(&w->tensors, w->ntensors ? ",[" : "[");
        json_string(&w->tensors, mtf_name_of_tensor(x));
        text_add(&w->tensors, ",%d,\"%s\"]", form, mtf_dtype_name(x->type));
        w->number[x->id] = ++w->ntensors;
    }
    return w->number[x->id] - 1;
}

/* ---- columns ---- */

typedef double column(const writer *w, int k);

static void write_column(const writer *w, const char *name, bool whole, column *of)
{
    text_add(w->t, ",\"%s\":[", name);
    for (int k = 0; k < w->view->e->program->ninstrs; k++) {
        if (k) text_add(w->t, ",");
        text_add(w->t, whole ? "%.0f" : "%.6g", of(w, k));
    }
    text_add(w->t, "]");
}

static const price_line *line_of(const writer *w, int k)
{
    return &w->view->e->price.lines[k];
}

static double kind_at(const writer *w, int k)
{
    return w->view->e->program->instrs[k].kind;
}
static double seconds_at(const writer *w, int k)
{
    return line_of(w, k)->seconds;
}
static double flops_at(const writer *w, int k)
{
    return (double)line_of(w, k)->flops;
}
static double bytes_at(const writer *w, int k)
{
    return (double)line_of(w, k)->bytes;
}
static double executions_at(const writer *w, int k)
{
    return (double)line_of(w, k)->executions;
}
static double duplicate_at(const writer *w, int k)
{
    return line_of(w, k)->duplicate;
}

static double phase_at(const writer *w, int k)
{
    const mtf_tensor *x = line_of(w, k)->tensor;
    return x ? w->view->phases.phase[x->id] : 0;
}

static double layer_at(const writer *w, int k)
{
    const mtf_tensor *x = line_of(w, k)->tensor;
    return x ? w->view->phases.layer[x->id] : 0;
}

static void write_instrs(writer *w)
{
    text_add(w->t, ",\"tensor\":[");
    for (int k = 0; k < w->view->e->program->ninstrs; k++)
        text_add(w->t, k ? ",%d" : "%d", tensor_number(w, line_of(w, k)->tensor));
    text_add(w->t, "]");
    write_column(w, "kind", true, kind_at);
    write_column(w, "phase", true, phase_at);
    write_column(w, "layer", true, layer_at);
    write_column(w, "seconds", false, seconds_at);
    write_column(w, "flops", false, flops_at);
    write_column(w, "bytes", false, bytes_at);
    write_column(w, "executions", false, executions_at);
    write_column(w, "duplicate", true, duplicate_at);
}

/* {"17":["all_reduce",axes,group,sent,received,"rule"],...} */
static void write_wires(writer *w)
{
    bool first = true;
    text_add(w->t, ",\"wires\":{");
    for (int k = 0; k < w->view->e->program->ninstrs; k++) {
        const price_line *line = line_of(w, k);
        if (!line->collective) continue;
        text_add(w->t, "%s\"%d\":[\"%s\",%u,%d,%lld,%lld,", first ? "" : ",", k, line->collective,
                 line->axes, line->group, (long long)line->sent_bytes,
                 (long long)line->received_bytes);
        json_string(w->t, line->cause);
        text_add(w->t, "]");
        first = false;
    }
    text_add(w->t, "}");
}

/* [tensor or name, kind, bytes, first, last] */
static void write_memory(writer *w)
{
    text_add(w->t, ",\"memory\":[");
    for (int k = 0; k < w->view->nlifetimes; k++) {
        const lifetime *x = &w->view->lifetimes[k];
        text_add(w->t, k ? ",[" : "[");
        if (x->tensor)
            text_add(w->t, "%d", tensor_number(w, x->tensor));
        else
            json_string(w->t, x->what);
        text_add(w->t, ",%d,%lld,%d,%d]", (int)x->kind, (long long)x->bytes, x->first, x->last);
    }
    text_add(w->t, "]");
}

static void write_names(textbuf *t, const char *key, const char *const *names, int n)
{
    text_add(t, ",\"%s\":[", key);
    for (int k = 0; k < n; k++) {
        if (k) text_add(t, ",");
        json_string(t, names[k]);
    }
    text_add(t, "]");
}

void plan_write_data(const plan_view *v, textbuf *t)
{
    const estimate *e = v->e;
    const mesh     *m = e->opts.mesh;
    writer          w = {.view = v,
                         .t = t,
                         .tensors = {.arena = v->arena},
                         .forms = {.arena = v->arena},
                         .known_forms = {.arena = v->arena}};
    w.number = arena_array(v->arena, int, v->graph->ntensors + 1);
    if (!w.number) return;
    text_add(t, "{\"processor\":%d,\"processors\":%d,\"peak\":%d,\"reserved\":%lld,\"end\":%.9g",
             e->processor, e->processors, v->peak, (long long)v->reserved, v->end);
    write_names(t, "axes", m->name, m->naxes);
    text_add(t, ",\"sizes\":[");
    for (int a = 0; a < m->naxes; a++) text_add(t, a ? ",%d" : "%d", m->size[a]);
    text_add(t, "]");
    const char *kinds[INSTR_KINDS];
    for (int k = 0; k < INSTR_KINDS; k++) kinds[k] = instr_name((instr_kind)k);
    write_names(t, "kinds", kinds, INSTR_KINDS);
    write_names(t, "layers", v->phases.names, v->phases.n);
    write_instrs(&w);
    write_wires(&w);
    write_memory(&w);
    const char *tensors = text_done(&w.tensors), *forms = text_done(&w.forms);
    if (tensors && forms) text_add(t, ",\"tensors\":[%s],\"forms\":[%s]}", tensors, forms);
}
