/* Layout rules whose dimensions a model need not have. */
#ifndef MODEL_OPTIONAL_RULES_H
#define MODEL_OPTIONAL_RULES_H

#include "base/memory.h"

/* The rules, those whose dimensions some Transformers have with a "?": in decoding a model lacks dimensions
 * that it has in training.  NULL where there are none, or without memory. */
const char *mesh_optional_rules(arena *a, const char *rules);

#endif
