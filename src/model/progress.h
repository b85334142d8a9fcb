/* What a training shows while it runs. */
#ifndef MODEL_PROGRESS_H
#define MODEL_PROGRESS_H

#include "base/session.h"

/* Sums in which what is long ago counts less and less: their quotients are recent means. */
typedef struct recent {
    double loss, losses;             /* by steps */
    double examples, steps, seconds; /* by time */
} recent;

typedef struct progress {
    mtf_session *session;
    void (*show)(void *context, const char *text);
    void   *context;
    bool    terminal; /* a line may overwrite itself */
    bool    json, quiet;
    int64_t first, steps; /* this run begins after step `first`; steps 0: nobody knows the end */
    double  begin, shown; /* seconds of the clock */
    recent  recent;
    int     standing; /* characters of the line that will be overwritten; 0: none */
} progress;

/* Of the step that has just ended. */
typedef struct progress_now {
    int64_t step, examples; /* examples 0: nothing counts them */
    double  seconds;        /* that it took, with its batch */
    double  loss;
    double  rate; /* NAN: nobody asked for it */
    double  wire; /* share of the time so far; NAN: one processor */
} progress_now;

progress progress_begin(mtf_session *s, void (*show)(void *, const char *), void *context);
void     progress_step(progress *p, const progress_now *now);
/* Examples a second of late, or steps where nothing counts examples. */
double progress_speed(const progress *p);
/* A sentence of its own line; with JSON it goes where errors go. */
void progress_say(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void progress_text(progress *p, const char *text); /* as it is, below what stands there */
void progress_end(progress *p);                    /* the last line stays */

#endif
