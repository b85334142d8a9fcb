/* Sizes that operations relate, and the smallest ones that keep the relations.
 *
 * A variable is a dimension's name with one size.  Renaming makes variables equal,
 * reshaping makes one the product of others, and the distances of a sequence are
 * twice its length less one.
 */
#ifndef VERIFY_RELATIONS_H
#define VERIFY_RELATIONS_H

#include "microbatch/resize.h"
#include "space/layout.h"

typedef struct relations relations;

/* Of the graph's sizes, as `rules` lists them; NULL after an error. */
relations *relations_find(const mtf_graph *g, const layout *l, const resize_rules *rules, arena *a);
/* The number of sets of equal variables; those that are made of others do not count. */
int relations_free(const relations *r);
/* Sets the new sizes of free set `number` and of all that is made of it, -1: of every set. */
void relations_shrink(const relations *r, int number, resize_rules *rules);

/* Into how many parts the layout cuts a dimension, rules for state included. */
int64_t relations_parts(const layout *l, const char *name);
/* A small size, which is cut evenly where the old one was. */
int64_t relations_target(const layout *l, const char *name, int64_t size);

#endif
