/* Tests the rates that calibration derives from its trials. */
#include "measure/calibrate.h"

#include "ground.h"

/* Trials of which some were disturbed and some were luck. */
static void test_trials(void **state)
{
    (void)state;
    static const double factor[CALIBRATE_TRIALS] = {1.1, 0.2, 2, 1, 0.3, 1.05, 3, 1.2, 1.15};
    price_rates         trials[CALIBRATE_TRIALS], r;
    for (int k = 0; k < CALIBRATE_TRIALS; k++) {
        double f = factor[k];
        trials[k] = (price_rates){.flops = f, .memory = 2 * f, .wire = 3 * f, .latency = 1 / f};
        trials[k].message = 5 / f;
        trials[k].start = 2 / f, trials[k].alone = f, trials[k].most = f,
        trials[k].flat.left = 4 * f;
        trials[k].rows = 8 * f;
        trials[k].pauses = 10 / f, trials[k].pause = 20 / f;
        trials[k].nproducts = 2, trials[k].naxes = 1;
        trials[k].products[1] = (product_rate){MTF_F32, 64, 5 * f};
        trials[k].nwindows = 2,
        trials[k].windows[1] = (window_rate){.type = MTF_F32, .channels = 8, .flops = 9 * f};
        trials[k].ncaches = 2, trials[k].caches[1] = (cache_rate){1e6, 7 * f};
        trials[k].axes[0] = (axis_rate){"x", 6 * f, 3 / f};
    }
    calibrate_combine(CALIBRATE_TRIALS, trials, &r);
    assert_true(r.flops == 1.2 && r.memory == 2.4 && r.wire == 3 * 1.2 && r.flat.left == 4.8);
    assert_true(r.rows == 8 * 1.2);
    assert_true(r.latency == 1 / 1.2 && r.start == 2 / 1.2 && r.alone == 1.1 && r.most == 1.1);
    assert_true(r.pauses == 10 / 1.2 && r.pause == 20 / 1.2 && r.message == 5 / 1.1);
    assert_true(r.products[1].flops == 6 && r.axes[0].wire == 6 * 1.2);
    assert_true(r.windows[1].channels == 8 && r.windows[1].flops == 9 * 1.2);
    assert_true(r.caches[1].bytes == 1e6 && r.caches[1].memory == 7 * 1.2);
    assert_true(r.axes[0].latency == 3 / 1.2 && strcmp(r.axes[0].axis, "x") == 0);
}

/* The trials of a calm machine, each a bit apart; then some that others disturbed. */
static void make_trials(price_rates *list, int disturbed, double factor)
{
    for (int k = 0; k < CALIBRATE_TRIALS; k++) {
        double f = (1 + 0.01 * (k * 7 % 5)) * (k < disturbed ? factor : 1);
        list[k] = (price_rates){.flops = f, .memory = f, .wire = f, .latency = 1 / f};
        list[k].start = 1 / f, list[k].alone = 1 + k;
        list[k].nproducts = 1, list[k].products[0] = (product_rate){MTF_F32, 64, f};
    }
}

static void test_disturbed_trials(void **state)
{
    (void)state;
    price_rates list[CALIBRATE_TRIALS];
    double      calm[CALIBRATE_TRIALS], lost[CALIBRATE_TRIALS];
    for (int k = 0; k < CALIBRATE_TRIALS; k++) calm[k] = 0.01, lost[k] = k ? 0.4 : 0;
    static const struct {
        int    disturbed;
        double factor;
        bool   told;
    } cases[] = {{0, 1, false},
                 {3, 0.5, false}, /* the others tell enough */
                 {5, 0.5, true},
                 {6, 0.8, true},
                 {5, 0.97, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make_trials(list, cases[k].disturbed, cases[k].factor);
        disturbance d = calibrate_disturbance(CALIBRATE_TRIALS, list, calm);
        assert_true(calibrate_is_disturbed(&d) == cases[k].told);
        assert_near(d.lost, 0.01, 1e-9);
    }
    /* Who is disturbed all the time is so evenly, but loses its cores. */
    make_trials(list, 0, 1);
    disturbance d = calibrate_disturbance(CALIBRATE_TRIALS, list, lost);
    assert_true(calibrate_is_disturbed(&d) && d.lost == 0.4);
}

/* Sums that take 10 and 2 for each message after the first; disturbed, sums seem to say otherwise. */
static void test_messages_are_told(void **state)
{
    (void)state;
    const short_sum larger = {10 + 2 * 6, 7}, smaller = {10 + 2 * 2, 3}, odd = {30, 3};
    assert_true(trial_message(&larger, &smaller) == 2);
    assert_true(trial_latency(&larger, 2) == 10 && trial_latency(&smaller, 2) == 10);
    assert_true(trial_message(&larger, &larger) == 0 && trial_message(&larger, &odd) == 0);
    assert_true(trial_latency(&larger, 100) == 22. / 4);
}

/* Processors of one axis are looked at as a grid, so that there are groups of two sizes. */
static void test_views(void **state)
{
    (void)state;
    static const struct {
        const char *mesh;
        int         naxes, first, last;
    } cases[] = {{"x:2", 1, 2, 2}, {"x:4", 2, 2, 2}, {"x:6", 2, 3, 2},
                 {"x:3", 1, 3, 3}, {"x:9", 2, 3, 3}, {"x:2,y:2", 2, 2, 2}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mtf_session *s = mtf_open_with(&(mtf_session_opts){.mesh = cases[k].mesh});
        trial        t;
        assert_true(calibrate_begin(s, &t));
        assert_int_equal(t.mesh.naxes, cases[k].naxes);
        assert_int_equal(t.mesh.size[0], cases[k].first);
        assert_int_equal(t.mesh.size[t.mesh.naxes - 1], cases[k].last);
        assert_true(t.divided == (cases[k].naxes == 2 && !strchr(cases[k].mesh, ',')));
        mtf_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials),
        cmocka_unit_test(test_disturbed_trials),
        cmocka_unit_test(test_messages_are_told),
        cmocka_unit_test(test_views),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
