/* Gradients of attention: tasks of threads, sums in compute type.
 *
 * Weights are computed again from q, k and lse.  dq is a sum over blocks of the memory, dk and dv
 * over rows and over the batches that share a memory.  A result in a short type is rounded once,
 * when its sum is complete.
 */
#include <string.h>

#include "base/whole.h"
#include "cpu/attention_tasks.h"
#include "cpu/walk.h"
#include "cpu/strided.h"

static bool is_f64(const attending *t)
{
    return t->instr->in[0].type == MTF_F64;
}

static int64_t line_of(const attending *t, int o)
{
    return o == 2 ? t->args->value : t->args->key;
}

/* Tasks take rows and memory apart where there are few batches, since each sum is computed by one
 * thread. */
static bool takes_apart(const attending *t, int threads)
{
    return t->batches < threads && t->shared == 1 && t->instr->nout <= 3;
}

/* ---- sums ---- */

bool batches_add_up(const attending *t, int o)
{
    for (int k = 0; k < t->nbatch; k++)
        if (t->instr->out[o].stride[t->batch_loop[k]] == 0) return true;
    return false;
}

/* To which of the `results` of output o that a task computes a batch belongs: dk may lack a
 * dimension that dv has. */
static int64_t result_of(const attending *t, int o, int64_t batch, int64_t *results)
{
    int64_t index = 0;
    *results = 1;
    for (int k = t->nbatch - 1; k >= 0; k--) {
        int     l = t->batch_loop[k];
        int64_t size = t->instr->size[l], at = batch % size;
        batch /= size;
        if (!loop_adds_up(t->instr, l) || t->instr->out[o].stride[l] == 0) continue;
        index += at * *results;
        *results *= size;
    }
    return index;
}

/* Elements of a task's sums of output o, in f32; 0: they are computed in the output itself. */
static int64_t sum_elements(const attending *t, int o, int threads)
{
    mtf_dtype type = t->instr->out[o].type;
    bool      few = takes_apart(t, threads) && t->rows > PANEL_ROWS;
    int64_t   results;
    if (dtype_compute(type) == type) return 0;
    if (o == 0) return (few ? PANEL_ROWS : t->rows) * t->args->key;
    if (!batches_add_up(t, o)) return 0;
    result_of(t, o, 0, &results);
    return results * t->args->memory * line_of(t, o);
}

void *memory_sum(const attending *t, const grad_task *g, int o)
{
    int64_t results;
    if (!g->sum[o]) return NULL;
    return (float *)g->sum[o] +
           result_of(t, o, g->batch, &results) * t->args->memory * line_of(t, o);
}

static size_t grad_room(const attending *t)
{
    size_t bytes = is_f64(t) ? attention_grad_bytes_f64(t) : attention_grad_bytes_f32(t);
    return (bytes + 63) / 64 * 64;
}

size_t attention_grad_scratch(const attending *t, int threads)
{
    int64_t sums = 0;
    for (int o = 0; o < 3; o++) sums += sum_elements(t, o, threads);
    return grad_room(t) + ((size_t)sums * sizeof(float) + 63) / 64 * 64;
}

/* ---- tasks ---- */

/* Gradients that are summed in the output begin with 0. */
static void clear(const attending *t)
{
    const instr          *i = t->instr;
    const attention_args *a = t->args;
    int64_t               wide[4] = {a->key, a->key, a->value, 1};
    for (int o = 0; o < i->nout; o++) {
        const access *x = &i->out[o];
        int64_t       bytes = (int64_t)mtf_dtype_bytes(x->type), step = a->out_step[o];
        bool          along = o > 0 && step != 0;
        if (dtype_compute(x->type) != x->type) continue;
        if ((o == 1 || o == 2) && !batches_add_up(t, o)) continue;
        for (int64_t k = 0; k < t->batches * t->rows; k++) {
            int64_t batch = k / t->rows, row = k % t->rows;
            if ((o == 1 || o == 2) && row > 0) continue;
            char *to =
                operand(t->run, x) + (batch_offset(t, x, batch) + row_offset(t, x, row)) * bytes;
            for (int64_t m = 0; m < (along ? a->memory : 1); m++)
                memset(to + m * step * bytes, 0, (size_t)(wide[o] * bytes));
        }
    }
}

static void place_sums(const attending *t, grad_task *g, float *at)
{
    for (int o = 0; o < 3; o++) {
        int64_t n = sum_elements(t, o, t->run->threads);
        g->sum[o] = n ? at : NULL;
        memset(at, 0, (size_t)n * sizeof *at);
        at += n;
    }
}

static void round_rows(const attending *t, const grad_task *g)
{
    const access *x = &t->instr->out[0];
    int64_t       bytes = (int64_t)mtf_dtype_bytes(x->type), key = t->args->key;
    if (!g->of_rows || !g->sum[0]) return;
    for (int64_t k = 0; k < g->rows.size; k++) {
        int64_t at = batch_offset(t, x, g->batch) + row_offset(t, x, g->rows.begin + k);
        float  *from = (float *)g->sum[0] + k * key;
        strided_storer(x->type)((strided){operand(t->run, x) + at * bytes, 0, 1},
                                (strided){from, 0, 1}, 1, key);
    }
    memset(g->sum[0], 0, (size_t)(g->rows.size * key) * sizeof(float));
}

/* Batches of one result round the same sum. */
static void round_memory(const attending *t, const grad_task *g)
{
    for (int o = 1; o < 3; o++) {
        const access *x = &t->instr->out[o];
        int64_t       bytes = (int64_t)mtf_dtype_bytes(x->type), wide = line_of(t, o);
        if (!g->of_memory || !g->sum[o]) continue;
        char *to = operand(t->run, x) + batch_offset(t, x, g->batch) * bytes;
        strided_storer(x->type)((strided){to, t->args->out_step[o], 1},
                                (strided){memory_sum(t, g, o), wide, 1}, t->args->memory, wide);
    }
}

static void run_grads(const attending *t, bool of_rows, bool of_memory, int64_t tasks, int64_t each,
                      bool along_rows)
{
    const run_state *r = t->run;
    size_t           scratch = attention_grad_scratch(t, r->threads);
    int64_t          whole = along_rows ? t->rows : t->args->memory, pieces = ceil_div(whole, each);
    int              parts = attention_parts(t, tasks * pieces);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        char *own = (char *)r->scratch + (size_t)part * scratch;
        for (int64_t task = part; task < tasks * pieces; task += parts) {
            int64_t   first = task % pieces * each, together = t->batches / tasks;
            span      some = {first, whole - first < each ? whole - first : each};
            grad_task g = {0, {0, t->rows}, {0, t->args->memory}, of_rows, of_memory, {0}};
            *(along_rows ? &g.rows : &g.memory) = some;
            place_sums(t, &g, (float *)(void *)(own + grad_room(t)));
            for (int64_t b = 0; b < together; b++) {
                g.batch = task / pieces * together + b;
                (is_f64(t) ? attention_grad_f64 : attention_grad_f32)(t, &g, own);
                round_rows(t, &g);
            }
            for (int64_t b = 0; b < together; b++) {
                g.batch = task / pieces * together + b;
                round_memory(t, &g);
            }
        }
    }
}

void kernel_attention_grad(const instr *i, const run_state *r)
{
    attending t = attending_of(i, r);
    if (t.rows * t.batches == 0 || t.args->memory == 0) return;
    clear(&t);
    if (takes_apart(&t, r->threads)) {
        run_grads(&t, false, true, t.batches, MEMORY_BLOCK, false);
        run_grads(&t, true, false, t.batches, PANEL_ROWS, true);
    } else {
        run_grads(&t, true, true, t.batches / t.shared, t.args->memory, false);
    }
    report_flops(r, t.batches * pairs_seen(&t, 0, t.rows) * attention_pair_flops(i));
}
