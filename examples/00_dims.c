/* Names dimensions, and computes with shapes.
 *
 * A dimension is a name and a size; a shape is an ordered set of dimensions.
 * Everything in the language matches by name, so there is no axis 0 to
 * remember and nothing to transpose by hand.
 */
#include <mtf.h>

#include <stdio.h>

static void show(const char *what, mtf_shape s)
{
    char text[200];
    mtf_shape_print(s, text, sizeof text);
    printf("%-26s %8lld   %s\n", what, (long long)mtf_shape_size(s), text);
}

int main(void)
{
    mtf_dim batch = {"batch", 100}, rows = {"rows", 28}, cols = {"cols", 28};
    mtf_dim hidden = {"hidden", 64};

    /* Shapes are values: written where they are needed, passed and returned like numbers. */
    mtf_shape images = mtf_shape(batch, rows, cols);
    mtf_shape weights = mtf_shape(rows, cols, hidden);
    show("images", images);
    show("weights", weights);
    show("a scalar", mtf_shape());

    /* Set operations by name: union and difference. */
    show("images + weights", mtf_shape_plus(images, weights));
    show("images - weights", mtf_shape_minus(images, weights));
    show("rename cols", mtf_shape_rename(images, "cols", "width"));
    show("resize batch", mtf_shape_resize(images, "batch", 10));

    mtf_dim   pixels = mtf_combined_dimension(mtf_shape(rows, cols), "pixels");
    mtf_shape flat = mtf_shape_replace(images, mtf_shape(rows, cols), mtf_shape(pixels));
    show("rows and cols as pixels", flat);

    /* Operations follow the names: b has one dimension of x, and the sum has all of x's. */
    mtf_session *s = mtf_open_with(NULL);
    mtf_graph   *g = mtf_graph_new(s);
    mtf_tensor  *x = mtf_input(g, "x", MTF_F32, mtf_shape_parse(s, "batch:100 hidden:64"));
    mtf_tensor  *b = mtf_variable(g, "b", mtf_shape(hidden), NULL);
    mtf_tensor  *y = mtf_add(b, x);
    show("b + x", mtf_shape_of_tensor(y));
    show("its mean over batch", mtf_shape_of_tensor(mtf_reduce_mean(y, mtf_shape(batch))));

    /* An error is a sentence.  Calls need no checks: the session keeps the first error. */
    mtf_tensor *wrong = mtf_input(g, "wrong", MTF_F32, mtf_shape(((mtf_dim){"hidden", 46})));
    mtf_tensor *never = mtf_exp(mtf_add(x, wrong));
    printf("%s\n", never ? "this cannot happen" : mtf_error(s));
    return mtf_close(s) ? 0 : 1; /* this example expects the error */
}
