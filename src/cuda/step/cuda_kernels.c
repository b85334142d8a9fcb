/* The kernels of a program, compiled while other things are done.
 *
 * They are announced before the program's memory is taken and its variables are filled,
 * and needed when the program is prepared for its first step.
 */
#include "cuda/step/cuda_kernels.h"

#include "cuda/driver/cuda_device.h"
#include "cuda/driver/cuda_modules.h"
#include "cuda/library/library_calls.h"
#include "cuda/library/products.h"
#include "cuda/step/cuda_scratch.h"
#include "cuda/step/own_kernels.h"
#include "cuda/write/slim_groups.h"
#include "program/epilogue.h"

/* Products with few columns, and what one kernel does with them. */
static bool write_slim_group(program_kernels *k, const slim_group *g, int at)
{
    instr *whole = arena_new(&k->arena, instr);
    TRY(whole != NULL);
    *whole = slim_operands(&k->arena, g);
    TRY(whole->in && write_slim(&k->source, whole, g, &k->plans[at]));
    k->operands[at] = whole;
    for (int absorbed = at + 1; absorbed < g->end; absorbed++) k->operands[absorbed] = NULL;
    return true;
}

/* Instructions that one kernel carries out together; `apart` says which are left. */
static bool write_groups(program_kernels *k, bool *apart)
{
    const program *p = k->program;
    for (int n = 0; n < p->ninstrs;) {
        slim_group g = slim_group_at(p, n);
        if (g.n > 0) TRY(write_slim_group(k, &g, n));
        if (g.n == 0) apart[n] = true;
        n = g.n > 0 ? g.end : n + 1;
    }
    TRY(map_groups_find(p, &k->arena, apart, k->groups));
    for (int n = 0; n < p->ninstrs; n++) {
        const map_group *g = k->groups[n];
        if (!g) continue;
        TRY(write_map_group(&k->source, g, &k->plans[n]));
        for (int m = 0; m < g->n; m++) {
            int64_t at = g->maps[m] - p->instrs;
            apart[at] = false;
            if (m > 0) k->operands[at] = NULL;
        }
    }
    return true;
}

static bool write_all(cuda_context *c, program_kernels *k)
{
    const program *p = k->program;
    int64_t        room = cuda_scratch(p, 1);
    bool          *apart = arena_array(&k->arena, bool, p->ninstrs + 1);
    TRY(k->plans = arena_array(&k->arena, kernel_plan, p->ninstrs + 1));
    TRY(k->operands = arena_array(&k->arena, const instr *, p->ninstrs + 1));
    TRY(k->groups = arena_array(&k->arena, map_group *, p->ninstrs + 1));
    TRY(apart != NULL);
    for (int n = 0; n < p->ninstrs; n++) k->operands[n] = &p->instrs[n], apart[n] = k->one_by_one;
    if (!k->one_by_one) TRY(write_groups(k, apart));
    for (int n = 0; n < p->ninstrs; n++)
        if (apart[n] && !library_is_begun(c, &p->instrs[n]))
            TRY(cuda_write_kernels(&k->source, &p->instrs[n], &k->plans[n]));
    for (int n = 0; n < p->ninstrs; n++)
        if (k->plans[n].scratch_bytes > room)
            return fail(cuda_fault(c), ERR_INTERNAL,
                        "\"%s\" takes more working space than was planned",
                        instr_name(p->instrs[n].kind));
    return true;
}

static program_kernels *start_kernels(cuda_context *c, const program *p, bool one_by_one)
{
    mtf_session     *s = c->device->face.session;
    program_kernels *k = block_alloc(&s->allocator, &s->fault, sizeof *k, true);
    if (!k) return NULL;
    k->program = p;
    k->one_by_one = one_by_one;
    k->arena = arena_make(&s->allocator, &s->fault);
    k->source = kernel_source_for(&k->arena, s);
    k->source.cluster = c->gpu->cluster;
    k->library = library_begin(c, p, &k->arena);
    if (write_all(c, k) && cuda_start_missing(c, &k->source, &k->job)) return k;
    cuda_drop_kernels(c, k);
    return NULL;
}

void cuda_announce(device_context *face, const program *p)
{
    cuda_context *c = cuda_of(face);
    cuda_drop_announced(c, NULL);
    c->announced = start_kernels(c, p, c->device->face.session->opts.measure);
}

program_kernels *cuda_kernels_of(cuda_context *c, const program *p, bool one_by_one)
{
    program_kernels *k = c->announced;
    if (!k || k->program != p || k->one_by_one != one_by_one)
        return start_kernels(c, p, one_by_one);
    c->announced = NULL;
    return k;
}

bool cuda_finish_kernels(cuda_context *c, program_kernels *k, kernel_hold *h)
{
    kernel_job *job = k->job;
    k->job = NULL;
    return cuda_load_compiled(c, &k->source, job, h);
}

void cuda_drop_kernels(cuda_context *c, program_kernels *k)
{
    kernel_images unused;
    if (!k) return;
    if (k->job) kernel_compile_finish(k->job, &unused);
    library_let(c, k->library);
    arena_free(&k->arena);
    block_free(&c->device->face.session->allocator, k);
}

void cuda_drop_announced(cuda_context *c, const program *p)
{
    if (!c->announced || (p && c->announced->program != p)) return;
    cuda_drop_kernels(c, c->announced);
    c->announced = NULL;
}
