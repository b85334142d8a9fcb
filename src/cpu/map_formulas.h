/* Trees of a map's steps that one loop computes.
 *
 * Neighbouring steps are joined in pairs where one reads the other
 * (map_joined.h).  Optimizers take several steps from operands to results, so
 * each pass over the L1 cache that is saved is noticeable: every map is
 * searched for the few formulas of formulas.h, which are computed in one pass,
 * in f32, with the same roundings as step by step.
 */
#ifndef CPU_MAP_FORMULAS_H
#define CPU_MAP_FORMULAS_H

#include "program/map_form.h"

typedef enum formula_name {
#define FORMULA(name, ...) FORMULA_##name,
#include "cpu/formulas.h"
    FORMULAS
} formula_name;

/* The most operands of each kind in a formula, and the most formulas in a map. */
enum { FORMULA_KEPT = 2, FORMULA_EACH = 5, FORMULA_ONE = 7, MOST_FORMULAS = 8 };

/* The index in `at`: of the formula's value, of other stored results, of the elements that it
 * reads. */
enum formula_role {
    ROLE_VALUE,
    ROLE_KEPT,
    ROLE_EACH = ROLE_KEPT + FORMULA_KEPT,
    ROLES = ROLE_EACH + FORMULA_EACH
};

/* Computes elements 0 .. n-1; results may overwrite operands.  None of `at` is NULL. */
typedef void map_formula(int64_t n, char *const at[ROLES], const float one[FORMULA_ONE]);

/* A formula found in a map: step `root` computes its value. */
typedef struct formula_place {
    formula_name name;
    int          root;
    int          nkept, neach, none;
    int16_t      kept[FORMULA_KEPT], each[FORMULA_EACH], one[FORMULA_ONE]; /* registers */
} formula_place;

typedef struct formula_places {
    int           n;
    formula_place at[MOST_FORMULAS];
    int16_t       root[MAX_REGISTERS]; /* by step: itself, or the formula's root that computes it */
} formula_places;

/* fixed[k]: register k is constant; row[k]: it has one value per row. */
formula_places formulas_of(const instr *i, const bool *fixed, const bool *row);

/* Is the step computed by a formula, at another step? */
static inline bool formula_takes(const formula_places *f, int step)
{
    return f->root[step] != step;
}

/* The formula whose value step `root` computes; NULL: none. */
const formula_place *formula_at(const formula_places *f, int root);
map_formula         *map_formula_of(formula_name name);

typedef struct formula_tables {
    map_formula *loop[FORMULAS];
} formula_tables;

#endif
