/* Attention by the GPU's library, cuDNN.
 *
 * The gradient's working space has a number for each pair of a query and a position: with
 * many batches and heads it is computed in several calls, each for some of them.
 */
#include "cuda/library/library_attention.h"

#if MTF_HAVE_CUDNN
#include <assert.h>
#include <math.h>
#include <string.h>

#include "cuda/known/cudnn_use.h"
#include "cuda/library/attention_graph.h"
#include "program/attention_cost.h"

/* ---- forms ---- */

/* An instruction as batches of heads: loops of it, -1 for none; all others have one iteration. */
typedef struct attention_view {
    int64_t batch, heads;
    int     batch_loop, head_loop; /* the inner one of loops that are one */
    bool    causal;
} attention_view;

enum { LEAST_QUERIES = 64, MOST_HEADS = 65535 };
enum { UNIT = 8, UNIT_OF_ROWS = 4 }; /* elements: 16 bytes */
/* Flops.  Smaller attention takes some microseconds, by cuDNN or by our kernels. */
static const int64_t worth_it = (int64_t)1 << 32;
static const int64_t most_space = (int64_t)512 << 20; /* bytes of the gradient's working space */

/* Operands by the names of graphs; NULL: it has none. */
static const access *operand_of(const instr *i, graph_tensor which)
{
    static const int inputs[GRAPH_TENSORS] = {
        [GRAPH_Q] = ATTENTION_Q, [GRAPH_K] = ATTENTION_K,     [GRAPH_V] = ATTENTION_V,
        [GRAPH_Y] = ATTENTION_Y, [GRAPH_LSE] = ATTENTION_LSE, [GRAPH_DY] = ATTENTION_DY};
    bool grad = i->kind == INSTR_ATTENTION_GRAD;
    if (which >= GRAPH_DQ) return grad ? &i->out[which - GRAPH_DQ] : NULL;
    if (!grad && (which == GRAPH_Y || which == GRAPH_LSE)) return &i->out[which - GRAPH_Y];
    if (which == GRAPH_DELTA || (!grad && which > GRAPH_V)) return NULL;
    int at = i->attention->at[inputs[which]];
    return at < 0 ? NULL : &i->in[at];
}

static bool lies_along(graph_tensor which)
{
    return which == GRAPH_K || which == GRAPH_V || which == GRAPH_DK || which == GRAPH_DV;
}

/* From one query, or one position of the memory, to the next. */
static int64_t step_of(const instr *i, graph_tensor which)
{
    const attention_args *a = i->attention;
    const access         *x = operand_of(i, which);
    if (which == GRAPH_K) return a->step[ATTENTION_K];
    if (which == GRAPH_V) return a->step[ATTENTION_V];
    if (which == GRAPH_DK) return a->out_step[1];
    if (which == GRAPH_DV) return a->out_step[2];
    return x ? x->stride[a->query] : 0;
}

/* Are two loops one longer loop for all operands? */
static bool is_one_loop(const instr *i, int outer, int inner)
{
    for (graph_tensor t = GRAPH_Q; t <= GRAPH_DV; t++) {
        const access *x = operand_of(i, t);
        if (x && x->stride[outer] != x->stride[inner] * i->size[inner]) return false;
    }
    return true;
}

/* Loops besides the query's, as two at most. */
static bool find_loops(const instr *i, attention_view *v)
{
    int64_t size[2] = {1, 1};
    int     loop[2] = {-1, -1}, n = 0;
    for (int l = 0; l < i->nloops; l++) {
        if (l == i->attention->query || i->size[l] == 1) continue;
        if (n > 0 && is_one_loop(i, loop[n - 1], l))
            n--;
        else if (n == 2)
            return false;
        else
            size[n] = 1;
        loop[n] = l;
        size[n++] *= i->size[l];
    }
    v->batch = size[0], v->batch_loop = loop[0];
    v->heads = size[1], v->head_loop = loop[1];
    return v->heads <= MOST_HEADS && v->batch <= MOST_HEADS;
}

/* Do all queries see all positions, or all up to their own? */
static bool find_mask(const instr *i, attention_view *v)
{
    const attention_args *a = i->attention;
    int64_t               last = i->size[a->query] - 1;
    span                  first_sees = attention_seen(a, 0), last_sees = attention_seen(a, last);
    if (first_sees.begin != 0 || last_sees.begin != 0) return false;
    v->causal = first_sees.size < a->memory;
    return !v->causal ||
           (first_sees.size == 1 && last_sees.size == (last < a->memory ? last + 1 : a->memory));
}

/* Does it lie in memory as the library wants it: lines aligned, nothing repeated, nothing backwards? */
static bool lies_well(const instr *i, graph_tensor which, mtf_dtype type)
{
    const access *x = operand_of(i, which);
    if (!x) return true;
    bool    numbers = which == GRAPH_LSE;
    int64_t unit = numbers ? 1 : UNIT, step = step_of(i, which);
    if (x->type != (numbers ? MTF_F32 : type) || step <= 0 || step % unit != 0) return false;
    if (x->offset % (numbers ? UNIT_OF_ROWS : UNIT) != 0) return false;
    for (int l = 0; l < i->nloops; l++)
        if (i->size[l] > 1 && l != i->attention->query &&
            (x->stride[l] <= 0 || x->stride[l] % unit != 0))
            return false;
    return true;
}

static bool find_view(const instr *i, attention_view *v)
{
    const attention_args *a = i->attention;
    bool                  grad = i->kind == INSTR_ATTENTION_GRAD;
    if (!(grad || i->kind == INSTR_ATTENTION) || !attention_is_plain(i)) return false;
    if (a->query < 0 || i->size[a->query] < LEAST_QUERIES || a->memory < LEAST_QUERIES)
        return false;
    if (a->key != a->value || (a->key != 64 && a->key != 128) || !(a->scale > 0)) return false;
    mtf_dtype type = i->in[a->at[ATTENTION_Q]].type;
    if (!dtype_is_short(type) || (grad && a->at[ATTENTION_Y] < 0)) return false;
    for (graph_tensor t = GRAPH_Q; t <= GRAPH_DV; t++)
        if (!lies_well(i, t, type)) return false;
    return instr_elements(i) > 0 && find_loops(i, v) && find_mask(i, v);
}

/* ---- working space ---- */

/* Batches and heads that one call computes. */
typedef struct attention_share {
    int64_t batch, heads;
    int64_t space; /* bytes, of the library */
    int64_t delta; /* bytes, of a number for each row */
} attention_share;

static int64_t rounded(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static attention_share share_of(const instr *i, int64_t batch, int64_t heads)
{
    enum { TILE = 128, SOME = 4096 };
    attention_share s = {batch, heads, SOME, 0};
    int64_t         queries = i->size[i->attention->query], all = batch * heads;
    if (i->kind != INSTR_ATTENTION_GRAD) return s;
    s.space += all * rounded(queries, TILE) * rounded(i->attention->memory, TILE) * 2;
    s.delta = rounded(all * queries * 4, 256);
    return s;
}

static int64_t largest_part(int64_t of, int64_t most)
{
    int64_t part = most < of ? most : of;
    while (part > 1 && of % part != 0) part--;
    return part;
}

/* As much as fits into the working space that a program may have. */
static attention_share choose_share(const instr *i, const attention_view *v)
{
    attention_share one = share_of(i, 1, 1), row = share_of(i, 1, v->heads);
    if (row.space <= most_space)
        return share_of(i, largest_part(v->batch, most_space / row.space), v->heads);
    return share_of(i, 1, largest_part(v->heads, most_space / one.space));
}

/* Is what the library stores of rows aligned at the beginning of each call? */
static bool is_aligned(const instr *i, const attention_view *v, const attention_share *s)
{
    const access *lse = operand_of(i, GRAPH_LSE);
    return (s->batch == v->batch || lse->stride[v->batch_loop] * s->batch % UNIT_OF_ROWS == 0) &&
           (s->heads == v->heads || lse->stride[v->head_loop] * s->heads % UNIT_OF_ROWS == 0);
}

static bool suits(const instr *i)
{
    cudnn_use      use = cudnn_use_asked();
    attention_view v;
    if (!find_view(i, &v) || use == CUDNN_NEVER) return false;
    attention_share s = choose_share(i, &v);
    if (s.space > most_space || !is_aligned(i, &v, &s)) return false;
    return attention_flops(i) >= worth_it || use == CUDNN_WHERE_POSSIBLE;
}

static int64_t bytes_of(const instr *i)
{
    attention_view v;
    if (!find_view(i, &v)) return 0;
    attention_share s = choose_share(i, &v);
    return s.space + s.delta;
}

/* ---- instructions ---- */

/* Gradients were seen to be the same bits in every run on GPUs of this generation. */
static bool is_known(const cuda_gpu *k)
{
    return strncmp(k->architecture, "sm_90", 5) == 0;
}

/* What one call of the library computes, and the working space that it may have. */
static attention_problem problem_of(const instr *i, int64_t *most)
{
    attention_view    v;
    attention_problem p = {.gradient = i->kind == INSTR_ATTENTION_GRAD};
    bool              suits_it = find_view(i, &v);
    assert(suits_it), (void)suits_it;
    attention_share s = choose_share(i, &v);
    p.causal = v.causal;
    p.type = i->in[i->attention->at[ATTENTION_Q]].type == MTF_BF16 ? CUDNN_DATA_BFLOAT16
                                                                   : CUDNN_DATA_HALF;
    p.batch = s.batch, p.heads = s.heads;
    p.queries = i->size[i->attention->query], p.memory = i->attention->memory;
    p.size = i->attention->key;
    for (graph_tensor t = GRAPH_Q; t <= GRAPH_DV; t++) {
        const access *x = operand_of(i, t);
        if (!x) continue;
        int64_t lines = lies_along(t) ? p.memory : p.queries, *stride = p.stride[t];
        stride[2] = step_of(i, t);
        stride[1] = v.head_loop < 0 ? stride[2] * lines : x->stride[v.head_loop];
        stride[0] = v.batch_loop < 0 ? stride[1] * p.heads : x->stride[v.batch_loop];
    }
    if (p.gradient) {
        p.stride[GRAPH_DELTA][0] = p.heads * p.queries;
        p.stride[GRAPH_DELTA][1] = p.queries;
        p.stride[GRAPH_DELTA][2] = 1;
    }
    *most = s.space;
    return p;
}

static void build(dnn_graph *g, const int64_t *numbers)
{
    attention_problem p;
    memcpy(&p, numbers, sizeof p);
    attention_graph(g, &p);
}

static dnn_request request_of(const instr *i)
{
    dnn_request       r = {.kind = "attention 2", .build = build};
    attention_problem p = problem_of(i, &r.limits.workspace);
    _Static_assert(sizeof p <= sizeof r.problem, "a problem has more numbers than a request");
    memcpy(r.problem, &p, sizeof p);
    return r;
}

/* Numbers of the host's memory that graphs read. */
typedef struct host_numbers {
    float scale, least, one;
} host_numbers;

/* Where the operands of a call begin. */
static dnn_part pack_of(cuda_context *c, const instr *i, const attention_problem *p,
                        host_numbers *l, void *const *addresses, void *workspace, int64_t batch,
                        int64_t head)
{
    int64_t numbers[GRAPH_TENSORS];
    void   *at[GRAPH_TENSORS];
    int     n = 0;
    for (graph_tensor t = GRAPH_Q; t <= GRAPH_DV; t++) {
        const access *x = operand_of(i, t);
        if (!x) continue;
        int64_t offset = batch * p->stride[t][0] + head * p->stride[t][1];
        int     k =
            x >= i->out && x < i->out + i->nout ? (int)(x - i->out) : i->nout + (int)(x - i->in);
        numbers[n] = t;
        at[n++] = (char *)addresses[k] + offset * (int64_t)mtf_dtype_bytes(x->type);
    }
    numbers[n] = GRAPH_SCALE, at[n++] = &l->scale;
    if (p->causal) numbers[n] = GRAPH_LEAST, at[n++] = &l->least;
    if (p->gradient) {
        int64_t delta = share_of(i, p->batch, p->heads).delta;
        numbers[n] = GRAPH_ONE, at[n++] = &l->one;
        numbers[n] = GRAPH_DELTA, at[n++] = workspace;
        workspace = (char *)workspace + delta;
    }
    return dnn_pack(&c->device->api.dnn, n, numbers, at, workspace);
}

static bool pack(cuda_context *c, arena *a, const instr *i, void *const *addresses, void *workspace,
                 library_calls *to)
{
    int64_t           most;
    attention_view    v;
    attention_problem p = problem_of(i, &most);
    host_numbers     *l = arena_new(a, host_numbers);
    TRY(l && find_view(i, &v));
    *l = (host_numbers){.scale = (float)i->attention->scale, .least = -INFINITY, .one = 1};
    TRY(to->packs = arena_array(a, dnn_part, v.batch / p.batch * (v.heads / p.heads)));
    for (int64_t b = 0; b < v.batch; b += p.batch)
        for (int64_t h = 0; h < v.heads; h += p.heads) {
            dnn_part one = pack_of(c, i, &p, l, addresses, workspace, b, h);
            TRY(one != NULL);
            to->packs[to->n++] = one;
        }
    return true;
}

const library_kind library_attention = {
    .suits = suits, .bytes = bytes_of, .is_known = is_known, .request = request_of, .pack = pack};

int library_attention_delta(const program *p, int grad)
{
    const instr *g = &p->instrs[grad];
    int          b = g->in[g->attention->at[ATTENTION_DELTA]].buffer, writer = -1;
    if (p->buffers[b].kind != BUFFER_TEMPORARY) return -1;
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        for (int o = 0; o < i->nout; o++) {
            if (i->out[o].buffer != b) continue;
            if (writer >= 0 || i->nout > 1 || i->kind != INSTR_MAP) return -1;
            writer = k;
        }
        for (int o = 0; o < i->nin; o++)
            if (i->in[o].buffer == b && k != grad) return -1;
    }
    return writer;
}

#else
int library_attention_delta(const program *p, int grad)
{
    (void)p, (void)grad;
    return -1;
}
#endif
