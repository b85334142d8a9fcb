/* Picks the inner loops for this chip.
 *
 * The chip is queried each time: that takes a few loads, and needs no state.
 */
#include "cpu/levels.h"

#include "base/chip.h"
#include "cpu/short_tile.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

static bool has_sve(void)
{
    return getauxval(AT_HWCAP) >> 22 & 1;
}
#elif defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && has_avx2();
}
#endif

static bool has_plain(void)
{
    return true;
}

static const struct {
    level level;
    bool (*runs)(void);
} levels[] = {
#define ROW(l)                                                                                     \
    {{#l, &map_tables_##l, &joined_tables_##l, &formula_tables_##l, &soft_tables_##l,              \
      &fold_tables_##l, &strided_tables_##l, &terms_tables_##l, &slim_tables_##l,                  \
      &attention_tables_##l, &short_tables_##l},                                                   \
     has_##l},
    ROW(plain) MTF_LEVELS(ROW)
#undef ROW
};

enum { LEVELS = sizeof levels / sizeof *levels };

const level *level_at(int i)
{
    return i >= 0 && i < LEVELS && levels[i].runs() ? &levels[i].level : NULL;
}

static const level *highest(void)
{
    int i = LEVELS - 1;
    while (!levels[i].runs()) i--;
    return &levels[i].level;
}

map_step *map_step_of(scalar_fn fn, mtf_dtype type)
{
    return highest()->map->step[fn][dtype_compute(type)];
}

map_step *map_step_with_one(scalar_fn fn, mtf_dtype type, int which)
{
    return highest()->map->with_one[fn][which][dtype_compute(type)];
}

map_step *map_cast_of(mtf_dtype to, mtf_dtype from)
{
    return highest()->map->cast[to][dtype_compute(from)];
}

map_step3 *map_select_of(mtf_dtype type)
{
    return highest()->map->select[dtype_compute(type)];
}

map_step3 *map_joined_of(const map_joint *j)
{
    return highest()->joined->loop[j->first][j->second][j->after][j->one_y][j->one_z];
}

exp_below *map_exp_below(void)
{
    return highest()->joined->below;
}

map_formula *map_formula_of(formula_name name)
{
    return highest()->formulas->loop[name];
}

const soft_tables *soft_loops(void)
{
    return highest()->soft;
}

map_index *map_index_of(mtf_dtype type)
{
    return highest()->map->index[dtype_compute(type)];
}

const fold_steps *fold_steps_of(fold_kind kind, mtf_dtype type)
{
    return &highest()->fold->steps[kind][dtype_compute(type)];
}

const fold_search *fold_search_of(fold_kind kind, mtf_dtype type)
{
    return &highest()->fold->search[kind == FOLD_ARGMIN][dtype_compute(type)];
}

strided_copy *strided_loader(mtf_dtype type)
{
    return highest()->strided->loader[type];
}

strided_copy *strided_storer(mtf_dtype type)
{
    return highest()->strided->storer[type];
}

strided_copy *strided_mover(mtf_dtype type)
{
    return highest()->strided->mover[type];
}

terms_loop *terms_loop_here(void)
{
    return highest()->terms->loop;
}

const slim_tables *slim_loops(void)
{
#if MTF_OWN_PRODUCTS
    return &slim_tables_neon;
#else
    return highest()->slim;
#endif
}

const attention_tables *attention_loops(void)
{
    return highest()->attention;
}

const short_tables *short_loops(void)
{
#if defined(__aarch64__)
    if (chip_has_bfmmla()) return &short_tables_bfdot;
#endif
    return highest()->shorts;
}

const short_tile *short_tile_here(void)
{
#if defined(__aarch64__)
    if (chip_has_bfmmla()) return &short_tile_bfmmla;
#elif defined(__x86_64__)
    if (chip_has_amx_bf16()) return &short_tile_amx;
    if (chip_has_avx512_bf16()) return &short_tile_avx512;
#endif
    return NULL;
}
