/* The page of a training run: curves, evaluations, profile. */
#ifndef PAGE_TRAIN_REPORT_H
#define PAGE_TRAIN_REPORT_H

#include "page/example_picture.h"
#include "page/history.h"

/* Another run, drawn beside this one. */
typedef struct report_beside {
    const char *name; /* in the legend */
    const char *path; /* of its page, for messages */
    const char *text; /* of its page */
} report_beside;

typedef struct train_report_opts {
    const char *path;
    const char *what;    /* the model */
    const char *command; /* the command line */
    const char *model;   /* all its settings: a line, or those of a configuration, one a line */
    int64_t     steps;   /* the last step; 0: unknown */
    double      peak;    /* flops a second of a processor's machine; 0: unknown */
    const char *machine; /* its name; NULL: none was given */
    int         nbeside;
    const report_beside *beside; /* in the first rank */
} train_report_opts;

typedef struct train_report train_report;

/* A run's name in legends: the path of its page without its ending, in the arena; NULL: no memory. */
const char *train_report_name(const char *path, arena *a);
/* Lives in the session.  In the first rank, checks that the file can be written, and reads the other runs.
 * NULL after an error. */
train_report *train_report_open(mtf_session *s, const train_report_opts *opts);
/* Every rank calls these four, and the first writes.  The page is written after each step that was
 * saved.  False after an error.  A NULL report is ignored. */
bool train_report_step(train_report *r, const mtf_train_step *now);
bool train_report_evaluation(train_report *r, int64_t step, const char *name, double value);
bool train_report_write(train_report *r, const char *how); /* "finished", ... */
/* What later pages show as examples, in place of earlier ones; the elements stay where they are. */
bool train_report_examples(train_report *r, int n, const example_picture *pictures);
/* After an error of the session: writes the page with the error message, but without the profile, which
 * would need communication between ranks. */
void train_report_fail(train_report *r);

#endif
