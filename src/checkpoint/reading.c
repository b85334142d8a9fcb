/* Reading: elements of tensors from their places in files. */
#include "checkpoint/reading.h"

#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "checkpoint/checksum.h"
#include "checkpoint/opening.h"
#include "checkpoint/writing.h"

/* Reading a gap of up to this many bytes costs less than another call. */
enum { GAP_BYTES = 64 << 10, MOST_RUNS = 4096 };

bool reader_open(reader *r, const contents *c, const mtf_allocator *a, part_copier copier,
                 int parts, fault *f)
{
    *r = (reader){.contents = c, .allocator = a, .copier = copier, .fault = f, .descriptor = -1};
    r->cursors = block_alloc(a, f, sizeof *r->cursors * (size_t)(parts + 1), false);
    r->near = block_alloc(a, f, sizeof *r->near * MOST_RUNS, false);
    r->stage = block_alloc(a, f, STAGE_BYTES, false);
    r->held = block_alloc(a, f, STAGE_BYTES, false);
    if (r->cursors && r->near && r->stage && r->held) return true;
    reader_close(r);
    return false;
}

void reader_close(reader *r)
{
    if (r->descriptor >= 0) close(r->descriptor);
    r->descriptor = -1;
    block_free(r->allocator, r->cursors);
    block_free(r->allocator, r->near);
    block_free(r->allocator, r->stage);
    block_free(r->allocator, r->held);
    r->cursors = NULL, r->near = NULL, r->stage = r->held = NULL;
}

bool reader_get(reader *r, const kept_tensor *t, int64_t place, void *to, int64_t count)
{
    int64_t bytes = (int64_t)mtf_dtype_bytes(t->type);
    char    path[PATH_MAX];
    if (r->descriptor < 0 || r->file != t->file) {
        if (r->descriptor >= 0) close(r->descriptor);
        r->descriptor = checkpoint_file(r->contents, t->file);
        r->file = t->file;
        TRY(r->descriptor >= 0);
    }
    TRY(contents_path(r->contents, t->file, path));
    return file_read(r->descriptor, path, t->at + place * bytes, to, count * bytes, r->fault);
}

int64_t reader_room(const kept_tensor *t)
{
    return (int64_t)(STAGE_BYTES / mtf_dtype_bytes(t->type));
}

/* The sum over all elements, in bounded memory. */
static bool sum_of(reader *r, const kept_tensor *t, uint64_t *sum)
{
    int64_t count = shape_size(&t->shape), room = reader_room(t);
    *sum = 0;
    for (int64_t at = 0; at < count; at += room) {
        int64_t n = count - at < room ? count - at : room;
        TRY(reader_get(r, t, at, r->stage, n));
        *sum = contents_sum(r->contents, t, *sum, r->stage, n, at);
    }
    return true;
}

bool reader_verify(reader *r, int *summed)
{
    const contents *c = r->contents;
    *summed = 0;
    for (int i = 0; i < c->ntensors; i++) {
        uint64_t sum;
        if (!c->tensors[i]->summed) continue;
        TRY(sum_of(r, c->tensors[i], &sum) && contents_agrees(c, c->tensors[i], sum, r->fault));
        ++*summed;
    }
    return true;
}

/* Files of other programs may store true as any nonzero byte. */
static void tidy_bools(char *bytes, int64_t count)
{
    for (int64_t i = 0; i < count; i++) bytes[i] = bytes[i] != 0;
}

static void deliver(reader *r, const kept_tensor *t, mtf_dtype type, char *from, char *to,
                    int64_t count)
{
    if (t->type == MTF_BOOL) tidy_bools(from, count);
    if (t->type != type) {
        dtype_convert(type, r->held, t->type, from, count);
        from = r->held;
    }
    size_t bytes = (size_t)count * mtf_dtype_bytes(type);
    if (r->copier.copy)
        r->copier.copy(r->copier.where, to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/* One read for all collected runs. */
static bool flush(reader *r, const kept_tensor *t, mtf_dtype type, const mtf_part *parts,
                  const bool *counts, uint64_t *sum)
{
    if (r->nnear == 0) return true;
    const part_run *last = &r->near[r->nnear - 1];
    int64_t         begin = r->near[0].place, end = last->place + last->count;
    size_t          bytes = mtf_dtype_bytes(t->type);
    TRY(reader_get(r, t, begin, r->stage, end - begin));
    for (int k = 0; k < r->nnear; k++) {
        const part_run *n = &r->near[k];
        char           *from = r->stage + (size_t)(n->place - begin) * bytes;
        if (counts[n->part]) *sum += checksum_elements(bytes, from, n->count, n->place);
        deliver(r, t, type, from,
                (char *)parts[n->part].data + (size_t)n->from * mtf_dtype_bytes(type), n->count);
    }
    r->nnear = 0;
    return true;
}

bool reader_parts(reader *r, const kept_tensor *t, mtf_dtype type, int nparts,
                  const mtf_part *parts, const bool *counts, uint64_t *sum)
{
    part_runs     runs;
    part_run      run;
    size_t        bytes = mtf_dtype_bytes(t->type), held = mtf_dtype_bytes(type);
    const int64_t room = (int64_t)(STAGE_BYTES / (bytes > held ? bytes : held));
    const int64_t gap = (int64_t)(GAP_BYTES / bytes);
    r->nnear = 0;
    runs_start(&runs, &t->shape, nparts, parts, r->cursors);
    while (runs_next(&runs, &run))
        while (run.count > 0) {
            const part_run *last = r->nnear ? &r->near[r->nnear - 1] : NULL;
            bool            far = last && run.place - (last->place + last->count) > gap;
            if (far || r->nnear == MOST_RUNS || (last && run.place - r->near[0].place >= room))
                TRY(flush(r, t, type, parts, counts, sum));
            int64_t   used = r->nnear ? run.place - r->near[0].place : 0;
            int64_t   n = room - used < run.count ? room - used : run.count;
            part_run *piece = &r->near[r->nnear++];
            *piece = run;
            piece->count = n;
            run.place += n, run.from += n, run.count -= n;
        }
    return flush(r, t, type, parts, counts, sum);
}
