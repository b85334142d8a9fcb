/* Texts as token ids, one after another.
 *
 * Ids that were made here lie in memory, in two bytes each where the vocabulary is small enough;
 * those of a file of tokens stay in the file.
 */
#ifndef DATA_TEXT_TOKEN_TEXT_H
#define DATA_TEXT_TOKEN_TEXT_H

#include "base/raw_type.h"
#include "data/text/vocabulary.h"

/* Ids that are contiguous in memory. */
typedef struct token_run {
    const uint8_t *ids;
    const char    *path;         /* of a file of tokens, whose ids are not checked yet */
    int64_t        first, count; /* its ids: numbers among all */
    int64_t        first_window; /* where windows are cut: the number of its first */
} token_run;

/* Part of the ids: one text, or some of it. */
typedef struct stretch {
    int64_t at, length;
} stretch;

typedef struct token_text {
    mtf_session *session;
    raw_type     type; /* RAW_U16 or RAW_U32 */
    token_run   *runs;
    int          nruns, runs_room;
    uint8_t     *made; /* the only run, where ids are made here */
    int64_t      made_count, made_room;
    stretch     *texts; /* NULL: the runs are not divided into texts */
    int64_t      count, room;
} token_text;

raw_type token_type(const mtf_vocabulary *v); /* the smaller one that holds all its ids */
/* Appends a text; the caller checks that ids are in the vocabulary. */
bool token_text_add(token_text *t, const int32_t *ids, int64_t n);
bool token_text_add_stretch(token_text *t, stretch s);
bool token_text_add_run(token_text *t, token_run run);
/* Call it after the last text: makes a run of the ids. */
bool token_text_finish(token_text *t);
/* Or after each text, which it gives: the ids so far are a run, and no list of texts is kept. */
bool token_text_take(token_text *t, stretch *text);
void token_text_free(token_text *t);
/* Forgets all texts, and keeps the room for others. */
void token_text_empty(token_text *t);
/* Frees what only adding needs: the room for more ids, and where texts begin. */
bool token_text_fit(token_text *t);

/* The run that has an id, by the id's number. */
const token_run *token_text_run(const token_text *t, int64_t at);
/* The address of the ids of a stretch, which is in one run. */
const uint8_t *token_text_ids(const token_text *t, stretch s);
int64_t        token_text_id(const token_text *t, int64_t at);
/* Id number i of a run. */
int64_t token_run_id(const token_text *t, const token_run *run, int64_t i);

#endif
