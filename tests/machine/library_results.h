/* Programs that the GPU's library computes, and how far apart their results are. */
#ifndef TESTS_MACHINE_LIBRARY_RESULTS_H
#define TESTS_MACHINE_LIBRARY_RESULTS_H

#include <errno.h>

#include "ground.h"
#include "machine/random_numbers.h"
#include "run/emulated_gpu.h"

enum { MOST_RESULTS = 8 };

typedef struct results {
    int     count;
    int64_t n[MOST_RESULTS];
    float  *values[MOST_RESULTS]; /* widened: exact */
} results;

static inline results results_of(mtf_program *p, int count, mtf_tensor *const *fetches)
{
    results r = {.count = count};
    for (int k = 0; k < count; k++) {
        r.n[k] = mtf_shape_size(mtf_shape_of_tensor(fetches[k]));
        r.values[k] = malloc((size_t)r.n[k] * sizeof *r.values[k]);
        assert_true(mtf_fetch(p, fetches[k], r.values[k]));
    }
    return r;
}

static inline void drop(results *r)
{
    for (int k = 0; k < r->count; k++) free(r->values[k]);
}

static inline bool is_same_result(const results *a, const results *b, int k)
{
    return memcmp(a->values[k], b->values[k], (size_t)a->n[k] * sizeof(float)) == 0;
}

static inline bool is_same(const results *a, const results *b)
{
    for (int k = 0; k < a->count; k++)
        if (!is_same_result(a, b, k)) return false;
    return true;
}

/* The length of the difference, relative to that of what is right; of nothing, the difference's. */
static inline double distance(const results *a, const results *right, int k)
{
    double apart = 0, whole = 0;
    for (int64_t e = 0; e < right->n[k]; e++) {
        double x = (double)a->values[k][e], y = (double)right->values[k][e];
        apart += (x - y) * (x - y), whole += y * y;
    }
    return sqrt(apart / (whole > 0 ? whole : 1));
}

static inline void feed_numbers(mtf_program *p, mtf_graph *g, const char *name)
{
    mtf_tensor *x = mtf_find(g, name);
    int64_t     n = mtf_shape_size(mtf_shape_of_tensor(x));
    float      *values = malloc((size_t)n * sizeof *values);
    for (int64_t k = 0; k < n; k++) values[k] = (float)pick(-2000, 2000) / 1000;
    assert_true(mtf_feed(p, x, values));
    free(values);
}

/* What y1 is on the GPU after three steps, the last of which are replayed from a capture. */
static inline results run_text(const char *text, const char *library, int ninputs,
                               const char *const *inputs)
{
    setenv("MTF_CUDNN", library, 1);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1, .device = "cuda"});
    mtf_graph   *g = mtf_parse(s, text, "test");
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    mtf_tensor  *y = mtf_find(g, "y1");
    mtf_program *p = mtf_compile(g, y);
    if (!mtf_ok(s)) fail_msg("%s", mtf_error(s));
    seed_state = 3;
    for (int k = 0; k < ninputs; k++) feed_numbers(p, g, inputs[k]);
    for (int k = 0; k < 3; k++)
        if (!mtf_step(p)) fail_msg("%s", mtf_error(s));
    results r = results_of(p, 1, &y);
    close_well(s);
    return r;
}

/* For a group of tests: the emulated GPU with its library, unless a real one is asked for.  Plans of
 * earlier runs would hide what graphs have become. */
static inline int use_emulated_library(void **unused)
{
    char folder[1000], remove[1100];
    (void)unused;
    if (asked_real_gpu()) return 0;
    snprintf(folder, sizeof folder, HOST_CUDA_FOLDER "/%s", program_invocation_short_name);
    snprintf(remove, sizeof remove, "rm -rf '%s'", folder);
    assert_int_equal(system(remove), 0);
    setenv("MTF_CACHE_DIR", folder, 1);
    load_emulated_gpu();
    load_emulated("libcudnn.so.9");
    return 0;
}

#endif
