/* Gives arbitrary bytes to the reader of published configurations. */
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "model/published/weight_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    mtf_session     *s = mtf_open_with(NULL);
    char            *text = calloc(n + 1, 1);
    published_config c;
    int              count;
    if (n) memcpy(text, bytes, n);
    bool ok = published_parse(s, "config.json", text, &c);
    if (ok != mtf_ok(s)) abort();
    if (ok) { /* whatever is accepted has weights with names and a configuration */
        const published_weight *w = published_weights(&s->arena, &c, &count);
        for (int i = 0; w && i < count; i++)
            if (!*w[i].ours || !*w[i].theirs || w[i].rows < 1 || w[i].columns < 1) abort();
        if (!published_gin(&s->arena, &c)) abort();
    }
    free(text);
    mtf_close(s);
    return 0;
}
