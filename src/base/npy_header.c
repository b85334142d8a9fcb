/* The header of a .npy file: a small Python dictionary.
 *
 * Only what NumPy itself writes is accepted: the three keys, once each, in
 * any order.  The parser moves one pointer forward and never past `end`.
 */
#include "base/npy_header.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/byte_order.h"
#include "base/session.h"

static const struct {
    const char *descr;
    raw_type    type;
    const char *name; /* in messages; NULL: the row repeats a type */
} known_types[] = {
    /* the first row of a type is how it is written */
    {"<f4", MTF_F32, "f32"},   {"<f8", MTF_F64, "f64"}, {"<f2", MTF_F16, "f16"},
    {"<i4", MTF_I32, "i32"},   {"<i8", MTF_I64, "i64"}, {"|b1", MTF_BOOL, "bool"},
    {"|u1", RAW_U8, "u8"},     {"|i1", RAW_I8, "i8"},   {"<u2", RAW_U16, "u16"},
    {"<i2", RAW_I16, "i16"},   {"<u4", RAW_U32, "u32"}, {"<u8", RAW_U64, "u64"},
    {"<V2", MTF_BF16, "bf16"}, {"|V2", MTF_BF16, NULL},
};
enum { KNOWN_TYPES = sizeof known_types / sizeof *known_types };

/* ---- the words of the dictionary -------------------------------------------------------- */

enum { WORD = 24 }; /* keys and types are shorter; a longer text is cut, and matches nothing */

typedef struct scanner {
    mtf_session         *session;
    const char          *name;
    const unsigned char *start, *at, *end;
    bool                 takes_foreign;
} scanner;

static bool takes(const scanner *r, int known)
{
    return r->takes_foreign || !raw_is_foreign(known_types[known].type);
}

static bool broken(const scanner *r, const char *wanted)
{
    return fail(&r->session->fault, ERR_FILE,
                "\"%s\": its header should have %s at byte %zu; NumPy did not write this file",
                r->name, wanted, (size_t)(r->at - r->start));
}

static void skip_blanks(scanner *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t')) r->at++;
}

static bool take_char(scanner *r, char c)
{
    skip_blanks(r);
    if (r->at == r->end || *r->at != (unsigned char)c) return false;
    r->at++;
    return true;
}

static bool take_word(scanner *r, const char *word)
{
    skip_blanks(r);
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* 'text' or "text"; bytes that cannot be shown become '?'. */
static bool take_quoted(scanner *r, char text[WORD])
{
    char quote = '\'';
    if (!take_char(r, quote)) {
        quote = '"';
        if (!take_char(r, quote)) return false;
    }
    int used = 0;
    for (; r->at < r->end && *r->at != (unsigned char)quote; r->at++)
        if (used < WORD - 1) text[used++] = *r->at >= ' ' && *r->at <= '~' ? (char)*r->at : '?';
    text[used] = 0;
    return r->at < r->end && take_char(r, quote);
}

/* ---- the three values ------------------------------------------------------------------- */

static bool refuse_type(const scanner *r, const char *descr)
{
    if (descr[0] == '>')
        return fail(&r->session->fault, ERR_FILE,
                    "\"%s\": its elements are big-endian, \"%s\"; "
                    "save them in little-endian order, \"<%s\"",
                    r->name, descr, descr + 1);
    char list[400];
    int  used = 0;
    for (int i = 0; i < KNOWN_TYPES; i++)
        if (known_types[i].name && takes(r, i))
            used += snprintf(list + used, sizeof list - (size_t)used, "%s\"%s\" (%s)",
                             !i                     ? ""
                             : i == KNOWN_TYPES - 2 ? " and "
                                                    : ", ",
                             known_types[i].descr, known_types[i].name);
    return fail(&r->session->fault, ERR_FILE,
                "\"%s\": its element type is \"%s\", but only %s are accepted", r->name, descr,
                list);
}

static bool take_type(scanner *r, npy_header *h)
{
    char descr[WORD];
    skip_blanks(r);
    if (r->at < r->end && *r->at == '[') return refuse_type(r, "a structure of several fields");
    if (!take_quoted(r, descr)) return broken(r, "the element type in quotes");
    for (int i = 0; i < KNOWN_TYPES; i++)
        if (takes(r, i) && strcmp(known_types[i].descr, descr) == 0) {
            h->type = known_types[i].type;
            return true;
        }
    return refuse_type(r, descr);
}

static bool take_order(scanner *r, npy_header *h)
{
    if (take_word(r, "True"))
        h->fortran_order = true;
    else if (take_word(r, "False"))
        h->fortran_order = false;
    else
        return broken(r, "True or False");
    return true;
}

static bool take_size(scanner *r, int64_t *size)
{
    skip_blanks(r);
    if (r->at < r->end && *r->at == '-')
        return fail(&r->session->fault, ERR_FILE, "\"%s\": its shape has a negative size", r->name);
    if (r->at == r->end || !isdigit(*r->at)) return broken(r, "a size");
    for (*size = 0; r->at < r->end && isdigit(*r->at); r->at++)
        if (__builtin_mul_overflow(*size, 10, size) ||
            __builtin_add_overflow(*size, *r->at - '0', size))
            return fail(&r->session->fault, ERR_FILE,
                        "\"%s\": its shape has a size that is too large", r->name);
    if (r->at < r->end && *r->at == 'L') r->at++; /* Python 2 ended long numbers in L */
    return true;
}

static bool take_shape(scanner *r, npy_header *h)
{
    if (!take_char(r, '(')) return broken(r, "the shape in parentheses");
    bool comma = true;
    while (!take_char(r, ')')) {
        if (!comma) return broken(r, "a comma or a parenthesis");
        if (h->ndims == MTF_MAX_DIMS)
            return fail(&r->session->fault, ERR_FILE, "\"%s\": it has more than %d dimensions",
                        r->name, MTF_MAX_DIMS);
        TRY(take_size(r, &h->size[h->ndims]));
        h->ndims++;
        comma = take_char(r, ',');
    }
    if (h->ndims == 1 && !comma) return broken(r, "a comma after the only size");
    return true;
}

/* ---- the dictionary --------------------------------------------------------------------- */

static const struct {
    const char *key;
    bool (*take)(scanner *r, npy_header *h);
} keys[] = {{"descr", take_type}, {"fortran_order", take_order}, {"shape", take_shape}};
enum { KEYS = sizeof keys / sizeof *keys };

static bool take_entry(scanner *r, npy_header *h, bool seen[KEYS])
{
    char key[WORD];
    if (!take_quoted(r, key)) return broken(r, "a key in quotes");
    for (int k = 0; k < KEYS; k++) {
        if (strcmp(keys[k].key, key) != 0) continue;
        if (seen[k])
            return fail(&r->session->fault, ERR_FILE, "\"%s\": its header has \"%s\" twice",
                        r->name, key);
        seen[k] = true;
        if (!take_char(r, ':')) return broken(r, "a colon");
        return keys[k].take(r, h);
    }
    return fail(&r->session->fault, ERR_FILE, "\"%s\": its header has an unknown key, \"%s\"",
                r->name, key);
}

static bool take_dictionary(scanner *r, npy_header *h)
{
    bool seen[KEYS] = {false}, comma = true;
    if (!take_char(r, '{')) return broken(r, "an opening brace");
    while (!take_char(r, '}')) {
        if (!comma) return broken(r, "a comma or a closing brace");
        TRY(take_entry(r, h, seen));
        comma = take_char(r, ',');
    }
    for (int k = 0; k < KEYS; k++)
        if (!seen[k])
            return fail(&r->session->fault, ERR_FILE, "\"%s\": its header lacks \"%s\"", r->name,
                        keys[k].key);
    skip_blanks(r);
    return r->at == r->end || broken(r, "nothing more");
}

static bool count_elements(mtf_session *s, const char *name, npy_header *h)
{
    h->count = 1;
    int64_t bytes;
    bool    ok = true;
    for (int i = 0; i < h->ndims && ok; i++)
        ok = !__builtin_mul_overflow(h->count, h->size[i], &h->count);
    if (!ok || __builtin_mul_overflow(h->count, (int64_t)raw_bytes(h->type), &bytes))
        return fail(&s->fault, ERR_FILE,
                    "\"%s\": its shape has more elements than any memory holds", name);
    return true;
}

bool npy_header_parse(mtf_session *s, const char *name, const unsigned char *bytes, size_t n,
                      bool takes_foreign, npy_header *h)
{
    *h = (npy_header){0};
    if (n < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" is not a .npy file: it does not begin with NumPy's magic bytes", name);
    if (n < 12) return fail(&s->fault, ERR_FILE, "\"%s\" ends inside its header", name);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" has version %d.%d of the .npy format; 1.0, 2.0 and 3.0 are known", name,
                    bytes[6], bytes[7]);
    size_t start = bytes[6] == 1 ? 10 : 12;
    size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > n - start)
        return fail(&s->fault, ERR_FILE,
                    "\"%s\" ends inside its header: it should take %zu bytes, and %zu are there",
                    name, length, n - start);
    scanner r = {s, name, bytes, bytes + start, bytes + start + length, takes_foreign};
    TRY(take_dictionary(&r, h));
    if (raw_bytes(h->type) > 1) TRY(byte_order_suits(&s->fault, name, HOST_IS_LITTLE_ENDIAN));
    h->data_at = start + length;
    return count_elements(s, name, h);
}

/* ---- writing ---------------------------------------------------------------------------- */

size_t npy_header_print(mtf_dtype type, int ndims, const int64_t *sizes,
                        char header[NPY_HEADER_ROOM])
{
    static const char version_1[8] = "\x93NUMPY\x01"; /* and 0 */
    const char       *descr = "|V1"; /* f8: NumPy has no such type, and no input reads it */
    for (int i = KNOWN_TYPES - 1; i >= 0; i--)
        if (known_types[i].type == (raw_type)type) descr = known_types[i].descr;
    const size_t start = 10, room = NPY_HEADER_ROOM;
    size_t       used = start;
    used += (size_t)snprintf(header + used, room - used,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < ndims; i++)
        used += (size_t)snprintf(header + used, room - used, i ? ", %lld" : "%lld",
                                 (long long)sizes[i]);
    used += (size_t)snprintf(header + used, room - used, ndims == 1 ? ",), }" : "), }");
    size_t total = (used + 1 + 63) / 64 * 64; /* the elements begin at a multiple of 64 */
    memset(header + used, ' ', total - used);
    header[total - 1] = '\n';
    memcpy(header, version_1, sizeof version_1);
    header[8] = (char)((total - start) & 0xff);
    header[9] = (char)((total - start) >> 8);
    return total;
}
