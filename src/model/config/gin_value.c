/* Values: resolving macros, and writing values as text. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "model/config/gin.h"

/* ---- messages ---- */

const char *gin_place_text(const gin_place *at, char text[GIN_PLACE])
{
    text[0] = 0;
    bool option = at && at->file && strncmp(at->file, "--", 2) == 0; /* of a command line */
    if (option)
        snprintf(text, GIN_PLACE, "%s: ", at->file);
    else if (at && at->file)
        snprintf(text, GIN_PLACE, "%s:%d:%d: ", at->file, at->line, at->column);
    return text;
}

bool gin_fail(gin_file *g, const gin_place *at, error_kind kind, const char *format, ...)
{
    char    sentence[800], place[GIN_PLACE];
    va_list args;
    va_start(args, format);
    number_vformat(sentence, sizeof sentence, format, args);
    va_end(args);
    return fail(&g->session->fault, kind, "%s%s", gin_place_text(at, place), sentence);
}

void gin_say(gin_file *g, const gin_place *at, bool warning, const char *format, ...)
{
    arena  *a = &g->session->arena;
    char    sentence[800], place[GIN_PLACE];
    textbuf t = {.arena = a};
    va_list args;
    va_start(args, format);
    number_vformat(sentence, sizeof sentence, format, args);
    va_end(args);
    text_add(&t, "%s%s", gin_place_text(at, place), sentence);
    if (!arena_push(a, g->notes, g->nnotes, g->notes_room)) return;
    g->notes[g->nnotes++] = (mtf_config_note){warning, text_done(&t)};
}

/* ---- macros ---- */

static gin_binding *find_macro(gin_file *g, const char *name)
{
    for (int k = g->nbindings - 1; k >= 0; k--)
        if (!g->bindings[k].selector && strcmp(g->bindings[k].parameter, name) == 0)
            return &g->bindings[k];
    return NULL;
}

const char *gin_near_macro(const gin_file *g, const char *name, char *text, size_t room)
{
    nearest near = {.wanted = name};
    for (int i = 0; i < g->nbindings; i++) {
        const gin_binding *b = &g->bindings[i];
        if (!b->selector && strcmp(b->parameter, name) != 0) nearest_offer(&near, b->parameter);
    }
    return nearest_hint(&near, text, room);
}

const gin_value *gin_resolve(gin_file *g, const gin_value *v)
{
    const gin_value *asked = v;
    for (int k = 0; v && v->kind == GIN_MACRO; k++) {
        gin_binding *b = find_macro(g, v->text);
        if (!b && strcmp(v->text, "gin.REQUIRED") == 0) {
            gin_fail(g, &v->at, ERR_VALUE,
                     "a value must be given here: a later binding was expected");
            return NULL;
        }
        if (!b) {
            char hint[200];
            gin_fail(g, &v->at, ERR_NAME, "there is no macro \"%s\"%s", v->text,
                     gin_near_macro(g, v->text, hint, sizeof hint));
            return NULL;
        }
        if (k > g->nbindings) {
            gin_fail(g, &asked->at, ERR_VALUE, "the macro \"%s\" is its own value", asked->text);
            return NULL;
        }
        b->used = true;
        v = b->value;
    }
    return v;
}

/* ---- writing ---- */

static void write_text(const char *text, textbuf *t)
{
    text_add(t, "'");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n')
            text_add(t, "\\n");
        else if (c == '\\' || c == '\'')
            text_add(t, "\\%c", c);
        else if (c < ' ' || c == 127)
            text_add(t, "\\x%02x", c);
        else
            text_add(t, "%c", c);
    }
    text_add(t, "'");
}

/* Written with a point or exponent, so that it does not read back as a whole number. */
void gin_write_real(double x, textbuf *t)
{
    char  text[40];
    char *end;
    if (fabs(x) < 1e15 && x == floor(x)) {
        text_add(t, "%.1f", x);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        number_format(text, sizeof text, "%.*g", digits, x);
        if (number_read(text, &end) == x) break;
    }
    text_add(t, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

static void write_at(gin_file *g, const gin_value *v, int depth, textbuf *t)
{
    v = gin_resolve(g, v);
    if (!v || t->failed) return;
    if (depth > 100) {
        gin_fail(g, &v->at, ERR_VALUE, "a macro contains itself");
        return;
    }
    static const char *const brackets[] = {
        [GIN_LIST] = "[]", [GIN_TUPLE] = "()", [GIN_DICT] = "{}"};
    switch (v->kind) {
    case GIN_NONE: text_add(t, "None"); break;
    case GIN_BOOL: text_add(t, v->truth ? "True" : "False"); break;
    case GIN_INT: text_add(t, "%lld", (long long)v->whole); break;
    case GIN_REAL: gin_write_real(v->real, t); break;
    case GIN_TEXT: write_text(v->text, t); break;
    case GIN_REFERENCE:
        text_add(t, "@%s%s%s%s", v->scope, *v->scope ? "/" : "", v->text, v->called ? "()" : "");
        break;
    default:
        text_add(t, "%c", brackets[v->kind][0]);
        for (int k = 0; k < v->n && mtf_ok(g->session); k++) {
            if (k) text_add(t, ", ");
            if (v->kind == GIN_DICT) {
                write_at(g, &v->items[2 * k], depth + 1, t);
                text_add(t, ": ");
                write_at(g, &v->items[2 * k + 1], depth + 1, t);
            } else {
                write_at(g, &v->items[k], depth + 1, t);
            }
        }
        text_add(t, v->kind == GIN_TUPLE && v->n == 1 ? ",%c" : "%c", brackets[v->kind][1]);
    }
}

static void gin_write(gin_file *g, const gin_value *v, textbuf *t)
{
    write_at(g, v, 0, t);
}

const char *gin_text(gin_file *g, const gin_value *v)
{
    textbuf t = {.arena = &g->session->arena};
    gin_write(g, v, &t);
    return mtf_ok(g->session) ? text_done(&t) : NULL;
}
