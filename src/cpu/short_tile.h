/* Tiles of bf16 products, for each chip's instructions.
 *
 * Such instructions multiply 2 or 4 adjacent k at once.  So operands are packed
 * in panels of a tile's lanes, which are rows of a or columns of b, in groups
 * along k: panel[k / group][lane][k % group], padded with zeros.  The sums of a
 * tile are f32.
 */
#ifndef CPU_SHORT_TILE_H
#define CPU_SHORT_TILE_H

#include "base/dtype.h"
#include "base/whole.h"

/* The layout of an operand's lanes, and of its elements along k. */
typedef struct short_strip {
    const uint16_t *at;
    int64_t         lane, along; /* distance from one to the next */
    int64_t         lanes;
} short_strip;

enum { SHORT_MOST_TILE = 32 * 32 }; /* elements of the result in a tile */

typedef struct short_tile {
    int rows, cols;
    int unit; /* k is padded to a multiple of it */
    int deep; /* the sum restarts after this many k, so that a panel fits into the L1 cache */
    /* Pack all lanes, panel by panel, the last one padded. */
    void (*pack_rows)(const short_strip *s, int64_t k, uint16_t *to);
    void (*pack_columns)(const short_strip *s, int64_t k, uint16_t *to);
    /* to[m * row + n] = the products of a panel of rows and one of columns; k > 0, in whole
     * units. */
    void (*run)(int64_t k, const uint16_t *a, const uint16_t *b, float *to, int64_t row);
    void (*narrow)(int64_t n, const float *from, uint16_t *to); /* as f32_to_bf16 does */
    /* Called before and after the tiles of one thread; NULL: not needed. */
    void (*begin)(void);
    void (*end)(void);
} short_tile;

extern const short_tile short_tile_bfmmla;                 /* arm64 */
extern const short_tile short_tile_avx512, short_tile_amx; /* x86-64 */

/* The tiles for this chip; NULL: it has no such instructions. */
const short_tile *short_tile_here(void);

/* Packs one panel from any memory layout. */
static inline void short_pack(const short_strip *s, int64_t k, int wide, int group, int unit,
                              uint16_t *to)
{
    int64_t whole = round_up(k, unit);
    if (s->lanes < wide || whole > k) memset(to, 0, (size_t)(whole * wide) * sizeof *to);
    for (int64_t l = 0; l < k; l++)
        for (int64_t i = 0; i < s->lanes; i++)
            to[(l / group * wide + i) * group + l % group] = s->at[i * s->lane + l * s->along];
}

#endif
