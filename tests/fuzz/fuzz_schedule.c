/* Gives arbitrary bytes to the reader of schedules. */
#include <stdlib.h>
#include <string.h>

#include "mtf_nn.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    /* Either a sentence, or a tensor. */
    if ((mtf_schedule(mtf_global_step(g), 1000, text) != NULL) != mtf_ok(s)) abort();
    mtf_close(s);
    free(text);
    return 0;
}
