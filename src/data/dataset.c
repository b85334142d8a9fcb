/* A dataset: fields of examples, each in its files. */
#include <float.h>
#include "data/dataset.h"

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "machine/launch.h"

/* In the order of trying: formats with a checksum come first. */
static const format *const formats[] = {&format_tfrecord, &format_npy, &format_idx,
                                        &format_csv,      &format_tsv, &format_text,
                                        &format_bytes,    &format_u16, &format_u32};
enum { FORMATS = sizeof formats / sizeof *formats };

/* ---- which format ---- */

static bool find_format(mtf_session *s, field *f)
{
    nearest near = {.wanted = f->as.format};
    char    hint[100];
    for (int i = 0; i < FORMATS && !f->format; i++) {
        if (strcmp(formats[i]->name, f->as.format) == 0) f->format = formats[i];
        nearest_offer(&near, formats[i]->name);
    }
    if (f->format) return true;
    return fail(&s->fault, ERR_USAGE,
                "field \"%s\" has the format \"%s\", which is none of idx, npy, csv, tsv, text, "
                "bytes, u16, u32 and tfrecord%s",
                f->as.name, f->as.format, nearest_hint(&near, hint, sizeof hint));
}

/* By the file's first bytes, else by its name: "x.tsv", "x.tsv.gz", "x.tfrecord-00001-of-00008". */
static bool guess_format(mtf_session *s, field *f, const input_file *file)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    for (int i = 0; i < FORMATS && !f->format; i++)
        if (formats[i]->begins && formats[i]->begins(f, file->bytes, file->size))
            f->format = formats[i];
    for (int i = 0; i < FORMATS && !f->format; i++) {
        const char *found = formats[i]->ending ? strstr(name, formats[i]->ending) : NULL;
        char        next = found ? found[strlen(formats[i]->ending)] : 'x';
        if (next == 0 || next == '.' || next == '-' || next == 's') f->format = formats[i];
    }
    if (f->format) return true;
    return fail(&s->fault, ERR_FILE,
                "neither bytes nor name of \"%s\" show its format; give the field \"%s\" a format",
                file->path, f->as.name);
}

/* ---- opening ---- */

static bool copy_texts(arena *a, mtf_field *f)
{
    TRY((f->name = arena_text(a, f->name)) && (f->files = arena_text(a, f->files)));
    return (!f->format || (f->format = arena_text(a, f->format))) &&
           (!f->part || (f->part = arena_text(a, f->part)));
}

/* Fails for options that the format would silently ignore. */
static bool check_uses(mtf_session *s, const field *f, bool header)
{
    const char *name = f->as.name, *kind = f->format->name;
    unsigned    takes = f->format->takes;
    if (f->as.part && !(takes & TAKES_PART))
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\" has a part, \"%s\", but its format is %s; csv and tsv files have "
                    "columns, tfrecord files features",
                    name, f->as.part, kind);
    if (header && !(takes & TAKES_HEADER))
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\" has a header, but its format is %s; only csv and tsv files have "
                    "a line of names",
                    name, kind);
    if (f->as.shift && !(takes & TAKES_SHIFT))
        return fail(
            &s->fault, ERR_USAGE,
            "field \"%s\" has a shift, but its format is %s; only windows of bytes, u16 and "
            "u32 can be shifted",
            name, kind);
    return true;
}

/* Where one field of a file names a column, the file's first line has names for all fields. */
static bool has_names(const mtf_field *fields, const mtf_field *as)
{
    for (const mtf_field *f = fields; f->name; f++)
        if (f->files && as->files && strcmp(f->files, as->files) == 0 &&
            (f->header || (f->part && !columns_are_numbers(f->part))))
            return true;
    return false;
}

static bool open_field(mtf_dataset *d, const mtf_field *as, bool header, field *f)
{
    mtf_session *s = d->session;
    const char **paths;
    *f = (field){.as = *as, .crc = &d->crc};
    f->as.header = header;
    if (dataset_field(d, as->name))
        return fail(&s->fault, ERR_USAGE, "two fields have the name \"%s\"", as->name);
    if (!as->files || as->length < 0)
        return fail(&s->fault, ERR_USAGE, "field \"%s\" %s", as->name,
                    as->files ? "has a negative length" : "names no files");
    if (as->least > as->most || as->least != as->least || as->most != as->most)
        return fail(&s->fault, ERR_USAGE,
                    "field \"%s\" takes numbers from %g to %g, an empty range", as->name, as->least,
                    as->most);
    if (as->scale == 0) f->as.scale = 1;
    TRY(copy_texts(&s->arena, &f->as));
    if (as->format) TRY(find_format(s, f));
    TRY((f->nshards = input_paths(s, as->files, &paths)) > 0);
    TRY((f->shards = arena_array(&s->arena, shard, f->nshards)) != NULL);
    int64_t count = 0;
    for (int i = 0; i < f->nshards; i++) {
        shard *part = &f->shards[i];
        TRY((part->file = input_open(&d->files, paths[i])) != NULL);
        if (!f->format) TRY(guess_format(s, f, part->file));
        if (i == 0) TRY(check_uses(s, f, as->header));
        part->first = count;
        TRY(f->format->open(s, f, part));
        count += part->count;
    }
    if (count == 0)
        return fail(&s->fault, ERR_FILE, "\"%s\" has no examples for the field \"%s\"", as->files,
                    as->name);
    if (d->nfields && count != d->size)
        return fail(&s->fault, ERR_FILE, "\"%s\" has %lld examples, but \"%s\" has %lld", as->name,
                    (long long)count, d->fields[0].as.name, (long long)d->size);
    d->size = count;
    d->nfields++;
    return true;
}

static void close_dataset(void *what)
{
    mtf_dataset *d = what;
    input_close(&d->files);
}

mtf_dataset *dataset_new(mtf_session *s, int nfields)
{
    mtf_dataset *d = arena_new(&s->arena, mtf_dataset);
    if (!d || !(d->fields = arena_array(&s->arena, field, nfields))) return NULL;
    d->session = s;
    d->files.session = s;
    d->files.share = launch_find().size > 1;
    crc32c_fill(&d->crc);
    return session_at_close(s, close_dataset, d) ? d : NULL;
}

mtf_dataset *mtf_dataset_open(mtf_session *s, const mtf_field *fields)
{
    int n = 0;
    if (!mtf_ok(s)) return NULL;
    while (fields && fields[n].name) n++;
    if (n == 0) {
        fail(&s->fault, ERR_USAGE, "a dataset needs a field at least");
        return NULL;
    }
    mtf_dataset *d = dataset_new(s, n);
    for (int i = 0; d && i < n; i++)
        if (!open_field(d, &fields[i], has_names(fields, &fields[i]), &d->fields[i])) return NULL;
    return d;
}

/* ---- reading ---- */

int64_t mtf_dataset_size(const mtf_dataset *d)
{
    if (!d || d->size >= 0) return d ? d->size : 0;
    int64_t size = mtf_ok(d->session) ? row_sections_total(d->sections, &d->session->fault) : 0;
    return size < 0 ? 0 : size;
}

const field *dataset_field(const mtf_dataset *d, const char *name)
{
    for (int i = 0; i < d->nfields; i++)
        if (strcmp(d->fields[i].as.name, name) == 0) return &d->fields[i];
    return NULL;
}

/* The file that has an example: the last one that begins at it or before, and is not empty. */
static const shard *find_shard(const field *f, int64_t example)
{
    int low = 0, high = f->nshards - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (f->shards[middle].first <= example)
            low = middle;
        else
            high = middle - 1;
    }
    return &f->shards[low];
}

void field_expect(const field *f, int64_t example)
{
    const shard *part = find_shard(f, example);
    if (f->format->expect) f->format->expect(f, part, example - part->first);
}

static const char *place_of_part(const field *f, const shard *part, int64_t k, int64_t element,
                                 char text[PLACE_ROOM])
{
    if (f->format->where)
        f->format->where(f, part, k, element, text);
    else
        snprintf(text, PLACE_ROOM, "example %lld", (long long)k);
    return text;
}

/* Fails for numbers that the input's type cannot hold, or that are outside the field's range. */
static bool check_numbers(const field *f, const shard *part, int64_t k, const wanted *w, fault *why)
{
    char        place[PLACE_ROOM];
    const char *path = part->file->path;
    if (*w->misfit)
        return fail(why, ERR_FILE,
                    "\"%s\", %s: %s is out of the range of %s, the type of the input \"%s\"", path,
                    place_of_part(f, part, k, w->misfit_at, place), w->misfit,
                    mtf_dtype_name(w->type), f->as.name);
    if (f->as.least == 0 && f->as.most == 0) return true;
    int64_t at = wanted_outside(w, f->as.least, f->as.most);
    if (at < 0) return true;
    double x = dtype_load(w->type, w->out, at - w->begin);
    if (f->as.most >= FLT_MAX)
        return fail(why, ERR_FILE,
                    "\"%s\", %s: %.15g is no finite number of %.15g or more, as \"%s\" takes it",
                    path, place_of_part(f, part, k, at, place), x, f->as.least, f->as.name);
    return fail(why, ERR_FILE,
                "\"%s\", %s: %.15g is outside of %.15g to %.15g, the range of \"%s\"", path,
                place_of_part(f, part, k, at, place), x, f->as.least, f->as.most, f->as.name);
}

bool field_read(const field *f, int64_t example, int64_t elements, wanted *w, fault *why)
{
    const shard *part = find_shard(f, example);
    w->scale = f->as.scale;
    TRY(f->format->read(f, part, example - part->first, w, why));
    TRY(check_numbers(f, part, example - part->first, w, why));
    if (!f->as.length && w->offered != elements)
        return fail(why, ERR_SHAPE,
                    "\"%s\": example %lld has %lld elements for the field \"%s\", where %lld are "
                    "taken; with a length it would be cut or filled",
                    part->file->path, (long long)(example - part->first), (long long)w->offered,
                    f->as.name, (long long)elements);
    offer_zeros(w);
    return true;
}

bool mtf_dataset_read(mtf_dataset *d, const char *name, int64_t index, mtf_dtype type,
                      int64_t count, void *out)
{
    if (!d || !mtf_ok(d->session)) return false;
    fault       *why = &d->session->fault;
    const field *f = name ? dataset_field(d, name) : NULL;
    if (!f) return fail(why, ERR_NAME, "the dataset has no field \"%s\"", name ? name : "");
    int64_t row = index;
    if (d->sections && index >= 0) {
        row = row_sections_find(d->sections, &d->near, index, why);
        TRY(mtf_ok(d->session));
    }
    if (row < 0 || (!d->sections && index >= d->size))
        return fail(why, ERR_USAGE, "there is no example %lld; the dataset has %lld",
                    (long long)index, (long long)mtf_dataset_size(d));
    if (count < 0 || (f->elements && count != f->elements))
        return fail(why, ERR_SHAPE, "field \"%s\" has %lld elements per example, not %lld", name,
                    (long long)f->elements, (long long)count);
    return field_read(f, row, count, &(wanted){.end = count, .type = type, .out = out}, why);
}
