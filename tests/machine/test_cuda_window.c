/* Convolution and its gradients as kernels, against the CPU. */
#include "machine/gpu_trial.h"

static gpu_trials list;

static const int64_t channels[][3] = {{1, 3, 5}, {1, 9, 10}, {2, 8, 9}, {6, 1, 1}, {3, 1, 2},
                                      {1, 1, 1}, {1, 16, 4}, {2, 3, 2}, {1, 2, 40}};

enum { MOST_BATCH = 2 };

/* Sizes and strides of one operand: batch, space, then its last dimensions. */
static int64_t lay_out_operand(int n, const int64_t *size, bool plain, int64_t *stride)
{
    int order[MAX_LOOPS];
    shuffle(n, order);
    for (int k = 0; plain && k < n; k++) order[k] = k;
    return lay_out(n, order, size, 0, stride);
}

static window_args some_window(window_kind kind, int nspatial, int64_t step, int64_t dilation)
{
    int         k = (int)pick(0, 8);
    window_args a = {.kind = kind,
                     .nspatial = nspatial,
                     .groups = channels[k][0],
                     .chans = channels[k][1],
                     .outs = channels[k][2]};
    for (int s = 0; s < nspatial; s++) {
        a.in_size[s] = pick(1, nspatial == 1 ? 17 : nspatial == 2 ? 7 : 5);
        a.taps[s] = chance(3) ? 1 : pick(1, 3);
        a.step[s] = chance(3) ? 1 : step;
        a.dilation[s] = dilation;
        a.before[s] = chance(2) ? 0 : pick(0, 3);
        int64_t after = chance(2) ? 0 : pick(0, 3);
        int64_t room = a.in_size[s] + a.before[s] + after - (a.taps[s] - 1) * dilation;
        a.out_size[s] = room < 1 ? 1 : (room - 1) / a.step[s] + 1;
    }
    return a;
}

static void add_window(window_args a, mtf_dtype type, int nbatch, const int64_t *batch)
{
    trial       t = trial_of(INSTR_WINDOW, nbatch, batch);
    int         n = nbatch + a.nspatial;
    bool        plain = chance(2);
    int64_t     xs[8], ys[8], ws[8], x[8], y[8], w[8];
    const char *order = a.kind == WINDOW_FORWARD ? "yxw" : a.kind == WINDOW_INPUT ? "xyw" : "wxy";
    for (int l = 0; l < nbatch; l++) xs[l] = ys[l] = batch[l];
    for (int s = 0; s < a.nspatial; s++) {
        xs[nbatch + s] = a.in_size[s];
        ys[nbatch + s] = a.out_size[s];
        ws[s] = a.taps[s];
    }
    xs[n] = a.groups * a.chans;
    ys[n] = a.groups * a.outs;
    ws[a.nspatial] = a.chans;
    ws[a.nspatial + 1] = a.groups * a.outs;
    int64_t xn = lay_out_operand(n + 1, xs, plain, x), yn = lay_out_operand(n + 1, ys, plain, y);
    int64_t wn = lay_out_operand(a.nspatial + 2, ws, plain, w);
    for (int k = 0; k < 3; k++) {
        int64_t count = order[k] == 'x' ? xn : order[k] == 'y' ? yn : wn;
        access *o = add_operand(&t, type, count, k == 0);
        for (int l = 0; l < nbatch; l++)
            o->stride[l] = order[k] == 'x' ? x[l] : order[k] == 'y' ? y[l] : 0;
    }
    for (int s = 0; s < a.nspatial; s++) {
        a.x_spatial[s] = x[nbatch + s];
        a.y_spatial[s] = y[nbatch + s];
        a.w_tap[s] = w[s];
    }
    a.x_chan = x[n];
    a.y_out = y[n];
    a.w_chan = w[a.nspatial];
    a.w_out = w[a.nspatial + 1];
    t.i.window = a;
    gpu_trials_add(&list, t);
}

static void test_windows(void **state)
{
    (void)state;
    seed_state = 91;
    gpu_trials_start(&list, 1);
    for (int kind = 0; kind < 3; kind++)
        for (int nspatial = 1; nspatial <= 3; nspatial++)
            for (int64_t step = 1; step <= 3; step++)
                for (int64_t dilation = 1; dilation <= 2; dilation++)
                    for (int round = 0; round < 2; round++) {
                        int64_t     batch[MOST_BATCH] = {pick(1, 3), pick(1, 3)};
                        window_args a = some_window((window_kind)kind, nspatial, step, dilation);
                        add_window(a, round ? all_types[pick(0, ARITHMETIC_TYPES - 1)] : MTF_F32,
                                   (int)pick(0, MOST_BATCH), batch);
                    }
    /* a filter's gradient in chunks */
    for (int k = 0; k < ARITHMETIC_TYPES; k++) {
        window_args a = some_window(WINDOW_FILTER, 1, 1, 1);
        a.in_size[0] = a.out_size[0] = 50;
        add_window(a, all_types[k], 1, (int64_t[]){9});
    }
    gpu_trials_run(&list, kernel_window);
    assert_int_equal(list.launches, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows)};
    return cmocka_run_group_tests(tests, gpu_set_up, gpu_tear_down);
}
