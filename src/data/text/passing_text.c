/* Files of text of any size, tokenised section by section.
 *
 * What the texts of a section become is given away before the next section is read: the memory that this takes
 * does not depend on the files.
 */
#include "data/text/passing_text.h"

#include <string.h>

/* The first line of a file, in which columns may have names. */
typedef struct first_line {
    char  *text;
    size_t size;
} first_line;

typedef struct passing {
    documents          *d;
    const text_format  *format;
    section_rule        rule;
    corpus              corpus;
    first_line          head;
    text_section_taker *take;
    void               *context;
} passing;

static bool keep_head(passing *p, const section_text *text)
{
    mtf_session *s = p->d->dataset->session;
    const void  *end = memchr(text->bytes, '\n', text->size);
    p->head.size = end ? (size_t)((const uint8_t *)end - text->bytes) : text->size;
    if (p->head.size && text->bytes[p->head.size - 1] == '\r') p->head.size--;
    block_free(&s->allocator, p->head.text);
    p->head.text = block_alloc(&s->allocator, &s->fault, p->head.size + 1, false);
    TRY(p->head.text != NULL);
    memcpy(p->head.text, text->bytes, p->head.size);
    return true;
}

static int64_t count_lines(const section_text *text)
{
    int64_t        n = 0;
    const uint8_t *end = text->bytes + text->size;
    for (const uint8_t *at = text->bytes; at < end && (at = memchr(at, '\n', (size_t)(end - at)));
         at++)
        n++;
    return n;
}

/* The texts of one section go to d->text, and from there to the taker. */
static bool pass_section(passing *p, const section_text *text, input_file *as)
{
    mtf_session *s = p->d->dataset->session;
    documents    read = *p->d;
    read.section = true;
    read.goes_on = text->goes_on;
    read.bytes = 0;
    as->bytes = text->bytes;
    as->size = text->size;
    as->bytes_before = text->at;
    if (text->at == 0) TRY(p->rule.begins != BEGINS_ROW || keep_head(p, text));
    if (text->at > 0) read.head = (text_span){p->head.text, (int64_t)p->head.size};
    documents_begin(&read);
    bool ok = documents_end(&read, documents_read_file(&read, p->format, as));
    as->lines_before += count_lines(text);
    as->records_before += as->records.count;
    block_free(&s->allocator, as->lines.at);
    block_free(&s->allocator, as->records.at);
    as->lines = as->records = (place_index){0};
    p->d->bytes += read.bytes;
    ok = ok && p->take(p->context, p->d->text, text->goes_on);
    for (int side = 0; side < SIDES; side++) token_text_empty(&p->d->text[side]);
    return ok;
}

static bool pass_file(passing *p, corpus_file *f)
{
    mtf_session *s = p->d->dataset->session;
    input_file   as = {.path = f->path};
    bool         there = true, ok = true;
    for (int64_t k = 0; ok && there; k++) {
        section_text text = {0};
        TRY(section_text_read(&p->corpus, f, &p->rule, k, &s->allocator, &text, &there, &s->fault));
        if (there) ok = pass_section(p, &text, &as);
        block_free(&s->allocator, text.bytes);
    }
    return ok;
}

static section_rule rule_of(const documents *d, const text_format *as, int64_t bytes)
{
    section_rule rule = {
        .begins = as->begins, .divides = true, .bytes = bytes, .crc = &d->dataset->crc};
    if (as->begins != BEGINS_PARAGRAPH) return rule;
    if (d->opts->documents == MTF_DOCUMENTS_LINE) rule.begins = BEGINS_LINE;
    if (d->opts->documents == MTF_DOCUMENTS_FILE) rule.begins = BEGINS_FILE;
    return rule;
}

static bool pass_all(passing *p, int64_t bytes, bool *tokens)
{
    mtf_session *s = p->d->dataset->session;
    corpus_file *first = &p->corpus.files[0];
    uint8_t      head[64];
    size_t       got;
    TRY(corpus_read(&p->corpus, first, 0, head, sizeof head, &got, &s->fault));
    TRY((p->format = documents_format(p->d, first->path, head, got)) != NULL);
    *tokens = p->format->tokens;
    p->rule = rule_of(p->d, p->format, bytes);
    for (int i = 0; !*tokens && i < p->corpus.nfiles; i++) TRY(pass_file(p, &p->corpus.files[i]));
    return true;
}

bool passing_text_read(documents *d, int64_t bytes, text_section_taker *take, void *context,
                       bool *tokens)
{
    mtf_session *s = d->dataset->session;
    passing      p = {.d = d, .take = take, .context = context};
    TRY(corpus_open(s, d->opts->files, &p.corpus));
    bool ok = pass_all(&p, bytes, tokens);
    corpus_close(&p.corpus);
    block_free(&s->allocator, p.head.text);
    return ok;
}
