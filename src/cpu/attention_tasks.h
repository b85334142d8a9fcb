/* What the kernels of attention share: rows, the memory, masks.
 *
 * Everything is computed on tables [.., w] whose last index is a row of q: a
 * panel.  So the values of a position for all rows are a vector, products need
 * no transposition, and there are no reductions across a vector.
 */
#ifndef CPU_ATTENTION_TASKS_H
#define CPU_ATTENTION_TASKS_H

#include "base/philox.h"
#include "cpu/kernels.h"
#include "program/attention_cost.h"

enum {
    PANEL_ROWS = 64,   /* the most rows of a panel */
    MEMORY_BLOCK = 240 /* positions of the memory in a block: a multiple of 8 and 12 */
};

/* An instruction's loops, split into those of the memory and those of the rows that share a memory;
 * the query is the last of these. */
typedef struct attending {
    const instr          *instr;
    const attention_args *args;
    const run_state      *run;
    philox_stream         stream;
    int64_t first_pair; /* global index of the first pair, of this part of the batch */
    int     nbatch, nrows;
    int     batch_loop[MAX_LOOPS], row_loop[MAX_LOOPS];
    int64_t batches, rows;
    int64_t shared; /* this many consecutive batches add to the same gradient */
} attending;

attending attending_of(const instr *i, const run_state *r);
bool      loop_adds_up(const instr *i, int loop); /* do its iterations add to the same gradient? */
/* Into how many parts, at most one for each thread, are so many tasks divided? */
int attention_parts(const attending *t, int64_t tasks);
/* The offset of a batch, and of a row in it, in an operand. */
int64_t       batch_offset(const attending *t, const access *x, int64_t batch);
int64_t       row_offset(const attending *t, const access *x, int64_t row);
const access *attending_input(const attending *t, attention_operand which); /* NULL: absent */
const char   *attending_at(const attending *t, attention_operand which, int64_t offset);

/* Positions of a block of the memory. */
typedef struct places {
    int64_t first, n;
    int32_t at[MEMORY_BLOCK], segment[MEMORY_BLOCK];
    int32_t least, most, low_segment, high_segment;
} places;

/* Consecutive rows of a batch. */
typedef struct panel {
    int64_t batch, first, n;
    int64_t wide; /* width of its tables: n, or more */
    int32_t at[PANEL_ROWS], segment[PANEL_ROWS];
    int32_t least, most, low_segment, high_segment;
    span    seen, all; /* of the memory: what some rows, and what all rows, may see by index */
    int64_t bias[PANEL_ROWS]; /* offsets */
    int64_t pair[PANEL_ROWS]; /* dropout's index of the pair with the memory's first position */
} panel;

void panel_of(const attending *t, int64_t batch, int64_t first, int64_t rows, panel *p);
void memory_places(const attending *t, int64_t batch, int64_t first, int64_t n, places *p);
typedef enum sight { SEES_NOTHING, SEES_SOME, SEES_ALL } sight;
sight sight_of(const attending *t, const panel *p, const places *memory);
/* The positions of the block that some row may see by index; size 0: none. */
span    seen_of(const panel *p, const places *memory);
int64_t pairs_seen(const attending *t, int64_t first, int64_t rows); /* of a batch */

/* Does a row see position m of the block? */
static inline bool sees(const attending *t, const panel *p, int64_t row, const places *memory,
                        int64_t m)
{
    int64_t ahead = (int64_t)memory->at[m] - p->at[row];
    return ahead >= t->args->min && ahead <= t->args->max && memory->segment[m] == p->segment[row];
}

/* Dropout factors of a row for n positions from `first` on. */
void dropout_factors(const attending *t, const panel *p, int64_t row, int64_t first, int64_t n,
                     double *factor);

/* By compute type. */
void   attention_f32(const attending *t, int64_t batch, span rows, void *scratch);
void   attention_f64(const attending *t, int64_t batch, span rows, void *scratch);
size_t attention_bytes_f32(const attending *t, int64_t rows);
size_t attention_bytes_f64(const attending *t, int64_t rows);
/* A few rows: the partial result of a chunk of the memory is stored in `sums`; then all chunks of a
 * batch, which are contiguous, are combined. */
enum { FEW_ROWS = 16, FEW_BATCHES = 16, CHUNK = 2 * MEMORY_BLOCK };
#define ATTENTION_FEW(suffix)                                                                      \
    void   attention_few_##suffix(const attending *t, int64_t batch, span some, void *total,       \
                                  void *scratch);                                                  \
    void   attention_few_finish_##suffix(const attending *t, int64_t batch, int64_t chunks,        \
                                         char *totals);                                            \
    size_t attention_few_sums_##suffix(const attending *t);                                        \
    size_t attention_few_bytes_##suffix(const attending *t);
ATTENTION_FEW(f32)
ATTENTION_FEW(f64)
#undef ATTENTION_FEW
/* Gradients of k, v and the bias for a span of the memory, and its contribution to dq of the
 * rows. */
typedef struct grad_task {
    int64_t batch;
    span    rows, memory;
    bool    of_rows, of_memory; /* compute dq; compute dk, dv and the gradient of the bias */
    void   *sum[3]; /* dq, dk, dv of the task in compute type, [rows or memory][size of a line], if
                     * the results are shorter and summed step by step; NULL: in the results */
} grad_task;
bool   batches_add_up(const attending *t, int o); /* do several batches have one dk (1), dv (2)? */
void  *memory_sum(const attending *t, const grad_task *g, int o); /* of g's batch; or NULL */
size_t attention_grad_scratch(const attending *t, int threads);   /* of each thread */
void   attention_grad_f32(const attending *t, const grad_task *g, void *scratch);
void   attention_grad_f64(const attending *t, const grad_task *g, void *scratch);
size_t attention_grad_bytes_f32(const attending *t);
size_t attention_grad_bytes_f64(const attending *t);

#endif
