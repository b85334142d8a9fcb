/* How busy the cores of this machine are, with whatever runs on them. */
#ifndef BASE_CORE_LOAD_H
#define BASE_CORE_LOAD_H

#include <stdbool.h>

typedef struct core_load {
    double busy; /* cores that were not idle */
    int    all;
} core_load;

/* Looks for a fifth of a second, in which the caller does nothing; false where the system does not say. */
bool load_measure(core_load *l);

#endif
