/* The vocabulary of bytes, with the ids of ByT5. */
#include "data/text/vocabulary.h"

enum { FIRST_BYTE = 3 };

static bool open_bytes(mtf_session *s, mtf_vocabulary *v, const char *place)
{
    (void)s, (void)place; /* it needs no file */
    v->own = FIRST_BYTE + 256;
    v->padding = 0;
    v->end = 1;
    v->unknown = 2;
    return true;
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    (void)v;
    TRY(ids_reserve(out, (int64_t)n));
    for (size_t i = 0; i < n; i++) out->ids[out->count++] = (uint8_t)text[i] + FIRST_BYTE;
    return true;
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    (void)v;
    char byte = (char)(id - FIRST_BYTE);
    return id < FIRST_BYTE || bytes_add(&t->raw, &byte, 1);
}

const vocabulary_kind vocabulary_bytes = {
    .name = "bytes", .open = open_bytes, .encode = encode, .decode = decode};
