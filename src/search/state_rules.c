/* Rules that cut stored state further, found step by step. */
#include "search/state_rules.h"

#include <string.h>

enum { MOST_STATE = 12 };

static bool cuts_some_variable(const subject *s, const char *dim)
{
    const block *root = &s->graph->root;
    for (int k = 0; k < root->nnodes; k++)
        if (strcmp(root->nodes[k]->op->name, "variable") == 0 &&
            shape_find(&root->nodes[k]->out[0]->shape, dim) >= 0)
            return true;
    return false;
}

static bool write_rule(mtf_session *s, const mesh *m, layout_rule *r)
{
    textbuf t = {.arena = &s->arena};
    text_add(&t, "%s:%s", r->dim, m->name[r->cut.axis[0]]);
    r->text = text_done(&t);
    return r->text != NULL;
}

/* The rule that helps most, appended; `helped` says whether any does. */
static bool add_one(const subject *s, const state_opts *o, layout *l, cost *c, bool *helped)
{
    const name_table *dims = &s->graph->dim_names;
    layout_rule       best = {0};
    cost              best_cost = *c;
    *helped = false;
    for (int k = 0; k < dims->room; k++) {
        const char *dim = dims->entries[k].name;
        if (!dim || !cuts_some_variable(s, dim)) continue;
        for (int a = 0; a < l->mesh->naxes; a++) {
            cost now;
            if (l->mesh->size[a] < 2) continue;
            layout_rule *r = &l->state[l->nstate];
            *r = (layout_rule){.dim = dim, .text = "", .cut = {1, {(uint8_t)a}}};
            l->nstate++;
            bool ok = cost_of(s, l, o->rates, NULL, NULL, &now);
            l->nstate--;
            TRY(ok);
            bool same = !worth_less(worth_of(&best_cost, o->smallest, o->limit),
                                    worth_of(&now, o->smallest, o->limit)) &&
                        !worth_less(worth_of(&now, o->smallest, o->limit),
                                    worth_of(&best_cost, o->smallest, o->limit));
            bool first = *helped && same && strcmp(dim, best.dim) < 0; /* of equals, by name */
            if (!first && !worth_less(worth_of(&now, o->smallest, o->limit),
                                      worth_of(&best_cost, o->smallest, o->limit)))
                continue;
            best = *r;
            best_cost = now;
            *helped = true;
        }
    }
    if (!*helped) return true;
    TRY(write_rule(s->graph->session, l->mesh, &best));
    l->state[l->nstate++] = best;
    *c = best_cost;
    return true;
}

bool state_descend(const subject *s, const state_opts *o, layout *l, cost *c)
{
    bool         helped = true;
    int          given = l->nstate;
    layout_rule *room = arena_array(&s->graph->session->arena, layout_rule, given + MOST_STATE + 1);
    TRY(room && cost_of(s, l, o->rates, NULL, NULL, c));
    memcpy(room, l->state, sizeof *room * (size_t)given);
    l->state = room;
    while (helped && l->nstate < given + MOST_STATE) TRY(add_one(s, o, l, c, &helped));
    return true;
}
