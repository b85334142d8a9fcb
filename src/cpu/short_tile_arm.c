/* Tiles of bf16 products on arm64, by BFMMLA.
 *
 * The instruction multiplies two rows of four by two columns of four: 24
 * vectors of sums are 8 rows by 12 columns, beside 4 vectors of a and 4 of b.
 * Written in assembly for the order of instructions, as in matrix_tile.c: each
 * load stands just after the last use of the register that it overwrites.
 */
#include "base/whole.h"
#include "cpu/short_tile.h"

#if defined(__aarch64__)

#include <arm_neon.h>

/* The assembly is one string, longer than compilers must support. */
#pragma GCC diagnostic ignored "-Woverlength-strings"

enum { ROWS = 8, COLS = 12, GROUP = 4 };

/* ---- the tile ---- */

#define LOAD(v, from, at) "ldr q" #v ", [%[" #from "], #" #at "]\n"
#define NO_LOAD(v, from, at)

/* Adds the products of four pairs of rows and a pair of columns, whose sums are v<S0> to v<S3>. */
#define COLUMNS(S0, S1, S2, S3, b)                                                                 \
    "bfmmla v" #S0 ".4s, v24.8h, v" #b ".8h\n"                                                     \
    "bfmmla v" #S1 ".4s, v25.8h, v" #b ".8h\n"                                                     \
    "bfmmla v" #S2 ".4s, v26.8h, v" #b ".8h\n"                                                     \
    "bfmmla v" #S3 ".4s, v27.8h, v" #b ".8h\n"

/* The last pair of columns, after which the rows of the next step are loaded. */
/* clang-format off */
#define LAST_COLUMNS(b, LOAD, A0, A1, A2, A3)                                                      \
    "bfmmla v20.4s, v24.8h, v" #b ".8h\n" LOAD(24, a, A0)                                          \
    "bfmmla v21.4s, v25.8h, v" #b ".8h\n" LOAD(25, a, A1)                                          \
    "bfmmla v22.4s, v26.8h, v" #b ".8h\n" LOAD(26, a, A2)                                          \
    "bfmmla v23.4s, v27.8h, v" #b ".8h\n" LOAD(27, a, A3)

/* Four k: b is in B0 .. B3 at first, which are then reused; NEXT loads the operands of the next
 * step. */
#define STEP(B0, B1, B2, B3, B_FIFTH, B_LAST, NEXT, N0, N1, N2, N3, A0, A1, A2, A3)                \
    COLUMNS(0, 1, 2, 3, B0)                                                                        \
    LOAD(B0, b, B_FIFTH)                                                                           \
    COLUMNS(4, 5, 6, 7, B1)                                                                        \
    LOAD(B1, b, B_LAST)                                                                            \
    COLUMNS(8, 9, 10, 11, B2)                                                                      \
    NEXT(B2, b, N0)                                                                                \
    COLUMNS(12, 13, 14, 15, B3)                                                                    \
    NEXT(B3, b, N1)                                                                                \
    COLUMNS(16, 17, 18, 19, B0)                                                                    \
    NEXT(B0, b, N2)                                                                                \
    LAST_COLUMNS(B1, NEXT, A0, A1, A2, A3)                                                         \
    NEXT(B1, b, N3)
/* clang-format on */

#define ZERO(v) "movi v" #v ".4s, #0\n"

/* Two rows of four columns each, from two blocks of two by two. */
#define PUT(S, T, at)                                                                              \
    "trn1 v24.2d, v" #S ".2d, v" #T ".2d\n"                                                        \
    "trn2 v25.2d, v" #S ".2d, v" #T ".2d\n"                                                        \
    "str q24, [%[to], #" #at "]\n"                                                                 \
    "str q25, [%[next], #" #at "]\n"

#define PUT_ROWS(S0, S1, S2, S3, S4, S5)                                                           \
    "add %[next], %[to], %[bytes]\n" PUT(S0, S1, 0) PUT(S2, S3, 16)                                \
        PUT(S4, S5, 32) "add %[to], %[next], %[bytes]\n"

/* to[m * row + n] = sum over k of a[k / 4][m][k % 4] * b[k / 4][n][k % 4] */
static void run_tile(int64_t k, const uint16_t *a, const uint16_t *b, float *to, int64_t row)
{
    int64_t bytes = row * (int64_t)sizeof *to, steps = k / GROUP;
    int64_t pairs = (steps - 1) / 2, one = (steps - 1) % 2; /* the last step loads nothing */
    float  *next = to;
    /* clang-format off */
    __asm__ volatile(
        LOAD(24, a, 0) LOAD(25, a, 16) LOAD(26, a, 32) LOAD(27, a, 48)
        LOAD(28, b, 0) LOAD(29, b, 16) LOAD(30, b, 32) LOAD(31, b, 48)
        ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7)
        ZERO(8) ZERO(9) ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15)
        ZERO(16) ZERO(17) ZERO(18) ZERO(19) ZERO(20) ZERO(21) ZERO(22) ZERO(23)
        "cbz %[pairs], 2f\n"
        ".p2align 5\n"
        "1:\n"
        STEP(28, 29, 30, 31, 64, 80, LOAD, 96, 112, 128, 144, 64, 80, 96, 112)
        STEP(30, 31, 28, 29, 160, 176, LOAD, 192, 208, 224, 240, 128, 144, 160, 176)
        "add %[a], %[a], #128\n"
        "add %[b], %[b], #192\n"
        "subs %[pairs], %[pairs], #1\n"
        "b.ne 1b\n"
        "2:\n"
        "cbz %[one], 3f\n"
        STEP(28, 29, 30, 31, 64, 80, LOAD, 96, 112, 128, 144, 64, 80, 96, 112)
        STEP(30, 31, 28, 29, 160, 176, NO_LOAD, 0, 0, 0, 0, 0, 0, 0, 0)
        "b 4f\n"
        "3:\n"
        STEP(28, 29, 30, 31, 64, 80, NO_LOAD, 0, 0, 0, 0, 0, 0, 0, 0)
        "4:\n"
        PUT_ROWS(0, 4, 8, 12, 16, 20) PUT_ROWS(1, 5, 9, 13, 17, 21)
        PUT_ROWS(2, 6, 10, 14, 18, 22) PUT_ROWS(3, 7, 11, 15, 19, 23)
        : [a] "+&r"(a), [b] "+&r"(b), [pairs] "+&r"(pairs), [to] "+&r"(to), [next] "+&r"(next)
        : [bytes] "r"(bytes), [one] "r"(one)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
          "v27", "v28", "v29", "v30", "v31", "cc", "memory");
    /* clang-format on */
}

/* ---- packing ---- */

/* to[k / 4][lane][k % 4]: four k at a time from two lanes, whose elements along k are adjacent. */
static void pack_along(const short_strip *s, int64_t k, int wide, uint16_t *to)
{
    int64_t whole = k / (2 * GROUP) * (2 * GROUP);
    for (int i = 0; i < wide; i += 2) {
        const uint16_t *first = s->at + i * s->lane, *second = first + s->lane;
        for (int64_t l = 0; l < whole; l += 2 * GROUP) {
            uint64x2_t x = vreinterpretq_u64_u16(vld1q_u16(first + l));
            uint64x2_t y = vreinterpretq_u64_u16(vld1q_u16(second + l));
            uint16_t  *at = to + l * wide + i * GROUP;
            vst1q_u16(at, vreinterpretq_u16_u64(vzip1q_u64(x, y)));
            vst1q_u16(at + GROUP * wide, vreinterpretq_u16_u64(vzip2q_u64(x, y)));
        }
    }
    short_strip rest = {s->at + whole, s->lane, 1, wide};
    if (whole < k) short_pack(&rest, k - whole, wide, GROUP, GROUP, to + whole * wide);
}

/* Transposes four lanes of four rows. */
static inline void transpose_four(const uint16_t *from, int64_t along, uint16_t *to)
{
    uint16x4_t r0 = vld1_u16(from), r1 = vld1_u16(from + along);
    uint16x4_t r2 = vld1_u16(from + 2 * along), r3 = vld1_u16(from + 3 * along);
    uint16x8_t even = vcombine_u16(r0, r1), odd = vcombine_u16(r2, r3);
    uint16x8_t low = vzip1q_u16(even, odd), high = vzip2q_u16(even, odd);
    vst1q_u16(to, vzip1q_u16(low, high));
    vst1q_u16(to + 8, vzip2q_u16(low, high));
}

static inline void transpose_eight(const uint16_t *from, int64_t along, uint16_t *to)
{
    uint16x8_t r0 = vld1q_u16(from), r1 = vld1q_u16(from + along);
    uint16x8_t r2 = vld1q_u16(from + 2 * along), r3 = vld1q_u16(from + 3 * along);
    uint16x8_t a = vzip1q_u16(r0, r2), b = vzip1q_u16(r1, r3);
    uint16x8_t c = vzip2q_u16(r0, r2), d = vzip2q_u16(r1, r3);
    vst1q_u16(to, vzip1q_u16(a, b));
    vst1q_u16(to + 8, vzip2q_u16(a, b));
    vst1q_u16(to + 16, vzip1q_u16(c, d));
    vst1q_u16(to + 24, vzip2q_u16(c, d));
}

/* The same from adjacent lanes: several panels at once, because every element along k is on another
 * page of memory, where the hardware does not prefetch. */
static inline void pack_beside(const short_strip *s, int panels, int64_t k, int wide, uint16_t *to)
{
    enum { AHEAD = 2 * GROUP };
    int64_t whole = k / GROUP * GROUP, panel = round_up(k, GROUP) * wide;
    for (int64_t l = 0; l < whole; l += GROUP) {
        const uint16_t *row = s->at + l * s->along;
        int64_t         ahead = l + AHEAD + GROUP <= whole ? AHEAD * s->along : 0;
        for (int p = 0; p < panels; p++) {
            const uint16_t *from = row + p * wide;
            uint16_t       *at = to + p * panel + l * wide;
            for (int r = 0; r < GROUP; r++) __builtin_prefetch(from + ahead + r * s->along);
            transpose_eight(from, s->along, at);
            if (wide > 8) transpose_four(from + 8, s->along, at + 8 * GROUP);
        }
    }
    for (int p = 0; p < panels && whole < k; p++) {
        short_strip rest = {s->at + p * wide + whole * s->along, 1, s->along, wide};
        short_pack(&rest, k - whole, wide, GROUP, GROUP, to + p * panel + whole * wide);
    }
}

static inline void pack_panels(const short_strip *s, int64_t k, int wide, uint16_t *to)
{
    enum { TOGETHER = 8 };
    int64_t panels, panel = round_up(k, GROUP) * wide;
    for (int64_t done = 0; done < s->lanes; done += panels * wide, to += panels * panel) {
        int64_t     left = s->lanes - done, whole = left / wide;
        short_strip part = {s->at + done * s->lane, s->lane, s->along, left < wide ? left : wide};
        panels = s->lane != 1 || whole < 1 ? 1 : whole < TOGETHER ? whole : TOGETHER;
        if (whole && s->lane == 1)
            pack_beside(&part, (int)panels, k, wide, to);
        else if (whole && s->along == 1)
            pack_along(&part, k, wide, to);
        else
            short_pack(&part, k, wide, GROUP, GROUP, to);
    }
}

static void pack_rows(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, ROWS, to);
}

static void pack_columns(const short_strip *s, int64_t k, uint16_t *to)
{
    pack_panels(s, k, COLS, to);
}

static void narrow(int64_t n, const float *from, uint16_t *to)
{
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        vst1_u16(to + i, vreinterpret_u16_bf16(vcvt_bf16_f32(vld1q_f32(from + i))));
    for (; i < n; i++) to[i] = f32_to_bf16(from[i]);
}

const short_tile short_tile_bfmmla = {.rows = ROWS,
                                      .cols = COLS,
                                      .unit = GROUP,
                                      .deep = 1024,
                                      .pack_rows = pack_rows,
                                      .pack_columns = pack_columns,
                                      .run = run_tile,
                                      .narrow = narrow};

#endif
