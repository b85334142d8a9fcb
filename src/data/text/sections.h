/* Sections of text, tokenised when they are needed.
 *
 * A few of them are in memory at a time: those of the window that is being read and of the next.
 */
#ifndef DATA_TEXT_SECTIONS_H
#define DATA_TEXT_SECTIONS_H

#include <pthread.h>

#include "data/row_sections.h"
#include "data/row_stream.h"
#include "data/text/later_texts.h"

enum { LOADED_SECTIONS = 2 * WINDOW_SECTIONS + 2 };

/* One section in memory.  The thread that reads ahead must not touch the session: memory and errors of a
 * section are its own. */
typedef struct text_section {
    mtf_session   own;
    text_examples examples;
    later_texts later; /* where texts are tokenised when they are read, with the section's bytes */
    uint8_t    *bytes;
    int64_t     number, used; /* `used`: the larger, the later */
    int         readers;
} text_section;

typedef struct text_sections {
    mtf_session         *session;
    const text_examples *shape; /* what all sections have in common: options, lengths */
    documents            reading;
    const text_format   *format;
    section_rule         rule;
    bool                 later; /* texts are tokenised when they are read */
    corpus               corpus;
    row_sections         rows;

    pthread_mutex_t lock; /* of the fields below, and of the corpus */
    /* by file: its first section, as far as known; of the one after the last: all */
    int64_t      *first_of;
    int           nknown;
    int64_t      *counts; /* rows by section; -1: unknown */
    int64_t       ncounts;
    text_section *loaded[LOADED_SECTIONS];
    int           nloaded;
    int64_t       clock;
    char         *head; /* tsv: the first line of the file that was read last */
    size_t        head_size;
    int           head_of;
} text_sections;

/* Takes over the corpus, which is open. */
bool text_sections_open(text_sections *t);
void text_sections_close(text_sections *t);

/* The section of a row, with the row, until it is given back; NULL after an error.  Where texts are tokenised
 * when they are read, other readers wait meanwhile. */
text_section *text_sections_take(text_sections *t, int64_t row, fault *why);
void          text_sections_give_back(text_sections *t, text_section *s);

#endif
