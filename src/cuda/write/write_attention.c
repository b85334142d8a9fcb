/* Attention as kernels: a block has some rows of a batch.
 *
 * y[i] = sum over m of softmax(q[i] k[m]) v[m].  attention.cuh,
 * attention_matrix_forward.cuh and attention_slim.cuh have the kernels.
 */
#include "cuda/write/attention_text.h"
#include "cuda/write/tile_sizes.h"

enum { LEAST_CHUNK = 128, LEAST_SHARE = 32 };

/* With few rows and batches, blocks have chunks of the memory, so that there are enough of them. */
static void choose_chunks(const kernel_source *s, const instr *i, attention_form *f, int64_t blocks)
{
    int64_t memory = i->attention->memory, most = attention_pieces(memory, LEAST_CHUNK);
    int64_t wanted = 2 * s->multiprocessors / blocks, chunks = wanted < most ? wanted : most;
    f->chunks = 1, f->chunk = memory;
    if (chunks < 2) return;
    f->chunk = attention_pieces(memory, chunks * MATRIX_TILE) * MATRIX_TILE;
    f->chunks = attention_pieces(memory, f->chunk);
}

static bool add_shaped(kernel_source *s, const instr *i, kernel_plan *plan, const attention_form *f,
                       const char *name, int64_t blocks, const kernel_shape *shape)
{
    textbuf t = kernel_textbuf(s);
    attention_text(&t, i, f);
    text_add(&t, "    %s(p, out0, out1, %s, scratch);\n", name,
             i->attention->parts ? "out2" : "out1");
    char *body = text_done(&t);
    return body && kernel_add_shaped(s, plan, i, body, blocks, shape);
}

static bool add_kernel(kernel_source *s, const instr *i, kernel_plan *plan, const attention_form *f,
                       const char *name, int64_t blocks, int threads, int shared)
{
    kernel_shape shape = {threads, shared, 1, 1};
    return add_shaped(s, i, plan, f, name, blocks, &shape);
}

/* Few rows: the blocks of a cluster share a batch's memory. */
static bool add_slim_kernel(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = {.loops = attention_loops_of(i, -1), .rows = 1, .positions = 1, .chunks = 1};
    while (2 * f.chunks <= s->cluster && 2 * f.chunks * LEAST_SHARE <= i->attention->memory &&
           f.loops.batches * f.chunks < 2 * s->multiprocessors)
        f.chunks *= 2;
    kernel_shape shape = {SLIM_THREADS, 0, 1, (int)f.chunks};
    return add_shaped(s, i, plan, &f, "attention_slim", f.loops.batches * f.chunks, &shape);
}

/* Adds up the partial results of chunks. */
static bool add_join(kernel_source *s, const instr *i, kernel_plan *plan, const attention_form *f)
{
    int64_t rows = f->loops.batches * f->loops.rows, value = i->attention->value;
    if (f->chunks == 1) return true;
    plan->scratch_bytes = f->chunks * rows * (value + 2) * (attention_is_f64(i) ? 8 : 4);
    return add_kernel(s, i, plan, f, "attention_join_chunks",
                      attention_pieces(rows * value, ATTENTION_THREADS), ATTENTION_THREADS, 0);
}

static bool add_matrix_kernel(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = attention_matrix_form(i, -1);
    f.rows = tile_each(TILE_ATTENTION_MATRIX, f.loops.rows);
    int     lines = f.rows * MATRIX_TILE;
    int64_t blocks = f.loops.batches * attention_pieces(f.loops.rows, lines);
    choose_chunks(s, i, &f, blocks);
    return add_kernel(s, i, plan, &f, "attention_matrix_forward", blocks * f.chunks, MATRIX_THREADS,
                      attention_matrix_bytes(i, lines + 2 * MATRIX_TILE, 2 * MATRIX_TILE)) &&
           add_join(s, i, plan, &f);
}

bool write_attention(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (instr_elements(i) == 0) return true;
    attention_numbers(i, plan);
    if (s->cluster > 1 && attention_suits_slim(i)) return add_slim_kernel(s, i, plan);
    if (attention_suits_matrices(i)) return add_matrix_kernel(s, i, plan);
    attention_form f = {.loops = attention_loops_of(i, -1), .positions = attention_most_each(i)};
    f.rows = attention_each(i, f.loops.rows);
    int64_t tiles = attention_pieces(f.loops.rows, (int64_t)f.rows * ATTENTION_SIDE);
    int64_t blocks =
        f.loops.batches * tiles * attention_pieces(i->attention->value, ATTENTION_WIDE);
    choose_chunks(s, i, &f, blocks);
    return add_kernel(s, i, plan, &f, "attention_forward", blocks * f.chunks, ATTENTION_THREADS,
                      0) &&
           add_join(s, i, plan, &f);
}

static void add_access(textbuf *t, const instr *i, const char *name, const access *x)
{
    text_add(t, "%s[", name);
    int64_t below = 1;
    for (int l = i->nloops - 1; l >= 0; l--) {
        if (x->stride[l] != 0 && i->size[l] > 1)
            text_add(t, "k / %lld %% %lld * (%lldLL) + ", (long long)below, (long long)i->size[l],
                     (long long)x->stride[l]);
        below *= i->size[l];
    }
    text_add(t, "0]");
}

/* y = sum / weights, lse = most + log(weights); without weights 0 and NOTHING_SEEN.  Several elements of y
 * have one lse; those at its beginning store it. */
bool write_attention_join(kernel_source *s, const instr *i, kernel_plan *plan)
{
    static const char *const names[] = {"sum", "weights", "most"};
    int64_t                  n = instr_elements(i);
    textbuf                  t = kernel_textbuf(s);
    if (n == 0) return true;
    text_add(&t, "    i64 k = BLOCK * %d + THREAD;\n", ATTENTION_THREADS);
    text_add(&t, "    if (k >= %lldLL) return;\n", (long long)n);
    for (int o = 0; o < 3; o++) {
        char name[] = {'i', 'n', (char)('0' + o), 0};
        text_add(&t, "    auto %s = widen(", names[o]);
        add_access(&t, i, name, &i->in[o]);
        text_add(&t, ");\n");
    }
    text_add(&t, "    store(&");
    add_access(&t, i, "out0", &i->out[0]);
    text_add(&t, ", weights != 0 ? sum / weights : 0);\n    if (true");
    int64_t below = 1;
    for (int l = i->nloops - 1; l >= 0; l--) {
        if (i->out[1].stride[l] == 0 && i->size[l] > 1)
            text_add(&t, " && k / %lld %% %lld == 0", (long long)below, (long long)i->size[l]);
        below *= i->size[l];
    }
    text_add(&t, ")\n        ");
    add_access(&t, i, "out1", &i->out[1]);
    text_add(&t, " = weights != 0 ? most + fn_log(weights) : (%s)%s;\n",
             kernel_type(i->out[1].type), "(-1e30)");
    char *body = text_done(&t);
    return body && kernel_add(s, plan, i, body, attention_pieces(n, ATTENTION_THREADS),
                              ATTENTION_THREADS, 0);
}
