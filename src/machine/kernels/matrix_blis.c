/* Large matrix products, by BLIS.
 *
 * Its archive is linked into this one object, all of its names hidden: it
 * brings a BLAS of its own, and every other call must stay OpenBLAS's.
 */
#include <blis.h>
#include <string.h>

#include "machine/kernels/matrix.h"
#include "machine/kernels/matrix_tile.h"

/* One element to the next down a column, and along a row. */
static inc_t down(const matrix *m)
{
    return m->turned ? 1 : m->ld;
}

static inc_t along(const matrix *m)
{
    return m->turned ? m->ld : 1;
}

#if MTF_HAVE_TILE
#include <arm_neon.h>

/* BLIS's call for a tile of m rows and n columns: c = beta * c + alpha * a * b. */
static void tile_of_blis(dim_t m, dim_t n, dim_t k, float *restrict alpha, float *restrict a,
                         float *restrict b, float *restrict beta, float *restrict c, inc_t down_c,
                         inc_t along_c, auxinfo_t *restrict data, cntx_t *restrict how)
{
    float tile[TILE_COLS][TILE_ROWS];
    (void)data, (void)how;
    for (dim_t j = 0; j < n; j++) __builtin_prefetch(c + j * along_c, 1);
    matrix_tile_f32(k, a, b, tile);
    if (m == TILE_ROWS && down_c == 1 && *alpha == 1 && *beta == 1)
        for (dim_t j = 0; j < n; j++) {
            float *at = c + j * along_c;
            vst1q_f32(at, vaddq_f32(vld1q_f32(at), vld1q_f32(tile[j])));
            vst1q_f32(at + 4, vaddq_f32(vld1q_f32(at + 4), vld1q_f32(tile[j] + 4)));
        }
    else if (m == TILE_ROWS && down_c == 1 && *alpha == 1 && *beta == 0)
        for (dim_t j = 0; j < n; j++) memcpy(c + j * along_c, tile[j], sizeof tile[j]);
    else
        for (dim_t j = 0; j < n; j++)
            for (dim_t i = 0; i < m; i++) {
                float *at = c + i * down_c + j * along_c, sum = *alpha * tile[j][i];
                *at = *beta == 0 ? sum : *beta * *at + sum; /* 0 would take -0's sign */
            }
}

static void take_tile(cntx_t *how)
{
    if (bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_MR, how) != TILE_ROWS ||
        bli_cntx_get_blksz_def_dt(BLIS_FLOAT, BLIS_NR, how) != TILE_COLS)
        return;
    union { /* BLIS keeps functions as objects, which ISO C casts nothing to */
        sgemm_ukr_ft function;
        void_fp      object;
    } tile = {tile_of_blis};
    bli_func_set_dt(tile.object, BLIS_FLOAT, bli_cntx_get_l3_nat_ukrs(BLIS_GEMM_UKR, how));
    bli_func_set_dt(tile.object, BLIS_FLOAT, bli_cntx_get_l3_vir_ukrs(BLIS_GEMM_UKR, how));
}
#endif

/* BLIS measures its blocks for the chip it was written on, and takes those of a Cortex-A57 for every
 * later one: with larger caches, blocks of a size that most products are a multiple of do better. */
static cntx_t blocks_of_this_chip(void)
{
    enum { DOWN = 240, DEEP = 512 };
    cntx_t how = *bli_gks_query_cntx();
    if (bli_arch_query_id() != BLIS_ARCH_CORTEXA57) return how;
    bli_cntx_set_blksz_def_dt(BLIS_FLOAT, BLIS_MC, DOWN, &how);
    bli_cntx_set_blksz_max_dt(BLIS_FLOAT, BLIS_MC, DOWN, &how);
    bli_cntx_set_blksz_def_dt(BLIS_FLOAT, BLIS_KC, DEEP, &how);
    bli_cntx_set_blksz_max_dt(BLIS_FLOAT, BLIS_KC, DEEP, &how);
#if MTF_HAVE_TILE
    take_tile(&how);
#endif
    return how;
}

/* One thread whatever the environment says, for kernels split products among their own; and always
 * by packed blocks, which sum the same way in pieces of any size. */
void gemm_blis(const gemm *g, const void *a, const void *b, void *c)
{
    float  one_f32 = 1, kept_f32 = g->add ? 1 : 0;
    double one_f64 = 1, kept_f64 = g->add ? 1 : 0;
    cntx_t how = blocks_of_this_chip();
    rntm_t way;
    bli_rntm_init(&way);
    bli_rntm_set_num_threads(1, &way);
    bli_rntm_disable_l3_sup(&way);
    if (g->type == MTF_F32)
        bli_sgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, g->m, g->n, g->k, &one_f32, (float *)a,
                     down(&g->a), along(&g->a), (float *)b, down(&g->b), along(&g->b), &kept_f32, c,
                     down(&g->c), along(&g->c), &how, &way);
    else
        bli_dgemm_ex(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, g->m, g->n, g->k, &one_f64, (double *)a,
                     down(&g->a), along(&g->a), (double *)b, down(&g->b), along(&g->b), &kept_f64,
                     c, down(&g->c), along(&g->c), &how, &way);
}
