/* Vocabularies of the SentencePiece library. */
#include <stdio.h>
#include <string.h>

#include "data/text/sentencepiece_shim.h"
#include "data/text/vocabulary.h"
#include "mtf_build.h"

#if MTF_HAVE_SENTENCEPIECE

static void close_model(void *what)
{
    sp_close(what);
}

static bool open_model(mtf_session *s, mtf_vocabulary *v, const char *path)
{
    char   words[200] = "";
    size_t size;
    char  *bytes = vocabulary_file(s, path, &size);
    TRY(bytes != NULL);
    sp_model *m = sp_open(bytes, size, words, sizeof words);
    block_free(&s->allocator, bytes);
    if (!m)
        return fail(&s->fault, ERR_FILE, "\"%s\" is not a SentencePiece model: %s", path, words);
    if (!session_at_close(s, close_model, m)) {
        sp_close(m);
        return false;
    }
    v->inside = m;
    v->own = sp_size(m);
    v->padding = sp_padding(m);
    v->end = sp_end(m);
    v->unknown = sp_unknown(m);
    if (v->end < 0)
        return fail(&s->fault, ERR_FILE, "\"%s\" has no id that ends a text, </s>", path);
    return true;
}

static bool take_ids(void *context, const int32_t *ids, size_t count)
{
    id_list *out = context;
    TRY(ids_reserve(out, (int64_t)count));
    if (count) memcpy(out->ids + out->count, ids, count * sizeof *ids);
    out->count += (int64_t)count;
    return true;
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    char words[200] = "";
    if (sp_encode(v->inside, text, n, take_ids, out, words, sizeof words)) return true;
    return fail(out->why, ERR_VALUE, "SentencePiece cannot encode a text: %s", words);
}

/* "<0x41>" */
static char byte_of(const char *piece)
{
    unsigned byte = 0;
    sscanf(piece, "<0x%x>", &byte);
    return (char)byte;
}

static const char blank[] = "\xe2\x96\x81"; /* U+2581 stands for a space */

static bool add_piece(mtf_text_stream *t, const char *piece, size_t n, bool skip_blank)
{
    for (size_t at = 0; at < n;) {
        bool is_blank = n - at >= 3 && memcmp(piece + at, blank, 3) == 0;
        if (is_blank && !(skip_blank && at == 0)) TRY(bytes_add(&t->raw, " ", 1));
        if (!is_blank) TRY(bytes_add(&t->raw, piece + at, 1));
        at += is_blank ? 3 : 1;
    }
    return true;
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    const sp_model *m = v->inside;
    size_t          size;
    sp_kind         kind;
    const char     *piece = sp_piece(m, id, &size, &kind);
    sp_leading      leading = sp_leading_blanks(m);
    bool            skip_blank = !t->begun && leading != SP_LEAVES_BLANKS;
    if (kind == SP_CONTROL) return true;
    t->begun = t->begun || leading != SP_DROPS_ALL || kind != SP_ORDINARY || size != 3 ||
               memcmp(piece, blank, 3) != 0;
    if (kind == SP_UNKNOWN) return bytes_add(&t->raw, " \xe2\x81\x87 ", 5);
    if (kind != SP_BYTE) return add_piece(t, piece, size, skip_blank);
    char byte = byte_of(piece);
    return bytes_add(&t->raw, &byte, 1);
}

#else

static bool open_model(mtf_session *s, mtf_vocabulary *v, const char *path)
{
    (void)path;
    return fail(&s->fault, ERR_USAGE,
                "the vocabulary \"%s\" needs the SentencePiece library, which this mtf was built "
                "without; Debian has it as libsentencepiece-dev",
                v->spec);
}

static bool encode(const mtf_vocabulary *v, const char *text, size_t n, id_list *out)
{
    (void)v, (void)text, (void)n, (void)out;
    return false; /* there is no vocabulary to call it with */
}

static bool decode(const mtf_vocabulary *v, int32_t id, mtf_text_stream *t)
{
    (void)v, (void)id, (void)t;
    return false;
}

#endif

const vocabulary_kind vocabulary_sentencepiece = {.name = "sentencepiece",
                                                  .place = "FILE",
                                                  .open = open_model,
                                                  .encode = encode,
                                                  .decode = decode};
