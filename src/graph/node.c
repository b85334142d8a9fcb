/* Nodes: checked, inferred, appended. */
#include "graph/node.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"

/* ---- ops ---- */

int op_attr_count(const op *o)
{
    int n = 0;
    while (o->attrs && o->attrs[n].name) n++;
    return n;
}

int op_attr_find(const op *o, const char *name)
{
    for (int i = 0; o->attrs && o->attrs[i].name; i++)
        if (strcmp(o->attrs[i].name, name) == 0) return i;
    return -1;
}

void op_arity(const op *o, int *least, int *most)
{
    *least = *most = 0;
    for (const char *p = o->args; *p;) {
        size_t n = strcspn(p, ",");
        if (n > 3 && strncmp(p + n - 3, "...", 3) == 0) {
            *least += strstr(o->args, ",") == NULL; /* xs... alone: at least one */
            *most = -1;
            return;
        }
        if (n > 4 && strncmp(p + n - 4, "...]", 4) == 0) {
            *most = -1;
            return;
        }
        *most += 1;
        *least += *p != '[';
        p += n;
        while (*p == ',' || *p == ' ') p++;
    }
}

const attr *node_attr(const node *n, const char *name)
{
    int i = op_attr_find(n->op, name);
    assert(i >= 0);
    return &n->attrs[i];
}

bool node_fail(const node *n, error_kind kind, const char *format, ...)
{
    char    text[700];
    va_list args;
    va_start(args, format);
    number_vformat(text, sizeof text, format, args);
    va_end(args);
    return fail(&n->graph->session->fault, kind, "%s: %s", n->op->name, text);
}

/* ---- making ---- */

/* Marks x as captured by every block between the current one and x's home. */
static bool capture(mtf_graph *g, mtf_tensor *x)
{
    for (block *b = g->current; b != x->node->home; b = b->parent) {
        if (!b)
            return fail(&g->session->fault, ERR_USAGE,
                        "\"%s\" belongs to the inside of a block and cannot be used outside it",
                        tensor_name(x));
        bool known = false;
        for (int i = b->ncaptures - 1; i >= 0 && !known; i--) known = b->captures[i] == x;
        if (known) return true; /* then the enclosing blocks have it, too */
        TRY(arena_push(&g->arena, b->captures, b->ncaptures, b->captures_room));
        b->captures[b->ncaptures++] = x;
    }
    return true;
}

static bool same_graph(node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (n->in[i]->node->graph != n->graph)
            return node_fail(n, ERR_USAGE, "\"%s\" belongs to another graph",
                             tensor_name(n->in[i]));
    return true;
}

/* Explicit inputs first, then what the blocks capture and the arguments do not name. */
static bool gather_inputs(node *n, int nin, mtf_tensor *const *in)
{
    int most = nin, nblocks = 0;
    assert(!n->op->blocks || n->blocks);
    while (n->op->blocks && n->op->blocks[nblocks]) most += n->blocks[nblocks++]->ncaptures;
    n->in = arena_array(&n->graph->arena, mtf_tensor *, most);
    TRY(n->in || !most);
    for (int i = 0; i < nin; i++) n->in[i] = in[i];
    n->nin = n->nargs = nin;
    for (int b = 0; b < nblocks; b++)
        for (int c = 0; c < n->blocks[b]->ncaptures; c++) {
            mtf_tensor *x = n->blocks[b]->captures[c];
            bool        known = false;
            for (int i = 0; i < n->nin && !known; i++) known = n->in[i] == x;
            if (!known) n->in[n->nin++] = x;
        }
    return true;
}

static bool append(block *b, node *n)
{
    TRY(arena_push(&b->graph->arena, b->nodes, b->nnodes, b->nodes_room));
    b->nodes[b->nnodes++] = n;
    return true;
}

/* Few operations take f8 tensors, or give them. */
static bool takes_f8(const node *n)
{
    if (n->op->flags & OP_F8) return true;
    for (int i = 0; i < n->nargs; i++)
        if (dtype_is_f8(n->in[i]->type))
            return node_fail(n, ERR_TYPE,
                             "\"%s\" is %s, which only einsum multiplies: cast it to f32 or bf16",
                             tensor_name(n->in[i]), mtf_dtype_name(n->in[i]->type));
    for (int o = 0; o < n->nout; o++)
        if (dtype_is_f8(n->out[o]->type))
            return node_fail(n, ERR_TYPE, "its result cannot be %s: cast it from another type",
                             mtf_dtype_name(n->out[o]->type));
    return true;
}

node *node_new(mtf_graph *g, const op *o, int nin, mtf_tensor *const *in, const attr *attrs,
               block **blocks)
{
    if (!g || !mtf_ok(g->session)) return NULL;
    for (int i = 0; i < nin; i++)
        if (!in[i]) return NULL;
    node *n = arena_new(&g->arena, node);
    if (!n) return NULL;
    *n = (node){.op = o,
                .graph = g,
                .home = g->current,
                .blocks = blocks,
                .line = g->line,
                .subject = g->subject};
    int nattrs = op_attr_count(o);
    n->attrs = arena_copy(&g->arena, attrs, sizeof(attr) * (size_t)nattrs);
    if (!n->attrs || !gather_inputs(n, nin, in) || !same_graph(n)) return NULL;
    for (int i = 0; i < nattrs; i++)
        if (!attr_keep(o->attrs[i].kind, &n->attrs[i], &g->arena)) return NULL;
    for (int i = 0; i < n->nin; i++)
        if (!capture(g, n->in[i])) return NULL;
    if (!takes_f8(n) || !o->infer(n) || !takes_f8(n) || !mtf_ok(g->session)) return NULL;
    n->id = g->nnodes++;
    return append(g->current, n) ? n : NULL;
}

mtf_tensor *node_one(const op *o, int nin, mtf_tensor *const *in, const attr *attrs)
{
    if (nin < 1) return NULL;
    node *n = node_new(graph_of(in[0]), o, nin, in, attrs, NULL);
    return n ? n->out[0] : NULL;
}

mtf_tensor *node_unary(const op *o, mtf_tensor *x, const attr *attrs)
{
    return node_one(o, 1, &x, attrs);
}

mtf_tensor *node_binary(const op *o, mtf_tensor *x, mtf_tensor *y, const attr *attrs)
{
    return node_one(o, 2, (mtf_tensor *[]){x, y}, attrs);
}

bool node_output(node *n, mtf_dtype type, const mtf_shape *shape)
{
    mtf_graph  *g = n->graph;
    mtf_tensor *x = arena_new(&g->arena, mtf_tensor);
    TRY(x && arena_push(&g->arena, n->out, n->nout, n->out_room));
    *x = (mtf_tensor){
        .node = n, .index = n->nout, .id = g->ntensors, .type = type, .scope = g->scope};
    x->shape = *shape; /* a union may have too many elements */
    if (shape->ndims >= 0) x->shape = shape_of(shape->ndims, shape->dims);
    TRY(graph_intern_shape(g, &x->shape, n->op->name));
    TRY(arena_push(&g->arena, g->all, g->ntensors, g->tensors_room));
    g->all[g->ntensors++] = x;
    n->out[n->nout++] = x;
    return true;
}

/* ---- checks that many ops share ---- */

bool node_needs_float(const node *n)
{
    for (int i = 0; i < n->nargs; i++)
        if (n->in[i]->type != MTF_F32 && n->in[i]->type != MTF_BF16 && n->in[i]->type != MTF_F16 &&
            n->in[i]->type != MTF_F64)
            return node_fail(n, ERR_TYPE,
                             "\"%s\" is %s; this operation takes floating types: cast it",
                             tensor_name(n->in[i]), mtf_dtype_name(n->in[i]->type));
    return true;
}

bool node_needs_same_type(const node *n)
{
    for (int i = 1; i < n->nargs; i++)
        if (n->in[i]->type != n->in[0]->type)
            return node_fail(n, ERR_TYPE, "\"%s\" is %s but \"%s\" is %s: cast one of them",
                             tensor_name(n->in[0]), mtf_dtype_name(n->in[0]->type),
                             tensor_name(n->in[i]), mtf_dtype_name(n->in[i]->type));
    return true;
}

bool node_sizes_agree(const node *n)
{
    for (int i = 1; i < n->nargs; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++)
            for (int j = 0; j < i; j++) {
                mtf_dim mine = n->in[i]->shape.dims[d];
                int     at = shape_find(&n->in[j]->shape, mine.name);
                if (at < 0) continue;
                mtf_dim other = n->in[j]->shape.dims[at];
                if (other.size != mine.size)
                    return node_fail(n, ERR_SHAPE,
                                     "dimension \"%s\" is %lld in \"%s\" but %lld in \"%s\"",
                                     mine.name, (long long)other.size, tensor_name(n->in[j]),
                                     (long long)mine.size, tensor_name(n->in[i]));
            }
    return true;
}

bool node_names_may_be(const node *n, const mtf_shape *shape)
{
    for (int i = 0; i < shape->ndims; i++)
        if (name_is_internal(shape->dims[i].name))
            return node_fail(n, ERR_NAME,
                             "\"%s\" begins with a dot, as only dimensions of the library's own "
                             "do; choose another name",
                             shape->dims[i].name);
    return true;
}
