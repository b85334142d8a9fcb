/* JSON from files: members and numbers that are what they seem. */
#ifndef CHECKPOINT_JSON_IN_H
#define CHECKPOINT_JSON_IN_H

#include <cjson/cJSON.h>

#include "base/textbuf.h"

/* An object that takes the whole text but for blanks after it, to be deleted; NULL where none is. */
cJSON *json_read(const char *text, size_t length);
/* A member that is there exactly once; NULL otherwise. */
const cJSON *json_member(const cJSON *object, const char *key);
/* A whole number from 0 to 2^53, which JSON's numbers hold exactly. */
bool json_whole(const cJSON *item, int64_t *value);
/* Writes text as JSON has it, in quotes. */
void json_quote(textbuf *t, const char *text);

#endif
