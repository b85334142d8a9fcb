/* Tokens, names and errors of the text reader. */
#include "ops/parser.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/numbers.h"
#include "ops/other_names.h"

enum { DEEPEST = 200 };

/* ---- errors ---- */

bool parse_fail(parser *p, const token *at, const char *format, ...)
{
    char    text[700];
    va_list args;
    va_start(args, format);
    number_vformat(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++) /* binary input must not reach a terminal */
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    p->placed = true;
    return fail(&p->session->fault, ERR_SYNTAX, "%s:%d:%d: %s", p->file, at->line, at->column,
                text);
}

bool parse_place(parser *p, const token *at)
{
    fault *f = &p->session->fault;
    if (f->kind == ERR_NONE) fail(f, ERR_INTERNAL, "an operation failed without a reason");
    if (p->placed || f->kind == ERR_MEMORY) return false; /* memory: no error in the text */
    fault       old = *f;
    const char *rest = strstr(old.text, ": ");
    fault_clear(f);
    fail(f, old.kind, "%s:%d:%d: %s", p->file, at->line, at->column, rest ? rest + 2 : old.text);
    p->placed = true;
    return false;
}

bool parse_expected(parser *p, const char *what)
{
    char shown[TOKEN_SHOWN];
    return parse_fail(p, &p->at.t, "expected %s, found %s", what, token_show(&p->at.t, shown));
}

/* ---- tokens ---- */

void parse_begin(parser *p, const char *text)
{
    p->at.lex = lexer_make(text, &p->words);
    p->at.t = (token){.line = 1, .column = 1};
    p->at.next = lexer_next(&p->at.lex);
}

bool parse_next(parser *p)
{
    p->at.t = p->at.next;
    p->at.next = p->at.t.kind == TOKEN_BAD ? p->at.t : lexer_next(&p->at.lex);
    const token *t = &p->at.t;
    if (t->kind != TOKEN_BAD) return true;
    if (!t->text) return false; /* no memory */
    unsigned char c = (unsigned char)t->sign;
    if (c > 0x20 && c < 0x7f) return parse_fail(p, t, "\"%c\" %s", c, t->text);
    if (c) return parse_fail(p, t, "the byte 0x%02x %s", c, t->text);
    return parse_fail(p, t, "%s", t->text);
}

bool parse_sign(parser *p, char sign, const char *what)
{
    if (!token_is(&p->at.t, sign)) return parse_expected(p, what);
    return parse_next(p);
}

bool parse_closing(parser *p, char sign, const token *open)
{
    if (token_is(&p->at.t, sign)) return parse_next(p);
    if (p->at.t.kind == TOKEN_END)
        return parse_fail(p, &p->at.t,
                          "the text ends before the \"%c\" of line %d, column %d is "
                          "closed",
                          open->sign, open->line, open->column);
    char what[] = "\",\" or \"?\"";
    what[8] = sign;
    return parse_expected(p, what);
}

bool parse_at_line_end(const parser *p)
{
    const token *t = &p->at.t;
    return t->kind == TOKEN_LINE || t->kind == TOKEN_END || token_is(t, '}');
}

bool parse_deeper(parser *p, const token *at)
{
    if (p->level == DEEPEST)
        return parse_fail(p, at, "this is nested deeper than %d levels", DEEPEST);
    p->level++;
    return true;
}

bool parse_int(parser *p, int64_t *value, const char *what)
{
    token sign = p->at.t;
    bool  negative = token_is(&sign, '-');
    if (negative) TRY(parse_next(p));
    const token *t = &p->at.t;
    if (t->kind != TOKEN_NUMBER) return parse_expected(p, what);
    if ((int)strspn(t->text, "0123456789") < t->length) return parse_expected(p, what);
    errno = 0;
    unsigned long long v = strtoull(t->text, NULL, 10);
    if (errno || v > (unsigned long long)INT64_MAX + negative)
        return parse_fail(p, t, "the number %.*s is out of range: whole numbers have 64 bits",
                          t->length < 40 ? t->length : 40, t->text);
    *value = (int64_t)(negative ? 0 - v : v);
    return parse_next(p);
}

bool parse_number_follows(const parser *p)
{
    const token *t = &p->at.t;
    return t->kind == TOKEN_NUMBER || token_is_word(t, "nan") || token_is_word(t, "inf");
}

bool parse_real(parser *p, double *value, const char *what)
{
    bool negative = token_is(&p->at.t, '-');
    if (negative) TRY(parse_next(p));
    if (!parse_number_follows(p)) return parse_expected(p, what);
    const token *t = &p->at.t;
    double       v = (double)NAN;
    if (token_is_word(t, "inf")) v = (double)INFINITY;
    if (t->kind == TOKEN_NUMBER) v = number_read(t->text, NULL);
    if (t->kind == TOKEN_NUMBER && isinf(v))
        return parse_fail(p, t, "the number %.*s is out of range; write inf for infinity",
                          t->length < 40 ? t->length : 40, t->text);
    *value = negative ? -v : v;
    return parse_next(p);
}

bool parse_exact(parser *p, attr_number *value, const char *what)
{
    bool         negative = token_is(&p->at.t, '-');
    const token *t = negative ? &p->at.next : &p->at.t;
    *value = (attr_number){0};
    errno = 0;
    if (t->kind == TOKEN_NUMBER && (int)strspn(t->text, "0123456789") >= t->length) {
        unsigned long long v = strtoull(t->text, NULL, 10);
        if (!errno && v > 1ull << 53 && v <= INT64_MAX) {
            *value = number_of_whole(negative ? -(int64_t)v : (int64_t)v);
            return (!negative || parse_next(p)) && parse_next(p);
        }
    }
    return parse_real(p, &value->r, what);
}

/* ---- names ---- */

const op *parse_find_op(parser *p, const token *name)
{
    const op *o = name->kind == TOKEN_NAME ? names_get(&p->ops, name->text) : NULL;
    if (o) return o;
    nearest near = {.wanted = name->text};
    for (int i = 0; op_catalogue[i]; i++) nearest_offer(&near, op_catalogue[i]->name);
    nearest_offer(&near, "gradients");
    nearest_offer(&near, "history");
    char        text[120];
    const char *hint = other_name_hint(name->text);
    if (!hint) hint = nearest_hint(&near, text, sizeof text);
    parse_fail(p, name, "no operation is called \"%.80s\"%s", name->text, hint);
    return NULL;
}

mtf_tensor *parse_find_tensor(parser *p, const token *name)
{
    binding *b = names_get(&p->names, name->text);
    if (b) return b->x;
    if (name->kind == TOKEN_NAME && names_get(&p->ops, name->text)) {
        parse_fail(p, name, "\"%s\" is an operation; its inputs stand in parentheses after it",
                   name->text);
        return NULL;
    }
    nearest near = {.wanted = name->text};
    for (int i = 0; i < p->names.room; i++)
        if (p->names.entries[i].value) nearest_offer(&near, p->names.entries[i].name);
    for (int i = 0; op_catalogue[i];
         i++) { /* what needs no operands stands alone, as a tensor does */
        int fewest, most;
        op_arity(op_catalogue[i], &fewest, &most);
        if (fewest == 0 && name->kind == TOKEN_NAME)
            nearest_offer_foreign(&near, op_catalogue[i]->name);
    }
    char hint[120];
    parse_fail(p, name, "no line above gives the name \"%.80s\"%s", name->text,
               nearest_hint(&near, hint, sizeof hint));
    return NULL;
}

/* Marks a name as taken, so that automatic names avoid it. */
static bool claim(mtf_graph *g, const char *name)
{
    char *key = arena_text(&g->arena, name);
    for (char *c = key; c && *c; c++) *c = ascii_lower(*c);
    return key && (names_get(&g->taken, key) || names_put(&g->taken, key, g));
}

static bool add_second_name(mtf_graph *g, mtf_tensor *x, const char *name)
{
    second_name *last = x->second, *second = arena_new(&g->arena, second_name);
    TRY(second != NULL);
    *second = (second_name){name, last ? last->next : second};
    if (last) last->next = second;
    x->second = second;
    return true;
}

/* Programs find tensors by the names of outermost lines, so an equal name of an inner line or an
 * automatic one is replaced. */
static bool name_outermost(parser *p, const token *name, mtf_tensor *x, bool fresh)
{
    mtf_graph  *g = p->graph;
    mtf_tensor *other = names_get(&g->tensors, name->text);
    if (other && other != x && other->name && strcmp(other->name, name->text) == 0 &&
        !mtf_name(other, name->text))
        return parse_place(p, name);
    const char *kept = arena_text(&g->arena, name->text);
    if (!kept || !claim(g, kept) || !names_put(&g->tensors, kept, x)) return parse_place(p, name);
    if (fresh) x->name = kept;
    return fresh || add_second_name(g, x, kept);
}

bool parse_bind(parser *p, const token *name, mtf_tensor *x, bool fresh)
{
    binding *outer = names_get(&p->names, name->text);
    if (outer && outer->depth == p->depth)
        return parse_fail(p, name, "the name \"%.80s\" is given twice", name->text);
    if (p->depth == 0)
        TRY(name_outermost(p, name, x, fresh));
    else if (fresh && !mtf_name(x, name->text))
        return parse_place(p, name);
    binding *b = arena_new(&p->words, binding);
    TRY(b != NULL);
    *b = (binding){name->text, x, p->depth, outer, p->newest};
    p->newest = b;
    return names_put(&p->names, b->name, b);
}

binding *parse_enter(parser *p)
{
    binding *outer = p->newest;
    p->newest = NULL;
    p->depth++;
    return outer;
}

bool parse_leave(parser *p, binding *outer)
{
    for (binding *b = p->newest; b; b = b->older) TRY(names_put(&p->names, b->name, b->hides));
    p->newest = outer;
    p->depth--;
    return true;
}
