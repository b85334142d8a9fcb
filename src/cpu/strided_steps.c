/* The inner loops of strided copies, for every type. */
#include "cpu/level.h"
#include "cpu/strided.h"

#define SAME(v) v

/* to[r, c] = convert(from[r, c]).  Either side may be a register tile; then both have step 1. */
#define COPY(name, TO, FROM, PRAGMA, convert)                                                      \
    static void name(strided to, strided from, int64_t rows, int64_t count)                        \
    {                                                                                              \
        for (int64_t r = 0; r < rows; r++) {                                                       \
            TO         *out = (TO *)to.at + r * to.row;                                            \
            const FROM *in = (const FROM *)from.at + r * from.row;                                 \
            if (to.step == 1 && from.step == 1) {                                                  \
                PRAGMA                                                                             \
                for (int64_t c = 0; c < count; c++) out[c] = convert(in[c]);                       \
            } else if (to.step == 1 && from.step == 0) {                                           \
                TO value = convert(in[0]);                                                         \
                for (int64_t c = 0; c < count; c++) out[c] = value;                                \
            } else if (to.step == 1) {                                                             \
                PRAGMA                                                                             \
                for (int64_t c = 0; c < count; c++) out[c] = convert(in[c * from.step]);           \
            } else {                                                                               \
                for (int64_t c = 0; c < count; c++) out[c * to.step] = convert(in[c * from.step]); \
            }                                                                                      \
        }                                                                                          \
    }

COPY(move_f32, float, float, INDEPENDENT, SAME)
COPY(move_f64, double, double, INDEPENDENT, SAME)
COPY(move_i32, int32_t, int32_t, INDEPENDENT, SAME)
COPY(move_i64, int64_t, int64_t, INDEPENDENT, SAME)
COPY(move_u16, uint16_t, uint16_t, INDEPENDENT, SAME)
COPY(move_u8, uint8_t, uint8_t, INDEPENDENT, SAME)
COPY(load_bf16, float, uint16_t, INDEPENDENT, bf16_to_f32)
COPY(load_f16, float, uint16_t, INDEPENDENT_LONG, f16_to_f32)
COPY(store_bf16, uint16_t, float, INDEPENDENT, f32_to_bf16)
COPY(store_f16, uint16_t, float, INDEPENDENT_LONG, f32_to_f16)
COPY(load_f8e4m3, float, uint8_t, INDEPENDENT_LONG, f8e4m3_to_f32)
COPY(load_f8e5m2, float, uint8_t, INDEPENDENT_LONG, f8e5m2_to_f32)
COPY(store_f8e4m3, uint8_t, float, INDEPENDENT_LONG, f32_to_f8e4m3)
COPY(store_f8e5m2, uint8_t, float, INDEPENDENT_LONG, f32_to_f8e5m2)

const strided_tables OF_LEVEL(strided_tables) = {
    .loader = {[MTF_F32] = move_f32,
               [MTF_BF16] = load_bf16,
               [MTF_F16] = load_f16,
               [MTF_F64] = move_f64,
               [MTF_I32] = move_i32,
               [MTF_I64] = move_i64,
               [MTF_BOOL] = move_u8,
               [MTF_F8E4M3] = load_f8e4m3,
               [MTF_F8E5M2] = load_f8e5m2},
    .storer = {[MTF_F32] = move_f32,
               [MTF_BF16] = store_bf16,
               [MTF_F16] = store_f16,
               [MTF_F64] = move_f64,
               [MTF_I32] = move_i32,
               [MTF_I64] = move_i64,
               [MTF_BOOL] = move_u8,
               [MTF_F8E4M3] = store_f8e4m3,
               [MTF_F8E5M2] = store_f8e5m2},
    .mover = {[MTF_F32] = move_f32,
              [MTF_BF16] = move_u16,
              [MTF_F16] = move_u16,
              [MTF_F64] = move_f64,
              [MTF_I32] = move_i32,
              [MTF_I64] = move_i64,
              [MTF_BOOL] = move_u8,
              [MTF_F8E4M3] = move_u8,
              [MTF_F8E5M2] = move_u8},
};
