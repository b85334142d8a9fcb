/* Datasets of text: rows of ids, segments and positions. */
#include <stdio.h>
#include <string.h>

#include "data/text/sections.h"
#include "data/text/text_dataset.h"

/* What a field holds of a row. */
typedef enum row_view { ROW_IDS, ROW_SEGMENTS, ROW_POSITIONS, ROW_VIEWS } row_view;

typedef struct text_field {
    const text_examples *examples; /* all of them, or what those of all sections have in common */
    text_sections       *sections; /* NULL: all are in memory */
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

static bool offer_row(const text_field *t, const text_examples *e, int64_t row, wanted *w,
                      fault *why)
{
    int64_t first = e->rows ? e->rows[row] : row;
    int64_t last = e->rows ? e->rows[row + 1] : row + 1, count;
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

static bool read_row(const field *f, const shard *part, int64_t row, wanted *w, fault *why)
{
    const text_field *t = f->inside;
    (void)part;
    if (!t->sections) return offer_row(t, t->examples, row, w, why);
    text_section *s = text_sections_take(t->sections, row, why);
    TRY(s != NULL);
    bool ok = offer_row(t, &s->examples, row_place(row), w, why);
    text_sections_give_back(t->sections, s);
    return ok;
}

static void where_row(const field *f, const shard *part, int64_t row, int64_t element,
                      char text[PLACE_ROOM])
{
    const text_field *t = f->inside;
    (void)part;
    if (t->sections)
        snprintf(text, PLACE_ROOM, "section %lld, row %lld, place %lld",
                 (long long)row_section(row), (long long)row_place(row), (long long)element);
    else
        snprintf(text, PLACE_ROOM, "row %lld, place %lld", (long long)row, (long long)element);
}

static const format format_rows = {.name = "rows of text", .read = read_row, .where = where_row};

/* ---- opening ---- */

static void close_examples(void *what)
{
    text_examples *e = what;
    examples_free(e->vocabulary->session, e);
}

static void close_sections(void *what)
{
    text_sections_close(what);
}

static bool add_field(mtf_dataset *d, const text_examples *e, text_sections *in, int side,
                      row_view view)
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
    *t = (text_field){e, in, side, view};
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

static documents documents_of(mtf_dataset *d, text_examples *e)
{
    bool plain = e->opts.objective == MTF_TEXT_LM || e->opts.objective == MTF_TEXT_PAIRS;
    return (documents){.dataset = d,
                       .opts = &e->opts,
                       .vocabulary = {e->opts.inputs_vocabulary, e->vocabulary},
                       .pairs = e->two_texts,
                       .ends = plain,
                       .join = e->opts.joined,
                       .text = e->text};
}

static bool no_text(mtf_session *s, const text_examples *e)
{
    return fail(&s->fault, ERR_FILE, "\"%s\" has no text to make an example of", e->opts.files);
}

static bool read_whole(mtf_dataset *d, text_examples *e)
{
    documents texts = documents_of(d, e);
    for (int side = 0; side < SIDES; side++)
        e->text[side] =
            (token_text){.session = d->session, .type = token_type(texts.vocabulary[side])};
    TRY(documents_read(&texts) && examples_plan(d->session, e));
    d->size = e->nrows;
    return e->count || no_text(d->session, e);
}

static int64_t section_bytes(int64_t bytes, int64_t longest)
{
    return bytes < 64 * longest ? 64 * longest : bytes;
}

int64_t text_most_bytes(int64_t longest)
{
    return LOADED_SECTIONS * section_bytes(SECTION_BYTES, longest) *
           (1 + 2 * (int64_t)sizeof(uint16_t));
}

/* A section holds a row of text many times over, so that little is lost at its end. */
static section_rule rule_of(const text_examples *e, const text_format *as, int64_t bytes)
{
    section_rule rule = {.begins = as->begins,
                         .divides = e->opts.joined || e->opts.overlong == MTF_OVERLONG_SPLIT};
    rule.bytes = section_bytes(bytes, e->length[INPUTS] > e->length[TARGETS] ? e->length[INPUTS]
                                                                             : e->length[TARGETS]);
    if (as->begins != BEGINS_PARAGRAPH) return rule;
    if (e->opts.documents == MTF_DOCUMENTS_LINE) rule.begins = BEGINS_LINE;
    if (e->opts.documents == MTF_DOCUMENTS_FILE) rule.begins = BEGINS_FILE;
    return rule;
}

/* Opens the files; *whole: they are small enough to be in memory, or have tokens already. */
static bool open_corpus(mtf_dataset *d, text_examples *e, int64_t bytes, text_sections *t,
                        bool *whole)
{
    mtf_session *s = d->session;
    uint8_t      head[64];
    size_t       got;
    *t = (text_sections){.session = s, .shape = e, .reading = documents_of(d, e)};
    TRY(corpus_open(s, e->opts.files, &t->corpus));
    corpus_file *first = &t->corpus.files[0];
    TRY(corpus_read(&t->corpus, first, 0, head, sizeof head, &got, &s->fault));
    TRY((t->format = documents_format(&t->reading, first->path, head, got)) != NULL);
    t->rule = rule_of(e, t->format, bytes);
    t->rule.crc = &d->crc;
    t->rule.end = mtf_vocabulary_end(e->vocabulary);
    t->later = later_suits(e, t->format);
    t->rule.token = t->format->name[1] == '1' ? 2 : 4;
    *whole = t->format->tokens && e->opts.joined; /* windows need no search for texts */
    return *whole || corpus_within(&t->corpus, WHOLE_SECTIONS * t->rule.bytes, whole);
}

/* The first section is read at once, so that errors in files of the wrong kind are found now. */
static bool read_sections(mtf_dataset *d, text_sections *t)
{
    int64_t rows;
    TRY(text_sections_open(t) && session_at_close(d->session, close_sections, t));
    d->sections = &t->rows;
    d->size = -1;
    return t->rows.rows(t, 0, &rows, &d->session->fault);
}

static mtf_dataset *open_text(mtf_session *s, text_examples *e, int64_t bytes)
{
    mtf_dataset   *d = dataset_new(s, SIDES * ROW_VIEWS);
    text_sections *t = arena_new(&s->arena, text_sections);
    bool           whole = true;
    if (!d || !t || !session_at_close(s, close_examples, e) || !examples_check(s, e)) return NULL;
    bool ok = open_corpus(d, e, bytes, t, &whole);
    if (!ok || whole) corpus_close(&t->corpus);
    if (!ok || !(whole ? read_whole(d, e) : read_sections(d, t))) return NULL;
    for (int side = e->has_inputs ? INPUTS : TARGETS; side < SIDES; side++)
        for (row_view view = ROW_IDS; view < ROW_VIEWS; view++)
            if (!add_field(d, e, whole ? NULL : t, side, view)) return NULL;
    return d;
}

mtf_dataset *mtf_text_open(mtf_session *s, const mtf_text_opts *opts)
{
    return text_open_in_sections(s, opts, SECTION_BYTES);
}

mtf_dataset *text_open_in_sections(mtf_session *s, const mtf_text_opts *opts, int64_t bytes)
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
    return e->vocabulary ? open_text(s, e, bytes) : NULL;
}
