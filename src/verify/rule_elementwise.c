/* Definitions of elementwise operations: rows of program/scalars.h, on named dimensions. */
#include <string.h>

#include "program/scalar.h"
#include "verify/rules.h"

static scalar_fn function_called(const char *name)
{
    for (int fn = 0; fn < SCALAR_FNS; fn++)
        if (scalar_infos[fn].name && strcmp(scalar_infos[fn].name, name) == 0) return (scalar_fn)fn;
    return SCALAR_FNS;
}

/* The degree of a function of reals.  A hash is a new random number: of degree 1. */
static double degree_after(reference *r, scalar_fn fn, double a, double b)
{
    switch ((int)fn) {
    case FN_negative: return a;
    case FN_square: return 2 * a;
    case FN_add:
    case FN_sub: return fmax(a, b);
    case FN_multiply: return a + b;
    case FN_divide: note_hashed(r, b); return a + 1;
    case FN_minimum:
    case FN_maximum: note_hashed(r, fmax(a, b)); return fmax(a, b);
    default: note_hashed(r, fmax(a, b)); return scalar_infos[fn].gives_bool ? 0 : 1;
    }
}

static bool rule_scalar(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    const exact        *x = &r->exact;
    scalar_fn           fn = function_called(n->op->name);
    mtf_dtype           type = dtype_compute(in[0].type);
    const tensor_value *b = n->nargs > 1 ? &in[1] : &in[0];
    tour                w = tour_over(out->shape);
    int                 first = tour_track(&w, in[0].shape), second = tour_track(&w, b->shape);
    int64_t             k = 0;
    do out->at[k++] = exact_scalar(x, fn, type, in[0].at[w.at[first]], b->at[w.at[second]]);
    while (tour_next(&w));
    if (exact_is_real(type)) out->degree = degree_after(r, fn, in[0].degree, b->degree);
    return true;
}

static bool rule_where(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)r, (void)n;
    tour w = tour_over(out->shape);
    int  c = tour_track(&w, in[0].shape), x = tour_track(&w, in[1].shape),
        y = tour_track(&w, in[2].shape);
    int64_t k = 0;
    do out->at[k++] = in[0].at[w.at[c]] ? in[1].at[w.at[x]] : in[2].at[w.at[y]];
    while (tour_next(&w));
    out->degree = larger_degree(&in[1], &in[2]);
    return true;
}

static bool rule_cast(reference *r, const node *n, const tensor_value *in, tensor_value *out)
{
    (void)n;
    for (int64_t k = 0; k < out->n; k++)
        out->at[k] = exact_cast(&r->exact, out->type, in[0].type, in[0].at[k]);
    if (exact_is_real(out->type))
        out->degree = in[0].degree;
    else
        note_hashed(r, in[0].degree);
    return true;
}

rule *plain_elementwise_rule(const char *name)
{
    if (strcmp(name, "where") == 0) return rule_where;
    if (strcmp(name, "cast") == 0) return rule_cast;
    return function_called(name) == SCALAR_FNS ? NULL : rule_scalar;
}
