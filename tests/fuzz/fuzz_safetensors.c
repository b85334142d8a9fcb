/* Gives arbitrary bytes to the readers of safetensors headers and of manifests. */
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "checkpoint/manifest.h"
#include "checkpoint/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Every tensor is inside the file, and each byte after the header is in one. */
static void check(const contents *c, int64_t header, int64_t n)
{
    int64_t sum = 0;
    for (int i = 0; i < c->ntensors; i++) {
        const kept_tensor *t = c->tensors[i];
        if (t->at < header || t->bytes < 0 || t->at + t->bytes > n) abort();
        if (t->shape.ndims < 0 || t->shape.ndims > MTF_MAX_DIMS) abort();
        if (contents_find(c, t->name) != t) abort();
        if (!t->foreign && shape_size(&t->shape) * (int64_t)mtf_dtype_bytes(t->type) != t->bytes)
            abort();
        sum += t->bytes;
    }
    if (sum != n - header) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    mtf_session  *s = mtf_open_with(NULL);
    contents      c = contents_make(&s->arena), m = c;
    unsigned char head[SAFETENSORS_START] = {0};
    memcpy(head, bytes, n < sizeof head ? n : sizeof head);
    int64_t header = safetensors_header_bytes("fuzz.safetensors", head, (int64_t)n, &s->fault);
    if ((header > 0) != mtf_ok(s) || header > (int64_t)n) abort();
    if (header > 0) {
        unsigned char *own = malloc((size_t)header); /* so that a read past its end is seen */
        bool ok = safetensors_parse(&c, 0, "fuzz.safetensors", memcpy(own, bytes, (size_t)header),
                                    header, (int64_t)n);
        if (ok != mtf_ok(s)) abort();
        if (ok) check(&c, header, (int64_t)n);
        free(own);
    }
    mtf_close(s);
    s = mtf_open_with(NULL);
    m.arena = &s->arena;
    m.by_name.arena = &s->arena;
    if (manifest_parse(&m, "manifest.json", (const char *)bytes, n) != mtf_ok(s)) abort();
    mtf_close(s);
    return 0;
}
