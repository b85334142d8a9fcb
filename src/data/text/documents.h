/* Files of text, read and tokenised. */
#ifndef DATA_TEXT_DOCUMENTS_H
#define DATA_TEXT_DOCUMENTS_H

#include "data/dataset.h"
#include "data/text/token_text.h"

enum { INPUTS, TARGETS, SIDES };

typedef struct text_span {
    const char *at;
    int64_t     size;
} text_span;

/* What a reader of some format fills in. */
typedef struct documents {
    mtf_dataset          *dataset; /* keeps files open whose ids stay in the file */
    const mtf_text_opts  *opts;
    const mtf_vocabulary *vocabulary[SIDES];
    bool                  pairs;      /* each example has two texts; else only targets */
    bool                  ends;       /* the end id is put after each text */
    bool                  join;       /* files of tokens need not be divided into texts */
    token_text           *text;       /* SIDES of them */
    id_list               ids[SIDES]; /* of the texts that are being read */
    int64_t               bytes;      /* of the texts that were encoded */
    /* Gets every text, which is then not encoded; without `pairs` the inputs are NULL.  NULL: texts are
     * encoded. */
    bool (*each)(void *context, const text_span *inputs, const text_span *targets);
    void *context;
} documents;

/* Reads all files, of any format. */
bool documents_read(documents *d);

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
