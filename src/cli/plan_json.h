/* Plans as JSON. */
#ifndef CLI_PLAN_JSON_H
#define CLI_PLAN_JSON_H

#include "cli/json_out.h"
#include "price/hints.h"

/* `h` NULL: no hint; `all`: with every instruction. */
cJSON *plan_json(estimate *e, const hint *h, bool all);

#endif
