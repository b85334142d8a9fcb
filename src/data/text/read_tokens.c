/* Converts files of tokens to text. */
#include <string.h>

#include "base/byte_order.h"
#include "data/input_file.h"
#include "data/text/token_text.h"
#include "data/text/write_tokens.h"
#include "data/token_head.h"

typedef struct reading {
    mtf_session          *session;
    const mtf_vocabulary *vocabulary;
    mtf_text_stream      *stream;
    const char           *between; /* what separates texts */
    text_taker           *take;
    void                 *context;
    tokens_written       *counts;
    bool                  open; /* a text has begun */
} reading;

static bool give(reading *r, const char *text)
{
    TRY(text != NULL);
    r->counts->bytes += (int64_t)strlen(text);
    return !*text || r->take(r->context, text);
}

static bool end_text(reading *r)
{
    TRY(give(r, mtf_text_stream_end(r->stream)));
    r->counts->texts++;
    r->open = false;
    return true;
}

static bool begin_text(reading *r)
{
    bool first = r->counts->texts == 0;
    if (r->open) return true;
    r->open = true;
    return first || !*r->between || r->take(r->context, r->between);
}

static bool choose_type(mtf_session *s, const input_file *f, const char *format,
                        const mtf_vocabulary *v, raw_type *type)
{
    static const struct {
        const char *name, *ending;
        raw_type    type;
    } known[] = {{"u16", ".u16", RAW_U16}, {"u32", ".u32", RAW_U32}};
    *type = token_type(v);
    if (token_head(f->bytes, f->size, type)) return true;
    for (int k = 0; k < 2; k++) {
        bool named =
            format ? strcmp(format, known[k].name) == 0 : strstr(f->path, known[k].ending) != NULL;
        if (named) *type = known[k].type;
        if (named) return true;
    }
    if (!format) return true;
    return fail(&s->fault, ERR_USAGE, "the format of tokens \"%s\" is none of u16 and u32", format);
}

static bool read_file(reading *r, const input_file *f, raw_type type)
{
    fault     *why = &r->session->fault;
    size_t     head = token_head(f->bytes, f->size, &type), size = raw_bytes(type);
    token_run  run = {.ids = f->bytes + head, .count = (int64_t)((f->size - head) / size)};
    token_text as = {.type = type};
    int32_t    end = mtf_vocabulary_end(r->vocabulary);
    TRY(byte_order_suits(why, f->path, HOST_IS_LITTLE_ENDIAN));
    if (f->size % size)
        return fail(
            why, ERR_FILE,
            "\"%s\" is cut short, or no file of tokens: its %zu bytes are not a multiple of "
            "%zu",
            f->path, f->size, size);
    for (int64_t k = 0; k < run.count; k++) {
        int64_t id = token_run_id(&as, &run, k);
        if (id < 0 || id >= mtf_vocabulary_size(r->vocabulary))
            return fail(why, ERR_VALUE,
                        "\"%s\": token %lld is %lld; the vocabulary has ids from 0 to %lld",
                        f->path, (long long)k, (long long)id,
                        (long long)mtf_vocabulary_size(r->vocabulary) - 1);
        r->counts->tokens++;
        TRY(begin_text(r));
        TRY(id == end ? end_text(r) : give(r, mtf_text_stream_add(r->stream, (int32_t)id)));
    }
    return !r->open || end_text(r);
}

bool tokens_read(mtf_session *s, const char *files, const char *format, const mtf_vocabulary *v,
                 const char *between, text_taker *take, void *context, tokens_written *to)
{
    const char **paths;
    int          n = input_paths(s, files, &paths);
    bool         ok = n > 0;
    *to = (tokens_written){.type = RAW_U16};
    reading r = {.session = s,
                 .vocabulary = v,
                 .stream = mtf_text_stream_new(v),
                 .between = between,
                 .take = take,
                 .context = context,
                 .counts = to};
    TRY(r.stream != NULL);
    for (int k = 0; ok && k < n; k++) {
        input_files passing = {.session = s};
        input_file *f = input_open(&passing, paths[k]);
        ok = f && choose_type(s, f, format, v, &to->type) && read_file(&r, f, to->type);
        input_close(&passing);
    }
    return ok && (!to->texts || !*between || take(context, "\n"));
}
