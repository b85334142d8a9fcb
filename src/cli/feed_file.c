/* Values of inputs from files, for mtf run. */
#include "cli/feed_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "run/npy.h"

/* ---- arrays of NumPy ---- */

static bool has_words(const mtf_field *f)
{
    return f->format || f->part || f->scale != 0 || f->length || f->header || f->shift ||
           f->least != 0 || f->most != 0;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && strcmp(path + n - m, ending) == 0;
}

/* By its name or its first bytes. */
static bool is_npy(const char *path)
{
    char begins[6] = "";
    if (ends_in(path, ".npy")) return true;
    int  file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not block */
    bool is = file >= 0 && read(file, begins, sizeof begins) == (ssize_t)sizeof begins &&
              memcmp(begins, "\x93NUMPY", sizeof begins) == 0;
    if (file >= 0) close(file);
    return is;
}

static bool check_array(mtf_session *s, const feed_file *f, const npy_array *a)
{
    const mtf_tensor *x = f->tensor;
    bool              same = a->ndims == x->shape.ndims;
    for (int i = 0; same && i < a->ndims; i++) same = a->size[i] == x->shape.dims[i].size;
    if (same && a->type == x->type) return true;
    char is[SHAPE_TEXT], has[NPY_TEXT];
    return fail(&s->fault, same ? ERR_TYPE : ERR_SHAPE, "input \"%s\" is %s%s, but \"%s\" has %s",
                tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, is), f->from.files,
                npy_text(a->type, a->ndims, a->size, has));
}

static void *read_array(mtf_session *s, const feed_file *f)
{
    npy_array a;
    if (!npy_read(s, f->from.files, &a)) return NULL;
    if (check_array(s, f, &a)) return a.data;
    npy_release(s, &a);
    return NULL;
}

/* ---- rows ---- */

/* All feeds of the same files: a column's name in one of them means that the files name their columns. */
static mtf_dataset *open_rows(mtf_session *s, const feed_file *feeds, int n, const char *files)
{
    mtf_field *fields = arena_array(&s->arena, mtf_field, n + 1);
    int        count = 0;
    if (!fields) return NULL;
    for (int i = 0; i < n; i++)
        if (strcmp(feeds[i].from.files, files) == 0) fields[count++] = feeds[i].from;
    return mtf_dataset_open(s, fields);
}

static bool fill(mtf_dataset *d, const feed_file *f, mtf_session *s, int64_t rows, char *to)
{
    const mtf_tensor *x = f->tensor;
    int64_t           count = mtf_shape_size(x->shape) / rows, has = mtf_dataset_size(d);
    size_t            bytes = (size_t)count * mtf_dtype_bytes(x->type);
    char              is[SHAPE_TEXT];
    if (has != rows)
        return mtf_ok(s) &&
               fail(&s->fault, ERR_SHAPE,
                    "input \"%s\" is %s%s, which takes %lld row%s, but \"%s\" has %lld",
                    tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, is),
                    (long long)rows, rows == 1 ? "" : "s", f->from.files, (long long)has);
    for (int64_t k = 0; k < rows; k++)
        TRY(mtf_dataset_read(d, f->from.name, k, x->type, count, to + (size_t)k * bytes));
    return true;
}

void *feed_file_read(mtf_session *s, const feed_file *feeds, int n, int k)
{
    const feed_file  *f = &feeds[k];
    const mtf_tensor *x = f->tensor;
    if (!has_words(&f->from) && is_npy(f->from.files)) return read_array(s, f);
    mtf_dataset *d = open_rows(s, feeds, n, f->from.files);
    size_t       bytes = (size_t)mtf_shape_size(x->shape) * mtf_dtype_bytes(x->type);
    char        *data = d ? block_alloc(&s->allocator, &s->fault, bytes, false) : NULL;
    if (!data) return NULL;
    if (fill(d, f, s, x->shape.ndims ? x->shape.dims[0].size : 1, data)) return data;
    block_free(&s->allocator, data);
    return NULL;
}
