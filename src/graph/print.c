/* Writes a graph as .mtf text, one node a line.
 *
 * docs/text.md describes the language; ops/parse reads it.  Everything that
 * the reader could infer is written all the same, so that a printed graph can
 * be read by people without computing shapes in their heads.
 */
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "graph/node.h"
#include "graph/spell.h"

typedef struct printer {
    arena   scratch;
    textbuf text;
    bool   *used; /* by tensor id: does a node or a block's result refer to it? */
} printer;

static int block_count(const node *n)
{
    int count = 0;
    while (n->op->blocks && n->op->blocks[count]) count++;
    return count;
}

static void mark_used(printer *p, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        const node *n = b->nodes[i];
        for (int j = 0; j < n->nin; j++) p->used[n->in[j]->id] = true;
        for (int j = 0; j < block_count(n); j++) mark_used(p, n->blocks[j]);
    }
    for (int i = 0; i < b->nresults; i++) p->used[b->results[i]->id] = true;
}

/* ---- names ---- */

/* Hidden outputs are a loop's histories, written where they are used. */
static bool is_written(const printer *p, const mtf_tensor *x)
{
    return !x->hidden || p->used[x->id] || x->name;
}

static void name_block(const printer *p, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        const node *n = b->nodes[i];
        if (n->op == &op_param) continue;
        for (int j = 0; j < n->nout; j++)
            if (!n->out[j]->hidden) tensor_name(n->out[j]);
        for (int j = 0; j < block_count(n); j++) {
            const block *inner = n->blocks[j];
            for (int k = 0; k < inner->nparams; k++) tensor_name(inner->params[k]);
            if (inner->iteration && p->used[inner->iteration->id]) tensor_name(inner->iteration);
            name_block(p, inner);
        }
        for (int j = 0; j < n->nout; j++)
            if (is_written(p, n->out[j])) tensor_name(n->out[j]);
    }
}

static bool find_used(printer *p, const mtf_graph *g)
{
    p->used = arena_array(&p->scratch, bool, g->ntensors + 1);
    if (p->used) mark_used(p, &g->root);
    return p->used != NULL;
}

void graph_name_all(mtf_graph *g)
{
    mtf_session *s = g->session;
    printer      p = {.scratch = arena_make(&s->allocator, &s->fault)};
    if (find_used(&p, g)) name_block(&p, &g->root);
    arena_free(&p.scratch);
}

/* ---- attributes ---- */

/* Equal but for spaces? */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

static bool is_default(printer *p, const attr_spec *spec, const attr *a)
{
    if (!spec->otherwise) return false;
    static const attr zero; /* an empty default stands for no value */
    if (!*spec->otherwise) return attr_equal(spec->kind, a, &zero);
    switch (spec->kind) {
    case ATTR_INT: return a->i == strtoll(spec->otherwise, NULL, 10);
    case ATTR_REAL:
        return attr_equal(ATTR_REAL, a, &(attr){.r = number_read(spec->otherwise, NULL)});
    case ATTR_NUMBER:
        return attr_equal(spec->kind, a,
                          &(attr){.number = {.r = number_read(spec->otherwise, NULL)}});
    case ATTR_WORD:
    case ATTR_TEXT:
        if (a->text && strcmp(a->text, spec->otherwise) == 0) return true;
        break;
    default: break;
    }
    arena_mark mark = arena_here(&p->scratch);
    textbuf    t = {.arena = &p->scratch};
    attr_write(spec->kind, a, &t);
    const char *text = text_done(&t);
    bool        same = text && same_letters(text, spec->otherwise);
    arena_back(&p->scratch, mark);
    return same;
}

/* Attributes that the annotation or the yield line shows are not written again. */
static bool is_silent(printer *p, const attr_spec *spec, const attr *a)
{
    switch (spec->kind) {
    case ATTR_SHAPE: return true;
    case ATTR_DATA: return a->data.bytes == 0;
    case ATTR_TYPE:
        if (strcmp(spec->name, "type") == 0) return true;
        break;
    case ATTR_INT:
        if (strcmp(spec->name, "sums") == 0) return true;
        break;
    default: break;
    }
    return is_default(p, spec, a);
}

static void write_data(textbuf *t, const attr_data *data, mtf_dtype type)
{
    int64_t n = (int64_t)(data->bytes / mtf_dtype_bytes(type));
    text_add(t, "{");
    for (int64_t i = 0; i < n; i++) {
        if (i) text_add(t, ", ");
        if (type == MTF_I64) /* a double would round it */
            text_add(t, "%lld", (long long)((const int64_t *)data->v)[i]);
        else if (dtype_is_float(type))
            spell_real(t, dtype_load(type, data->v, i), type);
        else
            text_add(t, "%lld", (long long)dtype_load(type, data->v, i));
    }
    text_add(t, "}");
}

/* ---- nodes ---- */

static void write_indent(printer *p, int level)
{
    text_add(&p->text, "%*s", 4 * level, "");
}

static void write_names(printer *p, int n, mtf_tensor *const *xs)
{
    for (int i = 0; i < n; i++) {
        if (i) text_add(&p->text, ", ");
        spell_name(&p->text, tensor_name(xs[i]));
    }
}

static void write_result(printer *p, const mtf_tensor *x)
{
    spell_name(&p->text, tensor_name(x));
    text_add(&p->text, ": ");
    spell_type_and_shape(&p->text, x->type, &x->shape);
}

static void write_left(printer *p, const node *n)
{
    int visible = 0;
    for (int i = 0; i < n->nout; i++) {
        if (n->out[i]->hidden) continue;
        if (visible++) text_add(&p->text, ", ");
        write_result(p, n->out[i]);
    }
    text_add(&p->text, "%s = ", visible ? "" : "_");
}

/* Does a reshape only rename dimensions?  Text has an operation for that. */
static bool only_renames(const node *n)
{
    if (strcmp(n->op->name, "reshape") != 0) return false;
    const mtf_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    bool             some = false;
    for (int d = 0; d < y->ndims && x->ndims == y->ndims; d++) {
        if (x->dims[d].size != y->dims[d].size) return false;
        some = some || strcmp(x->dims[d].name, y->dims[d].name) != 0;
    }
    return x->ndims == y->ndims && some;
}

static void write_rename(printer *p, const node *n)
{
    const mtf_shape *x = &n->in[0]->shape, *y = &n->out[0]->shape;
    const char      *from[MTF_SHAPE_ROOM], *to[MTF_SHAPE_ROOM];
    int              count = 0;
    for (int d = 0; d < x->ndims; d++)
        if (strcmp(x->dims[d].name, y->dims[d].name) != 0) {
            from[count] = x->dims[d].name;
            to[count++] = y->dims[d].name;
        }
    text_add(&p->text, "rename(");
    write_names(p, 1, n->in);
    text_add(&p->text, ", from=");
    attr_write(ATTR_NAMES, &(attr){.names = {count, from}}, &p->text);
    text_add(&p->text, ", to=");
    attr_write(ATTR_NAMES, &(attr){.names = {count, to}}, &p->text);
    text_add(&p->text, ")");
}

/* Inputs after nargs are captures: the blocks' own lines name them. */
static void write_call(printer *p, const node *n)
{
    textbuf *t = &p->text;
    bool     open = n->nargs > 0;
    text_add(t, "%s%s", n->op->name, open ? "(" : "");
    write_names(p, n->nargs, n->in);
    for (int i = 0; i < op_attr_count(n->op); i++) {
        const attr_spec *spec = &n->op->attrs[i];
        if (is_silent(p, spec, &n->attrs[i])) continue;
        text_add(t, "%s%s=", open ? ", " : "(", spec->name);
        open = true;
        if (spec->kind == ATTR_DATA)
            write_data(t, &n->attrs[i].data, n->out[0]->type);
        else
            attr_write(spec->kind, &n->attrs[i], t);
    }
    if (open) text_add(t, ")");
}

static void write_histories(printer *p, const node *n, int level)
{
    int first = 0; /* hidden outputs follow the visible ones, one for each carried value */
    while (first < n->nout && !n->out[first]->hidden) first++;
    for (int i = first; i < n->nout; i++) {
        if (!is_written(p, n->out[i])) continue;
        write_indent(p, level);
        write_result(p, n->out[i]);
        text_add(&p->text, " = history(");
        spell_name(&p->text, tensor_name(n->out[i - first]));
        text_add(&p->text, ")\n");
    }
}

/* A line for each further name: the same tensor when it is read back. */
static void write_second_names(printer *p, const mtf_tensor *x)
{
    for (const second_name *at = x->second; at;) {
        at = at->next;
        spell_name(&p->text, at->name);
        text_add(&p->text, ": ");
        spell_type_and_shape(&p->text, x->type, &x->shape);
        text_add(&p->text, " = identity(");
        spell_name(&p->text, tensor_name(x));
        text_add(&p->text, ")\n");
        if (at == x->second) break;
    }
}

static void write_node(printer *p, const node *n, int level);

/* How many of a block's results precede the semicolon of its yield line. */
static int plain_results(const node *owner, const block *b)
{
    int sums = op_attr_find(owner->op, "sums");
    if (sums < 0 || strcmp(b->name, "body") != 0) return b->nresults;
    return b->nresults - (int)owner->attrs[sums].i;
}

static void write_block(printer *p, const node *owner, const block *b, int level)
{
    textbuf *t = &p->text;
    write_indent(p, level);
    text_add(t, "%s(", b->name);
    write_names(p, b->nparams, b->params);
    if (b->iteration && p->used[b->iteration->id]) {
        text_add(t, "; ");
        write_names(p, 1, &b->iteration);
    }
    text_add(t, ") {\n");
    for (int i = 0; i < b->nnodes; i++) write_node(p, b->nodes[i], level + 1);
    int plain = plain_results(owner, b);
    write_indent(p, level + 1);
    text_add(t, "yield%s", plain ? " " : "");
    write_names(p, plain, b->results);
    if (plain < b->nresults) {
        text_add(t, "; ");
        write_names(p, b->nresults - plain, b->results + plain);
    }
    text_add(t, "\n");
    write_indent(p, level);
    text_add(t, "}\n");
}

static void write_node(printer *p, const node *n, int level)
{
    if (n->op == &op_param) return;
    write_indent(p, level);
    write_left(p, n);
    if (only_renames(n))
        write_rename(p, n);
    else
        write_call(p, n);
    int nblocks = block_count(n);
    if (nblocks) {
        text_add(&p->text, " {\n");
        for (int i = 0; i < nblocks; i++) write_block(p, n, n->blocks[i], level + 1);
        write_indent(p, level);
        text_add(&p->text, "}");
    }
    text_add(&p->text, "\n");
    write_histories(p, n, level);
    for (int i = 0; i < n->nout; i++) write_second_names(p, n->out[i]);
}

char *mtf_print(mtf_graph *g)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    mtf_session *s = g->session;
    arena        output = arena_make(&s->allocator, &s->fault);
    printer      p = {.scratch = arena_make(&s->allocator, &s->fault)};
    p.text.arena = &output; /* not in scratch: returning to a mark would free part of the text */
    if (find_used(&p, g)) {
        name_block(&p, &g->root);
        for (int i = 0; i < g->root.nnodes; i++) write_node(&p, g->root.nodes[i], 0);
    }
    char *text = p.used ? text_done(&p.text) : NULL;
    if (text) text = arena_text(&s->arena, text);
    arena_free(&output);
    arena_free(&p.scratch);
    return mtf_ok(s) ? text : NULL;
}
