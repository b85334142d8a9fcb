/* Simplified loop nests. */
#include "machine/nest.h"

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

/* Stable, so that equal strides keep the instruction's order. */
static void sort_by_stride(int n, int *loop, const access *order)
{
    for (int k = 1; k < n; k++) {
        int     moved = loop[k], to = k;
        int64_t stride = magnitude(order->stride[moved]);
        for (; to > 0 && magnitude(order->stride[loop[to - 1]]) < stride; to--)
            loop[to] = loop[to - 1];
        loop[to] = moved;
    }
}

static bool follows(const access *list, int n, int outer, int inner, int64_t inner_size)
{
    for (int k = 0; k < n; k++)
        if (list[k].stride[outer] != list[k].stride[inner] * inner_size) return false;
    return true;
}

nest nest_of(const instr *i, uint32_t loops, const access *order, uint32_t alone)
{
    nest n = {.nloops = 0, .elements = 1};
    int  kept[MAX_LOOPS], nkept = 0;
    for (int k = 0; k < i->nloops; k++) {
        if (!(loops >> k & 1)) continue;
        n.elements *= i->size[k];
        if (i->size[k] != 1) kept[nkept++] = k;
    }
    if (order) sort_by_stride(nkept, kept, order);

    for (int k = 0; k < nkept; k++) {
        int  inner = kept[k], last = n.nloops - 1;
        bool merges = n.nloops > 0 && !(alone >> inner & 1) && !(alone >> n.loop[last] & 1) &&
                      follows(i->out, i->nout, n.loop[last], inner, i->size[inner]) &&
                      follows(i->in, i->nin, n.loop[last], inner, i->size[inner]);
        if (!merges) {
            n.size[n.nloops] = 1;
            last = n.nloops++;
        }
        n.size[last] *= i->size[inner];
        n.loop[last] = inner;
    }
    return n;
}

uint32_t nest_apart(const instr *i)
{
    const int64_t *stride = i->out[0].stride;
    uint32_t       apart = 0, seen = 0;
    int64_t        reach = 0;
    for (;;) {
        int64_t least = INT64_MAX;
        int     next = -1;
        for (int k = 0; k < i->nloops; k++) {
            int64_t size = stride[k] < 0 ? -stride[k] : stride[k];
            if (!(seen >> k & 1) && size < least) {
                least = size;
                next = k;
            }
        }
        if (next < 0) return apart;
        seen |= 1u << next;
        if (least <= reach) continue;
        apart |= 1u << next;
        reach += (i->size[next] - 1) * least;
    }
}

bool nest_distinct(int n, const int64_t *size, const int64_t *stride)
{
    for (int k = 0; k < n; k++) {
        int64_t mine = magnitude(stride[k]), reach = 0;
        for (int o = 0; o < n; o++) {
            int64_t other = magnitude(stride[o]);
            if (o != k && size[o] > 1 && other <= mine) reach += (size[o] - 1) * other;
        }
        if (size[k] > 1 && mine <= reach) return false;
    }
    return true;
}
