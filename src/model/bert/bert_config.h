/* BERT's configurations in JSON. */
#ifndef MODEL_BERT_CONFIG_H
#define MODEL_BERT_CONFIG_H

#include <cjson/cJSON.h>

#include "base/session.h"
#include "mtf_bert.h"

/* The options that an object of the file at `path` gives; texts live as long as the session. */
bool bert_config_parse(mtf_session *s, const char *path, const cJSON *root, mtf_bert_opts *o);

#endif
