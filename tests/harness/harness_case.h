/* A case file: .mtf text whose comments say what to feed and what to expect.
 *
 *     #< x = 1 2 3            feed an input or set a variable
 *     #> y = 2 4 6            expect; `#> y: [a=3] = ...` checks the shape, too
 *     #~ 1e-6                 tolerance in place of the type's own
 *     #! gradient 2           derivatives up to this order by central differences; default 1
 *     #! steps 3              expectations hold after this many steps; default 1
 *     #! relative             the tolerance is purely relative
 *     #! nan                  NaN arises on purpose: not for the check device
 *     #! outside              an index is out of range on purpose: the check device must say so
 */
#ifndef HARNESS_CASE_H
#define HARNESS_CASE_H

#include <stdbool.h>

/* One directive: a name, a shape where given, numbers as text. */
typedef struct case_values {
    char *name, *shape, *numbers;
    bool  variable;
} case_values;

typedef struct test_case {
    const char  *path; /* as messages name it */
    char        *text;
    int          nfeeds, nexpected;
    case_values *feeds, *expected;
    double       tolerance; /* below 0: by type */
    int          gradient, steps;
    bool         relative, nan, outside;
} test_case;

/* Reads a file; where that fails says why in `error` and returns false. */
bool case_read(test_case *c, const char *file, const char *path, char *error, int room);
/* The same with a text, which the case owns from now on. */
bool case_take(test_case *c, char *text, const char *path, char *error, int room);
void case_free(test_case *c);
/* The text with every element type f32, bf16, f16 replaced by f64; to be freed. */
char *case_in_f64(const test_case *c);

#endif
