/* Indices as text: their types, loops and offsets, and what moves at once. */
#include "cuda/write/index_text.h"

#include "base/saturate.h"

enum { MOST_NARROW = INT32_MAX / 2 };

const char *index_type(bool wide)
{
    return wide ? "i64" : "i32";
}

const char *index_number(bool wide)
{
    return wide ? "u64" : "u32";
}

static bool reaches_far(const instr *i, const access *a)
{
    int64_t reach = 0;
    for (int l = 0; l < i->nloops; l++) {
        int64_t stride = a->stride[l];
        reach = saturate_plus(reach, saturate_times(i->size[l], stride < 0 ? -stride : stride));
    }
    return reach > MOST_NARROW;
}

bool index_needs_wide(const instr *i, int64_t most)
{
    bool wide = most > MOST_NARROW || instr_elements(i) > MOST_NARROW;
    for (int o = 0; o < i->nout; o++) wide = wide || reaches_far(i, &i->out[o]);
    for (int o = 0; o < i->nin; o++) wide = wide || reaches_far(i, &i->in[o]);
    return wide;
}

int64_t index_pieces(const nest *n, int k, int vector)
{
    return k == n->nloops - 1 ? n->size[k] / vector : n->size[k];
}

void index_add_loop(textbuf *t, const nest *n, int k, const char *prefix, const char *number,
                    int64_t below, int vector, bool wide)
{
    const char *type = index_type(wide);
    text_add(t, "%s %s%d = (%s)((%s)(%s)", type, prefix, k, type, index_number(wide), number);
    if (below > 1) text_add(t, " / %lldu", (long long)below);
    if (k > 0) text_add(t, " %% %lldu", (long long)index_pieces(n, k, vector));
    text_add(t, ")");
    if (k == n->nloops - 1 && vector > 1) text_add(t, " * %d", vector);
    text_add(t, ";");
}

bool index_add_offset(textbuf *t, const nest *n, const char *prefix, const access *a)
{
    bool any = false;
    for (int k = 0; k < n->nloops; k++) {
        long long stride = (long long)a->stride[n->loop[k]];
        if (stride == 0) continue;
        text_add(t, "%s%s%d", any ? " + " : "", prefix, k);
        if (stride != 1) text_add(t, stride < 0 ? " * (%lld)" : " * %lld", stride);
        any = true;
    }
    return any;
}

bool index_keeps_aligned(const nest *n, int inner, const access *a, int pack)
{
    bool aligned = true;
    for (int l = 0; l < n->nloops - inner; l++)
        aligned = aligned && a->stride[n->loop[l]] % pack == 0;
    return aligned;
}
