/* The graph to lay out, whole or without repeated layers. */
#include "search/subject.h"

#include <string.h>

#include "graph/attr.h"
#include "microbatch/microbatch.h"

enum { LEAST_COPIES = 4, PERIODS = 64 }; /* that are worth leaving out; tried from each node on */

/* From node `begin` on: `copies` equal copies of `period` nodes each. */
typedef struct repeat {
    int begin, period, copies;
} repeat;

typedef struct score { /* the root block's nodes as hashes: where do they repeat? */
    const block *root;
    uint64_t    *sound; /* by position: a hash of the node, whatever it reads */
    int         *next;  /* by position: the next node with the same hash, or -1 */
    repeat      *repeats;
    int          nrepeats, repeats_room;
} score;

/* ---- finding what repeats ---- */

static uint64_t shape_sound(uint64_t h, const mtf_tensor *x)
{
    h = hash_bytes(h, &x->type, sizeof x->type);
    for (int d = 0; d < x->shape.ndims; d++) {
        h = hash_bytes(h, &x->shape.dims[d].name, sizeof(char *)); /* one pointer for one name */
        h = hash_bytes(h, &x->shape.dims[d].size, sizeof(int64_t));
    }
    return h;
}

/* Attributes that distinguish nodes but not their costs: those of OP_UNIQUE nodes, and which random
 * numbers are drawn. */
static bool tells_apart(const node *n, int k)
{
    return n->op->flags & OP_UNIQUE || strcmp(n->op->attrs[k].name, "stream") == 0;
}

static uint64_t node_sound(uint64_t h, const node *n)
{
    h = hash_bytes(h, &n->op, sizeof n->op);
    for (int i = 0; i < n->nin; i++) h = shape_sound(h, n->in[i]);
    for (int o = 0; o < n->nout; o++) h = shape_sound(h, n->out[o]);
    for (int k = 0; n->op->attrs && n->op->attrs[k].name; k++)
        if (!tells_apart(n, k)) h = attr_hash(n->op->attrs[k].kind, &n->attrs[k], h);
    for (int b = 0; n->op->blocks && n->op->blocks[b]; b++)
        for (int k = 0; k < n->blocks[b]->nnodes; k++) h = node_sound(h, n->blocks[b]->nodes[k]);
    return h;
}

static bool listen(score *s, const mtf_graph *g, arena *a)
{
    int      n = g->root.nnodes;
    uint64_t room = 16;
    while (room < 2 * (uint64_t)n) room *= 2;
    int *latest = arena_array(a, int, room); /* position + 1, by hash */
    s->root = &g->root;
    s->sound = arena_array(a, uint64_t, n + 1);
    s->next = arena_array(a, int, n + 1);
    TRY(latest && s->sound && s->next);
    for (int i = n - 1; i >= 0; i--) {
        s->sound[i] = node_sound(0, g->root.nodes[i]);
        uint64_t at = s->sound[i] & (room - 1);
        while (latest[at] && s->sound[latest[at] - 1] != s->sound[i]) at = (at + 1) & (room - 1);
        s->next[i] = latest[at] - 1;
        latest[at] = i + 1;
    }
    return true;
}

static int common(const score *s, int i, int j)
{
    int n = 0;
    while (j + n < s->root->nnodes && s->sound[i + n] == s->sound[j + n]) n++;
    return n;
}

/* The repetition from i on that covers the most nodes. */
static repeat longest_from(const score *s, int i)
{
    repeat best = {0};
    int    tried = 0, reach = 0;
    for (int j = s->next[i]; j >= 0 && tried < PERIODS; j = s->next[j], tried++) {
        int period = j - i, length = common(s, i, j) + period;
        if (length / period < LEAST_COPIES || length <= reach) continue;
        reach = length;
        best = (repeat){i, period, length / period};
    }
    return best;
}

static bool find_repeats(score *s, arena *a)
{
    for (int i = 0; i < s->root->nnodes;) {
        repeat r = longest_from(s, i);
        if (r.copies) {
            TRY(arena_push(a, s->repeats, s->nrepeats, s->repeats_room));
            s->repeats[s->nrepeats++] = r;
        }
        i += r.copies ? r.period * r.copies : 1;
    }
    return true;
}

/* Copies form a repetition only where they read the same node, or the same position of some
 * repetition.  Otherwise leaving one out would leave what it reads without a reader. */
static bool reads_alike(const int *repeat_of, const int *phase, const node *a, const node *b)
{
    for (int i = 0; i < a->nin; i++) {
        const node *x = a->in[i]->node, *y = b->in[i]->node;
        if (a->nin != b->nin || a->in[i]->index != b->in[i]->index) return false;
        if (x == y && repeat_of[x->id] < 0) continue;
        if (repeat_of[x->id] < 0 || repeat_of[x->id] != repeat_of[y->id] ||
            phase[x->id] != phase[y->id])
            return false;
    }
    return true;
}

static bool is_sound(const score *s, const repeat *r, const int *repeat_of, const int *phase)
{
    for (int k = r->begin + 2 * r->period; k < r->begin + (r->copies - 1) * r->period; k++)
        if (!reads_alike(repeat_of, phase, s->root->nodes[k], s->root->nodes[k - r->period]))
            return false;
    return true;
}

/* Drops repetitions until all that are left are valid together. */
static bool drop_unsound(score *s, const mtf_graph *g, arena *a)
{
    int *repeat_of = arena_array(a, int, g->nnodes + 1),
        *phase = arena_array(a, int, g->nnodes + 1);
    TRY(repeat_of && phase);
    for (int i = 0; i < g->nnodes; i++) repeat_of[i] = -1;
    for (int r = 0; r < s->nrepeats; r++)
        for (int k = 0; k < s->repeats[r].period * s->repeats[r].copies; k++) {
            int id = s->root->nodes[s->repeats[r].begin + k]->id;
            repeat_of[id] = r, phase[id] = k % s->repeats[r].period;
        }
    for (bool again = true; again;) {
        again = false;
        for (int r = 0; r < s->nrepeats; r++) {
            repeat *x = &s->repeats[r];
            if (!x->copies || is_sound(s, x, repeat_of, phase)) continue;
            for (int k = 0; k < x->period * x->copies; k++)
                repeat_of[s->root->nodes[x->begin + k]->id] = -1;
            x->copies = 0;
            again = true;
        }
    }
    int kept = 0;
    for (int r = 0; r < s->nrepeats; r++)
        if (s->repeats[r].copies) s->repeats[kept++] = s->repeats[r];
    s->nrepeats = kept;
    return true;
}

/* ---- leaving out ---- */

static void stand_for(images *m, const node *left_out, const node *kept)
{
    for (int o = 0; o < left_out->nout; o++)
        m->of[left_out->out[o]->id] = image_of(m, kept->out[o]);
}

/* Copy `kept` represents copies from .. to. */
static void stand_for_copies(const score *s, const repeat *r, images *m, int from, int to, int kept)
{
    for (int copy = from; copy <= to; copy++)
        for (int k = 0; k < r->period; k++)
            if (copy != kept)
                stand_for(m, s->root->nodes[r->begin + copy * r->period + k],
                          s->root->nodes[r->begin + kept * r->period + k]);
}

/* Tensors of a copy keep their names. */
static bool keep_names(const node *n, const images *m)
{
    for (int o = 0; o < n->nout; o++) {
        mtf_tensor *copy = image_of(m, n->out[o]);
        if (n->out[o]->name && !copy->name)
            TRY(graph_name_tensor(copy->node->graph, copy, n->out[o]->name));
    }
    return true;
}

static bool copy_node(subject *to, const node *n, images *m, double weight)
{
    int before = to->graph->nnodes;
    TRY(block_copy_node(to->graph, n, m) && keep_names(n, m));
    for (int k = before; k < to->graph->nnodes; k++) to->weight[k] = weight;
    return true;
}

static bool copy_copy(subject *to, const score *s, const repeat *r, int copy, images *m,
                      double weight)
{
    for (int k = 0; k < r->period; k++)
        TRY(copy_node(to, s->root->nodes[r->begin + copy * r->period + k], m, weight));
    return true;
}

/* Copies the first, one of the middle, whose neighbours in other repetitions are of their middle
 * too, and the last. */
static bool copy_repeat(subject *to, const score *s, const repeat *r, bool middle, images *m)
{
    int last = r->copies - 1, one = r->copies / 2;
    TRY(copy_copy(to, s, r, 0, m, middle ? 1 : last));
    stand_for_copies(s, r, m, 1, last - 1, 0);
    if (middle) {
        TRY(copy_copy(to, s, r, one, m, last - 1));
        stand_for_copies(s, r, m, 1, last - 1, one);
    }
    return copy_copy(to, s, r, last, m, 1);
}

static bool copy_kept(const score *s, bool middle, images *m, subject *to)
{
    const repeat *r = s->repeats, *end = r + s->nrepeats;
    for (int i = 0; i < s->root->nnodes;) {
        bool here = r < end && r->begin == i;
        TRY(here ? copy_repeat(to, s, r, middle, m) : copy_node(to, s->root->nodes[i], m, 1));
        i += here ? r->period * r->copies : 1;
        r += here;
    }
    return true;
}

/* Where a repetition has one copy less than those that read it, its first or last copy may have no
 * reader left: then the middle one represents that copy as well. */
static bool pass_weights_on(const subject *whole, const score *s, const images *m, subject *to,
                            arena *a)
{
    survey before = {.graph = whole->graph, .scratch = a},
           after = {.graph = to->graph, .scratch = a};
    TRY(survey_live(&before, whole->nfetches, whole->fetches));
    TRY(survey_live(&after, to->nfetches, to->fetches));
    for (int r = 0; r < s->nrepeats; r++) {
        const repeat *x = &s->repeats[r];
        for (int k = 0; k < x->period; k++)
            for (int copy = 0; copy < x->copies; copy += x->copies - 1) {
                const node *n = s->root->nodes[x->begin + copy * x->period + k];
                const node *one = s->root->nodes[x->begin + x->copies / 2 * x->period + k];
                if (n->nout == 0 || !before.live[n->id]) continue;
                const node *kept = image_of(m, n->out[0])->node;
                const node *middle = image_of(m, one->out[0])->node;
                if (!after.live[kept->id] && after.live[middle->id])
                    to->weight[middle->id] += to->weight[kept->id];
            }
    }
    return true;
}

static bool look_around(subject *s, arena *a)
{
    s->survey = (survey){.graph = s->graph, .scratch = a};
    return survey_make(&s->survey, s->nfetches, s->fetches);
}

bool subject_reduce(const subject *whole, bool middle, arena *a, subject *s)
{
    score music = {0};
    TRY(listen(&music, whole->graph, a) && find_repeats(&music, a));
    TRY(drop_unsound(&music, whole->graph, a));
    *s = *whole;
    if (!music.nrepeats) return true;
    images m = images_new(whole->graph, a);
    *s = (subject){.graph = mtf_graph_new(whole->graph->session),
                   .nfetches = whole->nfetches,
                   .memory = whole->memory};
    s->weight = arena_array(a, double, whole->graph->nnodes + 1);
    s->fetches = arena_array(a, mtf_tensor *, s->nfetches + 1);
    TRY(m.of && s->graph && s->weight && s->fetches);
    s->graph->batch = whole->graph->batch;
    s->graph->parts = whole->graph->parts;
    TRY(copy_kept(&music, middle, &m, s));
    for (int i = 0; i < s->nfetches; i++) s->fetches[i] = image_of(&m, whole->fetches[i]);
    for (int i = 0; i < music.nrepeats; i++)
        if (music.repeats[i].copies > s->copies) s->copies = music.repeats[i].copies;
    return (!middle || pass_weights_on(whole, &music, &m, s, a)) && look_around(s, a);
}

const mtf_tensor *subject_source(const mtf_tensor *x)
{
    const node *n = x->node;
    int         sums = n->op->blocks ? op_attr_find(n->op, "sums") : -1;
    if (sums < 0 || x->index < n->nargs || x->index >= n->nargs + n->attrs[sums].i) return x;
    const block *body = n->blocks[0];
    for (int b = 1; n->op->blocks[b]; b++) body = n->blocks[b]; /* after the condition */
    return subject_source(body->results[x->index]);
}

/* A node of the divided graph represents as many as the one that it comes from. */
static double weight_of_origin(const subject *s, const node *n)
{
    const mtf_tensor *from = n->nout ? n->out[0]->origin : NULL;
    return from ? s->weight[from->node->id] : 1;
}

bool subject_divide(subject *s, arena *a)
{
    microbatched m;
    TRY(microbatch_graph(s->graph, s->nfetches, s->fetches, &m));
    if (m.graph == s->graph) return true;
    double *weight = arena_array(a, double, m.graph->nnodes + 1);
    TRY(weight != NULL);
    for (int i = 0; i < m.graph->ntensors; i++) {
        const node *n = m.graph->all[i]->node;
        weight[n->id] = weight_of_origin(s, n);
    }
    s->weight = weight;
    s->graph = m.graph;
    s->fetches = m.fetches;
    return look_around(s, a);
}

bool subject_whole(mtf_graph *g, int nfetches, mtf_tensor *const *fetches, arena *a, subject *s)
{
    *s = (subject){.graph = g, .nfetches = nfetches};
    s->fetches = arena_copy(a, fetches, sizeof *fetches * (size_t)nfetches);
    s->weight = arena_array(a, double, g->nnodes + 1);
    TRY(s->fetches && s->weight);
    for (int i = 0; i < g->nnodes; i++) s->weight[i] = 1;
    return look_around(s, a);
}
