/* What this process needs of a batch: parts of examples. */
#include "data/batch_parts.h"

#include <string.h>

#include "base/textbuf.h"
#include "space/shape.h"

enum { ALIGN = 64, SHORT_RUN = 16 };

/* ---- planning ---- */

static bool same_part(const mtf_part *a, const mtf_part *b)
{
    for (int d = 0; d < a->shape.ndims; d++)
        if (a->begin[d] != b->begin[d] || a->shape.dims[d].size != b->shape.dims[d].size)
            return false;
    return true;
}

static const batch_part *find_part(const batch_feed *f, const mtf_part *wanted_part)
{
    for (int i = 0; i < f->nparts; i++)
        if (same_part(&f->parts[i].where, wanted_part)) return &f->parts[i];
    return NULL;
}

/* Row-major strides without dimension `without`; -1: of all dimensions. */
static void row_major(const mtf_shape *s, int without, int64_t *stride)
{
    int64_t step = 1;
    for (int d = s->ndims - 1; d >= 0; d--) {
        stride[d] = d == without ? 0 : step;
        if (d != without) step *= s->dims[d].size;
    }
}

static void plan_runs(const batch_feed *f, batch_part *p)
{
    int64_t          stride[MTF_SHAPE_ROOM];
    const mtf_shape *local = &p->where.shape;
    int              d = local->ndims - 1;
    row_major(&f->shape, f->batch_dim, stride);
    for (p->run = 1; d > f->batch_dim; d--) {
        p->run *= local->dims[d].size;
        p->run_dims++;
        if (local->dims[d].size != f->shape.dims[d].size) break;
    }
    p->runs = 1;
    p->span = 1;
    for (int i = 0; i < local->ndims; i++) {
        if (i != f->batch_dim && i < local->ndims - p->run_dims) p->runs *= local->dims[i].size;
        p->first += p->where.begin[i] * stride[i];
        p->span += (local->dims[i].size - 1) * stride[i];
    }
    if (mtf_shape_size(*local) == 0) p->runs = p->span = 0;
}

typedef struct part_visit {
    mtf_session *session;
    batch_plan  *plan;
    batch_feed  *feed;
} part_visit;

static void plan_part(void *context, const mtf_part *part)
{
    part_visit *v = context;
    batch_feed *f = v->feed;
    if (find_part(f, part) || !arena_push(&v->session->arena, f->parts, f->nparts, f->room)) return;
    batch_part *p = &f->parts[f->nparts++];
    *p = (batch_part){.where = *part, .at = v->plan->bytes};
    plan_runs(f, p);
    size_t element = mtf_dtype_bytes(f->type), span = (size_t)p->span * element;
    v->plan->bytes += ((size_t)mtf_shape_size(part->shape) * element + ALIGN - 1) / ALIGN * ALIGN;
    if (span > v->plan->scratch_bytes) v->plan->scratch_bytes = span;
}

/* Sizes other than 1 of the input's dimensions, the batch aside; their number. */
static int own_sizes(const batch_feed *f, int64_t *to)
{
    int n = 0;
    for (int d = 0; d < f->shape.ndims; d++)
        if (d != f->batch_dim && f->shape.dims[d].size != 1) to[n++] = f->shape.dims[d].size;
    return n;
}

/* Do examples of an array have the input's dimensions, or another number of them, such as one for all? */
static bool has_dimensions(const batch_feed *f, const shard *part)
{
    int64_t wanted_sizes[MTF_SHAPE_ROOM];
    int     wanted_n = own_sizes(f, wanted_sizes), n = 0;
    bool    same = true;
    for (int d = 0; d < part->nsizes; d++) {
        if (part->sizes[d] == 1) continue;
        same = same && n < wanted_n && part->sizes[d] == wanted_sizes[n];
        n++;
    }
    return same || n != wanted_n;
}

static bool fail_dimensions(mtf_session *s, const batch_feed *f, const shard *part)
{
    mtf_shape wanted_shape = mtf_shape_minus(f->shape, mtf_shape(f->shape.dims[f->batch_dim]));
    textbuf   t = {.arena = &s->arena};
    for (int d = 0; d < part->nsizes; d++)
        text_add(&t, "%s%lld", d ? ", " : "", (long long)part->sizes[d]);
    const char *sizes = text_done(&t);
    char        text[SHAPE_TEXT];
    return sizes &&
           fail(&s->fault, ERR_SHAPE,
                "\"%s\" has examples of [%s], but the input \"%s\" takes %s; "
                "save them in that order, or flat",
                part->file->path, sizes, f->field->as.name, shape_text(&wanted_shape, text));
}

static bool check_dimensions(mtf_session *s, const batch_feed *f)
{
    for (int k = 0; k < f->field->nshards; k++)
        if (!has_dimensions(f, &f->field->shards[k]))
            return fail_dimensions(s, f, &f->field->shards[k]);
    return true;
}

static bool plan_feed(mtf_dataset *d, batch_plan *plan, const char *dim, batch_feed *f)
{
    fault      *why = &d->session->fault;
    const char *name = f->field->as.name;
    f->batch_dim = mtf_shape_find(f->shape, dim);
    if (f->batch_dim < 0)
        return fail(why, ERR_SHAPE,
                    "the input \"%s\" has no dimension \"%s\" that would count the examples", name,
                    dim);
    int64_t batch = f->shape.dims[f->batch_dim].size;
    if (plan->batch && plan->batch != batch)
        return fail(why, ERR_SHAPE, "the input \"%s\" takes %lld examples, but \"%s\" takes %lld",
                    name, (long long)batch, plan->feeds[0].field->as.name, (long long)plan->batch);
    plan->batch = batch;
    f->elements = mtf_shape_size(f->shape) / batch;
    if (f->field->elements && f->field->elements != f->elements)
        return fail(why, ERR_SHAPE,
                    "\"%s\": field \"%s\" has %lld element%s per example, but the input of that "
                    "name takes %lld",
                    f->field->shards[0].file->path, name, (long long)f->field->elements,
                    f->field->elements == 1 ? "" : "s", (long long)f->elements);
    return check_dimensions(d->session, f) &&
           mtf_input_parts(plan->program, f->input, plan_part,
                           &(part_visit){d->session, plan, f}) &&
           mtf_ok(d->session);
}

bool batch_plan_make(mtf_dataset *d, mtf_program *p, const char *dim, batch_plan *plan)
{
    mtf_session *s = d->session;
    int          n = mtf_program_inputs(p, NULL, 0);
    mtf_tensor **inputs = arena_array(&s->arena, mtf_tensor *, n + 1);
    *plan = (batch_plan){.program = p};
    TRY(inputs && (plan->feeds = arena_array(&s->arena, batch_feed, n + 1)));
    mtf_program_inputs(p, inputs, n);
    for (int i = 0; i < n; i++) {
        const field *f = dataset_field(d, mtf_name_of_tensor(inputs[i]));
        if (!f) continue;
        batch_feed *feed = &plan->feeds[plan->nfeeds++];
        *feed = (batch_feed){.input = inputs[i],
                             .field = f,
                             .shape = mtf_shape_of_tensor(inputs[i]),
                             .type = mtf_dtype_of_tensor(inputs[i])};
        TRY(plan_feed(d, plan, dim, feed));
    }
    if (!plan->nfeeds)
        return fail(&s->fault, ERR_NAME,
                    "no input of the program has the name of a field, as \"%s\"",
                    d->fields[0].as.name);
    return true;
}

/* ---- reading ---- */

/* A walk through the runs of an example: offsets in the example and in the part. */
typedef struct run_walk {
    int64_t at[MTF_SHAPE_ROOM];
    int64_t from, to; /* in elements, relative to the example's start */
} run_walk;

static void next_run(const batch_feed *f, const batch_part *p, const int64_t *from_stride,
                     const int64_t *to_stride, run_walk *w)
{
    for (int d = p->where.shape.ndims - 1 - p->run_dims; d >= 0; d--) {
        if (d == f->batch_dim) continue;
        int64_t size = p->where.shape.dims[d].size;
        w->from += from_stride[d];
        w->to += to_stride[d];
        if (++w->at[d] < size) return;
        w->from -= from_stride[d] * size;
        w->to -= to_stride[d] * size;
        w->at[d] = 0;
    }
}

/* One part of all examples of a batch. */
typedef struct part_reading {
    const batch_feed *feed;
    const batch_part *part;
    int64_t           from_stride[MTF_SHAPE_ROOM], to_stride[MTF_SHAPE_ROOM];
    char             *to, *scratch;
    fault            *why;
} part_reading;

/* An example and the epoch in which it is read. */
typedef struct read_of {
    int64_t example, epoch; /* example -1: zeros */
} read_of;

static bool read_range(const part_reading *r, read_of of, int64_t begin, int64_t count, void *out)
{
    const batch_feed *f = r->feed;
    wanted            w = {
                   .begin = begin, .end = begin + count, .type = f->type, .out = out, .epoch = of.epoch};
    return field_read(f->field, of.example, f->elements, &w, r->why);
}

/* Reads run by run, directly into the part; or, where runs are short or the format cannot seek,
 * from a copy of the whole span. */
static bool read_example(const part_reading *r, read_of of, int64_t place)
{
    const batch_part *p = r->part;
    const batch_feed *f = r->feed;
    size_t            element = mtf_dtype_bytes(f->type);
    bool              direct = p->runs == 1 || (f->field->format->seeks && p->run >= SHORT_RUN);
    run_walk          w = {.to = place * r->to_stride[f->batch_dim]};
    if (of.example < 0)
        memset(r->scratch, 0, (size_t)p->span * element);
    else if (!direct)
        TRY(read_range(r, of, p->first, p->span, r->scratch));
    for (int64_t i = 0; i < p->runs; i++) {
        char *to = r->to + (size_t)w.to * element;
        if (direct && of.example >= 0)
            TRY(read_range(r, of, p->first + w.from, p->run, to));
        else
            memcpy(to, r->scratch + (size_t)w.from * element, (size_t)p->run * element);
        next_run(f, p, r->from_stride, r->to_stride, &w);
    }
    return true;
}

/* Announces examples some time before it reads them, so that they are prefetched. */
static bool read_part(const part_reading *r, batch_example *example, void *context, int64_t count)
{
    enum { AHEAD = 2 };
    int64_t begin = r->part->where.begin[r->feed->batch_dim];
    read_of next[AHEAD + 1];
    for (int64_t at = 0; at < count + AHEAD; at++) {
        read_of soon = {.example = -1};
        if (at < count) soon.example = example(context, begin + at, &soon.epoch);
        if (soon.example >= 0) field_expect(r->feed->field, soon.example);
        next[at % (AHEAD + 1)] = soon;
        int64_t place = at - AHEAD;
        if (place >= 0) TRY(read_example(r, next[place % (AHEAD + 1)], place));
    }
    return true;
}

bool batch_read(const batch_plan *plan, batch_example *example, void *context, char *buffer,
                char *scratch, fault *why)
{
    for (int i = 0; i < plan->nfeeds; i++) {
        const batch_feed *f = &plan->feeds[i];
        for (int k = 0; k < f->nparts; k++) {
            const batch_part *p = &f->parts[k];
            part_reading      r = {.feed = f, .part = p, .to = buffer + p->at, .why = why};
            r.scratch = scratch;
            row_major(&f->shape, f->batch_dim, r.from_stride);
            row_major(&p->where.shape, -1, r.to_stride);
            int64_t count = p->runs ? p->where.shape.dims[f->batch_dim].size : 0;
            TRY(read_part(&r, example, context, count));
        }
    }
    return true;
}

/* ---- feeding ---- */

typedef struct part_feeding {
    const batch_feed *feed;
    const char       *buffer;
} part_feeding;

static const void *lie_of(void *context, const mtf_part *part)
{
    const part_feeding *c = context;
    const batch_part   *p = find_part(c->feed, part);
    return p ? c->buffer + p->at : NULL; /* NULL: it is empty */
}

bool batch_lend(const batch_plan *plan, const char *buffer)
{
    for (int i = 0; i < plan->nfeeds; i++)
        TRY(mtf_lend_parts(plan->program, plan->feeds[i].input, lie_of,
                           &(part_feeding){&plan->feeds[i], buffer}));
    return true;
}

void batch_take_back(const batch_plan *plan)
{
    for (int i = 0; i < plan->nfeeds; i++)
        mtf_lend_parts(plan->program, plan->feeds[i].input, NULL, NULL);
}
