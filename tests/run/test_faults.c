/* Tests that running out of memory anywhere gives an error message.
 *
 * One small model uses everything: text, loops, gradients, variables, steps,
 * files.  It runs with an allocator whose n-th call fails, for every n until no
 * call fails any more.
 */
#include <unistd.h>

#include "run/npy.h"

#include "asked.h"
#include "ground.h"

/* Most memory comes in chunks of arenas, so that few calls reach the allocator.  A constant of
 * growing size shifts the chunks' ends through the whole model. */
static const char model[] =
    "dim batch = 3\n"
    "x: f32[batch, in=5] = input\n"
    "labels: i32[batch] = input\n"
    "w: f32[in=5, hidden=7] = variable(init=\"normal(0, 0.3)\")\n"
    "v: f32[hidden=7, classes=4] = variable\n"
    "h = recompute(x) {\n"
    "    body(p) {\n"
    "        q: [batch, hidden] = einsum(p, w)\n"
    "        yield dropout(tanh(q), rate=0.25)\n"
    "    }\n"
    "}\n"
    "s, total = loop(h, trips=3) {\n"
    "    body(s; i) {\n"
    "        f: f32 = cast(i)\n"
    "        t = sin(s) * f + s\n"
    "        yield t; reduce_sum(t * t)\n"
    "    }\n"
    "}\n"
    "shown = print(total, message=\"total\")\n"
    "logits: [batch, classes] = einsum(s, v)\n"
    "chosen = log_softmax(logits, dim=classes) * one_hot(labels, dim=[classes=4])\n"
    "loss = reduce_mean(0 - reduce_sum(chosen, over=(classes)))\n"
    "sorted, order = sort(logits, dim=classes)\n"
    "dw, dv = gradients(loss, shown; w, v)\n"
    "new_w = assign(w, dw, mode=sub)\n"
    "new_v = assign(v, v - 0.1 * dv)\n";

/* ---- the allocator ---- */

typedef struct tap {
    int calls;   /* so far                              */
    int refused; /* the number of the call to refuse    */
    int open;    /* blocks given and not yet taken back */
    int said;    /* texts of the session                */
} tap;

static void *take(void *context, size_t bytes)
{
    tap *t = context;
    if (++t->calls == t->refused) return NULL;
    void *memory = malloc(bytes);
    t->open += memory != NULL;
    return memory;
}

static void give(void *context, void *memory)
{
    tap *t = context;
    t->open -= memory != NULL;
    free(memory);
}

static void hear(void *context, const char *text)
{
    tap *t = context;
    t->said += strstr(text, "memory: ") == text;
}

/* ---- the model ---- */

static char folder[] = "/tmp/mtf_faults_XXXXXX";
static char path[100];

static char *text_with_pad(int pad)
{
    char *text = malloc(sizeof model + 100 + (size_t)pad * 3);
    char *end = text + sprintf(text, "%s", model);
    if (pad) {
        end += sprintf(end, "pad: f32[pad=%d] = constant(data={1", pad);
        for (int i = 1; i < pad; i++) end += sprintf(end, ", 1");
        sprintf(end, "})\n");
    }
    return text;
}

/* Everything the model does; what it fetched goes to `fetched`. */
static void use(mtf_session *s, const char *text, float fetched[12])
{
    static const float   x[15] = {0.1f, -0.2f, 0.3f,  0.4f, -0.5f, 0.6f, 0.7f, -0.8f,
                                  0.9f, 1.0f,  -1.1f, 1.2f, 1.3f,  1.4f, 1.5f};
    static const int32_t labels[3] = {0, 3, 1};
    mtf_graph           *g = mtf_parse(s, text, "model.mtf");
    char                *again = mtf_print(g);
    mtf_graph           *h = again ? mtf_parse(s, again, "again.mtf") : NULL;
    mtf_tensor          *sorted = mtf_find(h, "sorted"), *loss = mtf_find(h, "loss");
    mtf_tensor          *in = mtf_find(h, "x"), *in_labels = mtf_find(h, "labels");
    mtf_program         *p = mtf_compile(h, sorted, loss);
    mtf_program_print(p);
    for (int step = 0; step < 2; step++) {
        mtf_feed(p, in, x);
        mtf_feed(p, in_labels, labels);
        mtf_step(p);
        mtf_fetch_scalar(p, loss);
    }
    mtf_fetch(p, sorted, fetched);
    float v[7 * 4];
    if (mtf_variable_get(mtf_find(h, "v"), v)) mtf_variable_set(mtf_find(h, "v"), v);
    npy_array back = {0};
    if (mtf_ok(s) && npy_write(s, path, MTF_F32, 2, (int64_t[]){3, 4}, fetched) &&
        npy_read(s, path, &back)) {
        assert_int_equal(back.bytes, 12 * sizeof(float));
        assert_memory_equal(back.data, fetched, back.bytes);
        npy_release(s, &back);
    }
    mtf_program_free(p);
}

/* Runs it with the n-th call refused; false where there was no n-th call. */
static bool run_refusing(int n, const char *text, float fetched[12])
{
    tap              t = {.refused = n};
    mtf_session_opts opts = {
        .allocator = {take, give, &t}, .threads = 2, .seed = 5, .say = hear, .say_context = &t};
    mtf_session *s = mtf_open_with(&opts);
    bool         refused = n > 0;
    if (!s) {
        assert_int_equal(n, 1);
    } else {
        use(s, text, fetched);
        refused = t.calls >= n && n > 0;
        const char *error = mtf_error(s);
        if (refused && (strncmp(error, "memory: no memory for ", 22) != 0 || strchr(error, '\n')))
            fail_msg("call %d refused, and the session says: \"%s\"", n, error);
        if (!refused && *error) fail_msg("nothing refused, and the session says: \"%s\"", error);
        assert_int_equal(mtf_close(s), refused);
        assert_int_equal(t.said, refused);
    }
    if (t.open) fail_msg("call %d refused: %d blocks are not given back", n, t.open);
    return refused;
}

static void test_every_allocation(void **state)
{
    (void)state;
    float reference[12] = {0};
    int   tries = 0;
    for (int pad = 0; pad <= 4096; pad += asked_much(256, 1024)) {
        char *text = text_with_pad(pad);
        float fetched[12] = {0};
        int   n = 1;
        if (pad == 0) run_refusing(0, text, reference);
        while (run_refusing(n, text, fetched)) n++;
        assert_memory_equal(fetched, reference, sizeof fetched); /* the last run, without refusal */
        tries += n;
        free(text);
    }
    assert_true(tries > 300);
    print_message("%d runs\n", tries);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    return 0;
}

static int drop_folder(void **state) /* fails where half a file was left behind */
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_allocation)};
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
