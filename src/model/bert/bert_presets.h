/* The original's configurations of BERT, by name. */
#ifndef MODEL_BERT_PRESETS_H
#define MODEL_BERT_PRESETS_H

#include "mtf_bert.h"

/* The options of this name; NULL: there are none. */
const mtf_bert_opts *bert_preset(const char *name);
/* Name number n; NULL after the last. */
const char *bert_preset_nth(int n);

#endif
