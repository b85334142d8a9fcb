/* Expressions: calls, names, numbers, sums and products. */
#include "ops/parse_expr.h"

#include "ops/catalogue.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "ops/call.h"

/* ---- numbers ---- */

mtf_tensor *operand_tensor(parser *p, const operand *value, mtf_dtype type)
{
    if (value->x) return value->x;
    if (!number_fits(p, &value->at, value->number, type)) return NULL;
    mtf_tensor *x = call_constant(p->graph, value->number, type, &(mtf_shape){0});
    if (!x) parse_place(p, &value->at);
    return x;
}

/* Some arguments have a type of their own, which says nothing about the others. */
static bool has_own_type(const op *o, int argument, mtf_dtype *type)
{
    static const struct {
        const char *name;
        mtf_dtype   type;
    } own[] = {
        {"condition", MTF_BOOL}, {"indices", MTF_I32}, {"offset", MTF_I32}, {"iteration", MTF_I32}};
    const char *name = o->args;
    for (; name && argument > 0; argument--)
        name = strchr(name, ',') ? strchr(name, ',') + 1 : NULL;
    if (!name) return false;
    name += strspn(name, " [");
    size_t length = strcspn(name, ",]");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i].name) == length && strncmp(name, own[i].name, length) == 0) {
            *type = own[i].type;
            return true;
        }
    return false;
}

/* Numbers among inputs take the type of the first tensor.  Where there is none, the result of
 * where(c, 1, 0) has the type of the annotation. */
static mtf_dtype type_of_numbers(const op *o, int n, const operand *values, const target *wish)
{
    mtf_dtype own;
    for (int i = 0; i < n; i++)
        if (values[i].x && !has_own_type(o, i, &own)) return values[i].x->type;
    return o == &op_where && wish && wish->has_type ? wish->type : MTF_F32;
}

/* ---- calls ---- */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static bool check_arity(parser *p, const call_text *c, int n)
{
    int least, most;
    op_arity(c->op, &least, &most);
    if (n >= least && (most < 0 || n <= most)) return true;
    bool        positional = n > least && op_attr_count(c->op);
    const char *hint = positional ? "; attributes are written name=value" : "";
    const char *name = c->op->name;
    if (most == 0) return parse_fail(p, &c->at, "%s takes no inputs, not %d%s", name, n, hint);
    if (most < 0)
        return parse_fail(p, &c->at, "%s takes at least %d input%s, not %d", name, least,
                          plural(least), n);
    if (least < most)
        return parse_fail(p, &c->at, "%s takes %d to %d inputs, not %d%s", name, least, most, n,
                          hint);
    return parse_fail(p, &c->at, "%s takes %d input%s, not %d%s", name, most, plural(most), n,
                      hint);
}

static bool take_inputs(parser *p, call_text *c, int n, const operand *values, const target *wish)
{
    int least, most;
    TRY(check_arity(p, c, n));
    op_arity(c->op, &least, &most);
    c->nin = n;
    c->in = arena_array(&p->work, mtf_tensor *, (most > n ? most : n) + 1);
    TRY(c->in != NULL);
    mtf_dtype type = type_of_numbers(c->op, n, values, wish);
    for (int i = 0; i < n; i++) {
        mtf_dtype own;
        c->in[i] = operand_tensor(p, &values[i], has_own_type(c->op, i, &own) ? own : type);
        TRY(c->in[i] && dims_note(p, c->in[i]));
    }
    return true;
}

static bool arguments_read(parser *p, call_text *c, const target *wish)
{
    token    open = p->at.t;
    int      n = 0, room = 0, pairs = 0;
    operand *values = NULL;
    TRY(parse_next(p));
    while (!token_is(&p->at.t, ')')) {
        if (n + pairs > 0) {
            if (!token_is(&p->at.t, ',')) return parse_closing(p, ')', &open);
            TRY(parse_next(p));
        }
        if (p->at.t.kind == TOKEN_NAME && token_is(&p->at.next, '=')) {
            /* Attributes may use the sizes of the inputs before them. */
            if (!pairs++) TRY(take_inputs(p, c, n, values, wish));
            TRY(attr_read_pair(p, c->op, c->slots, c->attrs));
            continue;
        }
        if (pairs) return parse_fail(p, &p->at.t, "inputs stand before the attributes");
        TRY(arena_push(&p->work, values, n, room));
        TRY(expr_read(p, &values[n]));
        n++;
    }
    return (pairs || take_inputs(p, c, n, values, wish)) && parse_next(p);
}

bool call_read(parser *p, const target *wish, call_text *c)
{
    *c = (call_text){.at = p->at.t, .op = parse_find_op(p, &p->at.t)};
    TRY(c->op && parse_deeper(p, &c->at) && parse_next(p));
    int n = op_attr_count(c->op);
    c->slots = arena_array(&p->work, attr_slot, n);
    c->attrs = arena_array(&p->work, attr, n);
    TRY(c->slots && c->attrs);
    TRY(token_is(&p->at.t, '(') ? arguments_read(p, c, wish) : take_inputs(p, c, 0, NULL, wish));
    p->level--;
    return true;
}

/* How many results a composite gives; -1: as many as the line names. */
static int result_count(const op *o)
{
    if (!o->results) return 1;
    if (strstr(o->results, "...")) return -1;
    int n = 1;
    for (const char *c = o->results; *c; c++) n += *c == ',';
    return n;
}

static bool check_count(parser *p, const call_text *c, const call_place *place, int n)
{
    if (n == (place->names ? place->names : 1)) return true;
    /* `_ = ...` may precede a call without results. */
    if (n == 0 && place->names == 1 && place->wish->dropped) return true;
    if (!place->names)
        return parse_fail(p, &c->at,
                          "%s gives %d results; it must stand alone on a line that names them",
                          c->op->name, n);
    return parse_fail(p, &c->at, "%s gives %d result%s but the line names %d", c->op->name, n,
                      plural(n), place->names);
}

static bool expand(parser *p, const call_text *c, const call_place *place, results *made)
{
    int n = result_count(c->op), wanted = place->names ? place->names : 1;
    if (n >= 0) TRY(check_count(p, c, place, n));
    made->n = wanted;
    made->x = arena_array(&p->work, mtf_tensor *, wanted > 64 ? wanted : 64);
    TRY(made->x != NULL);
    op_call call = {.graph = p->graph,
                    .op = c->op,
                    .nin = c->nin,
                    .in = c->in,
                    .attrs = c->attrs,
                    .shape = place->wish && place->wish->has_shape ? &place->wish->shape : NULL,
                    .nout = wanted,
                    .out = made->x};
    c->op->expand(&call);
    for (int i = 0; i < wanted; i++)
        if (!made->x[i] || !mtf_ok(p->session)) return parse_place(p, &c->at);
    return true;
}

bool call_make(parser *p, call_text *c, const call_place *place, results *made)
{
    if (c->op->blocks && !place->blocks)
        return parse_fail(p, &c->at, "%s has blocks and must stand alone on its line", c->op->name);
    TRY(attrs_complete(p, &c->at, c->op, c->slots, c->attrs, place->wish, place->sums));
    int type = op_attr_find(c->op, "type");
    if (type >= 0 || c->nin)
        TRY(bools_fit(p, c->op, c->slots, type >= 0 ? c->attrs[type].type : c->in[0]->type));
    if (c->op->expand) return expand(p, c, place, made);
    int once = c->op->flags & OP_ITERATION ? op_attr_find(c->op, "once") : -1;
    if (once >= 0 && c->nin == 0 && !c->attrs[once].b) c->in = loop_iterations(p->graph, &c->nin);
    node *n = c->in ? node_new(p->graph, c->op, c->nin, c->in, c->attrs, place->blocks) : NULL;
    if (!n) return parse_place(p, &c->at);
    *made = (results){0, n->out};
    while (made->n < n->nout && !n->out[made->n]->hidden) made->n++;
    return check_count(p, c, place, made->n);
}

/* ---- operands ---- */

/* history(s): the hidden output of s's loop that belongs to s. */
static bool history_read(parser *p, operand *value)
{
    token   open = p->at.next;
    operand of;
    TRY(parse_deeper(p, &open) && parse_next(p) && parse_next(p) && expr_read(p, &of));
    TRY(parse_closing(p, ')', &open));
    p->level--;
    const node *n = of.x ? of.x->node : NULL;
    int         first = 0;
    while (n && first < n->nout && !n->out[first]->hidden) first++;
    if (!n || of.x->hidden || first + of.x->index >= n->nout)
        return parse_fail(p, &of.at, "history takes a value that a loop carries");
    value->x = n->out[first + of.x->index];
    return true;
}

static bool nested_call(parser *p, operand *value)
{
    if (token_is_word(&value->at, "history")) return history_read(p, value);
    if (token_is_word(&value->at, "gradients"))
        return parse_fail(p, &value->at, "gradients stands alone on its line");
    call_text  c;
    results    made;
    call_place place = {0};
    TRY(call_read(p, NULL, &c) && call_make(p, &c, &place, &made));
    value->x = made.x[0];
    return true;
}

static bool primary(parser *p, operand *value)
{
    *value = (operand){.at = p->at.t};
    const token *t = &p->at.t;
    if (parse_number_follows(p)) return parse_exact(p, &value->number, "a number");
    if (token_is(t, '(')) {
        token open = *t;
        TRY(parse_deeper(p, &open) && parse_next(p) && expr_read(p, value));
        p->level--;
        return parse_closing(p, ')', &open);
    }
    if (t->kind == TOKEN_NAME && token_is(&p->at.next, '(')) return nested_call(p, value);
    if (t->kind != TOKEN_NAME && t->kind != TOKEN_TEXT)
        return parse_expected(p, "a name, a number or a call");
    bool training = token_is_word(t, op_training.name) && !names_get(&p->names, t->text);
    value->x = training ? mtf_training(p->graph) : parse_find_tensor(p, t);
    return value->x && dims_note(p, value->x) && parse_next(p);
}

static bool unary(parser *p, operand *value)
{
    token first = p->at.t;
    bool  negative = false;
    for (; token_is(&p->at.t, '-'); negative = !negative) TRY(parse_next(p));
    TRY(primary(p, value));
    value->at = first;
    if (!negative) return true;
    if (!value->x) {
        attr_number *v = &value->number;
        *v = v->whole ? number_of_whole(-v->i) : (attr_number){.r = -v->r};
        return true;
    }
    value->x = mtf_negative(value->x);
    return value->x || parse_place(p, &first);
}

static bool as_whole(attr_number x, int64_t *i)
{
    bool fits = x.whole || (x.r >= -0x1p63 && x.r < 0x1p63 && x.r == floor(x.r));
    if (fits) *i = x.whole ? x.i : (int64_t)x.r;
    return fits;
}

/* In double, but for whole numbers that are too large to be exact there. */
static attr_number fold(char sign, attr_number x, attr_number y)
{
    double  a = x.r, b = y.r;
    double  r = sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b;
    int64_t i, j, v;
    if (sign == '/' || !as_whole(x, &i) || !as_whole(y, &j)) return (attr_number){.r = r};
    bool large = x.whole || y.whole || fabs(r) >= 0x1p53;
    bool beyond = sign == '+'   ? __builtin_add_overflow(i, j, &v)
                  : sign == '-' ? __builtin_sub_overflow(i, j, &v)
                                : __builtin_mul_overflow(i, j, &v);
    return large && !beyond ? number_of_whole(v) : (attr_number){.r = r};
}

static bool apply(parser *p, const token *sign, operand *left, const operand *right)
{
    if (!left->x && !right->x) {
        left->number = fold(sign->sign, left->number, right->number);
        return true;
    }
    mtf_dtype   type = left->x ? left->x->type : right->x->type;
    mtf_tensor *a = operand_tensor(p, left, type), *b = a ? operand_tensor(p, right, type) : NULL;
    TRY(a && b);
    if (sign->sign == '/' && (dtype_is_int(a->type) || dtype_is_int(b->type)))
        return parse_fail(p, sign,
                          "\"/\" divides floating numbers; floordiv(x, y) divides integers");
    switch (sign->sign) {
    case '+': left->x = mtf_add(a, b); break;
    case '-': left->x = mtf_sub(a, b); break;
    case '*': left->x = mtf_multiply(a, b); break;
    default: left->x = mtf_divide(a, b); break;
    }
    return left->x ? dims_note(p, left->x) : parse_place(p, sign);
}

static bool continue_product(parser *p, operand *value)
{
    while (token_is(&p->at.t, '*') || token_is(&p->at.t, '/')) {
        token   sign = p->at.t;
        operand right;
        TRY(parse_next(p) && unary(p, &right) && apply(p, &sign, value, &right));
    }
    return true;
}

bool expr_continue(parser *p, operand *value)
{
    TRY(continue_product(p, value));
    while (token_is(&p->at.t, '+') || token_is(&p->at.t, '-')) {
        token   sign = p->at.t;
        operand right;
        TRY(parse_next(p) && unary(p, &right) && continue_product(p, &right));
        TRY(apply(p, &sign, value, &right));
    }
    return true;
}

bool expr_read(parser *p, operand *value)
{
    return unary(p, value) && expr_continue(p, value);
}

bool exprs_read(parser *p, const char *ends, int *n, operand **values)
{
    int room = 0;
    *n = 0;
    *values = NULL;
    if (parse_at_line_end(p)) return true;
    if (p->at.t.kind == TOKEN_SIGN && strchr(ends, p->at.t.sign)) return true;
    do {
        if (*n) TRY(parse_next(p));
        TRY(arena_push(&p->work, *values, *n, room));
        TRY(expr_read(p, &(*values)[*n]));
        ++*n;
    } while (token_is(&p->at.t, ','));
    return true;
}
