/* Visits: a program runs for a moment, again and again. */
#include "visits.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_STEPS = 1000, PRODUCTS = 4 };
#define CALM 1.1 /* times what the product takes undisturbed */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double lower_quarter(int n, double *took)
{
    qsort(took, (size_t)n, sizeof *took, by_value);
    return took[n / 4];
}

static bool step_for(mtf_program *p, double enough, int most, double *seconds)
{
    double took[MOST_STEPS];
    int    n = 0;
    bool   ok = mtf_step(p); /* warms up */
    for (double spent = 0; ok && spent < enough && n < most; n++) {
        double start = now();
        ok = mtf_step(p);
        took[n] = now() - start;
        spent += took[n];
    }
    if (ok) *seconds = lower_quarter(n, took);
    return ok;
}

/* No layout cuts it: every processor computes all of it. */
static mtf_program *compile_product(mtf_session *s)
{
    static const char text[] =
        "visit_a: f32[visit_m=256, visit_k=256] = variable(init=\"normal(0, 0.05)\")\n"
        "visit_b: f32[visit_k=256, visit_n=256] = variable(init=\"normal(0, 0.05)\")\n"
        "y: [visit_m, visit_n] = einsum(visit_a, visit_b)\n";
    mtf_graph *g = mtf_parse(s, text, "product");
    return g ? mtf_compile(g, mtf_find(g, "y")) : NULL;
}

bool visits_add(visits *v, mtf_session *s, mtf_program *p, double enough)
{
    mtf_program *product = compile_product(s);
    visit        x;
    double       before, behind;
    bool         ok = product && step_for(product, INFINITY, PRODUCTS, &before) &&
              step_for(p, enough, MOST_STEPS, &x.step) &&
              step_for(product, INFINITY, PRODUCTS, &behind);
    if (product) mtf_program_free(product);
    if (!ok || v->n == MOST_VISITS) return ok;
    x.product = fmax(before, behind);
    v->list[v->n++] = x;
    return true;
}

double visits_calm(int n, double *products)
{
    qsort(products, (size_t)n, sizeof *products, by_value);
    return CALM * products[n / 10];
}

int visits_calm_ones(const visits *v, double calm)
{
    int n = 0;
    for (int k = 0; k < v->n; k++) n += v->list[k].product <= calm;
    return n;
}

/* Without the shortest and the longest eighth.  Which visit is the middle or the best is luck where
 * they differ more than layouts do; in the mean, what disturbed some of everybody's weighs alike. */
double visits_mean(const visits *v, double calm)
{
    double took[MOST_VISITS], sum = 0;
    int    n = 0, some = visits_calm_ones(v, calm);
    for (int k = 0; k < v->n; k++)
        if (!some || v->list[k].product <= calm) took[n++] = v->list[k].step;
    int left_out = n / 8;
    qsort(took, (size_t)n, sizeof took[0], by_value);
    for (int k = left_out; k < n - left_out; k++) sum += took[k];
    return sum / (n - 2 * left_out);
}
