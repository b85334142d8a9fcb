/* Sorted numbers. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

void sort_numbers(double *list, int n); /* the least first */
/* The lower quartile of n durations, which it sorts: shorter ones are luck, and other processes
 * caused the longest. */
double lower_quarter(double *took, int n);

#endif
