/* Scores: the log probability of given texts, token by token. */
#ifndef SERVE_SCORING_H
#define SERVE_SCORING_H

#include "serve/opened_model.h"

typedef struct score_item {
    const int32_t   *prompt; /* precedes the text; or an encoder's inputs */
    int64_t          nprompt;
    const int32_t   *ids; /* the text */
    int64_t          nids;
    double          *log_probability; /* of each of its tokens: filled in; of a first token that the
                                       model cannot foresee it is 0                           */
    double           sum;
    int64_t          nalternatives; /* most probable tokens to return for each position */
    mtf_alternative *alternatives; /* [nids, nalternatives], best first: filled in where not NULL; 0
                                      for a first token that the model does not predict */
} score_item;

typedef struct scorer scorer;

/* Compiles a program for each range of lengths when it is needed, for up to `batch` texts.  Each has
 * logits in memory, so there are a few: the one not used for the longest time makes room for another.
 * NULL: no memory. */
enum { SCORER_PROGRAMS = 4 };
scorer *scorer_new(const opened_model *m, int64_t batch);
int     scorer_programs(const scorer *s); /* that are compiled */
/* Whether a text of this length can be scored; writes the reason where not.  Any thread may call it. */
bool scorer_takes(const opened_model *m, const score_item *item, char *why, size_t room);
/* Scores the first items, as many as fit into one step; returns how many, 0 after an
 * error. */
int  scorer_step(scorer *s, int n, score_item *items);
bool scorer_run(scorer *s, int n, score_item *items); /* all of them */

#endif
