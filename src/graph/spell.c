/* How names, strings and numbers are written in .mtf text. */
#include "graph/spell.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "base/printable.h"

/* Words that have another meaning in the grammar; names equal to one are quoted. */
static const char *const grammar[] = {"_", "dim", "yield", "nan", "inf"};

bool name_is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!*name || !strchr(letters, *name)) return false;
    const char *rest = name + strspn(name, letters);
    while (*rest && (strchr(letters, *rest) || strchr("0123456789/", *rest))) rest++;
    if (*rest) return false;
    for (size_t i = 0; i < sizeof grammar / sizeof *grammar; i++)
        if (strcmp(name, grammar[i]) == 0) return false;
    return true;
}

void spell_text(textbuf *t, const char *text)
{
    text_add(t, "\"");
    for (int n; *text; text += n ? n : 1) {
        n = printable_bytes(text);
        if (*text == '\n')
            text_add(t, "\\n");
        else if (!n)
            text_add(t, "\\x%02x", (unsigned char)*text);
        else
            text_add(t, "%s%.*s", *text == '"' || *text == '\\' ? "\\" : "", n, text);
    }
    text_add(t, "\"");
}

void spell_name(textbuf *t, const char *name)
{
    if (name_is_plain(name))
        text_add(t, "%s", name);
    else
        spell_text(t, name);
}

void spell_dim(textbuf *t, mtf_dim dim)
{
    spell_name(t, dim.name);
    text_add(t, "=%lld", (long long)dim.size);
}

void spell_type_and_shape(textbuf *t, mtf_dtype type, const mtf_shape *shape)
{
    text_add(t, "%s[", mtf_dtype_name(type));
    for (int i = 0; i < shape->ndims; i++) {
        if (i) text_add(t, ", ");
        spell_dim(t, shape->dims[i]);
    }
    text_add(t, "]");
}

/* Is `text`, read as a double and stored as `type`, the value? */
static bool reads_back(const char *text, double value, mtf_dtype type)
{
    scalar want = {.whole = 0}, got = {.whole = 0}; /* 8 bytes: room for an element of any type */
    dtype_store(type, &want, 0, value);
    dtype_store(type, &got, 0, number_read(text, NULL));
    return want.whole == got.whole;
}

void spell_real(textbuf *t, double value, mtf_dtype type)
{
    if (isnan(value) || isinf(value)) {
        text_add(t, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    /* Up to `sure` digits survive a conversion to the type and back, so a number with no more
     * digits prints exactly at `sure`; %g drops the zeros.  Subnormal numbers hold fewer. */
    static const struct {
        int    sure;
        double smallest;
    } precision[DTYPES] = {
        [MTF_F32] = {6, 0x1p-126},   [MTF_BF16] = {2, 0x1p-126}, [MTF_F16] = {3, 0x1p-14},
        [MTF_F64] = {15, 0x1p-1022}, [MTF_F8E4M3] = {0, 0x1p-6}, [MTF_F8E5M2] = {0, 0x1p-14}};
    int  digits = fabs(value) >= precision[type].smallest ? precision[type].sure : 1;
    char text[40];
    if (fabs(value) < 1e7 && value == trunc(value)) digits = 7; /* 65504, not 6.55e+04 */
    do number_format(text, sizeof text, "%.*g", digits, value);
    while (!reads_back(text, value, type) && ++digits <= 17);
    text_add(t, "%s", text);
}
