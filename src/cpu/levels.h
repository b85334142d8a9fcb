/* Levels: the instruction sets that inner loops are compiled for.
 *
 * The files of inner loops (*_steps.c) are compiled for the baseline of the architecture, and once
 * more for each level of MTF_LEVELS with the flags in cmake/flags.cmake.  One binary holds them all
 * and uses, on each chip, the highest level that the chip can run.  All levels give the same bits,
 * except the baseline of x86-64, which has no fused multiply-add: functions.h.
 */
#ifndef CPU_LEVELS_H
#define CPU_LEVELS_H

#include "cpu/attention_steps.h"
#include "cpu/fold_steps.h"
#include "cpu/map_formulas.h"
#include "cpu/map_joined.h"
#include "cpu/short_steps.h"
#include "cpu/slim_steps.h"
#include "cpu/soft_steps.h"
#include "cpu/strided.h"
#include "cpu/terms_steps.h"
#include "mtf_build.h"

#define DECLARE_TABLES(level)                                                                      \
    extern const map_tables       map_tables_##level;                                              \
    extern const joined_tables    joined_tables_##level;                                           \
    extern const formula_tables   formula_tables_##level;                                          \
    extern const soft_tables      soft_tables_##level;                                             \
    extern const fold_tables      fold_tables_##level;                                             \
    extern const strided_tables   strided_tables_##level;                                          \
    extern const terms_tables     terms_tables_##level;                                            \
    extern const slim_tables      slim_tables_##level;                                             \
    extern const attention_tables attention_tables_##level;                                        \
    extern const short_tables     short_tables_##level;
DECLARE_TABLES(plain)
MTF_LEVELS(DECLARE_TABLES)
#undef DECLARE_TABLES

typedef struct level {
    const char             *name;
    const map_tables       *map;
    const joined_tables    *joined;
    const formula_tables   *formulas;
    const soft_tables      *soft;
    const fold_tables      *fold;
    const strided_tables   *strided;
    const terms_tables     *terms;
    const slim_tables      *slim;
    const attention_tables *attention;
    const short_tables     *shorts;
} level;

/* Level i, from plain (0) upwards; NULL if this chip cannot run it, or there is no such level. */
const level *level_at(int i);

#endif
