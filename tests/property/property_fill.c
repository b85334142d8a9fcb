/* Fills in the places of a template with operands, dimensions, numbers. */
#include <stdio.h>
#include <string.h>

#include "property_maker.h"

int64_t value_elements(const value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->ndims; i++) n *= v->sizes[i];
    return n;
}

int value_find(const value *v, const char *dim)
{
    for (int i = 0; i < v->ndims; i++)
        if (!strcmp(v->dims[i], dim)) return i;
    return -1;
}

bool values_agree(const value *a, const value *b)
{
    for (int i = 0; i < a->ndims; i++) {
        int k = value_find(b, a->dims[i]);
        if (k >= 0 && b->sizes[k] != a->sizes[i]) return false;
    }
    return true;
}

/* ---- operands ---- */

static bool fits_type(const maker *m, const line_choice *l, char place, const value *v)
{
    switch (place) {
    case 'e':
    case 'g': return v->type == m->type && v->exact;
    case 'i':
    case 'j':
    case 'v': return v->type == MTF_I32;
    case 'b':
    case 'c': return v->type == MTF_BOOL;
    case 'a': return true;
    case 'h': return v->type == l->operand[0]->type;
    default: return v->type == m->type;
    }
}

static bool fits_shape(const line_choice *l, char place, const value *v)
{
    if (!l->noperands) return true;
    const value *first = l->operand[0];
    bool         inside = true, same = v->ndims == first->ndims;
    for (int i = 0; i < v->ndims; i++) {
        bool known = value_find(first, v->dims[i]) >= 0;
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
        const value *o = k < l->noperands ? l->operand[k] : v;
        if (!values_agree(o, v)) return false;
        for (int i = 0; i < o->ndims; i++) {
            bool seen = false;
            for (int j = 0; j < k && !seen; j++) seen = value_find(l->operand[j], o->dims[i]) >= 0;
            if (!seen) ndims++, elements *= o->sizes[i];
        }
    }
    return ndims <= VALUE_DIMS && elements <= 1500;
}

const value *choose_operand(maker *m, const line_choice *l, char place)
{
    const value *found = NULL;
    int          seen = 0;
    for (int i = 0; i < m->nvalues; i++) {
        const value *v = &m->values[i];
        if (v->retired || !fits_type(m, l, place, v) || !fits_shape(l, place, v)) continue;
        /* Younger ones are likelier, so that graphs become deep. */
        int weight = 1 + (i > m->nvalues - 8) * 2;
        seen += weight;
        if (dice_below(&m->dice, seen) < weight) found = v;
    }
    return found;
}

static const value *operand_at(maker *m, line_choice *l, char place)
{
    for (int i = 0; i < l->noperands; i++)
        if (l->place[i] == place) return l->operand[i];
    const value *v = l->noperands < OPERANDS ? choose_operand(m, l, place) : NULL;
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
        int  k = dice_below(&m->dice, POOL);
        bool used = false;
        for (int i = 0; i < l->noperands; i++)
            used = used || value_find(l->operand[i], m->pool[k]) >= 0;
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
    case 'R': return snprintf(text, room, "%d, %d", k, size - k);
    default: return snprintf(text, room, "%d", dice_below(&m->dice, 2 * size + 3) - size - 1);
    }
}

static int write_fixed(maker *m, char place, char *text, size_t room)
{
    switch (place) {
    case 'k': return snprintf(text, room, "%d", 1 + dice_below(&m->dice, 3));
    case 'K': return snprintf(text, room, "%d", dice_below(&m->dice, 1000));
    case 't': return snprintf(text, room, "%s", dice_odds(&m->dice, 50) ? "true" : "false");
    case 'P': return snprintf(text, room, "%s", dice_odds(&m->dice, 50) ? "same" : "valid");
    default: return snprintf(text, room, "%s", mtf_dtype_name(m->type));
    }
}

static int write_dims(maker *m, line_choice *l, char place, char *text, size_t room)
{
    const value *v = l->noperands ? l->operand[0] : NULL;
    int          used = 0, i;
    switch (place) {
    case 'd': i = first_dim(m, l); break;
    case 'f': i = second_dim(m, l); break;
    case 'X':
        for (i = 0; v && i < v->ndims; i++)
            used += snprintf(text + used, room - (size_t)used, "%s%s=%d", i ? ", " : "", v->dims[i],
                             (int)v->sizes[i]);
        return used;
    case 'L':
        l->failed = l->failed || !v || !v->ndims;
        return l->failed ? 0
                         : snprintf(text, room, "%s=%d", v->dims[v->ndims - 1],
                                    (int)v->sizes[v->ndims - 1]);
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
        if (!l->named[k]) snprintf(l->results[k], NAME_ROOM, "t%d", m->nnames++);
        l->named[k] = true;
        return snprintf(text, room, "%s", l->results[k]);
    }
    if (place == 'S') {
        text[0] = 0;
        l->failed = l->failed || !write_shape(m, l, t->shape, text, room);
        return (int)strlen(text);
    }
    if (strchr("dfDNLX", place)) return write_dims(m, l, place, text, room);
    if (strchr("nmsZR", place)) return write_number(m, l, place, text, room);
    if (strchr("kKtPT", place)) return write_fixed(m, place, text, room);
    const value *v = operand_at(m, l, place);
    return v ? snprintf(text, room, "%s", v->name) : 0;
}

bool fill_template(maker *m, const line_template *t, line_choice *l, char *text, size_t room)
{
    size_t used = 0;
    *l = (line_choice){.d = -1, .f = -1};
    /* Shapes and dimensions depend on the operands: choose those first. */
    for (const char *p = t->text; *p && !l->failed; p++)
        if (*p == '%' && strchr("xyzwuegijvbca", p[1])) operand_at(m, l, p[1]);
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
