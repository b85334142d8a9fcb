/* Vocabularies and datasets: functions with their arguments as text. */
#include <string.h>

#include "model/config/config.h"
#include "model/config/configurable.h"

enum { MOST_NESTED_CALLS = 8 };

static const mtf_config_call *call_at(mtf_config *c, const gin_value *v, const char *scope,
                                      const char *what, int depth);

/* An argument as text, or as a nested call. */
static bool argument_of(mtf_config *c, const gin_value *v, const char *scope, int depth,
                        mtf_config_argument *to)
{
    char place[GIN_PLACE];
    to->at = arena_text(&c->gin.session->arena, gin_place_text(&v->at, place));
    if (v->kind == GIN_NONE) return to->at != NULL;
    to->text = v->kind == GIN_TEXT ? v->text : gin_text(&c->gin, v);
    if (v->kind == GIN_REFERENCE) to->call = call_at(c, v, scope, to->name, depth + 1);
    return to->at && to->text && (v->kind != GIN_REFERENCE || to->call);
}

static const mtf_config_call *call_at(mtf_config *c, const gin_value *v, const char *scope,
                                      const char *what, int depth)
{
    const configurable *k = config_reference(c, v, what);
    call_args           a = {0};
    int                 n = 0;
    if (!k) return NULL;
    bool found = false;
    for (int i = 0; known_calls[i].name; i++) found = found || k == &known_calls[i];
    if (!found || depth > MOST_NESTED_CALLS) {
        gin_fail(&c->gin, &v->at, ERR_VALUE, "%s: @%s is neither a vocabulary nor a dataset", what,
                 k->name);
        return NULL;
    }
    scope = scope_of(v, scope);
    if (!configure(c, k, scope, NULL, &a)) return NULL;
    for (const configurable *i = k; i; i = i->parent)
        for (const gin_parameter *p = i->parameters; p->name; p++) n++;
    mtf_config_call     *call = arena_new(&c->gin.session->arena, mtf_config_call);
    mtf_config_argument *list =
        arena_array(&c->gin.session->arena, mtf_config_argument, (size_t)n + 1);
    if (!call || !list) return NULL;
    mtf_config_argument *to = list;
    for (const configurable *i = k; i; i = i->parent)
        for (const gin_parameter *p = i->parameters; p->name; p++, to++) {
            to->name = p->name;
            if (!argument_of(c, a.values[p->at / sizeof *a.values], scope, depth, to)) return NULL;
        }
    *call = (mtf_config_call){k->name, n, list};
    return call;
}

const mtf_config_call *config_call(mtf_config *c, const gin_value *v, const char *scope,
                                   const char *what)
{
    return call_at(c, v, scope, what, 0);
}

const char *mtf_config_argument_text(const mtf_config_call *call, const char *name)
{
    for (int k = 0; call && k < call->n; k++)
        if (strcmp(call->arguments[k].name, name) == 0) return call->arguments[k].text;
    return NULL;
}
