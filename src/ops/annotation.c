/* The left side of a line: names, types and shapes. */
#include "ops/annotation.h"

#include <string.h>

#include "base/dtype.h"

/* ---- dimensions ---- */

/* A size that an input of line number `line` has. */
typedef struct line_size {
    int     line;
    int64_t size;
} line_size;

bool dims_note(parser *p, const mtf_tensor *x)
{
    for (int i = 0; i < x->shape.ndims; i++) {
        mtf_dim    d = x->shape.dims[i];
        line_size *known = names_get(&p->sizes, d.name);
        if (!known) {
            known = arena_new(&p->words, line_size);
            TRY(known && names_put(&p->sizes, d.name, known));
        }
        if (known->line != p->line) *known = (line_size){p->line, d.size};
    }
    return true;
}

/* Is the current token a name, bare or in quotes, that a dimension may have? */
static bool dim_name_follows(parser *p)
{
    const token *t = &p->at.t;
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_TEXT)
        return parse_expected(p, "the name of a dimension");
    if (!name_is_legal(t->text[0] == '.' ? t->text + 1 : t->text)) /* a dot: printed by mtf */
        return parse_fail(p, t,
                          "a dimension's name is a word without spaces or any of "
                          ", . ; : + ? = # | and brackets");
    return true;
}

static bool size_read(parser *p, const token *name, int64_t *size)
{
    token at = p->at.t;
    TRY(parse_int(p, size, "the size of the dimension, a whole number"));
    if (*size < 1)
        return parse_fail(p, &at, "the size of dimension \"%.80s\" is %lld; it must be 1 or more",
                          name->text, (long long)*size);
    return true;
}

bool dim_read(parser *p, dim_wish *wish)
{
    TRY(dim_name_follows(p));
    *wish = (dim_wish){.name = p->at.t};
    TRY(parse_next(p));
    if (!token_is(&p->at.t, '=')) return true;
    return parse_next(p) && size_read(p, &wish->name, &wish->size);
}

bool dim_resolve(parser *p, const dim_wish *wish, mtf_dim *dim)
{
    const char *name = wish->name.text;
    *dim = (mtf_dim){name, wish->size};
    if (wish->size) return true;
    const line_size *noted = names_get(&p->sizes, name);
    const int64_t   *declared = names_get(&p->dims, name);
    if (noted && noted->line == p->line)
        dim->size = noted->size;
    else if (declared)
        dim->size = *declared;
    if (dim->size) return true;
    nearest near = {.wanted = name};
    for (int i = 0; i < p->dims.room; i++)
        if (p->dims.entries[i].name) nearest_offer(&near, p->dims.entries[i].name);
    for (int i = 0; i < p->sizes.room; i++) {
        noted = p->sizes.entries[i].value;
        if (noted && noted->line == p->line) nearest_offer(&near, p->sizes.entries[i].name);
    }
    char hint[120];
    return parse_fail(p, &wish->name,
                      "dimension \"%.80s\" has no size: no input of the line has it, and no line "
                      "says dim %.80s = SIZE%s",
                      name, name, nearest_hint(&near, hint, sizeof hint));
}

bool dim_declare(parser *p)
{
    TRY(parse_next(p) && dim_name_follows(p));
    token name = p->at.t;
    if (names_get(&p->dims, name.text))
        return parse_fail(p, &name, "the size of dimension \"%.80s\" is given twice", name.text);
    int64_t *size = arena_new(&p->words, int64_t);
    return size && parse_next(p) && parse_sign(p, '=', "\"=\"") && size_read(p, &name, size) &&
           names_put(&p->dims, name.text, size);
}

/* ---- annotations ---- */

/* Our name of a type that others call so; the name itself where it is none of theirs. */
static const char *type_of_others(const char *name)
{
    static const char *const names[][2] = {
        {"float32", "f32"},   {"float", "f32"},   {"float16", "f16"}, {"half", "f16"},
        {"bfloat16", "bf16"}, {"float64", "f64"}, {"double", "f64"},  {"int32", "i32"},
        {"int", "i32"},       {"int64", "i64"},   {"long", "i64"},    {"boolean", "bool"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i][0], name) == 0) return names[i][1];
    return name;
}

bool type_read(parser *p, mtf_dtype *type)
{
    const token *t = &p->at.t;
    if (t->kind != TOKEN_NAME) return parse_expected(p, "an element type, such as f32");
    if (dtype_parse(t->text, type)) return parse_next(p);
    nearest near = {.wanted = type_of_others(t->text)};
    for (int i = 0; i < DTYPES; i++) nearest_offer(&near, mtf_dtype_name((mtf_dtype)i));
    char hint[120];
    return parse_fail(p, t, "no element type is called \"%.80s\"%s", t->text,
                      nearest_hint(&near, hint, sizeof hint));
}

static bool shape_read(parser *p, target *t)
{
    token open = p->at.t;
    TRY(parse_next(p));
    t->has_shape = true;
    t->dims = arena_array(&p->work, dim_wish, MTF_SHAPE_ROOM);
    TRY(t->dims != NULL);
    while (!token_is(&p->at.t, ']')) {
        if (t->ndims && !token_is(&p->at.t, ',')) return parse_closing(p, ']', &open);
        if (t->ndims) TRY(parse_next(p));
        if (t->ndims == MTF_SHAPE_ROOM)
            return parse_fail(p, &p->at.t, "a shape has at most %d dimensions", MTF_MAX_DIMS);
        TRY(dim_read(p, &t->dims[t->ndims]));
        for (int i = 0; i < t->ndims; i++)
            if (strcmp(t->dims[i].name.text, t->dims[t->ndims].name.text) == 0)
                return parse_fail(p, &t->dims[t->ndims].name,
                                  "dimension \"%.80s\" occurs twice in one shape; name one of "
                                  "them %.80s_out, and rename(y, from=%.80s_out, to=%.80s) what "
                                  "is made with it",
                                  t->dims[i].name.text, t->dims[i].name.text, t->dims[i].name.text,
                                  t->dims[i].name.text);
        t->ndims++;
    }
    return parse_next(p);
}

static bool target_read(parser *p, target *t)
{
    *t = (target){.name = p->at.t};
    if (t->name.kind != TOKEN_NAME && t->name.kind != TOKEN_TEXT)
        return parse_expected(p, "the name of a result");
    if (parse_number_follows(p))
        return parse_fail(p, &t->name, "\"%s\" is a number; to use it as a name, quote it",
                          t->name.text);
    if (!t->name.length) return parse_fail(p, &t->name, "a name has at least one letter");
    t->dropped = token_is_word(&t->name, "_");
    TRY(parse_next(p));
    if (!token_is(&p->at.t, ':')) return true;
    TRY(parse_next(p));
    if (token_is(&p->at.t, '[')) return shape_read(p, t);
    t->has_type = true;
    TRY(type_read(p, &t->type));
    return !token_is(&p->at.t, '[') || shape_read(p, t);
}

/* "inptu x: ...", "dimm a = 3": a word before the name, where none stands. */
static bool word_before_name(parser *p, const token *word)
{
    nearest near = {.wanted = word->text, .best = NULL};
    char    hint[120];
    nearest_offer(&near, "dim");
    if (near.best)
        return parse_fail(p, word, "\"%.80s\" begins no line%s", word->text,
                          nearest_hint(&near, hint, sizeof hint));
    for (int i = 0; op_catalogue[i]; i++) nearest_offer(&near, op_catalogue[i]->name);
    if (!near.best) return parse_expected(p, "\"=\"");
    nearest_hint(&near, hint, sizeof hint);
    hint[strcspn(hint, "?")] = 0;
    bool exact = strcmp(near.best, word->text) == 0;
    return parse_fail(p, word,
                      "a line begins with the name that it gives, as in \"%.80s = %s\"%s%s%.80s%s",
                      p->at.t.text, near.best, exact ? "" : hint, exact ? "" : " by \"",
                      exact ? "" : word->text, exact ? "" : "\"?");
}

bool targets_read(parser *p, int *n, target **targets)
{
    token first = p->at.t;
    int   room = 0;
    *n = 0;
    *targets = NULL;
    do {
        if (*n) TRY(parse_next(p));
        TRY(arena_push(&p->work, *targets, *n, room));
        TRY(target_read(p, &(*targets)[*n]));
        ++*n;
    } while (token_is(&p->at.t, ','));
    bool word = *n == 1 && first.kind == TOKEN_NAME && !(*targets)->has_type &&
                !(*targets)->has_shape && p->at.t.kind == TOKEN_NAME;
    return word ? word_before_name(p, &first) : parse_sign(p, '=', "\"=\"");
}

bool targets_resolve(parser *p, int n, target *targets)
{
    for (int i = 0; i < n; i++) {
        target *t = &targets[i];
        mtf_dim dims[MTF_SHAPE_ROOM];
        for (int d = 0; d < t->ndims; d++) TRY(dim_resolve(p, &t->dims[d], &dims[d]));
        t->shape = shape_of(t->ndims, dims);
        if (!shape_check(&t->shape, t->name.text, &p->session->fault))
            return parse_place(p, &t->name);
    }
    return true;
}

bool target_check(parser *p, const target *t, const mtf_tensor *x)
{
    if (t->has_type && t->type != x->type)
        return parse_fail(p, &t->name, "\"%.80s\" is declared as %s but is %s", t->name.text,
                          mtf_dtype_name(t->type), mtf_dtype_name(x->type));
    if (!t->has_shape || mtf_shape_equal(t->shape, x->shape)) return true;
    char said[SHAPE_TEXT], is[SHAPE_TEXT];
    return parse_fail(p, &t->name, "\"%.80s\" is declared as %.250s but is %.250s", t->name.text,
                      shape_text(&t->shape, said), shape_text(&x->shape, is));
}
