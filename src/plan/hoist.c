/* Maps of variables, computed at the beginning of a step.
 *
 * Weights are cast to short floats next to where they are used, layer by layer: hundreds of
 * maps, most of them small.  A device that carries out neighbouring maps together does all of
 * them at once where they stand side by side.  A training step keeps the results until the
 * gradient anyway, so that memory at its peak does not change.  Where it would, only maps
 * with small results move.
 */
#include <string.h>

#include "plan/passes.h"
#include "program/map_form.h"

enum { SMALL = 64 * 1024 }; /* bytes of results */
enum { LITTLE = 256 };      /* a rise of memory by a part in so many does not matter */
enum { FEWEST = 2 };

typedef struct hoister {
    instr  *before;  /* the program as it was */
    int64_t peak;    /* bytes alive in it */
    bool   *early;   /* by instruction: it moves */
    int    *now_at;  /* by instruction: where it is then */
    bool   *written; /* by buffer: by an instruction before */
    bool   *stored;  /* by buffer: it becomes the value of a variable */
} hoister;

/* A variable's new value is computed where its old one has been read, so that it takes its place. */
static void find_stored(const program *p, bool *stored)
{
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        if (i->kind == INSTR_MOVE && p->buffers[i->out[0].buffer].kind == BUFFER_VARIABLE)
            stored[i->in[0].buffer] = true;
    }
}

/* Is it a map of variables alone, none of which was written before? */
static bool is_early(const program *p, const hoister *h, const instr *i, int64_t most)
{
    if (i->remade) return false; /* it is where it is to save memory before */
    if (i->kind != INSTR_MAP || i->nin == 0 || instr_elements(i) == 0 || map_folds_rows(i) ||
        i->map.sums)
        return false;
    for (int k = 0; k < i->nin; k++) {
        int b = i->in[k].buffer;
        if (p->buffers[b].kind != BUFFER_VARIABLE || h->written[b]) return false;
    }
    for (int o = 0; o < i->nout; o++) {
        int           b = i->out[o].buffer;
        const buffer *x = &p->buffers[b];
        if (x->kind != BUFFER_TEMPORARY || x->bytes > most || h->written[b] || h->stored[b])
            return false;
    }
    return true;
}

/* Marks maps outside of loops; their number. */
static int find_early(const program *p, hoister *h, int64_t most)
{
    int n = 0, depth = 0;
    memset(h->written, 0, sizeof *h->written * (size_t)p->nbuffers);
    for (int k = 0; k < p->ninstrs; k++) {
        const instr *i = &p->instrs[k];
        depth += i->kind == INSTR_LOOP;
        h->early[k] = depth == 0 && is_early(p, h, i, most);
        n += h->early[k];
        depth -= i->kind == INSTR_AGAIN;
        for (int o = 0; o < i->nout; o++) h->written[i->out[o].buffer] = true;
    }
    return n;
}

/* LOOP, TEST and AGAIN refer to each other by number. */
static void put_first(program *p, const instr *from, const bool *early, int *now_at)
{
    int n = 0;
    for (int first = 1; first >= 0; first--)
        for (int k = 0; k < p->ninstrs; k++) {
            if (early[k] != first) continue;
            now_at[k] = n;
            p->instrs[n++] = from[k];
        }
    for (int k = 0; k < n; k++) {
        instr *i = &p->instrs[k];
        if (instr_is_control(i)) i->loop.other = now_at[i->loop.other];
    }
}

/* Moves maps with results of at most so many bytes; false: then memory would grow, and none moved. */
static bool move_early(program *p, hoister *h, int64_t most)
{
    int64_t now;
    memcpy(p->instrs, h->before, sizeof *h->before * (size_t)p->ninstrs);
    if (find_early(p, h, most) < FEWEST) return true;
    put_first(p, h->before, h->early, h->now_at);
    if (count_alive(p, &now) && now <= h->peak + h->peak / LITTLE) return true;
    memcpy(p->instrs, h->before, sizeof *h->before * (size_t)p->ninstrs);
    return false;
}

bool hoist_maps(program *p, arena *scratch)
{
    hoister h = {.before = arena_array(scratch, instr, p->ninstrs + 1),
                 .early = arena_array(scratch, bool, p->ninstrs + 1),
                 .written = arena_array(scratch, bool, p->nbuffers + 1),
                 .stored = arena_array(scratch, bool, p->nbuffers + 1),
                 .now_at = arena_array(scratch, int, p->ninstrs + 1)};
    if (!p->session->can.groups) return true;
    TRY(h.before && h.early && h.written && h.stored && h.now_at);
    find_stored(p, h.stored);
    if (find_early(p, &h, INT64_MAX) < FEWEST) return true;
    memcpy(h.before, p->instrs, sizeof *h.before * (size_t)p->ninstrs);
    TRY(count_alive(p, &h.peak));
    if (!move_early(p, &h, INT64_MAX)) move_early(p, &h, SMALL);
    return mtf_ok(p->session);
}
