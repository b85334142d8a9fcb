/* Files of text, read and tokenised. */
#include "data/text/documents.h"

#include <string.h>

#include "data/token_head.h"

/* ---- which format ---- */

static const text_format formats[] = {
    {"tfrecord", ".tfrecord", documents_tfrecord, false, BEGINS_RECORD},
    {"tsv", ".tsv", documents_tsv, false, BEGINS_ROW},
    {"u16", ".u16", documents_tokens, true, BEGINS_AFTER_END},
    {"u32", ".u32", documents_tokens, true, BEGINS_AFTER_END},
    {"text", "", documents_plain, false, BEGINS_PARAGRAPH}, /* any other file name */
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const text_format *find_format(documents *d)
{
    nearest near = {.wanted = d->opts->format};
    char    hint[100];
    for (int i = 0; i < FORMATS; i++) {
        if (strcmp(formats[i].name, d->opts->format) == 0) return &formats[i];
        nearest_offer(&near, formats[i].name);
    }
    fail(&d->dataset->session->fault, ERR_USAGE,
         "the format of text \"%s\" is none of text, tsv, tfrecord, u16 and u32%s", d->opts->format,
         nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

const text_format *documents_format(documents *d, const char *path, const uint8_t *bytes, size_t n)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    field       probe = {.crc = &d->dataset->crc};
    if (d->opts->format) return find_format(d);
    if (format_tfrecord.begins(&probe, bytes, n)) return &formats[0];
    raw_type type = RAW_U16;
    if (token_head(bytes, n, &type)) return &formats[type == RAW_U16 ? 2 : 3];
    for (int i = 0;; i++)
        if (strstr(name, formats[i].ending)) return &formats[i];
}

/* ---- adding ---- */

static bool close_text(documents *d, int side)
{
    int32_t  end = mtf_vocabulary_end(d->vocabulary[side]);
    id_list *ids = &d->ids[side];
    bool     ended = ids->count && ids->ids[ids->count - 1] == end;
    return !d->ends || d->unended || ended || ids_add(ids, end);
}

/* Decodes the ids of a file for `each`. */
static bool give_texts(documents *d)
{
    text_span spans[SIDES] = {{"", 0}, {"", 0}};
    char     *texts[SIDES] = {NULL, NULL};
    bool      ok = true;
    for (int side = d->pairs ? INPUTS : TARGETS; ok && side < SIDES; side++) {
        const mtf_vocabulary *v = d->vocabulary[side];
        const id_list        *ids = &d->ids[side];
        int64_t               n = mtf_vocabulary_decode(v, ids->ids, ids->count, NULL, 0);
        texts[side] = n < 0 ? NULL : block_alloc(ids->from, ids->why, (size_t)n + 1, false);
        ok = texts[side] && mtf_vocabulary_decode(v, ids->ids, ids->count, texts[side], n + 1) >= 0;
        spans[side] = (text_span){texts[side], n};
    }
    ok = ok && d->each(d->context, d->pairs ? &spans[INPUTS] : NULL, &spans[TARGETS]);
    for (int side = 0; side < SIDES; side++) block_free(d->ids[side].from, texts[side]);
    return ok;
}

bool documents_add_ids(documents *d)
{
    if (d->ids[INPUTS].count + d->ids[TARGETS].count == 0) return true;
    if (d->each) return give_texts(d);
    for (int side = d->pairs ? INPUTS : TARGETS; side < SIDES; side++) {
        TRY(close_text(d, side));
        TRY(token_text_add(&d->text[side], d->ids[side].ids, d->ids[side].count));
        d->ids[side].count = 0;
    }
    return true;
}

static bool encode(documents *d, int side, const text_span *span)
{
    d->ids[side].count = 0;
    if (!span) return true;
    d->bytes += span->size;
    return vocabulary_encode(d->vocabulary[side], span->at, (size_t)span->size, &d->ids[side]);
}

bool documents_add(documents *d, const text_span *inputs, const text_span *targets)
{
    if (d->each) return d->each(d->context, inputs, targets);
    return encode(d, INPUTS, inputs) && encode(d, TARGETS, targets) && documents_add_ids(d);
}

/* ---- all files ---- */

bool documents_read_file(documents *d, const text_format *as, input_file *f)
{
    for (int side = 0; as->tokens && side < SIDES; side++)
        d->text[side].type = as->name[1] == '1' ? RAW_U16 : RAW_U32;
    return as->read(d, f);
}

static bool read_one(documents *d, const text_format **told, input_files *passing, const char *path)
{
    input_file *f = NULL;
    if (!*told) {
        TRY((f = input_open(passing, path)) != NULL);
        TRY((*told = documents_format(d, path, f->bytes, f->size)) != NULL);
    }
    TRY((f = input_open((*told)->tokens ? &d->dataset->files : passing, path)) != NULL);
    return documents_read_file(d, *told, f);
}

void documents_begin(documents *d)
{
    mtf_session *s = d->dataset->session;
    for (int side = 0; side < SIDES; side++)
        d->ids[side] = (id_list){.from = &s->allocator, .why = &s->fault};
}

bool documents_end(documents *d, bool ok)
{
    for (int side = 0; side < SIDES; side++) {
        ids_free(&d->ids[side]);
        ok = ok && token_text_finish(&d->text[side]);
    }
    return ok;
}

bool documents_read(documents *d)
{
    mtf_session       *s = d->dataset->session;
    const char       **paths;
    const text_format *told = NULL;
    int                n = input_paths(s, d->opts->files, &paths);
    bool               ok = n > 0;
    documents_begin(d);
    for (int i = 0; ok && i < n; i++) {
        input_files passing = {.session = s};
        ok = read_one(d, &told, &passing, paths[i]);
        input_close(&passing);
    }
    return documents_end(d, ok);
}
