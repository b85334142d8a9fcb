/* What training prints while it runs. */
#ifndef MODEL_PROGRESS_H
#define MODEL_PROGRESS_H

#include "base/session.h"

/* Exponentially decaying sums: their quotients are recent means. */
typedef struct recent {
    double loss, losses;             /* decay by steps */
    double examples, steps, seconds; /* decay by time */
} recent;

typedef struct progress {
    mtf_session *session;
    void (*show)(void *context, const char *text);
    void   *context;
    bool    terminal; /* a line may overwrite itself */
    bool    json, quiet;
    int64_t first, steps; /* this run begins after step `first`; steps 0: the end is unknown */
    double  begin, shown; /* seconds of the clock */
    recent  recent;
    int     standing; /* length of the line that will be overwritten; 0: none */
} progress;

/* Results of the last step. */
typedef struct progress_now {
    int64_t step, examples; /* examples 0: unknown */
    double  seconds;        /* duration, including the reading of the batch */
    double  loss;
    double  rate; /* NAN: none was named */
    double  wire; /* share of the time so far spent in collectives; NAN: one processor */
} progress_now;

progress progress_begin(mtf_session *s, void (*show)(void *, const char *), void *context);
void     progress_step(progress *p, const progress_now *now);
/* "step  20 of 100", or "step 20" where the end is unknown. */
void progress_step_text(int64_t step, int64_t steps, char *text, size_t room);
/* Recent examples a second, or steps a second where examples are not counted. */
double progress_speed(const progress *p);
/* Prints a sentence on a line of its own; with JSON on standard error. */
void progress_say(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same; told to the session's callback where progress is not shown. */
void progress_warn(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_text(progress *p, const char *text);  /* unchanged, below the current line */
void progress_asked(progress *p, const char *text); /* the same, also where progress is not shown */
void progress_end(progress *p);                     /* keeps the last line */

#endif
