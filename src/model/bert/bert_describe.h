/* Descriptions of BERT: checked, copied, completed with defaults. */
#ifndef MODEL_BERT_DESCRIBE_H
#define MODEL_BERT_DESCRIBE_H

#include "mtf_bert.h"

/* Tables of words have a multiple of so many rows. */
enum { BERT_VOCAB_DIVISOR = 128 };

/* All defaults but sizes of heads. */
void bert_set_defaults(mtf_bert_opts *o);

#endif
