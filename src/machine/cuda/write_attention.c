/* Attention as kernels: a block has some rows of a batch.
 *
 * y[i] = sum over m of softmax(q[i] k[m]) v[m].  attention.cuh has the kernels.
 */
#include "machine/cuda/attention_text.h"

bool write_attention(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (instr_elements(i) == 0) return true;
    textbuf        t = {.arena = s->arena};
    int            each = attention_each(i);
    attention_form f = {attention_loops_of(i, -1), each, each};
    while (f.rows > 1 && f.loops.rows <= f.rows / 2 * ATTENTION_SIDE) f.rows /= 2;
    attention_text(&t, i, &f);
    text_add(&t, "    attention_forward(p, out0, out1, %s);\n",
             i->attention->parts ? "out2" : "out1");
    int64_t tiles = attention_pieces(f.loops.rows, (int64_t)f.rows * ATTENTION_SIDE);
    int64_t pieces = attention_pieces(i->attention->value, ATTENTION_WIDE);
    char   *body = text_done(&t);
    return body &&
           kernel_add(s, plan, i, body, f.loops.batches * tiles * pieces, ATTENTION_THREADS, 0);
}

static void add_access(textbuf *t, const instr *i, const char *name, const access *x)
{
    text_add(t, "%s[", name);
    int64_t below = 1;
    for (int l = i->nloops - 1; l >= 0; l--) {
        if (x->stride[l] != 0 && i->size[l] > 1)
            text_add(t, "k / %lld %% %lld * (%lldLL) + ", (long long)below, (long long)i->size[l],
                     (long long)x->stride[l]);
        below *= i->size[l];
    }
    text_add(t, "0]");
}

/* y = sum / weights, lse = most + log(weights); without weights 0 and NOTHING_SEEN.  Several elements of y
 * have one lse; those at its beginning store it. */
bool write_attention_join(kernel_source *s, const instr *i, kernel_plan *plan)
{
    static const char *const names[] = {"sum", "weights", "most"};
    int64_t                  n = instr_elements(i);
    textbuf                  t = {.arena = s->arena};
    if (n == 0) return true;
    text_add(&t, "    i64 k = BLOCK * %d + THREAD;\n", ATTENTION_THREADS);
    text_add(&t, "    if (k >= %lldLL) return;\n", (long long)n);
    for (int o = 0; o < 3; o++) {
        char name[] = {'i', 'n', (char)('0' + o), 0};
        text_add(&t, "    auto %s = widen(", names[o]);
        add_access(&t, i, name, &i->in[o]);
        text_add(&t, ");\n");
    }
    text_add(&t, "    store(&");
    add_access(&t, i, "out0", &i->out[0]);
    text_add(&t, ", weights != 0 ? sum / weights : 0);\n    if (true");
    int64_t below = 1;
    for (int l = i->nloops - 1; l >= 0; l--) {
        if (i->out[1].stride[l] == 0 && i->size[l] > 1)
            text_add(&t, " && k / %lld %% %lld == 0", (long long)below, (long long)i->size[l]);
        below *= i->size[l];
    }
    text_add(&t, ")\n        ");
    add_access(&t, i, "out1", &i->out[1]);
    text_add(&t, " = weights != 0 ? most + fn_log(weights) : (%s)%s;\n",
             kernel_type(i->out[1].type), "(-1e30)");
    char *body = text_done(&t);
    return body && kernel_add(s, plan, i, body, attention_pieces(n, ATTENTION_THREADS),
                              ATTENTION_THREADS, 0);
}
