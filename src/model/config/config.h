/* What runs and models read alike from a configuration. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "model/config/known_model.h"
#include "model/config/known_run.h"

bool config_model_type(mtf_config *c, mtf_model_type *type);
bool config_types(mtf_config *c, mtf_dtype *master, mtf_dtype *slice, mtf_dtype *activation);

/* The configurable that a value refers to; NULL, with an error, where it is no reference, or one to
 * something that is not available.  `what` says whose value it is. */
const configurable *config_reference(mtf_config *c, const gin_value *v, const char *what);
/* An item of a list, or what it stands for as a macro; NULL after an error. */
const gin_value *config_item(mtf_config *c, const gin_value *list, int k);
bool             config_is_list(const gin_value *v); /* or a tuple */

/* A list of texts as one pattern that matches where one of them does; "" of an empty list, NULL after
 * an error.  Not as patterns, but as plain texts: `plain`. */
const char *config_pattern(mtf_config *c, const gin_value *list, bool plain, const char *what);

/* config_rates.c: fills in optimizer, schedule and rules; `steps` is what the schedule counts to. */
bool config_minimize(mtf_config *c, const run_args *a, int64_t steps, mtf_minimize_opts *o);

/* config_calls.c: a vocabulary or a dataset; NULL after an error. */
const mtf_config_call *config_call(mtf_config *c, const gin_value *v, const char *scope,
                                   const char *what);

/* config_data.c: a vocabulary as one text, a dataset as files.  NULL leaves a note where it cannot be
 * opened here, or is an error. */
const char               *config_vocabulary(mtf_config *c, const mtf_config_call *call);
const mtf_config_dataset *config_dataset(mtf_config *c, const mtf_config_call *call,
                                         mtf_model_type type);

#endif
