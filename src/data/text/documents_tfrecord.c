/* Records of tf.Example that hold texts or ids. */
#include <stdio.h>
#include <string.h>

#include "data/text/documents.h"

/* Appends the ids of one feature of record k. */
typedef struct record {
    documents *documents;
    field     *field;
    shard     *part;
    int64_t    number;
    byte_list  text; /* working space */
    int        side;
} record;

static bool wrong(const record *r, const char *what)
{
    return fail(&r->documents->dataset->session->fault, ERR_FILE,
                "\"%s\": record %lld: the feature \"%s\" %s", r->part->file->path,
                (long long)(r->number + r->part->file->records_before), r->field->as.part, what);
}

static bool take_text(record *r, const int32_t *bytes, int64_t n, id_list *ids)
{
    const mtf_vocabulary *v = r->documents->vocabulary[r->side];
    r->text.count = 0;
    for (int64_t i = 0; i < n; i++) {
        char byte = (char)bytes[i];
        TRY(bytes_add(&r->text, &byte, 1));
    }
    return n == 0 || vocabulary_encode(v, r->text.bytes, (size_t)n, ids);
}

static bool take_ids(record *r, const int32_t *values, int64_t n, id_list *ids)
{
    int64_t size = mtf_vocabulary_size(r->documents->vocabulary[r->side]);
    TRY(ids_reserve(ids, n));
    for (int64_t i = 0; i < n; i++) {
        if (values[i] < 0 || values[i] >= size) {
            char what[100];
            snprintf(what, sizeof what, "has the id %d, but the vocabulary has %lld", values[i],
                     (long long)size);
            return wrong(r, what);
        }
        ids->ids[ids->count++] = values[i];
    }
    return true;
}

static bool take_feature(record *r)
{
    fault   *why = &r->documents->dataset->session->fault;
    id_list *ids = &r->documents->ids[r->side];
    wanted   count = {.scale = 1, .type = MTF_I32};
    TRY(format_tfrecord.read(r->field, r->part, r->number, &count, why));
    if (count.offered == 0) return true;
    if (count.offered_as == MTF_F32)
        return wrong(r, "has floating numbers; text or ids are needed");
    int32_t *values = block_alloc(ids->from, why, (size_t)count.offered * sizeof *values, false);
    TRY(values != NULL);
    wanted w = {.scale = 1, .type = MTF_I32, .end = count.offered, .out = values};
    bool   ok = format_tfrecord.read(r->field, r->part, r->number, &w, why);
    if (ok && *w.misfit) ok = wrong(r, "has numbers too large for ids");
    if (ok && w.offered_as == RAW_U8)
        ok = take_text(r, values, w.offered, ids);
    else if (ok)
        ok = take_ids(r, values, w.offered, ids);
    block_free(ids->from, values);
    return ok;
}

static bool take_record(record *r, const char *const names[SIDES])
{
    documents *d = r->documents;
    for (int side = d->pairs ? INPUTS : TARGETS; side < SIDES; side++) {
        r->field->as.part = names[side];
        d->ids[side].count = 0;
        r->side = side;
        TRY(take_feature(r));
    }
    return documents_add_ids(d);
}

bool documents_tfrecord(documents *d, input_file *f)
{
    mtf_session *s = d->dataset->session;
    const char  *names[SIDES] = {d->opts->inputs ? d->opts->inputs : "inputs",
                                d->opts->targets ? d->opts->targets : "targets"};
    shard  part = {.file = f};
    field  all = {.as = {.name = "text", .part = names[TARGETS]},
                  .crc = &d->dataset->crc,
                  .shards = &part,
                  .nshards = 1};
    record r = {d, &all, &part, 0, {.from = &s->allocator, .why = &s->fault}, TARGETS};
    bool   ok = format_tfrecord.open(s, &all, &part);
    for (; ok && r.number < part.count; r.number++) ok = take_record(&r, names);
    block_free(&s->allocator, r.text.bytes);
    return ok;
}
