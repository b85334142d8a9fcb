/* Files of text, read and tokenised. */
#include "data/text/documents.h"

#include <string.h>

/* ---- which format ---- */

typedef bool read_file(documents *d, input_file *f);

static const struct text_format {
    const char *name, *ending;
    read_file  *read;
    bool        kept; /* the file stays open */
} formats[] = {
    {"tfrecord", ".tfrecord", documents_tfrecord, false},
    {"tsv", ".tsv", documents_tsv, false},
    {"u16", ".u16", documents_tokens, true},
    {"u32", ".u32", documents_tokens, true},
    {"text", "", documents_plain, false}, /* any other file name */
};
enum { FORMATS = sizeof formats / sizeof *formats };

static const struct text_format *find_format(documents *d)
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

static const struct text_format *guess_format(const documents *d, const input_file *f)
{
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    field       probe = {.crc = &d->dataset->crc};
    if (format_tfrecord.begins(&probe, f->bytes, f->size)) return &formats[0];
    for (int i = 0;; i++)
        if (strstr(name, formats[i].ending)) return &formats[i];
}

/* ---- adding ---- */

static bool close_text(documents *d, int side)
{
    int32_t  end = mtf_vocabulary_end(d->vocabulary[side]);
    id_list *ids = &d->ids[side];
    bool     ended = ids->count && ids->ids[ids->count - 1] == end;
    return !d->ends || ended || ids_add(ids, end);
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

static bool read_one(documents *d, const struct text_format **told, input_files *passing,
                     const char *path)
{
    input_file *f = NULL;
    if (!*told) {
        TRY((f = input_open(passing, path)) != NULL);
        *told = guess_format(d, f);
    }
    bool kept = (*told)->kept;
    TRY((f = input_open(kept ? &d->dataset->files : passing, path)) != NULL);
    for (int side = 0; kept && side < SIDES; side++)
        d->text[side].type = (*told)->name[1] == '1' ? RAW_U16 : RAW_U32;
    return (*told)->read(d, f);
}

bool documents_read(documents *d)
{
    mtf_session              *s = d->dataset->session;
    const char              **paths;
    const struct text_format *told = NULL;
    int                       n = input_paths(s, d->opts->files, &paths);
    bool                      ok = n > 0 && (!d->opts->format || (told = find_format(d)));
    for (int side = 0; side < SIDES; side++)
        d->ids[side] = (id_list){.from = &s->allocator, .why = &s->fault};
    for (int i = 0; ok && i < n; i++) {
        input_files passing = {.session = s};
        ok = read_one(d, &told, &passing, paths[i]);
        input_close(&passing);
    }
    for (int side = 0; side < SIDES; side++) {
        ids_free(&d->ids[side]);
        ok = ok && token_text_finish(&d->text[side]);
    }
    return ok;
}
