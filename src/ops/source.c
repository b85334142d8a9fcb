/* Where values come from: inputs, constants, ranges, training. */
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/lowering.h"

enum { SHAPE, TYPE, VALUE, DATA };

static bool wanted(const node *n, mtf_shape *shape)
{
    if (!n->attrs[SHAPE].shape)
        return node_fail(n, ERR_SHAPE, "give type and shape, as in  x: f32[a=2, b=3] = %s",
                         n->op->name);
    *shape = *n->attrs[SHAPE].shape;
    if ((unsigned)n->attrs[TYPE].type >= DTYPES)
        return node_fail(n, ERR_TYPE, "no such element type");
    return shape_check(shape, n->op->name, &n->graph->session->fault);
}

static bool infer_plain(node *n)
{
    mtf_shape shape;
    TRY(wanted(n, &shape) && node_output(n, n->attrs[TYPE].type, &shape));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

/* ---- input ---- */

static bool infer_input(node *n)
{
    return infer_plain(n) && node_names_may_be(n, &n->out[0]->shape);
}

static bool lower_input(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)in;
    return emit_input(e, n->out[0], &out[0]);
}

const op op_input = {
    .name = "input",
    .says = "a value that is fed before each step",
    .args = "",
    .attrs =
        (const attr_spec[]){{"shape", ATTR_SHAPE, NULL, ""}, {"type", ATTR_TYPE, NULL, ""}, {0}},
    .flags = OP_UNIQUE | OP_DIRECT,
    .infer = infer_input,
    .lower = lower_input,
};

mtf_tensor *mtf_input(mtf_graph *g, const char *name, mtf_dtype type, mtf_shape shape)
{
    node *n = node_new(g, &op_input, 0, NULL, (attr[]){{.shape = &shape}, {.type = type}}, NULL);
    return n ? mtf_name(n->out[0], name) : NULL;
}

/* ---- constant ---- */

static bool infer_constant(node *n)
{
    TRY(infer_plain(n));
    const mtf_tensor *y = n->out[0];
    size_t            bytes = (size_t)shape_size(&y->shape) * mtf_dtype_bytes(y->type);
    if (n->attrs[DATA].data.bytes && n->attrs[DATA].data.bytes != bytes)
        return node_fail(n, ERR_SHAPE, "%zu elements are given for a shape of %lld",
                         n->attrs[DATA].data.bytes / mtf_dtype_bytes(y->type),
                         (long long)shape_size(&y->shape));
    char        text[DTYPE_REFUSAL];
    const char *refusal = number_refused(y->type, n->attrs[VALUE].number, text);
    return !refusal || node_fail(n, ERR_VALUE, "%s", refusal);
}

static bool lower_constant(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)in;
    if (!n->attrs[DATA].data.bytes) {
        out[0] = slice_of_scalar(number_as(out[0].type, n->attrs[VALUE].number), out[0].type,
                                 &out[0].shape);
        return !e->exact || !dtype_is_float(out[0].type) || emit_real(e, &out[0]);
    }
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    TRY(!slice_is_uniform(&out[0]));
    buffer *b = &e->program->buffers[out[0].buffer];
    b->kind = BUFFER_CONSTANT;
    b->data = n->attrs[DATA].data.v;
    return true;
}

const op op_constant = {
    .name = "constant",
    .says = "one number everywhere, or the elements given as data",
    .args = "",
    .attrs = (const attr_spec[]){{"shape", ATTR_SHAPE, NULL, ""},
                                 {"type", ATTR_TYPE, NULL, ""},
                                 {"value", ATTR_NUMBER, "0", "every element"},
                                 {"data", ATTR_DATA, "", "all elements in row-major order"},
                                 {0}},
    .infer = infer_constant,
    .lower = lower_constant,
};

static mtf_tensor *constant(mtf_graph *g, attr_number value, attr_data data, mtf_dtype type,
                            const mtf_shape *shape)
{
    attr  attrs[] = {[SHAPE] = {.shape = shape},
                     [TYPE] = {.type = type},
                     [VALUE] = {.number = value},
                     [DATA] = {.data = data}};
    node *n = node_new(g, &op_constant, 0, NULL, attrs, NULL);
    return n ? n->out[0] : NULL;
}

mtf_tensor *call_constant(mtf_graph *g, attr_number value, mtf_dtype type, const mtf_shape *shape)
{
    return constant(g, value, (attr_data){0}, type, shape);
}

mtf_tensor *mtf_constant(mtf_graph *g, double value, mtf_dtype type, mtf_shape shape)
{
    return call_constant(g, (attr_number){.r = value}, type, &shape);
}

mtf_tensor *mtf_constant_i64(mtf_graph *g, int64_t value, mtf_shape shape)
{
    return call_constant(g, number_of_whole(value), MTF_I64, &shape);
}

mtf_tensor *mtf_constant_data(mtf_graph *g, const void *data, mtf_dtype type, mtf_shape shape)
{
    if (g && !data) {
        fail(&g->session->fault, ERR_USAGE, "constant: no data are given");
        return NULL;
    }
    size_t bytes = shape.ndims < 0 ? 0 : (size_t)shape_size(&shape) * mtf_dtype_bytes(type);
    return constant(g, (attr_number){0}, (attr_data){bytes, data}, type, &shape);
}

mtf_tensor *mtf_zeros(mtf_graph *g, mtf_dtype type, mtf_shape shape)
{
    return mtf_constant(g, 0, type, shape);
}

mtf_tensor *mtf_ones(mtf_graph *g, mtf_dtype type, mtf_shape shape)
{
    return mtf_constant(g, 1, type, shape);
}

mtf_tensor *mtf_zeros_like(mtf_tensor *x)
{
    return x ? mtf_constant(graph_of(x), 0, x->type, x->shape) : NULL;
}

mtf_tensor *mtf_ones_like(mtf_tensor *x)
{
    return x ? mtf_constant(graph_of(x), 1, x->type, x->shape) : NULL;
}

/* ---- range ---- */

static bool infer_range(node *n)
{
    TRY(infer_plain(n));
    if (n->out[0]->shape.ndims != 1)
        return node_fail(n, ERR_SHAPE, "a range has exactly one dimension");
    if (n->out[0]->type == MTF_BOOL)
        return node_fail(n, ERR_TYPE, "a range of bool makes no sense");
    if (n->out[0]->type == MTF_I32 && shape_size(&n->out[0]->shape) > (int64_t)INT32_MAX + 1)
        return node_fail(n, ERR_TYPE, "i32 ends at 2147483647; a range of %lld needs i64",
                         (long long)shape_size(&n->out[0]->shape));
    return true;
}

static bool lower_range(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)in;
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    mtf_dim dim = n->out[0]->shape.dims[0];
    return emit_range(e, dim.name, emit_part(e, dim.name, dim.size).begin, &out[0]);
}

const op op_range = {
    .name = "range",
    .says = "0, 1, 2, ... along its one dimension",
    .args = "",
    .attrs =
        (const attr_spec[]){{"shape", ATTR_SHAPE, NULL, ""}, {"type", ATTR_TYPE, NULL, ""}, {0}},
    .flags = OP_DIRECT,
    .infer = infer_range,
    .lower = lower_range,
};

mtf_tensor *mtf_range(mtf_graph *g, mtf_dim dim, mtf_dtype type)
{
    mtf_shape shape = mtf_shape(dim);
    node *n = node_new(g, &op_range, 0, NULL, (attr[]){{.shape = &shape}, {.type = type}}, NULL);
    return n ? n->out[0] : NULL;
}

/* ---- training ---- */

static bool infer_training(node *n)
{
    return node_output(n, MTF_BOOL, &(mtf_shape){0});
}

/* What the graph will assign is known when it is planned, not when this node is made. */
static bool lower_training(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)e, (void)in;
    out[0] = slice_uniform(graph_trains(n->graph), MTF_BOOL, &out[0].shape);
    return true;
}

const op op_training = {
    .name = "training",
    .says =
        "true where the graph assigns to variables, as in a step of training; false elsewhere, as "
        "in evaluation",
    .args = "",
    .infer = infer_training,
    .lower = lower_training,
};

mtf_tensor *mtf_training(mtf_graph *g)
{
    node *n = g && mtf_ok(g->session) ? node_new(g, &op_training, 0, NULL, NULL, NULL) : NULL;
    return n ? n->out[0] : NULL;
}
