/* Attention in blocks, without a table of all scores.
 *
 *     y[i] = sum over m of softmax(q[i] k[m]) v[m]
 *
 * For each block of the memory and each panel of rows that see it: the scores,
 * their exponentials relative to the largest so far, the weighted sum of values.
 * Threads take batches, or rows of batches, whose results are independent.
 */
#include "cpu/attention_tasks.h"

#include <math.h>
#include <string.h>

#include "base/whole.h"
#include "cpu/walk.h"
#include "cpu/strided.h"

/* ---- loops ---- */

const access *attending_input(const attending *t, attention_operand which)
{
    int at = t->args->at[which];
    return at < 0 ? NULL : &t->instr->in[at];
}

const char *attending_at(const attending *t, attention_operand which, int64_t offset)
{
    const access *x = attending_input(t, which);
    return operand(t->run, x) + offset * (int64_t)mtf_dtype_bytes(x->type);
}

/* Does the memory have this loop?  In gradients, some operands may only repeat along it. */
static bool in_memory(const instr *i, int loop)
{
    bool grad = i->kind == INSTR_ATTENTION_GRAD;
    if (grad && (i->out[1].stride[loop] != 0 || i->out[2].stride[loop] != 0)) return true;
    static const attention_operand along[] = {ATTENTION_K, ATTENTION_V, ATTENTION_WRITE,
                                              ATTENTION_MEMORY_SEGMENT};
    for (size_t k = 0; k < sizeof along / sizeof *along; k++) {
        int at = i->attention->at[along[k]];
        if (at >= 0 && i->in[at].stride[loop] != 0) return true;
    }
    return false;
}

static philox_stream stream_of(const instr *i, const run_state *r)
{
    philox_stream s = {r->seed, i->attention->stream, r->step};
    uint32_t      iteration[2];
    int           end = i->nin - (i->attention->part != 0);
    for (int k = i->attention->first_iteration; k < end; k += 2) {
        for (int t = 0; t < 2; t++)
            iteration[t] =
                k + t < end ? *(const uint32_t *)(const void *)operand(r, &i->in[k + t]) : 0;
        s = philox_iterations(s, iteration[0], iteration[1]);
    }
    return s;
}

bool loop_adds_up(const instr *i, int loop)
{
    bool grad = i->kind == INSTR_ATTENTION_GRAD;
    for (int o = 1; grad && o < i->nout; o++)
        if (i->out[o].stride[loop] == 0) return true;
    return false;
}

attending attending_of(const instr *i, const run_state *r)
{
    attending t = {
        .instr = i, .args = i->attention, .run = r, .batches = 1, .rows = 1, .shared = 1};
    for (int pass = 0; pass < 2; pass++) /* first loops with separate gradients */
        for (int l = 0; l < i->nloops; l++) {
            if (i->size[l] == 1 || !in_memory(i, l) || loop_adds_up(i, l) != (pass == 1)) continue;
            t.batch_loop[t.nbatch++] = l;
            t.batches *= i->size[l];
            if (pass == 1) t.shared *= i->size[l];
        }
    for (int pass = 0; pass < 2; pass++)
        for (int l = 0; l < i->nloops; l++) {
            if (i->size[l] == 1 || in_memory(i, l) || (l == t.args->query) != (pass == 1)) continue;
            t.row_loop[t.nrows++] = l;
            t.rows *= i->size[l];
        }
    if (r && t.args->dropout > 0) {
        t.stream = stream_of(i, r);
        t.first_pair = t.args->first;
        if (t.args->part)
            t.first_pair +=
                t.args->part * *(const int32_t *)(const void *)operand(r, &i->in[i->nin - 1]);
    }
    return t;
}

static int64_t offset_in(const attending *t, const int64_t *stride, int n, const int *loop,
                         int64_t index)
{
    int64_t offset = 0;
    for (int k = n - 1; k >= 0; k--) {
        int64_t size = t->instr->size[loop[k]];
        offset += index % size * stride[loop[k]];
        index /= size;
    }
    return offset;
}

int64_t batch_offset(const attending *t, const access *x, int64_t batch)
{
    return offset_in(t, x->stride, t->nbatch, t->batch_loop, batch);
}

int64_t row_offset(const attending *t, const access *x, int64_t row)
{
    return offset_in(t, x->stride, t->nrows, t->row_loop, row);
}

/* ---- masks ---- */

static int64_t query_of(const attending *t, int64_t row)
{
    return t->args->query < 0 ? 0 : row % t->instr->size[t->args->query];
}

static int32_t number_at(const attending *t, attention_operand which, int64_t offset)
{
    int32_t x;
    memcpy(&x, attending_at(t, which, offset), sizeof x);
    return x;
}

static void extremes(int64_t n, const int32_t *x, int32_t *least, int32_t *most)
{
    *least = *most = x[0];
    for (int64_t k = 1; k < n; k++) {
        *least = x[k] < *least ? x[k] : *least;
        *most = x[k] > *most ? x[k] : *most;
    }
}

static span meet(span a, span b)
{
    int64_t begin = a.begin > b.begin ? a.begin : b.begin, end_a = a.begin + a.size,
            end_b = b.begin + b.size, end = end_a < end_b ? end_a : end_b;
    return (span){begin, end > begin ? end - begin : 0};
}

static span cover(span a, span b)
{
    if (!a.size || !b.size) return a.size ? a : b;
    int64_t begin = a.begin < b.begin ? a.begin : b.begin, end_a = a.begin + a.size,
            end_b = b.begin + b.size;
    return (span){begin, (end_a > end_b ? end_a : end_b) - begin};
}

void panel_of(const attending *t, int64_t batch, int64_t first, int64_t rows, panel *p)
{
    const access *read = attending_input(t, ATTENTION_READ),
                 *segment = attending_input(t, ATTENTION_QUERY_SEGMENT),
                 *bias = attending_input(t, ATTENTION_BIAS);
    const attention_args *a = t->args;
    p->batch = batch, p->first = first, p->n = p->wide = rows;
    for (int64_t k = 0; k < rows; k++) {
        int64_t row = first + k, query = query_of(t, row);
        p->at[k] = read ? number_at(t, ATTENTION_READ,
                                    batch_offset(t, read, batch) + row_offset(t, read, row))
                        : (int32_t)(a->first_query + query);
        p->segment[k] =
            segment ? number_at(t, ATTENTION_QUERY_SEGMENT,
                                batch_offset(t, segment, batch) + row_offset(t, segment, row))
                    : 0;
        if (bias) p->bias[k] = batch_offset(t, bias, batch) + row_offset(t, bias, row);
        if (a->dropout > 0)
            p->pair[k] = t->first_pair + offset_in(t, a->weight, t->nbatch, t->batch_loop, batch) +
                         offset_in(t, a->weight, t->nrows, t->row_loop, row);
        span seen = attention_seen(a, query);
        p->seen = k ? cover(p->seen, seen) : seen;
        p->all = k ? meet(p->all, seen) : seen;
    }
    if (read || attending_input(t, ATTENTION_WRITE)) p->seen = (span){0, a->memory};
    if (!attention_by_index(a)) p->all = (span){0};
    extremes(rows, p->at, &p->least, &p->most);
    extremes(rows, p->segment, &p->low_segment, &p->high_segment);
}

void memory_places(const attending *t, int64_t batch, int64_t first, int64_t n, places *p)
{
    const access *write = attending_input(t, ATTENTION_WRITE),
                 *segment = attending_input(t, ATTENTION_MEMORY_SEGMENT);
    int64_t at = write ? batch_offset(t, write, batch) : 0,
            of = segment ? batch_offset(t, segment, batch) : 0;
    p->first = first, p->n = n;
    for (int64_t k = 0; k < n; k++) {
        p->at[k] =
            write ? number_at(t, ATTENTION_WRITE, at + (first + k) * t->args->step[ATTENTION_WRITE])
                  : (int32_t)(t->args->first_memory + first + k);
        p->segment[k] = segment
                            ? number_at(t, ATTENTION_MEMORY_SEGMENT,
                                        of + (first + k) * t->args->step[ATTENTION_MEMORY_SEGMENT])
                            : 0;
    }
    extremes(n, p->at, &p->least, &p->most);
    extremes(n, p->segment, &p->low_segment, &p->high_segment);
}

span seen_of(const panel *p, const places *memory)
{
    return meet(p->seen, (span){memory->first, memory->n});
}

sight sight_of(const attending *t, const panel *p, const places *memory)
{
    int64_t lowest = (int64_t)memory->least - p->most, highest = (int64_t)memory->most - p->least;
    /* Each of one segment: the same one, or nothing is seen. */
    bool one = memory->low_segment == memory->high_segment && p->low_segment == p->high_segment;
    if (lowest > t->args->max || highest < t->args->min) return SEES_NOTHING;
    if (memory->low_segment > p->high_segment || memory->high_segment < p->low_segment)
        return SEES_NOTHING;
    return one && highest <= t->args->max && lowest >= t->args->min ? SEES_ALL : SEES_SOME;
}

int64_t pairs_seen(const attending *t, int64_t first, int64_t rows)
{
    int64_t pairs = 0;
    if (!attention_within_index(t->args)) return rows * t->args->memory;
    for (int64_t k = 0; k < rows; k++)
        pairs += attention_seen(t->args, query_of(t, first + k)).size;
    return pairs;
}

/* Each pair has a flag, which says whether it is kept: docs/random.md. */
void dropout_factors(const attending *t, const panel *p, int64_t row, int64_t first, int64_t n,
                     double *factor)
{
    uint32_t     share = philox_flag_share(1 - t->args->dropout);
    philox_block block = {{0}};
    uint64_t     drawn = UINT64_MAX;
    for (int64_t k = 0; k < n; k++) {
        uint64_t g = (uint64_t)(p->pair[row] + (first + k) * t->args->memory_weight);
        if (g / PHILOX_FLAGS != drawn) block = philox_flags_at(t->stream, drawn = g / PHILOX_FLAGS);
        factor[k] = philox_flag(&block, g) < share ? 1 / (1 - t->args->dropout) : 0;
    }
}

/* ---- tasks ---- */

/* Rows processed together: they share the packed memory. */
enum { TASK_ROWS = 512, TASK_FLOPS = 64 * 1024 };

/* With fewer batches a task has fewer rows; always whole panels. */
static int64_t task_rows(const attending *t, int threads)
{
    int64_t each = t->rows * t->batches / (2 * threads);
    each = ceil_div(each, PANEL_ROWS) * PANEL_ROWS;
    if (each < PANEL_ROWS) each = PANEL_ROWS;
    if (each > TASK_ROWS) each = TASK_ROWS;
    return each < t->rows ? each : t->rows;
}

int attention_parts(const attending *t, int64_t tasks)
{
    int threads = t->run->threads;
    if (attention_flops(t->instr) < TASK_FLOPS || threads < 2) return 1;
    return (int)(tasks < threads ? tasks : threads);
}

static bool is_f64(const instr *i)
{
    return i->in[0].type == MTF_F64;
}

static size_t each_scratch(const attending *t, int threads)
{
    int64_t rows = task_rows(t, threads);
    size_t  bytes = is_f64(t->instr) ? attention_bytes_f64(t, rows) : attention_bytes_f32(t, rows);
    return (bytes + 63) / 64 * 64;
}

/* ---- few rows ---- */

static bool is_few(const attending *t)
{
    return t->instr->kind == INSTR_ATTENTION && t->rows <= FEW_ROWS;
}

/* Chunks of a batch's memory; with few batches, some threads would otherwise have no work. */
static int64_t chunks_of(const attending *t)
{
    return t->batches < FEW_BATCHES && t->args->memory > CHUNK ? ceil_div(t->args->memory, CHUNK)
                                                               : 1;
}

static size_t few_sums_bytes(const attending *t)
{
    size_t each = is_f64(t->instr) ? attention_few_sums_f64(t) : attention_few_sums_f32(t);
    return (each * (size_t)(t->batches * chunks_of(t)) + 63) / 64 * 64;
}

static size_t few_scratch(const attending *t)
{
    size_t bytes = is_f64(t->instr) ? attention_few_bytes_f64(t) : attention_few_bytes_f32(t);
    return (bytes + 63) / 64 * 64;
}

static void run_few(const attending *t)
{
    const run_state *r = t->run;
    bool             wide = is_f64(t->instr);
    int64_t          chunks = chunks_of(t), tasks = t->batches * chunks, memory = t->args->memory;
    int64_t          length = chunks == 1 ? memory : CHUNK;
    size_t           each = wide ? attention_few_sums_f64(t) : attention_few_sums_f32(t);
    char            *sums = r->scratch, *rest = sums + few_sums_bytes(t);
    int              parts = attention_parts(t, tasks);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++)
        for (int64_t task = tasks * part / parts; task < tasks * (part + 1) / parts; task++) {
            int64_t first = task % chunks * length;
            span    some = {first, memory - first < length ? memory - first : length};
            (wide ? attention_few_f64 : attention_few_f32)(t, task / chunks, some,
                                                           sums + (size_t)task * each,
                                                           rest + (size_t)part * few_scratch(t));
        }
    for (int64_t b = 0; b < t->batches; b++)
        (wide ? attention_few_finish_f64
              : attention_few_finish_f32)(t, b, chunks, sums + (size_t)(b * chunks) * each);
    report_flops(r, t->batches * pairs_seen(t, 0, t->rows) * attention_pair_flops(t->instr));
}

void kernel_attention(const instr *i, const run_state *r)
{
    attending t = attending_of(i, r);
    if (t.rows * t.batches == 0) return;
    if (is_few(&t)) {
        run_few(&t);
        return;
    }
    int64_t each = task_rows(&t, r->threads), pieces = ceil_div(t.rows, each);
    int64_t tasks = t.batches * pieces, flops = attention_pair_flops(i);
    size_t  scratch = each_scratch(&t, r->threads);
    int     parts = attention_parts(&t, tasks);
    PARALLEL(r, parts)
    for (int part = 0; part < parts; part++) {
        void   *own = (char *)r->scratch + (size_t)part * scratch;
        int64_t pairs = 0;
        /* Later rows see more of the memory: each thread takes some of all. */
        for (int64_t task = part; task < tasks; task += parts) {
            int64_t first = task % pieces * each;
            span    rows = {first, t.rows - first < each ? t.rows - first : each};
            (is_f64(i) ? attention_f64 : attention_f32)(&t, task / pieces, rows, own);
            pairs += pairs_seen(&t, rows.begin, rows.size);
        }
        report_flops(r, pairs * flops);
    }
}

size_t attention_scratch_bytes(const instr *i, size_t threads)
{
    attending t = attending_of(i, NULL);
    if (t.rows * t.batches == 0) return 0;
    if (i->kind == INSTR_ATTENTION_GRAD) return threads * attention_grad_scratch(&t, (int)threads);
    if (is_few(&t)) return few_sums_bytes(&t) + threads * few_scratch(&t);
    return threads * each_scratch(&t, (int)threads);
}

/* y = sum / weights, lse = most + log(weights); without weights 0 and NOTHING_SEEN. */
void kernel_attention_join(const instr *i, const run_state *r)
{
    int64_t       n = instr_elements(i);
    strided_copy *load = strided_loader(i->in[0].type), *store = strided_storer(i->out[0].type);
    for (int64_t k = 0; k < n; k++) {
        int64_t at[5] = {0}, rest = k;
        for (int l = i->nloops - 1; l >= 0; l--) {
            int64_t index = rest % i->size[l];
            rest /= i->size[l];
            for (int o = 0; o < 5; o++)
                at[o] += index * (o < 2 ? i->out[o].stride[l] : i->in[o - 2].stride[l]);
        }
        double x[3];
        number y, one;
        for (int o = 0; o < 3; o++) {
            char *from =
                operand(r, &i->in[o]) + at[o + 2] * (int64_t)mtf_dtype_bytes(i->in[o].type);
            load((strided){&one, 0, 1}, (strided){from, 0, 1}, 1, 1);
            x[o] = i->in[o].type == MTF_F64 ? one.f64 : (double)one.f32;
        }
        bool   some = x[1] != 0;
        double value = some ? x[0] / x[1] : 0, log_sum = some ? x[2] + log(x[1]) : NOTHING_SEEN;
        char  *to = operand(r, &i->out[0]) + at[0] * (int64_t)mtf_dtype_bytes(i->out[0].type);
        if (i->in[0].type == MTF_F64)
            y.f64 = value;
        else
            y.f32 = (float)value;
        store((strided){to, 0, 1}, (strided){&y, 0, 1}, 1, 1);
        to = operand(r, &i->out[1]) + at[1] * (int64_t)mtf_dtype_bytes(i->out[1].type);
        if (i->out[1].type == MTF_F64)
            memcpy(to, &log_sum, sizeof log_sum);
        else
            memcpy(to, &(float){(float)log_sum}, sizeof(float));
    }
    report_flops(r, n);
}
