/* Configurables: functions with parameters that files can bind.
 *
 * Each function or class of the original that has parameters is a constant struct with a table of them:
 * name, type, default, and the offset of the value.  A call in a scope takes, for each parameter, the
 * caller's argument, else the binding in the longest scope that contains the call, else the default,
 * and records it for the operative configuration.
 */
#ifndef MODEL_CONFIGURABLE_H
#define MODEL_CONFIGURABLE_H

#include "model/config/known.h"

typedef struct operative {
    const char *scope, *name, *parameter, *value;
} operative;

struct mtf_config {
    gin_file   gin;
    bool       skip_unknown;
    operative *operatives;
    int        noperatives, room;
};

/* Finds a configurable by its name or a suffix of it; NULL where there is none or several, which is an
 * error at the place, unless `quiet`. */
const configurable *configurable_find(mtf_config *c, const char *selector, const gin_place *at,
                                      bool quiet);

/* Calls it in a scope: fills in the struct `to`, which its table describes.  `given`, a dictionary or
 * NULL, holds the caller's arguments. */
bool configure(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
               void *to);
/* The place of this parameter's binding, for errors; without a file where it has its default. */
gin_place configured_at(mtf_config *c, const configurable *k, const char *scope,
                        const char *parameter);

/* Checks that every binding has a known name; false after an error. */
bool check_names(mtf_config *c);
/* Makes a note for each binding that was never read. */
void note_unused(mtf_config *c);

/* The scope in which a reference is called: its own, or else the current one. */
static inline const char *scope_of(const gin_value *reference, const char *scope)
{
    return *reference->scope ? reference->scope : scope;
}

#endif
