/* Batches, fed one by one, while a thread reads ahead.
 *
 * Buffers form a ring: batch k is in buffer k modulo their number.  The one fed
 * last is lent to the program; the thread fills those after it, up to `made`.
 * Its error is kept in `trouble` until all batches before it have been fed.  The
 * thread allocates nothing and touches neither the program nor the session.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/thread.h"
#include "data/batch_parts.h"
#include "data/batch_place.h"
#include "data/batch_schedule.h"
#include "data/stream_batch.h"

/* A row of a mapped file may bring 64 KiB into memory: after so many rows they are given up. */
enum { MOST_AHEAD = 1024, ROWS_KEPT = 512 };

/* What belongs to a buffer's batch. */
typedef struct batch_note {
    int64_t    real;
    row_cursor after;
} batch_note;

struct mtf_batches {
    mtf_session   *session;
    mtf_dataset   *data;
    int64_t        rows_read; /* since mapped pages were given up */
    batch_plan     plan;
    batch_schedule schedule;
    bool streamed; /* from sections: `stream` tells the examples of a batch, not the schedule */
    stream_batch stream;
    batch_note  *notes; /* of the buffers */
    row_cursor   place; /* after the batch that was fed last */
    char        *buffers, *scratch;
    int          nbuffers;
    bool         threaded;
    int64_t      real;
    pthread_t    thread;
    bool         running; /* there is a thread to join */
    bool         closed;

    pthread_mutex_t lock; /* of the fields below */
    pthread_cond_t  filled, emptied;
    int64_t         fed, made;          /* batches fed, and batches ready: fed <= made */
    bool            stop, failed, over; /* over: there are no batches but those that are ready */
    fault           trouble;
};

/* ---- reading ---- */

static char *buffer_of(const mtf_batches *b, int64_t number)
{
    return b->buffers + (size_t)(number % b->nbuffers) * b->plan.bytes;
}

static int64_t example_at(void *context, int64_t place, int64_t *epoch)
{
    scheduled_batch *batch = context;
    int64_t          example = batch_schedule_example(batch, place);
    *epoch = batch->epoch;
    return example;
}

static int64_t streamed_example(void *context, int64_t place, int64_t *epoch)
{
    const stream_batch *batch = context;
    *epoch = batch->epochs[place];
    return batch->rows[place];
}

/* The next batch of a stream; *over where there is none. */
static bool make_streamed(mtf_batches *b, int64_t number, bool *over)
{
    TRY(stream_batch_next(&b->stream, &b->trouble));
    *over = b->stream.real == 0;
    b->notes[number % b->nbuffers] = (batch_note){b->stream.real, b->stream.stream.at};
    return *over || batch_read(&b->plan, streamed_example, &b->stream, buffer_of(b, number),
                               b->scratch, &b->trouble);
}

static bool make_batch(mtf_batches *b, int64_t number, bool *over)
{
    *over = false;
    if (b->streamed) return make_streamed(b, number, over);
    if (b->rows_read >= ROWS_KEPT) {
        TRY(input_refresh(&b->data->files, &b->trouble));
        b->rows_read = 0;
    }
    b->rows_read += b->plan.batch;
    b->notes[number % b->nbuffers].real = batch_schedule_real(&b->schedule, number);
    scheduled_batch batch = batch_schedule_open(&b->schedule, number);
    return batch_read(&b->plan, example_at, &batch, buffer_of(b, number), b->scratch, &b->trouble);
}

static void *read_ahead(void *what)
{
    mtf_batches *b = what;
    pthread_mutex_lock(&b->lock);
    while (!b->failed && !b->over && b->made < b->schedule.total) {
        while (!b->stop && b->made - b->fed == b->nbuffers - 1)
            pthread_cond_wait(&b->emptied, &b->lock);
        if (b->stop) break;
        int64_t number = b->made;
        pthread_mutex_unlock(&b->lock);
        bool over, ok = make_batch(b, number, &over);
        pthread_mutex_lock(&b->lock);
        if (!ok)
            b->failed = true;
        else if (over)
            b->over = true;
        else
            b->made++;
        pthread_cond_signal(&b->filled);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static bool start_reading(mtf_batches *b)
{
    if (b->running || !b->threaded) return true;
    b->stop = false;
    if (!thread_start(&b->thread, read_ahead, b))
        return fail(&b->session->fault, ERR_MEMORY, "the system starts no thread to read ahead");
    b->running = true;
    return true;
}

static void stop(mtf_batches *b)
{
    if (!b->running) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_signal(&b->emptied);
    pthread_mutex_unlock(&b->lock);
    pthread_join(b->thread, NULL);
    b->running = false;
}

/* Waits until batch `fed` is ready; false after the last, and after an error, which becomes the
 * session's. */
static bool await(mtf_batches *b)
{
    pthread_mutex_lock(&b->lock);
    while (b->running && b->made == b->fed && !b->failed && !b->over)
        pthread_cond_wait(&b->filled, &b->lock);
    bool ready = b->made > b->fed, over = b->over && !ready;
    pthread_mutex_unlock(&b->lock);
    if (!b->running && !over) {
        ready = make_batch(b, b->fed, &over) && !over;
        if (ready) b->made = b->fed + 1;
        b->over = over;
    }
    if (!ready && !over) fault_take(&b->session->fault, b->trouble.kind, b->trouble.text);
    return ready;
}

/* ---- opening and closing ---- */

static void close_batches(void *what)
{
    mtf_batches *b = what;
    if (b->closed) return;
    b->closed = true;
    stop(b);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->filled);
    pthread_cond_destroy(&b->emptied);
    block_free(&b->session->allocator, b->buffers);
    block_free(&b->session->allocator, b->scratch);
}

static bool check_opts(mtf_dataset *d, const mtf_batches_opts *o)
{
    fault *why = &d->session->fault;
    if (o->epochs < 0)
        return fail(why, ERR_USAGE, "epochs is %lld; it is a number of passes, or 0 for no end",
                    (long long)o->epochs);
    if (o->ahead < -1 || o->ahead > MOST_AHEAD)
        return fail(why, ERR_USAGE,
                    "ahead is %d; it is a number of batches up to %d, or -1 for none", o->ahead,
                    MOST_AHEAD);
    if ((unsigned)o->remainder > MTF_REPEAT)
        return fail(why, ERR_USAGE,
                    "remainder is %d; it is MTF_DROP, MTF_FILL, MTF_WRAP or MTF_REPEAT",
                    (int)o->remainder);
    return true;
}

static bool prepare_batches(mtf_batches *b, mtf_dataset *d, mtf_program *p,
                            const mtf_batches_opts *o)
{
    mtf_session *s = d->session;
    TRY(check_opts(d, o));
    b->data = d;
    TRY(batch_plan_make(d, p, o->batch ? o->batch : "batch", &b->plan));
    b->streamed = d->sections != NULL;
    if (b->streamed) {
        b->schedule.total = INT64_MAX / b->plan.batch;
        TRY(stream_batch_open(s, d->sections, b->plan.batch, o, &b->stream));
    } else {
        b->schedule = batch_schedule_make(d->size, b->plan.batch, o);
    }
    if (b->schedule.total == 0)
        return fail(&s->fault, ERR_USAGE,
                    "%lld example%s not fill a batch of %lld; a smaller batch or more examples are "
                    "needed",
                    (long long)d->size, d->size == 1 ? " does" : "s do", (long long)b->plan.batch);
    b->threaded = o->ahead >= 0;
    b->nbuffers = !b->threaded ? 1 : o->ahead > 0 ? o->ahead + 1 : 3;
    TRY((b->notes = arena_array(&s->arena, batch_note, b->nbuffers)) != NULL);
    size_t bytes;
    if (__builtin_mul_overflow(b->plan.bytes, (size_t)b->nbuffers, &bytes)) bytes = SIZE_MAX;
    b->buffers = block_alloc(&s->allocator, &s->fault, bytes, false);
    b->scratch = block_alloc(&s->allocator, &s->fault, b->plan.scratch_bytes, false);
    return b->buffers && b->scratch;
}

mtf_batches *mtf_batches_new(mtf_dataset *d, mtf_program *p, const mtf_batches_opts *opts)
{
    if (!d || !p || !mtf_ok(d->session)) return NULL;
    mtf_batches *b = arena_new(&d->session->arena, mtf_batches);
    if (!b) return NULL;
    b->session = d->session;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->filled, NULL);
    pthread_cond_init(&b->emptied, NULL);
    if (!session_at_close(d->session, close_batches, b))
        close_batches(b);
    else if (prepare_batches(b, d, p, opts ? opts : &(mtf_batches_opts){0}))
        return b;
    return NULL;
}

void mtf_batches_free(mtf_batches *b)
{
    if (!b || b->closed) return;
    batch_take_back(&b->plan);
    close_batches(b);
}

/* ---- using ---- */

static bool alive(const mtf_batches *b)
{
    return b && !b->closed && mtf_ok(b->session);
}

bool mtf_batches_next(mtf_batches *b)
{
    if (!alive(b) || b->fed == b->schedule.total) return false;
    TRY(start_reading(b) && await(b));
    TRY(batch_lend(&b->plan, buffer_of(b, b->fed)));
    b->real = b->notes[b->fed % b->nbuffers].real;
    b->place = b->notes[b->fed % b->nbuffers].after;
    pthread_mutex_lock(&b->lock);
    b->fed++;
    pthread_cond_signal(&b->emptied);
    pthread_mutex_unlock(&b->lock);
    return true;
}

int64_t mtf_batches_real(const mtf_batches *b)
{
    return b ? b->real : 0;
}

int64_t mtf_batches_position(const mtf_batches *b)
{
    return b ? b->fed : 0;
}

static bool no_batch(const mtf_batches *b, int64_t position)
{
    if (b->streamed)
        return fail(&b->session->fault, ERR_USAGE,
                    "there is no batch %lld to continue from; there are fewer",
                    (long long)position);
    return fail(&b->session->fault, ERR_USAGE,
                "there is no batch %lld to continue from; the last is %lld", (long long)position,
                (long long)b->schedule.total - 1);
}

static bool seek(mtf_batches *b, int64_t position, const row_cursor *place)
{
    bool there = true;
    if (!alive(b)) return false;
    if (position < 0 || position > b->schedule.total) return no_batch(b, position);
    stop(b);
    batch_take_back(&b->plan);
    b->fed = b->made = position;
    b->failed = b->over = false;
    fault_clear(&b->trouble);
    if (place)
        b->stream.stream.at = *place;
    else if (b->streamed)
        TRY(stream_batch_seek(&b->stream, position, &there, &b->session->fault));
    b->place = b->stream.stream.at;
    return there || no_batch(b, position);
}

bool mtf_batches_seek(mtf_batches *b, int64_t position)
{
    return seek(b, position, NULL);
}

/* ---- places ---- */

void batches_place(const mtf_batches *b, char text[BATCH_PLACE_ROOM])
{
    text[0] = 0;
    if (b && b->streamed)
        snprintf(text, BATCH_PLACE_ROOM, "%" PRId64 ".%" PRId64 ".%" PRId64, b->place.epoch,
                 b->place.window, b->place.row);
}

bool batches_continue(mtf_batches *b, int64_t position, const char *place)
{
    row_cursor at;
    char       rest;
    if (!alive(b)) return false;
    if (!b->streamed || !place || !*place) return seek(b, position, NULL);
    if (sscanf(place, "%" SCNd64 ".%" SCNd64 ".%" SCNd64 "%c", &at.epoch, &at.window, &at.row,
               &rest) != 3 ||
        !row_cursor_possible(&at))
        return fail(&b->session->fault, ERR_USAGE,
                    "\"%s\" is not a position in the data; a position is an epoch, a window and a "
                    "row, as \"0.12.345\"",
                    place);
    return seek(b, position, &at);
}

double batches_epoch(const mtf_batches *b)
{
    if (!b || b->streamed) return NAN;
    return batch_schedule_epochs(&b->schedule, b->fed);
}
