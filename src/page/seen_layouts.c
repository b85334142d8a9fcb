/* Layouts that a search priced, each once. */
#include "page/seen_layouts.h"

static const char *rules_text(arena *a, const layout_rule *rules, int n)
{
    textbuf t = {.arena = a};
    for (int r = 0; r < n; r++) text_add(&t, "%s%s", r ? "," : "", rules[r].text);
    return text_done(&t);
}

static bool add_layout(seen_layouts *s, seen_layout x)
{
    arena  *a = &s->session->arena;
    textbuf key = {.arena = a};
    text_add(&key, "%s %s %s", x.mesh, x.layout, x.state);
    const char *text = text_done(&key);
    TRY(text != NULL);
    s->known.arena = a;
    int *place = names_get(&s->known, text);
    if (place) {
        s->list[*place] = x;
        return true;
    }
    TRY(arena_push(a, s->list, s->n, s->room));
    place = arena_new(a, int);
    TRY(place != NULL);
    *place = s->n;
    s->list[s->n++] = x;
    return names_put(&s->known, text, place);
}

bool seen_add(void *context, const layout *l, const cost *c)
{
    seen_layouts *s = context;
    arena        *a = &s->session->arena;
    textbuf       m = {.arena = a};
    for (int k = 0; k < l->mesh->naxes; k++)
        text_add(&m, "%s%s:%d", k ? "," : "", l->mesh->name[k], l->mesh->size[k]);
    seen_layout x = {.mesh = text_done(&m),
                     .layout = rules_text(a, l->rules, l->nrules),
                     .state = rules_text(a, l->state, l->nstate),
                     .cost = *c};
    return x.mesh && x.layout && x.state && add_layout(s, x);
}

bool seen_add_best(seen_layouts *s, const found_layout *x, const char *reason)
{
    return add_layout(s, (seen_layout){.mesh = x->mesh_text,
                                       .layout = x->layout_text,
                                       .state = x->state_text,
                                       .cost = x->cost,
                                       .reason = reason});
}
