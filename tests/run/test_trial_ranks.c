/* A machine is measured over ranks as on threads, and all of them agree: tests/shell/mpi.sh.
 *
 * Its speed is not known beforehand.  But every rate that prices a collective or a product of this mesh
 * must be above 0 and the same on each rank, and must be in the file.
 *
 * Usage: mpirun -n N test_trial_ranks MESH      default: x:2, on threads
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/calibrate.h"
#include "run/store.h"

enum { CHECKS = 3, MOST_RANKS = 64 };

static bool is_measured(double rate)
{
    return isfinite(rate) && rate > 0;
}

/* The wire of an only axis is that of all. */
static bool all_measured(const trial *t, const price_rates *r)
{
    int  naxes = t->mesh.naxes > 1 && !t->divided ? t->mesh.naxes : 0;
    bool ok = is_measured(r->flops) && is_measured(r->memory) && is_measured(r->rows) &&
              is_measured(r->wire) && is_measured(r->latency) && is_measured(r->start);
    for (int k = 0; k < r->nproducts; k++) ok = ok && is_measured(r->products[k].flops);
    for (int k = 0; k < r->nwindows; k++) ok = ok && is_measured(r->windows[k].flops);
    for (int k = 0; k < r->ncaches; k++) ok = ok && is_measured(r->caches[k].memory);
    for (int k = 0; k < r->naxes; k++)
        ok = ok && is_measured(r->axes[k].wire) && is_measured(r->axes[k].latency);
    return ok && r->nproducts > 0 && r->nwindows > 0 && r->ncaches > 0 && r->naxes == naxes &&
           isfinite(r->message) && r->message >= 0;
}

/* A step takes as long as its slowest rank, for everybody. */
static bool all_agree(mtf_session *s, const price_rates *r)
{
    ranks *others = store_of(s)->ranks;
    double mine[] = {r->flops, r->memory, r->wire, r->latency, r->message}, all[MOST_RANKS][5];
    if (!others) return true;
    if (!ranks_gather(others, "rates", mine, all, (int)sizeof mine)) return false;
    for (int k = 0; k < ranks_count(others); k++)
        if (memcmp(all[k], mine, sizeof mine) != 0) return false;
    return true;
}

static bool is_kept_by_a_file(mtf_session *s, const price_rates *r)
{
    price_rates read = {0};
    textbuf     t = {.arena = &s->arena};
    rates_write(r, &t);
    const char *text = text_done(&t);
    return text && rates_read(s, text, "measured", &read) && read.nproducts == r->nproducts &&
           read.ncaches == r->ncaches && read.naxes == r->naxes &&
           fabs(read.flops - r->flops) < 0.01 * r->flops;
}

int main(int argc, char **argv)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = argc > 1 ? argv[1] : "x:2"});
    price_rates  r = {0};
    trial        t;
    int          right = 0;
    if (calibrate_begin(s, &t) && trial_run(&t, &r))
        right = all_measured(&t, &r) + all_agree(s, &r) + is_kept_by_a_file(s, &r);
    if (mtf_is_first(s)) printf("test_trial_ranks: %d passed, %d failed\n", right, CHECKS - right);
    return mtf_close(s) || right < CHECKS;
}
