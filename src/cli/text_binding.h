/* Configuration lines that stand for options of text. */
#ifndef CLI_TEXT_BINDING_H
#define CLI_TEXT_BINDING_H

#include "base/session.h"

/* Lines that bind run.train_dataset_fn (`training`) or run.eval_dataset_fn to the dataset that the option
 * --text or --eval-text describes; paths are made absolute.  NULL where the option cannot be written in
 * such lines, or after an error. */
const char *text_binding(mtf_session *s, bool training, const char *option);

#endif
