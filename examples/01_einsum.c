/* Multiplies and sums: einsum in its forms.
 *
 * One rule: multiply the inputs, then sum every dimension that the output
 * lacks.  Which product it is, matrix, outer, inner, batched, follows from the
 * names alone; the order of the dimensions never matters.
 */
#include <mtf.h>

#include <stdio.h>

static void show(mtf_program *p, const char *what, mtf_tensor *x)
{
    mtf_shape shape = mtf_shape_of_tensor(x);
    char      text[100];
    float     values[64];
    mtf_shape_print(shape, text, sizeof text);
    printf("%-16s %-24s", what, text);
    if (mtf_fetch(p, x, values))
        for (int i = 0; i < mtf_shape_size(shape); i++) printf(" %g", (double)values[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    mtf_dim i = {"i", 2}, j = {"j", 3}, k = {"k", 2};

    mtf_session *s = mtf_open(argc, argv);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *a = mtf_input(g, "a", MTF_F32, mtf_shape(i, j));
    mtf_tensor  *b = mtf_input(g, "b", MTF_F32, mtf_shape(j, k));
    mtf_tensor  *v = mtf_input(g, "v", MTF_F32, mtf_shape(j));

    mtf_tensor *matrix = mtf_einsum(mtf_shape(i, k), a, b);   /* sums j: the matrix product   */
    mtf_tensor *turned = mtf_einsum(mtf_shape(k, i), b, a);   /* the same, laid out otherwise */
    mtf_tensor *vector = mtf_einsum(mtf_shape(i), a, v);      /* matrix times vector          */
    mtf_tensor *inner = mtf_einsum(mtf_shape(), v, v);        /* sums everything              */
    mtf_tensor *outer = mtf_einsum(mtf_shape(i, j, k), a, b); /* sums nothing                 */
    mtf_tensor *sums = mtf_einsum(mtf_shape(i), a);           /* one input: a plain sum       */
    mtf_tensor *copies = mtf_einsum(mtf_shape(k, j), v);      /* k is new: repeated           */
    mtf_tensor *three = mtf_einsum(mtf_shape(i, k), a, v, b); /* any number, cheapest first   */

    mtf_program *p = mtf_compile(g, matrix, turned, vector, inner, outer, sums, copies, three);
    mtf_feed(p, a, (float[]){1, 2, 3, 4, 5, 6});
    mtf_feed(p, b, (float[]){1, 0, 0, 1, 1, 1});
    mtf_feed(p, v, (float[]){1, 10, 100});
    mtf_step(p);

    show(p, "matrix product", matrix);
    show(p, "turned", turned);
    show(p, "vector", vector);
    show(p, "inner", inner);
    show(p, "outer", outer);
    show(p, "sums", sums);
    show(p, "copies", copies);
    show(p, "three inputs", three);
    return mtf_close(s);
}
