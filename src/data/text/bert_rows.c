/* Rows for BERT, as a dataset. */
#include "data/text/bert_rows.h"

#include <stdio.h>
#include <string.h>

/* ---- rows ---- */

static void close_kept(const bert_rows *r, bert_kept *k)
{
    if (!k) return;
    bytes_free(&k->bytes);
    ids_free(&k->places);
    block_free(&r->session->allocator, k->questions);
}

static void close_rows(void *what)
{
    bert_rows *r = what;
    close_kept(r, r->kept);
    ids_free(&r->ids);
    block_free(&r->session->allocator, r->rows);
}

static bool find_special(const bert_rows *r, const char *piece, int32_t *id)
{
    *id = word_piece_id(r->vocabulary, piece);
    return *id >= 0 || fail(&r->session->fault, ERR_FILE,
                            "the vocabulary \"%s\" has no word \"%s\", which rows for BERT need",
                            r->vocabulary->spec, piece);
}

bool bert_rows_begin(bert_rows *r)
{
    r->ids = (id_list){.from = &r->session->allocator, .why = &r->session->fault};
    return session_at_close(r->session, close_rows, r) && find_special(r, "[CLS]", &r->begin) &&
           find_special(r, "[SEP]", &r->end) && find_special(r, "[MASK]", &r->mask) &&
           find_special(r, "[PAD]", &r->padding);
}

bool bert_rows_add(bert_rows *r, const int32_t *a, int64_t na, const int32_t *b, int64_t nb,
                   const int32_t label[BERT_ROW_LABELS])
{
    bert_row row = {.at = r->ids.count, .first = (int32_t)(na + 2)};
    void    *rows = r->rows;
    if (r->count == r->room)
        rows = list_grow(r->ids.from, r->ids.why, r->rows, sizeof *r->rows, r->count, r->count + 1,
                         &r->room);
    TRY(rows != NULL);
    r->rows = rows;
    TRY(ids_add(&r->ids, r->begin) && ids_add_all(&r->ids, a, na) && ids_add(&r->ids, r->end));
    if (nb >= 0) TRY(ids_add_all(&r->ids, b, nb) && ids_add(&r->ids, r->end));
    row.count = (int32_t)(r->ids.count - row.at);
    memcpy(row.label, label, sizeof row.label);
    r->rows[r->count++] = row;
    return true;
}

/* ---- reading ---- */

typedef struct rows_field {
    const bert_rows *rows;
    bert_view        view;
} rows_field;

static void offer_many(wanted *w, int32_t value, int64_t count)
{
    int32_t some[256];
    for (int i = 0; i < 256; i++) some[i] = value;
    for (int64_t n; count > 0; count -= n) {
        n = count < 256 ? count : 256;
        offer(w, MTF_I32, some, n);
    }
}

/* Padding of words is not 0 in every vocabulary. */
static void offer_words(const bert_rows *r, const int32_t *ids, int64_t count, wanted *w)
{
    offer(w, MTF_I32, ids, count);
    if (r->padding) offer_many(w, r->padding, r->length - count);
}

static void offer_masked(const bert_rows *r, bert_view view, int64_t row, wanted *w)
{
    bert_masked m;
    bert_mask_row(r, row, w->epoch, &m);
    switch (view) {
    case BERT_MASKED_IDS: offer_words(r, m.ids, r->rows[row].count, w); break;
    case BERT_POSITIONS: offer(w, MTF_I32, m.positions, m.count); break;
    case BERT_WORDS: offer(w, MTF_I32, m.words, m.count); break;
    default: offer_many(w, 1, m.count); break;
    }
}

static bool read_row(const field *f, const shard *part, int64_t k, wanted *w, fault *why)
{
    const rows_field *t = f->inside;
    const bert_row   *row = &t->rows->rows[k];
    (void)part, (void)why;
    switch (t->view) {
    case BERT_IDS: offer_words(t->rows, t->rows->ids.ids + row->at, row->count, w); break;
    case BERT_PADDING: offer_many(w, 1, row->count); break;
    case BERT_SEGMENTS:
        offer_many(w, 0, row->first);
        offer_many(w, 1, row->count - row->first);
        break;
    case BERT_FIRST_LABEL: offer_many(w, row->label[0], 1); break;
    case BERT_SECOND_LABEL: offer_many(w, row->label[1], 1); break;
    default: offer_masked(t->rows, t->view, k, w); break;
    }
    return true;
}

static void where_row(const field *f, const shard *part, int64_t row, int64_t element,
                      char text[PLACE_ROOM])
{
    (void)f, (void)part;
    snprintf(text, PLACE_ROOM, "row %lld, place %lld", (long long)row, (long long)element);
}

static const format format_bert = {.name = "rows for BERT", .read = read_row, .where = where_row};

/* ---- the dataset ---- */

static int64_t elements_of(const bert_rows *r, bert_view view)
{
    switch (view) {
    case BERT_FIRST_LABEL:
    case BERT_SECOND_LABEL: return 1;
    case BERT_POSITIONS:
    case BERT_WORDS:
    case BERT_WEIGHTS: return r->predictions;
    default: return r->length;
    }
}

static bool add_field(mtf_dataset *d, const bert_rows *r, const bert_field *as)
{
    arena      *a = &d->session->arena;
    rows_field *t = arena_new(a, rows_field);
    shard      *all = arena_new(a, shard);
    int64_t     elements = elements_of(r, as->view);
    TRY(t && all && (all->file = arena_new(a, input_file)));
    all->file->path = r->files;
    all->count = r->count;
    *t = (rows_field){r, as->view};
    d->fields[d->nfields++] =
        (field){.as = {.name = as->name, .files = r->files, .scale = 1, .length = elements},
                .format = &format_bert,
                .elements = elements,
                .shards = all,
                .nshards = 1,
                .inside = t};
    return true;
}

const bert_rows *bert_rows_of(const mtf_dataset *d)
{
    const field *f = d->nfields ? &d->fields[0] : NULL;
    return f && f->format == &format_bert ? ((const rows_field *)f->inside)->rows : NULL;
}

mtf_dataset *bert_rows_dataset(bert_rows *r, const bert_field *fields)
{
    int n = 0;
    while (fields[n].name) n++;
    if (r->count == 0) {
        fail(&r->session->fault, ERR_FILE, "\"%s\" has no text to make an example of", r->files);
        return NULL;
    }
    mtf_dataset *d = dataset_new(r->session, n);
    for (int i = 0; d && i < n; i++)
        if (!add_field(d, r, &fields[i])) return NULL;
    if (d) d->size = r->count;
    return d;
}
