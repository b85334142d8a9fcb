/* Fills in the places of a template with operands, dimensions, numbers. */
#include <stdio.h>
#include <string.h>

#include "property_maker.h"

bool made_is_float(const made_value *v)
{
    return v->type == MTF_F32 || v->type == MTF_F64 || v->type == MTF_BF16 || v->type == MTF_F16;
}

bool made_is_int(const made_value *v)
{
    return v->type == MTF_I32 || v->type == MTF_I64;
}

int64_t made_elements(const made_value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->ndims; i++) n *= v->sizes[i];
    return n;
}

int made_find(const made_value *v, const char *dim)
{
    for (int i = 0; i < v->ndims; i++)
        if (!strcmp(v->dims[i], dim)) return i;
    return -1;
}

/* Common dimensions have one size. */
static bool values_agree(const made_value *a, const made_value *b)
{
    for (int i = 0; i < a->ndims; i++) {
        int k = made_find(b, a->dims[i]);
        if (k >= 0 && b->sizes[k] != a->sizes[i]) return false;
    }
    return true;
}

/* ---- operands ---- */

/* Places of one kind take values of one type. */
static const made_value *first_of_kind(const line_choice *l, const char *places)
{
    for (int i = 0; i < l->noperands; i++)
        if (strchr(places, l->place[i])) return l->operand[i];
    return NULL;
}

static bool fits_type(const line_choice *l, char place, const made_value *v)
{
    const char       *kind = strchr("ABC", place) ? "ABC" : strchr("ij", place) ? "ij" : "xyzwuABC";
    const made_value *other = first_of_kind(l, kind);
    switch (place) {
    case 'i':
    case 'j': return made_is_int(v) && (!other || v->type == other->type);
    case 'v': return made_is_int(v);
    case 'b':
    case 'c': return v->type == MTF_BOOL;
    case 'a': return true;
    case 'h': return v->type == l->operand[0]->type;
    case 'A':
    case 'B':
    case 'C': return v->type != MTF_BOOL && (!other || v->type == other->type);
    default:
        if (other && !made_is_float(other)) other = NULL;
        return made_is_float(v) && (!other || v->type == other->type);
    }
}

static bool fits_shape(const maker *m, const line_choice *l, char place, const made_value *v)
{
    if (!l->noperands) return true;
    const made_value *first = l->operand[0];
    bool              inside = true, same = v->ndims == first->ndims;
    for (int i = 0; i < v->ndims; i++) {
        bool known = made_find(first, v->dims[i]) >= 0;
        inside = inside && known;
        same = same && !strcmp(v->dims[i], first->dims[i]) &&
               (i == l->d || v->sizes[i] == first->sizes[i]);
    }
    if (place == 'h') return same;
    if ((place == 'u' || place == 'v') && !inside) return false;
    /* All of them together must stay small. */
    int     ndims = 0;
    int64_t elements = 1;
    for (int k = 0; k <= l->noperands; k++) {
        const made_value *o = k < l->noperands ? l->operand[k] : v;
        if (!values_agree(o, v)) return false;
        for (int i = 0; i < o->ndims; i++) {
            bool seen = false;
            for (int j = 0; j < k && !seen; j++) seen = made_find(l->operand[j], o->dims[i]) >= 0;
            if (!seen) ndims++, elements *= o->sizes[i];
        }
    }
    return ndims <= (l->flags & WIDE ? 30 : MTF_MAX_DIMS) && elements <= 2000 * m->scale;
}

const made_value *choose_operand(maker *m, const line_choice *l, char place)
{
    const made_value *found = NULL;
    int               seen = 0;
    for (int i = 0; i < m->nvalues; i++) {
        const made_value *v = &m->values[i];
        if (v->retired || !fits_type(l, place, v) || !fits_shape(m, l, place, v)) continue;
        /* Younger ones are likelier, so that graphs become deep; so are those that nobody uses yet:
         * what is owed on a value passes on to its only reader. */
        int weight = (1 + (i > m->nvalues - 7) * 4) * (v->used ? 1 : 3);
        seen += weight;
        if (dice_below(&m->dice, seen) < weight) found = v;
    }
    return found;
}

static const made_value *operand_at(maker *m, line_choice *l, char place)
{
    for (int i = 0; i < l->noperands; i++)
        if (l->place[i] == place) return l->operand[i];
    const made_value *v = l->noperands < OPERANDS ? choose_operand(m, l, place) : NULL;
    if (!v) {
        l->failed = true;
        return NULL;
    }
    l->place[l->noperands] = place;
    return l->operand[l->noperands++] = v;
}

/* ---- dimensions and numbers ---- */

static int first_dim(maker *m, line_choice *l)
{
    if (!l->noperands || !l->operand[0]->ndims) {
        l->failed = true;
        return 0;
    }
    if (l->d < 0) l->d = dice_below(&m->dice, l->operand[0]->ndims);
    return l->d;
}

static int second_dim(maker *m, line_choice *l)
{
    int d = first_dim(m, l), n = l->failed ? 0 : l->operand[0]->ndims;
    if (n < 2) {
        l->failed = true;
        return 0;
    }
    if (l->f < 0) l->f = (d + 1 + dice_below(&m->dice, n - 1)) % n;
    return l->f;
}

/* A dimension of the pool that no operand has. */
static void choose_fresh(maker *m, line_choice *l)
{
    for (int tries = 0; tries < 12 && !l->fresh[0]; tries++) {
        int  k = dice_below(&m->dice, m->npool);
        bool used = false;
        for (int i = 0; i < l->noperands; i++)
            used = used || made_find(l->operand[i], m->pool[k]) >= 0;
        if (used) continue;
        memcpy(l->fresh, m->pool[k], NAME_ROOM);
        l->fresh_size = m->pool_size[k];
    }
    if (!l->fresh[0]) l->failed = true;
}

static int write_number(maker *m, line_choice *l, char place, char *text, size_t room)
{
    int d = first_dim(m, l);
    if (l->failed) return 0;
    int size = (int)l->operand[0]->sizes[d], k = dice_below(&m->dice, size);
    switch (place) {
    case 'n': return snprintf(text, room, "%d", k);
    case 'm': return snprintf(text, room, "%d", k + 1);
    case 'Z': return snprintf(text, room, "%d", size);
    case 'W': return snprintf(text, room, "%d", 2 * size - 1);
    case 'R': return snprintf(text, room, "%d, %d", k, size - k);
    default: return snprintf(text, room, "%d", dice_below(&m->dice, 2 * size + 3) - size - 1);
    }
}

static int write_type(maker *m, const line_choice *l, char place, char *text, size_t room)
{
    static const mtf_dtype floats[] = {MTF_F32, MTF_F32, MTF_F64, MTF_BF16, MTF_F16};
    mtf_dtype              type = m->type;
    if (place == 'F' && l->noperands) type = l->operand[0]->type;
    if (place == 'Y' && !m->plain) type = floats[dice_below(&m->dice, 5)];
    if (place == 'I') type = !m->plain && dice_odds(&m->dice, 40) ? MTF_I64 : MTF_I32;
    return snprintf(text, room, "%s", mtf_dtype_name(type));
}

/* At the ends of i32 and i64, around 2^53, and anywhere. */
static int write_large(maker *m, char *text, size_t room)
{
    static const int64_t places[] = {INT64_MAX, INT64_MIN + 1, (int64_t)1 << 53, (int64_t)1 << 62,
                                     INT32_MAX, INT32_MIN,     (int64_t)1 << 32, 3037000500};
    int64_t              v = dice_odds(&m->dice, 70) ? places[dice_below(&m->dice, 8)]
                                                     : (int64_t)(dice_bits(&m->dice) >> 1);
    int64_t              by = dice_below(&m->dice, 5) - 2;
    if (v < INT64_MAX - 3 && v > INT64_MIN + 3) v += by;
    return snprintf(text, room, "%lld", (long long)v);
}

static int write_fixed(maker *m, const line_choice *l, char place, char *text, size_t room)
{
    switch (place) {
    case 'k': return snprintf(text, room, "%d", 1 + dice_below(&m->dice, 3));
    case 'K': return snprintf(text, room, "%d", dice_below(&m->dice, 1000));
    case 'G': return write_large(m, text, room);
    case 't': return snprintf(text, room, "%s", dice_odds(&m->dice, 50) ? "true" : "false");
    case 'P': return snprintf(text, room, "%s", dice_odds(&m->dice, 50) ? "same" : "valid");
    default: return write_type(m, l, place, text, room);
    }
}

void write_shape_of(const made_value *v, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < v->ndims && used + NAME_ROOM + 8 < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s=%d", i ? ", " : "", v->dims[i],
                                 (int)v->sizes[i]);
}

static int write_dims(maker *m, line_choice *l, char place, char *text, size_t room)
{
    const made_value *v = l->noperands ? l->operand[0] : NULL;
    int               i;
    switch (place) {
    case 'd': i = first_dim(m, l); break;
    case 'f': i = second_dim(m, l); break;
    case 'e':
        v = l->noperands ? l->operand[l->noperands - 1] : NULL;
        l->failed = l->failed || !v || !v->ndims;
        i = l->failed ? 0 : dice_below(&m->dice, v->ndims);
        break;
    case 'L':
    case 'l':
        l->failed = l->failed || !v || !v->ndims;
        if (l->failed) return 0;
        i = v->ndims - 1;
        return place == 'l' ? snprintf(text, room, "%d", (int)v->sizes[i])
                            : snprintf(text, room, "%s=%d", v->dims[i], (int)v->sizes[i]);
    default:
        choose_fresh(m, l);
        return place == 'N' ? snprintf(text, room, "%s", l->fresh)
                            : snprintf(text, room, "%s=%d", l->fresh, (int)l->fresh_size);
    }
    return l->failed ? 0 : snprintf(text, room, "%s", v->dims[i]);
}

/* ---- a whole line ---- */

static int write_place(maker *m, const line_template *t, line_choice *l, char place, char *text,
                       size_t room)
{
    if (strchr("opq", place)) {
        int k = place - 'o';
        if (!l->named[k]) fresh_name(m, l->results[k]);
        l->named[k] = true;
        return snprintf(text, room, "%s", l->results[k]);
    }
    if (place == 'S') {
        text[0] = 0;
        l->failed = l->failed || !write_shape(m, l, t->shape, text, room);
        return (int)strlen(text);
    }
    if (strchr("dfeDNLl", place)) return write_dims(m, l, place, text, room);
    if (strchr("nmsZRW", place)) return write_number(m, l, place, text, room);
    if (strchr("kKGtPTFYI", place)) return write_fixed(m, l, place, text, room);
    const made_value *v = operand_at(m, l, place);
    return v ? snprintf(text, room, "%s", v->name) : 0;
}

bool fill_template(maker *m, const line_template *t, line_choice *l, char *text, size_t room)
{
    size_t used = 0;
    *l = (line_choice){.d = -1, .f = -1, .flags = t->flags};
    /* Shapes and dimensions depend on the operands: choose those first. */
    for (const char *p = t->text; *p && !l->failed; p++)
        if (*p == '%' && strchr("xyzwuijvbcaABC", p[1])) operand_at(m, l, p[1]);
    for (const char *p = t->text; *p && !l->failed; p++) {
        if (used + 64 > room) return false;
        if (*p != '%')
            text[used++] = *p;
        else
            used += (size_t)write_place(m, t, l, *++p, text + used, room - used);
        if (used >= room) return false;
    }
    text[used] = 0;
    return !l->failed;
}
