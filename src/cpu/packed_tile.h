/* Tiles of products whose operands are packed first.
 *
 * Sums are f32, or f64 for f64, over stretches of terms whose bounds are the same for every tile.  So a row of a
 * product is summed alike whatever rows are beside it.
 */
#ifndef CPU_PACKED_TILE_H
#define CPU_PACKED_TILE_H

#include "base/dtype.h"

enum {
    PACKED_HIGH = 120, /* the largest tile */
    PACKED_WIDE = 256,
    PACKED_ROW = PACKED_WIDE + 16, /* floats from a row of a tile to the next */
    PACKED_DEEP = 256              /* terms of a stretch */
};

/* A matrix of one operand: where it begins, and its strides. */
typedef struct factor {
    const char *at;
    mtf_dtype   type;
    int64_t     down, along;
} factor;

/* Working space of a thread, in floats or doubles. */
typedef struct packed_space {
    void *tile;  /* [high][PACKED_WIDE] */
    void *left;  /* panels or rows of one operand, of one stretch */
    void *right; /* strips of the other, of all stretches */
} packed_space;

/* For tiles of up to so many columns, of which so many terms are packed. */
size_t       packed_bytes(mtf_dtype type, int64_t wide, int64_t depth);
packed_space packed_space_at(void *at, mtf_dtype type);

/* Packs b, [depth][wide], for what follows. */
void packed_right(const packed_space *s, factor b, int64_t wide, int64_t depth);
/* tile = or += a, [high][depth], times what is packed. */
void packed_multiply(const packed_space *s, factor a, int64_t high, int64_t wide, int64_t depth,
                     bool add);
/* Writes the tile, or zeros. */
void packed_put(const packed_space *s, mtf_dtype type, char *to, int64_t down, int64_t along,
                int64_t high, int64_t wide, bool zeros);

#endif
