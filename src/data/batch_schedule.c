/* Which examples make which batch. */
#include "data/batch_schedule.h"

#include <assert.h>

static int64_t times(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

/* ---- remainders that are repeated ---- */

static int64_t full_batches(const batch_schedule *s)
{
    return s->examples / s->batch;
}

int64_t largest_divisor(int64_t batch, int64_t most)
{
    assert(most > 0);
    while (batch % most) most--;
    return most;
}

static int64_t repeated_batches(int64_t examples, int64_t batch)
{
    int64_t n = 0;
    for (int64_t rest = examples % batch; rest; rest -= largest_divisor(batch, rest)) n++;
    return n;
}

/* ---- batches ---- */

batch_schedule batch_schedule_make(int64_t examples, int64_t batch, const mtf_batches_opts *opts)
{
    batch_schedule s = {.examples = examples,
                        .batch = batch,
                        .shuffle = opts->shuffle,
                        .seed = opts->seed,
                        .remainder = opts->remainder};
    int64_t        endless = INT64_MAX / batch; /* so that no example's number overflows */
    switch (s.remainder) {
    case MTF_DROP: s.per_epoch = examples / batch; break;
    case MTF_FILL: s.per_epoch = (examples - 1) / batch + 1; break;
    case MTF_REPEAT: s.per_epoch = examples / batch + repeated_batches(examples, batch); break;
    case MTF_WRAP: s.total = opts->epochs ? times(opts->epochs, examples) / batch : endless; break;
    }
    if (s.per_epoch) s.total = opts->epochs ? times(opts->epochs, s.per_epoch) : endless;
    if (s.total > endless) s.total = endless;
    return s;
}

/* Where a batch's examples begin in their epoch, and how many different ones it has. */
static void find_examples(const batch_schedule *s, int64_t number, int64_t *first, int64_t *real)
{
    int64_t k = number % s->per_epoch, full = full_batches(s);
    *first = (k < full ? k : full) * s->batch;
    *real = s->batch;
    if (k < full) return;
    *real = s->examples - *first;
    if (s->remainder != MTF_REPEAT) return;
    int64_t rest = *real;
    for (int64_t i = full;; i++) {
        *real = largest_divisor(s->batch, rest);
        if (i == k) return;
        *first += *real;
        rest -= *real;
    }
}

int64_t batch_schedule_real(const batch_schedule *s, int64_t number)
{
    int64_t first, real = s->batch;
    if (s->per_epoch) find_examples(s, number, &first, &real);
    return real;
}

double batch_schedule_epochs(const batch_schedule *s, int64_t batches)
{
    if (s->per_epoch) return (double)batches / (double)s->per_epoch;
    return (double)batches * (double)s->batch / (double)s->examples;
}

static void enter_epoch(scheduled_batch *b, int64_t epoch)
{
    b->epoch = epoch;
    if (b->schedule->shuffle)
        b->order = shuffle_of_epoch(b->schedule->seed, epoch, b->schedule->examples);
}

scheduled_batch batch_schedule_open(const batch_schedule *s, int64_t number)
{
    scheduled_batch b = {.schedule = s, .number = number};
    if (s->per_epoch) find_examples(s, number, &b.first, &b.real);
    enter_epoch(&b, s->per_epoch ? number / s->per_epoch : number * s->batch / s->examples);
    return b;
}

int64_t batch_schedule_example(scheduled_batch *b, int64_t place)
{
    const batch_schedule *s = b->schedule;
    int64_t               at;
    if (s->per_epoch) {
        if (place >= b->real && s->remainder != MTF_REPEAT) return -1;
        at = b->first + place % b->real;
    } else {
        at = b->number * s->batch + place;
        if (at / s->examples != b->epoch) enter_epoch(b, at / s->examples);
        at %= s->examples;
    }
    return s->shuffle ? shuffle_at(&b->order, at) : at;
}
