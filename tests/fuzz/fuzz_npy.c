/* Gives arbitrary bytes to the .npy reader. */
#include <stdlib.h>
#include <string.h>

#include "run/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    mtf_session *s = mtf_open_with(NULL);
    npy_array    a;
    bool         ok = npy_parse(s, "fuzz.npy", bytes, n, &a);
    /* Either a sentence, or an array that is all there. */
    if (ok != mtf_ok(s) || ok != (a.data != NULL) || a.bytes > n) abort();
    if (ok) {
        int64_t count = 1;
        for (int i = 0; i < a.ndims; i++) count *= a.size[i];
        if ((size_t)count * mtf_dtype_bytes(a.type) != a.bytes) abort();
        char text[NPY_TEXT];
        if (strlen(npy_text(a.type, a.ndims, a.size, text)) >= NPY_TEXT - 1) abort();
    }
    npy_release(s, &a);
    mtf_close(s);
    return 0;
}
