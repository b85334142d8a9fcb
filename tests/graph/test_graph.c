/* Tests graphs: names, scopes, blocks, and the first error kept. */
#include <ctype.h>

#include "mtf_nn.h"

#include "graph/every_call.h"
#include "ground.h"

static const mtf_dim a = {"a", 4}, b = {"b", 2};

static mtf_tensor *named(mtf_graph *g, const char *name)
{
    return mtf_input(g, name, MTF_F32, mtf_shape());
}

static void assert_names(mtf_graph *g, int n, const char *const *wishes, const char *const *names)
{
    for (int i = 0; i < n; i++)
        assert_string_equal(mtf_name_of_tensor(named(g, wishes[i])), names[i]);
}

/* ---- names ---- */

#define UNIQUE(wishes, names)                                                                      \
    do {                                                                                           \
        mtf_session *s = open_two_threads();                                                       \
        assert_names(mtf_graph_new(s), 3, (const char *const[])LIST wishes,                        \
                     (const char *const[])LIST names);                                             \
        close_well(s);                                                                             \
    } while (0)
#define LIST(x, y, z)                                                                              \
    {                                                                                              \
        x, y, z                                                                                    \
    }

static void test_unique_names(void **state)
{
    (void)state;
    UNIQUE(("a", "a", "a"), ("a", "a_1", "a_2"));
    UNIQUE(("a", "a", "a_1"), ("a", "a_1", "a_1_1"));
    UNIQUE(("a", "a_1", "a"), ("a", "a_1", "a_2"));
    UNIQUE(("a", "A", "a"), ("a", "A_1", "a_2"));
    UNIQUE(("x/y", "x/y", "x"), ("x/y", "x/y_1", "x"));
}

static void test_automatic_names(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = named(g, "exp"), *y = mtf_exp(x), *z = mtf_exp(y);
    assert_string_equal(mtf_name_of_tensor(z), "exp_1"); /* the first that is asked */
    assert_string_equal(mtf_name_of_tensor(y), "exp_2");
    assert_ptr_equal(mtf_name(y, "middle"), y);
    assert_string_equal(mtf_name_of_tensor(y), "middle");
    assert_ptr_equal(mtf_find(g, "middle"), y);
    mtf_tensor *w = mtf_tanh(y);
    assert_ptr_equal(mtf_find(g, "tanh"), w); /* automatic names are found as well */
    close_well(s);
}

static void test_scopes(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_scope_push(g, "layer");
    mtf_tensor *x = named(g, "x");
    mtf_scope_push(g, "inner");
    mtf_tensor *y = named(g, "x"), *e = mtf_exp(y);
    mtf_scope_pop(g);
    mtf_tensor *z = named(g, "x");
    mtf_scope_pop(g);
    mtf_tensor *outside = named(g, "x");
    assert_string_equal(mtf_name_of_tensor(x), "layer/x");
    assert_string_equal(mtf_name_of_tensor(y), "layer/inner/x");
    assert_string_equal(mtf_name_of_tensor(e), "layer/inner/exp"); /* of the scope it was made in */
    assert_string_equal(mtf_name_of_tensor(z), "layer/x_1");
    assert_string_equal(mtf_name_of_tensor(outside), "x");
    assert_ptr_equal(mtf_find(g, "layer/inner/x"), y);
    mtf_scope_pop(g);
    close_with(s, "usage: mtf_scope_pop without a scope that was pushed");
}

static void test_find(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = named(g, "hidden");
    assert_ptr_equal(mtf_find(g, "hidden"), x);
    assert_null(mtf_find(g, "hiden"));
    close_with(s, "name: no tensor is called \"hiden\"; did you mean \"hidden\"?");
    s = open_two_threads();
    g = mtf_graph_new(s);
    named(g, "hidden");
    assert_null(mtf_find(g, "elsewhere"));
    close_with(s, "name: no tensor is called \"elsewhere\"");
}

/* ---- the first error ---- */

static void test_first_error_is_kept(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(a)),
               *n = mtf_input(g, "n", MTF_I32, mtf_shape(a));
    assert_null(mtf_exp(n));
    assert_null(mtf_add(x, n));
    assert_null(mtf_exp(x));
    assert_null(mtf_find(g, "nothing"));
    assert_null(mtf_graph_new(s));
    assert_null(mtf_print(g));
    assert_null(mtf_parse(s, "x: f32[] = input", "file"));
    close_with(s, "type: exp: \"n\" is i32; this operation takes floating types: cast it");
}

static void idle_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = in[0];
}

static void call_optimizers(mtf_graph *g, mtf_tensor *x)
{
    mtf_tensor *xs[1] = {x}, *clipped[1];
    mtf_sgd(g, x, NULL);
    mtf_sgd_apply(g, 1, xs, xs, NULL);
    mtf_momentum(g, x, NULL);
    mtf_momentum_apply(g, 1, xs, xs, NULL);
    mtf_adam(g, x, NULL);
    mtf_adam_apply(g, 1, xs, xs, NULL);
    mtf_adafactor(g, x, NULL);
    mtf_adafactor_apply(g, 1, xs, xs, NULL);
    mtf_minimize(g, x, NULL);
    mtf_clip_by_global_norm(1, xs, 1, clipped);
    assert_null(clipped[0]);
}

static void test_null_gives_null(void **state)
{
    (void)state;
    calls c;
    call_everything(NULL, NULL, &c);
    for (int i = 0; i < c.count; i++)
        if (c.gave[i]) fail_msg("%s gives something for nothing", c.name[i]);
    call_all_others(NULL, NULL, NULL, NULL, &c);
    assert_int_equal(mtf_shape_of_tensor(NULL).ndims, 0);
    assert_int_equal(mtf_dtype_of_tensor(NULL), MTF_F32);
    assert_string_equal(mtf_name_of_tensor(NULL), "");
    assert_null(mtf_graph_new(NULL));
    assert_null(mtf_parse(NULL, "", ""));
    assert_string_equal(mtf_error(NULL), "memory: no memory for a session");
    assert_int_equal(mtf_close(NULL), 1);
}

/* A sound graph, but NULL for every tensor: no error is due, for one was reported before. */
static void test_null_is_no_error(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    calls        c;
    mtf_tensor  *parts[4], *none[1] = {NULL};
    named(g, "x");
    call_everything(NULL, NULL, &c);
    mtf_split(NULL, a, 2, NULL, parts);
    mtf_unstack(NULL, a, parts);
    mtf_while_loop(g, 1, none, parts, &(mtf_loop_opts){.trips = 2, .body = idle_body});
    mtf_recompute(g, 1, none, 1, parts, idle_body, NULL);
    mtf_custom_gradient(g, 1, none, 1, parts, idle_body, idle_body, NULL);
    mtf_gradients(1, none, 1, none, NULL, parts);
    call_optimizers(g, NULL);
    assert_null(mtf_compile(g, none[0]));
    close_well(s);
}

static void test_after_an_error(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_variable(g, "x", mtf_shape(a), NULL);
    mtf_program *p = mtf_compile(g, x);
    calls        c;
    mtf_scope_pop(g);
    call_everything(g, x, &c);
    for (int i = 0; i < c.count; i++)
        if (c.gave[i]) fail_msg("%s gives something after an error", c.name[i]);
    call_all_others(s, g, x, p, &c);
    close_with(s, "usage: mtf_scope_pop without a scope that was pushed");
}

static bool is_called(const calls *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->name[i], name) == 0) return true;
    return false;
}

/* The tables of calls are complete: the headers declare nothing beyond them. */
static void test_every_function_is_called(void **state)
{
    (void)state;
    static const char *const headers[] = {"mtf.h", "mtf_nn.h", "mtf_data.h", "mtf_train.h"};
    calls                    tensors, others;
    int                      found = 0;
    call_everything(NULL, NULL, &tensors);
    call_all_others(NULL, NULL, NULL, NULL, &others);
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
        static const char lead[] = "\nMTF_API ";
        char              path[400], name[80];
        snprintf(path, sizeof path, "%s/include/%s", MTF_SOURCE_DIR, headers[h]);
        char *text = read_text(path);
        for (const char *p = text; (p = strstr(p, lead));) {
            p += strlen(lead);
            const char *end = p + strcspn(p, "("), *first = end;
            while (first > p && (isalnum((unsigned char)first[-1]) || first[-1] == '_')) first--;
            snprintf(name, sizeof name, "%.*s", (int)(end - first), first);
            if (!is_called(&tensors, name) && !is_called(&others, name))
                fail_msg("neither every_call.c nor every_other_call.c calls %s", name);
            found++;
        }
        free(text);
    }
    assert_int_equal(found, tensors.count + others.count); /* and each once */
}

/* ---- who may use what ---- */

static void test_other_graphs(void **state)
{
    (void)state;
    static const char said[] = "usage: add: \"y\" belongs to another graph";
    mtf_session      *s = open_two_threads();
    mtf_graph        *g = mtf_graph_new(s), *h = mtf_graph_new(s);
    assert_null(mtf_add(named(g, "x"), named(h, "y")));
    close_with(s, said);

    s = open_two_threads();
    g = mtf_graph_new(s), h = mtf_graph_new(s);
    mtf_tensor *x = named(g, "x"), *dx;
    for (int i = 0; i < 100; i++) named(h, "y"); /* ids beyond those of g */
    mtf_tensor *y = named(h, "far");
    mtf_gradients(1, &x, 1, &y, NULL, &dx);
    assert_null(dx);
    close_with(s, "gradient: \"far\" belongs to another graph than \"x\"");

    s = open_two_threads();
    g = mtf_graph_new(s), h = mtf_graph_new(s);
    assert_null(mtf_compile(g, named(h, "y")));
    close_with(s, "usage: \"y\" is inside a block or in another graph and cannot be fetched");
}

static void leak_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g;
    *(mtf_tensor **)context = mtf_name(mtf_exp(in[0]), "inner");
    out[0] = in[0];
}

static void test_inner_tensors(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        mtf_session  *s = open_two_threads();
        mtf_graph    *g = mtf_graph_new(s);
        mtf_tensor   *x = named(g, "x"), *inner = NULL, *y;
        mtf_loop_opts loop = {.trips = 2, .body = leak_body, .context = &inner};
        mtf_while_loop(g, 1, &x, &y, &loop);
        assert_non_null(inner);
        if (how == 0) mtf_exp(inner);
        if (how == 1) mtf_add(y, inner);
        if (how == 2) mtf_recompute(g, 1, &inner, 1, &y, idle_body, NULL);
        if (how == 3) assert_null(mtf_compile(g, inner));
        close_with(
            s,
            how < 3
                ? "usage: \"inner\" belongs to the inside of a block and cannot be used outside it"
                : "usage: \"inner\" is inside a block or in another graph and cannot be fetched");
    }
}

static void test_iteration_outside(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    assert_null(mtf_iteration(mtf_graph_new(s)));
    close_with(s, "usage: mtf_iteration: it is called outside of any loop");
}

/* ---- variables ---- */

static void test_variables_are_shared(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s), *h = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(a), NULL), *list[4];
    assert_ptr_equal(mtf_variable(g, "w", mtf_shape(a), NULL), w);
    mtf_scope_push(g, "layer");
    mtf_tensor *inner =
        mtf_variable(g, "w", mtf_shape(b), &(mtf_variable_opts){.untrainable = true});
    mtf_scope_pop(g);
    assert_string_equal(mtf_name_of_tensor(inner), "layer/w");
    assert_int_equal(mtf_variables(g, list, 4), 1); /* the trainable ones */
    assert_ptr_equal(list[0], w);

    float ones[4] = {1, 2, 3, 4}, got[4] = {0}; /* another graph sees the same memory by name */
    assert_true(mtf_variable_set(w, ones));
    evaluate(h, mtf_variable(h, "w", mtf_shape(a), NULL), got);
    assert_memory_equal(got, ones, sizeof got);
    close_well(s);
}

static void test_variables_refuse(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_variable(g, "w", mtf_shape(a), NULL);
    assert_null(mtf_variable(g, "w", mtf_shape(a, b), NULL));
    close_with(s, "shape: variable \"w\" is f32[a=4] and cannot be f32[a=4, b=2] as well");

    s = open_two_threads();
    g = mtf_graph_new(s);
    mtf_variable(g, "w", mtf_shape(a), NULL);
    assert_null(mtf_variable(g, "w", mtf_shape(a), &(mtf_variable_opts){.type = MTF_F64}));
    close_with(s, "shape: variable \"w\" is f32[a=4] and cannot be f64[a=4] as well");

    s = open_two_threads();
    g = mtf_graph_new(s);
    mtf_graph *h = mtf_graph_new(s);
    assert_non_null(mtf_compile(g, mtf_variable(g, "w", mtf_shape(a), NULL)));
    assert_null(mtf_compile(h, mtf_variable(h, "w", mtf_shape(b), NULL)));
    close_with(s,
               "shape: variable \"w\" is f32[a=4] in this session and cannot be f32[b=2] as well");

    s = open_two_threads();
    g = mtf_graph_new(s);
    named(g, "w");
    assert_null(mtf_variable(g, "w", mtf_shape(a), NULL));
    close_with(s, "name: the name \"w\" is given twice in one graph");
}

/* One logit more for each sum, so it cannot have the dimension that is summed. */
static void test_extra_logits_refuse(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        char         said[200];
        mtf_session *s = open_two_threads();
        mtf_graph   *g = mtf_graph_new(s);
        mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(a)),
                   *extra = mtf_input(g, "extra", MTF_F32, mtf_shape(a));
        assert_null(k ? mtf_log_softmax(x, a, extra) : mtf_reduce_logsumexp(x, a, extra));
        snprintf(said, sizeof said,
                 "shape: %s: the extra logit \"extra\" has the dimension \"a\", which is summed",
                 k ? "log_softmax" : "reduce_logsumexp");
        close_with(s, said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unique_names),
        cmocka_unit_test(test_automatic_names),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_first_error_is_kept),
        cmocka_unit_test(test_null_gives_null),
        cmocka_unit_test(test_null_is_no_error),
        cmocka_unit_test(test_after_an_error),
        cmocka_unit_test(test_every_function_is_called),
        cmocka_unit_test(test_other_graphs),
        cmocka_unit_test(test_inner_tensors),
        cmocka_unit_test(test_iteration_outside),
        cmocka_unit_test(test_variables_are_shared),
        cmocka_unit_test(test_variables_refuse),
        cmocka_unit_test(test_extra_logits_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
