/* Runs a case in its own session and keeps the results. */
#ifndef HARNESS_RUN_H
#define HARNESS_RUN_H

#include "harness_case.h"
#include "mtf.h"

enum { ERROR_ROOM = 600 };

/* What a session took from its allocator. */
typedef struct allocations {
    long calls, live;
} allocations;

/* The value of one expected tensor. */
typedef struct fetched {
    mtf_dtype type;
    int64_t   n;
    char      shape[256];
    void     *data;
} fetched;

typedef struct case_run {
    fetched *values;     /* one for each expectation */
    long     step_calls; /* allocations during one more step */
    long     live;       /* allocations that mtf_close left behind */
    int64_t  peak_bytes;
    bool     products; /* by a library that may round otherwise on another number of threads */
    char     error[ERROR_ROOM];
} case_run;

mtf_session *open_counted(allocations *count, const char *device, int threads);
/* Where the session has an error, copies it and returns true. */
bool copy_error(const mtf_session *s, const char *doing, char *error);
/* Feeds an input or sets a variable. */
bool give(mtf_program *p, mtf_tensor *x, const case_values *v, const void *data);

/* Runs the case's steps on the device; false: see error.  Free the run in either case. */
bool run_case(const test_case *c, const char *device, int threads, case_run *r);
void run_free(const test_case *c, case_run *r);

/* Counts derivatives against central differences, one order after the other, each in f64. */
int check_gradients(const test_case *c, int *failed, char *error);

#endif
