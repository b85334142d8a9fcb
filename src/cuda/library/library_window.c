/* Convolutions by the GPU's library, cuDNN.
 *
 * Only engines are taken whose sums are those of the language: made in f32, of factors as they
 * are, or of f32 rounded to tf32, in the same order in every run.
 */
#include "cuda/library/library_window.h"

#if MTF_HAVE_CUDNN
#include <string.h>

#include "cuda/library/window_graph.h"
#include "program/window_form.h"

static const int64_t most_space = (int64_t)1 << 30, some_space = (int64_t)16 << 20; /* bytes */

static bool suits(const instr *i)
{
    return i->window.library;
}

/* Some engines lay operands out anew, others add up parts of a filter's gradient. */
static int64_t bytes_of(const instr *i)
{
    int64_t bytes = some_space;
    for (int k = 0; k < 3; k++) bytes += instr_operand_bytes(i, k);
    return bytes < most_space ? bytes : most_space;
}

static bool is_known(const cuda_gpu *k)
{
    (void)k; /* engines say by themselves what they do */
    return true;
}

/* ---- what is asked ---- */

static cudnnDataType_t type_of(mtf_dtype type)
{
    return type == MTF_F32    ? CUDNN_DATA_FLOAT
           : type == MTF_BF16 ? CUDNN_DATA_BFLOAT16
                              : CUDNN_DATA_HALF;
}

/* The library has no fewer than two spatial dimensions. */
static window_problem problem_of(const instr *i)
{
    const window_args *a = &i->window;
    int                first = a->nspatial == 1;
    window_problem     p = {.kind = a->kind,
                            .type = type_of(i->in[0].type),
                            .result = type_of(i->out[0].type),
                            .nspatial = a->nspatial + first,
                            .batch = instr_elements(i),
                            .chans = a->chans,
                            .outs = a->outs};
    if (first) p.in_size[0] = p.out_size[0] = p.taps[0] = p.step[0] = p.dilation[0] = 1;
    for (int d = 0; d < a->nspatial; d++) {
        int to = first + d;
        p.in_size[to] = a->in_size[d], p.out_size[to] = a->out_size[d], p.taps[to] = a->taps[d];
        p.step[to] = a->step[d], p.dilation[to] = a->dilation[d];
        p.before[to] = a->before[d], p.after[to] = window_after(a, d);
    }
    return p;
}

/* Notes of engines that are not taken.  f32 is the library's only if its factors may be rounded. */
static unsigned refused(const window_problem *p)
{
    unsigned notes = 1u << CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC |
                     1u << CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION |
                     1u << CUDNN_NUMERICAL_NOTE_FFT | 1u << CUDNN_NUMERICAL_NOTE_WINOGRAD |
                     1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 |
                     1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 |
                     1u << CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;
    if (p->type != CUDNN_DATA_FLOAT) notes |= 1u << CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    return notes;
}

static void build(dnn_graph *g, const int64_t *numbers)
{
    window_problem p;
    memcpy(&p, numbers, sizeof p);
    window_graph(g, &p);
}

static dnn_request request_of(const instr *i)
{
    window_problem p = problem_of(i);
    dnn_request    r = {.kind = "window 4",
                        .build = build,
                        .limits = {.workspace = bytes_of(i),
                                   .without = refused(&p),
                                   /* other engines are old, and slow */
                                   .with = 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE}};
    _Static_assert(sizeof p <= sizeof r.problem, "a problem has more numbers than a request");
    memcpy(r.problem, &p, sizeof p);
    return r;
}

static bool pack(cuda_context *c, arena *a, const instr *i, void *const *addresses, void *workspace,
                 library_calls *to)
{
    static const int64_t numbers[][3] = {[WINDOW_FORWARD] = {WINDOW_Y, WINDOW_X, WINDOW_W},
                                         [WINDOW_INPUT] = {WINDOW_X, WINDOW_Y, WINDOW_W},
                                         [WINDOW_FILTER] = {WINDOW_W, WINDOW_X, WINDOW_Y}};
    TRY(to->packs = arena_new(a, dnn_part));
    to->packs[0] = dnn_pack(&c->device->api.dnn, 3, numbers[i->window.kind], addresses, workspace);
    to->n = to->packs[0] != NULL;
    return to->n == 1;
}

const library_kind library_window = {
    .suits = suits, .bytes = bytes_of, .is_known = is_known, .request = request_of, .pack = pack};
#endif
