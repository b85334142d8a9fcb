/* What devices do by themselves, as far as programs are written for them.
 *
 * A plan needs no device to be there, only its abilities: the device's own folder
 * says them, and run/devices.c has those of every device that has a name.
 */
#ifndef BASE_ABILITIES_H
#define BASE_ABILITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "mtf.h"

/* What a product of matrices may do before it stores its result (program/instr.h). */
typedef enum ability_epilogue {
    EPILOGUE_ADD = 1,  /* add a matrix */
    EPILOGUE_BIAS = 2, /* add a vector */
    EPILOGUE_RELU = 4,
    EPILOGUE_GELU = 8,   /* of short floats */
    EPILOGUE_SLOPE = 16, /* multiply by the derivative of gelu, of short floats */
    EPILOGUE_TOTAL = 32, /* sum its result, or a factor, along a loop */
    EPILOGUE_INTO =
        64 /* add to a matrix of f32 or f64 that its result replaces, also in a batch of products */
} ability_epilogue;

struct instr;              /* program/instr.h */
struct collective_library; /* program/site.h */

typedef struct abilities {
    /* Bit t: it multiplies matrices of type t as they are, with sums of dtype_compute(t).  Operands of
     * other short floats are widened before.  Both f8 types go together. */
    unsigned products;
    unsigned never;      /* types that it does not multiply, whatever a machine file says */
    bool     f8_as_bf16; /* f8 factors are widened to bf16, and no further */
    unsigned epilogues;  /* bits of ability_epilogue */
    int      slim; /* columns up to which products have kernels of their own, and no epilogues */
    int      longest_row; /* elements along which one map may fold */
    int  row_bytes; /* rows of matrices should be apart by multiples of these; 0: by any number */
    bool overlaps;  /* it runs collectives beside other work */
    bool sums_columns; /* a map may add up columns in passing */
    bool attends; /* its library computes gradients of attention, and reads what attention gave */
    /* Does its library compute this convolution, once the filter lies as it should?  `least`: multiplications
     * from which on it is asked, least_window; 0: whatever the number of channels.  NULL: it has none. */
    bool (*takes_window)(const struct instr *i, int64_t least, bool tf32);
    int64_t least_window;
    bool    sums_windows; /* its convolutions of short floats may give sums in f32 */
    int multiprocessors; /* that a kernel's blocks are spread over, as far as kernels depend on it */
    int  shared_bytes;   /* of memory that the threads of a block share; 0: not known */
    bool recomputes;     /* reading a value from memory takes longer than computing it again */
    bool groups;         /* it starts neighbouring maps at once that do not depend on one another */
    /* Its processors have memory of their own, and a library that connects those of several processes.
     * NULL: they use the host's. */
    const struct collective_library *collectives;
    const char *machine; /* of share/machines, by whose rates plans are made; NULL: PRICE_RATES */
} abilities;

/* A device that multiplies f8 matrices does so if all their sizes, and the distances of their rows and
 * columns, are multiples of this, if both are contiguous along the dimension that is summed, and if at
 * least one is f8e4m3. */
enum { F8_MULTIPLE = 16 };

static inline bool abilities_multiply(abilities a, mtf_dtype type)
{
    return a.products >> type & 1;
}

#endif
