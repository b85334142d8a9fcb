/* The tile of matrix_tile.h for arm64.
 *
 * It has 24 vectors of sums, 2 of a, 3 of b.  It is written in assembly because
 * the order matters: the loads for the next k stand between the multiplications
 * of this one, each just after the last use of the register that it overwrites.
 * On a Neoverse-V1 core, whose peak is 83 GFLOP/s, it reaches 79; the same loop
 * from compilers, which group the loads, reached 68 to 75.
 */
#include "cpu/matrix_tile.h"

#if MTF_OWN_PRODUCTS

/* Column n of the tile, whose sums are v<low> and v<high>: + a[0..7] * lane of b. */
#define COLUMN(low, high, a_low, a_high, b, lane)                                                  \
    "fmla v" #low ".4s,v" #a_low ".4s,v" #b ".s[" #lane "]\n"                                      \
    "fmla v" #high ".4s,v" #a_high ".4s,v" #b ".s[" #lane "]\n"

#define LOAD(v, from, at) "ldr q" #v ", [%[" #from "], #" #at "]\n"
#define NO_LOAD(v, from, at)

/* One k: a in (A0, A1), b in v26, v27, v28; LOAD loads the operands of the next k, its a into (N0,
 * N1), from offsets A and B. */
#define STEP(A0, A1, N0, N1, LOAD, A, A_HIGH, B, B_MIDDLE, B_HIGH)                                 \
    COLUMN(0, 1, A0, A1, 26, 0)                                                                    \
    COLUMN(2, 3, A0, A1, 26, 1)                                                                    \
    LOAD(N0, a, A)                                                                                 \
    COLUMN(4, 5, A0, A1, 26, 2)                                                                    \
    COLUMN(6, 7, A0, A1, 26, 3)                                                                    \
    LOAD(26, b, B)                                                                                 \
    COLUMN(8, 9, A0, A1, 27, 0)                                                                    \
    COLUMN(10, 11, A0, A1, 27, 1)                                                                  \
    LOAD(N1, a, A_HIGH)                                                                            \
    COLUMN(12, 13, A0, A1, 27, 2)                                                                  \
    COLUMN(14, 15, A0, A1, 27, 3)                                                                  \
    LOAD(27, b, B_MIDDLE)                                                                          \
    COLUMN(16, 17, A0, A1, 28, 0)                                                                  \
    COLUMN(18, 19, A0, A1, 28, 1)                                                                  \
    COLUMN(20, 21, A0, A1, 28, 2)                                                                  \
    COLUMN(22, 23, A0, A1, 28, 3)                                                                  \
    LOAD(28, b, B_HIGH)

#define ZERO(v) "movi v" #v ".4s, #0\n"
#define STORE(v, next) "st1 {v" #v ".4s,v" #next ".4s},[%[to]],%[bytes]\n"

void matrix_tile_f32(int64_t k, const float *a, const float *b, float *to, int64_t column)
{
    int64_t bytes = column * (int64_t)sizeof *to;
    int64_t pairs = (k - 1) / 2, one = (k - 1) % 2; /* the last step loads nothing */
    /* clang-format off */
    __asm__ volatile(
        LOAD(24, a, 0) LOAD(25, a, 16) LOAD(26, b, 0) LOAD(27, b, 16) LOAD(28, b, 32)
        ZERO(0) ZERO(1) ZERO(2) ZERO(3) ZERO(4) ZERO(5) ZERO(6) ZERO(7)
        ZERO(8) ZERO(9) ZERO(10) ZERO(11) ZERO(12) ZERO(13) ZERO(14) ZERO(15)
        ZERO(16) ZERO(17) ZERO(18) ZERO(19) ZERO(20) ZERO(21) ZERO(22) ZERO(23)
        "cbz %[pairs], 2f\n"
        ".p2align 5\n"
        "1:\n"
        STEP(24, 25, 29, 30, LOAD, 32, 48, 48, 64, 80)
        STEP(29, 30, 24, 25, LOAD, 64, 80, 96, 112, 128)
        "add %[a], %[a], #64\n"
        "add %[b], %[b], #96\n"
        "subs %[pairs], %[pairs], #1\n"
        "b.ne 1b\n"
        "2:\n"
        "cbz %[one], 3f\n"
        STEP(24, 25, 29, 30, LOAD, 32, 48, 48, 64, 80)
        "mov v24.16b, v29.16b\n"
        "mov v25.16b, v30.16b\n"
        "3:\n"
        STEP(24, 25, 29, 30, NO_LOAD, 0, 0, 0, 0, 0)
        STORE(0, 1) STORE(2, 3) STORE(4, 5) STORE(6, 7) STORE(8, 9) STORE(10, 11)
        STORE(12, 13) STORE(14, 15) STORE(16, 17) STORE(18, 19) STORE(20, 21) STORE(22, 23)
        : [a] "+r"(a), [b] "+r"(b), [pairs] "+r"(pairs), [to] "+r"(to)
        : [bytes] "r"(bytes), [one] "r"(one)
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
          "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
          "v27", "v28", "v29", "v30", "cc", "memory");
    /* clang-format on */
}

#endif
