/* A few of many in a row, and how many each of them stands for. */
#ifndef PRICE_REPRESENTATIVES_H
#define PRICE_REPRESENTATIVES_H

/* Fewer than these are not a sample: the first two and the last two, which may differ most from the others. */
enum { SAMPLE_LEAST = 4 };

/* Which of n is the k-th of those taken; SAMPLE_LEAST of them or more, or all.  Those between the ends are evenly
 * spaced. */
int sample_place(int n, int taken, int k);
/* Shares out the counts of all n to those taken, `share`, which has the same sum.  One in between goes to both of its
 * neighbours, more to the nearer: so the sum of what grows evenly along the row stays the same, but for rounding. */
void sample_share(int n, int taken, const int *count, int *share);

#endif
