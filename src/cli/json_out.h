/* Pieces of JSON that several commands print. */
#ifndef CLI_JSON_OUT_H
#define CLI_JSON_OUT_H

#include <cjson/cJSON.h>

#include "graph/node.h"

/* All accept a NULL object. */
void   json_text(cJSON *to, const char *key, const char *value);
void   json_int(cJSON *to, const char *key, int64_t value); /* all 64 bits */
void   json_flag(cJSON *to, const char *key, bool value);
cJSON *json_list(cJSON *to, const char *key);
cJSON *json_object(cJSON *to, const char *key);
void   json_append(cJSON *list, const char *text);

/* "type": "f32", "shape": {"batch": 2} */
void json_type_and_shape(cJSON *to, const mtf_tensor *x);
/* "data": [...], row-major; nan and the infinities are strings, because JSON has no numbers for them. */
bool json_data(cJSON *to, mtf_session *s, const mtf_tensor *x, const void *data);
/* "cost": {...} */
void json_cost(cJSON *to, const mtf_cost *cost);

/* Prints and frees; false, with an error in the session, where memory ran out. */
bool json_print(mtf_session *s, cJSON *root);

#endif
