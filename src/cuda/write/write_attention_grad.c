/* Gradients of attention as kernels, one for each result.
 *
 * Each recomputes the weights of the pairs it needs and adds up in an order of its own:
 * dq over positions, dk and dv over rows, the bias's over whatever shares an element.
 */
#include "cuda/write/attention_text.h"

static bool add_kernel(kernel_source *s, const instr *i, kernel_plan *plan, const attention_form *f,
                       const char *call, int64_t blocks, int threads, int shared, int together)
{
    textbuf t = {.arena = s->arena};
    attention_text(&t, i, f);
    text_add(&t, "    %s;\n", call);
    char        *body = text_done(&t);
    kernel_shape shape = {threads, shared, together, 1};
    return body && kernel_add_shaped(s, plan, i, body, blocks, &shape);
}

static bool add_rows(kernel_source *s, const instr *i, kernel_plan *plan)
{
    int            each = attention_each(i);
    attention_form f = {attention_loops_of(i, -1), each, each, 0, 0};
    while (f.rows > 1 && f.loops.rows <= f.rows / 2 * ATTENTION_SIDE) f.rows /= 2;
    int64_t tiles = attention_pieces(f.loops.rows, (int64_t)f.rows * ATTENTION_SIDE);
    int64_t pieces = attention_pieces(i->attention->key, ATTENTION_WIDE);
    return add_kernel(s, i, plan, &f, "attention_grad_of_rows(p, out0)",
                      f.loops.batches * tiles * pieces, ATTENTION_THREADS, 0, 1);
}

/* dk: output 1; dv: output 2 */
static bool add_memory(kernel_source *s, const instr *i, kernel_plan *plan, int o)
{
    const attention_args *a = i->attention;
    int                   each = attention_each(i);
    attention_form        f = {attention_loops_of(i, o), each, each, 0, 0};
    int64_t               tiles = attention_pieces(a->memory, (int64_t)each * ATTENTION_SIDE);
    int64_t               pieces = attention_pieces(o == 1 ? a->key : a->value, ATTENTION_WIDE);
    return add_kernel(s, i, plan, &f,
                      o == 1 ? "attention_grad_of_memory<OF_K>(p, out1)"
                             : "attention_grad_of_memory<OF_V>(p, out2)",
                      f.loops.batches / f.loops.together * tiles * pieces, ATTENTION_THREADS, 0, 1);
}

static bool add_bias(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const attention_args *a = i->attention;
    int                   each = attention_each(i);
    attention_form        f = {attention_loops_of_bias(i), each, each, 0, 0};
    int64_t               apart = f.loops.batches / f.loops.together, rows = f.loops.rows;
    int64_t               side = (int64_t)each * ATTENTION_SIDE;
    if (a->relative && rows > 1)
        return add_kernel(s, i, plan, &f, "attention_grad_of_distances(p, out3)",
                          apart * attention_pieces(rows + a->memory - 1, side), ATTENTION_THREADS,
                          0, 1);
    bool by_query = rows > 1 && i->out[3].stride[a->query] != 0, by_position = a->out_step[3] != 0;
    int64_t tiles = (by_query ? attention_pieces(rows, side) : 1) *
                    (by_position ? attention_pieces(a->memory, side) : 1);
    return add_kernel(s, i, plan, &f, "attention_grad_of_bias(p, out3)", apart * tiles,
                      ATTENTION_THREADS, 0, 1);
}

enum { SMALL_SHARED = 60 << 10 }; /* three blocks of so many bytes fit into a processor */

/* dq, and dk with dv, by products of small matrices. */
static bool add_matrix_kernels(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form rows = {attention_loops_of(i, -1), 1, 1, 0, 0};
    attention_form memory = {attention_loops_of(i, 1), 1, 1, 0, 0};
    int            shared = attention_matrix_bytes(i, 3 * MATRIX_TILE, 3 * MATRIX_TILE);
    int64_t        apart = memory.loops.batches / memory.loops.together;
    int            together = shared <= SMALL_SHARED ? 3 : 2;
    return add_kernel(s, i, plan, &rows, "attention_matrix_grad_of_rows(p, out0)",
                      rows.loops.batches * attention_pieces(rows.loops.rows, MATRIX_TILE),
                      MATRIX_THREADS, shared, together) &&
           add_kernel(s, i, plan, &memory, "attention_matrix_grad_of_memory(p, out1, out2)",
                      apart * attention_pieces(i->attention->memory, MATRIX_TILE), MATRIX_THREADS,
                      shared, together);
}

/* Are dk and dv summed over the same loops? */
static bool sums_alike(const instr *i)
{
    for (int l = 0; l < i->nloops; l++)
        if (i->size[l] > 1 && (i->out[1].stride[l] == 0) != (i->out[2].stride[l] == 0))
            return false;
    return true;
}

bool write_attention_grad(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (instr_elements(i) == 0 || i->attention->memory == 0) return true;
    attention_numbers(i, plan);
    bool made =
        attention_suits_matrices(i) && sums_alike(i)
            ? add_matrix_kernels(s, i, plan)
            : add_rows(s, i, plan) && add_memory(s, i, plan, 1) && add_memory(s, i, plan, 2);
    return made && (i->nout < 4 || add_bias(s, i, plan));
}
