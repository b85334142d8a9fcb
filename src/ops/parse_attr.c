/* Reads attributes, by the op's own list of them. */
#include "ops/parse_attr.h"

#include <string.h>

#include "base/dtype.h"

bool number_fits(parser *p, const token *at, attr_number number, mtf_dtype type)
{
    char        text[DTYPE_REFUSAL];
    const char *refusal = number_refused(type, number, text);
    return !refusal || parse_fail(p, at, "%s", refusal);
}

/* ---- one value ---- */

static bool word_read(parser *p, const char **word, const char *what)
{
    if (p->at.t.kind != TOKEN_NAME && p->at.t.kind != TOKEN_TEXT) return parse_expected(p, what);
    *word = p->at.t.text;
    return parse_next(p);
}

static bool bool_read(parser *p, bool *value)
{
    *value = token_is_word(&p->at.t, "true");
    if (!*value && !token_is_word(&p->at.t, "false")) return parse_expected(p, "true or false");
    return parse_next(p);
}

static bool is_bool_word(const token *t)
{
    return token_is_word(t, "true") || token_is_word(t, "false");
}

/* A number that a double must hold exactly. */
static bool real_read(parser *p, double *value)
{
    token       at = p->at.t;
    attr_number exact;
    TRY(parse_exact(p, &exact, "a number"));
    *value = exact.r;
    return !exact.whole || parse_fail(p, &at,
                                      "this number has more digits than can be kept here; whole "
                                      "numbers are exact up to 2^53");
}

/* `value` is an element, which may be a bool. */
static bool number_attr_read(parser *p, const attr_spec *spec, attr_number *value)
{
    bool flag;
    if (strcmp(spec->name, "value") != 0 || !is_bool_word(&p->at.t))
        return parse_exact(p, value, "a number");
    TRY(bool_read(p, &flag));
    *value = (attr_number){.r = flag};
    return true;
}

bool bools_fit(parser *p, const op *o, const attr_slot *slots, mtf_dtype type)
{
    for (int i = 0; i < op_attr_count(o); i++) {
        const token *at = &slots[i].at;
        if (slots[i].given && o->attrs[i].kind == ATTR_NUMBER && is_bool_word(at) &&
            type != MTF_BOOL)
            return parse_fail(p, at, "%s is a bool; an element of %s is a number", at->text,
                              mtf_dtype_name(type));
    }
    return true;
}

/* A list in parentheses, or one element without them. */
static bool list_read(parser *p, attr_kind kind, attr *value)
{
    token        open = p->at.t;
    bool         bare = !token_is(&open, '(');
    int          n = 0, room = 0;
    int64_t     *ints = NULL;
    const char **names = NULL;
    if (!bare) TRY(parse_next(p));
    while (bare ? n == 0 : !token_is(&p->at.t, ')')) {
        if (n && !token_is(&p->at.t, ',')) return parse_closing(p, ')', &open);
        if (n) TRY(parse_next(p));
        if (kind == ATTR_INTS) {
            TRY(arena_push(&p->work, ints, n, room));
            TRY(parse_int(p, &ints[n], "a whole number"));
        } else {
            TRY(arena_push(&p->work, names, n, room));
            TRY(word_read(p, &names[n], "a name"));
        }
        n++;
    }
    if (kind == ATTR_INTS)
        value->ints = (attr_ints){n, ints};
    else
        value->names = (attr_names){n, names};
    return bare || parse_next(p);
}

static bool dim_attr_read(parser *p, mtf_dim *dim)
{
    token    open = p->at.t;
    bool     bare = !token_is(&open, '[');
    dim_wish wish = {.name = open};
    if (bare) {
        if (open.kind != TOKEN_NAME && open.kind != TOKEN_TEXT)
            return parse_expected(p, "a dimension, [name=size]");
        TRY(parse_next(p));
    } else {
        TRY(parse_next(p) && dim_read(p, &wish) && parse_closing(p, ']', &open));
    }
    return dim_resolve(p, &wish, dim);
}

static bool value_read(parser *p, const attr_spec *spec, attr *value)
{
    switch (spec->kind) {
    case ATTR_INT: return parse_int(p, &value->i, "a whole number");
    case ATTR_REAL: return real_read(p, &value->r);
    case ATTR_NUMBER: return number_attr_read(p, spec, &value->number);
    case ATTR_BOOL: return bool_read(p, &value->b);
    case ATTR_WORD: return word_read(p, &value->text, "a word");
    case ATTR_TEXT:
        if (p->at.t.kind != TOKEN_TEXT) return parse_expected(p, "a quoted string");
        return word_read(p, &value->text, "a quoted string");
    case ATTR_INTS:
    case ATTR_NAMES: return list_read(p, spec->kind, value);
    case ATTR_DIM: return dim_attr_read(p, &value->dim);
    case ATTR_TYPE: return type_read(p, &value->type);
    case ATTR_SHAPE:
    case ATTR_DATA: break; /* see attr_read_pair */
    }
    return parse_fail(p, &p->at.t, "the attribute \"%s\" has no text form", spec->name);
}

/* ---- elements ---- */

/* Elements are read once their type and shape are known; here they are skipped. */
static bool elements_skip(parser *p, attr_slot *slot)
{
    token open = p->at.t;
    if (!token_is(&open, '{')) return parse_expected(p, "elements in { }");
    slot->elements = arena_copy(&p->work, &p->at, sizeof p->at);
    TRY(slot->elements != NULL);
    while (!token_is(&p->at.t, '}')) {
        TRY(parse_next(p));
        const token *t = &p->at.t;
        if (t->kind == TOKEN_END) return parse_closing(p, '}', &open);
        if (t->kind == TOKEN_LINE || token_is(t, ')') || token_is(t, '='))
            return parse_closing(p, '}', &open);
    }
    return parse_next(p);
}

static bool element_read(parser *p, mtf_dtype type, void *to, int64_t i)
{
    token  at = p->at.t;
    double x = 0;
    bool   flag;
    if (type == MTF_I64) return parse_int(p, (int64_t *)to + i, "a whole number");
    if (type == MTF_BOOL && is_bool_word(&at)) {
        TRY(bool_read(p, &flag));
        x = flag;
    } else {
        TRY(parse_real(p, &x, "a number"));
    }
    TRY(number_fits(p, &at, (attr_number){.r = x}, type));
    dtype_store(type, to, i, x);
    return true;
}

static bool elements_read(parser *p, const cursor *from, mtf_dtype type, const target *wish,
                          attr_data *data)
{
    cursor here = p->at;
    p->at = *from;
    token   open = p->at.t;
    int64_t n = 1, got = 0;
    for (const char *c = from->lex.at; c < here.lex.at; c++) n += *c == ',';
    /* Commas in comments only make the room larger. */
    void *elements = arena_array(&p->work, char, (size_t)(n + 1) * mtf_dtype_bytes(type));
    TRY(elements && parse_next(p));
    while (!token_is(&p->at.t, '}')) {
        if (got && !token_is(&p->at.t, ',')) return parse_closing(p, '}', &open);
        if (got) TRY(parse_next(p));
        TRY(element_read(p, type, elements, got++));
    }
    if (wish && wish->has_shape && shape_size(&wish->shape) != got)
        return parse_fail(p, &open, "\"%.80s\" has %lld elements but %lld are given",
                          wish->name.text, (long long)shape_size(&wish->shape), (long long)got);
    *data = (attr_data){(size_t)got * mtf_dtype_bytes(type), elements};
    p->at = here;
    return true;
}

/* ---- all of a call ---- */

/* Along which dimensions an operation works: the two names of that, and others' names. */
static const char *other_along(const op *o, const char *name)
{
    static const char *const names[] = {"over", "dim", "dims", "axis", "axes"};
    bool                     along = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        along = along || strcmp(names[i], name) == 0;
    for (int i = 0; along && i < 2; i++)
        if (op_attr_find(o, names[i]) >= 0) return names[i];
    return NULL;
}

static bool unknown(parser *p, const token *name, const op *o)
{
    if (!op_attr_count(o)) return parse_fail(p, name, "%s has no attributes", o->name);
    const char *along = other_along(o, name->text);
    nearest     near = {.wanted = along ? along : name->text};
    for (int i = 0; o->attrs[i].name; i++) nearest_offer(&near, o->attrs[i].name);
    char hint[120];
    return parse_fail(p, name, "%s has no attribute \"%.80s\"%s", o->name, name->text,
                      nearest_hint(&near, hint, sizeof hint));
}

bool attr_read_pair(parser *p, const op *o, attr_slot *slots, attr *values)
{
    token name = p->at.t;
    int   i = op_attr_find(o, name.text);
    if (i < 0) return unknown(p, &name, o);
    const attr_spec *spec = &o->attrs[i];
    if (slots[i].given)
        return parse_fail(p, &name, "the attribute \"%s\" is given twice", spec->name);
    if (spec->kind == ATTR_SHAPE)
        return parse_fail(p, &name, "the shape stands in front, as in name: [dim=size] = %s(...)",
                          o->name);
    if (o->blocks && strcmp(spec->name, "sums") == 0)
        return parse_fail(p, &name, "the sums stand after the semicolon of the line yield");
    TRY(parse_next(p) && parse_sign(p, '=', "\"=\""));
    slots[i].given = true;
    slots[i].at = p->at.t;
    if (spec->kind == ATTR_DATA) return elements_skip(p, &slots[i]);
    return value_read(p, spec, &values[i]);
}

/* Defaults are text and go through the same reader; bare words and empty ones are themselves. */
static bool default_read(parser *p, const op *o, const attr_spec *spec, attr *value)
{
    const char *text = spec->otherwise;
    if (!*text) return true;
    if ((spec->kind == ATTR_WORD || spec->kind == ATTR_TEXT) && *text != '"') {
        value->text = text;
        return true;
    }
    cursor here = p->at;
    parse_begin(p, text);
    bool ok = parse_next(p) && value_read(p, spec, value) && p->at.t.kind == TOKEN_END;
    p->at = here;
    if (!ok)
        fail(&p->session->fault, ERR_INTERNAL, "%s: the default %s of \"%s\" cannot be read",
             o->name, text, spec->name);
    return ok;
}

static bool attr_complete(parser *p, const token *call, const op *o, const attr_spec *spec,
                          attr *value, const target *wish)
{
    if (spec->kind == ATTR_DATA) return true;
    if (spec->kind == ATTR_SHAPE) {
        value->shape = wish && wish->has_shape ? &wish->shape : NULL;
        return true;
    }
    bool type = spec->kind == ATTR_TYPE && strcmp(spec->name, "type") == 0;
    if (type && wish && wish->has_type) {
        value->type = wish->type;
        return true;
    }
    if (spec->otherwise) return default_read(p, o, spec, value);
    if (type)
        return parse_fail(p, call, "%s needs an element type: name: f32 = %s(...)", o->name,
                          o->name);
    return parse_fail(p, call, "%s needs the attribute \"%s\": %s=...", o->name, spec->name,
                      spec->name);
}

bool attrs_complete(parser *p, const token *call, const op *o, attr_slot *slots, attr *values,
                    const target *wish, int sums)
{
    int type = op_attr_find(o, "type"), n = op_attr_count(o);
    for (int i = 0; i < n; i++) {
        const attr_spec *spec = &o->attrs[i];
        if (slots[i].given) continue;
        if (o->blocks && strcmp(spec->name, "sums") == 0)
            values[i].i = sums;
        else
            TRY(attr_complete(p, call, o, spec, &values[i], wish));
    }
    for (int i = 0; i < n; i++) {
        if (!slots[i].elements) continue;
        mtf_dtype elements = type >= 0 ? values[type].type : MTF_F32;
        TRY(elements_read(p, slots[i].elements, elements, wish, &values[i].data));
    }
    return true;
}
