/* Which method a contraction uses for its matrix products.
 *
 * The choice depends on the type and the sizes of the whole product only, never
 * on a thread's piece of it, so that it is known before the program runs.  (An
 * operand whose strides no method can express was packed when the contraction
 * was emitted: by a move before it.)
 */
#ifndef CPU_CONTRACT_WAY_H
#define CPU_CONTRACT_WAY_H

#include "program/instr.h"

/* On arm64 the libraries are slow for small products, since they prepare for large ones. */
#if defined(__aarch64__)
#define MTF_OWN_PRODUCTS 1
#else
#define MTF_OWN_PRODUCTS 0
#endif
enum { SLIM_WIDE = 16 }; /* at most this many columns, or rows, */
/* and at least this many multiply-adds: on x86-64 OpenBLAS packs nothing for a small product. */
enum { SLIM_WORK = MTF_OWN_PRODUCTS ? 0 : 1000 * 1000 };
enum { MOST_TERMS = 32 }; /* the most terms of a sum */

/* clang-format off */
#define CONTRACT_WAYS(WAY)                                                                         \
    WAY(PLAIN,   "plain",   "a plain loop: not floats, or too small for a library call")           \
    WAY(DOT,     "dot",     "one number from two vectors")                                         \
    WAY(GEMV,    "gemv",    "a matrix times a vector: threads take whole rows of memory")          \
    WAY(TERMS,   "terms",   "a few terms, in f32 on x86-64: a loop that writes the result once")   \
    WAY(SLIM,    "slim",    "a matrix times a few columns, in f32: a loop of mtf")                 \
    WAY(TILED,   "tiled",   "products of matrices, in f32 on arm64: tiles of mtf")                 \
    WAY(SHORT,   "bf16",    "products of matrices, in bf16: tiles of mtf, or blocks in f32; sums in f32") \
    WAY(BATCHED, "batched", "many products of matrices: threads take whole ones")                  \
    WAY(GEMM,    "gemm",    "few products of matrices: threads take pieces of each")
/* clang-format on */

typedef enum contract_way {
#define WAY(way, name, says) CONTRACT_##way,
    CONTRACT_WAYS(WAY)
#undef WAY
} contract_way;

contract_way contract_way_of(const instr *i);
const char  *contract_way_name(contract_way way);

#endif
