/* The echo of prompts. */
#ifndef SERVE_HTTP_ECHO_H
#define SERVE_HTTP_ECHO_H

#include "serve/choice.h"
#include "serve/serve_request.h"

/* Adds each prompt to its choices, `results` of each prompt, with log probabilities where they are asked
 * for: all prompts are scored together, each once.  Counts their tokens.  False where it is refused. */
bool http_echo(engine *e, const completion_request *r, int results, choice *choices,
               int64_t *tokens, refusal *why);

#endif
