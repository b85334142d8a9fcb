/* Kernels as text: CUDA C written for the sizes of an instruction.
 *
 * Each kind of instruction has a writer.  It adds the kernels that carry out one
 * instruction to a source and says how they are launched.  Sizes and strides are
 * numbers in the text, so that the compiler folds index arithmetic; instructions
 * whose text is the same share a kernel.  What need not be known to the compiler, such
 * as the key of random numbers, is an argument, so that more of them do.
 *
 * The text is a small part of C++ that a host's compiler takes as well: types and
 * functions come from prelude.cuh, which stands before all kernels.  Tests run the
 * kernels on the host in that way.
 *
 * All kernels of an instruction have the same parameters: a pointer to element
 * (0, ..., 0) of each output, out0, out1, ..., and of each input, in0, in1, ...;
 * then `char *scratch`, the instruction's working space, and `const step_words *words`;
 * then the plan's numbers, `u64 number0`, `number1`, ...
 */
#ifndef CUDA_WRITE_KERNEL_SOURCE_H
#define CUDA_WRITE_KERNEL_SOURCE_H

#include "base/names.h"
#include "base/textbuf.h"
#include "program/program.h"

/* What changes from step to step, in the GPU's memory.  prelude.cuh declares the same. */
typedef struct step_words {
    uint64_t seed;
    uint32_t step;
    uint32_t unused;
} step_words;

typedef struct kernel_launch {
    const char *name;
    int64_t     blocks;
    int         threads; /* in a block */
    int         shared;  /* bytes of dynamic shared memory in a block */
} kernel_launch;

enum { MOST_LAUNCHES = 6, MOST_NUMBERS = 8 };
typedef struct kernel_plan {
    int           nlaunches; /* one after another; 0: there is nothing to do */
    kernel_launch launch[MOST_LAUNCHES];
    int64_t       scratch_bytes;
    int           nnumbers; /* arguments of all its kernels */
    uint64_t      number[MOST_NUMBERS];
} kernel_plan;

/* A kernel's name says what its text is: kernels of one name are equal. */
typedef struct kernel_entry {
    const char *name, *text;
} kernel_entry;

typedef struct written_instr written_instr; /* kernel_memory.c */

typedef struct kernel_source {
    arena         *arena;
    kernel_entry  *kernels; /* each once */
    int            nkernels, kernels_room;
    name_table     names;
    written_instr *written; /* instructions, each form once */
    int            nwritten, written_room;
    bool           only_sizes;      /* plans are wanted, sources are not */
    int            cluster;         /* blocks that a cluster may have; 1: the GPU knows none */
    int            multiprocessors; /* of the GPU, or of that which is planned for (abilities) */
    int            shared_bytes;    /* that a block of the GPU may have in shared memory */
    bool           wide;            /* indices have 64 bits even where 32 suffice: for tests */
} kernel_source;

kernel_source kernel_source_make(arena *a);
/* For what a kernel says; it discards that where only sizes are wanted. */
textbuf       kernel_textbuf(const kernel_source *s);
kernel_source kernel_source_for(arena             *a,
                                const mtf_session *s); /* with what the session knows of the GPU */

/* Appends a kernel whose body is `body`, without braces, unless the source has it already, and a launch
 * of it to the plan.  The body may name the parameters above and whatever prelude.cuh has.  It begins with
 * wait_for_turn(), unless it says so itself at another place. */
bool kernel_add(kernel_source *s, kernel_plan *plan, const instr *i, const char *body,
                int64_t blocks, int threads, int shared);
/* How a kernel's blocks are made up. */
typedef struct kernel_shape {
    int threads, shared; /* bytes of dynamic shared memory */
    int together;        /* blocks that share a processor of the GPU: that bounds their registers */
    int cluster;         /* blocks in a row that can read one another's shared memory; 1: none */
} kernel_shape;
bool kernel_add_shaped(kernel_source *s, kernel_plan *plan, const instr *i, const char *body,
                       int64_t blocks, const kernel_shape *shape);

/* Adds an argument to those of the kernels that are added to the plan afterwards; its number. */
int kernel_number(kernel_plan *plan, uint64_t value);
/* Appends a launch; false, with an error, where the plan has no room for it. */
bool kernel_launch_add(kernel_source *s, kernel_plan *plan, kernel_launch launch);

/* Adds a kernel with parameters of its own: its whole text, and a name that no other text has. */
bool kernel_source_put(kernel_source *s, const char *name, const char *text);

/* All kernels, one after another; NULL after an error. */
const char *kernel_source_text(const kernel_source *s);

/* Writes the kernels of an instruction; false after an error. */
typedef bool kernel_writer(kernel_source *s, const instr *i, kernel_plan *plan);

kernel_writer write_map, write_move, write_add_into, write_fold, write_grouped, write_gather,
    write_scatter, write_scan, write_order, write_nucleus, write_window, write_draw,
    write_attention, write_attention_join, write_attention_grad, write_contract;

/* The writer of a kind of instruction; NULL: it is not a kernel. */
kernel_writer *kernel_writer_of(instr_kind kind);
/* Has the kernels of an instruction written by its writer, or takes those of an equal one. */
kernel_writer kernel_write;
/* Whether the kernels of an instruction may need working space.  A search for layouts asks how much
 * each program needs, and most of its text is that of instructions that need none. */
bool kernel_wants_scratch(const instr *i);

/* ---- what writers share ---- */

/* Blocks of 256 threads that the GPU runs at once. */
static inline int64_t kernel_full(const kernel_source *s)
{
    return (int64_t)s->multiprocessors * 8;
}

const char *kernel_type(mtf_dtype type); /* as the text calls it: f32, bf16, ... */

#endif
