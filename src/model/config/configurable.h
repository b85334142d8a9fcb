/* Configurables: functions with parameters that files can bind.
 *
 * Each function or class of the original that has parameters is a constant struct with a table of them:
 * name, type, default, and the offset of the value.  A call in a scope takes, for each parameter, the
 * caller's argument, else the binding in the longest scope that contains the call, else the default,
 * and records it for the operative configuration.
 */
#ifndef MODEL_CONFIGURABLE_H
#define MODEL_CONFIGURABLE_H

#include <stddef.h>

#include "model/config/gin.h"

typedef enum takes {
    TAKES_COUNT,   /* int64_t: a whole number from 1 on                      */
    TAKES_INT,     /* int64_t; None, where that is the default: 0            */
    TAKES_REAL,    /* double; None, where that is the default: 0             */
    TAKES_LEAST_0, /* the same, of 0 or more                                 */
    TAKES_SHARE,   /* the same, from 0 to below 1                            */
    TAKES_BOOL,    /* bool                                                   */
    TAKES_TEXT,    /* const char *; None: NULL                               */
    TAKES_VALUE,   /* const gin_value *, macros resolved                     */
    TAKES_NOTHING, /* accepted; has no effect in mtf                         */
    TAKES_DEFAULT  /* only the default: mtf supports no other value           */
} takes;

typedef struct gin_parameter {
    const char *name;
    takes       takes;
    const char *otherwise; /* the default, in gin's syntax */
    size_t      at;        /* offset in the struct that the call fills in */
} gin_parameter;

typedef enum standing {
    STANDING_KNOWN,
    STANDING_NO_EFFECT, /* infrastructure that mtf does not have: bindings are accepted       */
    STANDING_ABSENT     /* a layer or function that mtf does not have: using it is an error   */
} standing;

typedef struct configurable configurable;
struct configurable {
    const char          *module; /* NULL: any */
    const char          *name;
    const gin_parameter *parameters; /* the last has no name; NULL: any name is a parameter */
    const configurable  *parent;     /* it has the parameters of this one as well */
    standing             standing;
};

typedef struct operative {
    const char *scope, *name, *parameter, *value;
} operative;

struct mtf_config {
    gin_file   gin;
    bool       skip_unknown;
    operative *operatives;
    int        noperatives, room;
};

/* T5's class around models; parameters that `run` has are those of `run`. */
extern const configurable known_t5_model;

/* Lists of known_model.c, known_run.c and known_others.c, each ended by NULL. */
extern const configurable *const known_model[], *const known_run[], *const known_others[];

/* Finds a configurable by its name or a suffix of it; NULL where there is none or several, which is an
 * error at the place, unless `quiet`. */
const configurable *configurable_find(mtf_config *c, const char *selector, const gin_place *at,
                                      bool quiet);
/* Its name in files. */
const char *configurable_name(mtf_config *c, const configurable *k);

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
