/* Gradients of attention as kernels, one for each result.
 *
 * Each recomputes the weights of the pairs it needs and adds up in an order of its own:
 * dq over positions, dk and dv over rows, the bias's over whatever shares an element.
 */
#include "cuda/write/attention_text.h"
#include "cuda/write/kernel_text.h"

static bool add_kernel(kernel_source *s, const instr *i, kernel_plan *plan, const attention_form *f,
                       const char *call, int64_t blocks, int threads, int shared, int together)
{
    textbuf t = kernel_textbuf(s);
    attention_text(&t, i, f);
    text_add(&t, "    %s;\n", call);
    char        *body = text_done(&t);
    kernel_shape shape = {threads, shared, together, 1};
    return body && kernel_add_shaped(s, plan, i, body, blocks, &shape);
}

static bool add_rows(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = {.loops = attention_loops_of(i, -1), .positions = attention_most_each(i)};
    f.rows = attention_each(i, f.loops.rows);
    int64_t tiles = attention_pieces(f.loops.rows, (int64_t)f.rows * ATTENTION_SIDE);
    int64_t pieces = attention_pieces(i->attention->key, ATTENTION_WIDE);
    return add_kernel(s, i, plan, &f, "attention_grad_of_rows(p, out0)",
                      f.loops.batches * tiles * pieces, ATTENTION_THREADS, 0, 1);
}

/* dk: output 1; dv: output 2 */
static bool add_memory(kernel_source *s, const instr *i, kernel_plan *plan, int o)
{
    const attention_args *a = i->attention;
    int                   each = attention_most_each(i);
    attention_form        f = {.loops = attention_loops_of(i, o), .rows = each, .positions = each};
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
    int                   each = attention_most_each(i);
    attention_form f = {.loops = attention_loops_by_query(i, 3), .rows = each, .positions = each};
    int64_t        apart = f.loops.batches / f.loops.together, rows = f.loops.rows;
    int64_t        side = (int64_t)each * ATTENTION_SIDE;
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

/* ---- by products of small matrices ---- */

enum { SMALL_SHARED = 74 << 10 }; /* three blocks of so many bytes fit into a processor */

static bool add_matrix_kernel(kernel_source *s, const instr *i, kernel_plan *plan,
                              const attention_form *f, const char *call, int64_t blocks, int lines)
{
    int shared = attention_matrix_bytes(i, lines, lines);
    return add_kernel(s, i, plan, f, call, blocks, MATRIX_THREADS, shared,
                      shared <= SMALL_SHARED ? 3 : 2);
}

static bool add_matrix_rows(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = attention_matrix_form(i, -1);
    int64_t        blocks = f.loops.batches * attention_pieces(f.loops.rows, MATRIX_TILE);
    return add_matrix_kernel(s, i, plan, &f, "attention_matrix_grad_of_rows(p, out0)", blocks,
                             3 * MATRIX_TILE);
}

static bool add_matrix_memory(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = attention_matrix_form(i, 1);
    int64_t        blocks =
        f.loops.batches / f.loops.together * attention_pieces(i->attention->memory, MATRIX_TILE);
    return add_matrix_kernel(s, i, plan, &f, "attention_matrix_grad_of_memory(p, out1, out2)",
                             blocks, 3 * MATRIX_TILE);
}

static int64_t at_most(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Blocks for each processor: enough; and so many that what each of them leaves in scratch counts. */
enum { ENOUGH_BLOCKS = 6, MANY_BLOCKS = 24, SUMS_BYTES = 64 << 20 };

/* How much a block has: first of the batches that are summed, then of the rows. */
static void choose_strips(const kernel_source *s, const instr *i, attention_form *f, int64_t tiles)
{
    int64_t line = attention_pieces(i->attention->memory, MATRIX_TILE) * MATRIX_TILE + WARP_SIZE;
    int64_t most = SUMS_BYTES / (line * MATRIX_WARPS * 4);
    most = at_most(most, (int64_t)MANY_BLOCKS * s->multiprocessors);
    if (most < ENOUGH_BLOCKS * s->multiprocessors) most = ENOUGH_BLOCKS * s->multiprocessors;
    int64_t each = attention_pieces(f->loops.batches * tiles, most);
    f->each = at_most(each, f->loops.together);
    f->strip = at_most(attention_pieces(each, f->each), tiles);
}

/* dq, and the gradient of a bias by distance, which is added up beside it. */
static bool add_distances(kernel_source *s, const instr *i, kernel_plan *plan)
{
    attention_form f = {.loops = attention_loops_by_query(i, 3), .rows = 1, .positions = 1};
    int64_t tiles = attention_pieces(f.loops.rows, MATRIX_TILE), memory = i->attention->memory;
    choose_strips(s, i, &f, tiles);
    int64_t apart = f.loops.batches / f.loops.together;
    int64_t blocks =
        apart * attention_pieces(f.loops.together, f.each) * attention_pieces(tiles, f.strip);
    int64_t line = (attention_pieces(memory, MATRIX_TILE) + f.strip - 1) * MATRIX_TILE + WARP_SIZE;
    plan->scratch_bytes = blocks * MATRIX_WARPS * line * 4;
    return add_matrix_kernel(s, i, plan, &f, "attention_matrix_grad_of_distances(p, out0, scratch)",
                             blocks, 3 * MATRIX_TILE) &&
           add_kernel(s, i, plan, &f, "attention_join_distances(p, out3, scratch)",
                      apart * attention_pieces(f.loops.rows + memory - 1, WARP_SIZE),
                      ATTENTION_THREADS, 0, 1);
}

/* The gradient of any other bias. */
static bool add_matrix_bias(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const attention_args *a = i->attention;
    attention_form        f = {.loops = attention_loops_by_query(i, 3), .rows = 1, .positions = 1};
    int64_t               rows = f.loops.rows, apart = f.loops.batches / f.loops.together;
    bool by_query = rows > 1 && i->out[3].stride[a->query] != 0, by_position = a->out_step[3] != 0;
    int64_t blocks = apart * (by_query ? attention_pieces(rows, MATRIX_TILE) : 1) *
                     (by_position ? attention_pieces(a->memory, MATRIX_TILE) : 1);
    int64_t shares = at_most(attention_pieces((int64_t)ENOUGH_BLOCKS * s->multiprocessors, blocks),
                             f.loops.together);
    f.each = attention_pieces(f.loops.together, shares);
    shares = attention_pieces(f.loops.together, f.each);
    int one = attention_matrix_bytes(i, 2 * MATRIX_TILE, 2 * MATRIX_TILE);
    f.stages = 2 * one <= SMALL_SHARED ? 2 : 1;
    int64_t elements = apart * (by_query ? rows : 1) * (by_position ? a->memory : 1);
    if (shares > 1 && shares * elements * 4 > plan->scratch_bytes)
        plan->scratch_bytes = shares * elements * 4;
    return add_matrix_kernel(s, i, plan, &f, "attention_matrix_grad_of_bias(p, out3, scratch)",
                             blocks * shares, f.stages * 2 * MATRIX_TILE) &&
           (shares == 1 ||
            add_kernel(s, i, plan, &f, "attention_join_bias(p, out3, scratch)",
                       attention_pieces(elements, ATTENTION_THREADS), ATTENTION_THREADS, 0, 1));
}

static bool add_matrix_kernels(kernel_source *s, const instr *i, kernel_plan *plan)
{
    bool biased = i->nout > 3, distances = biased && attention_is_by_distance(i);
    return (distances ? add_distances(s, i, plan) : add_matrix_rows(s, i, plan)) &&
           add_matrix_memory(s, i, plan) && (!biased || distances || add_matrix_bias(s, i, plan));
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
    if (attention_suits_matrices(i) && sums_alike(i)) return add_matrix_kernels(s, i, plan);
    return add_rows(s, i, plan) && add_memory(s, i, plan, 1) && add_memory(s, i, plan, 2) &&
           (i->nout < 4 || add_bias(s, i, plan));
}
