/* Which examples of a stream make which batch. */
#include "data/stream_batch.h"

#include "data/batch_schedule.h"

bool stream_batch_open(mtf_session *s, const row_sections *sections, int64_t batch,
                       const mtf_batches_opts *opts, stream_batch *b)
{
    *b = (stream_batch){
        .stream = {.sections = sections, .shuffle = opts->shuffle, .seed = opts->seed},
        .batch = batch,
        .passes = opts->epochs,
        .remainder = opts->remainder};
    return (b->rows = arena_array(&s->arena, int64_t, batch)) &&
           (b->epochs = arena_array(&s->arena, int64_t, batch)) &&
           (b->after = arena_array(&s->arena, row_cursor, batch));
}

/* The epoch is over after `n` examples of a batch.  Are these a batch? */
static bool end_epoch(stream_batch *b, int64_t n)
{
    if (n == 0 || b->remainder == MTF_DROP || b->remainder == MTF_WRAP) return false;
    b->real = n;
    if (b->remainder == MTF_REPEAT) {
        b->real = largest_divisor(b->batch, n);
        b->stream.at = b->after[b->real - 1]; /* the others make further batches */
    }
    for (int64_t k = b->real; k < b->batch; k++) {
        b->rows[k] = b->remainder == MTF_REPEAT ? b->rows[k % b->real] : -1;
        b->epochs[k] = b->epochs[k % b->real];
    }
    return true;
}

static bool too_few(const stream_batch *b, int64_t n, fault *why)
{
    return fail(why, ERR_USAGE,
                "%lld example%s not fill a batch of %lld; a smaller batch or more examples are "
                "needed",
                (long long)n, n == 1 ? " does" : "s do", (long long)b->batch);
}

bool stream_batch_next(stream_batch *b, fault *why)
{
    row_stream *s = &b->stream;
    int64_t     n = 0;
    b->real = 0;
    for (int ends = 0; !b->passes || s->at.epoch < b->passes;) {
        int64_t epoch = s->at.epoch;
        TRY(row_stream_next(s, &b->rows[n], why));
        if (b->rows[n] >= 0) {
            b->epochs[n] = epoch;
            b->after[n++] = s->at;
            if (n == b->batch) b->real = n;
        } else if (!end_epoch(b, n)) {
            /* Two ends without a batch between them: an epoch has too few. */
            if (ends++ && (n == 0 || b->remainder == MTF_DROP)) return too_few(b, n, why);
            if (b->remainder == MTF_DROP) n = 0;
        }
        if (b->real) return true;
    }
    return true;
}

bool stream_batch_seek(stream_batch *b, int64_t number, bool *there, fault *why)
{
    b->stream.at = (row_cursor){0};
    *there = true;
    for (int64_t k = 0; k < number && *there; k++) {
        TRY(stream_batch_next(b, why));
        *there = b->real > 0;
    }
    return true;
}
