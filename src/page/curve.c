/* A curve over the steps of a run. */
#include "page/curve.h"

#include <math.h>

#include "base/numbers.h"
#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"

enum { WIDTH = 1000, TICKS = 4 };

typedef struct frame {
    double x0, x1, y0, y1;
    int    height;
    bool   powers; /* logarithmic scale */
} frame;

static double across(const frame *f, double step)
{
    return f->x1 > f->x0 ? WIDTH * (step - f->x0) / (f->x1 - f->x0) : WIDTH / 2.0;
}

static double up(const frame *f, double value)
{
    double share =
        f->powers ? log(value / f->y0) / log(f->y1 / f->y0) : (value - f->y0) / (f->y1 - f->y0);
    return f->height * (1 - fmin(1, fmax(0, share)));
}

static frame frame_of(const curve *c)
{
    frame f = {.x0 = c->from, .x1 = c->to, .y0 = INFINITY, .y1 = -INFINITY, .height = c->height};
    for (int k = 0; k < c->n; k++) {
        double low = c->least ? c->least[k] : c->value[k],
               high = c->most ? c->most[k] : c->value[k];
        if (isfinite(low)) f.y0 = fmin(f.y0, low);
        if (isfinite(high)) f.y1 = fmax(f.y1, high);
    }
    f.powers = !c->from_zero && f.y0 > 0 && f.y1 > 30 * f.y0;
    if (f.powers) {
        f.y0 /= 1.2, f.y1 *= 1.2;
    } else {
        double room = f.y1 > f.y0 ? 0.08 * (f.y1 - f.y0) : fmax(1e-12, 0.1 * fabs(f.y1));
        bool   zero = c->from_zero || (f.y0 >= 0 && f.y0 < 0.5 * f.y1);
        f.y0 = zero ? 0 : f.y0 - room;
        f.y1 += room;
    }
    if (c->most_possible > 0) f.y1 = fmin(f.y1, c->most_possible);
    return f;
}

static void write_line(const curve *c, const frame *f, const char *class, const double *values,
                       textbuf *t)
{
    bool pen = false;
    text_add(t, "<path class=\"%s\" d=\"", class);
    for (int k = 0; k < c->n; k++) {
        if (!isfinite(values[k])) {
            pen = false;
            continue;
        }
        text_add(t, pen ? "L" : "M"), page_number(t, across(f, c->step[k]));
        text_add(t, ","), page_number(t, up(f, values[k]));
        pen = true;
    }
    text_add(t, "\"/>");
}

/* A running mean over a fortieth of all values, ignoring those that are not finite. */
static const double *running_mean(const curve *c, arena *a)
{
    double *means = arena_array(a, double, c->n + 1);
    int     reach = c->n / 80, count = 0;
    double  sum = 0;
    for (int k = -reach; means && k < c->n; k++) {
        int in = k + reach, out = k - reach - 1;
        if (in < c->n && isfinite(c->value[in])) sum += c->value[in], count++;
        if (out >= 0 && isfinite(c->value[out])) sum -= c->value[out], count--;
        if (k >= 0) means[k] = count ? sum / count : NAN;
    }
    return means;
}

static void write_band(const curve *c, const frame *f, textbuf *t)
{
    bool first = true;
    text_add(t, "<path class=\"band\" d=\"");
    for (int k = 0; k < c->n; k++) {
        if (!isfinite(c->most[k])) continue;
        text_add(t, first ? "M" : "L"), page_number(t, across(f, c->step[k]));
        text_add(t, ","), page_number(t, up(f, c->most[k]));
        first = false;
    }
    for (int k = c->n - 1; k >= 0; k--) {
        if (!isfinite(c->least[k])) continue;
        text_add(t, "L"), page_number(t, across(f, c->step[k]));
        text_add(t, ","), page_number(t, up(f, c->least[k]));
    }
    text_add(t, "\"/>");
}

static unit_text value_text(double v)
{
    unit_text t;
    if (fabs(v) >= 10000 && fabs(v) < 1e18) return unit_count((int64_t)v);
    number_format(t.s, sizeof t.s, "%.5g", fabs(v) < 1e-12 ? 0 : v);
    return t;
}

static void write_ticks(const frame *f, const char *unit, textbuf *t)
{
    double step = page_round_up((f->y1 - f->y0) / TICKS);
    double v = f->powers ? page_round_up(f->y0) : ceil(f->y0 / step - 1e-9) * step;
    for (int n = 0; v <= f->y1 * (1 + 1e-9) && n < 20; n++) {
        text_add(t, "<span style=\"top:%.1fpx\">", up(f, v));
        text_add(t, "%s%s</span>", value_text(v).s, unit);
        v = f->powers ? page_round_up(v * 1.9) : v + step;
    }
}

static void write_step_ticks(const frame *f, textbuf *t)
{
    double step = fmax(1, page_round_up((f->x1 - f->x0) / 5));
    text_add(t, "<div class=\"gutter unit\">step</div>\n<div class=\"plot axis\">");
    for (double v = ceil(f->x0 / step) * step; v <= f->x1; v += step)
        text_add(t, "<span%s style=\"left:%.2f%%\">%.0f</span>",
                 across(f, v) > 970 ? " class=\"last\"" : "", across(f, v) / 10, v);
    text_add(t, "</div>\n");
}

void curve_write(const curve *c, int number, textbuf *t)
{
    int finite = 0, last = -1;
    for (int k = 0; k < c->n; k++)
        if (isfinite(c->value[k])) finite++, last = k;
    if (!finite) return;
    if (finite == 1) {
        text_add(t, "<figure class=\"curve single\"><figcaption>");
        html_text(t, c->name);
        text_add(t, " <b>%s%s</b> <small>step %.0f</small></figcaption></figure>\n",
                 value_text(c->value[last]).s, c->unit, c->step[last]);
        return;
    }
    frame f = frame_of(c);
    text_add(t,
             "<figure class=\"curve\" data-curve=\"%d\" data-from=\"%.0f\" "
             "data-to=\"%.0f\">\n<figcaption>",
             number, c->from, c->to);
    html_text(t, c->name);
    text_add(t,
             " <b>%s%s</b> <small class=\"told\">step %.0f</small></figcaption>\n<div "
             "class=\"plots\" tabindex=\"0\">\n"
             "<div class=\"gutter values\" aria-hidden=\"true\">",
             value_text(c->value[last]).s, c->unit, c->step[last]);
    write_ticks(&f, c->unit, t);
    text_add(t,
             "</div>\n<div class=\"plot\" style=\"height:%dpx\"><svg viewBox=\"0 0 %d %d\" "
             "preserveAspectRatio=\"none\" "
             "role=\"img\" aria-label=\"",
             c->height, WIDTH, c->height);
    html_text(t, c->name);
    text_add(t, " over the steps\">");
    if (c->least) write_band(c, &f, t);
    const double *means = c->smooth && c->n > 160 ? running_mean(c, t->arena) : NULL;
    if (means) write_line(c, &f, "raw", c->value, t);
    write_line(c, &f, "line", means ? means : c->value, t);
    text_add(t, "</svg>");
    if (c->dots) {
        text_add(t, "<svg>");
        for (int k = 0; k < c->n; k++)
            if (isfinite(c->value[k]))
                text_add(t, "<circle cx=\"%.2f%%\" cy=\"%.1f\" r=\"3.5\"/>",
                         across(&f, c->step[k]) / 10, up(&f, c->value[k]));
        text_add(t, "</svg>");
    }
    text_add(t, "</div>\n");
    write_step_ticks(&f, t);
    text_add(t, "</div>\n</figure>\n");
}

static void write_numbers(const double *values, int n, textbuf *t)
{
    text_add(t, "[");
    for (int k = 0; k < n; k++)
        text_add(t, isfinite(values[k]) ? "%s%.7g" : "%snull", k ? "," : "", values[k]);
    text_add(t, "]");
}

void curve_write_data(const curve *c, textbuf *t)
{
    text_add(t, "{\"name\":");
    json_string(t, c->name);
    text_add(t, ",\"unit\":\"%s\",\"step\":", c->unit);
    write_numbers(c->step, c->n, t);
    text_add(t, ",\"value\":");
    write_numbers(c->value, c->n, t);
    text_add(t, "}");
}
