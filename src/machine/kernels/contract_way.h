/* Which way a contraction takes through the library of matrix products.
 *
 * The choice follows from type and sizes of the whole alone, never from a
 * thread's piece of it, so that the program can tell it before anything runs.
 * (An operand whose strides no way can express was packed when the contraction
 * was emitted: a move before it.)
 */
#ifndef MACHINE_CONTRACT_WAY_H
#define MACHINE_CONTRACT_WAY_H

#include "program/instr.h"

/* On arm64 the libraries prepare for large products where they are small. */
#if defined(__aarch64__)
#define MTF_OWN_PRODUCTS 1
#else
#define MTF_OWN_PRODUCTS 0
#endif
enum { SLIM_WIDE = 12 }; /* columns, or rows, at most, */
/* and multiply-adds, at least: on x86-64 OpenBLAS packs nothing for a small product. */
enum { SLIM_WORK = MTF_OWN_PRODUCTS ? 0 : 1000 * 1000 };
enum { MOST_TERMS = 32 }; /* of a sum, at most */

/* clang-format off */
#define CONTRACT_WAYS(WAY)                                                                         \
    WAY(PLAIN,   "plain",   "our own loop: no floats, or too few for a call of the library")       \
    WAY(DOT,     "dot",     "one number from two vectors")                                         \
    WAY(GEMV,    "gemv",    "a matrix times a vector: threads take whole rows of memory")          \
    WAY(TERMS,   "terms",   "a few terms, in f32 on x86-64: our own loop writes the result once")  \
    WAY(SLIM,    "slim",    "a matrix times a few columns, in f32: our own loop")                  \
    WAY(TILED,   "tiled",   "products of matrices, in f32 on arm64: by tiles of our own")          \
    WAY(SHORT,   "bf16",    "products of matrices, in bf16: by tiles of our own, sums in f32")     \
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
