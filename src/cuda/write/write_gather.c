/* Reading elements at computed indices, as a kernel.
 *
 *     out[i.., j..] = table[i.., index[i..], j..], zero where the index is out of range
 *
 * A thread takes a few packs of adjacent elements, and reads all of them first.
 */
#include "cuda/write/kernel_text.h"
#include "cuda/write/prelude_assets.h"

static const kernel_patterns patterns = {asset_gather, &asset_gather_bytes};

bool write_gather(kernel_source *s, const instr *i, kernel_plan *plan)
{
    const gather_args *how = &i->gather;
    nest               n = nest_of(i, loops_between(0, i->nloops), &i->out[0], 0);
    if (n.elements == 0) return true;
    kernel_text k = kernel_text_of(s, i, kernel_reach(how->along, how->along_stride));
    int v = (int)kernel_least(kernel_pack(&n, NULL, &i->out[0]), kernel_pack(&n, NULL, &i->in[0]));
    if (nest_stride(&n, &i->in[1], 0) != 0) v = 1;
    while (v > 1 && how->along_stride % v != 0) v /= 2;
    int64_t pieces = n.elements / v;
    int64_t together = 1, most = kernel_together(v, i->out[0].type);
    while (together < most && pieces >= together * 2 * BLOCK_THREADS * kernel_full(s))
        together *= 2;
    kernel_set(&k, "T", "%s", kernel_type(i->out[0].type));
    kernel_set_number(&k, "V", v);
    kernel_set_number(&k, "TOGETHER", together);
    kernel_set_number(&k, "EACH", together * BLOCK_THREADS);
    kernel_set_number(&k, "PIECES", pieces);
    kernel_set_number(&k, "ALONG", how->along);
    kernel_set_number(&k, "STRIDE", how->along_stride);
    kernel_set_loops(&k, "LOOPS", &n, 'l', "at", v);
    kernel_set_offset(&k, "INDEX", &n, 'l', &i->in[1]);
    kernel_set_offset(&k, "TABLE", &n, 'l', &i->in[0]);
    kernel_set_offset(&k, "OUT", &n, 'l', &i->out[0]);
    kernel_say_from(&k, &patterns, "gather");
    return kernel_done(&k, plan, kernel_parts(pieces, together * BLOCK_THREADS), BLOCK_THREADS, 0);
}
