/* Checkpoints: written under one layout, read under any other. */
#include <unistd.h>

#include "checkpoint_model.h"
#include "ground.h"

static const char *const meshes[] = {"", "x:2", "x:3", "x:2,y:2", "x:2,y:3"};
enum { MESHES = sizeof meshes / sizeof *meshes };

/* The layout in which dimension d of a, b, c has axis `code`'s digit d, 0 being none; NULL: illegal. */
static const char *layout_number(int code, int axes, char text[40])
{
    static const char dims[] = "abc", names[] = "xy";
    int               used = 0, taken = 0;
    text[0] = 0;
    for (int d = 0; d < 3; d++, code /= 3) {
        int axis = code % 3;
        if (axis == 0) continue;
        if (axis > axes || (taken >> axis & 1)) return NULL;
        taken |= 1 << axis;
        used += snprintf(text + used, 40 - (size_t)used, "%s%c:%c", used ? "," : "", dims[d],
                         names[axis - 1]);
    }
    return text;
}

static void every_layout(void (*visit)(const char *mesh, const char *layout))
{
    for (int m = 0; m < MESHES; m++)
        for (int code = 0; code < 27; code++) {
            char        text[40];
            const char *layout = layout_number(code, m == 0 ? 0 : m < 3 ? 1 : 2, text);
            if (layout) visit(meshes[m], layout);
        }
}

static void save_there(const char *mesh, const char *layout)
{
    model m = model_open(mesh, layout, NULL);
    model_fill(&m, 3);
    assert_true(mtf_save(m.session, in_folder("layouts"), &(mtf_save_opts){.step = 5, .keep = 1}));
    close_well(m.session);
    m = model_open("x:3,y:2", "a:x,b:y", "c:x");
    assert_true(mtf_load(m.session, in_folder("layouts"), NULL, NULL));
    assert_int_equal(model_wrong(&m, 3), 0);
    close_well(m.session);
}

static void load_there(const char *mesh, const char *layout)
{
    model      m = model_open(mesh, layout, "b:x?");
    mtf_loaded l;
    assert_true(mtf_load(m.session, in_folder("layouts"), NULL, &l));
    assert_int_equal(model_wrong(&m, 3), 0);
    assert_int_equal(l.step, 5);
    close_well(m.session);
}

static void test_layouts(void **state)
{
    (void)state;
    every_layout(save_there);
    every_layout(load_there);
}

/* A variable with the cube's dimensions in another order, and one that nobody has saved. */
static void load_transposed(const char *mesh, const char *layout)
{
    mtf_session *s = mtf_open_with(
        &(mtf_session_opts){.threads = 1, .mesh = mesh, .layout = layout, .state_layout = "b:x?"});
    mtf_dim     a = {"a", 7}, b = {"b", 5}, c = {"c", 3};
    mtf_graph  *g = mtf_graph_new(s);
    mtf_tensor *cube = mtf_variable(g, "layer/cube", mtf_shape(c, a, b), NULL);
    mtf_tensor *count = mtf_variable(g, "unsaved", mtf_shape(a, b, c),
                                     &(mtf_variable_opts){.init = "ones", .untrainable = true});
    float       values[7 * 5 * 3];
    assert_true(mtf_variable_get(cube, values) && mtf_variable_get(count, values));
    mtf_loaded l;
    assert_true(mtf_load(s, in_folder("layouts"), &(mtf_load_opts){.trainable = true}, &l));
    assert_int_equal(l.variables, 1);
    assert_int_equal(l.wanted, 1);
    assert_null(l.missing[0]);
    assert_true(mtf_variable_get(cube, values));
    for (int k = 0, place = 0; k < 3; k++)
        for (int i = 0; i < 7; i++)
            for (int j = 0; j < 5; j++, place++)
                assert_int_equal(values[place], ((i * 15 + j * 3 + k) * 13 + 5 + 3 * 29) % 251);
    assert_true(mtf_load(s, in_folder("layouts"), &(mtf_load_opts){.partial = true}, &l));
    assert_int_equal(l.wanted, 2);
    assert_string_equal(l.missing[0], "unsaved");
    close_well(s);
}

static void test_transposed(void **state)
{
    (void)state;
    every_layout(load_transposed);
}

static void test_background(void **state)
{
    (void)state;
    model m = model_open("x:2,y:2", "a:x,b:y", NULL);
    for (int step = 1; step <= 6; step++) {
        model_fill(&m, step);
        mtf_save_opts o = {.step = step,
                           .position = 10 * step,
                           .config = "a \"text\"\n",
                           .facts = (const char *const[]){"batch", "4", "a \"key\"", "\t", NULL},
                           .keep = 2,
                           .keep_every = 3,
                           .background = true};
        assert_true(mtf_save(m.session, in_folder("background"), &o));
        model_fill(&m, 1000); /* what was copied is what is written */
        assert_true(mtf_save_poll(m.session));
    }
    assert_true(mtf_save_wait(m.session));
    mtf_loaded l;
    assert_true(mtf_load(m.session, in_folder("background"), NULL, &l));
    assert_int_equal(model_wrong(&m, 6), 0);
    assert_int_equal(l.position, 60);
    assert_int_equal(l.seed, 7);
    assert_string_equal(l.config, "a \"text\"\n");
    assert_string_equal(l.facts[0], "batch");
    assert_string_equal(l.facts[3], "\t");
    assert_null(l.facts[4]);
    for (int step = 1; step <= 6; step++) {
        char name[40];
        snprintf(name, sizeof name, "background/step_%08d", step);
        assert_int_equal(access(in_folder(name), F_OK) == 0, step == 3 || step >= 5);
    }
    model_fill(&m, 9);
    assert_true(mtf_save(m.session, in_folder("background"),
                         &(mtf_save_opts){.step = 7, .background = true}));
    close_well(m.session); /* waits for it */
    m = model_open(NULL, NULL, NULL);
    assert_true(mtf_load(m.session, in_folder("background"), NULL, &l) && l.step == 7);
    assert_int_equal(model_wrong(&m, 9), 0);
    close_well(m.session);
}

static int drop(void **state)
{
    (void)state;
    drop_folder();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_transposed),
        cmocka_unit_test(test_background),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
