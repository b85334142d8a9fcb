/* Writes the tokens of texts to a file. */
#include "data/text/write_tokens.h"

#include "base/byte_order.h"
#include "base/put_file.h"
#include "data/text/documents.h"
#include "data/token_head.h"

/* Does the name tell what the file has?  Standard output has none, and goes to any program. */
static bool name_tells(const char *path)
{
    return strstr(path, ".u16") || strstr(path, ".u32") || strcmp(path, "/dev/stdout") == 0;
}

static bool write_file(mtf_session *s, const token_text *t, const char *path)
{
    piece all[] = {{token_head_of(t->type), TOKEN_HEAD},
                   {t->made, (size_t)t->made_count * raw_bytes(t->type)}};
    if (!path) return true;
    TRY(byte_order_suits(&s->fault, path, HOST_IS_LITTLE_ENDIAN));
    if (t->made_count == 0)
        return fail(&s->fault, ERR_FILE, "there is no text to write to \"%s\"", path);
    int bare = name_tells(path);
    return !mtf_is_first(s) || put_file(&s->fault, path, 2 - bare, all + bare);
}

bool tokens_write(mtf_session *s, const mtf_text_opts *opts, const char *path, tokens_written *to)
{
    const mtf_vocabulary *v = opts->vocabulary ? opts->vocabulary : mtf_vocabulary_open(s, NULL);
    mtf_dataset          *d = v ? dataset_new(s, 1) : NULL;
    TRY(d && (!path || !mtf_is_first(s) || put_file_check(&s->fault, path)));
    raw_type   type = token_type(v);
    token_text texts[SIDES] = {{.session = s, .type = type}, {.session = s, .type = type}};
    documents  read = {
         .dataset = d, .opts = opts, .vocabulary = {v, v}, .ends = true, .text = texts};
    bool ok = documents_read(&read) && write_file(s, &texts[TARGETS], path);
    *to = (tokens_written){
        .type = type, .texts = texts[TARGETS].count, .tokens = texts[TARGETS].made_count, .bytes = read.bytes};
    for (int side = 0; side < SIDES; side++) token_text_free(&texts[side]);
    return ok;
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
