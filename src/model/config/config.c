/* Configurations: opened, queried, and printed as operative. */
#include "model/config/config.h"

#include "model/config/configurable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static bool read_all(mtf_config *c, const mtf_config_opts *o)
{
    if (!o->no_defaults) {
        c->gin.reading_own = true;
        TRY(gin_read_file(&c->gin, "defaults.gin", NULL));
        c->gin.reading_own = false;
    }
    for (int k = 0; o->files && o->files[k]; k++) TRY(gin_read_file(&c->gin, o->files[k], NULL));
    for (int k = 0; o->params && o->params[k]; k++) {
        const char *text = arena_text(&c->gin.session->arena, o->params[k]);
        char        number[40];
        snprintf(number, sizeof number, "parameter %d", k + 1);
        const char *name = o->params_names ? o->params_names[k] : number;
        const char *kept = arena_text(&c->gin.session->arena, name);
        TRY(text && kept && gin_read_text(&c->gin, text, kept));
    }
    return check_names(c);
}

static const char *const *copied_list(mtf_session *s, const char *const *list)
{
    int n = 0;
    while (list && list[n]) n++;
    const char **copy = arena_array(&s->arena, const char *, (size_t)n + 1);
    for (int k = 0; copy && k < n; k++) copy[k] = arena_text(&s->arena, list[k]);
    return copy;
}

mtf_config *mtf_config_open(mtf_session *s, const mtf_config_opts *opts)
{
    mtf_config_opts o = opts ? *opts : (mtf_config_opts){0};
    if (!s || !mtf_ok(s)) return NULL;
    mtf_config *c = arena_new(&s->arena, mtf_config);
    if (!c) return NULL;
    c->gin = (gin_file){.session = s, .folders = copied_list(s, o.folders)};
    c->skip_unknown = o.skip_unknown;
    return read_all(c, &o) ? c : NULL;
}

/* ---- values ---- */

const configurable *config_reference(mtf_config *c, const gin_value *v, const char *what)
{
    if (v->kind != GIN_REFERENCE) {
        const char *text = gin_text(&c->gin, v);
        if (text)
            gin_fail(&c->gin, &v->at, ERR_VALUE,
                     "%s is a reference, such as @SelfAttention, not %s", what, text);
        return NULL;
    }
    const configurable *k = configurable_find(c, v->text, &v->at, false);
    if (k && k->standing == STANDING_ABSENT) {
        gin_fail(&c->gin, &v->at, ERR_VALUE, "%s is not available in mtf yet", k->name);
        return NULL;
    }
    return k;
}

bool config_is_list(const gin_value *v)
{
    return v->kind == GIN_LIST || v->kind == GIN_TUPLE;
}

const gin_value *config_item(mtf_config *c, const gin_value *list, int k)
{
    return gin_resolve(&c->gin, &list->items[k]);
}

const char *config_pattern(mtf_config *c, const gin_value *list, bool plain, const char *what)
{
    textbuf t = {.arena = &c->gin.session->arena};
    int     n = config_is_list(list) ? list->n : list->kind == GIN_NONE ? 0 : 1;
    for (int k = 0; k < n; k++) {
        const gin_value *v = config_is_list(list) ? config_item(c, list, k) : list;
        if (!v) return NULL;
        if (v->kind != GIN_TEXT) {
            gin_fail(&c->gin, &v->at, ERR_VALUE, "%s takes a list of strings", what);
            return NULL;
        }
        text_add(&t, k ? "|" : "");
        if (!plain) text_add(&t, n > 1 ? "(%s)" : "%s", v->text);
        for (const char *p = v->text; plain && *p; p++)
            text_add(&t, strchr(".*+?|()[]{}^$\\", *p) ? "\\%c" : "%c", *p);
    }
    return text_done(&t);
}

/* ---- unused parameters ---- */

bool mtf_config_finish(mtf_config *c)
{
    if (!c || !mtf_ok(c->gin.session)) return false;
    note_unused(c);
    return mtf_ok(c->gin.session);
}

int mtf_config_notes(const mtf_config *c, const mtf_config_note **notes)
{
    *notes = c ? c->gin.notes : NULL;
    return c ? c->gin.nnotes : 0;
}

static int by_name(const void *a, const void *b)
{
    const operative *x = a, *y = b;
    int              order = strcmp(x->name, y->name);
    if (!order) order = strcmp(x->scope, y->scope);
    return order ? order : strcmp(x->parameter, y->parameter);
}

const char *mtf_config_operative(mtf_config *c)
{
    if (!c || !mtf_ok(c->gin.session)) return NULL;
    textbuf          t = {.arena = &c->gin.session->arena};
    const operative *before = NULL;
    if (c->noperatives) qsort(c->operatives, (size_t)c->noperatives, sizeof(operative), by_name);
    for (int k = 0; k < c->noperatives; k++) {
        const operative *o = &c->operatives[k];
        if (before && (strcmp(before->name, o->name) != 0 || strcmp(before->scope, o->scope) != 0))
            text_add(&t, "\n");
        text_add(&t, "%s%s%s.%s = %s\n", o->scope, *o->scope ? "/" : "", o->name, o->parameter,
                 o->value);
        before = o;
    }
    return text_done(&t);
}

/* ---- all at once ---- */

mtf_config *mtf_configure(mtf_session *s, const mtf_config_opts *opts, mtf_config_tokens *tokens,
                          void *context, mtf_config_run *run, mtf_config_model *model)
{
    mtf_config *c = mtf_config_open(s, opts);
    int64_t     input = 0, output = 0;
    if (!c || !mtf_config_get_run(c, run)) return NULL;
    if (tokens && run->vocabulary_text && run->targets_vocabulary_text) {
        bool one = run->targets_vocabulary == run->vocabulary;
        input = tokens(context, run->vocabulary_text);
        output = one ? input : tokens(context, run->targets_vocabulary_text);
        if (input < 1 || output < 1) {
            fail(&s->fault, ERR_VALUE, "the vocabulary %s has no tokens", run->vocabulary_text);
            return NULL;
        }
    }
    return mtf_config_get_model(c, input, output, model) && mtf_config_finish(c) ? c : NULL;
}
