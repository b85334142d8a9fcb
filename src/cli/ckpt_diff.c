/* mtf ckpt diff: where two checkpoints differ. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/session.h"
#include "checkpoint/writing.h"
#include "cli/ckpt.h"
#include "cli/json_out.h"

/* What is different about one tensor; "" where nothing is. */
typedef struct difference {
    char    says[300];
    int64_t elements;
    double  most;
} difference;

static bool compare_elements(ckpt_source *a, const kept_tensor *x, ckpt_source *b,
                             const kept_tensor *y, char *room[2], difference *d)
{
    int64_t count = shape_size(&x->shape), step = reader_room(x);
    size_t  bytes = mtf_dtype_bytes(x->type);
    for (int64_t at = 0; at < count; at += step) {
        int64_t n = count - at < step ? count - at : step;
        TRY(ckpt_get(a, x, at, room[0], n) && ckpt_get(b, y, at, room[1], n));
        if (memcmp(room[0], room[1], (size_t)n * bytes) == 0) continue;
        for (int64_t i = 0; i < n; i++) {
            if (memcmp(room[0] + (size_t)i * bytes, room[1] + (size_t)i * bytes, bytes) == 0)
                continue;
            double apart = fabs(dtype_load(x->type, room[0], i) - dtype_load(x->type, room[1], i));
            d->elements++;
            if (!(apart <= d->most)) d->most = apart;
        }
    }
    if (d->elements)
        number_format(d->says, sizeof d->says, "%lld of %lld elements differ, by %.6g at most",
                      (long long)d->elements, (long long)count, d->most);
    return true;
}

static bool compare(ckpt_source *a, const kept_tensor *x, ckpt_source *b, char *room[2],
                    difference *d)
{
    const kept_tensor *y = contents_find(&b->contents, x->name);
    char               p[SHAPE_TEXT], q[SHAPE_TEXT];
    bool               same = y && x->shape.ndims == y->shape.ndims;
    *d = (difference){0};
    for (int k = 0; same && k < x->shape.ndims; k++)
        same = x->shape.dims[k].size == y->shape.dims[k].size;
    if (!y)
        snprintf(d->says, sizeof d->says, "only in %.250s", a->contents.folder);
    else if (!same || strcmp(ckpt_type(x), ckpt_type(y)) != 0)
        snprintf(d->says, sizeof d->says, "%s%.120s against %s%.120s", ckpt_type(x),
                 shape_text(&x->shape, p), ckpt_type(y), shape_text(&y->shape, q));
    else if (!x->foreign)
        return compare_elements(a, x, b, y, room, d);
    return true;
}

static void say(cJSON *list, const char *name, const difference *d)
{
    if (!list) {
        printf("%s: %s\n", name, d->says);
        return;
    }
    cJSON *item = cJSON_CreateObject();
    json_text(item, "name", name);
    json_text(item, "difference", d->says);
    json_int(item, "elements", d->elements);
    cJSON_AddNumberToObject(item, "most", d->most);
    if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
}

static bool compare_all(ckpt_source *a, ckpt_source *b, char *room[2], cJSON *list)
{
    difference d;
    int        different = 0;
    for (int i = 0; i < a->contents.ntensors; i++) {
        const char *name = a->contents.tensors[i]->name;
        TRY(compare(a, a->contents.tensors[i], b, room, &d));
        if (d.says[0]) say(list, name, &d), different++;
    }
    for (int i = 0; i < b->contents.ntensors; i++) {
        const char *name = b->contents.tensors[i]->name;
        if (contents_find(&a->contents, name)) continue;
        d = (difference){0};
        snprintf(d.says, sizeof d.says, "only in %.250s", b->contents.folder);
        say(list, name, &d), different++;
    }
    if (!list)
        printf("%d of %d tensors differ\n", different,
               a->contents.ntensors > b->contents.ntensors ? a->contents.ntensors
                                                           : b->contents.ntensors);
    return true;
}

bool ckpt_diff(mtf_session *s, const options *o)
{
    ckpt_source a = {.session = s, .reader.descriptor = -1}, b = a;
    cJSON      *root = option_given(o, "json") ? cJSON_CreateObject() : NULL;
    char       *room[2] = {block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false),
                           block_alloc(&s->allocator, &s->fault, STAGE_BYTES, false)};
    a.reader.allocator = b.reader.allocator = &s->allocator;
    bool ok = room[0] && room[1] && ckpt_open(&a, s, o->words[1]) &&
              ckpt_open(&b, s, o->words[2]) &&
              compare_all(&a, &b, room, root ? json_list(root, "tensors") : NULL);
    ckpt_close(&a);
    ckpt_close(&b);
    block_free(&s->allocator, room[0]);
    block_free(&s->allocator, room[1]);
    return root ? json_print(s, root) && ok : ok;
}
