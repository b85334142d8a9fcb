/* Links: seconds of a collective on its members' wires. */
#include "price/links.h"

#include <math.h>
#include <string.h>

#include "program/stages.h"

static const axis_rate *line_of(const price_rates *r, const mesh *m, int axis)
{
    for (int k = 0; k < r->naxes; k++)
        if (strcmp(r->axes[k].axis, m->name[axis]) == 0) return &r->axes[k];
    return NULL;
}

static link_rate slower(link_rate a, link_rate b)
{
    return (link_rate){fmin(a.wire, b.wire), fmax(a.latency, b.latency),
                       fmax(a.message, b.message)};
}

/* The link of an axis, considered as a whole. */
static link_rate axis_link(const links *l, const price_rates *r, const mesh *m, int axis)
{
    const axis_rate *line = line_of(r, m, axis);
    if (line) return (link_rate){line->wire, line->latency, r->message};
    return stages_near(r->node, m, axis) < m->size[axis] ? l->outer : l->inner;
}

links links_of(const price_rates *r, const mesh *m, unsigned axes)
{
    links l = {.inside = 1,
               .nodes = 1,
               .inner = {r->wire, r->latency, r->message},
               .outer = {r->outer_wire, r->outer_latency, r->outer_message}};
    bool  several = (axes & (axes - 1)) != 0, lines = false;
    int   n = 1;
    for (int a = 0; a < m->naxes; a++) {
        if (!(axes >> a & 1)) continue;
        int near = stages_near(r->node, m, a);
        n *= m->size[a];
        l.inside *= near;
        l.nodes *= m->size[a] / near;
        lines = lines || line_of(r, m, a);
    }
    if (!lines) return l;
    link_rate all = l.inner;
    for (int a = 0; a < m->naxes; a++) {
        if (!(axes >> a & 1)) continue;
        link_rate one = axis_link(&l, r, m, a);
        all = several ? slower(all, one) : one;
    }
    l.inside = n, l.nodes = 1;
    l.inner = all;
    return l;
}

static double seconds_of(const link_rate *l, double bytes, double messages)
{
    return l->latency + l->message * fmax(messages - 1, 0) + bytes / l->wire;
}

static double staged_seconds(const links *l, const haul *h)
{
    double others = (double)l->inside * l->nodes - 1, outer = l->nodes - 1, inner = l->inside - 1;
    double seconds = 0, rounds = h->messages / others; /* per other member */
    if (inner > 0)
        seconds += seconds_of(&l->inner, h->bytes * inner * l->nodes / others, rounds * inner);
    if (outer > 0) seconds += seconds_of(&l->outer, h->bytes * outer / others, rounds * outer);
    return seconds;
}

/* Processors exchange with their neighbours, or with all.  So at the border of a node half of the
 * partners are outside, and so are all that do not fit into the node. */
static double straight_seconds(const links *l, const haul *h)
{
    double beyond = (double)l->inside * (l->nodes - 1);
    double outer = fmin(beyond, fmax(h->messages - (l->inside - 1), ceil(h->messages / 2)));
    double bytes = outer > 0 ? h->bytes * outer / h->messages : 0;
    double inner = seconds_of(&l->inner, h->bytes - bytes, h->messages - outer);
    return outer > 0 ? seconds_of(&l->outer, bytes, outer) + inner - l->inner.latency : inner;
}

/* Members that exchange with all others in one stage. */
static double flat_seconds(const links *l, const haul *h)
{
    double others = (double)l->inside * l->nodes - 1, far = (double)l->inside * (l->nodes - 1);
    double bytes = h->bytes * far / others, messages = h->messages * far / others;
    double inner = seconds_of(&l->inner, h->bytes - bytes, h->messages - messages);
    return inner - l->inner.latency + seconds_of(&l->outer, bytes, messages);
}

double links_seconds(const links *l, const haul *h)
{
    bool alone = l->inside * l->nodes == 1;
    if (alone || h->way == HAUL_STRAIGHT) return straight_seconds(l, h);
    return h->way == HAUL_FLAT && l->inside > 1 && l->nodes > 1 ? flat_seconds(l, h)
                                                                : staged_seconds(l, h);
}

bool links_alike(const price_rates *r, const mesh *m, int a, int b)
{
    const axis_rate *x = line_of(r, m, a), *y = line_of(r, m, b);
    bool             same = !x == !y;
    if (same && x) same = x->wire == y->wire && x->latency == y->latency;
    return same && stages_near(r->node, m, a) == stages_near(r->node, m, b);
}
