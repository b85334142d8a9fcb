/* Sampling options of decode and serve. */
#ifndef CLI_ANSWERING_OPTIONS_H
#define CLI_ANSWERING_OPTIONS_H

#include "cli/options.h"
#include "mtf_config.h"
#include "serve/engine.h"

enum { MOST_STOPS = 17 };

extern const option_spec sampling_options[]; /* of mtf decode */

/* Each returns false after it has reported a usage error. */
bool read_limits(const options *o, engine_opts *limits);
/* Fills in everything except the prompt; `stops` holds the stop strings. */
bool read_question(const options *o, request_spec *q, const char *stops[MOST_STOPS]);
/* Takes the configuration's decoding parameters where no option is given. */
void decode_as_configured(const options *o, const mtf_config_decode *d, engine_opts *limits,
                          request_spec *q);
/* Any number from `least` to `most`; unchanged where the option is absent. */
bool option_real(const options *o, const char *name, double least, double most, double *value);

#endif
