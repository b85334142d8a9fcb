/* One session for each run: open, parse, compile, feed, step, fetch, close. */
#include "harness_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_number.h"

static void *counted_alloc(void *context, size_t bytes)
{
    allocations *count = context;
    count->calls++;
    count->live++;
    return malloc(bytes ? bytes : 1);
}

static void counted_release(void *context, void *memory)
{
    allocations *count = context;
    if (memory) count->live--;
    free(memory);
}

mtf_session *open_counted(allocations *count, const char *device, int threads)
{
    *count = (allocations){0};
    return mtf_open_with(&(mtf_session_opts){
        .allocator = {counted_alloc, counted_release, count},
        .threads = threads,
        .device = device,
    });
}

bool copy_error(const mtf_session *s, const char *doing, char *error)
{
    if (s && mtf_ok(s)) return false;
    snprintf(error, ERROR_ROOM, "%s: %s", doing, s ? mtf_error(s) : "no session");
    return true;
}

bool give(mtf_program *p, mtf_tensor *x, const case_values *v, const void *data)
{
    return v->variable ? mtf_variable_set(x, data) : mtf_feed(p, x, data);
}

static bool feed_case(const test_case *c, mtf_graph *g, mtf_program *p, char *error)
{
    for (int i = 0; i < c->nfeeds; i++) {
        mtf_tensor *x = mtf_find(g, c->feeds[i].name);
        if (!x) return false;
        mtf_dtype type = mtf_dtype_of_tensor(x);
        int64_t   n = mtf_shape_size(mtf_shape_of_tensor(x));
        void     *data = calloc((size_t)n, mtf_dtype_bytes(type));
        bool      good = data && numbers_write(c->feeds[i].numbers, type, n, data);
        if (!good)
            snprintf(error, ERROR_ROOM, "feed of %s: not %lld numbers", c->feeds[i].name,
                     (long long)n);
        good = good && give(p, x, &c->feeds[i], data);
        free(data);
        if (!good) return false;
    }
    return true;
}

static bool fetch_case(const test_case *c, mtf_program *p, mtf_tensor *const *ys, case_run *r)
{
    for (int i = 0; i < c->nexpected; i++) {
        mtf_shape shape = mtf_shape_of_tensor(ys[i]);
        fetched  *f = &r->values[i];
        f->type = mtf_dtype_of_tensor(ys[i]);
        f->n = mtf_shape_size(shape);
        f->data = malloc((size_t)f->n * mtf_dtype_bytes(f->type));
        mtf_shape_print(shape, f->shape, sizeof f->shape);
        if (!f->data || !mtf_fetch(p, ys[i], f->data)) return false;
    }
    return true;
}

static void run_in(const test_case *c, mtf_session *s, const allocations *count, case_run *r)
{
    mtf_graph *g = mtf_parse(s, c->text, c->path);
    if (copy_error(s, "parse", r->error)) return;
    mtf_tensor **ys = calloc((size_t)c->nexpected + 1, sizeof *ys);
    for (int i = 0; ys && i < c->nexpected; i++) ys[i] = mtf_find(g, c->expected[i].name);
    mtf_program *p = ys ? mtf_compile_n(g, c->nexpected, ys) : NULL;
    if (!copy_error(s, "compile", r->error) && p) {
        const char *program = mtf_program_print(p);
        r->products = !program || strstr(program, " contract ") || strstr(program, " window ");
        r->peak_bytes = mtf_program_cost(p).peak_bytes;
        bool good = feed_case(c, g, p, r->error);
        for (int i = 0; i < c->steps && good; i++) good = mtf_step(p);
        good = good && fetch_case(c, p, ys, r);
        long before = count->calls;
        good = good && mtf_step(p);
        r->step_calls = count->calls - before;
        if (!good && !r->error[0] && !copy_error(s, "run", r->error))
            snprintf(r->error, ERROR_ROOM, "run: failed without a reason");
    }
    free(ys);
}

bool run_case(const test_case *c, const char *device, int threads, case_run *r)
{
    allocations count;
    *r = (case_run){.values = calloc((size_t)c->nexpected + 1, sizeof *r->values)};
    mtf_session *s = r->values ? open_counted(&count, device, threads) : NULL;
    if (!s) {
        snprintf(r->error, ERROR_ROOM, "no session on device %s", device);
        return false;
    }
    run_in(c, s, &count, r);
    mtf_close(s);
    r->live = count.live;
    return !r->error[0];
}

void run_free(const test_case *c, case_run *r)
{
    for (int i = 0; r->values && i < c->nexpected; i++) free(r->values[i].data);
    free(r->values);
}
