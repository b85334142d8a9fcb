/* Differentiates: once, twice, and through a loop.
 *
 * A gradient consists of ordinary operations, so
 * it can be printed, fetched, and differentiated again.
 */
#include <mtf.h>

#include <stdio.h>

enum { POINTS = 4 };

static mtf_tensor *derivative(mtf_tensor *y, mtf_tensor *x)
{
    mtf_tensor *dx;
    mtf_gradients(1, &y, 1, &x, NULL, &dx);
    return dx;
}

static void show(mtf_program *p, const char *what, mtf_tensor *x)
{
    double values[POINTS];
    printf("%-16s", what);
    if (mtf_fetch(p, x, values))
        for (int i = 0; i < POINTS; i++) printf(" %8.4f", values[i]);
    printf("\n");
}

/* One step of Newton's method for the square root of x: r <- (r + x / r) / 2. */
static void closer(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    (void)g;
    mtf_tensor *x = context, *r = in[0];
    out[0] = mtf_scale(mtf_add(r, mtf_divide(x, r)), 0.5);
}

int main(int argc, char **argv)
{
    mtf_dim      points = {"points", POINTS};
    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F64, mtf_shape(points));

    mtf_tensor *y = mtf_multiply(x, mtf_square(x)); /* x^3 */
    mtf_tensor *dy = derivative(y, x);              /* 3 x^2 */
    mtf_tensor *ddy = derivative(dy, x);            /* 6 x */

    /* Six iterations from 1.  The derivative runs the loop backwards, and is that of the root. */
    mtf_tensor *one = mtf_ones_like(x), *root;
    mtf_while_loop(g, 1, &one, &root, &(mtf_loop_opts){.trips = 6, .body = closer, .context = x});
    mtf_tensor *droot = derivative(root, x); /* 1 / (2 root) */

    mtf_program *p = mtf_compile(g, y, dy, ddy, root, droot);
    mtf_feed(p, x, (double[]){0.25, 1, 2, 4});
    mtf_step(p);

    printf("%-16s %8.4f %8.4f %8.4f %8.4f\n", "x", 0.25, 1.0, 2.0, 4.0);
    show(p, "x^3", y);
    show(p, "its slope", dy);
    show(p, "its curvature", ddy);
    show(p, "square root", root);
    show(p, "its slope", droot);

    /* Where nothing depends on x there is no gradient, which is NULL and not zero. */
    if (mtf_ok(s)) printf("floor(x) has %s gradient\n", derivative(mtf_floor(x), x) ? "a" : "no");
    return mtf_close(s);
}
