/* State: variables, reading and assigning them.
 *
 * A variable's tensor is its value at the start of the step.  An assignment
 * takes effect for later `read`s at once and for the variable's own tensor in
 * the next step: stores happen at the end of a program.
 */
#include <string.h>

#include "base/dtype.h"
#include "graph/initializer.h"
#include "ops/lowering.h"
#include "ops/splits.h"
#include "ops/state.h"
#include "ops/tape.h"

enum { SHAPE, TYPE, INIT, TRAINABLE, MASTER, ACTIVATION };

/* One of the other two types of a variable: a word, or "" for the same. */
static mtf_dtype type_word(const node *n, int which)
{
    mtf_dtype type = n->attrs[TYPE].type;
    dtype_parse(n->attrs[which].text ? n->attrs[which].text : "", &type);
    return type;
}

static bool type_word_is_sound(const node *n, int which)
{
    const char *word = n->attrs[which].text;
    mtf_dtype   type, own = n->attrs[TYPE].type;
    if (!word || !*word) return true;
    if (!dtype_parse(word, &type))
        return node_fail(n, ERR_TYPE, "there is no element type \"%s\"", word);
    bool f8 = dtype_is_f8(type) || dtype_is_f8(own);
    if (!f8 && (type == own || (dtype_is_float(type) && dtype_is_float(own)))) return true;
    return node_fail(n, ERR_TYPE,
                     "its %s type is %s, but the variable is %s; both must be floating, not f8",
                     n->op->attrs[which].name, word, mtf_dtype_name(own));
}

static bool infer_variable(node *n)
{
    if (!n->attrs[SHAPE].shape)
        return node_fail(n, ERR_SHAPE, "give type and shape, as in  w: f32[a=2, b=3] = variable");
    mtf_shape   shape = *n->attrs[SHAPE].shape;
    initializer init;
    if ((unsigned)n->attrs[TYPE].type >= DTYPES)
        return node_fail(n, ERR_TYPE, "no such element type");
    if (!initializer_parse(n->attrs[INIT].text, &init))
        return node_fail(n, ERR_VALUE,
                         "\"%s\" is not an initialiser; write one of " INITIALIZER_FORMS,
                         n->attrs[INIT].text);
    if (init.kind == INIT_NORMAL_EACH && (shape.ndims < 1 || shape.dims[0].size != init.n))
        return node_fail(n, ERR_SHAPE,
                         "normal_each has %d deviations; it needs one for each index of the first "
                         "dimension",
                         init.n);
    if (init.kind == INIT_NORMAL_EACH && n->attrs[TYPE].type == MTF_BOOL)
        return node_fail(n, ERR_TYPE,
                         "normal_each multiplies, and the variable is bool; give it "
                         "zeros, ones or constant(v)");
    char        text[DTYPE_REFUSAL];
    const char *refusal =
        init.kind == INIT_CONSTANT ? dtype_refuses(n->attrs[TYPE].type, init.a, text) : NULL;
    if (refusal) return node_fail(n, ERR_VALUE, "%s", refusal);
    TRY(type_word_is_sound(n, MASTER) && type_word_is_sound(n, ACTIVATION));
    if (n->home != &n->graph->root)
        return node_fail(n, ERR_USAGE, "a variable lives outside all blocks; write its line there");
    TRY(shape_check(&shape, n->op->name, &n->graph->session->fault));
    TRY(node_names_may_be(n, &shape) && node_output(n, n->attrs[TYPE].type, &shape));
    n->attrs[SHAPE].shape = &n->out[0]->shape;
    return true;
}

static bool lower_variable(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)in;
    return emit_variable(e, n->out[0], &out[0]);
}

const op op_variable = {
    .name = "variable",
    .says = "a value kept from step to step, under its name",
    .args = "",
    .attrs =
        (const attr_spec[]){
            {"shape", ATTR_SHAPE, NULL, ""},
            {"type", ATTR_TYPE, NULL, ""},
            {"init", ATTR_TEXT, "glorot_uniform", INITIALIZER_FORMS},
            {"trainable", ATTR_BOOL, "true", "optimizers change it"},
            {"master", ATTR_WORD, "", "its type in checkpoints; default: its own"},
            {"activation", ATTR_WORD, "", "its type in the model, by a cast; default: its own"},
            {0}},
    .flags = OP_UNIQUE | OP_DIRECT,
    .infer = infer_variable,
    .lower = lower_variable,
};

bool variable_is(const node *n)
{
    return n->op == &op_variable;
}

/* ---- the three types ---- */

mtf_dtype variable_master(const mtf_tensor *w)
{
    return type_word(w->node, MASTER);
}

mtf_tensor *variable_behind(mtf_tensor *x)
{
    bool cast = x && strcmp(x->node->op->name, "cast") == 0;
    if (!cast || x->node->in[0]->node->op != &op_variable) return x;
    mtf_tensor *w = x->node->in[0];
    return type_word(w->node, ACTIVATION) == x->type ? w : x;
}

/* The variable in its activation type: w/activation. */
static mtf_tensor *activated(mtf_graph *g, mtf_tensor *w)
{
    mtf_dtype type = type_word(w->node, ACTIVATION);
    if (type == w->type) return w;
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s/activation", tensor_name(w));
    const char *name = text_done(&t);
    mtf_tensor *x = name ? names_get(&g->tensors, name) : NULL;
    if (!name || (x && variable_behind(x) == w)) return x;
    block *here = g->current;
    g->current = &g->root;
    x = mtf_cast(w, type);
    g->current = here;
    return x && graph_name_tensor(g, x, name) ? x : NULL;
}

/* The same name gives the same variable; another shape or type under it is an error. */
static mtf_tensor *known_variable(mtf_graph *g, const char *name, const mtf_shape *shape,
                                  const mtf_variable_opts *o)
{
    mtf_dtype   type = o->type;
    mtf_tensor *x = names_get(&g->tensors, name);
    if (!x || x->node->op != &op_variable) return NULL;
    node *n = x->node;
    char  a[SHAPE_TEXT], b[SHAPE_TEXT];
    for (int k = MASTER; k <= ACTIVATION; k++) {
        const char *word = k == MASTER ? o->master : o->activation;
        if (!word || strcmp(word, mtf_dtype_name(type_word(n, k))) == 0) continue;
        fail(&g->session->fault, ERR_TYPE,
             "variable \"%s\": its %s type is %s and cannot be %s as well", name,
             n->op->attrs[k].name, mtf_dtype_name(type_word(n, k)), word);
        return NULL;
    }
    if (mtf_shape_equal(n->out[0]->shape, *shape) && n->out[0]->type == type)
        return activated(g, n->out[0]);
    fail(&g->session->fault, ERR_SHAPE, "variable \"%s\" is %s%s and cannot be %s%s as well", name,
         mtf_dtype_name(n->out[0]->type), shape_text(&n->out[0]->shape, a), mtf_dtype_name(type),
         shape_text(shape, b));
    return NULL;
}

/* Another variable's value, as if it were one of this type. */
static mtf_tensor *stand_in(mtf_graph *g, const mtf_tensor *other, mtf_shape shape, mtf_dtype type)
{
    const char *scope = g->scope;
    g->scope = ""; /* its name has its scope in it */
    mtf_tensor *x = mtf_variable(
        g, other->name, shape,
        &(mtf_variable_opts){.type = other->type, .init = "zeros", .untrainable = true});
    g->scope = scope;
    return mtf_cast(x, type);
}

mtf_tensor *mtf_variable(mtf_graph *g, const char *name, mtf_shape shape,
                         const mtf_variable_opts *opts)
{
    mtf_variable_opts o = opts ? *opts : (mtf_variable_opts){0};
    if (!g || !mtf_ok(g->session)) return NULL;
    if (!shape_check(&shape, "variable", &g->session->fault)) return NULL;
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s%s", g->scope, name);
    const char *full = text_done(&t);
    if (!full) return NULL;
    mtf_tensor *other = o.untrainable ? NULL : names_get(&g->stand_ins, full);
    if (other) return stand_in(g, other, shape, o.type);
    mtf_tensor *known = known_variable(g, full, &shape, &o);
    if (known || !mtf_ok(g->session)) return known;
    block *here = g->current;
    g->current = &g->root; /* variables live outside all blocks */
    attr  attrs[] = {[SHAPE] = {.shape = &shape},
                     [TYPE] = {.type = o.type},
                     [INIT] = {.text = o.init ? o.init : "glorot_uniform"},
                     [TRAINABLE] = {.b = !o.untrainable},
                     [MASTER] = {.text = o.master},
                     [ACTIVATION] = {.text = o.activation}};
    node *n = node_new(g, &op_variable, 0, NULL, attrs, NULL);
    g->current = here;
    return n && graph_name_tensor(g, n->out[0], full) ? activated(g, n->out[0]) : NULL;
}

int mtf_variables(mtf_graph *g, mtf_tensor **list, int room)
{
    int count = 0;
    for (int i = 0; g && i < g->root.nnodes; i++) {
        node *n = g->root.nodes[i];
        if (n->op != &op_variable || !n->attrs[TRAINABLE].b) continue;
        if (count < room) list[count] = n->out[0];
        count++;
    }
    return count;
}

/* ---- read and assign ---- */

static bool variable_first(const node *n)
{
    if (n->in[0]->node->op == &op_variable) return true;
    return node_fail(n, ERR_USAGE, "\"%s\" is not a variable but comes from %s",
                     tensor_name(n->in[0]), n->in[0]->node->op->name);
}

static bool infer_read(node *n)
{
    TRY(variable_first(n));
    return node_output(n, n->in[0]->type, &n->in[0]->shape);
}

static void grad_read(tape *t, const node *n, mtf_tensor *const *dy)
{
    tape_give(t, n->in[0], dy[0]);
}

static bool lower_read(emitter *e, const node *n, const slice *in, slice *out)
{
    (void)in;
    return emit_read(e, n->in[0], &out[0]);
}

const op op_read = {.name = "read",
                    .says = "a variable's value after the assignments above",
                    .args = "variable",
                    .flags = OP_UNIQUE | OP_DIRECT,
                    .infer = infer_read,
                    .grad = grad_read,
                    .lower = lower_read};

mtf_tensor *mtf_read_variable(mtf_tensor *variable)
{
    mtf_tensor *w = variable_behind(variable);
    mtf_tensor *now = node_unary(&op_read, w, NULL);
    return w == variable ? now : mtf_cast(now, variable->type);
}

static bool infer_assign(node *n)
{
    TRY(variable_first(n) && node_needs_same_type(n));
    const mtf_tensor *w = n->in[0], *x = n->in[1];
    const char       *mode = n->attrs[0].text;
    char              a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (strcmp(mode, "set") != 0 && strcmp(mode, "add") != 0 && strcmp(mode, "sub") != 0)
        return node_fail(n, ERR_USAGE, "mode is set, add or sub, not \"%s\"", mode);
    if (w->type == MTF_BOOL && strcmp(mode, "set") != 0)
        return node_fail(n, ERR_TYPE,
                         "variable \"%s\" is bool, and mode %s is for numbers: use set, or make "
                         "the variable i32",
                         tensor_name(w), mode);
    if (!shape_same_set(&w->shape, &x->shape) || !node_sizes_agree(n))
        return node_fail(n, ERR_SHAPE, "variable \"%s\" is %s but the value \"%s\" is %s",
                         tensor_name(w), shape_text(&w->shape, a), tensor_name(x),
                         shape_text(&x->shape, b));
    if (n->home != &n->graph->root)
        return node_fail(n, ERR_USAGE,
                         "variable \"%s\" cannot be assigned inside a block; carry the value out "
                         "and assign it there",
                         tensor_name(w));
    return node_output(n, w->type, &w->shape);
}

static bool lower_assign(emitter *e, const node *n, const slice *in, slice *out)
{
    const mtf_tensor *w = n->in[0];
    const char       *mode = n->attrs[0].text;
    mtf_shape         local = out[0].shape;
    out[0] = slice_as(&in[1], &local);
    if (strcmp(mode, "set") != 0) {
        slice operands[2];
        TRY(emit_read(e, w, &operands[0]));
        operands[1] = in[1];
        out[0] = emit_fresh(e, w->type, &local);
        TRY(emit_scalar(e, strcmp(mode, "add") == 0 ? FN_add : FN_sub, 2, operands, &out[0]));
    }
    return emit_assign(e, w, &out[0]);
}

const op op_assign = {
    .name = "assign",
    .says = "stores a new value; gives it",
    .args = "variable, x",
    .attrs =
        (const attr_spec[]){{"mode", ATTR_WORD, "set", "set, add to the old value, sub from it"},
                            {0}},
    .flags = OP_EFFECT | OP_STORE,
    .infer = infer_assign,
    .lower = lower_assign,
    .split = split_free,
};

/* Accepts a value in the variable's activation type, too. */
static mtf_tensor *assign(mtf_tensor *variable, mtf_tensor *value, const char *mode)
{
    mtf_tensor *w = variable_behind(variable);
    if (w != variable && value && value->type == variable->type) value = mtf_cast(value, w->type);
    return node_binary(&op_assign, w, value, &(attr){.text = mode});
}

mtf_tensor *mtf_assign(mtf_tensor *variable, mtf_tensor *value)
{
    return assign(variable, value, "set");
}

mtf_tensor *mtf_assign_add(mtf_tensor *variable, mtf_tensor *value)
{
    return assign(variable, value, "add");
}

mtf_tensor *mtf_assign_sub(mtf_tensor *variable, mtf_tensor *value)
{
    return assign(variable, value, "sub");
}
