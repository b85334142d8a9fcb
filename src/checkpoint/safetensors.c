/* safetensors files: a JSON header, then tensors without gaps. */
#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/dtype.h"
#include "base/textbuf.h"
#include "checkpoint/json_in.h"

/* f8 has none: no variable has that type, and files keep their scales in ways of their own. */
static const char *const words[DTYPES] = {
    [MTF_F32] = "F32", [MTF_BF16] = "BF16", [MTF_F16] = "F16",  [MTF_F64] = "F64",
    [MTF_I32] = "I32", [MTF_I64] = "I64",   [MTF_BOOL] = "BOOL"};

enum { HEADER_MOST = 100 * 1000 * 1000 }; /* the reference reader's limit */

static const char dims_key[] = "dims:";

/* ---- reading ---- */

typedef struct reading {
    contents   *contents;
    const char *path;
    fault      *fault;
    int         file, first; /* first: number of tensors of earlier files */
    int64_t     data_bytes;
} reading;

int64_t safetensors_header_bytes(const char *path, const unsigned char head[SAFETENSORS_START],
                                 int64_t file_bytes, fault *f)
{
    uint64_t length = 0;
    for (int i = SAFETENSORS_START - 1; i >= 0; i--) length = length << 8 | head[i];
    if (!byte_order_suits(f, path, HOST_IS_LITTLE_ENDIAN)) return 0;
    if (file_bytes < SAFETENSORS_START + 2) {
        fail(f, ERR_DAMAGED, "\"%s\" has %lld bytes, fewer than any safetensors file", path,
             (long long)file_bytes);
        return 0;
    }
    if (length > HEADER_MOST) {
        fail(
            f, ERR_DAMAGED,
            "\"%s\" is not a safetensors file: its header would be %llu bytes long; at most %d are "
            "read",
            path, (unsigned long long)length, HEADER_MOST);
        return 0;
    }
    if ((int64_t)length > file_bytes - SAFETENSORS_START) {
        fail(f, ERR_DAMAGED,
             "\"%s\" is cut short: its header should be %llu bytes long, and %lld are there", path,
             (unsigned long long)length, (long long)(file_bytes - SAFETENSORS_START));
        return 0;
    }
    return (int64_t)length + SAFETENSORS_START;
}

static bool broken(const reading *r, const char *name, const char *wanted)
{
    return fail(r->fault, ERR_DAMAGED, "\"%s\": tensor \"%.200s\" should have %s", r->path, name,
                wanted);
}

static bool read_type(reading *r, const cJSON *item, kept_tensor *t)
{
    const cJSON *type = json_member(item, "dtype");
    if (!cJSON_IsString(type)) return broken(r, t->shown, "a \"dtype\", once, as a string");
    for (int k = 0; k < DTYPES; k++)
        if (words[k] && strcmp(words[k], type->valuestring) == 0) {
            t->type = (mtf_dtype)k;
            return true;
        }
    t->foreign = arena_text(r->contents->arena, type->valuestring);
    return t->foreign && (t->foreign = text_printable(r->contents->arena, t->foreign));
}

static bool read_shape(reading *r, const cJSON *item, kept_tensor *t)
{
    const cJSON *sizes = json_member(item, "shape");
    mtf_shape    shape = {0};
    int64_t      count = 1;
    if (!cJSON_IsArray(sizes)) return broken(r, t->shown, "a \"shape\", once, as a list");
    for (const cJSON *i = sizes->child; i; i = i->next) {
        if (shape.ndims == MTF_MAX_DIMS)
            return fail(r->fault, ERR_DAMAGED,
                        "\"%s\": tensor \"%.200s\" has more than %d dimensions", r->path, t->shown,
                        MTF_MAX_DIMS);
        int64_t *size = &shape.dims[shape.ndims++].size;
        if (!json_whole(i, size) || __builtin_mul_overflow(count, *size, &count) ||
            count > INT64_MAX / 16)
            return broken(r, t->shown, "sizes that are whole numbers and not too large");
    }
    return contents_shape(r->contents, t, t->type, &shape);
}

static bool read_place(reading *r, const cJSON *item, kept_tensor *t)
{
    const cJSON *list = json_member(item, "data_offsets");
    int64_t      begin, end;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != 2 || !json_whole(list->child, &begin) ||
        !json_whole(list->child->next, &end))
        return broken(r, t->shown, "\"data_offsets\", once, of two whole numbers");
    if (begin > end || end > r->data_bytes)
        return fail(r->fault, ERR_DAMAGED,
                    "\"%s\": tensor \"%.200s\" lies at bytes %lld to %lld after the header, where "
                    "%lld bytes are: the file is cut short, or its header is wrong",
                    r->path, t->shown, (long long)begin, (long long)end, (long long)r->data_bytes);
    if (!t->foreign && end - begin != t->bytes)
        return fail(r->fault, ERR_DAMAGED,
                    "\"%s\": tensor \"%.200s\" is %s%s, which is %lld bytes, but it has %lld",
                    r->path, t->shown, mtf_dtype_name(t->type), contents_shape_text(r->contents, t),
                    (long long)t->bytes, (long long)(end - begin));
    t->bytes = end - begin;
    t->at = begin;
    t->file = r->file;
    return true;
}

static bool read_tensor(reading *r, const cJSON *item)
{
    const kept_tensor *other = contents_find(r->contents, item->string);
    if (other && other->file != r->file)
        return fail(r->fault, ERR_DAMAGED, "\"%s\" has tensor \"%.200s\", which \"%s\" has already",
                    r->path, other->shown, r->contents->files[other->file].name);
    if (other)
        return fail(r->fault, ERR_DAMAGED, "\"%s\" has tensor \"%.200s\" twice", r->path,
                    other->shown);
    kept_tensor *t = contents_add(r->contents, item->string);
    if (t && !cJSON_IsObject(item)) return broken(r, t->shown, "an object for its value");
    return t && read_type(r, item, t) && read_shape(r, item, t) && read_place(r, item, t);
}

static int by_place(const void *a, const void *b)
{
    const kept_tensor *x = *(kept_tensor *const *)a, *y = *(kept_tensor *const *)b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? -1 : 1) : 0;
}

/* Tensors follow each other from the first byte to the last: each byte belongs to exactly one. */
static bool no_gaps(const reading *r, int64_t header_bytes)
{
    int           n = r->contents->ntensors - r->first;
    kept_tensor **list = n ? r->contents->tensors + r->first : NULL;
    int64_t       end = 0;
    if (n) qsort(list, (size_t)n, sizeof *list, by_place);
    for (int i = 0; i < n; i++) {
        if (list[i]->at != end)
            return fail(r->fault, ERR_DAMAGED,
                        "\"%s\": tensor \"%.200s\" begins at byte %lld after the header; the one "
                        "before it ends at %lld",
                        r->path, list[i]->shown, (long long)list[i]->at, (long long)end);
        end += list[i]->bytes;
        list[i]->at += header_bytes;
    }
    if (end == r->data_bytes) return true;
    return fail(r->fault, ERR_DAMAGED,
                "\"%s\" has %lld bytes of data, but its tensors end at %lld: the file is %s",
                r->path, (long long)r->data_bytes, (long long)end, "longer than it should be");
}

/* "rows,cols"; ignored unless it has one name for each dimension of the tensor. */
static bool take_names(contents *c, kept_tensor *t, const char *text)
{
    mtf_shape shape = t->shape;
    char     *rest = arena_text(c->arena, text), *name;
    int       d = 0;
    TRY(rest != NULL);
    while ((name = strsep(&rest, ",")) != NULL) {
        if (d == shape.ndims || !name_is_legal(name)) return true;
        for (int k = 0; k < d; k++)
            if (strcmp(shape.dims[k].name, name) == 0) return true;
        shape.dims[d++].name = name;
    }
    if (d < shape.ndims) return true;
    t->shape = shape;
    t->named = true;
    return true;
}

static bool read_metadata(const reading *r, const cJSON *metadata)
{
    const size_t prefix = sizeof dims_key - 1;
    if (!metadata) return true;
    if (!cJSON_IsObject(metadata))
        return fail(r->fault, ERR_DAMAGED, "\"%s\": __metadata__ should be an object", r->path);
    for (const cJSON *i = metadata->child; i; i = i->next) {
        if (!cJSON_IsString(i))
            return fail(r->fault, ERR_DAMAGED, "\"%s\": __metadata__ should have strings only",
                        r->path);
        if (strncmp(i->string, dims_key, prefix) != 0) continue;
        kept_tensor *t = contents_find(r->contents, i->string + prefix);
        if (t && t->file == r->file) TRY(take_names(r->contents, t, i->valuestring));
    }
    return true;
}

static bool read_header(reading *r, const cJSON *root, int64_t header_bytes)
{
    const cJSON *metadata = NULL;
    for (const cJSON *i = root->child; i; i = i->next) {
        if (strcmp(i->string, "__metadata__") != 0)
            TRY(read_tensor(r, i));
        else if (metadata)
            return fail(r->fault, ERR_DAMAGED, "\"%s\" has __metadata__ twice", r->path);
        else
            metadata = i;
    }
    return no_gaps(r, header_bytes) && read_metadata(r, metadata);
}

bool safetensors_parse(contents *c, int file, const char *path, const unsigned char *header,
                       int64_t header_bytes, int64_t file_bytes)
{
    reading     r = {.contents = c, .path = path, .fault = c->arena->fault, .file = file};
    const char *text = (const char *)header + SAFETENSORS_START;
    size_t      length = (size_t)header_bytes - SAFETENSORS_START;
    r.first = c->ntensors;
    r.data_bytes = file_bytes - header_bytes;
    cJSON *root = length > 0 && text[0] == '{' ? json_read(text, length) : NULL;
    if (!root)
        return fail(r.fault, ERR_DAMAGED,
                    "\"%s\" is not a safetensors file: its header is not a JSON object", path);
    bool ok = read_header(&r, root, header_bytes);
    cJSON_Delete(root);
    return ok;
}

/* ---- writing ---- */

static void write_metadata(const contents *c, int file, textbuf *t)
{
    text_add(t, "{\"__metadata__\":{\"made_by\":\"mtf\",\"step\":\"%lld\"", (long long)c->step);
    if (c->format) text_add(t, ",\"format\":\"%s\"", c->format);
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *x = c->tensors[i];
        if (x->file != file || !x->named || x->shape.ndims == 0) continue;
        textbuf key = {.arena = c->arena}, names = {.arena = c->arena};
        text_add(&key, "%s%s", dims_key, x->name);
        for (int d = 0; d < x->shape.ndims; d++)
            text_add(&names, "%s%s", d ? "," : "", x->shape.dims[d].name);
        text_add(t, ",");
        json_quote(t, text_done(&key) ? key.text : "");
        text_add(t, ":");
        json_quote(t, text_done(&names) ? names.text : "");
    }
    text_add(t, "}");
}

const char *safetensors_print(contents *c, int file, int64_t *header_bytes)
{
    textbuf t = {.arena = c->arena};
    if (!byte_order_suits(c->arena->fault, c->files[file].name, HOST_IS_LITTLE_ENDIAN)) return NULL;
    text_add(&t, "%8s", ""); /* replaced by the length */
    write_metadata(c, file, &t);
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *x = c->tensors[i];
        if (x->file != file) continue;
        text_add(&t, ",");
        json_quote(&t, x->name);
        text_add(&t, ":{\"dtype\":\"%s\",\"shape\":[", words[x->type]);
        for (int d = 0; d < x->shape.ndims; d++)
            text_add(&t, "%s%lld", d ? "," : "", (long long)x->shape.dims[d].size);
        text_add(&t, "],\"data_offsets\":[%lld,%lld]}", (long long)x->at,
                 (long long)(x->at + x->bytes));
    }
    text_add(&t, "}");
    text_add(&t, "%*s", 7 - (t.used + 7) % 8, ""); /* aligns the first element */
    if (!text_done(&t)) return NULL;
    *header_bytes = t.used;
    if (t.used - SAFETENSORS_START > HEADER_MOST) {
        fail(c->arena->fault, ERR_FILE,
             "the names of %d tensors do not fit into a header of %d bytes", c->ntensors,
             HEADER_MOST);
        return NULL;
    }
    uint64_t length = (uint64_t)t.used - SAFETENSORS_START;
    for (int i = 0; i < SAFETENSORS_START; i++) t.text[i] = (char)(length >> 8 * i);
    return t.text;
}
