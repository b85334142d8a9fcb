/* The mesh as a grid: traffic, and parts of a tensor. */
#include "page/mesh_picture.h"

#include "base/units.h"
#include "page/escape.h"
#include "page/page.h"
#include "page/plan_tables.h"

enum { MOST_COLUMNS = 16, MOST_CELLS = 256, SIDE = 56, GAP = 4, MARGIN = 24 };

typedef struct grid {
    const plan_view *view;
    const mesh      *mesh;
    textbuf         *t;
    int              columns, rows, cells; /* cells: number of processors drawn */
    bool             wrapped;              /* a row of the picture is not the whole last axis */
} grid;

/* The last axis is horizontal, the others are vertical; a long row is wrapped. */
static grid grid_of(const plan_view *v, textbuf *t)
{
    const mesh *m = v->e->opts.mesh;
    int         n = v->e->processors, last = m->naxes ? m->size[m->naxes - 1] : 1;
    grid        g = {.view = v, .mesh = m, .t = t, .columns = last};
    g.wrapped = last > MOST_COLUMNS || (m->naxes == 1 && last > 8);
    if (g.wrapped) g.columns = n <= 64 ? 8 : MOST_COLUMNS;
    g.cells = n < MOST_CELLS ? n : MOST_CELLS;
    g.rows = (g.cells + g.columns - 1) / g.columns;
    return g;
}

/* ---- traffic ---- */

static unsigned differing(const mesh *m, mesh_point a, mesh_point b)
{
    unsigned axes = 0;
    for (int k = 0; k < m->naxes; k++)
        if (a.at[k] != b.at[k]) axes |= 1u << k;
    return axes;
}

/* Bytes from one processor to another: an equal share for each member of the groups that have both. */
static double bytes_between(const grid *g, const axes_sum *sums, int n, int other)
{
    unsigned axes = differing(g->mesh, g->view->e->price.here, mesh_place(g->mesh, other));
    double   bytes = 0;
    for (int k = 0; k < n && axes; k++)
        if (!(axes & ~sums[k].axes)) bytes += (double)sums[k].bytes / (sums[k].group - 1);
    return bytes;
}

static void open_svg(const grid *g, const char *label, const char *class)
{
    int width = MARGIN + g->columns * SIDE, height = MARGIN + g->rows * SIDE;
    text_add(g->t,
             "<svg class=\"mesh %s\" viewBox=\"0 0 %d %d\" style=\"max-width:%dpx\" role=\"img\" "
             "aria-label=\"%s\">",
             class, width, height, g->columns <= 4 ? 3 * width / 2 : width, label);
    if (g->wrapped || !g->mesh->naxes) return;
    text_add(g->t, "<text class=\"axis\" x=\"%d\" y=\"14\">", MARGIN);
    html_text(g->t, g->mesh->name[g->mesh->naxes - 1]);
    text_add(g->t, " &#8594;</text>");
    if (g->mesh->naxes == 1) return;
    text_add(g->t, "<text class=\"axis\" transform=\"translate(14 %d) rotate(90)\">", MARGIN);
    for (int a = 0; a < g->mesh->naxes - 1; a++) {
        if (a) text_add(g->t, " &#215; ");
        html_text(g->t, g->mesh->name[a]);
    }
    text_add(g->t, " &#8594;</text>");
}

static void write_traffic(const grid *g)
{
    axes_sum *sums;
    int       n = plan_axes_sums(g->view, &sums);
    double    most = 0;
    if (n < 0) return;
    for (int p = 0; p < g->cells; p++) {
        double bytes = bytes_between(g, sums, n, p);
        if (bytes > most) most = bytes;
    }
    open_svg(g, "Bytes that the processor shown sends to each other one", "traffic");
    for (int p = 0; p < g->cells; p++) {
        int    x = MARGIN + p % g->columns * SIDE, y = MARGIN + p / g->columns * SIDE;
        double bytes = bytes_between(g, sums, n, p);
        bool   here = p == g->view->e->processor;
        text_add(
            g->t,
            "<g data-p=\"%d\"%s transform=\"translate(%d %d)\"><rect class=\"cell\" width=\"%d\" "
            "height=\"%d\"/><rect class=\"tint\" width=\"%d\" height=\"%d\" "
            "fill-opacity=\"%.2f\"/>",
            p, here ? " class=\"here\"" : "", x, y, SIDE - GAP, SIDE - GAP, SIDE - GAP, SIDE - GAP,
            most > 0 ? 0.75 * bytes / most : 0);
        text_add(g->t,
                 "<text class=\"number\" x=\"5\" y=\"14\">%d</text><text class=\"bytes\" x=\"%d\" "
                 "y=\"%d\">%s</text></g>",
                 p, SIDE - GAP - 4, SIDE - GAP - 6,
                 bytes > most / 1000 ? unit_bytes((int64_t)bytes).s
                 : here              ? "shown"
                                     : "");
    }
    text_add(g->t, "</svg>\n");
    text_add(g->t, "<dl class=\"along\">");
    for (int k = 0; k < n; k++) {
        textbuf names = {.arena = g->view->arena};
        price_write_axes(g->mesh, sums[k].axes, &names);
        text_add(g->t, "<div><dt>along ");
        html_text(g->t, text_done(&names));
        text_add(g->t, "</dt><dd><b>%s</b> to %d other%s, %s</dd></div>",
                 unit_bytes(sums[k].bytes).s, sums[k].group - 1, sums[k].group == 2 ? "" : "s",
                 unit_seconds(sums[k].seconds).s);
    }
    text_add(g->t, "</dl>\n");
}

/* ---- parts of a tensor ---- */

/* The largest parameter, preferably one that is cut; else the largest tensor. */
static const mtf_tensor *choose_tensor(const plan_view *v)
{
    const mtf_tensor *best = NULL;
    int64_t           score = -1;
    for (int k = 0; k < v->nlifetimes; k++) {
        const lifetime *x = &v->lifetimes[k];
        placement       where;
        if (!x->tensor) continue;
        view_placement(v, x->tensor, &where);
        bool    cut = placement_axes(&where, x->tensor->shape.ndims) != 0;
        int64_t rank = x->bytes / 4 + (cut ? INT64_MAX / 4 : 0) +
                       (x->kind == MEMORY_PARAMETERS ? INT64_MAX / 2 : 0);
        if (rank > score) score = rank, best = x->tensor;
    }
    return best;
}

/* Draws a processor's part: the first dimension that is cut is vertical, the second horizontal; the last
 * dimension is horizontal where it alone is cut. */
static void write_part(const grid *g, const mtf_tensor *x, const placement *where, int p)
{
    mesh_point at = mesh_place(g->mesh, p);
    double     side = SIDE - GAP - 24, from[2] = {0, 0}, size[2] = {1, 1};
    int        n = 0;
    for (int d = 0; d < x->shape.ndims && n < 2; d++) {
        int64_t whole = x->shape.dims[d].size;
        if (!where->dim[d].n || whole < 1) continue;
        if (n == 0 && d > 0 && d == x->shape.ndims - 1) n = 1;
        span part = cut_range(g->mesh, &where->dim[d], &at, whole);
        from[n] = (double)part.begin / (double)whole;
        size[n++] = (double)part.size / (double)whole;
    }
    text_add(g->t,
             "<rect class=\"whole\" x=\"12\" y=\"17\" width=\"%.0f\" height=\"%.0f\"/>"
             "<rect class=\"part\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>",
             side, side, 12 + side * from[1], 17 + side * from[0], side * size[1], side * size[0]);
}

static void write_parts(const grid *g, const mtf_tensor *x)
{
    placement where;
    view_placement(g->view, x, &where);
    open_svg(g, "The part of a tensor that each processor holds", "parts");
    for (int p = 0; p < g->cells; p++) {
        text_add(
            g->t,
            "<g data-p=\"%d\" transform=\"translate(%d %d)\"><rect class=\"cell\" width=\"%d\" "
            "height=\"%d\"/><text class=\"number\" x=\"5\" y=\"14\">%d</text>",
            p, MARGIN + p % g->columns * SIDE, MARGIN + p / g->columns * SIDE, SIDE - GAP,
            SIDE - GAP, p);
        write_part(g, x, &where, p);
        text_add(g->t, "</g>");
    }
    text_add(g->t, "</svg>\n<p class=\"share\">");
    int parts = 1;
    for (int d = 0; d < x->shape.ndims; d++) {
        if (where.dim[d].n) parts *= cut_parts(g->mesh, &where.dim[d]);
        text_add(g->t, d ? ", <code>" : "<code>");
        html_text(g->t, x->shape.dims[d].name);
        text_add(g->t, "=%lld</code>", (long long)x->shape.dims[d].size);
        if (where.dim[d].n) text_add(g->t, " in %d", cut_parts(g->mesh, &where.dim[d]));
    }
    int copies = g->view->e->processors / parts;
    text_add(g->t, "%s%d part%s, each on %d processor%s</p>\n", x->shape.ndims ? ": " : "", parts,
             parts == 1 ? "" : "s", copies, copies == 1 ? "" : "s");
}

void plan_write_mesh_pictures(const plan_view *v, int number, textbuf *t)
{
    grid              g = grid_of(v, t);
    const mtf_tensor *x = choose_tensor(v);
    if (v->e->processors == 1) {
        text_add(t, "<p class=\"empty\">There is one processor: it holds everything, and sends "
                    "nothing.</p>\n");
        return;
    }
    text_add(t,
             "<div class=\"meshes\" data-plan=\"%d\">\n<figure><figcaption>Who talks to whom "
             "<small>what "
             "processor <output>%d</output> sends to each other one in a step; choose another by a "
             "click</small></figcaption>\n",
             number, v->e->processor);
    write_traffic(&g);
    text_add(t,
             "</figure>\n<figure><figcaption>Who holds what <small><label>part of <input "
             "list=\"tensors%d\" "
             "value=\"",
             number);
    html_text(t, x ? mtf_name_of_tensor(x) : "");
    text_add(t, "\" spellcheck=\"false\" autocomplete=\"off\"></label></small></figcaption>\n");
    if (x) write_parts(&g, x);
    text_add(t, "</figure>\n</div>\n");
    if (g.cells < v->e->processors)
        text_add(t, "<p class=\"note\">The first %d of %d processors are drawn.</p>\n", g.cells,
                 v->e->processors);
}
