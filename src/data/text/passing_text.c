/* Files of text of any size, read section by section.
 *
 * What the texts of a section become is used up before the next section is read: the memory that this takes
 * does not depend on the files.
 */
#include "data/text/passing_text.h"

#include <string.h>

static bool keep_head(passing_text *p, const section_text *text)
{
    mtf_session *s = p->d->dataset->session;
    const void  *end = memchr(text->bytes, '\n', text->size);
    p->head_size = end ? (size_t)((const uint8_t *)end - text->bytes) : text->size;
    if (p->head_size && text->bytes[p->head_size - 1] == '\r') p->head_size--;
    block_free(&s->allocator, p->head);
    p->head = block_alloc(&s->allocator, &s->fault, p->head_size + 1, false);
    TRY(p->head != NULL);
    memcpy(p->head, text->bytes, p->head_size);
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

static bool pass_section(passing_text *p, const section_text *text)
{
    mtf_session *s = p->d->dataset->session;
    documents    read = *p->d;
    input_file  *as = &p->as;
    read.section = true;
    read.goes_on = text->goes_on;
    read.bytes = 0;
    as->bytes = text->bytes;
    as->size = text->size;
    as->bytes_before = text->at;
    if (text->at == 0) TRY(p->rule.begins != BEGINS_ROW || keep_head(p, text));
    if (text->at > 0) read.head = (text_span){p->head, (int64_t)p->head_size};
    for (int side = 0; side < SIDES; side++) token_text_empty(&p->d->text[side]);
    documents_begin(&read);
    bool ok = documents_end(&read, documents_read_file(&read, p->format, as));
    as->lines_before += count_lines(text);
    as->records_before += as->records.count;
    block_free(&s->allocator, as->lines.at);
    block_free(&s->allocator, as->records.at);
    as->lines = as->records = (place_index){0};
    p->d->bytes += read.bytes;
    return ok;
}

bool passing_next(passing_text *p, bool *goes_on, bool *there)
{
    mtf_session *s = p->d->dataset->session;
    bool         ok = true;
    for (*there = *goes_on = false; ok && !*there && p->file < p->corpus.nfiles;) {
        section_text text = {0};
        corpus_file *f = &p->corpus.files[p->file];
        p->as.path = f->path;
        TRY(section_text_read(&p->corpus, f, &p->rule, p->section++, &s->allocator, &text, there,
                              &s->fault));
        if (*there) {
            *goes_on = text.goes_on;
            ok = pass_section(p, &text);
        } else {
            p->file++;
            p->section = 0;
            p->as = (input_file){0};
        }
        block_free(&s->allocator, text.bytes);
    }
    return ok;
}

static section_rule rule_of(const documents *d, const text_format *as, int64_t bytes)
{
    section_rule rule = {
        .begins = as->begins, .divides = !d->each, .bytes = bytes, .crc = &d->dataset->crc};
    if (as->begins != BEGINS_PARAGRAPH) return rule;
    if (d->opts->documents == MTF_DOCUMENTS_LINE) rule.begins = BEGINS_LINE;
    if (d->opts->documents == MTF_DOCUMENTS_FILE) rule.begins = BEGINS_FILE;
    return rule;
}

bool passing_open(passing_text *p, documents *d, int64_t bytes)
{
    mtf_session *s = d->dataset->session;
    uint8_t      head[64];
    size_t       got;
    *p = (passing_text){.d = d};
    TRY(corpus_open(s, d->opts->files, &p->corpus));
    corpus_file *first = &p->corpus.files[0];
    TRY(corpus_read(&p->corpus, first, 0, head, sizeof head, &got, &s->fault));
    TRY((p->format = documents_format(d, first->path, head, got)) != NULL);
    p->rule = rule_of(d, p->format, bytes);
    return true;
}

void passing_close(passing_text *p)
{
    corpus_close(&p->corpus);
    block_free(&p->d->dataset->session->allocator, p->head);
    p->head = NULL;
}
