/* Tests that the check device finds labels out of range. */
#include "mtf_nn.h"

#include "ground.h"

static const mtf_dim batch = {"batch", 4}, classes = {"classes", 3}, in = {"in", 2};

typedef struct net {
    mtf_session *s;
    mtf_graph   *g;
    mtf_tensor  *labels, *logits, *loss;
} net;

static net open_net(const char *device, const char *mesh, const char *layout, mtf_dtype type)
{
    net n = {
        .s = mtf_open_with(&(mtf_session_opts){.device = device, .mesh = mesh, .layout = layout})};
    n.g = mtf_graph_new(n.s);
    n.labels = mtf_input(n.g, "labels", type, mtf_shape(batch));
    n.logits = mtf_variable(n.g, "logits", mtf_shape(batch, classes), NULL);
    return n;
}

/* Runs the loss on labels, of which the third is this one. */
static void run_with(net *n, int64_t label)
{
    mtf_program *p = mtf_compile(n->g, n->loss);
    int64_t      wide[4] = {0, 2, label, 1};
    int32_t      narrow[4] = {0, 2, (int32_t)label, 1};
    bool         is_wide = mtf_dtype_of_tensor(n->labels) == MTF_I64;
    mtf_feed(p, n->labels, is_wide ? (const void *)wide : narrow);
    mtf_step(p);
}

static void found(net n, int64_t label, const char *sentence)
{
    run_with(&n, label);
    if (sentence)
        close_with(n.s, sentence);
    else
        close_well(n.s);
}

static net entropy(const char *device, const char *mesh, const char *layout, mtf_dtype type)
{
    net n = open_net(device, mesh, layout, type);
    n.loss = mtf_reduce_mean(mtf_softmax_cross_entropy(n.logits, n.labels, classes), MTF_ALL);
    return n;
}

static void cross_entropy(void **state)
{
    (void)state;
    static const char high[] = "value: the input \"labels\" is 3 at batch=2, but counts along "
                               "\"classes\", whose positions are 0 to 2";
    found(entropy("check", NULL, NULL, MTF_I32), 2, NULL);
    found(entropy("check", NULL, NULL, MTF_I32), 3, high);
    found(entropy("check", NULL, NULL, MTF_I64), 3, high);
    found(entropy("cpu", NULL, NULL, MTF_I32), 3, NULL); /* there it is a row of zeros */
    net n = entropy("check", NULL, NULL, MTF_I64);
    run_with(&n, ((int64_t)1 << 32) + 1);
    assert_contains(mtf_error(n.s), "is 4294967297 at batch=2");
    mtf_close(n.s);
    n = entropy("check", NULL, NULL, MTF_I32);
    run_with(&n, -1);
    assert_contains(mtf_error(n.s), "is -1 at batch=2");
    mtf_close(n.s);
    n = entropy("check", "x:2", "batch:x", MTF_I32);
    run_with(&n, 3);
    assert_contains(
        mtf_error(n.s),
        "processor x=1: the input \"labels\" is 3 at batch=0 of its part, but counts along");
    mtf_close(n.s);
    n = entropy("check", "x:3", "classes:x", MTF_I32); /* whole positions, whatever part is here */
    run_with(&n, 2);
    close_well(n.s);
}

/* By way of other forms, and the smaller of two dimensions counts. */
static void forms(void **state)
{
    (void)state;
    net         n = open_net("check", NULL, NULL, MTF_I64);
    mtf_dim     two = {"two", 2}, rest = {"rest", 2}, large = {"large", 50};
    mtf_tensor *index = mtf_reshape(mtf_cast(n.labels, MTF_I32), mtf_shape(two, rest));
    mtf_tensor *table = mtf_variable(n.g, "table", mtf_shape(large, in), NULL);
    n.loss = mtf_add(mtf_reduce_sum(mtf_gather(table, index, large), MTF_ALL),
                     mtf_reduce_sum(mtf_one_hot(n.labels, classes), MTF_ALL));
    run_with(&n, 4);
    assert_contains(mtf_error(n.s), "is 4 at batch=2, but counts along \"classes\"");
    mtf_close(n.s);
}

/* What is computed may leave the range on purpose, such as labels that are masked. */
static void computed(void **state)
{
    (void)state;
    net         n = open_net("check", NULL, NULL, MTF_I32);
    mtf_tensor *none = mtf_constant(n.g, 0, MTF_I32, mtf_shape());
    mtf_tensor *safe = mtf_maximum(n.labels, none);
    n.loss = mtf_reduce_sum(mtf_one_hot(safe, classes), MTF_ALL);
    run_with(&n, -1);
    close_well(n.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cross_entropy),
        cmocka_unit_test(forms),
        cmocka_unit_test(computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
