/* Emitting: from slices to instructions. */
#include "program/emit.h"

#include <assert.h>
#include <math.h>

#include "program/emit_one.h"

slice emit_fresh(emitter *e, mtf_dtype type, const mtf_shape *shape)
{
    program *p = e->program;
    slice    none = slice_uniform(0, type, shape);
    if (!mtf_ok(p->session) || !arena_push(&p->arena, p->buffers, p->nbuffers, p->buffers_room))
        return none;
    int64_t bytes = shape_size(shape) * (int64_t)mtf_dtype_bytes(type);
    p->buffers[p->nbuffers] = (buffer){
        .kind = BUFFER_TEMPORARY, .bytes = bytes, .cause = e->cause, .shares = p->nbuffers};
    return slice_dense(p->nbuffers++, type, shape);
}

bool emit_real(emitter *e, slice *s)
{
    if (!slice_is_uniform(s)) return true;
    /* One element is enough, with stride 0 along every dimension. */
    slice one = emit_fresh(e, s->type, &(mtf_shape){0});
    TRY(!slice_is_uniform(&one) && emit_fill_scalar(e, s->value, &one));
    *s = slice_as(&one, &s->shape);
    return true;
}

bool emit_whole(emitter *e, slice *s)
{
    return !slice_is_uniform(s) || emit_dense(e, s);
}

bool emit_dense(emitter *e, slice *s)
{
    if (slice_is_dense(s)) return true;
    slice copy = emit_fresh(e, s->type, &s->shape);
    TRY(!slice_is_uniform(&copy));
    TRY(emit_move(e, s, &copy));
    *s = copy;
    return true;
}

/* ---- map ---- */

static bool emit_map(emitter *e, int nsteps, const scalar_step *steps, int nin, const slice *in,
                     int nout, const slice *out, const int *results)
{
    const mtf_shape *loops = &out[0].shape;
    instr           *i = emit_instr(e, INSTR_MAP, nout, nin, loops);
    TRY(i != NULL);
    for (int k = 0; k < nout; k++) i->out[k] = slice_access(&out[k], loops);
    for (int k = 0; k < nin; k++) i->in[k] = slice_access(&in[k], loops);
    arena *a = &e->program->arena;
    i->map = (map_args){.nsteps = nsteps,
                        .steps = arena_copy(a, steps, sizeof *steps * (size_t)nsteps),
                        .results = arena_copy(a, results, sizeof *results * (size_t)nout)};
    return i->map.steps && i->map.results;
}

/* Uniform operands become immediates, so registers are renumbered: the other inputs come first. */
bool emit_scalar(emitter *e, scalar_fn fn, int nin, const slice *in, const slice *out)
{
    slice       real[3];
    scalar_step steps[4];
    int         reg[3] = {0}, nreal = 0, nsteps = 0;
    for (int k = 0; k < nin; k++)
        if (!slice_is_uniform(&in[k])) {
            reg[k] = nreal;
            real[nreal++] = in[k];
        }
    for (int k = 0; k < nin; k++)
        if (slice_is_uniform(&in[k])) {
            reg[k] = nreal + nsteps;
            steps[nsteps++] = (scalar_step){
                .fn = FN_IMMEDIATE, .type = dtype_compute(in[k].type), .value = in[k].value};
        }
    mtf_dtype type = dtype_compute(fn == FN_SELECT ? in[1].type : in[0].type);
    int       result = nreal + nsteps;
    steps[nsteps++] =
        (scalar_step){.fn = fn, .type = type, .from = type, .a = reg[0], .b = reg[1], .c = reg[2]};
    return emit_map(e, nsteps, steps, nreal, real, 1, out, &result);
}

bool emit_cast(emitter *e, const slice *in, const slice *out)
{
    scalar_step step = {
        .fn = FN_CAST, .type = dtype_compute(out->type), .from = dtype_compute(in->type)};
    if (step.type == step.from) return emit_map(e, 0, NULL, 1, in, 1, out, &(int){0});
    return emit_map(e, 1, &step, 1, in, 1, out, &(int){1});
}

bool emit_widened(emitter *e, slice *s)
{
    mtf_dtype wide = dtype_compute(s->type);
    if (wide == s->type) return true;
    slice w = slice_of_scalar(s->value, wide, &s->shape);
    if (!slice_is_uniform(s)) {
        w = emit_fresh(e, wide, &s->shape);
        TRY(!slice_is_uniform(&w) && emit_cast(e, s, &w));
    }
    w.cut = s->cut, w.finer = s->finer;
    w.owed = s->owed, w.owes = s->owes;
    *s = w;
    return true;
}

bool emit_narrowed(emitter *e, const slice *sum, slice *out)
{
    mtf_dtype type = out->type;
    if (type == sum->type) {
        *out = *sum;
        return true;
    }
    *out = emit_fresh(e, type, &sum->shape);
    return emit_cast(e, sum, out);
}

bool emit_fill(emitter *e, double value, const slice *out)
{
    return emit_fill_scalar(e, dtype_scalar(out->type, value), out);
}

bool emit_fill_scalar(emitter *e, scalar value, const slice *out)
{
    scalar_step step = {.fn = FN_IMMEDIATE, .type = dtype_compute(out->type), .value = value};
    return emit_map(e, 1, &step, 0, NULL, 1, out, &(int){0});
}

bool emit_range(emitter *e, const char *dim, int64_t first, const slice *out)
{
    scalar_step step = {
        .fn = FN_INDEX, .type = dtype_compute(out->type), .a = shape_find(&out->shape, dim)};
    if (dtype_is_float(out->type))
        step.value.real = (double)first;
    else
        step.value.whole = first;
    return emit_map(e, 1, &step, 0, NULL, 1, out, &(int){0});
}

/* ---- copies and sums ---- */

static bool emit_copy(emitter *e, instr_kind kind, const slice *in, const slice *out)
{
    slice from = *in;
    TRY(emit_real(e, &from));
    const mtf_shape *loops = kind == INSTR_ADD_INTO ? &from.shape : &out->shape;
    instr           *i = emit_instr(e, kind, 1, 1, loops);
    TRY(i != NULL);
    i->out[0] = slice_access(out, loops);
    i->in[0] = slice_access(&from, loops);
    return true;
}

bool emit_move(emitter *e, const slice *in, const slice *out)
{
    if (slice_is_uniform(in)) return emit_fill_scalar(e, in->value, out);
    return emit_copy(e, INSTR_MOVE, in, out);
}

bool emit_add_into(emitter *e, const slice *in, const slice *out)
{
    return emit_copy(e, INSTR_ADD_INTO, in, out);
}

/* The result of reducing no elements. */
static double fold_identity(fold_kind kind, mtf_dtype type)
{
    bool   real = dtype_is_float(type);
    double most = real               ? (double)INFINITY
                  : type == MTF_I32  ? INT32_MAX
                  : type == MTF_BOOL ? 1
                                     : 0x1p63;
    double least = type == MTF_BOOL ? 0 : real ? -most : type == MTF_I32 ? INT32_MIN : -0x1p63;
    return kind == FOLD_MAX ? least : kind == FOLD_MIN ? most : kind == FOLD_PROD ? 1 : 0;
}

bool emit_fold(emitter *e, fold_kind kind, const slice *in, const slice *out)
{
    slice     from = *in;
    mtf_shape reduced = mtf_shape_minus(from.shape, out->shape),
              loops = mtf_shape_plus(out->shape, reduced);
    if (shape_size(&reduced) == 0) return emit_fill(e, fold_identity(kind, out->type), out);
    bool rounds = dtype_is_float(in->type) && (kind == FOLD_SUM || kind == FOLD_PROD);
    TRY(rounds ? emit_whole(e, &from) : emit_real(e, &from));
    instr *i = emit_instr(e, INSTR_FOLD, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = slice_access(out, &loops);
    i->in[0] = slice_access(&from, &loops);
    i->fold = (fold_args){kind, out->shape.ndims};
    return true;
}

/* ---- indices and order ---- */

/* Loops: first the index's dimensions, then those that only the data has. */
static instr *indexed(emitter *e, instr_kind kind, const slice *in, const slice *index,
                      const slice *out)
{
    mtf_shape loops = mtf_shape_plus(index->shape, kind == INSTR_GATHER ? out->shape : in->shape);
    instr    *i = emit_instr(e, kind, 1, 2, &loops);
    if (!i) return NULL;
    i->out[0] = slice_access(out, &loops);
    i->in[0] = slice_access(in, &loops);
    i->in[1] = slice_access(index, &loops);
    i->gather.nindex = index->shape.ndims;
    return i;
}

/* Removes the indexed dimension from the view: the kernel steps along it by itself. */
static slice without(const slice *s, const char *dim, gather_args *along)
{
    int d = shape_find(&s->shape, dim);
    assert(d >= 0);
    along->along = s->shape.dims[d].size;
    along->along_stride = s->stride[d];
    return slice_drop(s, dim);
}

bool emit_gather(emitter *e, const slice *table, const slice *index, const char *dim,
                 const slice *out)
{
    slice       from = *table, at = *index;
    gather_args along = {0};
    TRY(emit_real(e, &from) && emit_real(e, &at));
    from = without(&from, dim, &along);
    instr *i = indexed(e, INSTR_GATHER, &from, &at, out);
    TRY(i != NULL);
    along.nindex = i->gather.nindex;
    i->gather = along;
    return true;
}

bool emit_scatter(emitter *e, const slice *in, const slice *index, const char *dim, bool set,
                  const slice *out)
{
    slice       from = *in, at = *index;
    gather_args along = {.set = set};
    TRY(emit_real(e, &from) && emit_real(e, &at));
    slice  to = without(out, dim, &along);
    instr *i = indexed(e, INSTR_SCATTER, &from, &at, &to);
    TRY(i != NULL);
    along.nindex = i->gather.nindex;
    i->gather = along;
    return true;
}

bool emit_scan(emitter *e, const slice *in, const char *dim, bool exclusive, bool reverse,
               const slice *out)
{
    slice from = *in;
    TRY(emit_real(e, &from));
    int d = shape_find(&from.shape, dim), o = shape_find(&out->shape, dim);
    if (from.shape.dims[d].size == 0) return true; /* an empty part */
    mtf_shape loops = slice_drop(&from, dim).shape;
    instr    *i = emit_instr(e, INSTR_SCAN, 1, 1, &loops);
    TRY(i != NULL);
    i->out[0] = slice_access(out, &loops);
    i->in[0] = slice_access(&from, &loops);
    i->scan =
        (scan_args){from.shape.dims[d].size, from.stride[d], out->stride[o], exclusive, reverse};
    return true;
}

bool emit_order(emitter *e, const slice *in, const char *dim, const char *k_dim, bool descending,
                const slice *values, const slice *indices)
{
    slice from = *in;
    TRY(emit_real(e, &from));
    int       d = shape_find(&from.shape, dim), k = shape_find(&values->shape, k_dim);
    int       k_index = shape_find(&indices->shape, k_dim);
    mtf_shape loops = slice_drop(&from, dim).shape;
    instr    *i = emit_instr(e, INSTR_ORDER, 2, 1, &loops);
    TRY(i != NULL);
    i->out[0] = slice_access(values, &loops);
    i->out[1] = slice_access(indices, &loops);
    i->in[0] = slice_access(&from, &loops);
    i->order =
        (order_args){from.shape.dims[d].size, from.stride[d],           values->shape.dims[k].size,
                     values->stride[k],       indices->stride[k_index], descending};
    return true;
}

bool emit_nucleus(emitter *e, const slice *scores, const slice *logits, const slice *k,
                  const slice *p, const char *dim, const slice *out)
{
    slice     in[4] = {*scores, *logits, *k, *p};
    mtf_shape loops = out->shape;
    for (int n = 0; n < 4; n++) TRY(emit_real(e, &in[n]));
    instr *i = emit_instr(e, INSTR_NUCLEUS, 1, 4, &loops);
    TRY(i != NULL);
    i->out[0] = slice_access(out, &loops);
    for (int n = 0; n < 4; n++) i->in[n] = slice_access(&in[n], &loops);
    int score = shape_find(&in[0].shape, dim), logit = shape_find(&in[1].shape, dim);
    i->nucleus =
        (nucleus_args){in[0].shape.dims[score].size, in[0].stride[score], in[1].stride[logit]};
    return true;
}

/* ---- random numbers, effects, loops ---- */

bool emit_draw(emitter *e, const draw_args *how, int niterations, const slice *iterations,
               const slice *out)
{
    slice *at = arena_array(&e->program->arena, slice, niterations);
    TRY(at != NULL);
    for (int k = 0; k < niterations; k++) {
        at[k] = iterations[k];
        TRY(emit_real(e, &at[k]));
    }
    instr *i = emit_instr(e, INSTR_DRAW, 1, niterations, &out->shape);
    TRY(i != NULL);
    i->out[0] = slice_access(out, &out->shape);
    for (int k = 0; k < niterations; k++) i->in[k] = slice_access(&at[k], &out->shape);
    i->draw = *how;
    return true;
}

bool emit_say(emitter *e, const say_args *how, const slice *x)
{
    slice from = *x;
    TRY(emit_real(e, &from));
    instr *i = emit_instr(e, INSTR_SAY, 0, 1, &from.shape);
    TRY(i != NULL);
    i->in[0] = slice_access(&from, &from.shape);
    i->say = *how;
    return true;
}

int emit_loop(emitter *e, int64_t trips)
{
    if (e->nesting == MAX_NESTING) {
        fail(&e->program->session->fault, ERR_USAGE, "loops are nested more than %d deep",
             MAX_NESTING);
        return -1;
    }
    instr *i = emit_instr(e, INSTR_LOOP, 0, 0, NULL);
    if (!i) return -1;
    e->nesting++;
    i->loop = (loop_args){trips, -1};
    return e->program->ninstrs - 1;
}

bool emit_test(emitter *e, int loop, const slice *flag)
{
    slice f = *flag;
    TRY(emit_real(e, &f));
    instr *i = emit_instr(e, INSTR_TEST, 0, 1, NULL);
    TRY(i != NULL);
    i->in[0] = slice_access(&f, &f.shape);
    i->loop = (loop_args){-1, loop}; /* until emit_again sets the end */
    return true;
}

bool emit_again(emitter *e, int loop)
{
    instr *i = emit_instr(e, INSTR_AGAIN, 0, 0, NULL);
    TRY(i != NULL && loop >= 0);
    int end = e->program->ninstrs - 1;
    e->nesting--;
    i->loop = (loop_args){-1, loop};
    e->program->instrs[loop].loop.other = end;
    for (int k = loop + 1; k < end; k++) {
        instr *test = &e->program->instrs[k];
        if (test->kind == INSTR_TEST && test->loop.other == loop) test->loop.other = end;
    }
    return true;
}
