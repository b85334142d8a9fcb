/* Runs: contiguous elements of a tensor that a part holds. */
#include "checkpoint/runs.h"

static int64_t element_at(const mtf_shape *whole, const mtf_part *part, const int64_t *at)
{
    int64_t place = 0;
    for (int d = 0; d < whole->ndims; d++)
        place = place * whole->dims[d].size + part->begin[d] + at[d];
    return place;
}

/* Trailing dimensions that the part has whole are one run, together with the one before them. */
static void start_runs(run_cursor *c, const mtf_shape *whole, const mtf_part *part)
{
    int d = whole->ndims - 1;
    *c = (run_cursor){.count = 1};
    for (; d >= 0 && part->shape.dims[d].size == whole->dims[d].size; d--)
        c->count *= whole->dims[d].size;
    if (d >= 0) c->count *= part->shape.dims[d--].size;
    c->fixed = whole->ndims - 1 - d;
    c->place = element_at(whole, part, c->at);
    for (int k = 0; k < whole->ndims; k++)
        if (part->shape.dims[k].size == 0) c->place = -1;
}

static void advance(run_cursor *c, const mtf_shape *whole, const mtf_part *part)
{
    int d = whole->ndims - 1 - c->fixed;
    c->from += c->count;
    while (d >= 0 && ++c->at[d] == part->shape.dims[d].size) c->at[d--] = 0;
    c->place = d >= 0 ? element_at(whole, part, c->at) : -1;
}

void runs_start(part_runs *r, const mtf_shape *shape, int nparts, const mtf_part *parts,
                run_cursor *cursors)
{
    *r = (part_runs){.shape = shape, .nparts = nparts, .parts = parts, .cursors = cursors};
    for (int k = 0; k < nparts; k++) start_runs(&cursors[k], shape, &parts[k]);
}

bool runs_next(part_runs *r, part_run *next)
{
    int best = -1;
    for (int k = 0; k < r->nparts; k++)
        if (r->cursors[k].place >= 0 && (best < 0 || r->cursors[k].place < r->cursors[best].place))
            best = k;
    if (best < 0) return false;
    run_cursor *c = &r->cursors[best];
    *next = (part_run){.place = c->place, .count = c->count, .from = c->from, .part = best};
    advance(c, r->shape, &r->parts[best]);
    return true;
}
