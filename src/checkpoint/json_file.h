/* Configurations of models: the text of a JSON file. */
#ifndef CHECKPOINT_JSON_FILE_H
#define CHECKPOINT_JSON_FILE_H

#include <cjson/cJSON.h>

#include "base/session.h"

/* The whole file as text in the session's arena; NULL after an error. */
const char *json_file_text(mtf_session *s, const char *path);
/* False, with an error, where a member of the file's object is given twice. */
bool json_members_differ(mtf_session *s, const char *path, const cJSON *object);

#endif
