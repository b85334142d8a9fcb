/* Writes the tokens of texts to a file. */
#include "data/text/write_tokens.h"

#include "base/byte_order.h"
#include "base/put_file.h"
#include "data/text/passing_text.h"
#include "data/token_head.h"

enum { SECTION_BYTES = 4 << 20 }; /* texts that are longer are divided */

/* Does the name tell what the file has?  Standard output has none, and goes to any program. */
static bool name_tells(const char *path)
{
    return strstr(path, ".u16") || strstr(path, ".u32") || strcmp(path, "/dev/stdout") == 0;
}

typedef struct writing {
    mtf_session    *session;
    const char     *path; /* NULL: tokens are only counted, or another rank writes them */
    put_stream      to;
    bool            open;
    tokens_written *done;
} writing;

static bool begin_file(writing *w)
{
    fault *f = &w->session->fault;
    TRY(byte_order_suits(f, w->path, HOST_IS_LITTLE_ENDIAN) && put_open(&w->to, f, w->path));
    w->open = true;
    return name_tells(w->path) || put_piece(&w->to, f, token_head_of(w->done->type), TOKEN_HEAD);
}

static bool take_section(writing *w, const token_text *t, bool goes_on)
{
    w->done->texts += t->count - (goes_on && t->count);
    w->done->tokens += t->made_count;
    if (!w->path || !t->made_count) return true;
    TRY(w->open || begin_file(w));
    return put_piece(&w->to, &w->session->fault, t->made,
                     (size_t)t->made_count * raw_bytes(t->type));
}

static bool take_sections(writing *w, documents *d, int64_t bytes, bool *tokens)
{
    passing_text p;
    bool         ok = passing_open(&p, d, bytes), goes_on, there = true;
    *tokens = ok && p.format->tokens;
    while (ok && there && !*tokens) {
        ok = passing_next(&p, &goes_on, &there);
        ok = ok && (!there || take_section(w, &d->text[TARGETS], goes_on));
    }
    passing_close(&p);
    return ok;
}

/* Nothing is left of a file that could not be finished. */
static bool end_file(writing *w, bool ok)
{
    return w->open ? put_close(&w->to, &w->session->fault, ok) && ok : ok;
}

bool tokens_write_in_sections(mtf_session *s, const mtf_text_opts *opts, const char *path,
                              int64_t bytes, tokens_written *to)
{
    const mtf_vocabulary *v = opts->vocabulary ? opts->vocabulary : mtf_vocabulary_open(s, NULL);
    mtf_dataset          *d = v ? dataset_new(s, 1) : NULL;
    bool                  writes = path && mtf_is_first(s), tokens = false;
    TRY(d && (!writes || put_file_check(&s->fault, path)));
    raw_type type = token_type(v);
    *to = (tokens_written){.type = type};
    token_text texts[SIDES] = {{.session = s, .type = type}, {.session = s, .type = type}};
    documents  read = {
         .dataset = d, .opts = opts, .vocabulary = {v, v}, .ends = true, .text = texts};
    writing w = {.session = s, .path = writes ? path : NULL, .done = to};
    bool    ok = take_sections(&w, &read, bytes, &tokens);
    ok = end_file(&w, ok);
    to->bytes = read.bytes;
    if (tokens) to->texts = 1; /* or more */
    for (int side = 0; side < SIDES; side++) token_text_free(&texts[side]);
    if (ok && path && !to->tokens)
        return fail(&s->fault, ERR_FILE, "there is no text to write to \"%s\"", path);
    return ok;
}

bool tokens_write(mtf_session *s, const mtf_text_opts *opts, const char *path, tokens_written *to)
{
    return tokens_write_in_sections(s, opts, path, SECTION_BYTES, to);
}

int64_t mtf_text_write_tokens(mtf_session *s, const mtf_text_opts *opts, const char *path)
{
    tokens_written done;
    if (!s || !mtf_ok(s)) return -1;
    if (!opts || !opts->files || !path) {
        fail(&s->fault, ERR_USAGE, "writing tokens needs files of text and a path");
        return -1;
    }
    return tokens_write(s, opts, path, &done) ? done.tokens : -1;
}
