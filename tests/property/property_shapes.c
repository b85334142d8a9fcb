/* Shapes for the annotations of random lines. */
#include <stdio.h>
#include <string.h>

#include "property_maker.h"

/* A shape being written. */
typedef struct shape_text {
    char   *text;
    size_t  room, used;
    int     ndims;
    int64_t elements;
    char    names[MTF_SHAPE_ROOM][NAME_ROOM];
} shape_text;

static bool has_name(const shape_text *s, const char *name)
{
    for (int i = 0; i < s->ndims; i++)
        if (!strcmp(s->names[i], name)) return true;
    return false;
}

static void add_dim(shape_text *s, const char *name, int64_t size)
{
    if (has_name(s, name) || s->ndims == MTF_MAX_DIMS || s->used + NAME_ROOM + 8 > s->room) return;
    snprintf(s->names[s->ndims], NAME_ROOM, "%s", name);
    s->used += (size_t)snprintf(s->text + s->used, s->room - s->used, "%s%s=%d",
                                s->ndims ? ", " : "", name, (int)size);
    s->ndims++;
    s->elements *= size;
}

static void shuffle(dice *d, int n, int *order)
{
    for (int i = 0; i < n; i++) order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = dice_below(d, i + 1), keep = order[i];
        order[i] = order[k];
        order[k] = keep;
    }
}

/* Up to four dimensions; in programs of many, up to sixteen. */
static bool pool_shape(maker *m, shape_text *s)
{
    int order[POOL], n = dice_below(&m->dice, 10);
    shuffle(&m->dice, m->npool, order);
    n = n < 1 ? 0 : n < 3 ? 1 : n < 6 ? 2 : n < 9 ? 3 : 4;
    if (m->npool > 8 && dice_odds(&m->dice, 70))
        n = dice_odds(&m->dice, 40) ? MTF_MAX_DIMS : 6 + dice_below(&m->dice, 10);
    for (int i = 0; i < n && i < m->npool; i++)
        if (s->elements * m->pool_size[order[i]] <= 250 * m->scale)
            add_dim(s, m->pool[order[i]], m->pool_size[order[i]]);
    return true;
}

static bool subset_shape(maker *m, const line_choice *l, shape_text *s)
{
    char    names[64][NAME_ROOM];
    int64_t sizes[64];
    int     n = 0, order[64], keep = 20 + dice_below(&m->dice, 70);
    for (int k = 0; k < l->noperands; k++)
        for (int i = 0; i < l->operand[k]->ndims && n < 64; i++) {
            memcpy(names[n], l->operand[k]->dims[i], NAME_ROOM);
            sizes[n++] = l->operand[k]->sizes[i];
        }
    shuffle(&m->dice, n, order);
    bool seen[64] = {false};
    for (int i = 0; i < n; i++) {
        int k = order[i];
        for (int j = 0; j < n; j++)
            if (j != k && seen[j] && !strcmp(names[j], names[k])) seen[k] = true;
        if (seen[k]) continue;
        seen[k] = true;
        if (dice_odds(&m->dice, keep) && s->elements * sizes[k] <= MOST_ELEMENTS * m->scale)
            add_dim(s, names[k], sizes[k]);
    }
    return true;
}

static bool order_shape(maker *m, const made_value *v, shape_text *s)
{
    int order[MTF_SHAPE_ROOM];
    shuffle(&m->dice, v->ndims, order);
    for (int i = 0; i < v->ndims; i++) add_dim(s, v->dims[order[i]], v->sizes[order[i]]);
    return v->ndims > 1;
}

static bool wider_shape(maker *m, const made_value *v, shape_text *s)
{
    int order[MTF_SHAPE_ROOM], at = 0;
    shuffle(&m->dice, v->ndims, order);
    for (int tries = 0; tries < 4 || at < v->ndims; tries++) {
        int k = dice_below(&m->dice, m->npool);
        if (at < v->ndims && dice_odds(&m->dice, 60)) {
            add_dim(s, v->dims[order[at]], v->sizes[order[at]]);
            at++;
        } else if (made_find(v, m->pool[k]) < 0 && s->ndims + v->ndims - at < MTF_MAX_DIMS &&
                   made_elements(v) * m->pool_size[k] * s->elements <= 3000 * m->scale)
            add_dim(s, m->pool[k], m->pool_size[k]);
    }
    return s->elements <= MOST_ELEMENTS * m->scale;
}

/* A name for what reshape makes: one of the pool, though of another size, or m0 .. m5. */
static void other_name(maker *m, const shape_text *s, const made_value *v, char name[NAME_ROOM])
{
    for (int tries = 0; tries < 20; tries++) {
        if (dice_odds(&m->dice, 50))
            snprintf(name, NAME_ROOM, "m%d", dice_below(&m->dice, 6));
        else
            memcpy(name, m->pool[dice_below(&m->dice, m->npool)], NAME_ROOM);
        if (!has_name(s, name) && made_find(v, name) < 0) return;
    }
    snprintf(name, NAME_ROOM, "m%d", 10 + dice_below(&m->dice, 1000));
}

/* Walks the dimensions: keeps, renames, divides, merges runs of them, adds ones. */
static bool other_shape(maker *m, const made_value *v, shape_text *s)
{
    for (int i = 0; i < v->ndims;) {
        char    name[NAME_ROOM];
        int     what = dice_below(&m->dice, 10);
        int64_t size = v->sizes[i++];
        if (what < 3) {
            add_dim(s, v->dims[i - 1], size);
            continue;
        }
        while (what >= 6 && i < v->ndims && dice_odds(&m->dice, 70)) size *= v->sizes[i++];
        int64_t factor = 1;
        for (int64_t k = 2; k < size && what >= 4; k++)
            if (size % k == 0 && (factor == 1 || dice_odds(&m->dice, 40))) factor = k;
        if (factor > 1) {
            other_name(m, s, v, name);
            add_dim(s, name, factor);
        }
        other_name(m, s, v, name);
        add_dim(s, name, size / factor);
    }
    if (dice_odds(&m->dice, 10)) add_dim(s, "unit", 1);
    return s->elements == made_elements(v);
}

bool write_shape(maker *m, const line_choice *l, shape_kind kind, char *text, size_t room)
{
    shape_text s = {.text = text, .room = room, .elements = 1};
    text[0] = 0;
    if (kind == SHAPE_POOL) return pool_shape(m, &s);
    if (!l->noperands) return false;
    switch (kind) {
    case SHAPE_SUBSET: return subset_shape(m, l, &s);
    case SHAPE_ORDER: return order_shape(m, l->operand[0], &s);
    case SHAPE_MORE: return wider_shape(m, l->operand[0], &s);
    case SHAPE_OTHER: return other_shape(m, l->operand[0], &s);
    default: return false;
    }
}
