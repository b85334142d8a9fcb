/* Maps as kernels: a thread computes a few neighbouring elements.
 *
 * out_o[l] = f_o(in_0[l], in_1[l], ...) over all loops l.  Loops are merged as on the
 * host; a thread goes through `together` pieces of the innermost one and loads all of
 * them first, so that enough bytes are on their way.  Outputs may be inputs: what a
 * thread stores it has read itself.  How many pieces there are is an argument where a
 * thread takes one: maps of whole tensors are then one kernel for all sizes, and several
 * of them may be one launch.
 */
#include "cuda/write/write_map.h"

#include <stdio.h>

#include "base/dtype.h"
#include "cuda/write/map_groups.h"

enum {
    BYTES_AHEAD = 16, /* that a thread reads before it computes */
    MOST_PIECES = 4,
    MANY_BLOCKS = 8 * 2 /* of each multiprocessor: from here on a thread may take several pieces */
};

typedef struct pass {
    map_text *m;
    int       together;
    int64_t   pieces;
    int       rest;  /* elements after the last piece */
    bool      group; /* the kernel is that of a group: its blocks are those of several maps */
} pass;

/* Arguments where a thread takes one piece. */
enum { NUMBER_OF_PIECES, NUMBER_OF_REST };

/* One element throughout: loaded once. */
static bool is_fixed(const map_text *m, int input)
{
    return nest_repeats(&m->nest, &m->i->in[input]);
}

static int choose_together(const map_text *m, int64_t pieces)
{
    int64_t bytes = 0;
    int     together = 1;
    for (int k = 0; k < m->i->nin; k++)
        if (!is_fixed(m, k)) bytes += (int64_t)mtf_dtype_bytes(m->i->in[k].type) * m->vector;
    while (together < MOST_PIECES && bytes > 0 && together * bytes < BYTES_AHEAD &&
           pieces / (BLOCK_THREADS * together * 2) >= (int64_t)MANY_BLOCKS * m->multiprocessors)
        together *= 2;
    return together;
}

/* Pieces of inputs: a0[u], or a0 where a thread has but one. */
static void array_name(const pass *p, char to[NAME_ROOM], char letter, int k)
{
    snprintf(to, NAME_ROOM, p->together > 1 && letter == 'a' ? "%c%d[u]" : "%c%d", letter, k);
}

static void declare_inputs(const pass *p)
{
    map_text *m = p->m;
    for (int k = 0; k < m->i->nin; k++) {
        char name[NAME_ROOM];
        snprintf(name, sizeof name, "a%d", k);
        if (!is_fixed(m, k)) map_declare(m, &m->i->in[k], name, p->together);
    }
}

static void add_loads(const pass *p)
{
    map_text *m = p->m;
    for (int k = 0; k < m->i->nin; k++) {
        char array[NAME_ROOM], at[20];
        if (is_fixed(m, k)) continue;
        array_name(p, array, 'a', k);
        snprintf(at, sizeof at, "in%d", k);
        map_load(m, &m->i->in[k], at, array);
    }
}

static void add_elements(const pass *p)
{
    map_text    *m = p->m;
    const instr *i = m->i;
    const char  *e = m->vector > 1 ? "e" : "0";
    if (m->vector > 1)
        map_line(m, "UNROLL for (int e = 0; e < %d; e++) {", m->vector);
    else
        map_line(m, "{");
    m->indent++;
    for (int k = 0; k < i->nin; k++) {
        char array[NAME_ROOM];
        if (is_fixed(m, k)) continue;
        array_name(p, array, 'a', k);
        text_add(&m->t, "%*s%s r%d = ", 4 * m->indent, "", kernel_type(m->type[k]), k);
        map_add_element(m, &i->in[k], array);
        text_add(&m->t, ";\n");
    }
    for (int s = 0; s < i->map.nsteps; s++) {
        int reg = i->nin + s;
        if (map_is_constant(m, reg)) continue;
        text_add(&m->t, "%*s%s r%d = ", 4 * m->indent, "", kernel_type(m->type[reg]), reg);
        map_add_value(m, s);
        text_add(&m->t, ";\n");
    }
    for (int o = 0; o < i->nout; o++)
        map_line(m, "y%d[%s] = %s;", o, e, m->name[i->map.results[o]]);
    m->indent--;
    map_line(m, "}");
}

static void add_results(const pass *p)
{
    map_text *m = p->m;
    for (int o = 0; o < m->i->nout; o++)
        map_line(m, "%s y%d[%d];", map_computed(&m->i->out[o]), o, m->vector);
    add_elements(p);
    for (int o = 0; o < m->i->nout; o++) {
        char array[NAME_ROOM], at[20];
        array_name(p, array, 'y', o);
        snprintf(at, sizeof at, "out%d", o);
        map_store(m, &m->i->out[o], at, array);
    }
}

/* The last elements, where the vector leaves a rest: one each, by threads of the last block. */
static void add_rest(const pass *whole)
{
    map_text   *m = whole->m, one = *m;
    pass        p = {.m = &one, .together = 1};
    const char *type = index_type(m->wide);
    one.vector = 1;
    if (whole->together > 1) {
        map_line(&one, "if (BLOCK == BLOCKS - 1 && THREAD < %d) {", whole->rest);
        map_line(&one, "    %s l0 = %lld + THREAD;", type,
                 (long long)m->nest.elements - whole->rest);
    } else {
        map_line(&one, "if (%s == (i64)(number%d - 1) / %d && THREAD < (i64)number%d) {",
                 whole->group ? "block" : "BLOCK", NUMBER_OF_PIECES, BLOCK_THREADS, NUMBER_OF_REST);
        map_line(&one, "    %s l0 = (%s)number%d * %d + THREAD;", type, type, NUMBER_OF_PIECES,
                 m->vector);
    }
    one.indent++;
    declare_inputs(&p);
    add_loads(&p);
    add_results(&p);
    one.indent--;
    map_line(&one, "}");
    m->t = one.t;
}

/* A thread's pieces u = 0, 1, ...: what `inside` writes for each. */
static void add_pieces(const pass *p, void (*inside)(const pass *p))
{
    map_text *m = p->m;
    bool      some = p->pieces % ((int64_t)BLOCK_THREADS * p->together) != 0;
    map_line(m, "UNROLL for (int u = 0; u < %d; u++) {", p->together);
    m->indent++;
    map_line(m, "%s at = first + u * %d;", index_number(m->wide), BLOCK_THREADS);
    if (some) map_line(m, "if (at >= %lld) break;", (long long)p->pieces);
    map_add_index(m, &m->nest, "l", "at", m->vector);
    inside(p);
    m->indent--;
    map_line(m, "}");
}

static void add_body(const pass *p)
{
    map_text *m = p->m;
    for (int k = 0; k < m->i->nin; k++)
        if (is_fixed(m, k)) map_line(m, "%s r%d = load(in%d);", kernel_type(m->type[k]), k, k);
    if (p->rest) add_rest(p);
    const char *type = index_number(m->wide);
    if (p->together > 1) {
        map_line(m, "%s first = (%s)BLOCK * %d + THREAD;", type, type, BLOCK_THREADS * p->together);
        declare_inputs(p);
        add_pieces(p, add_loads);
        add_pieces(p, add_results);
        return;
    }
    map_line(m, "%s at = (%s)%s * %d + THREAD;", type, type, p->group ? "block" : "BLOCK",
             BLOCK_THREADS);
    map_line(m, "if (at >= (%s)number%d) return;", type, NUMBER_OF_PIECES);
    map_add_index(m, &m->nest, "l", "at", m->vector);
    declare_inputs(p);
    add_loads(p);
    add_results(p);
}

static pass pass_of(map_text *m)
{
    const instr *i = m->i;
    m->nest = nest_of(i, loops_between(0, i->nloops), &i->out[0], map_indexed_loops(i));
    m->vector = map_vector(m, true);
    pass p = {.m = m, .pieces = m->nest.elements / m->vector};
    p.together = choose_together(m, p.pieces);
    p.rest = m->nest.nloops == 1 ? (int)(m->nest.elements % m->vector) : 0;
    return p;
}

/* In the order of their numbers. */
static void give_numbers(const pass *p, kernel_plan *plan)
{
    if (p->together > 1) return;
    kernel_number(plan, (uint64_t)p->pieces);
    if (p->rest) kernel_number(plan, (uint64_t)p->rest);
}

bool write_map(kernel_source *s, const instr *i, kernel_plan *plan)
{
    if (instr_elements(i) == 0) return true;
    if (map_goes_by_rows(i)) return write_map_rows(s, i, plan);
    if (map_is_ragged(s, i)) {
        instr rows = *i;
        rows.map.nrow = 1;
        return write_map_rows(s, &rows, plan);
    }
    map_text m = map_text_of(s, i);
    pass     p = pass_of(&m);
    give_numbers(&p, plan);
    add_body(&p);
    const char *body = text_done(&m.t);
    int64_t     each = (int64_t)BLOCK_THREADS * p.together;
    return body && kernel_add(s, plan, i, body, (p.pieces + each - 1) / each, BLOCK_THREADS, 0);
}

/* ---- groups ---- */

bool map_may_join(const kernel_plan *alone)
{
    return alone->nlaunches == 1 && alone->nnumbers > 0;
}

/* Declares what a map's kernel has as parameters, from the words of the table that are its own. */
static void add_member(map_text *m, const instr *i, int numbers)
{
    int word = 1;
    map_line(m, "const u64 *mine = table + low * %d;", map_group_words(i, numbers));
    map_line(m, "i64 block = BLOCK - (i64)mine[0];");
    for (int k = 0; k < numbers; k++) map_line(m, "u64 number%d = mine[%d];", k, word++);
    for (int k = 0; k < i->nout; k++) {
        const char *type = kernel_type(i->out[k].type);
        map_line(m, "%s *out%d = on_gpu<%s>(mine[%d]);", type, k, type, word++);
    }
    for (int k = 0; k < i->nin; k++) {
        const char *type = kernel_type(i->in[k].type);
        map_line(m, "const %s *in%d = on_gpu<const %s>(mine[%d]);", type, k, type, word++);
    }
}

bool write_map_group(kernel_source *s, const map_group *g, kernel_plan *plan)
{
    const instr *i = g->maps[0];
    map_text     m = map_text_of(s, i);
    pass         p = pass_of(&m);
    textbuf      whole = {.arena = s->arena};
    char         name[48];
    p.group = true;
    map_line(&m, "i32 low = 0, high = (i32)members;");
    map_line(&m, "while (high - low > 1) {");
    map_line(&m, "    i32 middle = (low + high) / 2;");
    map_line(&m, "    if ((i64)table[middle * %d] <= BLOCK) low = middle;",
             map_group_words(i, g->alone[0].nnumbers));
    map_line(&m, "    else high = middle;");
    map_line(&m, "}");
    add_member(&m, i, g->alone[0].nnumbers);
    map_line(&m, "wait_for_turn();"); /* no kernel writes the table */
    add_body(&p);
    const char *body = text_done(&m.t);
    TRY(body != NULL);
    snprintf(name, sizeof name, "maps_%016llx", (unsigned long long)hash_text(body));
    text_add(&whole,
             "KERNEL void __launch_bounds__(%d) %s(const u64 *table, u64 members)\n{\n%s}\n",
             BLOCK_THREADS, name, body);
    const char *text = text_done(&whole), *kept = arena_text(s->arena, name);
    TRY(text && kept && kernel_source_put(s, kept, text));
    return kernel_launch_add(
        s, plan, (kernel_launch){.name = kept, .blocks = g->blocks, .threads = BLOCK_THREADS});
}
