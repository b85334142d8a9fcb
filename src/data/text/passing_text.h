/* Files of text of any size, read section by section. */
#ifndef DATA_TEXT_PASSING_TEXT_H
#define DATA_TEXT_PASSING_TEXT_H

#include "data/text/documents.h"

/* Where a reading has come to. */
typedef struct passing_text {
    documents         *d;
    const text_format *format;
    section_rule       rule;
    corpus             corpus;
    char              *head; /* the first line of a file, in which columns may have names */
    size_t             head_size;
    int                file;
    int64_t            section; /* of the file, the next one */
    input_file         as;      /* the file, and what of it has passed */
} passing_text;

/* Opens the files that d->opts names, to be read in sections of so many bytes.  Texts that are longer are
 * divided, at the ends of lines; where each text is given to d->each, its rest is left out.  Nothing can be
 * read where the format has tokens.  False after an error; to be closed in any case. */
bool passing_open(passing_text *p, documents *d, int64_t bytes);
/* Reads the next section, whose texts go to d->text, or to d->each.  *goes_on: the last is not complete.
 * *there is false after the last section. */
bool passing_next(passing_text *p, bool *goes_on, bool *there);
void passing_close(passing_text *p);

#endif
