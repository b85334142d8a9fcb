/* The message tf.Example: named lists of numbers or bytes.
 *
 *     Example   1: Features            Features  1: entry, repeated
 *     entry     1: name  2: Feature    Feature   1: bytes | 2: floats | 3: whole numbers
 *
 * Protocol buffers are fields, each a number, a kind and a value.  The reader
 * moves one pointer forward, never past the message's end; unknown
 * fields are skipped.  A list may be packed into one field or have one field for
 * each value.  Of two entries with one name the last counts.
 */
#include "data/tf_example.h"

#include <string.h>

/* A message, or what is left of it. */
typedef struct message {
    const uint8_t *at, *end;
} message;

typedef enum wire_kind { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 } wire_kind;

typedef struct wire_field {
    uint64_t number;
    int      kind;
    uint64_t value;  /* of VARINT   */
    message  inside; /* of the rest */
} wire_field;

/* ---- fields ---- */

static bool take_varint(message *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 70 && m->at < m->end; shift += 7) {
        uint8_t byte = *m->at++;
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool take_bytes(message *m, uint64_t n, message *inside)
{
    if (n > (uint64_t)(m->end - m->at)) return false;
    *inside = (message){m->at, m->at + n};
    m->at += n;
    return true;
}

static bool take_field(message *m, wire_field *f)
{
    uint64_t tag, n;
    if (!take_varint(m, &tag)) return false;
    *f = (wire_field){.number = tag >> 3, .kind = (int)(tag & 7)};
    switch (f->kind) {
    case VARINT: return take_varint(m, &f->value);
    case FIXED64: return take_bytes(m, 8, &f->inside);
    case FIXED32: return take_bytes(m, 4, &f->inside);
    case LENGTH: return take_varint(m, &n) && take_bytes(m, n, &f->inside);
    default: return false;
    }
}

/* ---- lists of values ---- */

static bool offer_varints(message list, wanted *w)
{
    int64_t values[128];
    int     n = 0;
    while (list.at < list.end) {
        uint64_t value;
        if (!take_varint(&list, &value)) return false;
        values[n++] = (int64_t)value;
        if (n == 128 || list.at == list.end) {
            offer(w, MTF_I64, values, n);
            n = 0;
        }
    }
    return true;
}

static bool offer_text(const wire_field *f, wanted *w)
{
    if (f->kind != LENGTH) return false;
    offer(w, RAW_U8, f->inside.at, f->inside.end - f->inside.at);
    return true;
}

static bool offer_floats(const wire_field *f, wanted *w)
{
    int64_t bytes = f->inside.end - f->inside.at;
    if ((f->kind != LENGTH && f->kind != FIXED32) || bytes % 4 != 0) return false;
    offer(w, MTF_F32, f->inside.at, bytes / 4);
    return true;
}

static bool offer_whole(const wire_field *f, wanted *w)
{
    int64_t value = (int64_t)f->value;
    if (f->kind == LENGTH) return offer_varints(f->inside, w);
    if (f->kind == VARINT) offer(w, MTF_I64, &value, 1);
    return f->kind == VARINT;
}

/* By the number of the field in Feature. */
static bool (*const offers[])(const wire_field *f, wanted *w) = {NULL, offer_text, offer_floats,
                                                                 offer_whole};

/* Where a Feature has several lists, the last counts. */
static bool offer_feature(message feature, wanted *w)
{
    wire_field list = {0}, f;
    while (feature.at < feature.end) {
        if (!take_field(&feature, &f)) return false;
        if (f.number >= 1 && f.number <= 3 && f.kind == LENGTH) list = f;
    }
    while (list.inside.at < list.inside.end) {
        if (!take_field(&list.inside, &f)) return false;
        if (f.number == 1 && !offers[list.number](&f, w)) return false;
    }
    return true;
}

/* ---- the feature by its name ---- */

static bool take_entry(message entry, message *name, message *feature)
{
    wire_field f;
    *name = *feature = (message){entry.at, entry.at}; /* empty by default */
    while (entry.at < entry.end) {
        if (!take_field(&entry, &f)) return false;
        if (f.number == 1 && f.kind == LENGTH) *name = f.inside;
        if (f.number == 2 && f.kind == LENGTH) *feature = f.inside;
    }
    return true;
}

/* Puts the last feature of this name into `found`. */
static bool search_features(message features, const char *wanted_name, message *found)
{
    size_t length = strlen(wanted_name);
    while (features.at < features.end) {
        wire_field f;
        message    name, feature;
        if (!take_field(&features, &f)) return false;
        if (f.number != 1 || f.kind != LENGTH) continue;
        if (!take_entry(f.inside, &name, &feature)) return false;
        if ((size_t)(name.end - name.at) == length && memcmp(name.at, wanted_name, length) == 0)
            *found = feature;
    }
    return true;
}

example_state example_read(const uint8_t *bytes, size_t n, const char *feature, wanted *w)
{
    message example = {bytes, bytes + n}, found = {NULL, NULL};
    while (example.at < example.end) {
        wire_field f;
        if (!take_field(&example, &f)) return EXAMPLE_DAMAGED;
        if (f.number != 1 || f.kind != LENGTH) continue;
        if (!search_features(f.inside, feature, &found)) return EXAMPLE_DAMAGED;
    }
    if (!found.at) return EXAMPLE_LACKS;
    return offer_feature(found, w) ? EXAMPLE_READ : EXAMPLE_DAMAGED;
}
