/* Attention: named dimensions to instructions. */
#include "program/emit.h"

#include <assert.h>

#include "program/emit_one.h"

static int64_t size_of(const slice *s, const char *dim)
{
    int d = shape_find(&s->shape, dim);
    return d < 0 ? 1 : s->shape.dims[d].size;
}

static int64_t stride_of(const slice *s, const char *dim)
{
    int d = shape_find(&s->shape, dim);
    return d < 0 ? 0 : s->stride[d];
}

/* Makes elements along `dim` adjacent, and positions of the memory ordered. */
static bool straighten(emitter *e, const char *dim, slice *s)
{
    bool beside = stride_of(s, dim) == 1 || size_of(s, dim) == 1;
    if (!slice_is_uniform(s) && beside && stride_of(s, MEMORY_DIM) >= 0) return true;
    mtf_shape last = {.ndims = 1, .dims = {{dim, size_of(s, dim)}}};
    mtf_shape order = mtf_shape_plus(mtf_shape_minus(s->shape, last), last);
    *s = slice_as(s, &order);
    return emit_dense(e, s);
}

/* The instruction's loops do not include the dimensions that the kernel iterates over by itself. */
static access row_access(const slice *s, const mtf_shape *rows)
{
    slice       bare = *s;
    const char *own[] = {MEMORY_DIM, KEY_DIM, VALUE_DIM};
    for (int k = 0; k < 3; k++)
        if (shape_find(&bare.shape, own[k]) >= 0) bare = slice_drop(&bare, own[k]);
    return slice_access(&bare, rows);
}

static bool prepare_operands(emitter *e, const attention_args *how, const slice *given, slice *in)
{
    static const char *const along[ATTENTION_OPERANDS] = {[ATTENTION_Q] = KEY_DIM,
                                                          [ATTENTION_K] = KEY_DIM,
                                                          [ATTENTION_V] = VALUE_DIM,
                                                          [ATTENTION_DY] = VALUE_DIM};
    for (int r = 0; r < ATTENTION_OPERANDS; r++) {
        if (how->at[r] < 0) continue;
        in[r] = given[r];
        TRY(along[r] ? straighten(e, along[r], &in[r]) : emit_real(e, &in[r]));
    }
    return true;
}

bool emit_attention(emitter *e, instr_kind kind, const attention_args *given, const slice *given_in,
                    int niterations, const slice *iterations, int nout, const slice *out)
{
    attention_args *how = arena_copy(&e->program->arena, given, sizeof *given);
    slice           in[ATTENTION_OPERANDS], at[MAX_NESTING + 1];
    int             nin = 0;
    TRY(how && prepare_operands(e, how, given_in, in));
    for (int k = 0; k < niterations; k++) {
        at[k] = iterations[k];
        TRY(emit_real(e, &at[k]));
    }
    mtf_shape key = {.ndims = 1, .dims = {{KEY_DIM, size_of(&in[ATTENTION_Q], KEY_DIM)}}};
    mtf_shape rows = mtf_shape_minus(in[ATTENTION_Q].shape, key);
    how->key = key.dims[0].size;
    how->value = size_of(&in[ATTENTION_V], VALUE_DIM);
    how->memory = size_of(&in[ATTENTION_K], MEMORY_DIM);
    /* A processor without a part of what is summed contributes zeros. */
    if (kind == INSTR_ATTENTION_GRAD && (shape_size(&rows) == 0 || how->memory == 0)) {
        for (int o = 0; o < nout; o++) TRY(emit_fill(e, 0, &out[o]));
        return true;
    }
    for (int r = 0; r < ATTENTION_OPERANDS; r++) nin += how->at[r] >= 0;
    instr *i = emit_instr(e, kind, nout, nin + niterations, &rows);
    TRY(i != NULL);
    nin = 0;
    for (int r = 0; r < ATTENTION_OPERANDS; r++) {
        if (how->at[r] < 0) continue;
        how->at[r] = nin;
        how->step[r] = stride_of(&in[r], MEMORY_DIM);
        i->in[nin++] = row_access(&in[r], &rows);
    }
    how->first_iteration = nin;
    for (int k = 0; k < niterations; k++) i->in[nin++] = slice_access(&at[k], &rows);
    for (int o = 0; o < nout; o++) {
        how->out_step[o] = stride_of(&out[o], MEMORY_DIM);
        i->out[o] = row_access(&out[o], &rows);
    }
    i->attention = how;
    return true;
}

bool emit_attention_join(emitter *e, const slice *sum, const slice *weights, const slice *most,
                         const slice *y, const slice *lse)
{
    instr *i = emit_instr(e, INSTR_ATTENTION_JOIN, 2, 3, &y->shape);
    TRY(i != NULL);
    assert(y->shape.ndims > 0);
    i->out[0] = slice_access(y, &y->shape);
    i->out[1] = slice_access(lse, &y->shape);
    i->in[0] = slice_access(sum, &y->shape);
    i->in[1] = slice_access(weights, &y->shape);
    i->in[2] = slice_access(most, &y->shape);
    return true;
}
