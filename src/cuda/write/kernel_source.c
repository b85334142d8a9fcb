/* Kernels as text: collected, and named by what they say. */
#include "cuda/write/kernel_source.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { USUAL_SHARED = 227 << 10 }; /* of a GPU that nobody has seen: an H200 */

kernel_source kernel_source_make(arena *a)
{
    return (kernel_source){.arena = a,
                           .names = {.arena = a},
                           .cluster = 1,
                           .multiprocessors = 1,
                           .shared_bytes = USUAL_SHARED};
}

kernel_source kernel_source_for(arena *a, const mtf_session *s)
{
    kernel_source k = kernel_source_make(a);
    if (s->can.multiprocessors > 0) k.multiprocessors = s->can.multiprocessors;
    if (s->can.shared_bytes > 0) k.shared_bytes = s->can.shared_bytes;
    return k;
}

textbuf kernel_textbuf(const kernel_source *s)
{
    return (textbuf){.arena = s->arena, .discards = s->only_sizes};
}

const char *kernel_type(mtf_dtype type)
{
    static const char *const names[] = {
        [MTF_F32] = "f32", [MTF_F64] = "f64",       [MTF_BF16] = "bf16",
        [MTF_F16] = "f16", [MTF_I32] = "i32",       [MTF_I64] = "i64",
        [MTF_BOOL] = "u8", [MTF_F8E4M3] = "f8e4m3", [MTF_F8E5M2] = "f8e5m2"};
    return names[type];
}

int kernel_number(kernel_plan *plan, uint64_t value)
{
    assert(plan->nnumbers < MOST_NUMBERS);
    plan->number[plan->nnumbers] = value;
    return plan->nnumbers++;
}

bool kernel_launch_add(kernel_source *s, kernel_plan *plan, kernel_launch launch)
{
    if (plan->nlaunches == MOST_LAUNCHES)
        return fail(s->arena->fault, ERR_INTERNAL,
                    "kernel \"%s\" would be number %d of an instruction, which may have %d",
                    launch.name, MOST_LAUNCHES + 1, MOST_LAUNCHES);
    plan->launch[plan->nlaunches++] = launch;
    return true;
}

static void write_parameters(textbuf *t, const instr *i, const kernel_plan *plan)
{
    for (int k = 0; k < i->nout; k++) text_add(t, "%s *out%d, ", kernel_type(i->out[k].type), k);
    for (int k = 0; k < i->nin; k++) text_add(t, "const %s *in%d, ", kernel_type(i->in[k].type), k);
    text_add(t, "char *scratch, const step_words *words");
    for (int k = 0; k < plan->nnumbers; k++) text_add(t, ", u64 number%d", k);
}

static bool add_entry(kernel_source *s, char *name, const char *text)
{
    TRY(name && text && arena_push(s->arena, s->kernels, s->nkernels, s->kernels_room));
    s->kernels[s->nkernels++] = (kernel_entry){name, text};
    return names_put(&s->names, name, name);
}

bool kernel_source_put(kernel_source *s, const char *name, const char *text)
{
    return names_get(&s->names, name) || add_entry(s, arena_text(s->arena, name), text);
}

const char *kernel_source_text(const kernel_source *s)
{
    textbuf t = {.arena = s->arena};
    for (int k = 0; k < s->nkernels; k++) text_add(&t, "%s", s->kernels[k].text);
    return text_done(&t);
}

bool kernel_add(kernel_source *s, kernel_plan *plan, const instr *i, const char *body,
                int64_t blocks, int threads, int shared)
{
    kernel_shape alone = {threads, shared, 1, 1};
    return kernel_add_shaped(s, plan, i, body, blocks, &alone);
}

bool kernel_add_shaped(kernel_source *s, kernel_plan *plan, const instr *i, const char *body,
                       int64_t blocks, const kernel_shape *shape)
{
    static const char wait[] = "    wait_for_turn();\n";
    textbuf           rest = {.arena = s->arena}, whole = {.arena = s->arena};
    if (s->only_sizes) return true;
    write_parameters(&rest, i, plan);
    text_add(&rest, ")\n{\n%s%s}\n", strstr(body, wait) ? "" : wait, body);
    const char *text = text_done(&rest);
    if (!text) return false;
    char     name[48];
    uint64_t seed =
        (uint64_t)shape->threads * (uint64_t)shape->together + ((uint64_t)shape->cluster << 20);
    snprintf(name, sizeof name, "%s_%016llx", instr_name(i->kind),
             (unsigned long long)hash_bytes(seed, text, (size_t)rest.used));
    char *known = names_get(&s->names, name);
    char *kept = known ? known : arena_text(s->arena, name);
    TRY(kept != NULL);
    if (!known) {
        text_add(&whole, "KERNEL void __launch_bounds__(%d", shape->threads);
        if (shape->together > 1) text_add(&whole, ", %d", shape->together);
        text_add(&whole, ") ");
        if (shape->cluster > 1) text_add(&whole, "__cluster_dims__(%d, 1, 1) ", shape->cluster);
        text_add(&whole, "%s(%s\n", kept, text);
        TRY(add_entry(s, kept, text_done(&whole)));
    }
    return kernel_launch_add(
        s, plan,
        (kernel_launch){
            .name = kept, .blocks = blocks, .threads = shape->threads, .shared = shape->shared});
}

kernel_writer *kernel_writer_of(instr_kind kind)
{
    static kernel_writer *const writers[INSTR_KINDS] = {
        [INSTR_MAP] = write_map,
        [INSTR_MOVE] = write_move,
        [INSTR_ADD_INTO] = write_add_into,
        [INSTR_FOLD] = write_fold,
        [INSTR_GROUPED] = write_grouped,
        [INSTR_GATHER] = write_gather,
        [INSTR_SCATTER] = write_scatter,
        [INSTR_SCAN] = write_scan,
        [INSTR_ORDER] = write_order,
        [INSTR_NUCLEUS] = write_nucleus,
        [INSTR_WINDOW] = write_window,
        [INSTR_DRAW] = write_draw,
        [INSTR_CONTRACT] = write_contract,
        [INSTR_ATTENTION] = write_attention,
        [INSTR_ATTENTION_JOIN] = write_attention_join,
        [INSTR_ATTENTION_GRAD] = write_attention_grad,
    };
    return writers[kind];
}

bool kernel_wants_scratch(const instr *i)
{
    instr_kind kind = i->kind;
    if (kind == INSTR_MAP) return i->map.sums != 0;
    return kernel_writer_of(kind) && kind != INSTR_MOVE && kind != INSTR_ADD_INTO &&
           kind != INSTR_GATHER && kind != INSTR_DRAW && kind != INSTR_NUCLEUS;
}
