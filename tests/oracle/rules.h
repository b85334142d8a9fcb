/* What the definitions of operations share. */
#ifndef ORACLE_RULES_H
#define ORACLE_RULES_H

#include "graph/node.h"
#include "oracle.h"

/* Computes the outputs, which come with type, shape and room, from the inputs. */
typedef void rule(oracle *o, const node *n, const value *const *in, value *out);

typedef struct named_rule {
    const char *op;
    rule       *rule;
} named_rule;

/* NULL-ended tables, one for each file; elementwise operations have rows of their own. */
extern const named_rule attention_rules[], sum_rules[], extreme_rules[], shape_rules[],
    index_rules[], window_rules[], control_rules[], state_rules[], random_rules[];

rule *elementwise_rule(const char *name); /* NULL where there is none */

struct oracle {
    mtf_graph *graph;
    uint64_t   seed;
    int64_t    step;
    value     *values; /* by tensor id; at NULL where not computed */
    double    *peaks;  /* by tensor id */
    number   **given; /* by tensor id: what was fed, and variables' values at the start of a step */
    number   **now;   /* by tensor id: variables' values after the assignments so far */
    const double *direction;
    int           nudged; /* tensor id, -1: none */
    double        by;
    void         *memory; /* what a step took, newest first */
    int64_t       work;   /* elements computed in this step */
    int           loops;  /* around what is being evaluated */
    char          error[200], complaint[200];
};

enum { MOST_WORK = 40 * 1000 * 1000, MOST_ITERATIONS = 100000 };

bool    oracle_fail(oracle *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
number *oracle_room(oracle *o, int64_t n); /* NULL: an error is set */
/* Evaluates a block's nodes, parameters aside. */
bool oracle_block(oracle *o, const block *b);
void oracle_bind(oracle *o, const mtf_tensor *x, const value *v);

/* ---- walking ---- */

enum { MOST_WALK = 96 };

/* All indices of some named dimensions, the last fastest. */
typedef struct walk {
    int         n;
    const char *name[MOST_WALK];
    int64_t     size[MOST_WALK], at[MOST_WALK];
    int64_t     count; /* of all indices */
} walk;

/* Where a walk is in a tensor: how far one step along each of its dimensions goes there. */
typedef struct track {
    int64_t step[MOST_WALK];
} track;

walk    walk_over(const mtf_shape *s);
void    walk_join(walk *w, const mtf_shape *s); /* dimensions that it lacks come last */
bool    walk_next(walk *w);                     /* false after the last, and starts again */
track   track_in(const walk *w, const mtf_shape *s);
int64_t track_at(const walk *w, const track *t);
int64_t stride_of(const mtf_shape *s, const char *dim); /* row-major; 0 where absent */
int     walk_find(const walk *w, const char *dim);      /* -1 where absent */

#endif
