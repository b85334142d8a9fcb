/* mtf ckpt diff: where two checkpoints differ. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/session.h"
#include "checkpoint/writing.h"
#include "cli/ckpt.h"
#include "cli/json_out.h"

/* The difference of one tensor, as text; "" where there is none. */
typedef struct difference {
    char    says[300];
    int64_t elements;
    double  most;
} difference;

/* Elements of the same type are compared bit by bit, others by value: long double holds every i64. */
static bool differ(const char *x, mtf_dtype xtype, const char *y, mtf_dtype ytype, int64_t i,
                   double *apart)
{
    size_t bytes = mtf_dtype_bytes(xtype);
    if (xtype == ytype && memcmp(x + (size_t)i * bytes, y + (size_t)i * bytes, bytes) == 0)
        return false;
    long double a =
        xtype == MTF_I64 ? ((const int64_t *)x)[i] : (long double)dtype_load(xtype, x, i);
    long double b =
        ytype == MTF_I64 ? ((const int64_t *)y)[i] : (long double)dtype_load(ytype, y, i);
    bool equal = a == b || (isnan(a) && isnan(b));
    *apart = equal ? 0 : isfinite(a) && isfinite(b) ? (double)fabsl(a - b) : INFINITY;
    return !equal || xtype == ytype;
}

static bool compare_elements(ckpt_source *a, const kept_tensor *x, ckpt_source *b,
                             const kept_tensor *y, char *room[2], difference *d)
{
    int64_t count = shape_size(&x->shape), step = reader_room(x), other = reader_room(y);
    bool    same_type = x->type == y->type;
    step = other < step ? other : step;
    for (int64_t at = 0; at < count; at += step) {
        int64_t n = count - at < step ? count - at : step;
        double  apart;
        TRY(ckpt_get(a, x, at, room[0], n) && ckpt_get(b, y, at, room[1], n));
        if (same_type && memcmp(room[0], room[1], (size_t)n * mtf_dtype_bytes(x->type)) == 0)
            continue;
        for (int64_t i = 0; i < n; i++) {
            if (!differ(room[0], x->type, room[1], y->type, i, &apart)) continue;
            d->elements++;
            d->most = fmax(d->most, apart);
        }
    }
    int used = 0;
    if (!same_type)
        used = snprintf(d->says, sizeof d->says, "%s against %s, %s", mtf_dtype_name(x->type),
                        mtf_dtype_name(y->type), d->elements ? "" : "with equal values");
    if (d->elements)
        number_format(d->says + used, sizeof d->says - (size_t)used,
                      "%lld of %lld elements differ, by %.6g at most", (long long)d->elements,
                      (long long)count, d->most);
    return true;
}

/* Elements of a type that mtf lacks are bytes. */
static bool compare_bytes(ckpt_source *a, const kept_tensor *x, ckpt_source *b,
                          const kept_tensor *y, char *room[2], difference *d)
{
    kept_tensor p = *x, q = *y;
    p.type = q.type = MTF_BOOL;
    p.shape = q.shape = mtf_shape((mtf_dim){"bytes", x->bytes});
    if (x->bytes == y->bytes) TRY(compare_elements(a, &p, b, &q, room, d));
    if (x->bytes != y->bytes || d->elements)
        snprintf(d->says, sizeof d->says, "the bytes of its %.100s elements differ", x->foreign);
    return true;
}

/* Names of dimensions are compared where both have them. */
static bool same_shape(const kept_tensor *x, const kept_tensor *y)
{
    if (x->named && y->named) return mtf_shape_equal(x->shape, y->shape);
    bool same = x->shape.ndims == y->shape.ndims;
    for (int k = 0; same && k < x->shape.ndims; k++)
        same = x->shape.dims[k].size == y->shape.dims[k].size;
    return same;
}

static bool compare(ckpt_source *a, const kept_tensor *x, ckpt_source *b, char *room[2],
                    difference *d)
{
    const kept_tensor *y = contents_find(&b->contents, x->name);
    *d = (difference){0};
    if (!y)
        snprintf(d->says, sizeof d->says, "only in %.250s", a->contents.path);
    else if (!same_shape(x, y) ||
             ((x->foreign || y->foreign) && strcmp(ckpt_type(x), ckpt_type(y)) != 0))
        snprintf(d->says, sizeof d->says, "%.20s%.120s against %.20s%.120s", ckpt_type(x),
                 contents_shape_text(&a->contents, x), ckpt_type(y),
                 contents_shape_text(&b->contents, y));
    else if (x->foreign)
        return compare_bytes(a, x, b, y, room, d);
    else
        return compare_elements(a, x, b, y, room, d);
    return true;
}

static void say(cJSON *list, const kept_tensor *t, const difference *d)
{
    if (!list) {
        printable_print(stdout, "%s: %s\n", t->shown, d->says);
        return;
    }
    cJSON *item = cJSON_CreateObject();
    json_text(item, "name", t->name);
    json_text(item, "difference", d->says);
    json_int(item, "elements", d->elements);
    cJSON_AddNumberToObject(item, "most", d->most);
    if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
}

static bool compare_all(ckpt_source *a, ckpt_source *b, char *room[2], cJSON *list, int *different)
{
    difference d;
    int        all = a->contents.ntensors;
    for (int i = 0; i < a->contents.ntensors; i++) {
        TRY(compare(a, a->contents.tensors[i], b, room, &d));
        if (d.says[0]) say(list, a->contents.tensors[i], &d), ++*different;
    }
    for (int i = 0; i < b->contents.ntensors; i++) {
        const kept_tensor *t = b->contents.tensors[i];
        if (contents_find(&a->contents, t->name)) continue;
        d = (difference){0};
        snprintf(d.says, sizeof d.says, "only in %.250s", b->contents.path);
        say(list, t, &d), ++*different, all++;
    }
    if (!list) printable_print(stdout, "%d of %d tensors differ\n", *different, all);
    return true;
}

bool ckpt_diff(mtf_session *s, const options *o)
{
    ckpt_source a = {.session = s, .reader.descriptor = -1}, b = a;
    cJSON      *root = option_given(o, "json") ? cJSON_CreateObject() : NULL;
    char       *room[2] = {block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false),
                           block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false)};
    int         different = 0;
    a.reader.allocator = b.reader.allocator = &s->allocator;
    bool ok = room[0] && room[1] && ckpt_open(&a, s, o->words[1]) &&
              ckpt_open(&b, s, o->words[2]) &&
              compare_all(&a, &b, room, root ? json_list(root, "tensors") : NULL, &different);
    ckpt_close(&a);
    ckpt_close(&b);
    block_free(&s->allocator, room[0]);
    block_free(&s->allocator, room[1]);
    ok = ok && different == 0;
    return root ? json_print(s, root) && ok : ok;
}
