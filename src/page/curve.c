/* A figure of one or more runs as curves, over their steps and over their time. */
#include "page/curve.h"

#include <math.h>

#include "base/numbers.h"
#include "page/escape.h"
#include "page/page.h"

enum { WIDTH = 1000, TICKS = 4 };

static const char *const ways[CURVE_WAYS] = {"by-step", "by-time"};

/* ---- scales ---- */

typedef struct frame {
    int    way; /* BY_STEP, BY_TIME */
    double x0, x1, y0, y1;
    int    height;
    bool   powers; /* logarithmic scale */
} frame;

static double across(const frame *f, double x)
{
    return f->x1 > f->x0 ? WIDTH * (x - f->x0) / (f->x1 - f->x0) : WIDTH / 2.0;
}

static double up(const frame *f, double value)
{
    double share =
        f->powers ? log(value / f->y0) / log(f->y1 / f->y0) : (value - f->y0) / (f->y1 - f->y0);
    return f->height * (1 - fmin(1, fmax(0, share)));
}

static void take_in(frame *f, const double *values, int n)
{
    for (int k = 0; values && k < n; k++) {
        if (!isfinite(values[k])) continue;
        f->y0 = fmin(f->y0, values[k]);
        f->y1 = fmax(f->y1, values[k]);
    }
}

static frame frame_of(const curve *c)
{
    frame f = {.y0 = INFINITY, .y1 = -INFINITY, .height = c->height};
    for (int i = 0; i < c->nlines; i++) {
        const curve_line *l = &c->lines[i];
        const double     *all[] = {l->value, l->raw, l->least, l->most};
        for (int k = 0; k < 4; k++) take_in(&f, all[k], l->n);
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

static void frame_turn(frame *f, const curve *c, int way)
{
    f->way = way;
    f->x0 = c->from[way], f->x1 = c->to[way];
}

/* ---- lines ---- */

static void write_point(const frame *f, bool pen, double x, double value, textbuf *t)
{
    text_add(t, pen ? "L" : "M"), page_number(t, across(f, x));
    text_add(t, ","), page_number(t, up(f, value));
}

static void write_line(const curve_line *l, const frame *f, const char *class, const double *values,
                       textbuf *t)
{
    bool pen = false;
    text_add(t, "<path class=\"%s r%d\" d=\"", class, l->run);
    for (int k = 0; k < l->n; k++) {
        if (isfinite(values[k])) write_point(f, pen, l->x[f->way][k], values[k], t);
        pen = isfinite(values[k]);
    }
    text_add(t, "\"/>");
}

static void write_band(const curve_line *l, const frame *f, textbuf *t)
{
    bool pen = false;
    text_add(t, "<path class=\"band r%d\" d=\"", l->run);
    for (int k = 0; k < l->n; k++) {
        if (!isfinite(l->most[k])) continue;
        write_point(f, pen, l->x[f->way][k], l->most[k], t);
        pen = true;
    }
    for (int k = l->n - 1; k >= 0; k--)
        if (isfinite(l->least[k])) write_point(f, pen, l->x[f->way][k], l->least[k], t);
    text_add(t, "\"/>");
}

static void write_dots(const curve_line *l, const frame *f, textbuf *t)
{
    for (int k = 0; k < l->n; k++)
        if (isfinite(l->value[k]))
            text_add(t, "<circle class=\"r%d\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"3.5\"/>", l->run,
                     across(f, l->x[f->way][k]) / 10, up(f, l->value[k]));
}

/* The first run lies above the others, and every line above what is pale. */
static void write_plot(const curve *c, const frame *f, textbuf *t)
{
    text_add(t,
             "<svg class=\"%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"",
             ways[f->way], WIDTH, c->height);
    html_text(t, c->name);
    text_add(t, f->way == BY_STEP ? " over the steps\">" : " over the time\">");
    for (int i = c->nlines - 1; i >= 0; i--) {
        if (c->lines[i].least) write_band(&c->lines[i], f, t);
        if (c->lines[i].raw) write_line(&c->lines[i], f, "raw", c->lines[i].raw, t);
    }
    for (int i = c->nlines - 1; i >= 0; i--)
        write_line(&c->lines[i], f, "line", c->lines[i].value, t);
    text_add(t, "</svg>");
    if (!c->dots) return;
    text_add(t, "<svg class=\"%s\">", ways[f->way]);
    for (int i = c->nlines - 1; i >= 0; i--) write_dots(&c->lines[i], f, t);
    text_add(t, "</svg>");
}

/* ---- axes ---- */

unit_text curve_value(double v, int digits)
{
    unit_text t;
    if (fabs(v) >= (digits == 3 ? 999.5 : 10000) && fabs(v) < 1e18) return unit_count((int64_t)v);
    number_format(t.s, sizeof t.s, digits == 3 ? "%.3g" : "%.5g", v);
    return t;
}

static void write_tick(const frame *f, double v, const char *unit, textbuf *t)
{
    text_add(t, "<span style=\"top:%.1fpx\">%s%s</span>", up(f, v), curve_value(v, 0).s, unit);
}

/* On a logarithmic scale 1, 2, 5, 10, with fewer of them over more decades, or every so many tens. */
static void write_powers(const frame *f, const char *unit, textbuf *t)
{
    double decades = log10(f->y1 / f->y0), each = ceil(decades / (TICKS + 1));
    double next = decades < 1.7 ? 1.9 : 2.6;
    bool   few = decades < 3;
    double v = few ? page_round_up(f->y0) : pow(10, ceil(log10(f->y0)));
    for (int n = 0; v <= f->y1 * (1 + 1e-9) && n < 20; n++) {
        write_tick(f, v, unit, t);
        v = few ? page_round_up(v * next) : v * pow(10, each);
    }
}

static void write_ticks(const frame *f, const char *unit, textbuf *t)
{
    double step = page_round_up((f->y1 - f->y0) / TICKS), v = ceil(f->y0 / step - 1e-9) * step;
    if (f->powers) {
        write_powers(f, unit, t);
        return;
    }
    for (int n = 0; v <= f->y1 * (1 + 1e-9) && n < 20; n++, v += step)
        write_tick(f, fabs(v) < 1e-9 * step ? 0 : v, unit, t);
}

/* The unit in which a range of steps or of seconds is told. */
typedef struct axis_unit {
    double      size;
    const char *name;
} axis_unit;

static axis_unit unit_of(const frame *f)
{
    double range = f->x1 - f->x0;
    if (f->way == BY_STEP) return (axis_unit){1, "step"};
    if (range <= 0.1) return (axis_unit){1e-3, "ms"};
    if (range <= 120) return (axis_unit){1, "s"};
    return range <= 7200 ? (axis_unit){60, "min"} : (axis_unit){3600, "h"};
}

static void write_across(const frame *f, textbuf *t)
{
    axis_unit u = unit_of(f);
    double    least = f->way == BY_STEP ? 1 : 0;
    double    step = fmax(least, page_round_up((f->x1 - f->x0) / u.size / 5));
    text_add(
        t,
        "<div class=\"gutter unit %s\">%s</div>\n<div class=\"plot axis %s\" data-from=\"%.9g\" "
        "data-to=\"%.9g\" data-size=\"%g\">",
        ways[f->way], u.name, ways[f->way], f->x0, f->x1, u.size);
    for (double v = ceil(f->x0 / u.size / step) * step; v * u.size <= f->x1; v += step) {
        double at = across(f, v * u.size);
        text_add(t, "<span%s style=\"left:%.2f%%\">%.6g</span>", page_tick_class(at / WIDTH),
                 at / 10, v);
    }
    text_add(t, "</div>\n");
}

/* ---- the figure ---- */

static int last_finite(const curve_line *l)
{
    int k = l->n - 1;
    while (k >= 0 && !isfinite(l->value[k])) k--;
    return k;
}

/* The last value of each line, in its colour where there are several. */
static void write_values(const curve *c, textbuf *t)
{
    for (int i = 0; i < c->nlines; i++) {
        const curve_line *l = &c->lines[i];
        text_add(t, " <span class=\"value r%d\">%s<b>", l->run, c->nlines > 1 ? "<i></i>" : "");
        int k = last_finite(l);
        text_add(t, "%s%s</b></span>", k < 0 ? "nan" : curve_value(l->value[k], c->digits).s,
                 k < 0 ? "" : c->unit);
    }
    const char *how = c->lines[0].raw ? "smoothed, " : "";
    if (c->nlines > 1)
        text_add(t, " <small class=\"told\">%sat the end of each</small>", how);
    else
        text_add(t, " <small class=\"told\">%sstep %.0f</small>", how,
                 c->lines[0].x[BY_STEP][last_finite(&c->lines[0])]);
}

static int most_points(const curve *c)
{
    int most = 0;
    for (int i = 0; i < c->nlines; i++) {
        int finite = 0;
        for (int k = 0; k < c->lines[i].n; k++) finite += isfinite(c->lines[i].value[k]) != 0;
        if (finite > most) most = finite;
    }
    return most;
}

void curve_write(const curve *c, int number, textbuf *t)
{
    int  most = most_points(c);
    bool single = most == 1 && c->nlines == 1;
    if (!most) return;
    text_add(t, "<figure class=\"curve%s\" data-curve=\"%d\">\n<figcaption>",
             single ? " single" : "", number);
    html_text(t, c->name);
    write_values(c, t);
    text_add(t, "</figcaption>\n");
    if (!single) {
        frame f = frame_of(c);
        text_add(t, "<div class=\"plots\" tabindex=\"0\">\n"
                    "<div class=\"gutter values\" aria-hidden=\"true\">");
        write_ticks(&f, c->unit, t);
        text_add(t, "</div>\n<div class=\"plot\" style=\"height:%dpx\">", c->height);
        for (int w = 0; w < CURVE_WAYS; w++) frame_turn(&f, c, w), write_plot(c, &f, t);
        text_add(t, "</div>\n");
        for (int w = 0; w < CURVE_WAYS; w++) frame_turn(&f, c, w), write_across(&f, t);
        text_add(t, "</div>\n");
    }
    text_add(t, "</figure>\n");
}

/* ---- data ---- */

/* Values that the runs have already are only pointed to. */
static void write_line_data(const curve_line *l, textbuf *t)
{
    text_add(t, "{\"run\":%d,\"figure\":%d,\"column\":\"%s\"", l->run,
             l->figure ? (int)(l->figure - l->of->figures) : -1,
             l->figure ? "value" : run_column_name(l->column));
    if (l->raw) {
        text_add(t, ",\"mean\":[");
        for (int k = 0; k < l->n; k++)
            text_add(t, isfinite(l->value[k]) ? "%s%.5g" : "%snull", k ? "," : "", l->value[k]);
        text_add(t, "]");
    }
    text_add(t, "}");
}

void curve_write_data(const curve *c, textbuf *t)
{
    text_add(t, "{\"name\":");
    json_string(t, c->name);
    text_add(t, ",\"unit\":\"%s\",\"digits\":%d,\"times\":%g,\"lines\":[", c->unit,
             c->digits ? c->digits : 5, c->times > 0 ? c->times : 1);
    for (int i = 0; i < c->nlines; i++) {
        if (i) text_add(t, ",");
        write_line_data(&c->lines[i], t);
    }
    text_add(t, "]}");
}
