/* Shapes: ordered sets of named dimensions. */
#include "space/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/saturate.h"

static mtf_shape broken(int why)
{
    return (mtf_shape){.ndims = why};
}

static mtf_shape broken_by(int why, mtf_dim culprit)
{
    return (mtf_shape){.ndims = why, .dims = {culprit}};
}

bool name_is_legal(const char *name)
{
    static const bool barred[256] = {
        [' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true, [','] = true,
        ['.'] = true, [';'] = true,  [':'] = true,  ['+'] = true,  ['?'] = true,
        ['='] = true, ['('] = true,  [')'] = true,  ['['] = true,  [']'] = true,
        ['{'] = true, ['}'] = true,  ['"'] = true,  ['#'] = true,  ['|'] = true};
    if (!name || !*name) return false;
    while (*name && !barred[(unsigned char)*name]) name++;
    return !*name;
}

bool name_is_internal(const char *name)
{
    return name && (name[0] == '.' || name[0] == '|');
}

/* Internal dimensions do not count. */
static bool too_many(int ndims, const mtf_dim *dims)
{
    int counted = 0;
    if (ndims <= MTF_MAX_DIMS) return false;
    if (ndims > MTF_SHAPE_ROOM) return true;
    for (int i = 0; i < ndims; i++) counted += !name_is_internal(dims[i].name);
    return counted > MTF_MAX_DIMS;
}

mtf_shape mtf_shape_of(int ndims, const mtf_dim *dims)
{
    for (int i = 0; i < ndims; i++)
        if (name_is_internal(dims[i].name)) return broken(SHAPE_BAD_NAME);
    return shape_of(ndims, dims);
}

mtf_shape shape_of(int ndims, const mtf_dim *dims)
{
    if (ndims < 0) return broken(ndims);
    if (too_many(ndims, dims)) return broken(SHAPE_TOO_MANY);
    mtf_shape s = {.ndims = ndims};
    int64_t   product = 1;
    for (int i = 0; i < ndims; i++) {
        const char *name = dims[i].name;
        if (!name || !name_is_legal(name[0] == '.' ? name + 1 : name))
            return broken(SHAPE_BAD_NAME);
        if (dims[i].size < 1) return broken_by(SHAPE_BAD_SIZE, dims[i]);
        for (int j = 0; j < i; j++)
            if (strcmp(dims[i].name, dims[j].name) == 0) return broken_by(SHAPE_DUPLICATE, dims[i]);
        if (__builtin_mul_overflow(product, dims[i].size, &product) || product > INT64_MAX / 16)
            return broken_by(SHAPE_TOO_LARGE, dims[i]);
        s.dims[i] = dims[i];
    }
    return s;
}

bool shape_check(const mtf_shape *s, const char *what, fault *f)
{
    mtf_dim     culprit = s->ndims < 0 ? s->dims[0] : (mtf_dim){0};
    const char *name = culprit.name ? culprit.name : "?";
    switch (s->ndims) {
    case SHAPE_TOO_MANY:
        return fail(f, ERR_SHAPE, "%s: a shape has at most %d dimensions", what, MTF_MAX_DIMS);
    case SHAPE_DUPLICATE:
        return fail(f, ERR_SHAPE,
                    "%s: dimension \"%s\" occurs twice in one shape; names must differ", what,
                    name);
    case SHAPE_BAD_SIZE:
        return fail(f, ERR_SHAPE, "%s: dimension \"%s\" has size %lld; sizes are 1 or more", what,
                    name, (long long)culprit.size);
    case SHAPE_BAD_NAME:
        return fail(f, ERR_SHAPE,
                    "%s: a dimension's name must be a word without spaces or any of "
                    ", . ; : + ? = # | and brackets",
                    what);
    case SHAPE_SYNTAX:
        return fail(f, ERR_SHAPE, "%s: a shape is written name:size,name:size", what);
    case SHAPE_MISSING: return fail(f, ERR_SHAPE, "%s: the shape lacks the dimension named", what);
    case SHAPE_TOO_LARGE:
        return fail(f, ERR_SHAPE,
                    "%s: with dimension \"%s\" of size %lld the shape has 2^59 elements or more, "
                    "which is too many",
                    what, name, (long long)culprit.size);
    default: return s->ndims >= 0 && !too_many(s->ndims, s->dims);
    }
}

/* A union of shapes may have more elements than an int64_t can count: the result saturates. */
int64_t shape_size(const mtf_shape *s)
{
    int64_t product = 1;
    for (int i = 0; i < s->ndims; i++) product = saturate_times(product, s->dims[i].size);
    return product;
}

int64_t mtf_shape_size(mtf_shape s)
{
    return shape_size(&s);
}

bool mtf_shape_equal(mtf_shape a, mtf_shape b)
{
    if (a.ndims != b.ndims) return false;
    for (int i = 0; i < a.ndims; i++)
        if (a.dims[i].size != b.dims[i].size || strcmp(a.dims[i].name, b.dims[i].name) != 0)
            return false;
    return true;
}

/* A graph interns its names, so pointers are compared first, and first letters next. */
int shape_find(const mtf_shape *s, const char *name)
{
    for (int i = 0; i < s->ndims; i++)
        if (s->dims[i].name == name) return i;
    for (int i = 0; i < s->ndims; i++)
        if (s->dims[i].name[0] == name[0] && strcmp(s->dims[i].name, name) == 0) return i;
    return -1;
}

int mtf_shape_find(mtf_shape s, const char *name)
{
    return shape_find(&s, name);
}

mtf_dim mtf_shape_dim(mtf_shape s, const char *name)
{
    int i = shape_find(&s, name);
    return i < 0 ? (mtf_dim){0} : s.dims[i];
}

void shape_join(mtf_shape *all, const mtf_shape *more)
{
    if (all->ndims < 0) return;
    if (more->ndims < 0) *all = *more;
    for (int i = 0; i < more->ndims; i++) {
        if (shape_find(all, more->dims[i].name) >= 0) continue;
        if (all->ndims == MTF_SHAPE_ROOM) {
            *all = broken(SHAPE_TOO_MANY);
            return;
        }
        all->dims[all->ndims++] = more->dims[i];
    }
    if (too_many(all->ndims, all->dims)) *all = broken(SHAPE_TOO_MANY);
}

mtf_shape mtf_shape_plus(mtf_shape a, mtf_shape b)
{
    shape_join(&a, &b);
    return a;
}

mtf_shape mtf_shape_minus(mtf_shape a, mtf_shape b)
{
    if (a.ndims < 0) return a;
    if (b.ndims < 0) return b;
    mtf_shape rest = {0};
    for (int i = 0; i < a.ndims; i++)
        if (shape_find(&b, a.dims[i].name) < 0) rest.dims[rest.ndims++] = a.dims[i];
    return rest;
}

mtf_shape mtf_shape_rename(mtf_shape s, const char *from, const char *to)
{
    if (s.ndims < 0) return s;
    int i = shape_find(&s, from);
    if (i < 0) return broken(SHAPE_MISSING);
    if (name_is_internal(to)) return broken(SHAPE_BAD_NAME);
    s.dims[i].name = to;
    return shape_of(s.ndims, s.dims);
}

mtf_shape mtf_shape_resize(mtf_shape s, const char *name, int64_t size)
{
    if (s.ndims < 0) return s;
    int i = shape_find(&s, name);
    if (i < 0) return broken(SHAPE_MISSING);
    s.dims[i].size = size;
    return shape_of(s.ndims, s.dims);
}

/* The old dimensions must be adjacent and in this order. */
mtf_shape mtf_shape_replace(mtf_shape s, mtf_shape old_dims, mtf_shape new_dims)
{
    if (s.ndims < 0) return s;
    if (old_dims.ndims < 0) return old_dims;
    if (new_dims.ndims < 0) return new_dims;
    if (old_dims.ndims == 0) return broken(SHAPE_MISSING);
    int at = shape_find(&s, old_dims.dims[0].name);
    if (at < 0 || at + old_dims.ndims > s.ndims) return broken(SHAPE_MISSING);
    for (int i = 0; i < old_dims.ndims; i++)
        if (strcmp(s.dims[at + i].name, old_dims.dims[i].name) != 0) return broken(SHAPE_MISSING);
    mtf_dim all[3 * MTF_SHAPE_ROOM];
    int     n = 0;
    for (int i = 0; i < at; i++) all[n++] = s.dims[i];
    for (int i = 0; i < new_dims.ndims; i++) all[n++] = new_dims.dims[i];
    for (int i = at + old_dims.ndims; i < s.ndims; i++) all[n++] = s.dims[i];
    return shape_of(n, all);
}

void mtf_shape_cumprod(mtf_shape s, int64_t *products)
{
    int64_t product = 1;
    for (int i = 0; i < s.ndims; i++) {
        products[i] = product;
        product = saturate_times(product, s.dims[i].size);
    }
}

int mtf_shape_cumprod_axis(mtf_shape s, int64_t product)
{
    int64_t products[MTF_SHAPE_ROOM] = {0};
    mtf_shape_cumprod(s, products);
    for (int i = s.ndims - 1; i >= 0; i--)
        if (products[i] == product) return i;
    return -1;
}

mtf_dim mtf_combined_dimension(mtf_shape dims, const char *name)
{
    if (dims.ndims < 1) return (mtf_dim){0};
    return (mtf_dim){name ? name : dims.dims[0].name, shape_size(&dims)};
}

bool shape_within(const mtf_shape *part, const mtf_shape *whole)
{
    for (int i = 0; i < part->ndims; i++)
        if (shape_find(whole, part->dims[i].name) < 0) return false;
    return true;
}

bool shape_same_set(const mtf_shape *a, const mtf_shape *b)
{
    return a->ndims == b->ndims && shape_within(a, b);
}

bool shape_is_subsequence(const mtf_shape *part, const mtf_shape *whole)
{
    int at = 0;
    for (int i = 0; i < whole->ndims && at < part->ndims; i++)
        if (strcmp(part->dims[at].name, whole->dims[i].name) == 0) at++;
    return at == part->ndims;
}

void shape_write(const mtf_shape *s, textbuf *t)
{
    text_add(t, "[");
    for (int i = 0; i < s->ndims; i++)
        text_add(t, "%s%s=%lld", i ? ", " : "", s->dims[i].name, (long long)s->dims[i].size);
    text_add(t, "]");
}

const char *shape_text(const mtf_shape *s, char text[SHAPE_TEXT])
{
    int used = snprintf(text, SHAPE_TEXT, "[");
    for (int i = 0; i < s->ndims && used < SHAPE_TEXT; i++)
        used += snprintf(text + used, (size_t)(SHAPE_TEXT - used), "%s%s=%lld", i ? ", " : "",
                         s->dims[i].name, (long long)s->dims[i].size);
    if (used < SHAPE_TEXT) snprintf(text + used, (size_t)(SHAPE_TEXT - used), "]");
    return text;
}

int mtf_shape_print(mtf_shape s, char *text, size_t room)
{
    int used = snprintf(text, room, "Shape[");
    for (int i = 0; i < s.ndims; i++) {
        size_t at = (size_t)used < room ? (size_t)used : room;
        used += snprintf(text + at, room - at, "%s%s=%lld", i ? ", " : "", s.dims[i].name,
                         (long long)s.dims[i].size);
    }
    size_t at = (size_t)used < room ? (size_t)used : room;
    return used + snprintf(text + at, room - at, "]");
}
