/* Tables of what configurations may bind. */
#ifndef MODEL_KNOWN_H
#define MODEL_KNOWN_H

#include <stddef.h>

#include "model/config/gin.h"

typedef enum takes {
    TAKES_COUNT,   /* int64_t: a whole number from 1 on                      */
    TAKES_TIMES,   /* the same, up to TIMES_MOST: what the graph repeats     */
    TAKES_INT,     /* int64_t; None, where that is the default: 0            */
    TAKES_REAL,    /* double; None, where that is the default: 0             */
    TAKES_LEAST_0, /* the same, of 0 or more                                 */
    TAKES_ABOVE_0, /* the same, above 0; where 0 would mean a default        */
    TAKES_SHARE,   /* the same, from 0 to below 1                            */
    TAKES_BOOL,    /* bool                                                   */
    TAKES_TEXT,    /* const char *; None: NULL                               */
    TAKES_VALUE,   /* const gin_value *, macros resolved                     */
    TAKES_NOTHING, /* accepted; has no effect in mtf                         */
    TAKES_DEFAULT  /* only the default: mtf supports no other value           */
} takes;

enum { TIMES_MOST = 999 };

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

/* T5's class around models; parameters that `run` has are those of `run`. */
extern const configurable known_t5_model;

/* Lists of known_model.c, known_vocab.c, known_layers.c, known_run.c and known_others.c, each ended by NULL.
 * Classes of layers are in layer_classes. */
extern const configurable *const known_model[],
    *const known_vocab[], *const known_layers[], *const known_run[], *const known_others[];

#endif
