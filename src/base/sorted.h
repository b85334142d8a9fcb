/* Numbers in their order. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

void sort_numbers(double *list, int n); /* the least first */
/* Of n durations the one that a quarter are shorter than, for those are luck, and the longest are
 * somebody else's; sorts them. */
double lower_quarter(double *took, int n);

#endif
