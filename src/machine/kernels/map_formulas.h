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

enum { FORMULA_OPERANDS = 3, MOST_FORMULAS = 8 };

/* out[i] = value(x[i], y[i], z[i], one[0], one[1], ...); out may be x, y or z. */
typedef void map_formula(int64_t n, void *out, const void *x, const void *y, const void *z,
                         const float *one);

/* A formula found in a map: step `root` gives its value. */
typedef struct formula_place {
    formula_name name;
    int          root;
    int          neach, none;
    int16_t      each[FORMULA_OPERANDS], one[FORMULA_OPERANDS]; /* registers */
} formula_place;

typedef struct formula_places {
    int           n;
    formula_place at[MOST_FORMULAS];
    bool          inside[MAX_REGISTERS]; /* a step whose result only a formula's loop sees */
} formula_places;

/* fixed[k]: register k is one number throughout; row[k]: it is one number a row. */
formula_places formulas_of(const instr *i, const bool *fixed, const bool *row);
/* That of which step `root` gives the value; NULL: none. */
const formula_place *formula_at(const formula_places *f, int root);
map_formula         *map_formula_of(formula_name name);

typedef struct formula_tables {
    map_formula *loop[FORMULAS];
} formula_tables;

#endif
