/* Tests that resuming is exact, and the three types of variables. */
#include <time.h>
#include <unistd.h>

#include "checkpoint_model.h"
#include "ground.h"
#include "mtf_nn.h"
#include "mtf_train.h"

/* ---- the three types ---- */

static void test_types(void **state)
{
    (void)state;
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1, .mesh = "x:2", .layout = "n:x"});
    mtf_graph        *g = mtf_graph_new(s);
    mtf_dim           n = {"n", 5};
    mtf_variable_opts o = {.master = "f16", .activation = "bf16", .init = "ones"};
    mtf_tensor       *w = mtf_variable(g, "w", mtf_shape(n), &o), *listed;
    assert_int_equal(mtf_dtype_of_tensor(w), MTF_BF16);
    assert_ptr_equal(mtf_variable(g, "w", mtf_shape(n), &o), w);
    assert_int_equal(mtf_variables(g, &listed, 1), 1);
    assert_string_equal(mtf_name_of_tensor(listed), "w");
    assert_int_equal(mtf_dtype_of_tensor(listed), MTF_F32);

    /* The gradient comes in the type that is kept, and small updates are not lost. */
    mtf_tensor *loss = mtf_reduce_sum(mtf_cast(w, MTF_F32), MTF_ALL), *slope;
    mtf_gradients(1, &loss, 1, &listed, NULL, &slope);
    assert_int_equal(mtf_dtype_of_tensor(slope), MTF_F32);
    mtf_assign_sub(w, mtf_scale(slope, 0x1p-10));
    mtf_program *p = mtf_compile(g, loss);
    assert_true(mtf_step(p) && mtf_step(p));
    float    kept[5];
    uint16_t seen[5];
    assert_true(mtf_variable_get(listed, kept) && kept[4] == 1 - 0x1p-9f);
    assert_true(mtf_variable_get(w, seen) && seen[4] == 0x3f80); /* 1, in bf16 */

    char *text = mtf_print(g);
    assert_contains(text, "w: f32[n=5] = variable(init=\"ones\", master=f16, activation=bf16)");
    mtf_graph *again = mtf_parse(s, text, "again");
    assert_string_equal(mtf_print(again), text);

    assert_true(mtf_save(s, in_folder("types"), &(mtf_save_opts){.step = 1}));
    assert_true(mtf_variable_set(w, (uint16_t[]){0, 0, 0, 0, 0}));
    assert_true(mtf_variable_get(listed, kept) && kept[4] == 0);
    assert_true(mtf_load(s, in_folder("types"), NULL, NULL));
    assert_true(mtf_variable_get(listed, kept) && kept[4] == 1 - 0x1p-9f); /* f16 holds that */
    close_well(s);

    s = mtf_open_with(NULL);
    g = mtf_graph_new(s);
    w = mtf_variable(g, "w", mtf_shape(n), NULL);
    mtf_variable_get(w, kept);
    assert_true(mtf_load(s, in_folder("types"), &(mtf_load_opts){.convert = true}, NULL));
    assert_true(mtf_variable_get(w, kept) && kept[0] == 1 - 0x1p-9f);
    assert_false(mtf_load(s, in_folder("types"), NULL, NULL));
    assert_contains(mtf_error(s), "tensor \"w\" is f16, but the variable \"w\" is kept as f32");
    mtf_close(s);

    s = mtf_open_with(NULL);
    mtf_variable(mtf_graph_new(s), "w", mtf_shape(n), &(mtf_variable_opts){.master = "i32"});
    assert_contains(mtf_error(s), "its master type is i32, but the variable is f32");
    mtf_close(s);
}

/* ---- resuming ---- */

/* Steps of a model with dropout; resumes where the folder has a checkpoint.  Leaves the weights. */
static void train(const char *folder, int from, int to, float *weights)
{
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.threads = 1, .seed = 5, .mesh = "x:2,y:2", .layout = "b:x,h:y"});
    mtf_graph  *g = mtf_graph_new(s);
    mtf_dim     b = {"b", 6}, h = {"h", 7};
    mtf_tensor *w = mtf_variable(g, "w", mtf_shape(b, h), NULL);
    mtf_tensor *y = mtf_dropout(mtf_square(w), 0.5, mtf_shape());
    mtf_tensor *loss = mtf_reduce_sum(y, MTF_ALL), *slope;
    mtf_gradients(1, &loss, 1, &w, NULL, &slope);
    mtf_assign_sub(w, mtf_scale(slope, 0.1));
    mtf_program *p = mtf_compile(g, loss);
    mtf_loaded   l;
    if (from) {
        assert_true(mtf_load(s, folder, NULL, &l));
        assert_int_equal(l.step, from);
        assert_true(mtf_program_set_step(p, l.step));
    }
    for (int step = from; step < to; step++) assert_true(mtf_step(p));
    assert_int_equal(mtf_program_step(p), to);
    assert_true(mtf_save(s, folder, &(mtf_save_opts){.step = to, .background = true}));
    assert_true(mtf_variable_get(w, weights));
    close_well(s);
}

static void test_exact(void **state)
{
    (void)state;
    float straight[42], resumed[42];
    train(in_folder("straight"), 0, 10, straight);
    train(in_folder("resumed"), 0, 4, resumed);
    assert_memory_not_equal(straight, resumed, sizeof straight);
    train(in_folder("resumed"), 4, 10, resumed);
    assert_memory_equal(straight, resumed, sizeof straight);
}

/* ---- memory ---- */

static void *watched_alloc(void *context, size_t bytes)
{
    size_t *most = context;
    if (bytes > *most) *most = bytes;
    return malloc(bytes);
}

static void watched_release(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Neither saving nor loading takes more at once than what is read or written at once. */
static void test_memory(void **state)
{
    (void)state;
    size_t           most = 0, model_bytes = 64 << 20;
    mtf_session_opts o = {.allocator = {watched_alloc, watched_release, &most},
                          .threads = 1,
                          .mesh = "x:4",
                          .layout = "b:x"};
    mtf_session     *s = mtf_open_with(&o);
    mtf_dim          a = {"a", 4096}, b = {"b", 4096};
    mtf_tensor      *w =
        mtf_variable(mtf_graph_new(s), "w", mtf_shape(a, b), &(mtf_variable_opts){.init = "ones"});
    float *whole = malloc(model_bytes);
    assert_true(mtf_variable_get(w, whole));
    most = 0;
    assert_true(mtf_save(s, in_folder("memory"), NULL));
    assert_true(mtf_load(s, in_folder("memory"), NULL, NULL));
    assert_in_range(most, 1, (1 << 20) + 4096);
    free(whole);
    close_well(s);
}

static int drop(void **state)
{
    (void)state;
    drop_folder();
    return 0;
}

/* ---- saving beside the steps ---- */

enum { SAVED_AT = 100, STEPS = 2 * SAVED_AT - 1 };

/* Waits a little after each step until the checkpoint is complete. */
static bool wait_for_save(void *context, const mtf_train_step *now)
{
    int64_t *complete = context;
    if (now->step > SAVED_AT && !*complete) {
        if (access(in_folder("beside/step_00000100/manifest.json"), F_OK) == 0)
            *complete = now->step;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return true;
}

/* A save is completed while the next steps run: not only by the next save, which may never come. */
static void test_completed_beside_steps(void **state)
{
    (void)state;
    int64_t      complete = 0;
    mtf_session *s = open_two_threads();
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *w = mtf_variable(g, "w", mtf_shape(), &(mtf_variable_opts){.init = "zeros"});
    mtf_tensor  *loss = mtf_square(mtf_add_scalar(w, -3));
    mtf_sgd(g, loss, &(mtf_sgd_opts){.rate = 0.25});
    assert_true(mtf_train(g, loss,
                          &(mtf_train_opts){.steps = STEPS,
                                            .save_every = SAVED_AT,
                                            .checkpoint_dir = in_folder("beside"),
                                            .after_step = wait_for_save,
                                            .look_context = &complete,
                                            .quiet = true}));
    assert_true(complete > SAVED_AT);
    mtf_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_completed_beside_steps),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
