/* Calls every public function that returns no tensor once. */
/* clang-format off */
#include "graph/every_call.h"

#include "mtf_nn.h"
#include "mtf_train.h"

#include "ground.h"

static const mtf_dim a = {"a", 4}, b = {"b", 2};

/* The call, and what must hold of it; NOTE where nothing can be asked. */
#define NOTE(function) (c->name[c->count++] = #function)
#define EXPECT(name, fact)                                                                         \
    do {                                                                                           \
        NOTE(name);                                                                                \
        if (!(fact)) fail_msg("%s: not so: %s", #name, #fact);                                     \
    } while (0)
#define CALL(name, ...)                                                                            \
    do {                                                                                           \
        NOTE(name);                                                                                \
        name(__VA_ARGS__);                                                                         \
    } while (0)
/* A call that gives its tensors through `parts`. */
#define GIVES_NONE(name, n, ...)                                                                   \
    do {                                                                                           \
        for (int i_ = 0; i_ < (n); i_++) parts[i_] = x;                                            \
        CALL(name, __VA_ARGS__);                                                                   \
        for (int i_ = 0; i_ < (n); i_++) assert_null(parts[i_]);                                   \
    } while (0)

static void idle_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = in[0];
}

static void idle_part(void *context, const mtf_part *part)
{
    (void)context, (void)part;
}

static const void *idle_find(void *context, const mtf_part *part)
{
    (void)part;
    return context;
}

/* These ask neither session nor graph: they are called for completeness. */
static void call_shapes(calls *c)
{
    mtf_shape s = mtf_shape(a, b);
    int64_t   products[2];
    char      text[80];
    EXPECT(mtf_shape_of, mtf_shape_of(1, &a).ndims == 1);
    EXPECT(mtf_shape_print, mtf_shape_print(s, text, sizeof text) == 15);
    EXPECT(mtf_shape_size, mtf_shape_size(s) == 8);
    EXPECT(mtf_shape_equal, mtf_shape_equal(s, s));
    EXPECT(mtf_shape_find, mtf_shape_find(s, "b") == 1);
    EXPECT(mtf_shape_dim, mtf_shape_dim(s, "b").size == 2);
    EXPECT(mtf_shape_plus, mtf_shape_plus(s, s).ndims == 2);
    EXPECT(mtf_shape_minus, mtf_shape_minus(s, s).ndims == 0);
    EXPECT(mtf_shape_rename, mtf_shape_rename(s, "a", "z").ndims == 2);
    EXPECT(mtf_shape_resize, mtf_shape_size(mtf_shape_resize(s, "a", 3)) == 6);
    EXPECT(mtf_shape_replace, mtf_shape_replace(s, mtf_shape(a), mtf_shape(a)).ndims == 2);
    CALL(mtf_shape_cumprod, s, products);
    EXPECT(mtf_shape_cumprod_axis, mtf_shape_cumprod_axis(s, products[1]) == 1);
    EXPECT(mtf_combined_dimension, mtf_combined_dimension(s, NULL).size == 8);
    EXPECT(mtf_dtype_bytes, mtf_dtype_bytes(MTF_F32) == 4);
    EXPECT(mtf_dtype_name, strcmp(mtf_dtype_name(MTF_F32), "f32") == 0);
    EXPECT(mtf_version, mtf_version()[0] != 0);
}

static void call_session(mtf_session *s, calls *c)
{
    char        *argv[] = {"test", NULL};
    mtf_session *other = mtf_open(1, argv);
    mtf_loaded   loaded;
    NOTE(mtf_open);
    EXPECT(mtf_close, mtf_close(other) == 0);
    other = mtf_open_with(NULL);
    NOTE(mtf_open_with);
    mtf_close(other);
    EXPECT(mtf_ok, !mtf_ok(s));
    EXPECT(mtf_error, mtf_error(s)[0] != 0);
    CALL(mtf_is_first, s);
    CALL(mtf_option, s, "none", NULL);
    EXPECT(mtf_shape_parse, mtf_shape_parse(s, "a:1").ndims < 0);
    EXPECT(mtf_graph_new, !mtf_graph_new(s));
    EXPECT(mtf_parse, !mtf_parse(s, "x: f32[] = input", "text"));
    EXPECT(mtf_save, !mtf_save(s, "/nonexistent", NULL));
    CALL(mtf_save_wait, s);
    CALL(mtf_save_poll, s);
    EXPECT(mtf_load, !mtf_load(s, "/nonexistent", NULL, &loaded));
    mtf_dataset *d = mtf_dataset_open(s, (const mtf_field[]){{.name = "x", .files = "x"}, {0}});
    EXPECT(mtf_dataset_open, !d);
}

static void call_graph(mtf_graph *g, mtf_tensor *x, calls *c)
{
    mtf_tensor              *parts[4], *xs[1] = {x};
    const mtf_loop_opts      loop = {.trips = 2, .body = idle_body};
    const mtf_serialize_opts micro = {.batch = a, .splits = 2, .model = idle_body};
    mtf_layout_found         found[1];
    CALL(mtf_scope_push, g, "scope");
    CALL(mtf_scope_pop, g);
    EXPECT(mtf_print, !mtf_print(g));
    CALL(mtf_variables, g, parts, 4);
    GIVES_NONE(mtf_split, 2, x, a, 2, NULL, parts);
    GIVES_NONE(mtf_unstack, 4, x, a, parts);
    GIVES_NONE(mtf_while_loop, 1, g, 1, xs, parts, &loop);
    GIVES_NONE(mtf_recompute, 1, g, 1, xs, 1, parts, idle_body, NULL);
    GIVES_NONE(mtf_custom_gradient, 1, g, 1, xs, 1, parts, idle_body, idle_body, NULL);
    GIVES_NONE(mtf_gradients, 1, 1, xs, 1, xs, NULL, parts);
    GIVES_NONE(mtf_reversible_half_residual_and_swap, 2, &parts[0], &parts[1], idle_body, NULL);
    GIVES_NONE(mtf_clip_by_global_norm, 1, 1, xs, 1, parts);
    EXPECT(mtf_multihead_attention_params,
           !mtf_multihead_attention_params(g, a, a, a, MTF_F32, NULL).q);
    EXPECT(mtf_serialize_training_step, !mtf_serialize_training_step(g, 1, xs, &micro).loss);
    EXPECT(mtf_layout_find,
           mtf_layout_find(g, 1, xs, &(mtf_layout_opts){.mesh = "x:2"}, 1, found) == 0);
    CALL(mtf_microbatches, g, a, 2);
    EXPECT(mtf_compile_n, !mtf_compile_n(g, 1, xs));
    CALL(mtf_use_averages, g, g);
    EXPECT(mtf_train, !mtf_train(g, x, &(mtf_train_opts){.steps = 1, .quiet = true}));
    CALL(mtf_evaluate, g, x, NULL, NULL);
    CALL(mtf_evaluation_new, g, 1, &x, NULL, NULL);
    CALL(mtf_evaluation_run, NULL, NULL);
    CALL(mtf_evaluation_free, NULL);
}

static void call_optimizers(mtf_graph *g, mtf_tensor *x, calls *c)
{
    mtf_tensor *xs[1] = {x};
    CALL(mtf_sgd, g, x, NULL);
    CALL(mtf_sgd_apply, g, 1, xs, xs, NULL);
    CALL(mtf_momentum, g, x, NULL);
    CALL(mtf_momentum_apply, g, 1, xs, xs, NULL);
    CALL(mtf_adam, g, x, NULL);
    CALL(mtf_adam_apply, g, 1, xs, xs, NULL);
    CALL(mtf_adafactor, g, x, NULL);
    CALL(mtf_adafactor_apply, g, 1, xs, xs, NULL);
    CALL(mtf_minimize, g, x, NULL);
    CALL(mtf_minimize_apply, g, 1, xs, xs, NULL);
    CALL(mtf_moe_balance, x, &(mtf_moe_opts){.bias_rate = 0.1});
}

static void call_program(mtf_program *p, mtf_tensor *x, calls *c)
{
    char               values[64] = {0};
    mtf_tensor        *list[4];
    const mtf_counter *counters;
    EXPECT(mtf_feed, !mtf_feed(p, x, values));
    EXPECT(mtf_step, !mtf_step(p));
    EXPECT(mtf_fetch, !mtf_fetch(p, x, values));
    EXPECT(mtf_fetch_scalar, mtf_fetch_scalar(p, x) == 0);
    EXPECT(mtf_feed_parts, !mtf_feed_parts(p, x, idle_part, NULL));
    EXPECT(mtf_input_parts, !mtf_input_parts(p, x, idle_part, NULL));
    EXPECT(mtf_lend_parts, !mtf_lend_parts(p, x, idle_find, values));
    EXPECT(mtf_fetch_parts, !mtf_fetch_parts(p, x, idle_part, NULL));
    EXPECT(mtf_program_set_step, !mtf_program_set_step(p, 1));
    EXPECT(mtf_program_print, !mtf_program_print(p));
    EXPECT(mtf_program_step, mtf_program_step(p) == 0);
    EXPECT(mtf_program_inputs, mtf_program_inputs(p, list, 4) == 0);
    CALL(mtf_program_cost, p);
    CALL(mtf_program_counters, p, &counters);
    CALL(mtf_program_measured, p, 0);
    EXPECT(mtf_variable_get, !mtf_variable_get(x, values));
    EXPECT(mtf_variable_set, !mtf_variable_set(x, values));
    CALL(mtf_program_free, NULL); /* who closes the session frees the other */
}

static void call_data(mtf_program *p, calls *c)
{
    char values[64];
    EXPECT(mtf_dataset_size, mtf_dataset_size(NULL) == 0);
    EXPECT(mtf_dataset_read, !mtf_dataset_read(NULL, "x", 0, MTF_F32, 4, values));
    EXPECT(mtf_batches_new, !mtf_batches_new(NULL, p, NULL));
    CALL(mtf_batches_free, NULL);
    EXPECT(mtf_batches_next, !mtf_batches_next(NULL));
    EXPECT(mtf_batches_real, mtf_batches_real(NULL) == 0);
    EXPECT(mtf_batches_position, mtf_batches_position(NULL) == 0);
    EXPECT(mtf_batches_seek, !mtf_batches_seek(NULL, 1));
}

void call_all_others(mtf_session *s, mtf_graph *g, mtf_tensor *x, mtf_program *p, calls *c)
{
    c->count = 0;
    call_shapes(c);
    call_session(s, c);
    call_graph(g, x, c);
    call_optimizers(g, x, c);
    call_program(p, x, c);
    call_data(p, c);
    CALL(mtf_shape_of_tensor, x);
    CALL(mtf_dtype_of_tensor, x);
    CALL(mtf_name_of_tensor, x);
}
