/* Layouts to begin a search with: those that people write. */
#ifndef SEARCH_STARTS_H
#define SEARCH_STARTS_H

#include "search/space.h"

/* `rules` are sets of rules with "|" between them, or NULL.  First comes each set as it is, without rules for axes
 * that the mesh lacks.  Dimensions that rules such as "batch:data,d_ff:model,heads:model" cut along one axis
 * belong together: then come the legal layouts that cut such groups along the axes of the mesh, whatever their
 * names, in every way: groups of each set, and of the rules that are usual for Transformers.  False: no memory. */
bool starts_list(const space *s, const char *rules, arena *a, cuts **list, int *n);

#endif
