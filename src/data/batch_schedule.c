/* Which examples make which batch. */
#include "data/batch_schedule.h"

static int64_t times(int64_t a, int64_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
}

batch_schedule batch_schedule_make(int64_t examples, int64_t batch, const mtf_batches_opts *opts)
{
    batch_schedule s = {.examples = examples,
                        .batch = batch,
                        .shuffle = opts->shuffle,
                        .seed = opts->seed,
                        .remainder = opts->remainder};
    int64_t        endless = INT64_MAX / batch; /* no example's number overflows */
    switch (s.remainder) {
    case MTF_DROP: s.per_epoch = examples / batch; break;
    case MTF_FILL: s.per_epoch = (examples - 1) / batch + 1; break;
    case MTF_WRAP: s.total = opts->epochs ? times(opts->epochs, examples) / batch : endless; break;
    }
    if (s.per_epoch) s.total = opts->epochs ? times(opts->epochs, s.per_epoch) : endless;
    if (s.total > endless) s.total = endless;
    return s;
}

int64_t batch_schedule_real(const batch_schedule *s, int64_t number)
{
    if (s->remainder != MTF_FILL) return s->batch;
    int64_t rest = s->examples - number % s->per_epoch * s->batch;
    return rest < s->batch ? rest : s->batch;
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
    enter_epoch(&b, s->per_epoch ? number / s->per_epoch : number * s->batch / s->examples);
    return b;
}

int64_t batch_schedule_example(scheduled_batch *b, int64_t place)
{
    const batch_schedule *s = b->schedule;
    int64_t               at;
    if (s->per_epoch) {
        at = b->number % s->per_epoch * s->batch + place;
        if (at >= s->examples) return -1;
    } else {
        at = b->number * s->batch + place;
        if (at / s->examples != b->epoch) enter_epoch(b, at / s->examples);
        at %= s->examples;
    }
    return s->shuffle ? shuffle_at(&b->order, at) : at;
}
