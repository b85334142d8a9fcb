/* Large matrix products, by BLIS.
 *
 * Its archive is linked into this one object, all of its names hidden: it
 * brings a BLAS of its own, and every other call must stay OpenBLAS's.
 */
#include <blis.h>

#include "machine/kernels/matrix.h"

/* One element to the next down a column, and along a row. */
static inc_t down(const matrix *m)
{
    return m->turned ? 1 : m->ld;
}

static inc_t along(const matrix *m)
{
    return m->turned ? m->ld : 1;
}

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
