/* Decodes answers to a list of prompts. */
#ifndef SERVE_DECODE_TEXTS_H
#define SERVE_DECODE_TEXTS_H

#include "serve/engine.h"

/* For evaluations: every rank asks the same prompts. */
typedef struct text_decoder text_decoder;

/* `like` says how each prompt is asked.  NULL after an error. */
text_decoder *text_decoder_new(const opened_model *m, const engine_opts *limits,
                               const request_spec *like);
/* The first result for each prompt, with spaces in place of newlines.  Prompts that are too long are cut.
 * The texts are valid until the next call.  False after an error. */
bool text_decoder_run(text_decoder *d, int64_t n, const char *const *prompts,
                      const char *const **results);
void text_decoder_free(text_decoder *d);

#endif
