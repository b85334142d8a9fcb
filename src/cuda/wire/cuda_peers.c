/* Processors of one process in each other's memory: copies and sums on their streams.
 *
 * A sum is a kernel that reads the operands of all members in their order, so that every
 * processor gets the same bits.  GPUs reach each other's memory where the driver allows
 * it; otherwise opening them fails.
 */
#include "cuda/wire/cuda_peers.h"

#include <stdio.h>

#include "base/whole.h"
#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_modules.h"
#include "cuda/driver/cuda_use.h"
#include "machine/overlap.h"
#include "program/group.h"

enum { SUM_THREADS = 256, SUM_ELEMENTS = 4 }; /* elements for each thread */

/* ---- sums ---- */

static const char *kind_name(fold_kind kind)
{
    return kind == FOLD_SUM ? "sum" : kind == FOLD_MAX ? "max" : "min";
}

/* `all`: with a result for each part. */
static void write_name(char *name, size_t room, fold_kind kind, mtf_dtype type, int n, bool all)
{
    snprintf(name, room, "combine_%s_%s_%d%s", kind_name(kind), kernel_type(type), n,
             all ? "_all" : "");
}

/* out[i] = part0[i] (op) part1[i] ... */
static bool write_combine(kernel_source *s, fold_kind kind, mtf_dtype type, int n, bool all)
{
    textbuf     t = {.arena = s->arena};
    char        name[48];
    const char *element = kernel_type(type);
    const char *op = kind == FOLD_MAX ? "LARGER" : kind == FOLD_MIN ? "SMALLER" : "ADD";
    int         outs = all ? n : 1;
    write_name(name, sizeof name, kind, type, n, all);
    text_add(&t, "KERNEL void __launch_bounds__(%d) %s(", SUM_THREADS, name);
    for (int k = 0; k < outs; k++) text_add(&t, "%s *out%d, ", element, k);
    for (int k = 0; k < n; k++) text_add(&t, "const %s *part%d, ", element, k);
    text_add(&t,
             "i64 elements)\n{\n"
             "    i64 first = BLOCK * %d + THREAD;\n"
             "    for (int k = 0; k < %d; k++) {\n"
             "        i64 i = first + k * %d;\n"
             "        if (i >= elements) return;\n"
             "        %s sum = load(&part0[i]);\n",
             SUM_THREADS * SUM_ELEMENTS, SUM_ELEMENTS, SUM_THREADS,
             kernel_type(dtype_compute(type)));
    for (int k = 1; k < n; k++) text_add(&t, "        sum = %s(sum, load(&part%d[i]));\n", op, k);
    for (int k = 0; k < outs; k++) text_add(&t, "        store(&out%d[i], sum);\n", k);
    text_add(&t, "    }\n}\n");
    const char *text = text_done(&t);
    return text && kernel_source_put(s, name, text);
}

/* The parameters of a kernel are limited. */
enum { MOST_PARAMETERS = 256, MOST_PARTS = MOST_PARAMETERS - 2, MOST_COMBINED = MOST_PARTS / 2 };

static bool prepare_peers(device_context *face, const mesh *m, const program *p)
{
    cuda_context *c = cuda_of(face);
    arena         scratch = arena_make(&face->device->session->allocator, cuda_fault(c));
    kernel_source s = kernel_source_for(&scratch, p->session);
    bool          ok = true;
    for (int k = 0; ok && k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind != INSTR_REDUCE && i->kind != INSTR_REDUCE_SCATTER) continue;
        bool      whole = i->kind == INSTR_REDUCE;
        unsigned  axes = whole ? i->reduce.axes : scatter_axes(&i->reduce_scatter);
        fold_kind kind = whole ? i->reduce.kind : i->reduce_scatter.kind;
        int       n = group_of(m, face->processor, axes).n;
        ok = write_combine(&s, kind, i->out[0].type, n, false) &&
             (!whole || n > MOST_COMBINED || write_combine(&s, kind, i->out[0].type, n, true));
    }
    ok = ok && cuda_load_kernels(c, &s, NULL);
    arena_free(&scratch);
    return ok;
}

static bool start_sum(cuda_context *c, const char *name, int nouts, char *const *outs, int n,
                      const char *const *parts, int64_t elements)
{
    void   *parameters[MOST_PARAMETERS];
    int64_t each = SUM_THREADS * SUM_ELEMENTS, blocks = ceil_div(elements, each);
    if (elements == 0) return true;
    for (int k = 0; k < nouts; k++) parameters[k] = (void *)(uintptr_t)&outs[k];
    for (int k = 0; k < n; k++) parameters[nouts + k] = (void *)(uintptr_t)&parts[k];
    parameters[nouts + n] = &elements;
    TRY(cuda_use(c));
    CUDA_TRY(c,
             cuLaunchKernel(cuda_kernel(c, name), (unsigned)blocks, 1, 1, SUM_THREADS, 1, 1, 0,
                            c->wires, parameters, NULL),
             "start a sum");
    return true;
}

static bool combine_parts(device_context *face, fold_kind kind, mtf_dtype type, int n,
                          const char *const *parts, char *out, int64_t elements)
{
    cuda_context *c = cuda_of(face);
    char          name[48];
    if (n > MOST_PARTS)
        return fail(cuda_fault(c), ERR_USAGE,
                    "%d processors of one process are to be summed on GPUs; %d are possible", n,
                    MOST_PARTS);
    write_name(name, sizeof name, kind, type, n, false);
    return start_sum(c, name, 1, &out, n, parts, elements);
}

static bool combine_all(device_context *face, fold_kind kind, mtf_dtype type, int n,
                        const char *const *parts, char *const *outs, int64_t elements)
{
    char name[48];
    write_name(name, sizeof name, kind, type, n, true);
    return start_sum(cuda_of(face), name, n, outs, n, parts, elements);
}

/* ---- order between streams ---- */

/* Two events take turns: a point holds while others may still look at the one before. */
static bool make_mark(cuda_context *c, CUevent *event)
{
    TRY(cuda_use(c));
    if (!*event) CUDA_TRY(c, cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "make an event");
    CUDA_TRY(c, cuEventRecord(*event, c->wires), "note a point in its stream");
    return true;
}

static void *mark(device_context *face)
{
    cuda_context *c = cuda_of(face);
    CUevent      *event = &c->marks[c->nmarks++ % 2];
    return make_mark(c, event) ? *event : NULL;
}

static bool follow(device_context *face, void *point)
{
    cuda_context *c = cuda_of(face);
    TRY(point && cuda_use(c));
    CUDA_TRY(c, cuStreamWaitEvent(c->wires, point, 0), "wait for another stream");
    return true;
}

/* ---- copies ---- */

static bool copy(device_context *face, void *to, const void *from, int64_t bytes)
{
    cuda_context *c = cuda_of(face);
    if (bytes == 0 || to == from) return true;
    TRY(cuda_use(c));
    CUDA_TRY(c,
             cuMemcpyDtoDAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from,
                               (size_t)bytes, c->wires),
             "copy memory");
    return true;
}

/* Dimensions of a region that lie side by side on both sides are one. */
static region merge(const region *r)
{
    region m = {.ndims = 0};
    for (int d = 0; d < r->ndims; d++) {
        bool whole = r->size[d] == r->from_size[d] && r->size[d] == r->to_size[d];
        int  k = m.ndims - 1;
        if (k >= 0 && whole) {
            m.size[k] *= r->size[d];
            m.from_begin[k] *= r->size[d], m.from_size[k] *= r->size[d];
            m.to_begin[k] *= r->size[d], m.to_size[k] *= r->size[d];
            continue;
        }
        k = m.ndims++;
        m.size[k] = r->size[d];
        m.from_begin[k] = r->from_begin[d], m.from_size[k] = r->from_size[d];
        m.to_begin[k] = r->to_begin[d], m.to_size[k] = r->to_size[d];
    }
    return m;
}

/* Rows of the last two dimensions in one call of the driver. */
static bool copy_rows(cuda_context *c, const char *from, int64_t from_row, char *to, int64_t to_row,
                      int64_t bytes, int64_t rows)
{
    CUDA_MEMCPY2D how = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                         .srcDevice = (CUdeviceptr)(uintptr_t)from,
                         .srcPitch = (size_t)from_row,
                         .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                         .dstDevice = (CUdeviceptr)(uintptr_t)to,
                         .dstPitch = (size_t)to_row,
                         .WidthInBytes = (size_t)bytes,
                         .Height = (size_t)rows};
    CUDA_TRY(c, cuMemcpy2DAsync(&how, c->wires), "copy memory");
    return true;
}

static bool copy_region(device_context *face, const struct region *whole, const char *from,
                        char *to, int64_t element)
{
    cuda_context *c = cuda_of(face);
    region        r = merge(whole);
    int64_t       at[MTF_SHAPE_ROOM] = {0};
    int           nd = r.ndims;
    if (region_elements(&r) == 0) return true;
    if (nd == 0) return copy(face, to, from, element);
    TRY(cuda_use(c));
    int64_t rows = nd > 1 ? r.size[nd - 2] : 1;
    for (;;) {
        int64_t source = 0, target = 0;
        for (int d = 0; d < nd; d++) {
            source = source * r.from_size[d] + r.from_begin[d] + at[d];
            target = target * r.to_size[d] + r.to_begin[d] + at[d];
        }
        TRY(copy_rows(c, from + source * element, r.from_size[nd - 1] * element,
                      to + target * element, r.to_size[nd - 1] * element, r.size[nd - 1] * element,
                      rows));
        int d = nd - 3;
        while (d >= 0 && ++at[d] == r.size[d]) at[d--] = 0;
        if (d < 0) return true;
    }
}

const device_peers cuda_peers = {.prepare = prepare_peers,
                                 .mark = mark,
                                 .follow = follow,
                                 .copy = copy,
                                 .copy_region = copy_region,
                                 .combine = combine_parts,
                                 .combine_all = combine_all,
                                 .most_combined = MOST_COMBINED};
