/* Products whose rows are sorted into groups.
 *
 * It is einsum with one more factor, which is never made: 1 where a row is in a group, else 0.  So it is
 * linear in both factors, and its gradients are products of the same kind, with the result's gradient
 * in place of a factor.
 */
#include <string.h>

#include "base/dtype.h"
#include "ops/lowering.h"
#include "ops/reach.h"
#include "ops/tape.h"

enum { ROWS, SHAPE };
enum { X, Y, ENDS };

static bool is_rows(const node *n, const char *dim)
{
    return strcmp(n->attrs[ROWS].text, dim) == 0;
}

static bool has(const mtf_tensor *x, const char *dim)
{
    return shape_find(&x->shape, dim) >= 0;
}

/* The one dimension of ends that x lacks; {0}: there is none. */
static mtf_dim group_of(const node *n)
{
    mtf_shape own = mtf_shape_minus(n->in[ENDS]->shape, n->in[X]->shape);
    return own.ndims == 1 ? own.dims[0] : (mtf_dim){0};
}

static bool is_group(const node *n, const char *dim)
{
    mtf_dim group = group_of(n);
    return group.name && strcmp(group.name, dim) == 0;
}

/* ---- shape ---- */

static bool types_fit(const node *n)
{
    mtf_dtype x = n->in[X]->type, y = n->in[Y]->type;
    if (!dtype_is_float(x) || dtype_is_f8(x) || y != x)
        return node_fail(n, ERR_TYPE,
                         "\"%s\" is %s and \"%s\" is %s; both must be of one type, f32, bf16, f16 "
                         "or f64: cast them",
                         tensor_name(n->in[X]), mtf_dtype_name(x), tensor_name(n->in[Y]),
                         mtf_dtype_name(y));
    return n->in[ENDS]->type == MTF_I32 ||
           node_fail(n, ERR_TYPE, "the ends \"%s\" are %s; they must be i32: cast them",
                     tensor_name(n->in[ENDS]), mtf_dtype_name(n->in[ENDS]->type));
}

/* The rows and the groups: which tensors have them? */
static bool groups_fit(const node *n, const mtf_shape *out)
{
    const char *rows = n->attrs[ROWS].text;
    char        text[SHAPE_TEXT], more[SHAPE_TEXT];
    if (!has(n->in[X], rows))
        return node_fail(n, ERR_SHAPE, "\"%s\" %s has no dimension \"%s\", which the rows are",
                         tensor_name(n->in[X]), shape_text(&n->in[X]->shape, text), rows);
    if (has(n->in[ENDS], rows))
        return node_fail(n, ERR_SHAPE,
                         "the ends \"%s\" %s have the rows' dimension \"%s\"; they say for each "
                         "group where its rows end",
                         tensor_name(n->in[ENDS]), shape_text(&n->in[ENDS]->shape, text), rows);
    mtf_dim group = group_of(n);
    if (!group.name)
        return node_fail(n, ERR_SHAPE,
                         "the ends \"%s\" are %s; they must have one dimension that \"%s\" %s "
                         "lacks, the groups, and no other",
                         tensor_name(n->in[ENDS]), shape_text(&n->in[ENDS]->shape, text),
                         tensor_name(n->in[X]), shape_text(&n->in[X]->shape, more));
    bool grouped = has(n->in[Y], group.name), in_rows = has(n->in[Y], rows);
    bool to_groups = shape_find(out, group.name) >= 0, to_rows = shape_find(out, rows) >= 0;
    if (grouped == in_rows || to_groups == grouped || to_rows == in_rows)
        return node_fail(
            n, ERR_SHAPE,
            "of \"%s\" %s and the output %s one must have the groups \"%s\", the other "
            "the rows \"%s\"",
            tensor_name(n->in[Y]), shape_text(&n->in[Y]->shape, text), shape_text(out, more),
            group.name, rows);
    return true;
}

/* Every dimension must have a meaning: what only one tensor has is to be summed, or repeated, before
 * or after. */
static bool dim_fits(const node *n, mtf_dim d, const mtf_shape *out)
{
    mtf_dim kept = mtf_shape_dim(*out, d.name);
    int     found = has(n->in[X], d.name) + has(n->in[Y], d.name) + (kept.name != NULL);
    if (is_rows(n, d.name) || is_group(n, d.name)) found = 2;
    if (kept.name && kept.size != d.size)
        return node_fail(n, ERR_SHAPE,
                         "dimension \"%s\" is %lld in the inputs but %lld in the output", d.name,
                         (long long)d.size, (long long)kept.size);
    if (found < 2)
        return node_fail(n, ERR_SHAPE,
                         "only one of its factors and its output has \"%s\"; sum it before, or "
                         "repeat the result along it",
                         d.name);
    bool own = has(n->in[ENDS], d.name) && !is_group(n, d.name);
    bool in_rows = has(n->in[Y], n->attrs[ROWS].text);
    if (own && !(in_rows ? has(n->in[Y], d.name) : kept.name != NULL))
        return node_fail(n, ERR_SHAPE,
                         "%s lacks \"%s\", along which \"%s\" has groups of their own; it must "
                         "have it, as \"%s\" has",
                         in_rows ? tensor_name(n->in[Y]) : "the output", d.name,
                         tensor_name(n->in[ENDS]), tensor_name(n->in[X]));
    return true;
}

static bool infer(node *n)
{
    if (!n->attrs[SHAPE].shape)
        return node_fail(n, ERR_SHAPE,
                         "give the output's shape, as in  y: [tokens=8, out=4] = %s(x, w, ends, "
                         "rows=tokens)",
                         n->op->name);
    mtf_shape shape = *n->attrs[SHAPE].shape;
    TRY(types_fit(n) && node_sizes_agree(n));
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault) && groups_fit(n, &shape));
    for (int i = 0; i < n->nargs; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++)
            TRY(dim_fits(n, n->in[i]->shape.dims[d], &shape));
    for (int d = 0; d < shape.ndims; d++) TRY(dim_fits(n, shape.dims[d], &shape));
    TRY(node_output(n, n->in[X]->type, &shape));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

/* ---- gradient ---- */

/* With x as the factor that has the rows, whichever it was. */
static void grad(tape *t, const node *n, mtf_tensor *const *dy)
{
    mtf_tensor *x = n->in[X], *y = n->in[Y], *ends = n->in[ENDS];
    mtf_dim     rows = mtf_shape_dim(x->shape, n->attrs[ROWS].text);
    bool        sums = has(y, rows.name);
    if (tape_wants(t, x))
        tape_give(t, x,
                  mtf_grouped_einsum(x->shape, sums ? y : dy[0], sums ? dy[0] : y, ends, rows));
    if (tape_wants(t, y)) tape_give(t, y, mtf_grouped_einsum(y->shape, x, dy[0], ends, rows));
}

/* ---- lowering ---- */

/* Rows and groups are counted in the whole tensor, so the ends are needed whole; there are few. */
static bool lower(emitter *e, const node *n, const slice *in, slice *out)
{
    mtf_dim  group = group_of(n), rows = mtf_shape_dim(n->in[X]->shape, n->attrs[ROWS].text);
    slice    ends = in[ENDS];
    grouping by = {.rows = rows.name, .group = group.name};
    out[0] = emit_fresh(e, out[0].type, &out[0].shape);
    by.first_row = reach_part(e, &in[X], rows.name, rows.size).begin;
    if (reach_is_cut(&ends, group.name)) {
        by.first_group = emit_part(e, group.name, group.size).begin;
        TRY(reach_whole(e, n->in[ENDS], group.name, &ends));
    }
    return emit_grouped(e, &by, &in[X], &in[Y], &ends, &out[0]);
}

static dim_split split(const node *n, const char *dim)
{
    bool kept = has(n->out[0], dim);
    if (is_rows(n, dim) || is_group(n, dim)) return kept ? SPLIT_OWN : SPLIT_OWN_SUM;
    return kept ? SPLIT_FREE : SPLIT_SUM;
}

static debt debts(const node *n, int input)
{
    (void)n;
    return input == ENDS ? DEBT_SETTLE : DEBT_PRODUCT;
}

/* Each row is multiplied once, whichever its group is. */
static void product(const node *n, op_product *p)
{
    *p = (op_product){.name = "grouped_einsum"};
    for (int i = 0; i <= Y; i++)
        for (int d = 0; d < n->in[i]->shape.ndims; d++) {
            mtf_dim dim = n->in[i]->shape.dims[d];
            if (is_group(n, dim.name) || (i == Y && has(n->in[X], dim.name))) continue;
            p->dims[p->ndims++] = dim;
        }
}

const op op_grouped_einsum = {
    .name = "grouped_einsum",
    .says = "einsum of x and y with rows in groups: row r is in the first group g with r < "
            "ends[g], and "
            "y or "
            "the output has, in place of the rows, the groups: the dimension of ends that x lacks; "
            "rows from the last end on are in none and add nothing; other dimensions of ends have "
            "groups of their own",
    .args = "x, y, ends",
    .attrs = (const attr_spec[]){{"rows", ATTR_WORD, NULL, "the rows' dimension in x"},
                                 {"shape", ATTR_SHAPE, NULL, "the output"},
                                 {0}},
    .infer = infer,
    .grad = grad,
    .lower = lower,
    .split = split,
    .debt = debts,
    .product = product};

mtf_tensor *mtf_grouped_einsum(mtf_shape output, mtf_tensor *x, mtf_tensor *y, mtf_tensor *ends,
                               mtf_dim rows)
{
    return node_one(&op_grouped_einsum, 3, (mtf_tensor *[]){x, y, ends},
                    (attr[]){[ROWS] = {.text = rows.name}, [SHAPE] = {.shape = &output}});
}
