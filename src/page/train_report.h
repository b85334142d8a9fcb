/* The page of a training run: curves, evaluations, profile. */
#ifndef PAGE_TRAIN_REPORT_H
#define PAGE_TRAIN_REPORT_H

#include "page/history.h"

typedef struct train_report_opts {
    const char *path;
    const char *what;    /* the model */
    const char *command; /* what it was made of */
    int64_t     steps;   /* at the end; 0: nobody knows */
} train_report_opts;

typedef struct train_report train_report;

/* Lives in the session.  Sees whether the file can be written, where this is the first rank.  NULL
 * after an error. */
train_report *train_report_open(mtf_session *s, const train_report_opts *opts);
/* Every rank calls these three, and the first writes.  A step that was saved writes the page as it
 * stands then.  False after an error.  A report that is NULL takes everything. */
bool train_report_step(train_report *r, const mtf_train_step *now);
bool train_report_evaluation(train_report *r, int64_t step, const char *name, double value);
bool train_report_write(train_report *r, const char *how); /* "finished", ... */
/* After an error of the session: what there is, with the error's words, and without the profile, for
 * which the ranks would have to meet. */
void train_report_fail(train_report *r);

#endif
