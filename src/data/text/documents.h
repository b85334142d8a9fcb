/* Files of text, read and tokenised. */
#ifndef DATA_TEXT_DOCUMENTS_H
#define DATA_TEXT_DOCUMENTS_H

#include "data/dataset.h"
#include "data/text/section_text.h"
#include "data/text/token_text.h"
#include "data/text/tsv_line.h"

enum { INPUTS, TARGETS, SIDES };

/* What a reader of some format fills in. */
typedef struct documents {
    mtf_dataset          *dataset; /* keeps files open whose ids stay in the file */
    const mtf_text_opts  *opts;
    const mtf_vocabulary *vocabulary[SIDES];
    bool                  pairs;   /* each example has two texts; else only targets */
    bool                  ends;    /* the end id is put after each text */
    bool                  join;    /* files of tokens need not be divided into texts */
    bool                  section; /* what is read is a section of a file, which will not stay */
    bool                  goes_on; /* the last text is not complete, so that it has no end */
    bool                  unended; /* that text has come */
    text_span             head;    /* tsv: the file's first line; at NULL: the first that is read */
    token_text           *text;    /* SIDES of them */
    id_list               ids[SIDES]; /* of the texts that are being read */
    int64_t               bytes;      /* of the texts that were encoded */
    /* Gets every text, which is then not encoded; without `pairs` the inputs are NULL.  NULL: texts are
     * encoded. */
    bool (*each)(void *context, const text_span *inputs, const text_span *targets);
    void *context;
} documents;

/* Reads all files, of any format. */
bool documents_read(documents *d);

typedef struct text_format {
    const char *name, *ending; /* the ending of files' names */
    bool (*read)(documents *d, input_file *f);
    bool        tokens; /* the file has ids, and stays open */
    text_begins begins; /* of plain text: where blank lines separate texts */
} text_format;

/* The format that the options name, else what the first bytes or the name of a file show; NULL after
 * an error. */
const text_format *documents_format(documents *d, const char *path, const uint8_t *bytes, size_t n);
/* Reads one file, or a section of one, between documents_begin and documents_end, which keeps `ok`. */
bool documents_read_file(documents *d, const text_format *as, input_file *f);
void documents_begin(documents *d);
bool documents_end(documents *d, bool ok);

/* A pair, or a single text with inputs NULL; texts without any ids are left out. */
bool documents_add(documents *d, const text_span *inputs, const text_span *targets);
/* The same for ids that are in d->ids already. */
bool documents_add_ids(documents *d);

/* Formats; each reads one file. */
bool documents_plain(documents *d, input_file *f);    /* documents_plain.c    */
bool documents_tsv(documents *d, input_file *f);      /* documents_tsv.c      */
bool documents_tfrecord(documents *d, input_file *f); /* documents_tfrecord.c */
bool documents_tokens(documents *d, input_file *f);   /* documents_tokens.c   */

#endif
