/* The step as a picture: memory and work over predicted time. */
#include "page/plan_picture.h"

#include <string.h>

#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"

/* Units of the pictures, which are stretched to the available width. */
enum { WIDTH = 1000, MEMORY_HEIGHT = 240, SUM_LANE = 20, TICKS = 5 };

typedef struct picture {
    const plan_view *view;
    picture_scale    scale;
    textbuf         *t;
    int              lane; /* height of one layer's lane */
} picture;

static double x_at(const picture *p, int k)
{
    return WIDTH * p->view->begin[k] / p->scale.seconds;
}

static double share_of(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- memory ---- */

/* The area of this kind and all kinds below it; the topmost kind is drawn first. */
static void write_area(const picture *p, int kind, double top)
{
    const plan_view *v = p->view;
    int              n = v->e->program->ninstrs;
    double           before = -1;
    text_add(p->t, "<path class=\"%s\" d=\"M0,%d", memory_classes[kind], MEMORY_HEIGHT);
    for (int k = 0; k < n; k++) {
        int64_t sum = 0;
        for (int j = 0; j <= kind; j++) sum += v->alive[k][j];
        double y = MEMORY_HEIGHT * (1 - (double)sum / top);
        if (k && before - y < 0.05 && y - before < 0.05) continue;
        if (k) text_add(p->t, "H"), page_number(p->t, x_at(p, k));
        text_add(p->t, "V"), page_number(p->t, y);
        before = y;
    }
    text_add(p->t, "H"), page_number(p->t, x_at(p, n));
    text_add(p->t, "V%dz\"/>", MEMORY_HEIGHT);
}

/* A range of instructions around `at` in which a kind has at least `bytes`. */
typedef struct stretch {
    int from, to;
} stretch;

static stretch stretch_around(const plan_view *v, int kind, int at, double bytes)
{
    stretch s = {at, at};
    while (s.from > 0 && (double)v->alive[s.from - 1][kind] >= bytes) s.from--;
    while (s.to < v->e->program->ninstrs - 1 && (double)v->alive[s.to + 1][kind] >= bytes) s.to++;
    return s;
}

/* Writes a kind's name into its area where that is high and wide enough; kinds that are alive during the
 * whole step have it at the left. */
static void write_kind_name(const picture *p, int kind, double top)
{
    static const double shares[] = {0.8, 0.6, 0.4};
    const plan_view    *v = p->view;
    double              line = top * 16 / MEMORY_HEIGHT, least = 0, left = 0, right = 0;
    bool                stays = kind <= MEMORY_BUFFERS;
    int                 at = 0;
    for (int k = 0; k < v->e->program->ninstrs; k++)
        if (v->alive[k][kind] > v->alive[at][kind]) at = k;
    for (int n = 0; n < 3 && right - left < 0.15; n++) {
        least = (stays ? 1 : shares[n]) * (double)v->alive[at][kind];
        if (least < line) return;
        stretch s = stretch_around(v, kind, at, least);
        left = x_at(p, s.from) / WIDTH, right = x_at(p, s.to + 1) / WIDTH;
    }
    if (right - left < 0.15) return;
    double  x = stays ? 0 : (left + right) / 2;
    int64_t below = 0;
    for (at = 0; x_at(p, at + 1) < x * WIDTH;) at++;
    for (int j = 0; j < kind; j++) below += v->alive[at][j];
    text_add(p->t, "<span class=\"name %s%s\" style=\"left:%.1f%%;bottom:%.1f%%\">%s</span>",
             memory_classes[kind], stays ? "" : " middle", 100 * x,
             100 * ((double)below + least / 2) / top, memory_names[kind]);
}

static void write_memory_ticks(const picture *p, double top)
{
    double step = page_round_up(top / TICKS);
    for (int k = 0; k * step <= top * 1.0001; k++)
        text_add(p->t, "<span style=\"bottom:%.2f%%\">%s</span>", 100 * k * step / top,
                 k ? unit_bytes((int64_t)(k * step)).s : "0");
}

/* Above its line, or below it and below what is reserved where that is more. */
static void write_capacity_name(const picture *p, double capacity, double line, const char *side)
{
    double bytes = p->view->e->price.rates.capacity;
    if (bytes <= 0) return;
    text_add(p->t, "<span class=\"capacity%s\" style=\"%s:0;top:",
             capacity < line ? " over"
             : capacity > 1  ? " above"
                             : "",
             side);
    if (capacity < line)
        text_add(p->t, "max(%.1f%%,%.1f%% + 18px)", 100 * (1 - capacity), 100 * (1 - line));
    else
        text_add(p->t, "max(0px,%.1f%% - 18px)", capacity < 1 ? 100 * (1 - capacity) : 0);
    text_add(p->t, "\">%sthe machine has %s</span>", capacity > 1 ? "&#8593; " : "",
             unit_bytes((int64_t)bytes).s);
}

static void write_memory(const picture *p)
{
    const plan_view *v = p->view;
    double           top = 1.1 * (double)(p->scale.bytes > 0 ? p->scale.bytes : 1);
    double           step = page_round_up(top / TICKS);
    double           peak = x_at(p, v->peak) / WIDTH, line = (double)v->reserved / top;
    double           capacity = v->e->price.rates.capacity / top;
    text_add(p->t, "<div class=\"gutter ticks\" aria-hidden=\"true\">");
    write_memory_ticks(p, top);
    text_add(p->t, "</div>\n<div class=\"plot memory\" style=\"height:%dpx\">", MEMORY_HEIGHT);
    text_add(p->t,
             "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
             "aria-label=\"Memory in use over the step, by kind: at most %s\">",
             WIDTH, MEMORY_HEIGHT, unit_bytes(v->most).s);
    for (int k = 1; k * step <= top; k++)
        text_add(p->t, "<path class=\"grid\" d=\"M0,%.1fH%d\"/>",
                 MEMORY_HEIGHT * (1 - k * step / top), WIDTH);
    for (int j = MEMORY_KINDS - 1; j >= 0; j--) write_area(p, j, top);
    text_add(p->t, "<path class=\"reserved\" d=\"M0,%.1fH%d\"/>", MEMORY_HEIGHT * (1 - line),
             WIDTH);
    if (capacity > 0 && capacity <= 1)
        text_add(p->t, "<path class=\"capacity\" d=\"M0,%.1fH%d\"/>",
                 MEMORY_HEIGHT * (1 - capacity), WIDTH);
    text_add(p->t, "<path class=\"peakline\" d=\"M%.2f,0V%.1f\"/></svg>", WIDTH * peak,
             MEMORY_HEIGHT * (1 - (double)v->most / top));
    for (int j = 0; j < MEMORY_KINDS; j++) write_kind_name(p, j, top);
    text_add(p->t, "<span class=\"peak\" data-x=\"%.4f\" style=\"%s:%.2f%%\">peak %s</span>", peak,
             peak < 0.5 ? "left" : "right", 100 * (peak < 0.5 ? peak : 1 - peak),
             unit_bytes(v->most).s);
    text_add(p->t,
             "<span class=\"reserved\" style=\"top:%.1f%%;%s:0\">reserved "
             "%s</span>",
             100 * (1 - line), peak < 0.5 ? "right" : "left", unit_bytes(v->reserved).s);
    write_capacity_name(p, capacity, line, peak < 0.5 ? "right" : "left");
    text_add(p->t, "</div>\n");
}

/* ---- work ---- */

static const char *const phase_classes[PHASES + 1] = {"fwd", "bwd", "upd", "wire"};
static const char *const phase_names[PHASES + 1] = {"forward", "backward", "update", "collectives"};

static int class_of(const plan_view *v, int k)
{
    const price_line *line = &v->e->price.lines[k];
    if (line->collective) return PHASES;
    return line->tensor ? v->phases.phase[line->tensor->id] : PHASE_FORWARD;
}

static int layer_of(const plan_view *v, int k)
{
    const mtf_tensor *x = v->e->price.lines[k].tensor;
    return x ? v->phases.layer[x->id] : 0;
}

static int count_lanes(const plan_view *v)
{
    return v->phases.n > 1 ? v->phases.n : 0;
}

/* One path for all bars of a class, so that adjacent bars have no gaps. */
static void write_bars(const picture *p, int class)
{
    const plan_view *v = p->view;
    int              y = class == PHASES ? SUM_LANE : 0, lanes = count_lanes(v);
    text_add(p->t, "<path class=\"%s\" d=\"", phase_classes[class]);
    for (int k = 0; k < v->e->program->ninstrs; k++) {
        double width = x_at(p, k + 1) - x_at(p, k);
        if (class_of(v, k) != class || width <= 0) continue;
        for (int twice = 0; twice < (lanes ? 2 : 1); twice++) {
            int top = twice ? 2 * SUM_LANE + 6 + layer_of(v, k) * p->lane : y + 2;
            int height = twice ? p->lane - 1 : SUM_LANE - 4;
            text_add(p->t, "M"), page_number(p->t, x_at(p, k));
            text_add(p->t, ",%dh", top), page_number(p->t, width < 0.01 ? 0.01 : width);
            text_add(p->t, "v%dh-", height), page_number(p->t, width < 0.01 ? 0.01 : width);
            text_add(p->t, "z");
        }
    }
    text_add(p->t, "\"/>");
}

/* Every n-th lane has a name: low lanes have no room for all names. */
static int label_every(const picture *p)
{
    return (12 + p->lane - 1) / p->lane;
}

/* Bytes of a layer's name that go without saying: the scopes that all layers in scopes begin with. */
static size_t common_prefix(const phases *all, int layer)
{
    size_t      most = 0;
    const char *first = NULL;
    for (int k = 1; k < all->n; k++) {
        const char *slash = strrchr(all->names[k], '/');
        if (!slash) continue;
        size_t n = (size_t)(slash + 1 - all->names[k]);
        if (!first) first = all->names[k], most = n;
        if (n < most) most = n;
        while (most && (strncmp(first, all->names[k], most) != 0 || first[most - 1] != '/')) most--;
    }
    return strchr(all->names[layer], '/') ? most : 0;
}

static void write_lane_names(const picture *p, int lanes)
{
    int every = label_every(p);
    text_add(p->t,
             "<div class=\"gutter lanes\"><span style=\"top:0\">compute</span>"
             "<span style=\"top:%dpx\">collectives</span>",
             SUM_LANE);
    for (int k = 0; k < lanes; k++) {
        if (k % every) continue;
        text_add(p->t, "<span style=\"top:%dpx;line-height:%dpx\" title=\"",
                 2 * SUM_LANE + 6 + k * p->lane, p->lane < 12 ? 12 : p->lane);
        html_text(p->t, k ? p->view->phases.names[k] : "outside of all scopes");
        text_add(p->t, "\">");
        html_text(p->t,
                  k ? p->view->phases.names[k] + common_prefix(&p->view->phases, k) : "outside");
        text_add(p->t, "</span>");
    }
    text_add(p->t, "</div>\n");
}

static void write_lanes(const picture *p)
{
    int lanes = count_lanes(p->view), height = 2 * SUM_LANE + (lanes ? 8 + lanes * p->lane : 2);
    write_lane_names(p, lanes);
    text_add(p->t,
             "<div class=\"plot lanes\" style=\"height:%dpx\"><svg viewBox=\"0 0 %d %d\" "
             "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Work and collectives over "
             "the step, by layer, as wide as their predicted time\">",
             height, WIDTH, height);
    for (int k = 0; k <= lanes && lanes; k += p->lane < 9 ? label_every(p) : 1)
        text_add(p->t, "<path class=\"grid\" d=\"M0,%.1fH%d\"/>", 2 * SUM_LANE + 5.5 + k * p->lane,
                 WIDTH);
    for (int class = 0; class <= PHASES; class ++) write_bars(p, class);
    text_add(p->t, "</svg></div>\n");
}

static void write_time_ticks(const picture *p)
{
    double step = page_round_up(p->scale.seconds / TICKS);
    text_add(p->t, "<div class=\"gutter unit\">time</div>\n<div class=\"plot axis\">");
    for (int k = 0; k * step <= p->scale.seconds * 1.0001; k++) {
        double share = k * step / p->scale.seconds;
        text_add(p->t, "<span%s style=\"left:%.2f%%\">%s</span>", page_tick_class(share),
                 100 * share, k ? unit_seconds(k * step).s : "0");
    }
    text_add(p->t, "</div>\n");
}

/* The legend also shows the share of each colour in the step. */
static void write_key(const picture *p)
{
    const plan_view *v = p->view;
    double           sums[PHASES + 1] = {0};
    for (int k = 0; k < v->e->program->ninstrs; k++)
        sums[class_of(v, k)] += v->e->price.lines[k].seconds;
    text_add(p->t, "<p class=\"key\">");
    for (int class = 0; class <= PHASES; class ++)
        if (sums[class] > 0)
            text_add(p->t, "<span class=\"%s\"><i></i>%s <b>%s</b> %.0f&#8239;%%</span> ",
                     phase_classes[class], phase_names[class], unit_seconds(sums[class]).s,
                     share_of(sums[class], v->begin[v->e->program->ninstrs]));
    text_add(p->t, "</p>\n");
}

/* Lanes are lower where there are many. */
static int lane_height(int lanes)
{
    return lanes > 300 ? 3 : lanes > 100 ? 5 : lanes > 24 ? 9 : lanes > 12 ? 14 : 18;
}

void plan_write_picture(const plan_view *v, picture_scale scale, int number, textbuf *t)
{
    int     lanes = count_lanes(v);
    picture p = {.view = v, .scale = scale, .t = t, .lane = lane_height(lanes)};
    if (scale.seconds <= 0) p.scale.seconds = 1;
    if (v->e->program->ninstrs == 0) return;
    write_key(&p);
    text_add(t, "<div class=\"plots\" data-plan=\"%d\" data-seconds=\"%.9g\" tabindex=\"0\">\n",
             number, p.scale.seconds);
    write_memory(&p);
    write_lanes(&p);
    write_time_ticks(&p);
    text_add(t, "</div>\n");
}
