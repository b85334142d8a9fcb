/* Mixture of experts: the layer. */
#include "nn/moe.h"

#include <math.h>
#include <string.h>

#include "base/dtype.h"
#include "base/textbuf.h"

/* ---- sizes ---- */

int64_t moe_groups(int64_t n, int64_t size, int64_t split)
{
    int64_t groups = n / size > 1 ? n / size : 1;
    if (n % split) return 0;
    while (groups % split || n % groups) groups++;
    return groups;
}

int64_t moe_capacity(int64_t tokens, int64_t experts, double factor, int64_t least)
{
    double  wanted = (double)tokens * factor / (double)experts;
    int64_t places = wanted < (double)tokens ? (int64_t)wanted : tokens;
    if (places < least) places = least;
    return places < tokens ? places : tokens;
}

/* ---- options ---- */

static void set_default(double *x, double otherwise)
{
    if (*x == 0) *x = otherwise;
}

/* Of numbers that may be 0: a negative one is. */
static void set_default_or_none(double *x, double otherwise)
{
    set_default(x, otherwise);
    if (*x < 0) *x = 0;
}

static bool check_word(fault *f, const char *what, const char *word, const char *const *known)
{
    nearest near = {.wanted = word};
    for (int k = 0; known[k]; k++) {
        if (strcmp(known[k], word) == 0) return true;
        nearest_offer(&near, known[k]);
    }
    return fail(f, ERR_NAME, "moe: there is no %s \"%s\"; did you mean \"%s\"?", what, word,
                near.best ? near.best : known[0]);
}

static bool check_gating(fault *f, const char *word)
{
    const char *known[16];
    int         n = 0;
    for (; moe_gating_nth(n); n++) known[n] = moe_gating_nth(n)->name;
    known[n] = NULL;
    return check_word(f, "gating", word, known);
}

static void complete(mtf_moe_opts *o)
{
    if (!o->experts) o->experts = 16;
    if (!o->hidden) o->hidden = 4096;
    if (!o->activation[0]) o->activation[0] = "relu";
    if (!o->gating) o->gating = "top_2";
    if (!o->k) o->k = strcmp(o->gating, "ntlb") == 0 ? 4 : 2;
    if (!o->group_size) o->group_size = 1024;
    if (!o->least_capacity) o->least_capacity = 4;
    if (!o->second_policy_train) o->second_policy_train = "random";
    if (!o->second_policy_eval) o->second_policy_eval = "random";
    if (!o->switch_policy_train) o->switch_policy_train = "input_jitter";
    if (!o->switch_policy_eval) o->switch_policy_eval = "input_jitter";
    set_default(&o->capacity_train, 1.25);
    set_default(&o->capacity_eval, 2);
    set_default(&o->capacity_inner, 1);
    set_default(&o->loss_coef, 0.01);
    set_default_or_none(&o->second_threshold_train, 0.2);
    set_default_or_none(&o->second_threshold_eval, 0.2);
    set_default_or_none(&o->switch_dropout, 0.1);
    set_default_or_none(&o->switch_jitter, 0.01);
    set_default(&o->switch_temperature, 1);
    set_default(&o->scale, 1);
}

static bool check_sizes(fault *f, const mtf_moe_opts *o)
{
    if (o->experts < 1 || o->hidden < 1 || o->group_size < 1 || o->least_capacity < 1 ||
        o->shared < 0 || o->outer < 0)
        return fail(
            f, ERR_VALUE,
            "moe: %lld experts of %lld hidden units, groups of %lld tokens, at least %lld places; "
            "all must be 1 or more, and shared and outer experts, %lld and %lld, 0 or more",
            (long long)o->experts, (long long)o->hidden, (long long)o->group_size,
            (long long)o->least_capacity, (long long)o->shared, (long long)o->outer);
    if (o->k < 1 || o->k > MOE_MOST_CHOICES)
        return fail(f, ERR_VALUE, "moe: k is %lld; it must be from 1 to %d", (long long)o->k,
                    MOE_MOST_CHOICES);
    if (!(o->capacity_train > 0 && o->capacity_eval > 0))
        return fail(f, ERR_VALUE, "moe: capacity factors of %g and %g; both must be above 0",
                    o->capacity_train, o->capacity_eval);
    if (!(o->capacity_inner > 0))
        return fail(f, ERR_VALUE,
                    "moe: a capacity factor of inner experts of %g; it must be above 0",
                    o->capacity_inner);
    if (!(o->dropout >= 0 && o->dropout < 1 && o->switch_dropout >= 0 && o->switch_dropout < 1))
        return fail(f, ERR_VALUE,
                    "moe: dropouts of %g and %g; they must be from 0 up to, not including, 1",
                    o->dropout, o->switch_dropout);
    return (o->z_loss >= 0 && o->bias_rate >= 0 && o->jitter >= 0 && o->switch_temperature >= 0) ||
           fail(f, ERR_VALUE,
                "moe: z_loss %g, bias_rate %g, jitter %g, temperature %g; they must be 0 or more",
                o->z_loss, o->bias_rate, o->jitter, o->switch_temperature);
}

static bool check_dropless(fault *f, const mtf_moe_opts *o)
{
    if (!o->dropless) return true;
    if (o->one_hot)
        return fail(f, ERR_VALUE,
                    "moe: one-hot masks have places for each expert's capacity, and dropless "
                    "routing has none; leave out one_hot or dropless");
    return !moe_gating_find(o->gating)->experts_choose ||
           fail(f, ERR_VALUE,
                "moe: with %s experts choose as many tokens as their capacity; dropless routing "
                "needs a gating in which tokens choose, such as top_k",
                o->gating);
}

/* The places of outer experts are the groups of inner ones. */
static bool check_levels(fault *f, const mtf_moe_opts *o)
{
    if (!o->outer) return true;
    if (moe_gating_find(o->gating)->experts_choose)
        return fail(f, ERR_VALUE,
                    "moe: two levels of experts need a gating in which tokens choose, such as "
                    "top_2, not %s",
                    o->gating);
    if (o->dropless)
        return fail(f, ERR_VALUE,
                    "moe: two levels of experts need places for each expert's capacity; leave out "
                    "dropless");
    return !(o->bias_rate > 0) ||
           fail(f, ERR_VALUE,
                "moe: two levels of experts are balanced by loss_coef; leave out bias_rate");
}

static bool check_options(fault *f, const mtf_moe_opts *o)
{
    return check_sizes(f, o) && check_gating(f, o->gating) && check_dropless(f, o) &&
           check_levels(f, o) &&
           check_word(f, "second policy", o->second_policy_train, moe_second_policies) &&
           check_word(f, "second policy", o->second_policy_eval, moe_second_policies) &&
           check_word(f, "switch policy", o->switch_policy_train, moe_switch_policies) &&
           check_word(f, "switch policy", o->switch_policy_eval, moe_switch_policies);
}

static int position(const char *word, const char *const *known)
{
    int k = 0;
    while (strcmp(known[k], word) != 0) k++;
    return k;
}

/* What differs between training and inference. */
static double choose_mode(moe_call *c)
{
    const mtf_moe_opts *o = &c->o;
    c->training = !(o->context && o->context->inference);
    c->second_policy =
        position(c->training ? o->second_policy_train : o->second_policy_eval, moe_second_policies);
    c->switch_policy =
        position(c->training ? o->switch_policy_train : o->switch_policy_eval, moe_switch_policies);
    c->threshold = c->training ? o->second_threshold_train : o->second_threshold_eval;
    c->jitter = c->training ? o->jitter : 0;
    if (o->dropless) return INFINITY; /* as many places as there are tokens */
    return c->training ? o->capacity_train : o->capacity_eval;
}

/* ---- dimensions ---- */

/* [.., tokens, model] becomes [leading.., group, model]; with `across` all tokens are one row first. */
static mtf_tensor *in_groups(moe_call *c, mtf_tensor *x, mtf_shape rest)
{
    moe_dims *d = &c->dims;
    return x ? mtf_reshape(x, mtf_shape_plus(mtf_shape_plus(d->leading, mtf_shape(d->group)), rest))
             : NULL;
}

static const char *name_apart(mtf_graph *g, const char *name)
{
    textbuf t = {.arena = &g->arena};
    text_add(&t, "%s_unsplit", name);
    const char *text = text_done(&t);
    return text ? graph_intern(g, text) : NULL;
}

bool moe_set_apart(mtf_graph *g, mtf_shape *dims, int from, int to)
{
    for (int k = from; k < to; k++) {
        dims->dims[k].name = name_apart(g, dims->dims[k].name);
        TRY(dims->dims[k].name != NULL);
    }
    return true;
}

/* Groups are parts of a sequence, numbered like its positions, or parts of all tokens.  In two levels only the
 * last dimension of the batch is set apart on the way to the outer experts, so that one before it may be cut
 * along the axis of the inner ones. */
static bool find_groups(moe_call *c, const mtf_tensor *x)
{
    moe_dims *d = &c->dims;
    mtf_shape tokens = mtf_shape_minus(x->shape, mtf_shape(d->model));
    mtf_dim   last = tokens.dims[tokens.ndims - 1];
    int64_t   n = c->o.across ? mtf_shape_size(tokens) : last.size;
    int64_t   groups = n > 0 ? moe_groups(n, c->o.group_size, 1) : 1;
    d->group = (mtf_dim){"group", n / groups};
    if (c->o.across)
        d->leading = mtf_shape((mtf_dim){tokens.dims[0].name, groups});
    else
        d->leading = mtf_shape_minus(tokens, mtf_shape(last));
    if (!c->o.across && groups > 1)
        d->leading = mtf_shape_plus(d->leading, mtf_shape((mtf_dim){last.name, groups}));
    d->apart = d->leading;
    d->stay = c->o.outer && !c->o.across && tokens.ndims > 2 ? tokens.ndims - 2 : 0;
    return moe_set_apart(c->graph, &d->apart, d->stay, d->apart.ndims);
}

static bool find_dims(moe_call *c, const mtf_tensor *x, double factor)
{
    moe_dims *d = &c->dims;
    if (!layer_last(x, "moe", 1, &d->model) || !layer_last(x, "moe", 0, &d->model)) return false;
    TRY(find_groups(c, x));
    int64_t n = c->o.outer ? c->o.outer : c->o.experts;
    d->expert = (mtf_dim){c->o.outer ? "expert_x_unsplit" : "expert_unsplit", n};
    d->experts = (mtf_dim){c->o.outer ? "expert_x" : "experts", n};
    d->capacity =
        (mtf_dim){"expert_capacity", moe_capacity(d->group.size, n, factor, c->o.least_capacity)};
    if (!c->o.output.name) c->o.output = d->model;
    return true;
}

/* Which tokens are real, in groups. */
static bool find_importance(moe_call *c, const mtf_tensor *x)
{
    mtf_tensor *given = c->o.importance;
    if (!given) return true;
    char      a[SHAPE_TEXT], b[SHAPE_TEXT];
    mtf_shape tokens = mtf_shape_minus(x->shape, mtf_shape(c->dims.model));
    if (!mtf_shape_equal(given->shape, tokens) || !dtype_is_float(given->type))
        return fail(&c->graph->session->fault, ERR_SHAPE,
                    "moe: the importance \"%s\" is %s %s; it must be floating, %s",
                    tensor_name(given), mtf_dtype_name(given->type), shape_text(&given->shape, a),
                    shape_text(&tokens, b));
    c->importance = in_groups(c, mtf_stop_gradient(mtf_cast(given, c->type)), mtf_shape());
    if (c->importance) c->real = mtf_greater(c->importance, mtf_zeros_like(c->importance));
    return c->real != NULL;
}

/* Where tokens are in their texts, in groups: what draws by position needs it. */
static bool find_position(moe_call *c, const mtf_tensor *x)
{
    if (!moe_draws_by_position(c)) return true;
    mtf_shape   tokens = mtf_shape_minus(x->shape, mtf_shape(c->dims.model));
    mtf_tensor *given = c->o.position;
    if (!given) given = mtf_range(c->graph, tokens.dims[tokens.ndims - 1], MTF_I32);
    given = mtf_cast(mtf_broadcast(given, tokens), c->type);
    c->position = in_groups(c, given, mtf_shape());
    return c->position != NULL;
}

/* ---- the layer ---- */

/* wo(dropout(wi(x))) of each expert.  Dropless: of rows, whose experts follow from `ends`. */
static mtf_tensor *experts_apply(const moe_call *c, const moe_routing *r, mtf_tensor *x)
{
    mtf_dim        hidden = {"expert_hidden", c->o.hidden};
    mtf_dense_opts in = {.name = "wi",
                         .reduced = mtf_shape(c->dims.model),
                         .experts = mtf_shape_plus(c->dims.outer, mtf_shape(c->dims.experts)),
                         .no_bias = true,
                         .kernel_init = c->o.kernel_init,
                         .context = c->o.context};
    if (!graph_of(x)) return NULL;
    if (c->o.dropless) {
        in.ends = moe_ends(c, r);
        in.rows = moe_rows(c, r);
        if (!in.ends) return NULL;
    }
    mtf_dense_opts out = in;
    out.name = "wo", out.kernel_init = c->o.output_init, out.reduced = mtf_shape(hidden);
    mtf_tensor *h = mtf_dense_product(x, mtf_shape(hidden), c->o.activation, &in);
    h = layer_dropout(c->o.context, h, c->o.dropout, mtf_shape());
    return mtf_dense(h, mtf_shape(c->o.output), &out);
}

/* The experts of all tokens, as one layer of their hidden units together. */
static mtf_tensor *shared_apply(const moe_call *c, mtf_tensor *x)
{
    mtf_dim        hidden = {"d_ff", c->o.hidden * c->o.shared};
    mtf_dense_opts in = {.name = "shared/wi",
                         .reduced = mtf_shape(c->dims.model),
                         .no_bias = true,
                         .kernel_init = c->o.kernel_init,
                         .context = c->o.context},
                   out = in;
    out.name = "shared/wo", out.kernel_init = c->o.output_init, out.reduced = mtf_shape(hidden);
    mtf_tensor *h = mtf_dense_product(x, mtf_shape(hidden), c->o.activation, &in);
    h = layer_dropout(c->o.context, h, c->o.dropout, mtf_shape());
    return mtf_dense(h, mtf_shape(c->o.output), &out);
}

/* ---- what is told, by names in the layer's scope, for those who watch ---- */

/* Two losses together; NULL: none. */
static mtf_tensor *both(mtf_tensor *a, mtf_tensor *b)
{
    return a && b ? mtf_add(a, b) : a ? a : b;
}

static mtf_tensor *loss_of(const moe_call *c, const moe_routing *r)
{
    bool balances = r->balance && c->o.loss_coef > 0, z = r->z && c->o.z_loss > 0;
    return both(balances ? mtf_scale(r->balance, c->o.loss_coef) : NULL,
                z ? mtf_scale(r->z, c->o.z_loss) : NULL);
}

/* Of two levels the inner one, with the losses of both. */
static void tell(const moe_call *c, const moe_routing *outer, const moe_routing *r,
                 mtf_moe_told *to)
{
    mtf_tensor *loss = both(outer ? loss_of(c, outer) : NULL, loss_of(c, r));
    mtf_tensor *balance = both(outer ? outer->balance : NULL, r->balance);
    *to = (mtf_moe_told){loss, balance, r->load, r->dropped, r->entropy};
    if (loss) mtf_name(loss, "aux_loss");
    mtf_name(r->load, "expert_load");
    mtf_name(r->dropped, "dropped");
    mtf_name(r->entropy, "entropy");
    if (!outer) return;
    mtf_name(outer->load, "outer_load");
    mtf_name(outer->dropped, "outer_dropped");
    mtf_name(outer->entropy, "outer_entropy");
}

/* x [leading.., group, model] to [leading.., group, output]. */
static mtf_tensor *mix(const moe_call *c, mtf_tensor *x, moe_routing *r)
{
    if (!x || !moe_gating_find(c->o.gating)->route(c, x, r)) return NULL;
    return moe_combine(c, r, experts_apply(c, r, moe_dispatch(c, r, x)));
}

/* The same in two levels. */
static mtf_tensor *mix_twice(const moe_call *c, mtf_tensor *x, moe_routing *outer,
                             moe_routing *inner)
{
    moe_call in;
    if (!x || !moe_gating_find(c->o.gating)->route(c, x, outer)) return NULL;
    x = moe_inner_begin(c, outer, moe_dispatch(c, outer, x), &in);
    return moe_combine(c, outer, moe_inner_end(c, mix(&in, x, inner)));
}

static mtf_tensor *apply(moe_call *c, mtf_tensor *x, mtf_moe_told *told)
{
    moe_routing r = {0}, outer = {0};
    mtf_tensor *own = in_groups(c, x, mtf_shape(c->dims.model));
    mtf_tensor *y = c->o.outer ? mix_twice(c, own, &outer, &r) : mix(c, own, &r);
    if (!y) return NULL;
    tell(c, c->o.outer ? &outer : NULL, &r, told);
    mtf_shape tokens = mtf_shape_minus(x->shape, mtf_shape(c->dims.model));
    y = mtf_reshape(y, mtf_shape_plus(tokens, mtf_shape(c->o.output)));
    return c->o.shared ? mtf_add(y, shared_apply(c, x)) : y;
}

static const char *enter(mtf_graph *g, const mtf_moe_opts *o)
{
    return o->name && !*o->name ? g->scope : layer_enter(g, o->name, "moe");
}

mtf_tensor *mtf_moe(mtf_tensor *x, const mtf_moe_opts *opts, mtf_moe_told *told)
{
    moe_call     c = {.graph = graph_of(x), .o = opts ? *opts : (mtf_moe_opts){0}};
    mtf_moe_told ours;
    if (!told) told = &ours;
    *told = (mtf_moe_told){0};
    if (!c.graph) return NULL;
    c.type = dtype_compute(x->type);
    complete(&c.o);
    if (!check_options(&c.graph->session->fault, &c.o)) return NULL;
    double factor = choose_mode(&c);
    c.router = c.o.outer ? "outer_gating" : moe_gating_find(c.o.gating)->scope;
    if (!find_dims(&c, x, factor) || !find_importance(&c, x) || !find_position(&c, x)) return NULL;
    const char *outside = enter(c.graph, &c.o);
    if (!outside) return NULL;
    mtf_tensor *y = apply(&c, x, told);
    layer_leave(c.graph, outside);
    return y;
}

/* ---- balance without a loss ---- */

/* Experts that are asked for more than the mean are asked for less from now on; biases less their mean say
 * the same. */
void mtf_moe_balance(mtf_tensor *load, const mtf_moe_opts *opts)
{
    mtf_graph   *g = graph_of(load);
    mtf_moe_opts o = opts ? *opts : (mtf_moe_opts){0};
    if (!g || o.bias_rate <= 0) return;
    const char *outside = enter(g, &o);
    if (!outside) return;
    mtf_tensor *bias = moe_bias(g, load->shape.dims[0], load->type);
    mtf_tensor *over = mtf_sub(load, mtf_reduce_mean(load, MTF_ALL));
    mtf_tensor *moved = mtf_sub(bias, mtf_scale(mtf_sign(mtf_stop_gradient(over)), o.bias_rate));
    mtf_assign(bias, mtf_sub(moved, mtf_reduce_mean(moved, MTF_ALL)));
    layer_leave(g, outside);
}
