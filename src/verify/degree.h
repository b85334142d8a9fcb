/* How sure one trial is: degrees of a program's results. */
#ifndef VERIFY_DEGREE_H
#define VERIFY_DEGREE_H

#include "program/program.h"

/* Over a field of p elements, two different programs give the same results with a chance of at most
 * this number divided by p, for inputs and variables drawn at random: the degree of the polynomials
 * that would have to agree, numerators and denominators together, and for each hash on the way the
 * degree of its operands.  -1 after an error. */
double degree_of_program(const program *p, int steps);

#endif
