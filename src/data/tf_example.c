/* The message tf.Example: named lists of numbers or bytes.
 *
 *     Example   1: Features            Features  1: entry, repeated
 *     entry     1: name  2: Feature    Feature   1: bytes | 2: floats | 3: whole numbers
 *
 * Unknown fields are skipped.  A list may be packed into one field or have one
 * field for each value.  Of two entries with one name the last counts.
 */
#include "data/tf_example.h"

#include <string.h>

#include "base/message.h"

/* ---- lists of values ---- */

static bool offer_varints(message list, wanted *w)
{
    int64_t values[128];
    int     n = 0;
    while (list.at < list.end) {
        uint64_t value;
        if (!message_take_varint(&list, &value)) return false;
        values[n++] = (int64_t)value;
        if (n == 128 || list.at == list.end) {
            offer(w, MTF_I64, values, n);
            n = 0;
        }
    }
    return true;
}

static bool offer_text(const message_field *f, wanted *w)
{
    if (f->kind != WIRE_LENGTH) return false;
    offer(w, RAW_U8, f->inside.at, f->inside.end - f->inside.at);
    return true;
}

static bool offer_floats(const message_field *f, wanted *w)
{
    int64_t bytes = f->inside.end - f->inside.at;
    if ((f->kind != WIRE_LENGTH && f->kind != WIRE_FIXED32) || bytes % 4 != 0) return false;
    offer(w, MTF_F32, f->inside.at, bytes / 4);
    return true;
}

static bool offer_whole(const message_field *f, wanted *w)
{
    int64_t value = (int64_t)f->value;
    if (f->kind == WIRE_LENGTH) return offer_varints(f->inside, w);
    if (f->kind == WIRE_VARINT) offer(w, MTF_I64, &value, 1);
    return f->kind == WIRE_VARINT;
}

/* By the number of the field in Feature. */
static bool (*const offers[])(const message_field *f, wanted *w) = {NULL, offer_text, offer_floats,
                                                                    offer_whole};

/* Where a Feature has several lists, the last counts. */
static bool offer_feature(message feature, wanted *w)
{
    message_field list = {0}, f;
    while (feature.at < feature.end) {
        if (!message_take_field(&feature, &f)) return false;
        if (f.number >= 1 && f.number <= 3 && f.kind == WIRE_LENGTH) list = f;
    }
    while (list.inside.at < list.inside.end) {
        if (!message_take_field(&list.inside, &f)) return false;
        if (f.number == 1 && !offers[list.number](&f, w)) return false;
    }
    return true;
}

/* ---- the feature by its name ---- */

static bool take_entry(message entry, message *name, message *feature)
{
    message_field f;
    *name = *feature = (message){entry.at, entry.at}; /* empty by default */
    while (entry.at < entry.end) {
        if (!message_take_field(&entry, &f)) return false;
        if (f.number == 1 && f.kind == WIRE_LENGTH) *name = f.inside;
        if (f.number == 2 && f.kind == WIRE_LENGTH) *feature = f.inside;
    }
    return true;
}

/* Puts the last feature of this name into `found`. */
static bool search_features(message features, const char *wanted_name, message *found)
{
    size_t length = strlen(wanted_name);
    while (features.at < features.end) {
        message_field f;
        message       name, feature;
        if (!message_take_field(&features, &f)) return false;
        if (f.number != 1 || f.kind != WIRE_LENGTH) continue;
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
        message_field f;
        if (!message_take_field(&example, &f)) return EXAMPLE_DAMAGED;
        if (f.number != 1 || f.kind != WIRE_LENGTH) continue;
        if (!search_features(f.inside, feature, &found)) return EXAMPLE_DAMAGED;
    }
    if (!found.at) return EXAMPLE_LACKS;
    return offer_feature(found, w) ? EXAMPLE_READ : EXAMPLE_DAMAGED;
}
