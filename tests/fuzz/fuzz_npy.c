/* Gives arbitrary bytes to the readers of .npy files. */
#include <stdlib.h>
#include <string.h>

#include "data/format.h"
#include "run/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* As examples, whose elements have more types. */
static void read_examples(const uint8_t *bytes, size_t n)
{
    enum { ELEMENTS = 5 };
    mtf_session *s = mtf_open_with(NULL);
    input_file   file = {.path = "fuzz.npy", .bytes = bytes, .size = n};
    shard        part = {.file = &file};
    field        f = {.as = {.name = "x"}, .format = &format_npy, .shards = &part, .nshards = 1};
    bool         ok = format_npy.open(s, &f, &part);
    if (ok != mtf_ok(s) || (ok && (part.count < 0 || (uint64_t)part.count > n))) abort();
    for (int64_t k = 0; ok && k < part.count; k++) {
        int32_t values[ELEMENTS];
        wanted  w = {.end = f.elements < ELEMENTS ? f.elements : ELEMENTS, .scale = 1};
        fault   why = {0};
        w.type = MTF_I32;
        w.out = values;
        if (!format_npy.read(&f, &part, k, &w, &why) || w.offered != f.elements) abort();
        if (strlen(w.misfit) >= sizeof w.misfit - 1) abort();
    }
    mtf_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    read_examples(bytes, n);
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
