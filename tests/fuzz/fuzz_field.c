/* Gives arbitrary text to the reader of fields on the command line. */
#include <stdlib.h>
#include <string.h>

#include "data/field_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text) return 0;
    if (n) memcpy(text, bytes, n);
    text[n] = 0;
    mtf_session *s = mtf_open_with(NULL);
    mtf_field    f;
    bool         ok = field_parse(s, "data", text, &f);
    /* Either a sentence, or a field that names something. */
    if (ok != mtf_ok(s)) abort();
    if (ok && (!f.name || !*f.name || !f.files || !*f.files || f.length < 0 || f.shift < 0))
        abort();
    if (ok && !(f.least <= f.most)) abort();
    mtf_close(s);
    free(text);
    return 0;
}
