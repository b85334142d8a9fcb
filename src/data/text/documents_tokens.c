/* Files of tokens: little-endian integers of two or four bytes. */
#include "base/byte_order.h"
#include "data/text/documents.h"
#include "data/token_head.h"

/* The vocabulary's end id separates texts, and belongs to the text before it. */
static bool add_texts(documents *d, const token_run *run)
{
    token_text *t = &d->text[TARGETS];
    int64_t     begin = run->first, last = run->first + run->count;
    int32_t     end = mtf_vocabulary_end(d->vocabulary[TARGETS]);
    for (int64_t at = begin; at < last; at++) {
        bool ends = token_run_id(t, run, at - run->first) == end;
        if (!ends && at + 1 < last) continue;
        int64_t length = at + 1 - begin - (ends && !d->ends);
        if (length) TRY(token_text_add_stretch(t, (stretch){begin, length}));
        begin = at + 1;
    }
    return true;
}

/* Copies the texts of a section; here ids are checked at once. */
static bool copy_texts(documents *d, const input_file *f, const token_run *run)
{
    const mtf_vocabulary *v = d->vocabulary[TARGETS];
    int64_t               size = mtf_vocabulary_size(v),
            place = f->bytes_before / (int64_t)raw_bytes(d->text[TARGETS].type);
    id_list *ids = &d->ids[TARGETS];
    for (int64_t at = 0; at < run->count; at++) {
        int64_t id = token_run_id(&d->text[TARGETS], run, at);
        bool    ends = id == mtf_vocabulary_end(v);
        if (id >= size)
            return fail(
                ids->why, ERR_FILE,
                "\"%s\", element %lld: %lld is not an id of the vocabulary \"%s\", which has %lld",
                f->path, (long long)(at + place), (long long)id, v->spec, (long long)size);
        if (!ends || d->ends) TRY(ids_add(ids, (int32_t)id));
        d->unended = !ends;
        if (ends || at + 1 == run->count) TRY(documents_add_ids(d));
    }
    return true;
}

bool documents_tokens(documents *d, input_file *f)
{
    fault      *why = &d->dataset->session->fault;
    token_text *t = &d->text[TARGETS];
    size_t      head = token_head(f->bytes, f->size, &t->type), size = raw_bytes(t->type);
    TRY(byte_order_suits(why, f->path, HOST_IS_LITTLE_ENDIAN));
    if (d->pairs)
        return fail(why, ERR_USAGE,
                    "\"%s\" has tokens of single texts, but the objective needs inputs and targets",
                    f->path);
    if (f->size % size)
        return fail(
            why, ERR_FILE,
            "\"%s\" is cut short, or no file of tokens: its %zu bytes are not a multiple of "
            "%zu",
            f->path, f->size, size);
    if (f->size == head) return true;
    token_run run = {
        .ids = f->bytes + head, .path = f->path, .count = (int64_t)((f->size - head) / size)};
    if (d->section) return copy_texts(d, f, &run);
    TRY(token_text_add_run(t, run));
    return d->join || add_texts(d, &t->runs[t->nruns - 1]);
}
