/* Kernels written from patterns, in which words stand for numbers.
 *
 * A pattern is the body of a kernel in which $WORD stands for a value that was set before,
 * so that patterns show the kernels as they will be compiled.  A value may be a pattern
 * itself.  Those of more than a few lines stand in a file beside the writer, such as
 * fold.cuh: each begins after a line "//: NAME" and lines of comment, and ends before the
 * next empty line.  Every text has
 *
 *     $I, $U    the types of indices, signed and unsigned: 32 bits, or 64 where needed
 *
 * Loops of a nest are variables l0, l1, ... (with another letter where there are two).
 */
#ifndef CUDA_WRITE_KERNEL_TEXT_H
#define CUDA_WRITE_KERNEL_TEXT_H

#include "base/saturate.h"
#include "cuda/write/index_text.h"
#include "cuda/write/kernel_source.h"

enum {
    BYTES_ON_THE_WAY = 64, /* that a thread reads before it uses them */
    MOST_TOGETHER = 8,     /* pieces of that */
    MOST_WORDS = 64
};

typedef struct kernel_text {
    kernel_source *source;
    const instr   *i;
    bool           wide;
    textbuf        t;
    int            nwords;
    struct {
        const char *name, *value;
    } words[MOST_WORDS];
} kernel_text;

/* The patterns of a file, embedded. */
typedef struct kernel_patterns {
    const unsigned char *text;
    const size_t        *bytes;
} kernel_patterns;

/* Indices have 64 bits if an operand's offsets or `most` need them. */
kernel_text kernel_text_of(kernel_source *s, const instr *i, int64_t most);

void kernel_set(kernel_text *k, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void kernel_set_pattern(kernel_text *k, const char *name, const char *pattern); /* is kept */
void kernel_set_number(kernel_text *k, const char *name, int64_t value);
/* Declarations of a nest's loops, as numbered by the expression `number`; the innermost one is
 * counted in steps of `vector`. */
void kernel_set_loops(kernel_text *k, const char *name, const nest *n, char letter,
                      const char *number, int vector);
/* An operand's offset along a nest's loops. */
void kernel_set_offset(kernel_text *k, const char *name, const nest *n, char letter,
                       const access *a);

void kernel_say(kernel_text *k, const char *pattern); /* appends a pattern, words replaced */
/* The same with a pattern of a file. */
void kernel_set_from(kernel_text *k, const char *name, const kernel_patterns *from,
                     const char *pattern);
void kernel_say_from(kernel_text *k, const kernel_patterns *from, const char *pattern);

/* Adds what was said as a kernel; the text is empty afterwards, its words remain. */
bool kernel_done(kernel_text *k, kernel_plan *plan, int64_t blocks, int threads, int shared);
bool kernel_done_shaped(kernel_text *k, kernel_plan *plan, int64_t blocks,
                        const kernel_shape *shape);

/* ---- sizes ---- */

/* How many elements of an operand can be moved at once along a nest's innermost loop: a power of
 * two that divides the loop, at most 16 bytes; 1 where they are not adjacent.  Strides along the
 * loops of `others`, if any, keep the alignment, too. */
int kernel_pack(const nest *n, const nest *others, const access *a);

/* Rounded up. */
static inline int64_t kernel_parts(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* How far `size` elements reach. */
static inline int64_t kernel_reach(int64_t size, int64_t stride)
{
    return saturate_times(size, stride < 0 ? -stride : stride);
}

static inline int64_t kernel_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* How many pieces of v elements a thread reads before it uses them. */
static inline int64_t kernel_together(int v, mtf_dtype type)
{
    return kernel_least(BYTES_ON_THE_WAY / (v * (int64_t)mtf_dtype_bytes(type)), MOST_TOGETHER);
}

/* The first power of two from `least` on, or `most`, a power of two, if that is smaller. */
int64_t kernel_power(int64_t least, int64_t most);

#endif
