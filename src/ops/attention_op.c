/* Attention: a weighted sum over a memory, without storing the weights. */
#include "ops/attention_op.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"
#include "ops/tape.h"
#include "space/internal.h"

/* clang-format off */
#define SHARED_ATTRS \
    {"query", ATTR_WORD, "", "the dimension of q's positions; default: there is one"}, \
    {"memory", ATTR_WORD, NULL, "the dimension that is attended to; may be query"}, \
    {"key", ATTR_WORD, NULL, "the dimension that q and k are multiplied along"}, \
    {"value", ATTR_WORD, NULL, "the last dimension of the result, v's; may be key"}, \
    {"scale", ATTR_REAL, "1", "factor of the products"}, \
    {"min_relative", ATTR_INT, "-2147483648", "the least write - read that a query sees"}, \
    {"max_relative", ATTR_INT, "2147483647", "the greatest write - read; 0: nothing later"}, \
    {"with", ATTR_NAMES, "()", \
     "what the further inputs are: bias, read, write, query_segment, memory_segment, iteration, part"}, \
    {"bias_memory", ATTR_WORD, "", "the memory's name in the bias; default: memory"}, \
    {"bias_relative", ATTR_WORD, "", \
     "a dimension of the bias in place of query and memory, of size query + memory - 1: element " \
     "memory - query + (size of query) - 1"}, \
    {"dropout", ATTR_REAL, "0", "weights are 0 with this probability p, else divided by 1 - p"}, \
    {"dropout_over", ATTR_NAMES, "()", "dimensions along which dropout decides once for all"}, \
    {"stream", ATTR_INT, "-1", "stream of dropout's random numbers; default: the next unused one"}, \
    {"part_of", ATTR_WORD, "", "as for random_uniform, for dropout"}, \
    {"whole", ATTR_INT, "0", "the size of the longer dimension"}, \
    {"parts", ATTR_INT, "1", "how many parts it has"},
/* clang-format on */
static const attr_spec attention_attrs[] = {SHARED_ATTRS{0}};
const attr_spec        attention_grad_attrs[] = {
           SHARED_ATTRS{"bias_grad", ATTR_BOOL, "true", "the gradient of the bias is a result"}, {0}};

/* ---- roles of dimensions and inputs ---- */

static const char *const optional_names[] = {"bias", "read", "write", "query_segment",
                                             "memory_segment"};
enum { OPTIONAL = sizeof optional_names / sizeof *optional_names };

static bool is_word(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static bool name_inputs(const node *n, int given, attention_roles *r)
{
    attr_names with = n->attrs[AT_WITH].names;
    for (int k = 0; k < ATTENTION_OPERANDS; k++) r->in[k] = k < given ? k : -1;
    if (n->nargs != given + with.n)
        return node_fail(n, ERR_USAGE,
                         "there are %d inputs after the first %d, and \"with\" names %d of them",
                         n->nargs - given, given, with.n);
    r->first_iteration = n->nargs;
    for (int k = 0; k < with.n; k++) {
        int o = 0;
        while (o < OPTIONAL && !is_word(with.v[k], optional_names[o])) o++;
        bool iteration =
            is_word(with.v[k], "iteration") || (is_word(with.v[k], "part") && k == with.n - 1);
        if (iteration && r->first_iteration == n->nargs) r->first_iteration = given + k;
        if (iteration) continue;
        if (o == OPTIONAL || r->in[ATTENTION_BIAS + o] >= 0 || r->first_iteration < n->nargs)
            return node_fail(
                n, ERR_USAGE,
                "with: \"%s\"; the further inputs are bias, read, write, "
                "query_segment, memory_segment, each once, then iteration numbers, then the part",
                with.v[k]);
        r->in[ATTENTION_BIAS + o] = given + k;
    }
    return true;
}

static mtf_dim bias_dim(const node *n, const attention_roles *r, int which)
{
    const char *name = n->attrs[which].text;
    mtf_dim     none = {0};
    if (r->in[ATTENTION_BIAS] < 0 || !name || !*name) return none;
    return mtf_shape_dim(n->in[r->in[ATTENTION_BIAS]]->shape, name);
}

attention_roles attention_roles_of(const node *n, int given)
{
    attention_roles r = {0};
    const char     *query = n->attrs[AT_QUERY].text, *memory = n->attrs[AT_MEMORY].text;
    name_inputs(n, given, &r);
    const mtf_shape *q = &n->in[0]->shape, *k = &n->in[1]->shape;
    if (query && *query) r.query = mtf_shape_dim(*q, query);
    r.memory = mtf_shape_dim(*k, memory);
    r.key = mtf_shape_dim(*q, n->attrs[AT_KEY].text);
    r.value = mtf_shape_dim(n->in[2]->shape, n->attrs[AT_VALUE].text);
    r.self = r.query.name && is_word(query, memory);
    r.rows = mtf_shape_minus(*q, mtf_shape(r.key));
    r.bias_relative = bias_dim(n, &r, AT_BIAS_RELATIVE);
    r.bias_memory = bias_dim(n, &r, AT_BIAS_MEMORY);
    if (r.in[ATTENTION_BIAS] >= 0 && !r.self && !r.bias_memory.name && !r.bias_relative.name)
        r.bias_memory = mtf_shape_dim(n->in[r.in[ATTENTION_BIAS]]->shape, r.memory.name);
    return r;
}

/* ---- checks ---- */

/* The dimensions may be more than one shape holds, so each is checked by itself. */
static bool all_within(const node *n, const mtf_tensor *x, const mtf_shape *dims, const char *also,
                       const char *last, const char *what)
{
    char a[SHAPE_TEXT], b[SHAPE_TEXT];
    for (int d = 0; d < x->shape.ndims; d++) {
        const char *name = x->shape.dims[d].name;
        if (shape_find(dims, name) >= 0 || is_word(name, also) || is_word(name, last)) continue;
        return node_fail(
            n, ERR_SHAPE, "%s \"%s\" is %s; its dimensions must be among %s%s%s%s%s, unlike \"%s\"",
            what, tensor_name(x), shape_text(&x->shape, a), shape_text(dims, b), also ? ", " : "",
            also ? also : "", last ? ", " : "", last ? last : "", name);
    }
    return true;
}

static bool check_types(const node *n, int given)
{
    mtf_dtype type = n->in[0]->type, wide = dtype_compute(type);
    for (int k = 0; k < given; k++) {
        bool      own = k == ATTENTION_LSE || k == ATTENTION_DELTA;
        mtf_dtype right = own ? wide : type;
        if (dtype_is_float(type) && n->in[k]->type == right) continue;
        return node_fail(n, ERR_TYPE, "\"%s\" is %s%s%s", tensor_name(n->in[k]),
                         mtf_dtype_name(n->in[k]->type),
                         dtype_is_float(type) ? "; it must be " : "; it must be floating",
                         dtype_is_float(type) ? mtf_dtype_name(right) : "");
    }
    return true;
}

static bool check_dims(const node *n, const attention_roles *r)
{
    mtf_tensor *q = n->in[0], *k = n->in[1], *v = n->in[2];
    mtf_dim     dim;
    const char *query = n->attrs[AT_QUERY].text;
    TRY(!query || !*query || call_dim(n->op, q, query, &dim));
    TRY(call_dim(n->op, q, n->attrs[AT_KEY].text, &dim));
    TRY(call_dim(n->op, k, n->attrs[AT_KEY].text, &dim));
    TRY(call_dim(n->op, k, n->attrs[AT_MEMORY].text, &dim));
    TRY(call_dim(n->op, v, n->attrs[AT_MEMORY].text, &dim));
    TRY(call_dim(n->op, v, n->attrs[AT_VALUE].text, &dim));
    TRY(node_sizes_agree(n));
    if (!r->self && shape_find(&q->shape, r->memory.name) >= 0)
        return node_fail(n, ERR_SHAPE,
                         "\"%s\" has the memory's dimension \"%s\"; that is right only where it is "
                         "the query's as well",
                         tensor_name(q), r->memory.name);
    if (shape_find(&r->rows, r->value.name) >= 0 || is_word(r->memory.name, r->key.name) ||
        is_word(r->memory.name, r->value.name) || is_word(r->query.name, r->key.name))
        return node_fail(n, ERR_SHAPE,
                         "query, memory, key and value must be different dimensions, except "
                         "that memory may be query and value may be key");
    return all_within(n, k, &r->rows, r->memory.name, r->key.name, "the key") &&
           all_within(n, v, &r->rows, r->memory.name, r->value.name, "the value");
}

static bool check_bias(const node *n, const attention_roles *r)
{
    char a[SHAPE_TEXT];
    if (r->in[ATTENTION_BIAS] < 0) return true;
    mtf_tensor *bias = n->in[r->in[ATTENTION_BIAS]];
    const char *relative = n->attrs[AT_BIAS_RELATIVE].text, *own = n->attrs[AT_BIAS_MEMORY].text;
    mtf_dim     dim;
    int64_t     distances = (r->query.name ? r->query.size : 1) + r->memory.size - 1;
    if (bias->type != n->in[0]->type && bias->type != dtype_compute(n->in[0]->type))
        return node_fail(n, ERR_TYPE, "the bias \"%s\" is %s; it must be %s or %s",
                         tensor_name(bias), mtf_dtype_name(bias->type),
                         mtf_dtype_name(n->in[0]->type),
                         mtf_dtype_name(dtype_compute(n->in[0]->type)));
    if (relative && *relative) {
        TRY(call_dim(n->op, bias, relative, &dim));
        if (dim.size != distances ||
            (r->query.name && shape_find(&bias->shape, r->query.name) >= 0))
            return node_fail(n, ERR_SHAPE,
                             "the bias \"%s\" is %s; with \"%s\", whose size must be %lld, it has "
                             "no other dimension of positions",
                             tensor_name(bias), shape_text(&bias->shape, a), relative,
                             (long long)distances);
    } else if (own && *own) {
        TRY(call_dim(n->op, bias, own, &dim));
        if (dim.size != r->memory.size || shape_find(&r->rows, own) >= 0)
            return node_fail(n, ERR_SHAPE,
                             "the bias \"%s\" is %s; \"%s\" stands for the memory there, whose "
                             "size is %lld",
                             tensor_name(bias), shape_text(&bias->shape, a), own,
                             (long long)r->memory.size);
    } else {
        dim = r->memory;
        if (r->self)
            return all_within(n, bias, &r->rows, NULL, NULL, "without bias_memory, the bias");
    }
    return all_within(n, bias, &r->rows, dim.name, NULL, "the bias");
}

static bool check_places(const node *n, const attention_roles *r)
{
    static const char *const what[] = {[ATTENTION_READ] = "read",
                                       [ATTENTION_WRITE] = "write",
                                       [ATTENTION_QUERY_SEGMENT] = "query_segment",
                                       [ATTENTION_MEMORY_SEGMENT] = "memory_segment"};
    mtf_shape                along = mtf_shape_minus(n->in[1]->shape, mtf_shape(r->key));
    for (int k = ATTENTION_READ; k <= ATTENTION_MEMORY_SEGMENT; k++) {
        if (r->in[k] < 0) continue;
        mtf_tensor *x = n->in[r->in[k]];
        if (x->type != MTF_I32)
            return node_fail(n, ERR_TYPE, "%s \"%s\" is %s; it must be i32", what[k],
                             tensor_name(x), mtf_dtype_name(x->type));
        bool rows = k == ATTENTION_READ || k == ATTENTION_QUERY_SEGMENT;
        TRY(all_within(n, x, rows ? &r->rows : &along, NULL, NULL, what[k]));
    }
    if ((r->in[ATTENTION_QUERY_SEGMENT] < 0) != (r->in[ATTENTION_MEMORY_SEGMENT] < 0))
        return node_fail(n, ERR_USAGE, "query_segment and memory_segment go together");
    for (int k = r->first_iteration; k < n->nargs; k++)
        if (n->in[k]->type != MTF_I32 || n->in[k]->shape.ndims)
            return node_fail(n, ERR_TYPE, "the iteration \"%s\" must be an i32 scalar",
                             tensor_name(n->in[k]));
    return true;
}

static bool check_numbers(const node *n, const attention_roles *r)
{
    double     rate = n->attrs[AT_DROPOUT].r;
    attr_names over = n->attrs[AT_DROPOUT_OVER].names;
    int64_t    min = n->attrs[AT_MIN].i, max = n->attrs[AT_MAX].i;
    if (min > max || min < INT32_MIN || max > INT32_MAX)
        return node_fail(n, ERR_VALUE,
                         "min_relative is %lld and max_relative %lld; they must be i32 numbers in "
                         "this order",
                         (long long)min, (long long)max);
    if (!isfinite(n->attrs[AT_SCALE].r))
        return node_fail(n, ERR_VALUE, "the scale is %g; it must be a finite number",
                         n->attrs[AT_SCALE].r);
    if (!(rate >= 0 && rate < 1))
        return node_fail(n, ERR_VALUE, "dropout is from 0 to below 1, not %g", rate);
    for (int k = 0; k < over.n; k++)
        if (shape_find(&r->rows, over.v[k]) < 0 && !is_word(over.v[k], r->memory.name))
            return node_fail(
                n, ERR_SHAPE,
                "dropout_over: \"%s\" is not a dimension of the weights; those of \"%s\" "
                "are, without \"%s\", and \"%s\"",
                over.v[k], tensor_name(n->in[0]), r->key.name, r->memory.name);
    if (rate == 0 && r->first_iteration < n->nargs)
        return node_fail(n, ERR_USAGE, "only dropout takes iteration numbers; leave out \"%s\"",
                         tensor_name(n->in[r->first_iteration]));
    return true;
}

bool attention_check(const node *n, int given, attention_roles *r)
{
    attention_roles blank = {0};
    *r = blank;
    TRY(name_inputs(n, given, r) && check_types(n, given));
    *r = attention_roles_of(n, given);
    TRY(check_dims(n, r) && check_bias(n, r) && check_places(n, r) && check_numbers(n, r));
    int64_t *stream = &n->attrs[AT_STREAM].i;
    if (n->attrs[AT_DROPOUT].r == 0) return true;
    if (*stream < 0)
        *stream = n->graph->next_key++;
    else if (*stream >= n->graph->next_key)
        n->graph->next_key = (uint32_t)*stream + 1;
    return true;
}

static bool infer(node *n)
{
    attention_roles r;
    TRY(attention_check(n, ATTENTION_GIVEN, &r));
    mtf_shape y = mtf_shape_plus(r.rows, mtf_shape(r.value));
    return node_output(n, n->in[0]->type, &y) &&
           node_output(n, dtype_compute(n->in[0]->type), &r.rows);
}

/* ---- gradient ---- */

static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GIVEN);
    mtf_tensor     *y = n->out[0], *lse = n->out[1], *delta = NULL;
    mtf_tensor     *d = dy[0] ? dy[0] : mtf_zeros_like(y);
    if (dy[0])
        delta = mtf_reduce_sum(mtf_multiply(mtf_cast(d, lse->type), mtf_cast(y, lse->type)),
                               mtf_shape(r.value));
    if (dy[1]) delta = delta ? mtf_sub(delta, dy[1]) : mtf_negative(dy[1]);
    if (!delta) return;
    mtf_tensor *in[ATTENTION_GRAD_GIVEN + OPTIONAL + MAX_NESTING] = {n->in[0], n->in[1], n->in[2],
                                                                     lse,      d,        delta};
    int         nin = ATTENTION_GRAD_GIVEN;
    for (int k = ATTENTION_GIVEN; k < n->nargs; k++) in[nin++] = n->in[k];
    attr attrs[AT_GRAD_ATTRS];
    memcpy(attrs, n->attrs, AT_ATTRS * sizeof *attrs);
    bool bias = r.in[ATTENTION_BIAS] >= 0 && tape_wants(t, n->in[r.in[ATTENTION_BIAS]]);
    attrs[AT_BIAS_GRAD].b = bias || r.in[ATTENTION_BIAS] < 0;
    node *g = node_new(n->graph, &op_attention_grad, nin, in, attrs, NULL);
    if (!g) return;
    for (int k = 0; k < 3; k++) tape_give(t, n->in[k], g->out[k]);
    if (bias) tape_give(t, n->in[r.in[ATTENTION_BIAS]], g->out[3]);
}

/* ---- lowering ---- */

/* Combines the results of all parts of the memory: first maxima, then all sums in one message. */
static bool join(emitter *e, const attention_view *v, slice *sum, const slice *weights,
                 const slice *most, const slice *y, const slice *lse)
{
    static const char *const packed_name = SLICE_DIM("packed");
    mtf_shape                rows = most->shape;
    int                      last = sum->shape.ndims - 1;
    int64_t                  value = sum->shape.dims[last].size;
    mtf_shape                more = {.ndims = 1, .dims = {{packed_name, value + 1}}};
    mtf_shape                all = mtf_shape_plus(rows, more);
    slice                    top = *most, below = emit_fresh(e, most->type, &rows), factor = below;
    slice                    packed = emit_fresh(e, most->type, &all);
    TRY(emit_all_reduce(e, FOLD_MAX, v->axes, &top));
    factor = emit_fresh(e, most->type, &rows);
    TRY(emit_scalar(e, FN_sub, 2, (slice[]){*most, top}, &below) &&
        emit_scalar(e, FN_exp, 1, &below, &factor));
    for (int again = 0; again < 2; again++) {
        slice first = slice_cut(&packed, packed_name, 0, value, 1);
        slice rest = slice_cut(&packed, packed_name, value, 1, 1);
        rest = slice_drop(&rest, packed_name);
        attention_rename(&first, packed_name, VALUE_DIM);
        if (again) return emit_attention_join(e, &first, &rest, &top, y, lse);
        TRY(emit_scalar(e, FN_multiply, 2, (slice[]){*sum, factor}, &first) &&
            emit_scalar(e, FN_multiply, 2, (slice[]){*weights, factor}, &rest) &&
            emit_all_reduce(e, FOLD_SUM, v->axes, &packed));
    }
    return true;
}

static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GIVEN);
    attention_view  v;
    int             niterations = n->nargs - r.first_iteration;
    TRY(attention_bring(e, n, &r, in, &out[1], &v));
    mtf_dtype wide = dtype_compute(out[0].type);
    mtf_shape y = out[0].shape, rows = out[1].shape;
    y.dims[shape_find(&y, r.value.name)].name = VALUE_DIM;
    slice made[2] = {emit_fresh(e, out[0].type, &y), emit_fresh(e, out[1].type, &rows)};
    if (v.axes) {
        slice parts[3] = {emit_fresh(e, wide, &y), emit_fresh(e, wide, &rows),
                          emit_fresh(e, wide, &rows)};
        v.how.parts = true;
        TRY(emit_attention(e, INSTR_ATTENTION, &v.how, v.in, niterations, in + r.first_iteration, 3,
                           parts) &&
            join(e, &v, &parts[0], &parts[1], &parts[2], &made[0], &made[1]));
    } else {
        TRY(emit_attention(e, INSTR_ATTENTION, &v.how, v.in, niterations, in + r.first_iteration, 2,
                           made));
    }
    out[1] = made[1];
    attention_rename(&made[0], VALUE_DIM, r.value.name);
    out[0] = made[0];
    return true;
}

/* ---- sharding ---- */

bool attention_is_whole(const node *n, const attention_roles *r, const char *dim)
{
    (void)n;
    if (is_word(dim, r->key.name) || is_word(dim, r->value.name)) return true;
    if (is_word(dim, r->bias_relative.name)) return true;
    return is_word(dim, r->bias_memory.name) && !is_word(dim, r->memory.name);
}

static dim_split split(const node *n, const char *dim)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GIVEN);
    if (attention_is_whole(n, &r, dim)) return SPLIT_WHOLE;
    return is_word(dim, r.memory.name) ? SPLIT_OWN : SPLIT_FREE;
}

/* Each row meets each position of the memory, once along key and once along value. */
static void product(const node *n, op_product *p)
{
    attention_roles r = attention_roles_of(n, ATTENTION_GIVEN);
    *p = (op_product){.name = "attention/forward", .ndims = r.rows.ndims};
    memcpy(p->dims, r.rows.dims, sizeof r.rows.dims);
    p->dims[p->ndims++] = r.memory;
    p->dims[p->ndims++] = (mtf_dim){r.key.name, r.key.size + r.value.size};
}

const op op_attention = {
    .name = "attention",
    .says = "sum over the memory of softmax(scale q k + bias) v, and the log of the sum of "
            "exponentials, f32 or f64; a query sees what min_relative <= write - read <= "
            "max_relative and equal segments allow (read and write are indices unless given); a "
            "query that sees nothing gives 0 and -1e30",
    .args = "q, k, v, [more...]",
    .results = "y, lse",
    .attrs = attention_attrs,
    .infer = infer,
    .grad = grad,
    .lower = lower,
    .split = split,
    .product = product};

/* ---- C ---- */

mtf_tensor *mtf_attention(mtf_tensor *q, mtf_tensor *k, mtf_tensor *v,
                          const mtf_attention_op_opts *opts, mtf_tensor **lse)
{
    static const mtf_attention_op_opts none = {0};
    const mtf_attention_op_opts       *o = opts ? opts : &none;
    mtf_graph                         *g = graph_of(q);
    if (lse) *lse = NULL;
    if (!g || !k || !v) return NULL;
    mtf_tensor *optional[OPTIONAL] = {o->bias, o->read, o->write, o->query_segment,
                                      o->memory_segment};
    mtf_tensor *in[ATTENTION_GIVEN + OPTIONAL + MAX_NESTING] = {q, k, v};
    const char *with[OPTIONAL + MAX_NESTING], *over[MTF_SHAPE_ROOM];
    int         nwith = 0, niterations = 0;
    for (int i = 0; i < OPTIONAL; i++)
        if (optional[i])
            in[ATTENTION_GIVEN + nwith] = optional[i], with[nwith++] = optional_names[i];
    mtf_tensor **iterations = o->dropout > 0 ? loop_iterations(g, &niterations) : NULL;
    if (o->dropout > 0 && !iterations) return NULL;
    for (int i = 0; i < niterations && i < MAX_NESTING; i++)
        in[ATTENTION_GIVEN + nwith] = iterations[i], with[nwith++] = "iteration";
    for (int i = 0; i < o->dropout_over.ndims; i++) over[i] = o->dropout_over.dims[i].name;
    attr  attrs[AT_ATTRS] = {[AT_QUERY] = {.text = o->query},
                             [AT_MEMORY] = {.text = o->memory ? o->memory : ""},
                             [AT_KEY] = {.text = o->key ? o->key : ""},
                             [AT_VALUE] = {.text = o->value ? o->value : ""},
                             [AT_SCALE] = {.r = o->scale == 0 ? 1 : o->scale},
                             [AT_MIN] = {.i = o->min_relative ? *o->min_relative : INT32_MIN},
                             [AT_MAX] = {.i = o->max_relative ? *o->max_relative : INT32_MAX},
                             [AT_WITH] = {.names = {nwith, with}},
                             [AT_BIAS_MEMORY] = {.text = o->bias_memory},
                             [AT_BIAS_RELATIVE] = {.text = o->bias_relative},
                             [AT_DROPOUT] = {.r = o->dropout},
                             [AT_DROPOUT_OVER] = {.names = {o->dropout_over.ndims, over}},
                             [AT_STREAM] = {.i = -1},
                             [AT_PART_OF] = {.text = ""},
                             [AT_PARTS] = {.i = 1}};
    node *n = node_new(g, &op_attention, ATTENTION_GIVEN + nwith, in, attrs, NULL);
    if (!n) return NULL;
    if (lse) *lse = n->out[1];
    return n->out[0];
}
