/* What runs and models both read from a configuration. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "model/config/known_model.h"
#include "model/config/known_run.h"

bool config_model_type(mtf_config *c, mtf_model_type *type);
bool config_types(mtf_config *c, mtf_dtype *master, mtf_dtype *slice, mtf_dtype *activation);

/* The configurable that a value refers to; NULL, with an error, where it is not a reference, or refers
 * to something that mtf lacks.  `what` names the parameter in the message. */
const configurable *config_reference(mtf_config *c, const gin_value *v, const char *what);
/* An item of a list, with macros replaced by their values; NULL after an error. */
const gin_value *config_item(mtf_config *c, const gin_value *list, int k);
bool             config_is_list(const gin_value *v); /* or a tuple */

/* A list of patterns as one pattern that matches where any of them does; "" for an empty list, NULL
 * after an error.  `plain`: the items are plain strings, not patterns. */
const char *config_pattern(mtf_config *c, const gin_value *list, bool plain, const char *what);

/* config_rates.c: fills in optimizer, schedule and rules; `steps` is the total number of steps. */
bool config_minimize(mtf_config *c, const run_args *a, int64_t steps, mtf_minimize_opts *o);

/* config_spans.c: a length, which a function of T5's objectives may give; NULL after an error. */
const gin_value *config_length(mtf_config *c, const gin_value *v);

/* config_calls.c: a vocabulary or a dataset; NULL after an error. */
const mtf_config_call *config_call(mtf_config *c, const gin_value *v, const char *scope,
                                   const char *what);

/* config_data.c: the text that describes a vocabulary, a dataset as files.  NULL, with a note, where mtf
 * cannot open it, or after an error. */
const char               *config_vocabulary(mtf_config *c, const mtf_config_call *call);
const mtf_config_dataset *config_dataset(mtf_config *c, const mtf_config_call *call,
                                         mtf_model_type type);

#endif
