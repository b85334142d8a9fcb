/* Tests that every bad input gets one sentence, in the user's own names. */
#include "base/session.h"

#include "ground.h"

static const mtf_dim a = {"a", 4}, b = {"b", 2};

typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *x, *n; /* f32[a=4, b=2], i32[a=4] */
} scene;

static scene scene_open(void)
{
    scene c = {.s = open_two_threads()};
    c.g = mtf_graph_new(c.s);
    c.x = mtf_input(c.g, "x", MTF_F32, mtf_shape(a, b));
    c.n = mtf_input(c.g, "n", MTF_I32, mtf_shape(a));
    return c;
}

/* The text is refused with this sentence. */
static void refuse_text(const char *text, const char *sentence)
{
    mtf_session *s = open_two_threads();
    assert_null(mtf_parse(s, text, "model.mtf"));
    close_with(s, sentence);
}

/* ---- text ---- */

static void test_unknown_operation(void **state)
{
    (void)state;
    refuse_text(
        "x: f32[a=4] = input\ny = sotfmax(x, dim=a)\n",
        "syntax: model.mtf:2:5: no operation is called \"sotfmax\"; did you mean \"softmax\"?");
    refuse_text("y = frobnicate(3)\n",
                "syntax: model.mtf:1:5: no operation is called \"frobnicate\"");
}

static void test_text_places(void **state)
{
    (void)state;
    refuse_text("x: f32[a=4] = input\ny = exp(z)\n",
                "syntax: model.mtf:2:9: no line above gives the name \"z\"");
    refuse_text(
        "x: f32[a=4] = input\ny = exp(x\n",
        "syntax: model.mtf:3:1: the text ends before the \"(\" of line 2, column 8 is closed");
    refuse_text("x: f32[a=4] = input\nx = exp(x)\n",
                "syntax: model.mtf:2:1: the name \"x\" is given twice");
    refuse_text(
        "x: f32[a=4] = input\ny = reduce_sum(x, ovr=(a))\n",
        "syntax: model.mtf:2:19: reduce_sum has no attribute \"ovr\"; did you mean \"over\"?");
    refuse_text(
        "x: f32[a=4, a=5] = input\n",
        "syntax: model.mtf:1:13: dimension \"a\" occurs twice in one shape; name one of them "
        "a_out, and rename(y, from=a_out, to=a) what is made with it");
    refuse_text(
        "x: f32[n=2, h=4, w=4] = input\nf: f32[fh=3, fw=3, c=1, o=2] = input\n"
        "y = conv2d(x, f)\n",
        "shape: model.mtf:3:5: conv: \"x\" and \"f\": 4 channels in the "
        "last dimension, \"w\", 2 outputs and 1 groups do not fit a filter of 1 channels and "
        "2 outputs");
    refuse_text("x: f32[n=2, h=4, w=4, c=1] = input\nf: f32[fh=3, fw=3, c=1, o=2] = input\n"
                "y = conv2d(x, f, stride=(2))\n",
                "shape: model.mtf:3:5: conv2d: stride needs a number for each of 2 dimensions: "
                "write stride=(2, 2)");
    refuse_text("x: f32[n=2] = input\ny = layer_norm(x)\n",
                "syntax: model.mtf:2:5: no operation is called \"layer_norm\"; layers belong to "
                "the C interface and to configurations: in text write variables, einsum, ...");
    static const char *const others[][2] = {
        {"sum", "did you mean \"reduce_sum\"?"},
        {"mse", "write reduce_mean(square(a - b))"},
        {"bmm", "products of all kinds are einsum: the result's dimensions say which"},
        {"unsqueeze",
         "it is not needed: operations match dimensions by name, and broadcast the others"},
        {"concatenate", "did you mean \"concat\"?"},
    };
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        char text[100], want[200];
        snprintf(text, sizeof text, "x: f32[n=2] = input\ny = %s(x, x)\n", others[k][0]);
        snprintf(want, sizeof want, "syntax: model.mtf:2:5: no operation is called \"%s\"; %s",
                 others[k][0], others[k][1]);
        refuse_text(text, want);
    }
    refuse_text("x: f99[a=4] = input\n",
                "syntax: model.mtf:1:4: no element type is called \"f99\"; did you mean \"f32\"?");
}

/* ---- shapes ---- */

static void test_wrong_dimension(void **state)
{
    (void)state;
    scene c = scene_open();
    assert_null(mtf_softmax(c.x, (mtf_dim){"c", 4}, NULL));
    close_with(c.s, "shape: softmax: \"x\" [a=4, b=2] has no dimension \"c\"");
    c = scene_open();
    assert_null(mtf_reduce_sum(c.x, mtf_shape(((mtf_dim){"c", 4}))));
    close_with(c.s, "shape: reduce_sum: \"x\" has no dimension \"c\"; it is [a=4, b=2]");
    c = scene_open();
    assert_null(mtf_rename_dimension(c.x, "c", "d"));
    close_with(c.s, "shape: rename_dimension: \"x\" [a=4, b=2] has no dimension \"c\"");
    c = scene_open();
    assert_null(mtf_reshape(c.x, mtf_shape(((mtf_dim){"c", 9}))));
    close_with(c.s, "shape: reshape: \"x\" [a=4, b=2] has 8 elements but the output [c=9] has 9");
    c = scene_open();
    assert_null(mtf_slice(c.x, "a", 3, 2, 1));
    close_with(
        c.s, "shape: slice: 2 elements from 3 in steps of 1 do not fit dimension \"a\" of size 4");
}

static void test_size_disagreement(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *y = mtf_input(c.g, "y", MTF_F32, mtf_shape(((mtf_dim){"a", 5})));
    assert_null(mtf_add(c.x, y));
    close_with(c.s, "shape: add: dimension \"a\" is 4 in \"x\" but 5 in \"y\"");
    c = scene_open();
    y = mtf_input(c.g, "y", MTF_F32, mtf_shape(((mtf_dim){"b", 3})));
    assert_null(mtf_einsum(mtf_shape(a), c.x, y));
    close_with(c.s, "shape: einsum: dimension \"b\" is 2 in \"x\" but 3 in \"y\"");
    c = scene_open();
    assert_null(mtf_einsum(mtf_shape(((mtf_dim){"a", 5})), c.x));
    close_with(c.s, "shape: einsum: dimension \"a\" is 4 in the inputs but 5 in the output");
}

static void test_bad_shapes(void **state)
{
    (void)state;
    scene c = scene_open();
    assert_null(mtf_input(c.g, "y", MTF_F32, mtf_shape(a, b, a)));
    close_with(c.s, "shape: input: dimension \"a\" occurs twice in one shape; names must differ");
    c = scene_open();
    assert_null(mtf_rename_dimension(c.x, "a", "b"));
    close_with(c.s, "shape: rename_dimension: \"x\" [a=4, b=2] has a dimension \"b\" already; give "
                    "\"a\" another name");
    c = scene_open();
    assert_null(mtf_replace_dimensions(c.x, mtf_shape(a), mtf_shape(((mtf_dim){"b", 4}))));
    close_with(c.s, "shape: replace_dimensions: dimension \"b\" occurs twice in one shape; names "
                    "must differ");
    c = scene_open();
    assert_null(mtf_variable(c.g, "w", mtf_shape(((mtf_dim){"c", 0})), NULL));
    close_with(c.s, "shape: variable: dimension \"c\" has size 0; sizes are 1 or more");
    c = scene_open(); /* each is fine, their product is not */
    mtf_tensor *far = mtf_input(c.g, "far", MTF_F32, mtf_shape(((mtf_dim){"p", (int64_t)1 << 40})));
    mtf_tensor *out = mtf_input(c.g, "out", MTF_F32, mtf_shape(((mtf_dim){"q", (int64_t)1 << 40})));
    assert_null(mtf_multiply(far, out));
    close_with(c.s,
               "shape: multiply: with dimension \"q\" of size 1099511627776 the shape has 2^59 "
               "elements or more, which is too many");
}

/* ---- types ---- */

static void test_type_mismatch(void **state)
{
    (void)state;
    scene c = scene_open();
    assert_null(mtf_add(c.x, c.n));
    close_with(c.s, "type: add: \"x\" is f32 but \"n\" is i32: cast one of them");
    c = scene_open();
    assert_null(mtf_sin(c.n));
    close_with(c.s, "type: sin: \"n\" is i32; this operation takes floating types: cast it");
    c = scene_open();
    assert_null(mtf_where(c.x, c.x, c.x));
    close_with(c.s, "type: where: the condition \"x\" is f32; it must be bool");
    c = scene_open();
    assert_null(mtf_gather(c.x, c.x, b));
    close_with(c.s, "type: gather: the indices \"x\" are f32; they must be i32 or i64");
    c = scene_open();
    assert_null(mtf_constant(c.g, 0.5, MTF_I32, mtf_shape()));
    close_with(c.s, "value: constant: i32 takes whole numbers in its range, not 0.5");
}

static void test_no_type_and_no_data(void **state)
{
    (void)state;
    const mtf_dtype none = (mtf_dtype)99;
    scene           c = scene_open();
    assert_null(mtf_input(c.g, "y", none, mtf_shape(a)));
    close_with(c.s, "type: input: no such element type");
    c = scene_open();
    assert_null(mtf_variable(c.g, "w", mtf_shape(a), &(mtf_variable_opts){.type = none}));
    close_with(c.s, "type: variable: no such element type");
    c = scene_open();
    assert_null(mtf_cast(c.x, none));
    close_with(c.s, "type: cast: no such element type");
    c = scene_open();
    assert_null(mtf_constant_data(c.g, NULL, MTF_F32, mtf_shape(a)));
    close_with(c.s, "usage: constant: no data are given");
}

static void test_gradient_of_an_integer(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *dx;
    mtf_gradients(1, &c.n, 1, &c.x, NULL, &dx);
    assert_null(dx);
    close_with(c.s, "gradient: \"n\" is i32; only floating tensors have gradients");
}

/* ---- state ---- */

static void test_assignments(void **state)
{
    (void)state;
    scene c = scene_open();
    assert_null(mtf_assign(c.x, c.x));
    close_with(c.s, "usage: assign: \"x\" is not a variable but comes from input");
    c = scene_open();
    assert_null(mtf_assign(mtf_variable(c.g, "w", mtf_shape(a), NULL), c.x));
    close_with(c.s, "shape: assign: variable \"w\" is [a=4] but the value \"x\" is [a=4, b=2]");
    c = scene_open();
    assert_null(mtf_assign(mtf_variable(c.g, "w", mtf_shape(a), NULL), c.n));
    close_with(c.s, "type: assign: \"w\" is f32 but \"n\" is i32: cast one of them");
    c = scene_open();
    assert_null(mtf_read_variable(c.x));
    close_with(c.s, "usage: read: \"x\" is not a variable but comes from input");
    c = scene_open();
    float values[8];
    assert_false(mtf_variable_get(c.x, values));
    close_with(c.s, "usage: \"x\" is not a variable");
    c = scene_open();
    assert_null(mtf_variable(c.g, "w", mtf_shape(a), &(mtf_variable_opts){.init = "normal(0)"}));
    assert_contains(mtf_error(c.s),
                    "value: variable: \"normal(0)\" is not an initialiser; write one of zeros, ");
    assert_int_equal(mtf_close(c.s), 1);
}

/* bool is not a number: nothing is added to it, and its initial values are not multiplied. */
static void test_bool_variables(void **state)
{
    (void)state;
    static const char head[] = "w: bool[a=2] = variable(init=\"zeros\")\n"
                               "x: bool[a=2] = constant(value=true)\n";
    for (int k = 0; k < 2; k++) {
        char        text[200], sentence[200];
        const char *mode = k == 0 ? "add" : "sub";
        snprintf(text, sizeof text, "%sn = assign(w, x, mode=%s)\n", head, mode);
        snprintf(sentence, sizeof sentence,
                 "type: model.mtf:3:5: assign: variable \"w\" is bool, and mode %s is for numbers: "
                 "use set, or make the variable i32",
                 mode);
        refuse_text(text, sentence);
    }
    refuse_text("w: bool[a=2] = variable(init=\"normal_each(1, 2)\")\n",
                "type: model.mtf:1:16: variable: normal_each multiplies, and the variable is bool; "
                "give it zeros, ones or constant(v)");
}

/* ---- running ---- */

static void test_feeding_and_fetching(void **state)
{
    (void)state;
    float        values[8] = {0};
    scene        c = scene_open();
    mtf_tensor  *y = mtf_exp(c.x);
    mtf_program *p = mtf_compile(c.g, y);
    assert_false(mtf_step(p));
    assert_false(mtf_fetch(p, y, values));
    close_with(c.s, "usage: input \"x\" f32[a=4, b=2] was not fed");
    c = scene_open();
    y = mtf_name(mtf_exp(c.x), "y");
    p = mtf_compile(c.g, y);
    assert_false(mtf_feed(p, y, values));
    close_with(c.s, "usage: \"y\" is not an input of this program");
    c = scene_open();
    p = mtf_compile(c.g, mtf_exp(c.x));
    mtf_tensor *z = mtf_name(mtf_sin(c.x), "z");
    assert_true(mtf_feed(p, c.x, values) && mtf_step(p));
    assert_false(mtf_fetch(p, z, values));
    close_with(c.s, "usage: \"z\" was not among the tensors that the program was compiled for");
    c = scene_open();
    y = mtf_name(mtf_exp(c.x), "y");
    p = mtf_compile(c.g, y);
    assert_true(mtf_feed(p, c.x, values) && mtf_step(p));
    assert_true(mtf_fetch_scalar(p, y) == 0);
    close_with(c.s, "shape: \"y\" is not a scalar");
}

static void test_freed_program(void **state)
{
    (void)state;
    scene        c = scene_open();
    mtf_program *p = mtf_compile(c.g, c.x);
    mtf_program_free(p);
    assert_false(mtf_step(p));
    assert_null(mtf_program_print(p));
    mtf_program_free(p);
    close_well(c.s);
}

static void test_unknown_device(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "cup"});
    mtf_graph   *g = mtf_graph_new(s);
    assert_null(mtf_compile(g, mtf_ones(g, MTF_F32, mtf_shape(a))));
    close_with(s, "usage: no device is called \"cup\"; there are cpu, cuda, check and check:cuda; "
                  "did you mean \"cpu\"?");
}

/* NaN in the middle of a run, under the device that looks for it. */
static void test_first_nan(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.device = "check", .threads = 2});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape(a));
    mtf_tensor  *y = mtf_exp(mtf_name(mtf_sqrt(mtf_name(mtf_add_scalar(x, 1), "moved")), "root"));
    mtf_program *p = mtf_compile(g, y);
    assert_true(mtf_feed(p, x, (float[]){1, 2, -3, 4}));
    assert_false(mtf_step(p));
    close_with(s, "value: instruction 1 (map) made the first NaN, in \"root\", in step 1");
}

/* ---- options ---- */

static void hear(void *context, const char *text)
{
    strncat(context, text, 999 - strlen(context));
}

/* What nobody read is known at the end only, so it is heard, not asked for. */
static void refuse_options(int argc, const char **argv, const char *sentence)
{
    mtf_session *s = mtf_open(argc, (char **)argv);
    char         heard[1000] = "", line[1000];
    assert_non_null(s);
    s->opts.say = hear; /* in place of stderr */
    s->opts.say_context = heard;
    mtf_option(s, "epochs", "4");
    mtf_option(s, "depth", "1");
    assert_int_equal(mtf_close(s), 1);
    snprintf(line, sizeof line, "mtf: %s\n", sentence);
    assert_string_equal(heard, line);
}

#define OPTIONS(sentence, ...)                                                                     \
    refuse_options((int)(sizeof((const char *[]){"test", __VA_ARGS__}) / sizeof(const char *)),    \
                   (const char *[]){"test", __VA_ARGS__, NULL}, sentence)

static void test_options(void **state)
{
    (void)state;
    OPTIONS("usage: unknown option --epoch; did you mean \"epochs\"?", "--epoch", "3",
            "--epochs=3");
    OPTIONS("usage: unknown option --sede; did you mean \"seed\"?", "--sede", "3");
    OPTIONS("usage: unknown option --frobnicate", "--frobnicate");
    OPTIONS("usage: unknown option --dept; did you mean \"depth\"?", "--dept", "3");
    OPTIONS("usage: this program's options are --seed, --threads, --memory, --patience, --device, "
            "--mesh, --layout, --state-layout, --machine, --tf32, --epochs, --depth",
            "--help");
    OPTIONS("usage: \"epochs\" is not an option; options start with --", "epochs");
    OPTIONS("usage: --seed takes a whole number, not \"x\"", "--seed", "x");
    OPTIONS("usage: --seed takes a whole number, not \"-1\"", "--seed", "-1");
    OPTIONS("usage: --threads takes a number from 1 to 1024", "--threads", "0");
    OPTIONS("usage: --memory takes a whole number, not \"\"", "--memory");
}

static void test_sound_options(void **state)
{
    (void)state;
    const char  *argv[] = {"test",     "--seed=3", "--threads", "2",  "--epochs=7",
                           "--device", "check",    "--memory",  "100"};
    mtf_session *s = mtf_open(9, (char **)argv);
    assert_string_equal(mtf_option(s, "epochs", "4"), "7");
    assert_string_equal(mtf_option(s, "rate", "0.5"), "0.5");
    close_well(s);
}

/* Before a network is trained for hours. */
static void test_the_first_step_refuses_options(void **state)
{
    (void)state;
    mtf_session *s = mtf_open(3, (char *[]){"test", "--epcohs", "3"});
    mtf_option(s, "epochs", "4");
    s->opts.say = NULL;
    mtf_graph   *g = mtf_graph_new(s);
    mtf_program *p = mtf_compile(g, mtf_ones(g, MTF_F32, mtf_shape()));
    assert_true(mtf_ok(s));
    assert_false(mtf_step(p));
    assert_string_equal(mtf_error(s), "usage: unknown option --epcohs; did you mean \"epochs\"?");
    mtf_close(s);
}

/* Before a graph is built or data are read. */
static void test_layouts_are_read_at_once(void **state)
{
    (void)state;
    const mtf_rule         bad[] = {{.dim = "batch", .axes = {"cols"}}, {0}};
    const mtf_session_opts wrong[] = {
        {.mesh = "x:2", .layout = "batch:y"},
        {.mesh = "x:2", .layout = "batch"},
        {.mesh = "x:2", .state_layout = "batch:y"},
        {.mesh = "x:0"},
        {.mesh = "x:2,x:2"},
        {.mesh_shape = mtf_shape((mtf_dim){"rows", 2}), .rules = bad},
        {.mesh_shape = mtf_shape((mtf_dim){"rows", 2}), .state_rules = bad},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        mtf_session *s = mtf_open_with(&wrong[k]);
        assert_false(mtf_ok(s));
        mtf_close(s);
    }
    char        *argv[] = {"test", "--mesh", "x:2", "--layout", "batch:y"};
    mtf_session *s = mtf_open(5, argv);
    assert_non_null(strstr(mtf_error(s), "the mesh has no axis \"y\""));
    mtf_close(s);
    s = mtf_open_with(&(mtf_session_opts){.mesh = "auto:4", .layout = "batch:mesh_0,auto"});
    assert_true(mtf_ok(s));
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_operation),
        cmocka_unit_test(test_text_places),
        cmocka_unit_test(test_wrong_dimension),
        cmocka_unit_test(test_size_disagreement),
        cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_type_mismatch),
        cmocka_unit_test(test_no_type_and_no_data),
        cmocka_unit_test(test_gradient_of_an_integer),
        cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_feeding_and_fetching),
        cmocka_unit_test(test_bool_variables),
        cmocka_unit_test(test_freed_program),
        cmocka_unit_test(test_unknown_device),
        cmocka_unit_test(test_first_nan),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_sound_options),
        cmocka_unit_test(test_the_first_step_refuses_options),
        cmocka_unit_test(test_layouts_are_read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
