/* Configurables: functions with parameters that files can bind. */
#include "model/config/configurable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/config/known_model.h"
#include "model/config/known_run.h"
#include "model/config/layer_class.h"

/* ---- names ---- */

/* A place in the lists. */
typedef struct cursor {
    int list, at;
} cursor;

/* The next configurable, NULL after the last. */
static const configurable *next(cursor *i)
{
    const configurable *const *const lists[] = {known_model, known_vocab, known_layers, known_run,
                                                known_others};
    enum { LISTS = sizeof lists / sizeof *lists };
    for (; i->list < LISTS; i->list++, i->at = 0)
        if (lists[i->list][i->at]) return lists[i->list][i->at++];
    if (i->list == LISTS && known_sublayers[i->at].word) return &known_sublayers[i->at++].as;
    if (i->list == LISTS) *i = (cursor){.list = LISTS + 1};
    if (i->list == LISTS + 1 && known_schedules[i->at].word) return &known_schedules[i->at++].as;
    if (i->list == LISTS + 1) *i = (cursor){.list = LISTS + 2};
    if (i->list == LISTS + 2 && known_calls[i->at].name) return &known_calls[i->at++];
    if (i->list == LISTS + 2) *i = (cursor){.list = LISTS + 3};
    return layer_classes[i->at].as ? layer_classes[i->at++].as : NULL;
}

static const char *last_part(const char *selector)
{
    const char *dot = strrchr(selector, '.');
    return dot ? dot + 1 : selector;
}

/* Whether the selector is "module.name" or a suffix of it. */
static bool matches(const configurable *k, const char *selector)
{
    const char *last = last_part(selector);
    if (strcmp(last, k->name) != 0) return false;
    if (last == selector || !k->module) return true;
    size_t given = (size_t)(last - selector) - 1, whole = strlen(k->module);
    return given <= whole && strncmp(k->module + whole - given, selector, given) == 0 &&
           (given == whole || k->module[whole - given - 1] == '.');
}

static int count_matches(const char *selector, const configurable **first)
{
    int    n = 0;
    cursor i = {0};
    for (const configurable *k; (k = next(&i));)
        if (matches(k, selector) && n++ == 0) *first = k;
    return n;
}

const configurable *configurable_find(mtf_config *c, const char *selector, const gin_place *at,
                                      bool quiet)
{
    const configurable *found = NULL;
    int                 n = count_matches(selector, &found);
    if (n == 1 || (quiet && n == 0)) return found;
    if (quiet) return NULL;
    if (n > 1) {
        gin_fail(&c->gin, at, ERR_NAME,
                 "there are several configurables \"%s\"; write more of the name, as in \"%s.%s\"",
                 selector, found->module, found->name);
        return NULL;
    }
    nearest near = {.wanted = last_part(selector)};
    char    hint[200];
    cursor  i = {0};
    for (const configurable *k; (k = next(&i));) nearest_offer(&near, k->name);
    gin_fail(&c->gin, at, ERR_NAME, "there is no configurable \"%s\"%s", selector,
             nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

/* Its name in files. */
static const char *configurable_name(mtf_config *c, const configurable *k)
{
    const configurable *first;
    if (count_matches(k->name, &first) == 1) return k->name;
    textbuf t = {.arena = &c->gin.session->arena};
    text_add(&t, "%s.%s", last_part(k->module), k->name);
    return text_done(&t);
}

static const gin_parameter *find_parameter(const configurable *k, const char *name)
{
    for (; k; k = k->parent)
        for (const gin_parameter *p = k->parameters; p && p->name; p++)
            if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

static bool takes_any(const configurable *k)
{
    for (; k; k = k->parent)
        if (!k->parameters) return true;
    return false;
}

static bool fail_parameter(mtf_config *c, const configurable *k, const char *name,
                           const gin_place *at)
{
    nearest near = {.wanted = name};
    char    hint[200];
    for (const configurable *i = k; i; i = i->parent)
        for (const gin_parameter *p = i->parameters; p && p->name; p++)
            nearest_offer(&near, p->name);
    return gin_fail(&c->gin, at, ERR_NAME, "%s has no parameter \"%s\"%s", k->name, name,
                    nearest_hint(&near, hint, sizeof hint));
}

/* ---- bindings ---- */

/* The last binding of the parameter in exactly this scope. */
static gin_binding *bound(mtf_config *c, const configurable *k, const char *scope, size_t length,
                          const char *parameter)
{
    for (int i = c->gin.nbindings - 1; i >= 0; i--) {
        gin_binding *b = &c->gin.bindings[i];
        if (b->selector && strcmp(b->parameter, parameter) == 0 && strlen(b->scope) == length &&
            strncmp(b->scope, scope, length) == 0 && strcmp(last_part(b->selector), k->name) == 0 &&
            configurable_find(c, b->selector, &b->at, true) == k)
            return b;
    }
    return NULL;
}

/* In "a/b": a binding for a/b, else one for a, else one for no scope. */
static gin_binding *find_binding(mtf_config *c, const configurable *k, const char *scope,
                                 const char *parameter)
{
    for (size_t n = strlen(scope);;) {
        gin_binding *b = bound(c, k, scope, n, parameter);
        if (b || n == 0) return b;
        do n--;
        while (n > 0 && scope[n] != '/');
    }
}

static const gin_value *given_value(const gin_value *given, const char *name)
{
    for (int k = given ? given->n - 1 : -1; k >= 0; k--)
        if (given->items[2 * k].kind == GIN_TEXT && strcmp(given->items[2 * k].text, name) == 0)
            return &given->items[2 * k + 1];
    return NULL;
}

gin_place configured_at(mtf_config *c, const configurable *k, const char *scope,
                        const char *parameter)
{
    for (; k; k = k->parent) {
        const gin_binding *b = find_binding(c, k, scope, parameter);
        if (b) return b->value->at;
    }
    return (gin_place){0};
}

/* ---- values ---- */

static bool wrong_type(mtf_config *c, const configurable *k, const gin_parameter *p,
                       const gin_value *v, const char *right)
{
    const char *text = gin_text(&c->gin, v);
    return text && gin_fail(&c->gin, &v->at, ERR_VALUE, "%s.%s takes %s, not %s", k->name, p->name,
                            right, text);
}

static bool same_as_default(mtf_config *c, const gin_parameter *p, const gin_value *v)
{
    const char *text = gin_text(&c->gin, v);
    return text && strcmp(text, p->otherwise) == 0;
}

static bool store_real(mtf_config *c, const configurable *k, const gin_parameter *p,
                       const gin_value *v, bool none, double *to)
{
    double x = none ? 0 : v->kind == GIN_INT ? (double)v->whole : v->real;
    if (!none && v->kind != GIN_INT && v->kind != GIN_REAL)
        return wrong_type(c, k, p, v, "a number");
    if (p->takes == TAKES_LEAST_0 && !(x >= 0))
        return wrong_type(c, k, p, v, "a number of 0 or more");
    if (p->takes == TAKES_ABOVE_0 && !none && !(x > 0))
        return wrong_type(c, k, p, v, "a number above 0");
    if (p->takes == TAKES_SHARE && !(x >= 0 && x < 1))
        return wrong_type(c, k, p, v, "a number from 0 to below 1");
    *to = x;
    return true;
}

static bool store(mtf_config *c, const configurable *k, const gin_parameter *p, const gin_value *v,
                  void *to)
{
    void *at = (char *)to + p->at;
    bool  none = v->kind == GIN_NONE && strcmp(p->otherwise, "None") == 0;
    switch (p->takes) {
    case TAKES_COUNT:
    case TAKES_TIMES:
    case TAKES_INT: {
        int64_t least = p->takes == TAKES_INT ? INT64_MIN : 1, whole = none ? 0 : v->whole;
        if (v->kind == GIN_REAL && fabs(v->real) < 1e18 && v->real == floor(v->real))
            whole = (int64_t)v->real;
        else if (!none && v->kind != GIN_INT)
            return wrong_type(c, k, p, v, "a whole number");
        if (!none && whole < least) return wrong_type(c, k, p, v, "a whole number from 1 on");
        if (p->takes == TAKES_TIMES && whole > TIMES_MOST)
            return wrong_type(c, k, p, v, "a whole number from 1 to 999");
        *(int64_t *)at = whole;
        return true;
    }
    case TAKES_REAL:
    case TAKES_LEAST_0:
    case TAKES_ABOVE_0:
    case TAKES_SHARE: return store_real(c, k, p, v, none, at);
    case TAKES_BOOL:
        if (!none && v->kind != GIN_BOOL) return wrong_type(c, k, p, v, "True or False");
        *(bool *)at = v->truth;
        return true;
    case TAKES_TEXT:
        if (v->kind != GIN_TEXT && v->kind != GIN_NONE) return wrong_type(c, k, p, v, "a text");
        *(const char **)at = v->kind == GIN_TEXT ? v->text : NULL;
        return true;
    case TAKES_VALUE: *(const gin_value **)at = v; return true;
    case TAKES_NOTHING: return true;
    case TAKES_DEFAULT:
        return same_as_default(c, p, v) || !mtf_ok(c->gin.session) ||
               gin_fail(&c->gin, &v->at, ERR_VALUE,
                        "%s.%s is not available in mtf with any value but %s", k->name, p->name,
                        p->otherwise);
    }
    return false;
}

static bool record(mtf_config *c, const configurable *k, const char *scope, const char *parameter,
                   const gin_value *v)
{
    const char *name = configurable_name(c, k), *text = gin_text(&c->gin, v);
    TRY(name && text);
    for (int i = 0; i < c->noperatives; i++) {
        const operative *o = &c->operatives[i];
        if (strcmp(o->scope, scope) == 0 && strcmp(o->name, name) == 0 &&
            strcmp(o->parameter, parameter) == 0)
            return true;
    }
    TRY(arena_push(&c->gin.session->arena, c->operatives, c->noperatives, c->room) != NULL);
    c->operatives[c->noperatives++] = (operative){scope, name, parameter, text};
    return true;
}

/* Reads one parameter for a call of `k`; its table is that of `owner`: k, or one of its parents. */
static bool configure_one(mtf_config *c, const configurable *k, const configurable *owner,
                          const char *scope, const gin_value *given, const gin_parameter *p,
                          void *to)
{
    gin_binding        *b = NULL;
    const configurable *by = k;
    const gin_value    *v = given_value(given, p->name), *passed = v;
    for (; !v && !b && by; by = by == owner ? NULL : by->parent)
        if ((b = find_binding(c, by, scope, p->name))) break;
    if (b) v = b->value;
    if (!v) {
        by = owner;
        v = gin_read_value(&c->gin, p->otherwise, NULL);
        TRY(v != NULL);
    }
    if (b && p->takes == TAKES_NOTHING && !b->used && !b->quiet && !same_as_default(c, p, v))
        gin_say(&c->gin, &b->at, false, "%s.%s has no effect in mtf", k->name, p->name);
    if (b) b->used = true;
    v = gin_resolve(&c->gin, v);
    bool silent = passed || p->takes == TAKES_NOTHING;
    return v && (silent || record(c, by, scope, p->name, v)) && store(c, k, p, v, to);
}

static bool owns(const configurable *k, const configurable *before, const char *name)
{
    for (; k && k != before; k = k->parent)
        for (const gin_parameter *p = k->parameters; p && p->name; p++)
            if (strcmp(p->name, name) == 0) return true;
    return false;
}

bool configure(mtf_config *c, const configurable *k, const char *scope, const gin_value *given,
               void *to)
{
    for (int i = 0; given && i < given->n; i++) {
        const gin_value *name = &given->items[2 * i];
        if (name->kind != GIN_TEXT)
            return gin_fail(&c->gin, &name->at, ERR_VALUE,
                            "the arguments of %s have names, which are strings", k->name);
        if (!find_parameter(k, name->text)) return fail_parameter(c, k, name->text, &name->at);
    }
    for (const configurable *owner = k; owner; owner = owner->parent)
        for (const gin_parameter *p = owner->parameters; p && p->name; p++)
            if (!owns(k, owner, p->name)) TRY(configure_one(c, k, owner, scope, given, p, to));
    return mtf_ok(c->gin.session);
}

/* ---- the rest ---- */

/* T5's own class takes what `run` takes otherwise, and None where something else decides. */
static bool is_of_run(const configurable *k, const gin_binding *b)
{
    return k == &known_t5_model && b->value->kind != GIN_NONE &&
           find_parameter(&known_run_function, b->parameter);
}

bool check_names(mtf_config *c)
{
    for (int i = 0; i < c->gin.nbindings; i++) {
        gin_binding *b = &c->gin.bindings[i];
        if (!b->selector) continue;
        const configurable *k = configurable_find(c, b->selector, &b->at, c->skip_unknown);
        if (is_of_run(k, b)) b->selector = known_run_function.name;
        if (k && (takes_any(k) || find_parameter(k, b->parameter))) continue;
        TRY(mtf_ok(c->gin.session));
        if (k && !c->skip_unknown) return fail_parameter(c, k, b->parameter, &b->at);
        gin_say(&c->gin, &b->at, true,
                k ? "%s has no parameter \"%s\": it is left out"
                  : "there is no configurable \"%s\" with a \"%s\": it is "
                    "left out",
                b->selector, b->parameter);
        b->used = true;
    }
    return true;
}

static bool overridden(mtf_config *c, int i)
{
    const gin_binding  *b = &c->gin.bindings[i];
    const configurable *k = b->selector ? configurable_find(c, b->selector, &b->at, true) : NULL;
    for (int j = i + 1; j < c->gin.nbindings; j++) {
        const gin_binding *l = &c->gin.bindings[j];
        if (strcmp(l->parameter, b->parameter) == 0 && strcmp(l->scope, b->scope) == 0 &&
            !l->selector == !b->selector &&
            (!k || (l->selector && configurable_find(c, l->selector, &l->at, true) == k)))
            return true;
    }
    return false;
}

/* Whether something is called in this scope, or in one inside it. */
static bool is_called_in(const mtf_config *c, const char *scope)
{
    size_t n = strlen(scope);
    for (int i = 0; i < c->noperatives; i++) {
        const char *its = c->operatives[i].scope;
        if (strncmp(its, scope, n) == 0 && (!its[n] || its[n] == '/')) return true;
    }
    return false;
}

/* What a binding's scope may have been meant to be, as nearest_hint says it; "" where it is a scope of the run. */
static const char *unknown_scope(const mtf_config *c, const gin_binding *b, char *text, size_t room)
{
    nearest near = {.wanted = b->scope};
    char    hint[200];
    if (!*b->scope || is_called_in(c, b->scope)) return "";
    for (int i = 0; i < c->noperatives; i++) nearest_offer(&near, c->operatives[i].scope);
    nearest_hint(&near, hint, sizeof hint);
    bool plain = !*hint && strcmp(last_part(b->selector), known_run_function.name) == 0;
    snprintf(text, room, "; it has no scope \"%s\"%s", b->scope, plain ? ": leave that out" : hint);
    return text;
}

/* The bindings for inner scopes that the run reads in a binding's place; "" where there are none. */
static const char *read_instead(mtf_config *c, const gin_binding *b, const configurable *k)
{
    textbuf            t = {.arena = &c->gin.session->arena};
    const gin_binding *before = NULL;
    const char        *name = configurable_name(c, k);
    size_t             n = strlen(b->scope);
    for (int i = 0; name && i < c->noperatives; i++) {
        const operative *o = &c->operatives[i];
        if (strcmp(o->name, name) != 0 || strcmp(o->parameter, b->parameter) != 0 ||
            strncmp(o->scope, b->scope, n) != 0)
            continue;
        const gin_binding *read = find_binding(c, k, o->scope, b->parameter);
        if (read && read != before && *read->scope)
            text_add(&t, "%s%s/%s.%s", t.used ? ", " : "; the run reads ", read->scope, k->name,
                     read->parameter);
        before = read;
    }
    const char *text = t.used ? text_done(&t) : "";
    return text ? text : "";
}

void note_unused(mtf_config *c)
{
    gin_file *g = &c->gin;
    char      scope[400];
    for (int i = 0; i < g->nbindings; i++) {
        gin_binding        *b = &g->bindings[i];
        const configurable *k =
            b->selector ? configurable_find(c, b->selector, &b->at, true) : NULL;
        if (b->used || b->quiet || !k || overridden(c, i)) continue;
        b->used = true;
        gin_text(g, b->value); /* marks the macros that it mentions as used */
        if (k->standing == STANDING_NO_EFFECT)
            gin_say(g, &b->at, false, "%s.%s has no effect in mtf", k->name, b->parameter);
        else
            gin_say(g, &b->at, true, "%s%s%s.%s is not used: nothing in this run reads it%s%s%s",
                    b->scope, *b->scope ? "/" : "", k->name, b->parameter,
                    k->standing == STANDING_ABSENT ? ", and it is not available in mtf" : "",
                    unknown_scope(c, b, scope, sizeof scope), read_instead(c, b, k));
    }
    for (int i = 0; i < g->nbindings; i++) {
        gin_binding *b = &g->bindings[i];
        char         hint[200];
        if (b->selector || b->used || b->quiet || overridden(c, i)) continue;
        b->used = true;
        gin_say(g, &b->at, true, "the macro \"%s\" is not used%s", b->parameter,
                gin_near_macro(g, b->parameter, hint, sizeof hint));
    }
}
