/* Files of text for BERT, made rows of. */
#ifndef DATA_TEXT_BERT_TEXTS_H
#define DATA_TEXT_BERT_TEXTS_H

#include "data/text/bert_rows.h"
#include "data/text/tsv_line.h"
#include "mtf_bert.h"

/* One reading of files into rows; the options are complete. */
typedef struct bert_texts {
    mtf_session              *session;
    const mtf_bert_data_opts *opts;
    input_files              *files;
    bert_rows                *rows;
} bert_texts;

/* Calls `each` for each line of all files. */
typedef struct bert_line {
    const char *path, *text;
    int64_t     size, number; /* of its file, from 1 on */
    bool        last;         /* of its file */
} bert_line;
bool bert_lines(bert_texts *t, bool (*each)(void *context, const bert_line *line), void *context);

/* Sentences of plain text: pairs that follow each other, or do not. */
bool bert_read_sentences(bert_texts *t);
/* TSV: texts and their class. */
bool bert_read_classes(bert_texts *t);
/* TSV: questions, and where texts answer them. */
bool bert_read_questions(bert_texts *t);

/* Columns of TSV, by numbers or names with commas between them. */
enum { BERT_MOST_COLUMNS = 4 };
typedef struct bert_columns {
    int64_t column[BERT_MOST_COLUMNS];
    int     count;
    bool    header; /* the first line has names */
} bert_columns;
/* Finds the columns in the first line of a file, of which there must be `least` to `most`. */
bool bert_find_columns(const bert_texts *t, const bert_line *line, int least, int most,
                       bert_columns *c);
/* A cell of a line that must have it. */
bool bert_cell(const bert_texts *t, const bert_line *line, int64_t column, text_span *cell);
/* Leaves out ids at the end of the longer list until both together are `most`. */
void bert_shorten(int64_t *a, int64_t *b, int64_t most);

#endif
