/* Attributes: what a node has besides its inputs. */
#include "graph/attr.h"

#include <math.h>
#include <string.h>

#include "base/names.h"
#include "graph/spell.h"

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Bits are compared, so that 0 and -0 differ; but all NaNs are equal, as they are in text. */
static uint64_t real_bits(double r)
{
    uint64_t bits;
    if (isnan(r)) return UINT64_MAX;
    memcpy(&bits, &r, sizeof bits);
    return bits;
}

attr_number number_of_whole(int64_t i)
{
    double r = (double)i;
    return (attr_number){r, i, r >= 0x1p63 || (int64_t)r != i};
}

const char *number_refused(mtf_dtype type, attr_number x, char text[DTYPE_REFUSAL])
{
    return x.whole && type == MTF_I64 ? NULL : dtype_refuses(type, x.r, text);
}

scalar number_as(mtf_dtype type, attr_number x)
{
    if (!x.whole) return dtype_scalar(type, x.r);
    if (type == MTF_I64) return (scalar){.whole = x.i};
    return dtype_scalar(type, type == MTF_F64 ? x.r : (double)(float)x.i); /* rounded once */
}

static bool same_names(const attr_names *a, const attr_names *b)
{
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (!same_text(a->v[i], b->v[i])) return false;
    return true;
}

bool attr_equal(attr_kind kind, const attr *a, const attr *b)
{
    switch (kind) {
    case ATTR_INT: return a->i == b->i;
    case ATTR_REAL: return real_bits(a->r) == real_bits(b->r);
    case ATTR_NUMBER:
        return a->number.whole == b->number.whole &&
               (a->number.whole ? a->number.i == b->number.i
                                : real_bits(a->number.r) == real_bits(b->number.r));
    case ATTR_BOOL: return a->b == b->b;
    case ATTR_WORD:
    case ATTR_TEXT: return same_text(a->text, b->text);
    case ATTR_INTS:
        return a->ints.n == b->ints.n &&
               (a->ints.n == 0 ||
                memcmp(a->ints.v, b->ints.v, sizeof *a->ints.v * (size_t)a->ints.n) == 0);
    case ATTR_NAMES: return same_names(&a->names, &b->names);
    case ATTR_DIM: return a->dim.size == b->dim.size && same_text(a->dim.name, b->dim.name);
    case ATTR_TYPE: return a->type == b->type;
    case ATTR_SHAPE:
        return a->shape && b->shape ? mtf_shape_equal(*a->shape, *b->shape) : a->shape == b->shape;
    case ATTR_DATA:
        return a->data.bytes == b->data.bytes &&
               (a->data.bytes == 0 || memcmp(a->data.v, b->data.v, a->data.bytes) == 0);
    }
    return false;
}

static uint64_t hash_int(uint64_t seed, int64_t i)
{
    return hash_bytes(seed, &i, sizeof i);
}

static uint64_t hash_name(uint64_t seed, const char *name)
{
    if (!name) name = "";
    return hash_bytes(seed, name, strlen(name) + 1); /* with the zero byte: a, bc is not ab, c */
}

static uint64_t hash_dim(uint64_t seed, mtf_dim dim)
{
    return hash_int(hash_name(seed, dim.name), dim.size);
}

uint64_t attr_hash(attr_kind kind, const attr *a, uint64_t seed)
{
    switch (kind) {
    case ATTR_INT: return hash_int(seed, a->i);
    case ATTR_REAL: return hash_int(seed, (int64_t)real_bits(a->r));
    case ATTR_NUMBER:
        return hash_int(seed, a->number.whole ? a->number.i : (int64_t)real_bits(a->number.r));
    case ATTR_BOOL: return hash_int(seed, a->b);
    case ATTR_WORD:
    case ATTR_TEXT: return hash_name(seed, a->text);
    case ATTR_INTS:
        return hash_bytes(hash_int(seed, a->ints.n), a->ints.v,
                          sizeof *a->ints.v * (size_t)a->ints.n);
    case ATTR_NAMES:
        seed = hash_int(seed, a->names.n);
        for (int i = 0; i < a->names.n; i++) seed = hash_name(seed, a->names.v[i]);
        return seed;
    case ATTR_DIM: return hash_dim(seed, a->dim);
    case ATTR_TYPE: return hash_int(seed, a->type);
    case ATTR_SHAPE:
        seed = hash_int(seed, a->shape ? a->shape->ndims : -1);
        for (int i = 0; a->shape && i < a->shape->ndims; i++)
            seed = hash_dim(seed, a->shape->dims[i]);
        return seed;
    case ATTR_DATA: return hash_bytes(seed, a->data.v, a->data.bytes);
    }
    return seed;
}

void attr_write(attr_kind kind, const attr *a, textbuf *t)
{
    switch (kind) {
    case ATTR_INT: text_add(t, "%lld", (long long)a->i); break;
    case ATTR_REAL: spell_real(t, a->r, MTF_F64); break;
    case ATTR_NUMBER:
        if (a->number.whole)
            text_add(t, "%lld", (long long)a->number.i);
        else
            spell_real(t, a->number.r, MTF_F64);
        break;
    case ATTR_BOOL: text_add(t, "%s", a->b ? "true" : "false"); break;
    case ATTR_WORD: spell_name(t, a->text ? a->text : ""); break;
    case ATTR_TEXT: spell_text(t, a->text ? a->text : ""); break;
    case ATTR_INTS:
        text_add(t, "(");
        for (int i = 0; i < a->ints.n; i++)
            text_add(t, "%s%lld", i ? ", " : "", (long long)a->ints.v[i]);
        text_add(t, ")");
        break;
    case ATTR_NAMES:
        text_add(t, "(");
        for (int i = 0; i < a->names.n; i++) {
            if (i) text_add(t, ", ");
            spell_name(t, a->names.v[i]);
        }
        text_add(t, ")");
        break;
    case ATTR_DIM:
        text_add(t, "[");
        if (a->dim.name) spell_dim(t, a->dim);
        text_add(t, "]");
        break;
    case ATTR_TYPE: text_add(t, "%s", mtf_dtype_name(a->type)); break;
    case ATTR_SHAPE: /* the annotation shows it */
    case ATTR_DATA: break;
    }
}

static bool keep_text(const char **text, arena *where)
{
    if (!*text) return true;
    *text = arena_text(where, *text);
    return *text != NULL;
}

static bool keep_names(attr_names *names, arena *where)
{
    const char **copy = arena_array(where, const char *, names->n);
    TRY(copy != NULL);
    for (int i = 0; i < names->n; i++) {
        copy[i] = names->v[i];
        TRY(keep_text(&copy[i], where));
    }
    names->v = copy;
    return true;
}

static bool keep_shape(const mtf_shape **shape, arena *where)
{
    if (!*shape) return true;
    mtf_shape *copy = arena_copy(where, *shape, sizeof **shape);
    TRY(copy != NULL);
    for (int i = 0; i < copy->ndims; i++) TRY(keep_text(&copy->dims[i].name, where));
    *shape = copy;
    return true;
}

bool attr_keep(attr_kind kind, attr *a, arena *where)
{
    switch (kind) {
    case ATTR_INT:
    case ATTR_REAL:
    case ATTR_NUMBER:
    case ATTR_BOOL:
    case ATTR_TYPE: return true;
    case ATTR_WORD:
    case ATTR_TEXT: return keep_text(&a->text, where);
    case ATTR_INTS:
        a->ints.v = arena_copy(where, a->ints.v, sizeof *a->ints.v * (size_t)a->ints.n);
        return a->ints.v != NULL;
    case ATTR_NAMES: return keep_names(&a->names, where);
    case ATTR_DIM: return keep_text(&a->dim.name, where);
    case ATTR_SHAPE: return keep_shape(&a->shape, where);
    case ATTR_DATA:
        a->data.v = arena_copy(where, a->data.v, a->data.bytes);
        return a->data.v != NULL;
    }
    return false;
}
