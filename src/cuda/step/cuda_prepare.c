/* Programs on a GPU before their first step: kernels, addresses, plans. */
#include "cuda/driver/cuda_modules.h"
#include "cuda/driver/cuda_use.h"
#include "cuda/driver/cuda_wait.h"
#include "cuda/library/library_attention.h"
#include "cuda/step/cuda_beside.h"
#include "cuda/step/cuda_kernels.h"
#include "cuda/step/cuda_prepared.h"
#include "cuda/step/cuda_program.h"
#include "cuda/step/cuda_scratch.h"
#include "cuda/step/cuda_tables.h"
#include "cuda/step/own_kernels.h"
#include "program/epilogue.h"

/* ---- one instruction ---- */

/* Is it queued by this device at all? */
static bool is_queued(const instr *i)
{
    bool elsewhere = instr_is_collective(i) || instr_is_control(i) || i->kind == INSTR_SAY;
    return !elsewhere && instr_elements(i) > 0;
}

static void *operand_at(const run_state *r, const access *a)
{
    return (char *)r->base[a->buffer] + a->offset * (int64_t)mtf_dtype_bytes(a->type);
}

static bool find_addresses(prepared_program *q, const instr *i, const run_state *r,
                           const kernel_plan *plan, prepared_instr *to)
{
    int n = i->nout + i->nin;
    to->addresses = arena_array(&q->arena, void *, n + 2);
    to->numbers = arena_array(&q->arena, uint64_t, plan->nnumbers + 1);
    to->parameters = arena_array(&q->arena, void *, n + 2 + plan->nnumbers);
    TRY(to->addresses && to->numbers && to->parameters);
    for (int k = 0; k < i->nout; k++) to->addresses[k] = operand_at(r, &i->out[k]);
    for (int k = 0; k < i->nin; k++) to->addresses[i->nout + k] = operand_at(r, &i->in[k]);
    to->addresses[n] = r->scratch;
    to->addresses[n + 1] = q->words;
    for (int k = 0; k < n + 2; k++) to->parameters[k] = &to->addresses[k];
    for (int k = 0; k < plan->nnumbers; k++) {
        to->numbers[k] = plan->number[k];
        to->parameters[n + 2 + k] = &to->numbers[k];
    }
    return true;
}

/* A group's kernel has the table as its only operand. */
static bool find_table(prepared_program *q, const map_group *g, const run_state *r,
                       prepared_instr *to)
{
    to->addresses = arena_array(&q->arena, void *, 1);
    to->numbers = arena_array(&q->arena, uint64_t, 1);
    to->parameters = arena_array(&q->arena, void *, 2);
    TRY(to->addresses && to->numbers && to->parameters);
    to->addresses[0] = cuda_tables_add(&q->tables, g, r->base);
    to->numbers[0] = (uint64_t)g->n;
    to->parameters[0] = &to->addresses[0];
    to->parameters[1] = &to->numbers[0];
    return true;
}

/* A block has 48 KiB of shared memory unless it asks for more. */
enum { ORDINARY_SHARED = 48 << 10 };

static bool find_launches(cuda_context *c, const kernel_plan *plan, prepared_instr *to)
{
    to->nlaunches = plan->nlaunches;
    for (int k = 0; k < plan->nlaunches; k++) {
        const kernel_launch *l = &plan->launch[k];
        to->launch[k] = (prepared_launch){cuda_kernel(c, l->name), (unsigned)l->blocks,
                                          (unsigned)l->threads, (unsigned)l->shared};
        if (l->shared > ORDINARY_SHARED)
            CUDA_TRY(c,
                     cuFuncSetAttribute(to->launch[k].function,
                                        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, l->shared),
                     "give a kernel its shared memory");
    }
    return true;
}

/* Does nothing that matters stand in a buffer before the first step? */
static bool is_free_before(const program *p, int b)
{
    buffer_kind kind = p->buffers[b].kind;
    return kind == BUFFER_TEMPORARY || kind == BUFFER_FETCH;
}

/* Nothing is lost if its outputs are written before the first step? */
static bool may_write(const program *p, const instr *i)
{
    bool may = true;
    for (int o = 0; o < i->nout; o++) may = may && is_free_before(p, i->out[o].buffer);
    return may;
}

static bool find_product(cuda_context *c, const program *p, const instr *i, const run_state *r,
                         prepared_program *q, prepared_instr *to)
{
    if (i->kind != INSTR_CONTRACT || !product_suits(i)) return true;
    to->product = product_prepare(c, &q->arena, i, to->addresses, may_write(p, i), r->scratch);
    return to->product != NULL;
}

/* ---- epilogues that the library does not make ---- */

/* Products that are carried out in parts, and the kernels of these.  Which they are is known only
 * after the library was asked. */
typedef struct parted {
    arena         arena;
    kernel_source source;
    int           n, room;
    struct parted_product {
        int            at; /* the instruction */
        epilogue_parts parts;
        kernel_plan    kernels[3];
    } * *all;
} parted;

static bool part_product(cuda_context *c, const instr *i, int at, int64_t room, parted *d)
{
    struct parted_product *one = arena_new(&d->arena, struct parted_product);
    TRY(one && arena_push(&d->arena, d->all, d->n, d->room));
    one->at = at;
    epilogue_split(i, &one->parts);
    for (int k = 0; k < one->parts.n; k++) {
        TRY(cuda_write_kernels(&d->source, &one->parts.part[k], &one->kernels[k]));
        if (one->kernels[k].scratch_bytes > room)
            return fail(cuda_fault(c), ERR_INTERNAL,
                        "\"%s\" takes more working space than was planned", instr_name(i->kind));
    }
    d->all[d->n++] = one;
    return true;
}

static bool prepare_parts(cuda_context *c, const program *p, const run_state *r,
                          prepared_program *q, struct parted_product *one)
{
    prepared_instr *to = &q->instrs[one->at];
    to->nafter = one->parts.n - 1;
    to->after = arena_array(&q->arena, prepared_instr, to->nafter);
    TRY(to->after != NULL);
    for (int k = 0; k <= to->nafter; k++) {
        prepared_instr *part = k ? &to->after[k - 1] : to;
        const instr    *i = &one->parts.part[k];
        TRY(find_addresses(q, i, r, &one->kernels[k], part) &&
            find_launches(c, &one->kernels[k], part));
        TRY(find_product(c, p, i, r, q, part));
    }
    return true;
}

/* ---- all instructions ---- */

static bool prepare_operands(cuda_context *c, const program *p, const run_state *r,
                             prepared_program *q, const program_kernels *all, parted *d)
{
    int64_t room = cuda_scratch(p, 1);
    for (int k = 0; k < p->ninstrs; k++) {
        const instr    *i = &p->instrs[k];
        prepared_instr *to = &q->instrs[k];
        if (!is_queued(i) || !all->operands[k]) continue;
        if (!kernel_writer_of(i->kind))
            return fail(cuda_fault(c), ERR_INTERNAL, "the device cuda has no kernel for \"%s\"",
                        instr_name(i->kind));
        if (all->groups[k]) {
            TRY(find_table(q, all->groups[k], r, to));
            continue;
        }
        TRY(find_addresses(q, all->operands[k], r, &all->plans[k], to) &&
            find_product(c, p, i, r, q, to));
        if (!epilogue_is_any(i) || (to->product && !product_is_refused(to->product))) continue;
        if (to->product) product_forget(c, to->product);
        to->product = NULL;
        TRY(part_product(c, i, k, room, d));
    }
    return true;
}

/* After all else: the library may still be making plans. */
static void find_library(cuda_context *c, const program *p, const run_state *r, prepared_program *q,
                         const program_kernels *all)
{
    int64_t room = cuda_scratch(p, 1);
    for (int k = 0; k < p->ninstrs; k++) {
        prepared_instr *to = &q->instrs[k];
        if (!is_queued(&p->instrs[k]) || !library_is_begun(c, &p->instrs[k])) continue;
        to->library = library_prepare(c, &q->arena, &p->instrs[k], to->addresses, r->scratch, room);
        if (!to->library || p->instrs[k].kind != INSTR_ATTENTION_GRAD) continue;
        int delta = library_attention_delta(p, k);
        if (delta >= 0 && !all->groups[delta]) q->instrs[delta].nlaunches = 0;
    }
}

/* Our kernels for what the library does not carry out after all. */
static bool replace_library(cuda_context *c, const program *p, const run_state *r,
                            prepared_program *q, program_kernels *k)
{
    kernel_source own = kernel_source_for(&k->arena, p->session);
    own.cluster = k->source.cluster;
    for (int n = 0; n < p->ninstrs; n++)
        if (library_is_begun(c, &p->instrs[n]) && !q->instrs[n].library)
            TRY(cuda_write_kernels(&own, &p->instrs[n], &k->plans[n]));
    if (own.nkernels == 0) return true;
    TRY(cuda_load_kernels(c, &own, &q->held));
    for (int n = 0; n < p->ninstrs; n++)
        if (library_is_begun(c, &p->instrs[n]) && !q->instrs[n].library)
            TRY(find_addresses(q, &p->instrs[n], r, &k->plans[n], &q->instrs[n]) &&
                find_launches(c, &k->plans[n], &q->instrs[n]));
    return true;
}

/* Kernels are compiled while products are measured. */
static bool prepare_instrs(cuda_context *c, const program *p, const run_state *r,
                           prepared_program *q, program_kernels *k, parted *d)
{
    bool ready = cuda_tables_open(c, k, &q->arena, &q->tables) &&
                 prepare_operands(c, p, r, q, k, d) && cuda_tables_write(c, &q->tables);
    TRY(cuda_finish_kernels(c, k, &q->held) && ready &&
        (d->n == 0 || cuda_load_kernels(c, &d->source, &q->held)));
    for (int n = 0; n < p->ninstrs; n++)
        if (is_queued(&p->instrs[n]) && k->operands[n])
            TRY(find_launches(c, &k->plans[n], &q->instrs[n]));
    find_library(c, p, r, q, k);
    TRY(replace_library(c, p, r, q, k));
    for (int n = 0; n < d->n; n++) TRY(prepare_parts(c, p, r, q, d->all[n]));
    return true;
}

/* Does it need random numbers? */
static bool draws(const instr *i)
{
    bool attends = i->kind == INSTR_ATTENTION || i->kind == INSTR_ATTENTION_GRAD;
    return i->kind == INSTR_DRAW || (attends && i->attention->dropout > 0);
}

/* What is carried out with an instruction before begins with it, and waits with it. */
static void wait_together(const program *p, const program_kernels *k, hazards *when)
{
    int *awaits = when->awaits, first = 0;
    for (int n = 0; n < p->ninstrs; n++) {
        if (k->operands[n]) {
            first = n;
        } else {
            if (awaits[n] > awaits[first]) awaits[first] = awaits[n];
            awaits[n] = -1;
        }
    }
}

bool cuda_prepare(device_context *face, const program *p, run_state *r)
{
    cuda_context *c = cuda_of(face);
    mtf_session  *s = face->device->session;
    TRY(cuda_use(c));
    prepared_program *q = block_alloc(&s->allocator, &s->fault, sizeof *q, true);
    TRY(q != NULL);
    r->prepared = q;
    q->arena = arena_make(&s->allocator, &s->fault);
    q->held.arena = &q->arena;
    q->instrs = arena_array(&q->arena, prepared_instr, p->ninstrs + 1);
    q->words = face->device->alloc(face, sizeof *q->words);
    q->alone = true;
    for (int k = 0; k < p->ninstrs; k++) {
        q->alone = q->alone && !instr_is_collective(&p->instrs[k]);
        q->uses_words = q->uses_words || draws(&p->instrs[k]);
    }
    parted d = {.arena = arena_make(&s->allocator, &s->fault)};
    d.source = kernel_source_for(&d.arena, p->session);
    program_kernels *k = cuda_kernels_of(c, p, r->one_by_one);
    bool             ok = q->instrs && q->words && k && prepare_instrs(c, p, r, q, k, &d) &&
              cuda_beside_open(c, p, &q->arena, &q->beside);
    if (ok) wait_together(p, k, &q->beside.when);
    cuda_drop_kernels(c, k);
    arena_free(&d.arena);
    return ok;
}

void cuda_forget(device_context *face, const program *p, run_state *r)
{
    cuda_context     *c = cuda_of(face);
    prepared_program *q = r->prepared;
    cuda_drop_announced(c, p);
    if (!q) return;
    if (cuda_use(c)) cuda_finish_all(c);
    cuda_beside_close(c, p, &q->beside);
    for (int k = 0; q->instrs && k < p->ninstrs; k++)
        if (q->instrs[k].product) product_forget(c, q->instrs[k].product);
    for (int k = 0; q->instrs && k < p->ninstrs; k++)
        if (q->instrs[k].library) library_forget(c, q->instrs[k].library);
    cuda_let_kernels(c, &q->held);
    face->device->release(face, q->words, sizeof *q->words);
    cuda_tables_close(c, &q->tables);
    arena_free(&q->arena);
    block_free(&face->device->session->allocator, q);
    r->prepared = NULL;
}
