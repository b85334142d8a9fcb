/* Gives arbitrary bytes to the reader of configurations.
 *
 * Reads run and model of a valid file, and checks that its operative configuration reads the same again.
 */
#include <stdlib.h>
#include <string.h>

#include "mtf_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static mtf_config *open_text(mtf_session *s, const char *text, bool strict)
{
    return mtf_config_open(s, &(mtf_config_opts){.no_defaults = true,
                                                 .skip_unknown = !strict,
                                                 .params = (const char *const[]){text, NULL}});
}

static const char *ask(mtf_config *c)
{
    mtf_config_run   run;
    mtf_config_model model;
    if (!mtf_config_get_run(c, &run) || !mtf_config_get_model(c, 0, 100, &model) ||
        !mtf_config_finish(c))
        return NULL;
    return mtf_config_operative(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    mtf_session *s = mtf_open_with(NULL), *again = mtf_open_with(NULL);
    mtf_config  *c = open_text(s, text, false);
    /* Either a sentence, or a configuration. */
    if ((c != NULL) != mtf_ok(s)) abort();
    const char *operative = c ? ask(c) : NULL;
    if (c && (operative != NULL) != mtf_ok(s)) abort();
    if (operative) {
        mtf_config *same = open_text(again, operative, true);
        const char *second = same ? ask(same) : NULL;
        if (!second || strcmp(operative, second) != 0) abort();
    }
    mtf_close(s);
    mtf_close(again);
    free(text);
    return 0;
}
