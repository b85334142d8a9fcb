/* The catalogue: every operation, in the order of the manual. */
#include "ops/catalogue.h"

const op *const op_catalogue[] = {
#define ENTRY(name) &op_##name,
    ALL_OPS(ENTRY)
#undef ENTRY
        NULL,
};
