/* Gives arbitrary bytes to the reader of machine descriptions. */
#include <stdlib.h>
#include <string.h>

#include "price/rates.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    mtf_session *s = mtf_open_with(NULL);
    char        *text = calloc(n + 1, 1);
    price_rates  r, again;
    if (n) memcpy(text, bytes, n);
    bool ok = rates_read(s, text, "fuzz.machine", &r);
    if (ok != mtf_ok(s)) abort();
    if (ok) { /* what was read can be written and read again, but for rounding */
        textbuf t = {.arena = &s->arena};
        rates_write(&r, &t);
        if (!rates_read(s, text_done(&t), "again", &again)) abort();
        if (again.nproducts != r.nproducts || again.naxes != r.naxes) abort();
    }
    free(text);
    mtf_close(s);
    return 0;
}
