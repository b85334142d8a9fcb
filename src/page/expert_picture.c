/* The load of experts over the steps of a run, as pictures.
 *
 * A picture has at most COLUMNS columns of equally many steps: when all are in use, adjacent ones are merged, and
 * from then on a column stands for twice as many steps.
 */
#include "page/expert_picture.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "page/escape.h"

enum { COLUMNS = 64, ROWS = 32, SHADES = 8, LAYERS_SHOWN = 12 };

struct expert_layer {
    const char *name;
    int64_t     experts;
    int         rows;
    double
        *sums; /* [COLUMNS][rows]: loads, as multiples of an even one, over the steps of a column */
    double dropped;
};

static bool begin(expert_picture *p, const mtf_train_step *now)
{
    p->n = now->nexperts;
    p->each = 1;
    p->layers = arena_array(p->arena, expert_layer, p->n);
    TRY(p->layers != NULL);
    for (int k = 0; k < p->n; k++) {
        const mtf_train_experts *x = &now->experts[k];
        expert_layer            *l = &p->layers[k];
        l->name = x->layer;
        l->experts = x->experts;
        l->rows = x->experts < ROWS ? (int)x->experts : ROWS;
        l->sums = arena_array(p->arena, double, COLUMNS * l->rows);
        TRY(l->sums != NULL);
    }
    return true;
}

static void halve(expert_picture *p)
{
    for (int k = 0; k < p->n; k++) {
        expert_layer *l = &p->layers[k];
        for (int c = 0; c < COLUMNS / 2; c++)
            for (int r = 0; r < l->rows; r++)
                l->sums[c * l->rows + r] =
                    l->sums[2 * c * l->rows + r] + l->sums[(2 * c + 1) * l->rows + r];
        memset(l->sums + COLUMNS / 2 * l->rows, 0,
               sizeof *l->sums * (size_t)(COLUMNS / 2 * l->rows));
    }
    p->columns = COLUMNS / 2;
    p->each *= 2;
}

/* Of the experts of a row that with the largest load counts. */
static void add_layer(expert_layer *l, const mtf_train_experts *x, int column)
{
    for (int r = 0; r < l->rows; r++) {
        double most = 0;
        for (int64_t e = r * l->experts / l->rows; e < (r + 1) * l->experts / l->rows; e++)
            most = fmax(most, x->load[e]);
        l->sums[column * l->rows + r] += most * (double)l->experts;
    }
    l->dropped += x->dropped;
}

bool expert_picture_add(expert_picture *p, const mtf_train_step *now)
{
    if (!p->layers && now->nexperts > 0) {
        TRY(begin(p, now));
        p->first = now->step;
    }
    if (!p->n) return true;
    assert(p->layers != NULL);
    if (p->columns == 0 || p->steps == p->each) {
        if (p->columns == COLUMNS) halve(p);
        p->columns++;
        p->steps = 0;
    }
    p->steps++;
    p->last = now->step;
    for (int k = 0; k < p->n; k++) add_layer(&p->layers[k], &now->experts[k], p->columns - 1);
    return true;
}

/* ---- pictures ---- */

static double load_at(const expert_picture *p, const expert_layer *l, int column, int row)
{
    double steps = (double)(column == p->columns - 1 ? p->steps : p->each);
    return l->sums[column * l->rows + row] / steps;
}

/* An even load has half of the colour, one of twice as much or more all of it. */
static int shade_at(const expert_picture *p, const expert_layer *l, int column, int row)
{
    double shade = load_at(p, l, column, row) * SHADES / 2;
    return isfinite(shade) ? (int)(fmin(shade, SHADES) + 0.5) : 0;
}

/* All cells of a shade, those beside each other as one. */
static void write_shade(const expert_picture *p, const expert_layer *l, int shade, textbuf *t)
{
    text_add(t, "<path style=\"opacity:%.3g\" d=\"", (double)shade / SHADES);
    for (int r = 0; r < l->rows; r++)
        for (int c = 0, n; c < p->columns; c += n) {
            for (n = 1; c + n < p->columns && shade_at(p, l, c + n, r) == shade_at(p, l, c, r);)
                n++;
            if (shade_at(p, l, c, r) == shade) text_add(t, "M%d,%dh%dv1h-%dz", c, r, n, n);
        }
    text_add(t, "\"/>");
}

static void write_layer(const expert_picture *p, const expert_layer *l, textbuf *t)
{
    double least = INFINITY, most = 0;
    for (int r = 0; r < l->rows; r++) {
        double load = load_at(p, l, p->columns - 1, r);
        least = fmin(least, load), most = fmax(most, load);
    }
    text_add(t, "<figure class=\"heat\"><figcaption>");
    html_text(t, *l->name ? l->name : "experts");
    text_add(t, " <small>%lld experts; at the end %.2f to %.2f times an even load; dropped",
             (long long)l->experts, least, most);
    text_add(t, " %.2g %% of all choices</small></figcaption>\n",
             100 * l->dropped / (double)(p->last - p->first + 1));
    text_add(t,
             "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" style=\"height:%dpx\" "
             "role=\"img\" aria-label=\"the load of experts over the steps\">",
             p->columns, l->rows,
             l->rows < 8    ? 12 * l->rows
             : l->rows < 16 ? 8 * l->rows
                            : 160);
    for (int shade = 1; shade <= SHADES; shade++) write_shade(p, l, shade, t);
    text_add(t, "</svg></figure>\n");
}

void expert_picture_write(const expert_picture *p, textbuf *t)
{
    if (!p->n || !p->columns) return;
    text_add(
        t,
        "<section>\n<h2>The load of experts</h2>\n<p class=\"note\">From left to right the steps "
        "%lld to %lld, a row for each expert, of many the most loaded of a few; half of the colour "
        "is an even load, all of it twice as much or more.</p>\n",
        (long long)p->first, (long long)p->last);
    for (int k = 0; k < p->n && k < LAYERS_SHOWN; k++) write_layer(p, &p->layers[k], t);
    if (p->n > LAYERS_SHOWN)
        text_add(t, "<p class=\"note\">and %d more</p>\n", p->n - LAYERS_SHOWN);
    text_add(t, "</section>\n");
}
