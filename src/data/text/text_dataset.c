/* Datasets of text: rows of ids, segments and positions. */
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "data/text/examples.h"

/* What a field holds of a row. */
typedef enum row_view { ROW_IDS, ROW_SEGMENTS, ROW_POSITIONS, ROW_VIEWS } row_view;

typedef struct text_field {
    const text_examples *examples;
    int                  side;
    row_view             view;
} text_field;

/* ---- reading ---- */

/* The same number `count` times, or numbers that grow by one from 0 on. */
static void offer_numbers(wanted *w, int32_t first, int32_t step, int64_t count)
{
    int32_t some[256];
    for (int64_t done = 0, n; done < count; done += n) {
        n = count - done < 256 ? count - done : 256;
        for (int64_t i = 0; i < n; i++) some[i] = first + step * (int32_t)(done + i);
        offer(w, MTF_I32, some, n);
    }
}

/* How many tokens an example really has: those of a prefix differ from epoch to epoch. */
static bool count_tokens(const text_examples *e, int64_t k, int side, int64_t epoch, int64_t *count,
                         fault *why)
{
    *count = example_tokens(e, k, side);
    if (e->opts.objective != MTF_TEXT_PREFIX) return true;
    wanted none = {.scale = 1, .type = MTF_I32, .epoch = epoch};
    TRY(example_offer(e, k, side, &none, why));
    *count = none.offered;
    return true;
}

static bool read_row(const field *f, const shard *part, int64_t row, wanted *w, fault *why)
{
    const text_field    *t = f->inside;
    const text_examples *e = t->examples;
    int64_t              first = e->rows ? e->rows[row] : row;
    int64_t              last = e->rows ? e->rows[row + 1] : row + 1, count;
    (void)part;
    for (int64_t k = first; k < last && w->offered < w->end; k++) {
        if (t->view == ROW_IDS) {
            TRY(example_offer(e, k, t->side, w, why));
            continue;
        }
        TRY(count_tokens(e, k, t->side, w->epoch, &count, why));
        if (t->view == ROW_SEGMENTS)
            offer_numbers(w, (int32_t)(k - first) + 1, 0, count);
        else
            offer_numbers(w, 0, 1, count);
    }
    return true;
}

static void where_row(const field *f, const shard *part, int64_t row, int64_t element,
                      char text[PLACE_ROOM])
{
    (void)f, (void)part;
    snprintf(text, PLACE_ROOM, "row %lld, place %lld", (long long)row, (long long)element);
}

static const format format_rows = {.name = "rows of text", .read = read_row, .where = where_row};

/* ---- opening ---- */

static void close_examples(void *what)
{
    text_examples *e = what;
    examples_free(e->vocabulary->session, e);
}

static bool add_field(mtf_dataset *d, const text_examples *e, int side, row_view view)
{
    static const char *const names[SIDES][ROW_VIEWS] = {
        {"inputs", "inputs_segmentation", "inputs_position"},
        {"targets", "targets_segmentation", "targets_position"}};
    arena      *a = &d->session->arena;
    text_field *t = arena_new(a, text_field);
    shard      *all = arena_new(a, shard);
    TRY(t && all && (all->file = arena_new(a, input_file)));
    all->file->path = e->opts.files;
    all->count = e->nrows;
    *t = (text_field){e, side, view};
    d->fields[d->nfields++] = (field){.as = {.name = names[side][view],
                                             .files = e->opts.files,
                                             .scale = 1,
                                             .length = e->length[side]},
                                      .format = &format_rows,
                                      .elements = e->length[side],
                                      .shards = all,
                                      .nshards = 1,
                                      .inside = t};
    return true;
}

static bool copy_texts(arena *a, mtf_text_opts *o)
{
    TRY((o->files = arena_text(a, o->files)) != NULL);
    return (!o->inputs || (o->inputs = arena_text(a, o->inputs))) &&
           (!o->targets || (o->targets = arena_text(a, o->targets)));
}

static bool read_texts(mtf_dataset *d, text_examples *e)
{
    bool      plain = e->opts.objective == MTF_TEXT_LM || e->opts.objective == MTF_TEXT_PAIRS;
    documents texts = {.dataset = d,
                       .opts = &e->opts,
                       .vocabulary = {e->opts.inputs_vocabulary, e->vocabulary},
                       .pairs = e->two_texts,
                       .ends = plain,
                       .join = e->opts.joined,
                       .text = e->text};
    for (int side = 0; side < SIDES; side++)
        e->text[side] =
            (token_text){.session = d->session, .type = token_type(texts.vocabulary[side])};
    return documents_read(&texts) && examples_plan(d->session, e);
}

static mtf_dataset *open_text(mtf_session *s, text_examples *e)
{
    mtf_dataset *d = dataset_new(s, SIDES * ROW_VIEWS);
    if (!d || !session_at_close(s, close_examples, e)) return NULL;
    if (!examples_check(s, e) || !read_texts(d, e)) return NULL;
    d->size = e->nrows;
    for (int side = e->has_inputs ? INPUTS : TARGETS; side < SIDES; side++)
        for (row_view view = ROW_IDS; view < ROW_VIEWS; view++)
            if (!add_field(d, e, side, view)) return NULL;
    return d;
}

mtf_dataset *mtf_text_open(mtf_session *s, const mtf_text_opts *opts)
{
    if (!s || !mtf_ok(s)) return NULL;
    if (!opts || !opts->files || !*opts->files) {
        fail(&s->fault, ERR_USAGE, "a dataset of text needs files");
        return NULL;
    }
    text_examples *e = arena_new(&s->arena, text_examples);
    if (!e) return NULL;
    e->opts = *opts;
    if (!copy_texts(&s->arena, &e->opts)) return NULL;
    e->vocabulary = opts->vocabulary ? opts->vocabulary : mtf_vocabulary_open(s, NULL);
    return e->vocabulary ? open_text(s, e) : NULL;
}
