/* Examples of an evaluation as pictures beside each other. */
#include "page/example_picture.h"

#include <math.h>

#include "page/escape.h"

enum { SHADES = 16, COLOURS = 7, EXAMPLES_SHOWN = 4 };

/* One picture: its elements as one of a few colours each. */
typedef struct drawing {
    const example_picture *of;
    const float           *elements;
    float                  least, most; /* of all elements, where they are brightnesses */
} drawing;

static drawing drawing_of(const example_picture *p, int64_t example)
{
    drawing d = {p, p->elements + example * p->rows * p->columns, INFINITY, -INFINITY};
    for (int64_t k = 0; k < p->rows * p->columns; k++) {
        d.least = fminf(d.least, d.elements[k]);
        d.most = fmaxf(d.most, d.elements[k]);
    }
    return d;
}

/* A class, or a shade of grey; 0 is not drawn. */
static int colour_at(const drawing *d, int64_t row, int64_t column)
{
    float value = d->elements[row * d->of->columns + column];
    if (!isfinite(value) || !(d->most > d->least)) return 0;
    if (d->of->classes > 0) return value > 0 ? 1 + ((int)value - 1) % COLOURS : 0;
    return (int)((value - d->least) / (d->most - d->least) * SHADES + 0.5F);
}

/* All elements of a colour, those beside each other as one. */
static void write_colour(const drawing *d, int colour, textbuf *t)
{
    if (d->of->classes > 0)
        text_add(t, "<path class=\"c%d\" d=\"", colour);
    else
        text_add(t, "<path style=\"opacity:%.3g\" d=\"", (double)colour / SHADES);
    for (int64_t r = 0; r < d->of->rows; r++)
        for (int64_t c = 0, n; c < d->of->columns; c += n) {
            int here = colour_at(d, r, c);
            for (n = 1; c + n < d->of->columns && colour_at(d, r, c + n) == here;) n++;
            if (here == colour)
                text_add(t, "M%lld,%lldh%lldv1h-%lldz", (long long)c, (long long)r, (long long)n,
                         (long long)n);
        }
    text_add(t, "\"/>");
}

static void write_picture(const example_picture *p, int64_t example, textbuf *t)
{
    drawing d = drawing_of(p, example);
    int     colours = p->classes > 0 ? COLOURS : SHADES;
    text_add(t, "<figure><svg viewBox=\"0 0 %lld %lld\" role=\"img\" aria-label=\"",
             (long long)p->columns, (long long)p->rows);
    html_text(t, p->name);
    text_add(t, " of example %lld\">", (long long)example + 1);
    for (int colour = 1; colour <= colours; colour++) write_colour(&d, colour, t);
    text_add(t, "</svg><figcaption>");
    html_text(t, p->name);
    text_add(t, "</figcaption></figure>\n");
}

void example_pictures_write(int n, const example_picture *pictures, textbuf *t)
{
    if (n < 1) return;
    text_add(t, "<section>\n<h2>Examples</h2>\n<p class=\"note\">The first of the evaluation, by "
                "the variables of the last one.</p>\n");
    for (int64_t e = 0; e < pictures[0].examples && e < EXAMPLES_SHOWN; e++) {
        text_add(t, "<div class=\"example\">\n");
        for (int k = 0; k < n; k++) write_picture(&pictures[k], e, t);
        text_add(t, "</div>\n");
    }
    text_add(t, "</section>\n");
}
