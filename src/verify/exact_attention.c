/* Attention on the exact device, by its definition.
 *
 * The weight of a pair is the hash that replaces the exponential of its score.  The maximum score
 * is taken to be 0, whose exponential is 1, so that parts of the memory add up.  The logarithm of a
 * sum is the sum itself, by which the gradient divides.
 */
#include "base/philox.h"
#include "program/attention_cost.h"
#include "verify/exact.h"

/* An operand's own dimensions, beyond the loops, in cells. */
typedef struct table {
    operand_view view;
    bool         present;
    int64_t      memory, along;
} table;

typedef struct attention {
    exact                *x;
    const instr          *instr;
    const attention_args *args;
    table                 in[ATTENTION_OPERANDS], out[4];
    mtf_dtype             type;
    cell                  scale, kept; /* kept: the factor of weights that dropout keeps */
} attention;

static table table_of(exact *x, const instr *i, const access *a, int64_t step)
{
    table t = {.view = view_of(x, i, a), .present = true};
    t.memory = step * t.view.step;
    t.along = t.view.step;
    return t;
}

static attention attention_begin(exact *x, const instr *i)
{
    attention t = {.x = x, .instr = i, .args = i->attention, .type = MTF_F64};
    for (int r = 0; r < ATTENTION_OPERANDS; r++)
        if (t.args->at[r] >= 0) t.in[r] = table_of(x, i, &i->in[t.args->at[r]], t.args->step[r]);
    for (int o = 0; o < i->nout; o++) t.out[o] = table_of(x, i, &i->out[o], t.args->out_step[o]);
    t.scale = field_of_double(t.args->scale);
    t.kept = field_of_double(1 / (1 - t.args->dropout));
    return t;
}

/* Element (m, d) of an operand in one iteration of the loops. */
static cell *element(const table *t, const iterations *at, int64_t m, int64_t d)
{
    int64_t offset = m * t->memory + d * t->along;
    for (int l = 0; l < at->end; l++) offset += at->index[l] * t->view.stride[l];
    return t->view.at + offset;
}

static cell add_cells(cell a, cell b)
{
    return field_add(a, b);
}

static cell times(cell a, cell b)
{
    return field_mul(a, b);
}

static bool sees(const attention *t, const iterations *at, int64_t m)
{
    const attention_args *a = t->args;
    const table          *read = &t->in[ATTENTION_READ], *write = &t->in[ATTENTION_WRITE];
    const table *query = &t->in[ATTENTION_QUERY_SEGMENT], *of = &t->in[ATTENTION_MEMORY_SEGMENT];
    int64_t      index = a->first_query + (a->query < 0 ? 0 : at->index[a->query]);
    int64_t      from = read->present ? (int64_t)*element(read, at, 0, 0) : index;
    int64_t      to = write->present ? (int64_t)*element(write, at, m, 0) : a->first_memory + m;
    if (to - from < a->min || to - from > a->max) return false;
    return !query->present || *element(query, at, 0, 0) == *element(of, at, m, 0);
}

static cell dot(const attention *t, attention_operand a, attention_operand b, const iterations *at,
                int64_t m, int64_t n)
{
    cell sum = 0;
    for (int64_t d = 0; d < n; d++)
        sum = add_cells(sum, times(*element(&t->in[a], at, 0, d), *element(&t->in[b], at, m, d)));
    return sum;
}

static cell weight(const attention *t, const iterations *at, int64_t m)
{
    cell s = times(t->scale, dot(t, ATTENTION_Q, ATTENTION_K, at, m, t->args->key));
    if (t->in[ATTENTION_BIAS].present) s = add_cells(s, *element(&t->in[ATTENTION_BIAS], at, m, 0));
    return exact_scalar(t->x, FN_exp, MTF_F64, s, 0);
}

/* Dropout's factor; its random numbers are a hash for each pair. */
static cell factor(const attention *t, const iterations *at, int64_t m)
{
    const attention_args *a = t->args;
    if (a->dropout == 0) return 1;
    int64_t g = a->first + m * a->memory_weight;
    for (int l = 0; l < at->end; l++) g += at->index[l] * a->weight[l];
    int end = t->instr->nin - (a->part != 0);
    if (a->part) g += a->part * (int64_t)*view_of(t->x, t->instr, &t->instr->in[end]).at;
    uint64_t h = exact_dropout(t->x, a->stream, g);
    for (int k = a->first_iteration; k < end; k++)
        h = hash_pair(h, (uint64_t)*view_of(t->x, t->instr, &t->instr->in[k]).at);
    return h & 1 ? t->kept : 0;
}

bool exact_attention(exact *x, const instr *i)
{
    attention t = attention_begin(x, i);
    for (iterations at = iterations_begin(i, 0, i->nloops, NULL, NULL, NULL); !at.done;
         iterations_next(&at)) {
        cell sum = 0;
        for (int64_t d = 0; d < t.args->value; d++) *element(&t.out[0], &at, 0, d) = 0;
        for (int64_t m = 0; m < t.args->memory; m++) {
            if (!sees(&t, &at, m)) continue;
            cell w = weight(&t, &at, m), kept = times(w, factor(&t, &at, m));
            sum = add_cells(sum, w);
            for (int64_t d = 0; d < t.args->value; d++) {
                cell *y = element(&t.out[0], &at, 0, d);
                *y = add_cells(*y, times(kept, *element(&t.in[ATTENTION_V], &at, m, d)));
            }
        }
        *element(&t.out[1], &at, 0, 0) = sum;
        if (t.args->parts) {
            *element(&t.out[2], &at, 0, 0) = 0;
            continue;
        }
        cell inverse = exact_inverse(x, sum);
        for (int64_t d = 0; d < t.args->value; d++) {
            cell *y = element(&t.out[0], &at, 0, d);
            *y = times(*y, inverse);
        }
    }
    return true;
}

bool exact_attention_join(exact *x, const instr *i)
{
    operand_view sum = view_of(x, i, &i->in[0]), weights = view_of(x, i, &i->in[1]),
                 y = view_of(x, i, &i->out[0]), lse = view_of(x, i, &i->out[1]);
    for (iterations t = iterations_begin(i, 0, i->nloops, &sum, &weights, &y); !t.done;
         iterations_next(&t)) {
        cell    all = weights.at[t.at[1]];
        int64_t at = 0;
        for (int l = 0; l < i->nloops; l++) at += t.index[l] * lse.stride[l];
        y.at[t.at[2]] = field_mul(sum.at[t.at[0]], exact_inverse(x, all));
        lse.at[at] = all;
    }
    return true;
}

static void clear(const attention *t)
{
    int64_t wide[4] = {t->args->key, t->args->key, t->args->value, 1};
    for (iterations at = iterations_begin(t->instr, 0, t->instr->nloops, NULL, NULL, NULL);
         !at.done; iterations_next(&at))
        for (int o = 0; o < t->instr->nout; o++)
            for (int64_t m = 0; m < (o ? t->args->memory : 1); m++)
                for (int64_t d = 0; d < wide[o]; d++) *element(&t->out[o], &at, m, d) = 0;
}

static void add_to(const attention *t, int out, const iterations *at, int64_t m, int64_t d, cell a,
                   cell b)
{
    cell *to = element(&t->out[out], at, m, d);
    *to = add_cells(*to, times(a, b));
}

bool exact_attention_grad(exact *x, const instr *i)
{
    attention t = attention_begin(x, i);
    clear(&t);
    for (iterations at = iterations_begin(i, 0, i->nloops, NULL, NULL, NULL); !at.done;
         iterations_next(&at)) {
        cell inverse = exact_inverse(x, *element(&t.in[ATTENTION_LSE], &at, 0, 0));
        cell delta = *element(&t.in[ATTENTION_DELTA], &at, 0, 0);
        for (int64_t m = 0; m < t.args->memory; m++) {
            if (!sees(&t, &at, m)) continue;
            cell p = times(weight(&t, &at, m), inverse), kept = factor(&t, &at, m);
            cell dp = times(kept, dot(&t, ATTENTION_DY, ATTENTION_V, &at, m, t.args->value));
            cell slope = times(p, field_sub(dp, delta));
            cell scaled = times(slope, t.scale);
            for (int64_t d = 0; d < t.args->key; d++) {
                add_to(&t, 0, &at, 0, d, scaled, *element(&t.in[ATTENTION_K], &at, m, d));
                add_to(&t, 1, &at, m, d, scaled, *element(&t.in[ATTENTION_Q], &at, 0, d));
            }
            for (int64_t d = 0; d < t.args->value; d++)
                add_to(&t, 2, &at, m, d, times(p, kept), *element(&t.in[ATTENTION_DY], &at, 0, d));
            if (i->nout > 3) add_to(&t, 3, &at, m, 0, slope, 1);
        }
    }
    return true;
}
