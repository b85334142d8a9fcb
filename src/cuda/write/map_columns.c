/* Sums of columns in kernels of maps that go by rows. */
#include "cuda/write/map_columns.h"

enum { LANES = 8, LEVELS = 32 }; /* columns and parts that a block joins at once */

void map_columns_declare(map_text *m, const map_columns *c)
{
    for (int o = 0; o < m->i->nout; o++)
        if (map_sums(m->i, o)) map_line(m, "f32 column%d[%d] = {};", o, c->pieces_each * m->vector);
}

void map_columns_add(map_text *m)
{
    for (int o = 0; o < m->i->nout; o++)
        if (map_sums(m->i, o))
            map_line(m, "column%d[k * %d + %s] += %s;", o, m->vector, m->vector > 1 ? "e" : "0",
                     m->name[m->i->map.results[o]]);
}

void map_columns_keep(map_text *m, const map_columns *c, const char *part, const char *piece)
{
    int number = 0;
    map_line(m, "UNROLL for (int k = 0; k < %d; k++) {", c->pieces_each);
    m->indent++;
    map_line(m, "i64 piece = %s;", piece);
    map_line(m, "if (piece >= %lld) break;", (long long)(c->columns / m->vector));
    map_line(m, "f32 *to = (f32 *)scratch + (i64)(%s) * %lld + piece * %d;", part,
             (long long)c->columns, m->vector);
    for (int o = 0; o < m->i->nout; o++)
        if (map_sums(m->i, o))
            map_line(m,
                     "UNROLL for (int e = 0; e < %d; e++) to[%lldLL + e] = column%d[k * %d + e];",
                     m->vector, (long long)(number++ * c->parts * c->columns), o, m->vector);
    m->indent--;
    map_line(m, "}");
}

bool map_columns_join(kernel_source *s, const map_text *from, const map_columns *c,
                      kernel_plan *plan)
{
    map_text m = *from;
    int      number = 0;
    m.t = kernel_textbuf(s);
    m.indent = 1;
    m.vector = 1;
    map_line(&m, "i32 lane = THREAD %% %d, level = THREAD / %d;", LANES, LANES);
    map_line(&m, "i64 at = BLOCK * %d + lane, column = at %% %lld;", LANES, (long long)c->columns);
    map_line(&m, "f32 v = 0;");
    map_line(&m, "if (at < %lld)", (long long)(c->sums * c->columns));
    map_line(&m, "    UNROLL_4 for (i64 part = level; part < %lld; part += %d)",
             (long long)c->parts, LEVELS);
    map_line(&m, "        v += ((const f32 *)scratch)[(at / %lld * %lld + part) * %lld + column];",
             (long long)c->columns, (long long)c->parts, (long long)c->columns);
    map_line(&m, "SHARED f32 all[%d];", LANES * LEVELS);
    map_line(&m, "all[THREAD] = v;");
    map_line(&m, "SYNC();");
    map_line(&m, "if (level > 0 || at >= %lld) return;", (long long)(c->sums * c->columns));
    map_line(&m, "for (int k = 1; k < %d; k++) v += all[k * %d + lane];", LEVELS, LANES);
    map_add_index(&m, &m.nest, "l", "column", 1);
    for (int o = 0; o < m.i->nout; o++) {
        if (!map_sums(m.i, o)) continue;
        text_add(&m.t, "    if (at / %lld == %d) out%d[", (long long)c->columns, number++, o);
        map_add_offset(&m, &m.nest, "l", &m.i->out[o]);
        text_add(&m.t, "] = narrow_%s(v);\n", kernel_type(m.i->out[o].type));
    }
    const char *body = text_done(&m.t);
    int64_t     blocks = (c->sums * c->columns + LANES - 1) / LANES;
    plan->scratch_bytes = c->sums * c->parts * c->columns * (int64_t)sizeof(float);
    return body && kernel_add(s, plan, m.i, body, blocks, LANES * LEVELS, 0);
}
