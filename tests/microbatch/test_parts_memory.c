/* Tests the memory of micro-batches: more parts never need more.
 *
 * Models whose weights are large and whose activations are small: there every term of a gradient that
 * needed memory of its own beside the sum would show.
 */
#include <stdio.h>

#include "microbatch/microbatch.h"
#include "mtf_nn.h"
#include "price/estimate.h"

#include "ground.h"

enum { BATCH = 32, TEXT = 4000 };

/* Each computes l [batch] in the type %s, from its own random examples. */
static const struct model {
    const char *text;
    int64_t     kept; /* elements of weights whose casts are read forwards and backwards */
} models[] = {
    {"x: %s[batch=32, d=300] = random_normal\n" /* two layers */
     "w1: f32[d=300, h=260] = variable(init=\"normal(0, 0.1)\")\n"
     "w2: f32[h=260] = variable(init=\"normal(0, 0.1)\")\n"
     "h: [batch, h] = einsum(x, cast(w1, type=%s))\n"
     "l: [batch] = einsum(relu(h), cast(w2, type=%s))\n",
     0},
    {"x: %s[batch=32, a=110] = random_normal\n" /* three, of which the first is read twice */
     "w1: f32[a=110, b=110] = variable(init=\"normal(0, 0.1)\")\n"
     "w2: f32[b=110, c=110] = variable(init=\"normal(0, 0.1)\")\n"
     "w3: f32[c=110, d=110] = variable(init=\"normal(0, 0.1)\")\n"
     "v1 = cast(w1, type=%s)\nv2 = cast(w2, type=%s)\n"
     "h1: [batch, b] = einsum(x, v1)\n"
     "h2: [batch, c] = einsum(relu(h1), v2)\n"
     "h3: [batch, d] = einsum(relu(h2), cast(w3, type=%s))\n"
     "h4: [batch, a=110] = rename(relu(h3), from=d, to=a)\n"
     "h5: [batch, b] = einsum(h4, v1)\n"
     "l: [batch] = reduce_sum(square(h5))\n",
     3 * 110 * 110},
    {"x: %s[batch=32, g=5, d=130] = random_normal\n" /* several matrices at once: a batch of products */
     "w1: f32[g=5, d=130, h=140] = variable(init=\"normal(0, 0.1)\")\n"
     "h: [batch, g, h] = einsum(x, cast(w1, type=%s))\n"
     "l: [batch] = reduce_sum(square(h))\n",
     0},
    {"r: f32[batch=32] = random_uniform(low=0, high=900)\n" /* rows of a table */
     "w1: f32[words=900, d=90] = variable(init=\"normal(0, 0.1)\")\n"
     "w2: f32[d=90, e=100] = variable(init=\"normal(0, 0.1)\")\n"
     "x: [batch, d] = gather(cast(w1, type=%s), cast(r, type=i32), dim=words)\n"
     "h: [batch, e] = einsum(x, cast(w2, type=%s))\n"
     "l: [batch] = reduce_sum(square(h))\n",
     0},
};
enum { MODELS = sizeof models / sizeof *models };

static int64_t peak_of(const struct model *model, mtf_dtype type, int64_t parts)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    const char  *name = mtf_dtype_name(type);
    char         text[TEXT];
    microbatched m;
    int64_t      peak;
    mesh         all;
    layout       rules;
    int          n = snprintf(text, TEXT, model->text, name, name, name, name);
    snprintf(text + n, (size_t)(TEXT - n), "loss = reduce_mean(square(cast(l, type=f32)))\n");
    mtf_graph *g = mtf_parse(s, text, "t");
    assert_string_equal(mtf_error(s), "");
    mtf_minimize(g, mtf_find(g, "loss"), &(mtf_minimize_opts){.optimizer = "sgd", .rate = 0.1});
    mtf_microbatches(g, (mtf_dim){"batch", BATCH}, parts);
    assert_true(mesh_parse(s, "x:2", &all) && layout_parse(s, "batch:x", &all, &rules));
    estimate_opts opts = {.mesh = &all, .layout = &rules};
    assert_true(microbatch_graph(g, 1, (mtf_tensor *[]){mtf_find(g, "loss")}, &m));
    assert_true(estimate_peak(m.graph, m.nfetches, m.fetches, &opts, &peak));
    close_well(s);
    return peak;
}

/* `more`: bytes that several parts may take beyond one. */
static void check_memory(const struct model *model, mtf_dtype type, int64_t more)
{
    int64_t whole = peak_of(model, type, 1);
    for (int64_t parts = 2; parts <= BATCH; parts *= 2) {
        int64_t now = peak_of(model, type, parts);
        if (now > whole + more)
            fail_msg("%s, %d parts: %lld bytes, %lld with one part\n%s", mtf_dtype_name(type),
                     (int)parts, (long long)now, (long long)whole, model->text);
    }
}

static void test_f32(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) check_memory(&models[m], MTF_F32, 0);
}

/* Casts that are read twice serve all parts, beside the sums; sums that are joined may take a line more. */
static void test_bf16(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) check_memory(&models[m], MTF_BF16, 2 * models[m].kept + 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32), cmocka_unit_test(test_bf16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
