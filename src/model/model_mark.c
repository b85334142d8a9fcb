/* A short text by which two models are compared.
 *
 * "einsum:2:1f00c3d9 tanh:1:03b7a211 .:3:9cd41e00": each operation's name, how often it occurs and a sum
 * over its settings and shapes; the dot stands for all, and its sum for who reads what. */
#include "model/model_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"

typedef struct kind_mark {
    const char *name;
    int         count;
    uint64_t    sum;
} kind_mark;

typedef struct marking {
    arena      *arena;
    name_table  known; /* name, to its kind_mark */
    kind_mark **all;
    int         n, room;
    kind_mark   whole;
} marking;

static kind_mark *mark_of(marking *m, const char *name)
{
    kind_mark *k = names_get(&m->known, name);
    if (k) return k;
    k = arena_new(m->arena, kind_mark);
    if (!k || !arena_push(m->arena, m->all, m->n, m->room)) return NULL;
    k->name = name;
    m->all[m->n++] = k;
    return names_put(&m->known, name, k) ? k : NULL;
}

static bool mark_node(marking *m, const node *n)
{
    kind_mark *k = mark_of(m, n->op->name);
    TRY(k != NULL);
    k->count++;
    for (int i = 0; n->op->attrs && n->op->attrs[i].name; i++)
        k->sum = attr_hash(n->op->attrs[i].kind, &n->attrs[i], k->sum);
    for (int i = 0; i < n->nout; i++) {
        attr shape = {.shape = &n->out[i]->shape}, type = {.type = n->out[i]->type};
        k->sum = attr_hash(ATTR_TYPE, &type, attr_hash(ATTR_SHAPE, &shape, k->sum));
    }
    m->whole.count++;
    m->whole.sum = hash_bytes(m->whole.sum, n->op->name, strlen(n->op->name));
    for (int i = 0; i < n->nin; i++) {
        int64_t id = n->in[i]->id;
        m->whole.sum = hash_bytes(m->whole.sum, &id, sizeof id);
    }
    return true;
}

static bool mark_block(marking *m, const block *b)
{
    for (int i = 0; i < b->nnodes; i++) {
        const node *n = b->nodes[i];
        TRY(mark_node(m, n));
        for (int j = 0; n->op->blocks && n->op->blocks[j]; j++) TRY(mark_block(m, n->blocks[j]));
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(kind_mark *const *)a)->name, (*(kind_mark *const *)b)->name);
}

const char *model_mark(mtf_graph *g)
{
    arena  *a = &g->session->arena;
    textbuf t = {.arena = a};
    marking m = {.arena = a, .known = {.arena = a}, .whole = {.name = "."}};
    if (!mark_block(&m, &g->root)) return NULL;
    if (m.n) qsort(m.all, (size_t)m.n, sizeof *m.all, by_name);
    for (int k = 0; k <= m.n; k++) {
        const kind_mark *x = k < m.n ? m.all[k] : &m.whole;
        text_add(&t, "%s%s:%d:%08" PRIx32, k ? " " : "", x->name, x->count,
                 (uint32_t)(x->sum ^ x->sum >> 32));
    }
    return text_done(&t);
}

/* ---- comparing ---- */

enum { NAME_ROOM = 64, MOST_SAID = 4 };

typedef struct piece_mark {
    char     name[NAME_ROOM];
    int      count;
    unsigned sum;
} piece_mark;

/* The next piece of a mark; NULL: it was the last, or the text is not a mark. */
static const char *next_piece(const char *at, piece_mark *p)
{
    int used = 0;
    if (sscanf(at, " %63[^: ]:%d:%x%n", p->name, &p->count, &p->sum, &used) != 3) return NULL;
    return at + used;
}

static piece_mark find_piece(const char *mark, const char *name)
{
    piece_mark p;
    while ((mark = next_piece(mark, &p)) != NULL)
        if (strcmp(p.name, name) == 0) return p;
    return (piece_mark){.count = 0};
}

static void say_counts(textbuf *t, const char *name, int there, int here, int *said)
{
    char numbers[2][20] = {"no", "none"};
    if (there) snprintf(numbers[0], sizeof numbers[0], "%d", there);
    if (here) snprintf(numbers[1], sizeof numbers[1], "%d", here);
    if (strcmp(name, ".") == 0 || there == here || (*said)++ >= MOST_SAID) return;
    text_add(t, "%s%s %s there, %s here", *said > 1 ? "; " : "", numbers[0], name, numbers[1]);
}

void model_mark_compare(const char *there, const char *here, textbuf *t)
{
    piece_mark p;
    int        said = 0;
    for (const char *at = there; (at = next_piece(at, &p)) != NULL;)
        say_counts(t, p.name, p.count, find_piece(here, p.name).count, &said);
    for (const char *at = here; (at = next_piece(at, &p)) != NULL;)
        if (!find_piece(there, p.name).count) say_counts(t, p.name, 0, p.count, &said);
    if (said) return;
    for (const char *at = there; (at = next_piece(at, &p)) != NULL;)
        if (strcmp(p.name, ".") != 0 && find_piece(here, p.name).sum != p.sum && said++ < MOST_SAID)
            text_add(t, "%s%s with other settings or sizes", said > 1 ? "; " : "", p.name);
    if (!said) text_add(t, "the same operations, connected otherwise");
}
