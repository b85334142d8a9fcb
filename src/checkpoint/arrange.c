/* Distributes a checkpoint's tensors over files. */
#include "checkpoint/arrange.h"

#include <stdlib.h>
#include <string.h>

#include "base/textbuf.h"
#include "checkpoint/checksum.h"
#include "checkpoint/safetensors.h"

/* Larger elements first, so that all are aligned; then by name. */
static int compare(const void *a, const void *b)
{
    const kept_tensor *x = *(kept_tensor *const *)a, *y = *(kept_tensor *const *)b;
    size_t             bx = mtf_dtype_bytes(x->type), by = mtf_dtype_bytes(y->type);
    if (bx != by) return bx < by ? 1 : -1;
    return strcmp(x->name, y->name);
}

static bool name_files(contents *c)
{
    for (int i = 0; i < c->nfiles; i++) {
        textbuf t = {.arena = c->arena};
        text_add(&t, "weights-%05d-of-%05d.safetensors", i + 1, c->nfiles);
        c->files[i].name = text_done(&t);
        TRY(c->files[i].name != NULL);
    }
    return true;
}

/* Assigns each tensor a file and its place in the file's data. */
static bool fill_files(contents *c, const char *one_file)
{
    const int64_t most = one_file ? INT64_MAX / 2 : (int64_t)FILE_GIB << 30;
    int64_t       used = 0;
    for (int i = 0; i < c->ntensors || c->nfiles == 0; i++) {
        kept_tensor *t = i < c->ntensors ? c->tensors[i] : NULL;
        if (c->nfiles == 0 || (used > 0 && used + t->bytes > most)) {
            TRY(arena_push(c->arena, c->files, c->nfiles, c->files_room));
            c->files[c->nfiles++] = (kept_file){0};
            used = 0;
        }
        if (!t) break;
        t->file = c->nfiles - 1;
        t->at = used;
        used += t->bytes;
        c->files[t->file].bytes = used;
    }
    c->files[0].name = one_file;
    return one_file || name_files(c);
}

const char **contents_arrange(contents *c, const char *one_file)
{
    if (c->ntensors) qsort(c->tensors, (size_t)c->ntensors, sizeof *c->tensors, compare);
    if (!fill_files(c, one_file)) return NULL;
    const char **headers = arena_array(c->arena, const char *, c->nfiles);
    if (!headers) return NULL;
    for (int i = 0; i < c->nfiles; i++) {
        kept_file *f = &c->files[i];
        headers[i] = safetensors_print(c, i, &f->header_bytes);
        if (!headers[i]) return NULL;
        f->header_sum = checksum_bytes(headers[i], (size_t)f->header_bytes);
        f->bytes += f->header_bytes;
    }
    for (int i = 0; i < c->ntensors; i++)
        c->tensors[i]->at += c->files[c->tensors[i]->file].header_bytes;
    return headers;
}
