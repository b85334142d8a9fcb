/* Configurations of models: the text of a JSON file. */
#ifndef CHECKPOINT_JSON_FILE_H
#define CHECKPOINT_JSON_FILE_H

#include "base/session.h"

/* The whole file as text in the session's arena; NULL after an error. */
const char *json_file_text(mtf_session *s, const char *path);

#endif
