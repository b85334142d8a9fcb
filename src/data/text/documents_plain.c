/* Plain text: documents are paragraphs, lines or files. */
#include <string.h>

#include "data/text/documents.h"

/* A file with a zero byte is not text. */
static bool check_text(documents *d, const input_file *f)
{
    const uint8_t *zero = f->size ? memchr(f->bytes, 0, f->size) : NULL;
    if (!zero) return true;
    return fail(&d->dataset->session->fault, ERR_FILE,
                "\"%s\" is not text: its byte %lld is zero; a file of tokens needs its format, as "
                ":format=u16",
                f->path, (long long)(zero - f->bytes + f->bytes_before));
}

static bool is_blank(const char *line, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (line[i] != ' ' && line[i] != '\t') return false;
    return true;
}

/* The text at the end of a section; what follows in the next one belongs to it as well, so that its line
 * end is kept. */
static bool add_last(documents *d, const input_file *f, text_span *text)
{
    d->unended = d->goes_on;
    if (d->goes_on) text->size = (const char *)f->bytes + f->size - text->at;
    return documents_add(d, NULL, text);
}

static bool add_lines(documents *d, const input_file *f)
{
    for (int64_t k = 0; k < f->lines.count; k++) {
        text_span line;
        line.at = lines_at(f, k, &line.size);
        if (is_blank(line.at, line.size)) continue;
        TRY(k + 1 < f->lines.count ? documents_add(d, NULL, &line) : add_last(d, f, &line));
    }
    return true;
}

/* Adds blocks of consecutive lines, with the line ends between them. */
static bool add_paragraphs(documents *d, const input_file *f)
{
    text_span now = {0};
    for (int64_t k = 0; k <= f->lines.count; k++) {
        text_span line = {0};
        if (k < f->lines.count) line.at = lines_at(f, k, &line.size);
        if (is_blank(line.at, line.size)) {
            bool last = k == f->lines.count;
            if (now.at) TRY(last ? add_last(d, f, &now) : documents_add(d, NULL, &now));
            now.at = NULL;
        } else {
            if (!now.at) now.at = line.at;
            now.size = line.at + line.size - now.at;
        }
    }
    return true;
}

bool documents_plain(documents *d, input_file *f)
{
    mtf_session *s = d->dataset->session;
    bool mark = f->bytes_before == 0 && f->size >= 3 && memcmp(f->bytes, "\xef\xbb\xbf", 3) == 0;
    if (d->pairs)
        return fail(&s->fault, ERR_USAGE,
                    "\"%s\" is plain text, but the objective needs inputs and targets; a file of "
                    "the format tsv or tfrecord has both, and objective=spans makes both of text",
                    f->path);
    TRY(check_text(d, f));
    if (mark) { /* the byte order mark is not part of the text */
        f->bytes += 3;
        f->size -= 3;
    }
    bool ok;
    if (d->opts->documents == MTF_DOCUMENTS_FILE) {
        text_span all = {(const char *)f->bytes, (int64_t)f->size};
        ok = add_last(d, f, &all);
    } else {
        ok = lines_index(s, f) &&
             (d->opts->documents == MTF_DOCUMENTS_LINE ? add_lines(d, f) : add_paragraphs(d, f));
    }
    if (mark) {
        f->bytes -= 3;
        f->size += 3;
    }
    return ok;
}
