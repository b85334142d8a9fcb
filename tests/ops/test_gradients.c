/* Tests gradients through the public functions, against closed forms. */
#include "graph/node.h"
#include "ground.h"
#include "ops/tape.h"

enum { N = 3 };

static const mtf_dim n = {"n", N};
static const double  points[N] = {0.3, 0.7, 1.1};

/* A graph with x at the points. */
typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *x;
} scene;

static scene scene_open(void)
{
    scene c = {.s = open_two_threads()};
    c.g = mtf_graph_new(c.s);
    c.x = mtf_constant_data(c.g, points, MTF_F64, mtf_shape(n));
    return c;
}

static mtf_tensor *derivative(mtf_tensor *y, mtf_tensor *x)
{
    mtf_tensor *dx;
    mtf_gradients(1, &y, 1, &x, NULL, &dx);
    return dx;
}

static void assert_values(mtf_graph *g, mtf_tensor *y, const double want[N], double relative)
{
    double got[N] = {NAN, NAN, NAN};
    evaluate(g, y, got);
    for (int i = 0; i < N; i++) assert_near(got[i], want[i], relative);
}

/* ---- what reaches what ---- */

static void test_unreached(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *z = mtf_constant_data(c.g, points, MTF_F64, mtf_shape(n));
    mtf_tensor *y = mtf_sin(c.x), *xs[] = {c.x, z}, *dxs[2];
    mtf_gradients(1, &y, 2, xs, NULL, dxs);
    assert_non_null(dxs[0]);
    assert_null(dxs[1]);
    assert_null(derivative(mtf_stop_gradient(y), c.x));
    assert_null(derivative(mtf_floor(c.x), c.x));                            /* flat */
    assert_null(derivative(mtf_cast(mtf_cast(c.x, MTF_I32), MTF_F64), c.x)); /* through integers */
    assert_non_null(derivative(c.x, c.x));
    assert_null(derivative(z, c.x));
    close_well(c.s);
}

/* ---- a gradient of another shape ---- */

static bool infer_other(node *from)
{
    mtf_shape other = mtf_shape(((mtf_dim){"m", N}));
    return node_output(from, from->in[0]->type, &other);
}

/* Neither a sum nor a broadcast of what x needs: it forgets to rename. */
static void grad_other(tape *t, const node *from, mtf_tensor *const *dy)
{
    tape_give(t, from->in[0], dy[0]);
}

static void test_gradient_of_another_shape(void **state)
{
    (void)state;
    static const op renaming = {
        .name = "renaming", .args = "x", .infer = infer_other, .grad = grad_other};
    scene c = scene_open();
    mtf_name(c.x, "x");
    assert_null(derivative(node_unary(&renaming, c.x, NULL), c.x));
    assert_string_equal(mtf_error(c.s), "internal: the gradient of \"x\" [n=3] came out as [m=3]");
    mtf_close(c.s);
}

static void test_given_gradients(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *w = mtf_constant_data(c.g, (double[]){2, -1, 0.5}, MTF_F64, mtf_shape(n)), *dx;
    mtf_tensor *ys[] = {mtf_square(c.x), mtf_sin(c.x)};
    mtf_gradients(1, ys, 1, &c.x, &w, &dx);
    assert_values(c.g, dx, (double[]){2 * 0.6, -1.4, 0.5 * 2.2}, 1e-15);
    mtf_gradients(2, ys, 1, &c.x, NULL, &dx);
    assert_values(c.g, dx, (double[]){0.6 + cos(0.3), 1.4 + cos(0.7), 2.2 + cos(1.1)}, 1e-15);
    mtf_gradients(2, ys, 1, &c.x, (mtf_tensor *[]){w, NULL}, &dx); /* NULL stands for ones */
    assert_values(c.g, dx, (double[]){1.2 + cos(0.3), -1.4 + cos(0.7), 1.1 + cos(1.1)}, 1e-15);
    close_well(c.s);
}

/* An x that is used along several ways, and one that is itself a result. */
static void test_several_ways(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *h = mtf_square(c.x), *y = mtf_multiply(h, mtf_add(h, c.x)), *xs[] = {h, c.x},
               *dxs[2];
    double by_h[N], by_x[N]; /* y = h (h + x): through h, and through everything */
    for (int i = 0; i < N; i++) {
        double x = points[i];
        by_h[i] = 2 * x * x + x;
        by_x[i] = 4 * x * x * x + 3 * x * x;
    }
    mtf_gradients(1, &y, 2, xs, NULL, dxs);
    assert_values(c.g, dxs[0], by_h, 1e-15);
    assert_values(c.g, dxs[1], by_x, 1e-15);
    close_well(c.s);
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *i = mtf_name(mtf_range(c.g, n, MTF_I32), "i");
    assert_null(derivative(i, c.x));
    close_with(c.s, "gradient: \"i\" is i32; only floating tensors have gradients");
    c = scene_open();
    i = mtf_name(mtf_range(c.g, n, MTF_I32), "i");
    assert_null(derivative(mtf_sin(c.x), i));
    close_with(c.s, "gradient: \"i\" is i32; only floating tensors have gradients");
    c = scene_open();
    mtf_tensor *y = mtf_name(mtf_sin(c.x), "y"), *dx;
    mtf_tensor *dy = mtf_name(mtf_zeros(c.g, MTF_F64, mtf_shape()), "dy");
    mtf_gradients(1, &y, 1, &c.x, &dy, &dx);
    assert_null(dx);
    close_with(c.s, "gradient: the gradient \"dy\" of \"y\" has another shape");
}

/* ---- higher derivatives ---- */

typedef struct smooth {
    const char *name;
    mtf_tensor *(*f)(mtf_tensor *);
    void (*derivatives)(double x, double d[3]);
} smooth;

static void of_exp(double x, double d[3])
{
    d[0] = d[1] = d[2] = exp(x);
}

static void of_log(double x, double d[3])
{
    d[0] = 1 / x, d[1] = -1 / (x * x), d[2] = 2 / (x * x * x);
}

static void of_sin(double x, double d[3])
{
    d[0] = cos(x), d[1] = -sin(x), d[2] = -cos(x);
}

static void of_tanh(double x, double d[3])
{
    double t = tanh(x), s = 1 - t * t;
    d[0] = s, d[1] = -2 * t * s, d[2] = s * (6 * t * t - 2);
}

static void of_erf(double x, double d[3])
{
    double g = 2 / sqrt(acos(-1)) * exp(-x * x);
    d[0] = g, d[1] = -2 * x * g, d[2] = (4 * x * x - 2) * g;
}

static void of_sqrt(double x, double d[3])
{
    d[0] = 0.5 / sqrt(x), d[1] = -0.25 * pow(x, -1.5), d[2] = 0.375 * pow(x, -2.5);
}

static void of_reciprocal(double x, double d[3])
{
    d[0] = -1 / (x * x), d[1] = 2 / (x * x * x), d[2] = -6 / (x * x * x * x);
}

static void of_sigmoid(double x, double d[3])
{
    double s = 1 / (1 + exp(-x)), t = s * (1 - s);
    d[0] = t, d[1] = t * (1 - 2 * s), d[2] = t * (1 - 6 * s + 6 * s * s);
}

static void of_softplus(double x, double d[3])
{
    double s = 1 / (1 + exp(-x)), t = s * (1 - s);
    d[0] = s, d[1] = t, d[2] = t * (1 - 2 * s);
}

static mtf_tensor *fourth_power(mtf_tensor *x)
{
    return mtf_square(mtf_square(x));
}

static void of_fourth_power(double x, double d[3])
{
    d[0] = 4 * x * x * x, d[1] = 12 * x * x, d[2] = 24 * x;
}

static mtf_tensor *quotient(mtf_tensor *x)
{
    return mtf_divide(mtf_cos(x), x);
}

static void of_quotient(double x, double d[3])
{
    double s = sin(x), c = cos(x);
    d[0] = -s / x - c / (x * x);
    d[1] = -c / x + 2 * s / (x * x) + 2 * c / (x * x * x);
    d[2] = s / x + 3 * c / (x * x) - 6 * s / (x * x * x) - 6 * c / (x * x * x * x);
}

static const smooth smooths[] = {
    {"exp", mtf_exp, of_exp},
    {"log", mtf_log, of_log},
    {"sin", mtf_sin, of_sin},
    {"tanh", mtf_tanh, of_tanh},
    {"erf", mtf_erf, of_erf},
    {"sqrt", mtf_sqrt, of_sqrt},
    {"reciprocal", mtf_reciprocal, of_reciprocal},
    {"sigmoid", mtf_sigmoid, of_sigmoid},
    {"softplus", mtf_softplus, of_softplus},
    {"x^4", fourth_power, of_fourth_power},
    {"cos(x) / x", quotient, of_quotient},
};

static void test_three_derivatives(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof smooths / sizeof *smooths; k++) {
        scene       c = scene_open();
        double      want[3][N];
        mtf_tensor *y = smooths[k].f(c.x);
        for (int i = 0; i < N; i++) {
            double d[3];
            smooths[k].derivatives(points[i], d);
            for (int order = 0; order < 3; order++) want[order][i] = d[order];
        }
        for (int order = 0; order < 3; order++) {
            y = derivative(y, c.x);
            if (!y) fail_msg("%s has no derivative %d", smooths[k].name, order + 1);
            assert_values(c.g, y, want[order], 1e-12);
        }
        close_well(c.s);
    }
}

/* f = x A x: the gradient of (gradient of f times v) is (A + its transpose) v. */
static void test_hessian_times_vector(void **state)
{
    (void)state;
    scene               c = scene_open();
    static const double a[N][N] = {{1, 2, 3}, {-1, 0.5, 4}, {2, -3, 1}}, v[N] = {1, -2, 0.5};
    mtf_dim             m = {"m", N};
    mtf_tensor         *at = mtf_constant_data(c.g, a, MTF_F64, mtf_shape(n, m));
    mtf_tensor         *vt = mtf_constant_data(c.g, v, MTF_F64, mtf_shape(n));
    mtf_tensor         *f = mtf_einsum(mtf_shape(), c.x, at, mtf_rename_dimension(c.x, "n", "m"));
    mtf_tensor         *hv = derivative(mtf_einsum(mtf_shape(), derivative(f, c.x), vt), c.x);
    double              want[N] = {0};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) want[i] += (a[i][j] + a[j][i]) * v[j];
    assert_values(c.g, hv, want, 1e-14);
    close_well(c.s);
}

/* ---- loops ---- */

/* s <- s w, with the iteration t: what is summed is t s w. */
static void power_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    out[0] = mtf_multiply(in[0], (mtf_tensor *)context);
    out[1] = mtf_multiply(out[0], mtf_cast(mtf_iteration(g), MTF_F64));
}

static void test_loop_with_captures_and_sums(void **state)
{
    (void)state;
    scene               c = scene_open();
    mtf_tensor         *w = mtf_constant_data(c.g, (double[]){1.5, 0.5, 2}, MTF_F64, mtf_shape(n));
    mtf_tensor         *out[2], *xs[] = {c.x, w}, *dxs[2];
    mtf_loop_opts       loop = {.trips = 4, .body = power_body, .context = w, .sums = 1};
    double              y[N], total[N], by_x[N], by_w[N];
    static const double ws[N] = {1.5, 0.5, 2};
    for (int i = 0; i < N; i++) { /* y = x w^4, total = sum over t of t x w^(t + 1) */
        double x = points[i], u = ws[i];
        y[i] = x * pow(u, 4);
        total[i] = x * (u * u + 2 * u * u * u + 3 * u * u * u * u);
        by_x[i] = (y[i] + total[i]) / x;
        by_w[i] = x * (4 * u * u * u + 2 * u + 6 * u * u + 12 * u * u * u);
    }
    mtf_while_loop(c.g, 1, &c.x, out, &loop);
    assert_values(c.g, out[0], y, 1e-14);
    assert_values(c.g, out[1], total, 1e-14);
    mtf_gradients(2, out, 2, xs, NULL, dxs);
    assert_values(c.g, dxs[0], by_x, 1e-14);
    assert_values(c.g, dxs[1], by_w, 1e-14);
    for (int i = 0; i < N; i++) { /* and again by w */
        double x = points[i], u = ws[i];
        by_w[i] = x * (12 * u * u + 2 + 12 * u + 36 * u * u);
    }
    assert_values(c.g, derivative(dxs[1], w), by_w, 1e-13);
    close_well(c.s);
}

static void square_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_square(in[0]);
}

/* Three squarings are the eighth power, three times differentiable. */
static void test_loop_three_derivatives(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *y;
    double      want[N];
    mtf_while_loop(c.g, 1, &c.x, &y, &(mtf_loop_opts){.trips = 3, .body = square_body});
    for (int order = 1, factor = 8; order <= 3; factor *= 8 - order++) {
        y = derivative(y, c.x);
        for (int i = 0; i < N; i++) want[i] = factor * pow(points[i], 8 - order);
        assert_values(c.g, y, want, 1e-12);
    }
    close_well(c.s);
}

static void inner_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g;
    out[0] = mtf_multiply(in[0], (mtf_tensor *)context);
}

static void outer_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    mtf_while_loop(g, 1, in, out,
                   &(mtf_loop_opts){.trips = 3, .body = inner_body, .context = context});
    out[0] = mtf_sin(out[0]);
}

/* Twice: three times w, then the sine. */
static void test_nested_loops(void **state)
{
    (void)state;
    scene         c = scene_open();
    mtf_tensor   *w = mtf_constant_data(c.g, (double[]){1.1, 0.9, 0.7}, MTF_F64, mtf_shape(n));
    mtf_tensor   *y, *xs[] = {c.x, w}, *dxs[2];
    mtf_loop_opts loop = {.trips = 2, .body = outer_body, .context = w};
    static const double ws[N] = {1.1, 0.9, 0.7};
    double              value[N], by_x[N], by_w[N];
    for (int i = 0; i < N; i++) {
        double u = ws[i], cube = u * u * u, first = points[i] * cube, second = sin(first) * cube;
        value[i] = sin(second);
        by_x[i] = cos(second) * cube * cos(first) * cube;
        by_w[i] =
            cos(second) * (3 * u * u * sin(first) + cube * cos(first) * points[i] * 3 * u * u);
    }
    mtf_while_loop(c.g, 1, &c.x, &y, &loop);
    assert_values(c.g, y, value, 1e-14);
    mtf_gradients(1, &y, 2, xs, NULL, dxs);
    assert_values(c.g, dxs[0], by_x, 1e-14);
    assert_values(c.g, dxs[1], by_w, 1e-14);
    close_well(c.s);
}

enum { MANY = 50 };

static void shift_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    for (int i = 0; i < MANY; i++) out[i] = mtf_scale(in[(i + 1) % MANY], 2);
}

/* Fifty values change places, doubled: after three iterations value i is 8 times value i + 3. */
static void test_many_carried(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *in[MANY], *out[MANY], *dxs[MANY];
    for (int i = 0; i < MANY; i++) in[i] = mtf_scale(c.x, i);
    mtf_while_loop(c.g, MANY, in, out, &(mtf_loop_opts){.trips = 3, .body = shift_body});
    mtf_gradients(1, &out[MANY - 4], MANY, in, NULL, dxs);
    assert_values(c.g, dxs[MANY - 1], (double[]){8, 8, 8}, 0);
    assert_values(c.g, dxs[0], (double[]){0, 0, 0}, 0);
    close_well(c.s);
}

static void small_sum(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)context;
    mtf_tensor *limit = mtf_constant(g, 100, MTF_F64, mtf_shape());
    out[0] = mtf_less(mtf_reduce_sum(in[0], MTF_ALL), limit);
}

static void double_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_scale(in[0], 2);
}

static void test_no_gradient_through_while(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *y;
    mtf_while_loop(c.g, 1, &c.x, &y, &(mtf_loop_opts){.condition = small_sum, .body = double_body});
    assert_values(c.g, y, (double[]){0.3 * 64, 0.7 * 64, 1.1 * 64}, 0);
    assert_null(derivative(y, c.x));
    close_with(
        c.s,
        "gradient: while: no gradient flows through a while loop, whose number of iterations is "
        "not fixed; use loop with trips");
}

/* ---- recomputing ---- */

static void layer_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_tanh(mtf_sin(mtf_exp(mtf_scale(in[0], 0.5))));
}

/* The gradient of eight layers and the memory it takes. */
static int64_t eight_layers(bool again, int64_t size, float *gradient)
{
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_dim      d = {"d", size};
    mtf_tensor  *x = mtf_scale(mtf_range(g, d, MTF_F32), 1.0 / (double)size), *h = x;
    for (int i = 0; i < 8; i++) {
        mtf_tensor *in = h;
        if (again)
            mtf_recompute(g, 1, &in, 1, &h, layer_body, NULL);
        else
            layer_body(g, NULL, &in, &h);
    }
    mtf_tensor  *dx = derivative(h, x);
    mtf_program *p = mtf_compile(g, dx);
    int64_t      peak = mtf_program_cost(p).peak_bytes;
    assert_true(mtf_step(p) && mtf_fetch(p, dx, gradient));
    close_well(s);
    return peak;
}

static void test_recompute_saves_memory(void **state)
{
    (void)state;
    enum { SIZE = 65536 };
    float  *kept = malloc(sizeof(float) * SIZE), *again = malloc(sizeof(float) * SIZE);
    int64_t all = eight_layers(false, SIZE, kept), less = eight_layers(true, SIZE, again);
    /* Several values a layer against one, and those of the layer at work. */
    if (less * 4 > all * 3)
        fail_msg("recomputing takes %lld bytes of %lld", (long long)less, (long long)all);
    assert_memory_equal(kept, again, sizeof(float) * SIZE);
    free(kept);
    free(again);
}

static void dropout_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_square(mtf_dropout(in[0], 0.5, mtf_shape()));
}

static void test_dropout_is_the_same_again(void **state)
{
    (void)state;
    enum { SIZE = 1000 };
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_ones(g, MTF_F32, mtf_shape(((mtf_dim){"d", SIZE}))), *y;
    mtf_recompute(g, 1, &x, 1, &y, dropout_body, NULL);
    mtf_tensor  *dx = derivative(y, x);
    mtf_program *p = mtf_compile(g, y, dx);
    for (int step = 0; step < 3; step++) {
        float value[SIZE], slope[SIZE];
        int   kept = 0;
        assert_true(mtf_step(p) && mtf_fetch(p, y, value) && mtf_fetch(p, dx, slope));
        for (int i = 0; i < SIZE; i++) { /* (2 x)^2, whose slope is 8 x */
            assert_true(value[i] == 0 || value[i] == 4);
            assert_true(slope[i] == 2 * value[i]);
            kept += value[i] != 0;
        }
        assert_in_range(kept, 420, 580);
    }
    close_well(s);
}

/* ---- a gradient of one's own ---- */

static void sign_forward(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_sign(in[0]);
    out[1] = mtf_multiply(in[0], in[1]);
}

/* in: two inputs, two outputs, two gradients of outputs. */
static void sign_backward(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g, (void)context;
    out[0] = mtf_add(mtf_scale(in[4], 3), in[5]);
    out[1] = mtf_multiply(in[3], in[5]);
}

static void test_custom_gradient(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *w = mtf_constant_data(c.g, (double[]){2, -1, 4}, MTF_F64, mtf_shape(n));
    mtf_tensor *in[] = {c.x, w}, *out[2], *dxs[2];
    mtf_custom_gradient(c.g, 2, in, 2, out, sign_forward, sign_backward, NULL);
    assert_values(c.g, out[0], (double[]){1, 1, 1}, 0);
    assert_values(c.g, out[1], (double[]){0.6, -0.7, 4.4}, 1e-15);
    mtf_gradients(2, out, 2, in, NULL, dxs);
    assert_values(c.g, dxs[0], (double[]){4, 4, 4}, 0);
    assert_values(c.g, dxs[1], (double[]){0.6, -0.7, 4.4}, 1e-15);
    mtf_gradients(1, out, 2, in, NULL, dxs); /* the other output's gradient is zero then */
    assert_values(c.g, dxs[0], (double[]){3, 3, 3}, 0);
    assert_values(c.g, dxs[1], (double[]){0, 0, 0}, 0);
    close_well(c.s);
}

/* ---- random numbers ---- */

enum { DRAWS = 1000, STEPS = 2, OPS = 2 };

typedef struct draws {
    float v[STEPS][OPS][DRAWS];
} draws;

static void draw(uint64_t seed, draws *d)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.seed = seed, .threads = 2});
    mtf_graph   *g = mtf_graph_new(s);
    mtf_shape    shape = mtf_shape(((mtf_dim){"d", DRAWS}));
    mtf_tensor  *x = mtf_random_uniform(g, MTF_F32, shape, 0, 1),
               *y = mtf_random_uniform(g, MTF_F32, shape, 0, 1);
    mtf_program *p = mtf_compile(g, x, y);
    for (int step = 0; step < STEPS; step++)
        assert_true(mtf_step(p) && mtf_fetch(p, x, d->v[step][0]) &&
                    mtf_fetch(p, y, d->v[step][1]));
    close_well(s);
}

/* Correlation of independent uniform numbers: of the size of one over the root of their number. */
static void assert_unrelated(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < DRAWS; i++) sum += ((double)a[i] - 0.5) * ((double)b[i] - 0.5);
    if (fabs(sum / DRAWS * 12) > 0.15) fail_msg("correlation %g", sum / DRAWS * 12);
}

static void test_random_streams(void **state)
{
    (void)state;
    static draws d[3];
    draw(7, &d[0]);
    draw(7, &d[1]);
    draw(8, &d[2]);
    assert_memory_equal(&d[0], &d[1], sizeof(draws));
    const float *all[] = {d[0].v[0][0], d[0].v[0][1], d[0].v[1][0],
                          d[0].v[1][1], d[2].v[0][0], d[2].v[0][1]};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++) assert_unrelated(all[i], all[j]); /* by op, by step, by seed */
}

static void random_body(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)context;
    out[0] = mtf_random_uniform(g, MTF_F64, mtf_shape(n), 0, 1);
    out[1] = mtf_multiply(in[0], out[0]);
}

/* Other numbers in every iteration, and the same ones in the backward loop: y = sum of s u, where s is
 * x, then the number of the iteration before. */
static void test_random_in_loops(void **state)
{
    (void)state;
    scene       c = scene_open();
    mtf_tensor *out[2], *twice[2], *dx;
    mtf_while_loop(c.g, 1, &c.x, out, &(mtf_loop_opts){.trips = 1, .body = random_body, .sums = 1});
    mtf_gradients(1, out + 1, 1, &c.x, NULL, &dx);
    double       u[N], slope[N], last[N], total[N];
    mtf_program *p = mtf_compile(c.g, out[0], dx);
    assert_true(mtf_step(p) && mtf_fetch(p, out[0], u) && mtf_fetch(p, dx, slope));
    assert_memory_equal(u, slope, sizeof u);
    mtf_while_loop(c.g, 1, &c.x, twice,
                   &(mtf_loop_opts){.trips = 2, .body = random_body, .sums = 1});
    p = mtf_compile(c.g, twice[0], twice[1]);
    assert_true(mtf_step(p) && mtf_fetch(p, twice[0], last) && mtf_fetch(p, twice[1], total));
    for (int i = 0; i < N; i++) {
        double first = total[i] / (points[i] + last[i]); /* total = x u + u v, with v the last */
        assert_true(first > 0 && first < 1 && first != last[i]);
    }
    close_well(c.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unreached),
        cmocka_unit_test(test_gradient_of_another_shape),
        cmocka_unit_test(test_given_gradients),
        cmocka_unit_test(test_several_ways),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_three_derivatives),
        cmocka_unit_test(test_hessian_times_vector),
        cmocka_unit_test(test_loop_with_captures_and_sums),
        cmocka_unit_test(test_loop_three_derivatives),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_many_carried),
        cmocka_unit_test(test_no_gradient_through_while),
        cmocka_unit_test(test_recompute_saves_memory),
        cmocka_unit_test(test_dropout_is_the_same_again),
        cmocka_unit_test(test_custom_gradient),
        cmocka_unit_test(test_random_streams),
        cmocka_unit_test(test_random_in_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
