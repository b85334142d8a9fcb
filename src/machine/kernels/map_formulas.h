/* Trees of a map's steps that one loop does.
 *
 * Neighbours are joined in pairs wherever one reads the other (map_joined.h).
 * Optimizers take several steps from what they read to what they store, and
 * there each pass through the first cache that is saved shows: the few formulas
 * in formulas.h are looked for in every map and done in one pass, in f32, with
 * the same roundings as step by step.
 */
#ifndef MACHINE_MAP_FORMULAS_H
#define MACHINE_MAP_FORMULAS_H

#include "program/map_form.h"

typedef enum formula_name {
#define FORMULA(name, ...) FORMULA_##name,
#include "machine/kernels/formulas.h"
    FORMULAS
} formula_name;

/* The most that one of them has, and the most of them in a map. */
enum { FORMULA_KEPT = 2, FORMULA_EACH = 5, FORMULA_ONE = 7, MOST_FORMULAS = 8 };

/* Where a loop finds what: its value, what else is stored, the elements that it reads. */
enum formula_role {
    ROLE_VALUE,
    ROLE_KEPT,
    ROLE_EACH = ROLE_KEPT + FORMULA_KEPT,
    ROLES = ROLE_EACH + FORMULA_EACH
};

/* For i in 0 .. n-1; what is written may be what is read.  None of `at` is NULL. */
typedef void map_formula(int64_t n, char *const at[ROLES], const float one[FORMULA_ONE]);

/* A formula found in a map: step `root` gives its value. */
typedef struct formula_place {
    formula_name name;
    int          root;
    int          nkept, neach, none;
    int16_t      kept[FORMULA_KEPT], each[FORMULA_EACH], one[FORMULA_ONE]; /* registers */
} formula_place;

typedef struct formula_places {
    int           n;
    formula_place at[MOST_FORMULAS];
    int16_t       turn[MAX_REGISTERS]; /* by step: in whose turn it is done, its own or a root's */
} formula_places;

/* fixed[k]: register k is one number throughout; row[k]: it is one number a row. */
formula_places formulas_of(const instr *i, const bool *fixed, const bool *row);

/* Is it done in the turn of another step? */
static inline bool formula_takes(const formula_places *f, int step)
{
    return f->turn[step] != step;
}

/* That of which step `root` gives the value; NULL: none. */
const formula_place *formula_at(const formula_places *f, int root);
map_formula         *map_formula_of(formula_name name);

typedef struct formula_tables {
    map_formula *loop[FORMULAS];
} formula_tables;

#endif
