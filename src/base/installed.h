/* Finds what was installed with mtf: configurations, descriptions of machines, data. */
#ifndef BASE_INSTALLED_H
#define BASE_INSTALLED_H

#include <stdbool.h>

/* Calls `visit` with folders that may hold files of this kind ("gin", "machines", "data") until it
 * returns true: that of the installation, then those beside the running program, in case the
 * installation was moved or the program runs from its build folder. */
bool installed_each(const char *kind, bool (*visit)(void *context, const char *folder),
                    void       *context);

#endif
