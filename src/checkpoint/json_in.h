/* JSON from files, read strictly: unique members, exact numbers. */
#ifndef CHECKPOINT_JSON_IN_H
#define CHECKPOINT_JSON_IN_H

#include <cjson/cJSON.h>

#include "base/textbuf.h"

/* The object that is the whole text, except white space after it; the caller deletes it.  NULL: not one. */
cJSON *json_read(const char *text, size_t length);
/* The member of this name; NULL where it is absent or occurs twice. */
const cJSON *json_member(const cJSON *object, const char *key);
/* A whole number from 0 to 2^53, the range that JSON's numbers represent exactly. */
bool json_whole(const cJSON *item, int64_t *value);
/* Writes text as a JSON string, with quotes. */
void json_quote(textbuf *t, const char *text);

#endif
