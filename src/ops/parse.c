/* Reads a graph from .mtf text, line by line.
 *
 * docs/text.md describes the language; graph/print writes it.  Lines and the
 * blocks that some of them own are read here; parse_expr reads the right side of
 * a line, annotation the left side.
 */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ops/parse_expr.h"

/* ---- results ---- */

/* Did the current line, which began with `before` tensors, make x, and has it not named x yet? */
static bool is_fresh(const parser *p, const mtf_tensor *x, int before)
{
    if (!x->name) return true;
    const binding *b = names_get(&p->names, x->name);
    return x->id >= before && !(b && b->x == x);
}

/* Binds the line's names to what its right side gave.  A tensor that is not fresh has a name
 * already, and the line adds another. */
static bool bind_results(parser *p, int n, const target *targets, mtf_tensor *const *xs, int before)
{
    for (int i = 0; i < n; i++) {
        const target *t = &targets[i];
        if (t->dropped || !xs[i]) continue;
        TRY(target_check(p, t, xs[i]));
        TRY(parse_bind(p, &t->name, xs[i], is_fresh(p, xs[i], before)));
    }
    return true;
}

/* ---- gradients(ys; xs; dys) ---- */

static bool tensors_of(parser *p, int n, const operand *values, mtf_tensor *const *like,
                       mtf_tensor ***xs)
{
    *xs = arena_array(&p->work, mtf_tensor *, n + 1);
    TRY(*xs != NULL);
    for (int i = 0; i < n; i++) {
        (*xs)[i] = operand_tensor(p, &values[i], like ? like[i]->type : MTF_F32);
        TRY((*xs)[i] != NULL);
    }
    return true;
}

static bool gradients_read(parser *p, int n, const target *targets, mtf_tensor ***grads)
{
    token        at = p->at.t, open = p->at.next;
    int          ny, nx, ndy = 0;
    operand     *y, *x, *dy = NULL;
    mtf_tensor **ys, **xs, **dys = NULL;
    TRY(parse_next(p) && parse_next(p) && exprs_read(p, ";)", &ny, &y));
    TRY(parse_sign(p, ';', "\";\" and the tensors to differentiate by"));
    TRY(exprs_read(p, ";)", &nx, &x));
    bool given = token_is(&p->at.t, ';');
    if (given) TRY(parse_next(p) && exprs_read(p, ";)", &ndy, &dy));
    TRY(parse_closing(p, ')', &open));
    if (ny < 1 || nx < 1)
        return parse_fail(p, &at, "gradients takes tensors on both sides of the semicolon");
    if (given && ndy != ny)
        return parse_fail(p, &at,
                          "gradients has %d tensor%s before the semicolon but %d "
                          "gradient%s for them",
                          ny, ny == 1 ? "" : "s", ndy, ndy == 1 ? "" : "s");
    if (nx != n)
        return parse_fail(p, &at, "gradients gives %d result%s but the line names %d", nx,
                          nx == 1 ? "" : "s", n);
    TRY(tensors_of(p, ny, y, NULL, &ys) && tensors_of(p, nx, x, NULL, &xs));
    if (given) TRY(tensors_of(p, ndy, dy, ys, &dys));
    *grads = arena_array(&p->work, mtf_tensor *, nx);
    TRY(*grads != NULL);
    mtf_gradients(ny, ys, nx, xs, dys, *grads);
    if (!mtf_ok(p->session)) return parse_place(p, &at);
    for (int i = 0; i < nx; i++)
        if (!(*grads)[i] && !targets[i].dropped)
            return parse_fail(p, &x[i].at, "no gradient reaches \"%s\"; drop its result with \"_\"",
                              tensor_name(xs[i]));
    return true;
}

/* ---- blocks ---- */

static bool statement(parser *p);

static bool skip_empty_lines(parser *p)
{
    while (p->at.t.kind == TOKEN_LINE) TRY(parse_next(p));
    return true;
}

/* The tensors whose types and shapes the parameters of block number k have. */
static bool parameter_models(parser *p, const call_text *c, block *const *blocks, int k, int *n,
                             mtf_tensor ***models)
{
    const block *forward = strcmp(c->op->blocks[k], "backward") == 0 && k ? blocks[k - 1] : NULL;
    int          given = forward ? forward->nresults : 0;
    *models = arena_array(&p->work, mtf_tensor *, c->nin + 2 * given);
    TRY(*models != NULL);
    *n = 0;
    for (int i = 0; i < c->nin; i++) (*models)[(*n)++] = c->in[i];
    for (int twice = 0; twice < 2; twice++) /* what forward gave, and its gradients */
        for (int i = 0; i < given; i++) (*models)[(*n)++] = forward->results[i];
    return true;
}

static bool is_loop_body(const op *o, const char *name)
{
    return strcmp(name, "body") == 0 &&
           (strcmp(o->name, "while") == 0 || strcmp(o->name, "loop") == 0);
}

/* A condition, too, is computed in every iteration. */
static bool counts_iterations(const op *o, const char *name)
{
    return is_loop_body(o, name) || strcmp(name, "cond") == 0;
}

static bool parameter_read(parser *p, mtf_tensor *x)
{
    token name = p->at.t;
    if (name.kind != TOKEN_NAME && name.kind != TOKEN_TEXT)
        return parse_expected(p, "the name of a parameter");
    if (!x) return parse_place(p, &name);
    return parse_next(p) && (token_is_word(&name, "_") || parse_bind(p, &name, x, true));
}

static bool parameters_read(parser *p, block *b, const op *o, int n, mtf_tensor *const *models)
{
    token open = p->at.t;
    TRY(parse_sign(p, '(', "\"(\" and the parameters of the block"));
    int got = 0;
    while (!token_is(&p->at.t, ')') && !token_is(&p->at.t, ';')) {
        if (got && !token_is(&p->at.t, ',')) return parse_closing(p, ')', &open);
        if (got) TRY(parse_next(p));
        if (got == n) break;
        mtf_tensor *x = block_param(b, models[got]->type, &models[got]->shape, NULL);
        TRY(parameter_read(p, x));
        got++;
    }
    if (got < n || !(token_is(&p->at.t, ')') || token_is(&p->at.t, ';')))
        return parse_fail(p, &open, "the block %s of %s takes %d parameter%s", b->name, o->name, n,
                          n == 1 ? "" : "s");
    if (counts_iterations(o, b->name)) TRY(block_iteration(b) != NULL);
    if (token_is(&p->at.t, ';')) {
        if (!counts_iterations(o, b->name))
            return parse_fail(p, &p->at.t, "only the blocks of a loop have an iteration number");
        TRY(parse_next(p) && parameter_read(p, block_iteration(b)));
    }
    return parse_closing(p, ')', &open);
}

static bool yield_follows(const parser *p)
{
    return token_is_word(&p->at.t, "yield") && !token_is(&p->at.next, '=') &&
           !token_is(&p->at.next, ':') && !token_is(&p->at.next, ',');
}

/* yield a, b; sum: what the block gives.  A number that replaces a carried value has its type. */
static bool yield_read(parser *p, block *b, const op *o, int *sums)
{
    token    at = p->at.t;
    operand *plain, *summed = NULL;
    int      nplain, nsummed = 0;
    bool     follows_parameters = is_loop_body(o, b->name) || strcmp(b->name, "backward") == 0;
    TRY(parse_next(p) && exprs_read(p, ";", &nplain, &plain));
    if (is_loop_body(o, b->name)) TRY(block_iteration(b) != NULL);
    if (token_is(&p->at.t, ';')) {
        if (!is_loop_body(o, b->name))
            return parse_fail(p, &p->at.t, "only the body of a loop sums over its iterations");
        TRY(parse_next(p) && exprs_read(p, "", &nsummed, &summed));
    }
    if (!parse_at_line_end(p)) return parse_expected(p, "\",\" or the end of the line");
    mtf_tensor **xs = arena_array(&p->work, mtf_tensor *, nplain + nsummed);
    TRY(xs != NULL);
    for (int i = 0; i < nplain + nsummed; i++) {
        const operand *v = i < nplain ? &plain[i] : &summed[i - nplain];
        bool           like = follows_parameters && i < nplain && i < b->nparams;
        xs[i] = operand_tensor(p, v, like ? b->params[i]->type : MTF_F32);
        TRY(xs[i] != NULL);
    }
    *sums += nsummed;
    return block_close(b, nplain + nsummed, xs) || parse_place(p, &at);
}

static bool block_read(parser *p, const call_text *c, block **blocks, int k, int *sums)
{
    const char *name = c->op->blocks[k];
    token       at = p->at.t;
    if (!token_is_word(&at, name)) {
        char what[100];
        snprintf(what, sizeof what, "the block %.30s(...) { } of %.30s", name, c->op->name);
        return parse_expected(p, what);
    }
    int          n;
    mtf_tensor **models;
    TRY(parse_deeper(p, &at) && parse_next(p));
    TRY(parameter_models(p, c, blocks, k, &n, &models));
    blocks[k] = block_open(p->graph, name);
    if (!blocks[k]) return parse_place(p, &at);
    binding *outer = parse_enter(p);
    TRY(parameters_read(p, blocks[k], c->op, n, models));
    token open = p->at.t;
    TRY(parse_sign(p, '{', "\"{\"") && skip_empty_lines(p));
    while (!yield_follows(p)) {
        if (token_is(&p->at.t, '}'))
            return parse_fail(p, &p->at.t,
                              "the block %s has no line yield, which says what it gives", name);
        if (p->at.t.kind == TOKEN_END) return parse_closing(p, '}', &open);
        TRY(statement(p) && skip_empty_lines(p));
    }
    p->line = ++p->lines;
    TRY(yield_read(p, blocks[k], c->op, sums) && skip_empty_lines(p));
    if (p->at.t.kind != TOKEN_END && !token_is(&p->at.t, '}'))
        return parse_expected(p, "\"}\" after the line yield");
    TRY(parse_closing(p, '}', &open));
    p->level--;
    return parse_leave(p, outer);
}

static bool blocks_read(parser *p, const call_text *c, call_place *place)
{
    int n = 0;
    while (c->op->blocks[n]) n++;
    token open = p->at.t;
    if (!token_is(&open, '{'))
        return parse_fail(p, &open, "%s needs its block%s in { } after the parentheses",
                          c->op->name, n == 1 ? "" : "s");
    TRY(parse_next(p) && skip_empty_lines(p));
    place->blocks = arena_array(&p->graph->arena, block *, n); /* the node keeps it */
    TRY(place->blocks != NULL);
    for (int k = 0; k < n; k++)
        TRY(block_read(p, c, place->blocks, k, &place->sums) && skip_empty_lines(p));
    if (p->at.t.kind != TOKEN_END && !token_is(&p->at.t, '}'))
        return parse_expected(p, "\"}\": all blocks are there");
    return parse_closing(p, '}', &open);
}

/* ---- lines ---- */

static bool too_many_names(parser *p, const token *at, int n)
{
    return parse_fail(p, at, "the right side gives 1 result but the line names %d", n);
}

/* The right side is one call and nothing else: it takes types and shapes from the annotation. */
static bool call_statement(parser *p, int n, target *targets, mtf_tensor ***xs)
{
    call_text  c;
    results    made;
    call_place place = {.wish = targets, .names = n};
    TRY(call_read(p, targets, &c));
    if (!c.op->blocks && !parse_at_line_end(p)) { /* it was the first operand of a sum or product */
        operand value = {.at = c.at};
        TRY(call_make(p, &c, &(call_place){0}, &made));
        value.x = made.x[0];
        *xs = arena_array(&p->work, mtf_tensor *, 1);
        TRY(*xs && dims_note(p, value.x) && expr_continue(p, &value));
        TRY(targets_resolve(p, n, targets));
        (*xs)[0] = value.x;
        return n == 1 || too_many_names(p, &c.at, n);
    }
    TRY(targets_resolve(p, n, targets));
    int line = p->line;
    if (c.op->blocks) TRY(blocks_read(p, &c, &place));
    p->line = line;
    p->graph->line = c.at.line;
    TRY(call_make(p, &c, &place, &made));
    *xs = made.n ? made.x : arena_array(&p->work, mtf_tensor *, n);
    return *xs != NULL;
}

static bool expression_statement(parser *p, int n, target *targets, mtf_tensor ***xs)
{
    operand value;
    TRY(expr_read(p, &value) && targets_resolve(p, n, targets));
    if (n != 1) return too_many_names(p, &value.at, n);
    *xs = arena_array(&p->work, mtf_tensor *, 1);
    TRY(*xs != NULL);
    (*xs)[0] = operand_tensor(p, &value, targets->has_type ? targets->type : MTF_F32);
    return (*xs)[0] != NULL;
}

/* An operation without parentheses?  Where a tensor has the same name, an operation that needs
 * inputs is not meant. */
static bool is_lone_op(const parser *p)
{
    const token *t = &p->at.t, *next = &p->at.next;
    const op    *o = t->kind == TOKEN_NAME ? names_get(&p->ops, t->text) : NULL;
    int          least, most;
    if (!o || !(next->kind == TOKEN_LINE || next->kind == TOKEN_END || token_is(next, '}') ||
                token_is(next, '{')))
        return false;
    op_arity(o, &least, &most);
    return least == 0 || !names_get(&p->names, t->text);
}

static bool statement(parser *p)
{
    arena_mark mark = arena_here(&p->work);
    p->line = ++p->lines;
    p->graph->line = p->at.t.line;
    token_kind next = p->at.next.kind;
    if (token_is_word(&p->at.t, "dim") && (next == TOKEN_NAME || next == TOKEN_TEXT)) {
        TRY(dim_declare(p));
    } else {
        int          n, before = p->graph->ntensors;
        target      *targets;
        mtf_tensor **xs = NULL;
        TRY(targets_read(p, &n, &targets));
        bool call = p->at.t.kind == TOKEN_NAME && token_is(&p->at.next, '(');
        if (call && token_is_word(&p->at.t, "gradients"))
            TRY(gradients_read(p, n, targets, &xs) && targets_resolve(p, n, targets));
        else if ((call && !token_is_word(&p->at.t, "history")) || is_lone_op(p))
            TRY(call_statement(p, n, targets, &xs));
        else
            TRY(expression_statement(p, n, targets, &xs));
        assert(xs != NULL);
        TRY(bind_results(p, n, targets, xs, before));
    }
    if (!parse_at_line_end(p)) return parse_expected(p, "the end of the line");
    arena_back(&p->work, mark);
    return true;
}

static bool ops_known(parser *p)
{
    for (int i = 0; op_catalogue[i]; i++) {
        uintptr_t o = (uintptr_t)op_catalogue[i]; /* the table's values are not const */
        TRY(names_put(&p->ops, op_catalogue[i]->name, (void *)o));
    }
    return true;
}

static bool read_all(parser *p, const char *text)
{
    token start = {.line = 1, .column = 1};
    if (strnlen(text, INT_MAX) > INT_MAX / 2) return parse_fail(p, &start, "the text is too long");
    TRY(p->graph && ops_known(p));
    p->graph->file = arena_text(&p->graph->arena, p->file);
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with a byte order mark */
    parse_begin(p, strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text);
    TRY(parse_next(p) && skip_empty_lines(p));
    while (p->at.t.kind != TOKEN_END) {
        if (token_is(&p->at.t, '}')) return parse_fail(p, &p->at.t, "this \"}\" closes no block");
        TRY(statement(p) && skip_empty_lines(p));
    }
    return true;
}

mtf_graph *mtf_parse(mtf_session *s, const char *text, const char *file)
{
    if (!mtf_ok(s)) return NULL;
    parser p = {.session = s, .file = file ? file : "text"};
    p.words = arena_make(&s->allocator, &s->fault);
    p.work = arena_make(&s->allocator, &s->fault);
    p.ops.arena = p.names.arena = p.dims.arena = p.sizes.arena = &p.words;
    p.graph = mtf_graph_new(s);
    bool ok = read_all(&p, text ? text : "");
    if (p.graph) p.graph->line = 0; /* nodes made later belong to no line */
    arena_free(&p.words);
    arena_free(&p.work);
    return ok && mtf_ok(s) ? p.graph : NULL;
}
