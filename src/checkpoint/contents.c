/* A checkpoint's contents: tensors and their places in files. */
#include "checkpoint/contents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "checkpoint/checksum.h"

contents contents_make(arena *a)
{
    return (contents){.arena = a, .by_name = {.arena = a}, .path = "", .folder = ""};
}

kept_tensor *contents_find(const contents *c, const char *name)
{
    return names_get(&c->by_name, name);
}

kept_tensor *contents_add(contents *c, const char *name)
{
    if (contents_find(c, name)) {
        fail(c->arena->fault, ERR_DAMAGED, "\"%s\" has tensor \"%s\" twice", c->path,
             contents_find(c, name)->shown);
        return NULL;
    }
    kept_tensor *t = arena_new(c->arena, kept_tensor);
    if (!t || !arena_push(c->arena, c->tensors, c->ntensors, c->tensors_room)) return NULL;
    t->name = arena_text(c->arena, name);
    t->shown = t->name ? text_printable(c->arena, t->name) : NULL;
    if (!t->shown || !names_put(&c->by_name, t->name, t)) return NULL;
    c->tensors[c->ntensors++] = t;
    return t;
}

bool contents_shape(contents *c, kept_tensor *t, mtf_dtype type, const mtf_shape *shape)
{
    static const char *const places[MTF_MAX_DIMS] = {"d0",  "d1",  "d2",  "d3", "d4",  "d5",
                                                     "d6",  "d7",  "d8",  "d9", "d10", "d11",
                                                     "d12", "d13", "d14", "d15"};
    t->type = type;
    t->shape = *shape;
    t->named = true;
    for (int d = 0; d < shape->ndims; d++) {
        const char *name = shape->dims[d].name;
        t->named = t->named && name;
        t->shape.dims[d].name = name ? arena_text(c->arena, name) : places[d];
        TRY(t->shape.dims[d].name != NULL);
    }
    t->bytes = shape_size(&t->shape) * (int64_t)mtf_dtype_bytes(type);
    return true;
}

const char *contents_file(const contents *c, int file)
{
    char path[PATH_MAX];
    if (!contents_path(c, file, path)) return c->path;
    const char *copy = arena_text(c->arena, path);
    return copy ? copy : c->path;
}

const char *contents_shape_text(const contents *c, const kept_tensor *t)
{
    char        text[SHAPE_TEXT];
    const char *copy = arena_text(c->arena, shape_text(&t->shape, text));
    if (copy) copy = text_printable(c->arena, copy);
    return copy ? copy : "";
}

uint64_t contents_sum(const contents *c, const kept_tensor *t, uint64_t sum, const void *elements,
                      int64_t count, int64_t place)
{
    size_t bytes = mtf_dtype_bytes(t->type);
    if (t->crc) return crc32c_more(c->crc, (uint32_t)sum, elements, (size_t)count * bytes);
    return sum + checksum_elements(bytes, elements, count, place);
}

bool contents_agrees(const contents *c, const kept_tensor *t, uint64_t sum, fault *f)
{
    char is[CHECKSUM_TEXT], should_be[CHECKSUM_TEXT];
    if (!t->summed || t->sum == sum) return true;
    return fail(f, ERR_DAMAGED,
                "\"%s\": tensor \"%s\" is damaged: the sum over its elements is %s, and should "
                "be %s",
                contents_file(c, t->file), t->shown, checksum_text(sum, is),
                checksum_text(t->sum, should_be));
}

bool contents_path(const contents *c, int file, char path[PATH_MAX])
{
    bool here = strcmp(c->folder, ".") == 0; /* print x.safetensors, not ./x.safetensors */
    if (snprintf(path, PATH_MAX, "%s%s%s", here ? "" : c->folder, here ? "" : "/",
                 c->files[file].name) < PATH_MAX)
        return true;
    return fail(c->arena->fault, ERR_FILE, "the path of \"%s\" is too long", c->files[file].name);
}
