/* Attention as graphs of cuDNN.
 *
 * The library has kernels for attention as a whole, and recognizes it by the operations
 * that it consists of: these are written here one by one, in the order that is known to
 * it.  Only q, k, v, y, the sums of exponentials and gradients are in memory.
 */
#include "cuda/library/attention_graph.h"

#if MTF_HAVE_CUDNN
static const cudnnDataType_t wide = CUDNN_DATA_FLOAT;

static cudnnDataType_t type_of(const attention_problem *p)
{
    return (cudnnDataType_t)p->type;
}

/* ---- tensors ---- */

static dnn_shape lines_of(const attention_problem *p, graph_tensor which, int64_t length,
                          int64_t size)
{
    const int64_t *stride = p->stride[which];
    return (dnn_shape){4, {p->batch, p->heads, length, size}, {stride[0], stride[1], stride[2], 1}};
}

static dnn_part rows(dnn_graph *g, const attention_problem *p, graph_tensor which)
{
    return dnn_tensor(g, which, type_of(p), lines_of(p, which, p->queries, p->size));
}

static dnn_shape positions(const attention_problem *p, graph_tensor which)
{
    return lines_of(p, which, p->memory, p->size);
}

/* One number for each row. */
static dnn_part row_numbers(dnn_graph *g, const attention_problem *p, graph_tensor which)
{
    return dnn_tensor(g, which, wide, lines_of(p, which, p->queries, 1));
}

static dnn_part one_per_row(dnn_graph *g, const attention_problem *p)
{
    return dnn_between(g, wide, dnn_dense(p->batch, p->heads, p->queries, 1));
}

static dnn_shape pairs(const attention_problem *p)
{
    return dnn_dense(p->batch, p->heads, p->queries, p->memory);
}

static dnn_part one_per_pair(dnn_graph *g, const attention_problem *p, cudnnDataType_t type)
{
    return dnn_between(g, type, pairs(p));
}

/* ---- operations whose results are in no memory ---- */

static dnn_part map_pairs(dnn_graph *g, const attention_problem *p, cudnnPointwiseMode_t mode,
                          dnn_part a, dnn_part b)
{
    dnn_part to = one_per_pair(g, p, wide);
    dnn_map(g, mode, a, b, to);
    return to;
}

static dnn_part fold_rows(dnn_graph *g, const attention_problem *p, cudnnReduceTensorOp_t how,
                          dnn_part a)
{
    dnn_part to = one_per_row(g, p);
    dnn_fold(g, how, a, to);
    return to;
}

static dnn_part scores(dnn_graph *g, const attention_problem *p, dnn_part a, dnn_part b)
{
    dnn_part to = one_per_pair(g, p, wide);
    dnn_multiply(g, a, b, to);
    return to;
}

/* Later positions get a score below all others. */
static dnn_part hide(dnn_graph *g, const attention_problem *p, dnn_part score)
{
    if (!p->causal) return score;
    dnn_part row = one_per_pair(g, p, CUDNN_DATA_INT32),
             position = one_per_pair(g, p, CUDNN_DATA_INT32);
    dnn_part seen = one_per_pair(g, p, CUDNN_DATA_BOOLEAN), to = one_per_pair(g, p, wide);
    dnn_index(g, 2, score, row);
    dnn_index(g, 3, score, position);
    dnn_compare(g, CUDNN_POINTWISE_CMP_GE, row, position, seen);
    dnn_select(g, seen, score, dnn_number(g, GRAPH_LEAST), to);
    return to;
}

/* The transpose of one number per pair, as a factor. */
static dnn_part transposed(dnn_graph *g, const attention_problem *p, dnn_part a)
{
    dnn_part to = dnn_between(g, type_of(p), dnn_transposed(pairs(p)));
    dnn_view(g, a, to);
    return to;
}

/* ---- attention ---- */

static void forward(dnn_graph *g, const attention_problem *p)
{
    dnn_part q = rows(g, p, GRAPH_Q), v = dnn_tensor(g, GRAPH_V, type_of(p), positions(p, GRAPH_V));
    dnn_part k = dnn_tensor(g, GRAPH_K, type_of(p), dnn_transposed(positions(p, GRAPH_K)));
    dnn_part s = scores(g, p, q, k);
    s = map_pairs(g, p, CUDNN_POINTWISE_MUL, s, dnn_number(g, GRAPH_SCALE));
    s = hide(g, p, s);
    dnn_part most = fold_rows(g, p, CUDNN_REDUCE_TENSOR_MAX, s);
    dnn_part weight = map_pairs(g, p, CUDNN_POINTWISE_SUB, s, most);
    weight = map_pairs(g, p, CUDNN_POINTWISE_EXP, weight, NULL);
    dnn_part sum = fold_rows(g, p, CUDNN_REDUCE_TENSOR_ADD, weight);
    dnn_part logarithm = one_per_row(g, p), share = one_per_pair(g, p, type_of(p));
    dnn_map(g, CUDNN_POINTWISE_LOG, sum, NULL, logarithm);
    dnn_map(g, CUDNN_POINTWISE_ADD, most, logarithm, row_numbers(g, p, GRAPH_LSE));
    dnn_map(g, CUDNN_POINTWISE_DIV, weight, sum, share);
    dnn_multiply(g, share, v, rows(g, p, GRAPH_Y));
}

/* The sum of dy y along each row. */
static dnn_part delta_of(dnn_graph *g, const attention_problem *p, dnn_part dy)
{
    dnn_part product = dnn_between(g, wide, dnn_dense(p->batch, p->heads, p->queries, p->size));
    dnn_part delta = row_numbers(g, p, GRAPH_DELTA);
    dnn_map(g, CUDNN_POINTWISE_MUL, dy, rows(g, p, GRAPH_Y), product);
    dnn_part sum = fold_rows(g, p, CUDNN_REDUCE_TENSOR_ADD, product);
    dnn_map(g, CUDNN_POINTWISE_MUL, sum, dnn_number(g, GRAPH_ONE), delta);
    return delta;
}

/* The library has another graph in which dq is added up in f32 in memory, in any order: its results
 * are not the same bits in every run. */
static void gradient(dnn_graph *g, const attention_problem *p)
{
    dnn_part q = rows(g, p, GRAPH_Q), dy = rows(g, p, GRAPH_DY), scale = dnn_number(g, GRAPH_SCALE);
    dnn_part k = dnn_tensor(g, GRAPH_K, type_of(p), dnn_transposed(positions(p, GRAPH_K)));
    dnn_part v = dnn_tensor(g, GRAPH_V, type_of(p), dnn_transposed(positions(p, GRAPH_V)));
    dnn_part delta = delta_of(g, p, dy);
    dnn_part s = scores(g, p, q, k);
    s = map_pairs(g, p, CUDNN_POINTWISE_MUL, s, scale);
    s = map_pairs(g, p, CUDNN_POINTWISE_SUB, s, row_numbers(g, p, GRAPH_LSE));
    s = hide(g, p, s);
    dnn_part weight = map_pairs(g, p, CUDNN_POINTWISE_EXP, s, NULL);
    dnn_multiply(g, transposed(g, p, weight), dy,
                 dnn_tensor(g, GRAPH_DV, type_of(p), positions(p, GRAPH_DV)));
    dnn_part slope = scores(g, p, dy, v);
    slope = map_pairs(g, p, CUDNN_POINTWISE_SUB, slope, delta);
    slope = map_pairs(g, p, CUDNN_POINTWISE_MUL, slope, weight);
    slope = map_pairs(g, p, CUDNN_POINTWISE_MUL, slope, scale);
    dnn_multiply(g, transposed(g, p, slope), q,
                 dnn_tensor(g, GRAPH_DK, type_of(p), positions(p, GRAPH_DK)));
    dnn_part upright = dnn_between(g, type_of(p), positions(p, GRAPH_K));
    dnn_view(g, k, upright);
    dnn_multiply(g, slope, upright, rows(g, p, GRAPH_DQ));
}

void attention_graph(dnn_graph *g, const attention_problem *p)
{
    if (p->gradient)
        gradient(g, p);
    else
        forward(g, p);
}
#endif
