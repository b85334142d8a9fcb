/* manifest.json: what a checkpoint must contain, with checksums. */
#include "checkpoint/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/textbuf.h"
#include "checkpoint/checksum.h"
#include "checkpoint/json_in.h"

const char manifest_name[] = "manifest.json";

/* A later version must end in its sum as well, so that it can be told from damage. */
static const char format[] = "mtf checkpoint ";
enum { VERSION = 1 };
static const char last_key[] = "\"sum\": \"", ending[] = "\"\n}\n";
enum { DIGITS = CHECKSUM_TEXT - 1, ENDING = sizeof ending - 1, LAST_KEY = sizeof last_key - 1 };

/* ---- writing ---- */

static void write_tensor(const kept_tensor *x, textbuf *t)
{
    char sum[CHECKSUM_TEXT];
    text_add(t, "    {\"name\": ");
    json_quote(t, x->name);
    text_add(t, ", \"type\": \"%s\", \"dims\": [", mtf_dtype_name(x->type));
    for (int d = 0; d < x->shape.ndims; d++) {
        text_add(t, d ? ", " : "");
        if (x->named)
            json_quote(t, x->shape.dims[d].name);
        else
            text_add(t, "null");
    }
    text_add(t, "], \"sizes\": [");
    for (int d = 0; d < x->shape.ndims; d++)
        text_add(t, "%s%lld", d ? ", " : "", (long long)x->shape.dims[d].size);
    text_add(t, "], \"file\": %d, \"sum\": \"%s\"}", x->file, checksum_text(x->sum, sum));
}

const char *manifest_print(const contents *c)
{
    textbuf t = {.arena = c->arena};
    char    sum[CHECKSUM_TEXT];
    text_add(&t, "{\n  \"format\": \"%s%d\",\n  \"step\": %lld,\n  \"position\": %lld,\n", format,
             VERSION, (long long)c->step, (long long)c->position);
    text_add(&t, "  \"seed\": \"%llu\",\n  \"config\": ", (unsigned long long)c->seed);
    if (c->config)
        json_quote(&t, c->config);
    else
        text_add(&t, "null");
    text_add(&t, ",\n  \"facts\": {");
    for (int i = 0; c->facts && c->facts[i]; i += 2) {
        text_add(&t, i ? ", " : "");
        json_quote(&t, c->facts[i]);
        text_add(&t, ": ");
        json_quote(&t, c->facts[i + 1]);
    }
    text_add(&t, "},\n  \"files\": [");
    for (int i = 0; i < c->nfiles; i++)
        text_add(&t, "%s\n    {\"name\": \"%s\", \"bytes\": %lld, \"header_sum\": \"%s\"}",
                 i ? "," : "", c->files[i].name, (long long)c->files[i].bytes,
                 checksum_text(c->files[i].header_sum, sum));
    text_add(&t, "\n  ],\n  \"tensors\": [");
    for (int i = 0; i < c->ntensors; i++) {
        text_add(&t, i ? ",\n" : "\n");
        write_tensor(c->tensors[i], &t);
    }
    text_add(&t, "\n  ],\n  %s", last_key);
    if (!text_done(&t)) return NULL;
    text_add(&t, "%s%s", checksum_text(checksum_bytes(t.text, (size_t)t.used), sum), ending);
    return text_done(&t);
}

/* ---- reading ---- */

typedef struct parsing {
    contents   *contents;
    const char *path;
    fault      *fault;
} parsing;

static bool wrong(const parsing *p, const char *what)
{
    return fail(p->fault, ERR_DAMAGED, "\"%s\": its %s is missing or is not what mtf writes",
                p->path, what);
}

static bool read_sum(const cJSON *object, const char *key, uint64_t *sum)
{
    const cJSON *item = json_member(object, key);
    char        *end;
    if (!cJSON_IsString(item) || strlen(item->valuestring) != DIGITS) return false;
    *sum = strtoull(item->valuestring, &end, 16);
    return !*end;
}

/* The text of a member; NULL: it has none, or the item is no object. */
static const char *word_of(const cJSON *item, const char *key)
{
    return cJSON_IsObject(item) ? cJSON_GetStringValue(json_member(item, key)) : NULL;
}

static bool read_file(const parsing *p, const cJSON *item)
{
    contents   *c = p->contents;
    kept_file   f = {0};
    const char *name = word_of(item, "name");
    if (!name || !json_whole(json_member(item, "bytes"), &f.bytes) ||
        !read_sum(item, "header_sum", &f.header_sum) || strchr(name, '/'))
        return wrong(p, "list of files");
    f.name = arena_text(c->arena, name);
    if (f.name && text_printable(c->arena, f.name) != f.name) return wrong(p, "list of files");
    TRY(f.name && arena_push(c->arena, c->files, c->nfiles, c->files_room));
    c->files[c->nfiles++] = f;
    return true;
}

/* Names of dimensions and sizes, in two lists of the same length. */
static bool read_dims(const cJSON *names, const cJSON *sizes, mtf_shape *shape)
{
    if (!cJSON_IsArray(names) || !cJSON_IsArray(sizes)) return false;
    const cJSON *name = names->child, *size = sizes->child;
    int64_t      count = 1;
    for (; name && size; name = name->next, size = size->next) {
        mtf_dim *d = &shape->dims[shape->ndims];
        if (shape->ndims == MTF_MAX_DIMS || !json_whole(size, &d->size)) return false;
        if (__builtin_mul_overflow(count, d->size, &count) || count > INT64_MAX / 16) return false;
        if (cJSON_IsString(name))
            d->name = name->valuestring;
        else if (!cJSON_IsNull(name))
            return false;
        shape->ndims++;
    }
    return !name && !size;
}

static bool read_tensor(const parsing *p, const cJSON *item)
{
    mtf_dtype   type;
    mtf_shape   shape = {0};
    int64_t     file;
    const char *name = word_of(item, "name"), *word = word_of(item, "type");
    if (!name || !word || !dtype_parse(word, &type) ||
        !json_whole(json_member(item, "file"), &file) || file >= p->contents->nfiles ||
        !read_dims(json_member(item, "dims"), json_member(item, "sizes"), &shape))
        return wrong(p, "list of tensors");
    kept_tensor *t = contents_add(p->contents, name);
    TRY(t && contents_shape(p->contents, t, type, &shape));
    t->file = (int)file;
    t->at = -1; /* not known yet */
    t->summed = read_sum(item, "sum", &t->sum);
    return t->summed || wrong(p, "list of tensors");
}

/* Older checkpoints have no facts. */
static bool read_facts(const parsing *p, const cJSON *facts)
{
    contents *c = p->contents;
    int       n = 0;
    if (!cJSON_IsObject(facts)) return true;
    c->facts = arena_array(c->arena, const char *, 2 * cJSON_GetArraySize(facts) + 1);
    TRY(c->facts != NULL);
    for (const cJSON *i = facts->child; i; i = i->next) {
        if (!cJSON_IsString(i)) return wrong(p, "list of facts");
        c->facts[n++] = arena_text(c->arena, i->string);
        c->facts[n++] = arena_text(c->arena, i->valuestring);
        TRY(c->facts[n - 2] && c->facts[n - 1]);
    }
    return true;
}

static bool read_all(const parsing *p, const cJSON *root)
{
    contents    *c = p->contents;
    const cJSON *seed = json_member(root, "seed"), *config = json_member(root, "config");
    const cJSON *files = json_member(root, "files"), *tensors = json_member(root, "tensors");
    char        *end;
    if (!json_whole(json_member(root, "step"), &c->step)) return wrong(p, "step");
    if (!json_whole(json_member(root, "position"), &c->position)) return wrong(p, "position");
    if (!cJSON_IsString(seed)) return wrong(p, "seed");
    c->seed = strtoull(seed->valuestring, &end, 10);
    if (*end) return wrong(p, "seed");
    if (cJSON_IsString(config)) {
        c->config = arena_text(c->arena, config->valuestring);
        TRY(c->config != NULL);
    }
    TRY(read_facts(p, json_member(root, "facts")));
    if (!cJSON_IsArray(files)) return wrong(p, "list of files");
    if (!cJSON_IsArray(tensors)) return wrong(p, "list of tensors");
    for (const cJSON *i = files->child; i; i = i->next) TRY(read_file(p, i));
    for (const cJSON *i = tensors->child; i; i = i->next) TRY(read_tensor(p, i));
    c->manifest = true;
    return true;
}

/* The sum over all bytes except its own digits is checked first. */
static bool is_sound(const parsing *p, const char *text, size_t bytes)
{
    const size_t least = DIGITS + ENDING + LAST_KEY;
    char         sum[CHECKSUM_TEXT];
    if (bytes < least || memcmp(text + bytes - ENDING, ending, ENDING) != 0 ||
        memcmp(text + bytes - least, last_key, LAST_KEY) != 0)
        return fail(p->fault, ERR_DAMAGED,
                    "\"%s\" is cut short or damaged: it should end in its sum", p->path);
    size_t digits = bytes - ENDING - DIGITS;
    checksum_text(checksum_bytes(text, digits), sum);
    if (memcmp(text + digits, sum, DIGITS) == 0) return true;
    return fail(p->fault, ERR_DAMAGED,
                "\"%s\" is damaged: the sum over its bytes is %s, and should be %.*s", p->path, sum,
                DIGITS, text + digits);
}

static bool is_readable(const parsing *p, const char *word)
{
    const size_t prefix = sizeof format - 1;
    char        *end;
    long         version = strncmp(word, format, prefix) == 0 ? strtol(word + prefix, &end, 10) : 0;
    if (version < 1 || *end)
        return fail(p->fault, ERR_DAMAGED, "\"%s\" is not a manifest: its format is not \"%s%d\"",
                    p->path, format, VERSION);
    if (version <= VERSION) return true;
    return fail(p->fault, ERR_FILE,
                "\"%s\" was made by a newer mtf: its version is %ld, and this mtf reads up to %d",
                p->path, version, VERSION);
}

bool manifest_parse(contents *c, const char *path, const char *text, size_t bytes)
{
    parsing p = {.contents = c, .path = path, .fault = c->arena->fault};
    TRY(is_sound(&p, text, bytes));
    cJSON      *root = json_read(text, bytes);
    const char *word = word_of(root, "format");
    bool        ok = is_readable(&p, word ? word : "") && read_all(&p, root);
    cJSON_Delete(root);
    return ok;
}
