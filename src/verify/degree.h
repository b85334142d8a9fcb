/* How sure one trial is: degrees of a program's results. */
#ifndef VERIFY_DEGREE_H
#define VERIFY_DEGREE_H

#include "program/program.h"

/* Over a field of p elements, two different programs give the same results for random inputs and
 * variables with a probability of at most this number divided by p: the degree of the polynomials
 * that would have to agree, numerators and denominators together, plus the degrees of the operands
 * of each hash that they depend on.  -1 after an error. */
double degree_of_program(const program *p, int steps);

#endif
