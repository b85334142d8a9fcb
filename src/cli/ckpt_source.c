/* A checkpoint, a safetensors file or a .npy file, open for reading. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/session.h"
#include "checkpoint/opening.h"
#include "cli/ckpt.h"
#include "cli/graph_file.h"
#include "model/config/kept.h"
#include "run/npy.h"

static bool ends_in(const char *text, const char *suffix)
{
    size_t n = strlen(text), s = strlen(suffix);
    return n > s && strcmp(text + n - s, suffix) == 0;
}

/* One tensor, named like the file without its extension. */
static bool open_npy(ckpt_source *c, const char *path)
{
    npy_array   a;
    const char *slash = strrchr(path, '/');
    char       *name = arena_text(&c->session->arena, slash ? slash + 1 : path);
    TRY(name && npy_read(c->session, path, &a));
    c->is_npy = true;
    c->elements = a.data;
    c->contents.path = c->contents.folder = path;
    name[strlen(name) - strlen(".npy")] = 0;
    mtf_shape shape = {.ndims = a.ndims};
    for (int d = 0; d < a.ndims; d++) shape.dims[d].size = a.size[d];
    kept_tensor *t = contents_add(&c->contents, name);
    return t && contents_shape(&c->contents, t, a.type, &shape);
}

bool ckpt_open(ckpt_source *c, mtf_session *s, const char *path)
{
    *c = (ckpt_source){.session = s, .contents = contents_make(&s->arena), .reader.descriptor = -1};
    c->reader.allocator = &s->allocator;
    c->reader.contents = &c->contents;
    if (ends_in(path, ".npy")) return open_npy(c, path);
    return checkpoint_open(&c->contents, path, NEWEST) &&
           reader_open(&c->reader, &c->contents, &s->allocator, (part_copier){0}, 1, &s->fault);
}

void ckpt_close(ckpt_source *c)
{
    reader_close(&c->reader);
    block_free(&c->session->allocator, c->elements);
    c->elements = NULL;
}

const char *ckpt_type(const kept_tensor *t)
{
    return t->foreign ? t->foreign : mtf_dtype_name(t->type);
}

const kept_tensor *ckpt_find(const ckpt_source *c, const char *name)
{
    const kept_tensor *t = contents_find(&c->contents, name);
    if (t && !t->foreign) return t;
    nearest near = {.wanted = name};
    char    hint[200];
    for (int i = 0; i < c->contents.ntensors; i++)
        nearest_offer(&near, c->contents.tensors[i]->shown);
    if (t)
        fail(&c->session->fault, ERR_TYPE,
             "\"%s\": tensor \"%s\" has elements of type %s, which mtf lacks", c->contents.path,
             t->shown, t->foreign);
    else
        fail(&c->session->fault, ERR_NAME, "\"%s\" has no tensor \"%s\"%s", c->contents.path, name,
             nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

bool ckpt_get(ckpt_source *c, const kept_tensor *t, int64_t place, void *to, int64_t count)
{
    size_t bytes = mtf_dtype_bytes(t->type);
    if (!c->is_npy) return reader_get(&c->reader, t, place, to, count);
    memcpy(to, (char *)c->elements + (size_t)place * bytes, (size_t)count * bytes);
    return true;
}

const char *ckpt_config(mtf_session *s, const contents *c)
{
    static const char *const places[] = {"", "../"};
    int                      n = c->manifest ? 2 : c->crc ? 1 : 0;
    char                     path[PATH_MAX];
    for (int k = 0; k < n; k++) {
        int used = snprintf(path, sizeof path, "%s/%s" CONFIG_KEPT, c->folder, places[k]);
        if (used < (int)sizeof path && access(path, R_OK) == 0) return file_text(s, path);
    }
    return NULL;
}
