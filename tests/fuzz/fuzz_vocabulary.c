/* Gives arbitrary bytes to the readers of vocabularies and to their encoders.
 *
 * The first byte says which kind; the rest, up to a byte 255, is its file, and the bytes after it are a
 * text.  For byte pairs the first part is vocab.json, and the next one merges.txt.  Encoded text must be
 * decoded to the same UTF-8 all at once and piece by piece.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mtf_text.h"

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void put(const char *path, const uint8_t *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0) abort();
}

static void check_utf8(const char *text, size_t n)
{
    size_t   taken;
    uint32_t character;
    for (size_t at = 0; at < n; at += taken)
        if (utf8_take(text + at, n - at, &taken, &character) != UTF8_CHARACTER) abort();
}

static void check_stream(mtf_vocabulary *v, const int32_t *ids, int64_t n, const char *whole)
{
    mtf_text_stream *t = mtf_text_stream_new(v);
    size_t           at = 0;
    for (int64_t i = 0; i <= n; i++) {
        const char *more = i < n ? mtf_text_stream_add(t, ids[i]) : mtf_text_stream_end(t);
        if (!more || strncmp(whole + at, more, strlen(more)) != 0) abort();
        at += strlen(more);
    }
    if (at != strlen(whole)) abort();
}

static void use(mtf_vocabulary *v, const char *text, size_t n)
{
    int64_t count = mtf_vocabulary_encode(v, text, (int64_t)n, NULL, 0);
    if (count < 0) return;
    int32_t *ids = calloc((size_t)count + 1, sizeof *ids);
    mtf_vocabulary_encode(v, text, (int64_t)n, ids, count);
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= mtf_vocabulary_size(v)) abort();
    int64_t size = mtf_vocabulary_decode(v, ids, count, NULL, 0);
    char   *back = malloc((size_t)size + 1);
    mtf_vocabulary_decode(v, ids, count, back, size + 1);
    check_utf8(back, (size_t)size);
    if (strlen(back) == (size_t)size) check_stream(v, ids, count, back);
    free(back);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const kinds[] = {"bytes",
                                        "words:%s/words",
                                        "subwords:%s/words",
                                        "gpt2:%s",
                                        "gpt2:tests/text/pairs",
                                        "sentencepiece:%s/words",
                                        "sentencepiece:tests/text/bytes.model"};
    static char              folder[] = "/tmp/mtf_fuzz_XXXXXX";
    char                     path[100], spec[100];
    if (n == 0) return 0;
    if (folder[strlen(folder) - 1] == 'X' && !mkdtemp(folder)) abort();
    const uint8_t *split = memchr(bytes + 1, 255, n - 1), *end = bytes + n;
    if (!split) split = end;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder,
                 (const char *[]){"words", "vocab.json", "merges.txt"}[i]);
        put(path, bytes + 1, (size_t)(split - bytes - 1));
    }
    const char *kind = kinds[bytes[0] % 7], *place = strchr(kind, '%');
    snprintf(spec, sizeof spec, "%.*s%s%s", place ? (int)(place - kind) : 80, kind,
             place ? folder : "", place ? place + 2 : "");
    mtf_session    *s = mtf_open_with(NULL);
    mtf_vocabulary *v = mtf_vocabulary_open(s, spec);
    if (v)
        use(v, (const char *)(split < end ? split + 1 : end),
            (size_t)(split < end ? end - split - 1 : 0));
    mtf_close(s);
    return 0;
}
