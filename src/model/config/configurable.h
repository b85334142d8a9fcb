/* Configurables: what bindings can be for, and how they are read.
 *
 * Each function or class of the original that has parameters is a constant struct with a table of
 * these: name, what it takes, default, and where the value goes.  A call in a scope takes, for each
 * parameter, what the caller gives, else the binding in the longest scope that the call is in, else
 * the default, and notes it for the operative configuration.
 */
#ifndef MODEL_CONFIGURABLE_H
#define MODEL_CONFIGURABLE_H

#include <stddef.h>

#include "model/config/gin.h"

typedef enum takes {
    TAKES_COUNT,   /* int64_t: a whole number from 1 on                      */
    TAKES_INT,     /* int64_t; None, where that is the default: 0            */
    TAKES_REAL,    /* double; likewise                                       */
    TAKES_BOOL,    /* bool                                                   */
    TAKES_TEXT,    /* const char *; None: NULL                               */
    TAKES_VALUE,   /* const gin_value *, no macro                            */
    TAKES_NOTHING, /* accepted; has no effect here                           */
    TAKES_DEFAULT  /* only the default: the rest is not available here       */
} takes;

typedef struct gin_parameter {
    const char *name;
    takes       takes;
    const char *otherwise; /* the default, in gin's syntax */
    size_t      at;        /* of the struct that the call fills in */
} gin_parameter;

typedef enum standing {
    STANDING_KNOWN,
    STANDING_NO_EFFECT, /* infrastructure that does not exist here: bindings are accepted     */
    STANDING_ABSENT     /* a layer or the like that is not available: using it is an error    */
} standing;

typedef struct configurable configurable;
struct configurable {
    const char          *module; /* NULL: any */
    const char          *name;
    const gin_parameter *parameters; /* the last has no name; NULL: any name is one */
    const configurable  *parent;     /* whose parameters it takes as well */
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

/* Lists of known_model.c, known_run.c and known_others.c, each ended by NULL. */
extern const configurable *const known_model[], *const known_run[], *const known_others[];

/* By the whole name or by the end of it; NULL, with an error at the place, where there is none or
 * several.  With `quiet` it only looks. */
const configurable *configurable_find(mtf_config *c, const char *selector, const gin_place *at,
                                      bool quiet);
/* The name by which files call it. */
const char *configurable_name(mtf_config *c, const configurable *k);

/* Calls it in a scope: fills in `to`, which its table describes.  `given`, a dictionary or NULL, are
 * arguments of the caller. */
bool configure(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
               void *to);
/* Where a parameter of this call stands, for errors; without a file where it is the default. */
gin_place configured_at(mtf_config *c, const configurable *k, const char *scope,
                        const char *parameter);

/* Every binding has a known name; false after an error. */
bool check_names(mtf_config *c);
/* What nobody read leaves a note. */
void note_unused(mtf_config *c);

/* The scope in which a reference's call is made: its own, or else the one we are in. */
static inline const char *scope_of(const gin_value *reference, const char *scope)
{
    return *reference->scope ? reference->scope : scope;
}

#endif
