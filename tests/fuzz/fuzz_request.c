/* Gives arbitrary bytes to the readers of requests. */
#include <stdlib.h>
#include <string.h>

#include "serve/serve_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Either a sentence, or something to answer. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char               why[300] = "", *body = malloc(n + 1);
    completion_request c;
    score_request      s;
    if (!body) return 0;
    memcpy(body, bytes, n);
    bool ok = completion_parse(body, n, &c, why, sizeof why);
    if (ok ? c.nprompts < 1 || c.like.results < 1 : !why[0]) abort();
    completion_free(&c);
    why[0] = 0;
    ok = score_parse(body, n, &s, why, sizeof why);
    if (ok ? s.count < 1 || !s.prompts : !why[0]) abort();
    score_free(&s);
    free(body);
    return 0;
}
