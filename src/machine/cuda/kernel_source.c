/* Kernels as text: collected, and named by what they say. */
#include "machine/cuda/kernel_source.h"

#include <stdio.h>

kernel_source kernel_source_make(arena *a)
{
    return (kernel_source){.arena = a, .text = {.arena = a}, .names = {.arena = a}};
}

const char *kernel_type(mtf_dtype type)
{
    static const char *const names[] = {[MTF_F32] = "f32", [MTF_F64] = "f64", [MTF_BF16] = "bf16",
                                        [MTF_F16] = "f16", [MTF_I32] = "i32", [MTF_I64] = "i64",
                                        [MTF_BOOL] = "u8"};
    return names[type];
}

static void write_parameters(textbuf *t, const instr *i)
{
    for (int k = 0; k < i->nout; k++) text_add(t, "%s *out%d, ", kernel_type(i->out[k].type), k);
    for (int k = 0; k < i->nin; k++)
        text_add(t, "const %s *in%d, ", kernel_type(i->in[k].type), k);
    text_add(t, "char *scratch, const step_words *words");
}

bool kernel_add(kernel_source *s, kernel_plan *plan, const instr *i, const char *body,
                int64_t blocks, int threads, int shared)
{
    textbuf whole = {.arena = s->arena};
    write_parameters(&whole, i);
    text_add(&whole, ")\n{\n%s}\n", body);
    const char *text = text_done(&whole);
    if (!text) return false;
    char name[40];
    snprintf(name, sizeof name, "%s_%016llx", instr_name(i->kind),
             (unsigned long long)hash_bytes((uint64_t)threads, text, (size_t)whole.used));
    char *kept = arena_text(s->arena, name);
    if (!kept) return false;
    if (!names_get(&s->names, kept)) {
        text_add(&s->text, "KERNEL void __launch_bounds__(%d) %s(%s\n", threads, kept, text);
        TRY(names_put(&s->names, kept, kept));
    }
    plan->launch[plan->nlaunches++] =
        (kernel_launch){.name = kept, .blocks = blocks, .threads = threads, .shared = shared};
    return !s->text.failed;
}

kernel_writer *kernel_writer_of(instr_kind kind)
{
    static kernel_writer *const writers[INSTR_KINDS] = {NULL};
    return writers[kind];
}
