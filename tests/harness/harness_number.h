/* Numbers of case files as elements of tensors, and how far apart they may be. */
#ifndef HARNESS_NUMBER_H
#define HARNESS_NUMBER_H

#include "mtf.h"

/* Writes n elements of the type from text; false where there are more or fewer numbers. */
bool numbers_write(const char *text, mtf_dtype type, int64_t n, void *data);
/* Element i, as a double. */
double number_at(const void *data, mtf_dtype type, int64_t i);
bool   is_float(mtf_dtype type);

/* How far numbers may be apart: tolerance * (|expected| + scale). */
typedef struct closeness {
    double tolerance; /* below 0: the type's own                                     */
    bool   relative;  /* scale 0; else the tensor's magnitude, but from 0.1 up to 1: */
} closeness;          /* what terms of that size may lose to cancellation            */

/* Compares n elements with the numbers of `text`.  Where they differ, says the first place in
 * `error` and returns false. */
bool numbers_agree(const char *text, const void *data, mtf_dtype type, int64_t n, closeness how,
                   char *error, int room);

#endif
