/* The rate that holds for a product, a convolution, a read. */
#include <math.h>

#include "base/dtype.h"
#include "price/rates.h"

/* The row for a side; the smallest row also applies below itself.  NULL: the type has no row. */
static const product_rate *row_of(const price_rates *r, mtf_dtype type, double side)
{
    const product_rate *row = NULL;
    for (int k = 0; k < r->nproducts; k++)
        if (r->products[k].type == type && (!row || r->products[k].side <= side))
            row = &r->products[k];
    return row;
}

double rates_product(const price_rates *r, mtf_dtype type, double volume)
{
    const product_rate *row = row_of(r, type, cbrt(volume));
    return row ? row->flops : r->flops;
}

double rates_best_product(const price_rates *r, mtf_dtype type, double volume)
{
    double              best = 0;
    const product_rate *last = row_of(r, type, r->gpu ? INFINITY : cbrt(volume));
    if (r->gpu) best = gpu_best_product(r->gpu);
    if (!last) return fmax(best, r->flops);
    for (const product_rate *p = r->products; p <= last; p++)
        if (p->type == type) best = fmax(best, p->flops);
    return best;
}

double rates_product_seconds(const price_rates *r, mtf_dtype type, double volume, double products,
                             const product_sides *bytes)
{
    double       side = cbrt(volume), face = side * side * (double)mtf_dtype_bytes(type) * products;
    double       seconds = 2 * volume * products / rates_product(r, type, volume);
    const double sides[][2] = {{bytes->left, r->flat.left},
                               {bytes->right, r->flat.right},
                               {bytes->result, r->flat.result}};
    for (int k = 0; k < 3; k++)
        if (sides[k][1] > 0) seconds += fmax(sides[k][0] - face, 0) / sides[k][1];
    return seconds;
}

double rates_channels(double inputs, double outputs)
{
    return cbrt(inputs * outputs * outputs);
}

/* 0: no row is for them */
static double rate_by_channels(const price_rates *r, const window_rate *like)
{
    const window_rate *below = NULL, *above = NULL;
    for (int k = 0; k < r->nwindows; k++) {
        const window_rate *w = &r->windows[k];
        if (w->type != like->type || w->library != like->library || w->rounded != like->rounded)
            continue;
        if (w->channels <= like->channels) below = w;
        if (w->channels > like->channels && !above) above = w;
    }
    if (!below && !above) return 0;
    if (!below || !above) return (below ? below : above)->flops;
    double share = log(like->channels / below->channels) / log(above->channels / below->channels);
    return below->flops * pow(above->flops / below->flops, share);
}

double rates_window(const price_rates *r, const window_rate *like)
{
    window_rate ours = {.type = like->type, .channels = like->channels};
    double      rate = rate_by_channels(r, like);
    if (rate == 0) rate = rate_by_channels(r, &ours);
    return rate > 0 ? rate : r->flops;
}

double rates_peak(const price_rates *r)
{
    double best = r->gpu ? gpu_best_product(r->gpu) : 0;
    for (int k = 0; k < r->nproducts; k++) best = fmax(best, r->products[k].flops);
    return best > 0 ? best : r->flops;
}

/* On a GPU the layout may decide who computes it, and in which type. */
double rates_best_window(const price_rates *r, const window_rate *like)
{
    double best = fmax(rates_window(r, like), r->gpu ? r->flops : 0);
    for (int k = 0; k < r->nwindows; k++) {
        const window_rate *w = &r->windows[k];
        if (r->gpu || (w->type == like->type && w->channels < like->channels))
            best = fmax(best, w->flops);
    }
    return best;
}

static cache_rate cache_row(const price_rates *r, int k)
{
    if (k < r->ncaches) return r->caches[k];
    return (cache_rate){4 * r->caches[r->ncaches - 1].bytes, r->memory};
}

double rates_memory(const price_rates *r, double reach)
{
    int k = 0;
    if (r->ncaches == 0) return r->memory;
    while (k <= r->ncaches && cache_row(r, k).bytes < reach) k++;
    if (k == 0) return r->caches[0].memory;
    if (k > r->ncaches) return r->memory;
    cache_rate near = cache_row(r, k - 1), far = cache_row(r, k);
    double     share = log(reach / near.bytes) / log(far.bytes / near.bytes);
    return near.memory * pow(far.memory / near.memory, share);
}

double rates_best_memory(const price_rates *r, double reach)
{
    double best = fmax(r->memory, rates_memory(r, reach));
    for (int k = 0; k < r->ncaches; k++)
        if (r->caches[k].bytes > reach) best = fmax(best, r->caches[k].memory);
    return best;
}

double rates_speed(const price_rates *r, double share)
{
    double idle = 1 - share, fair = fmax(1, fmin(r->alone, 1 / share));
    if (r->half <= 0 || r->quarter <= 0) return fair;
    double most = r->most > 0 ? r->most : (r->half + r->alone) / 2;
    double at[] = {1, r->quarter, r->half, most, r->alone};
    int    k = (int)fmin(4 * idle, 3);
    double speed = at[k] + (at[k + 1] - at[k]) * (4 * idle - k);
    return fmax(1, fmin(speed, fair));
}

/* Pauses are independent, most of them short.  The formula gives the largest sum of pauses of any
 * member to within a quarter, from one pause in many collectives to dozens in each. */
double rates_wait(const price_rates *r, double work, int group)
{
    double pauses = log1p((group - 1) * r->pauses * work);
    return r->pause * pauses * (1 + pauses / 10);
}
