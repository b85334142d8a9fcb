"""Products and sums over named dimensions: einsum and reductions."""

import numpy as np
import torch

from common import FLOATS, NUMBERS, TYPES, Case, counted, names, order, sizes

INF, NAN = float("inf"), float("nan")


def einsum_of(xs, out):
    """xs: pairs of tensor and dimension names; letters stand for names."""
    letters = {}
    for _, dims in xs:
        for d in dims:
            letters.setdefault(d, "abcdefghijklmnop"[len(letters)])
    text = ",".join("".join(letters[d] for d in dims) for _, dims in xs)
    return torch.einsum(text + "->" + "".join(letters[d] for d in out), [x for x, _ in xs])


def einsum_case(path, says, inputs, out, text, kind="f32", gradient=3, line=None):
    """inputs: dims of each; out: dims of the result; text: what stands after the inputs."""
    c = Case("einsum/" + path, says)
    xs = [(counted(c.input("x%d" % i, kind, dims)), names(dims)) for i, dims in enumerate(inputs)]
    called = ", ".join("x%d" % i for i in range(len(inputs)))
    c.line(line or "y%s = einsum(%s%s)" % (text[0], called, text[1]))
    seen = [d for _, dims in xs for d in dims]
    y = einsum_of(xs, [d for d in names(out) if d in seen])
    for axis, (d, n) in enumerate(zip(names(out), sizes(out))):
        if d not in seen:  # a dimension that no input has is broadcast
            y = torch.stack([y] * n, axis)
    c.expect("y", y, out, kind)
    c.write(gradient)


def einsums():
    none = ("", "")
    einsum_case("matrix", "a matrix product", ["a=3, b=5", "b=5, c=2"], "a=3, c=2", none)
    einsum_case(
        "matmul",
        "matmul is einsum",
        ["a=3, b=5", "b=5, c=2"],
        "a=3, c=2",
        none,
        line="y = matmul(x0, x1)",
    )
    einsum_case(
        "permuted",
        "a product with every operand transposed",
        ["b=5, a=3", "c=2, b=5"],
        "c=2, a=3",
        (": [c, a]", ""),
    )
    einsum_case(
        "batched",
        "a batched product, batch in the middle",
        ["a=3, n=2, b=5", "b=5, c=2, n=2"],
        "n=2, a=3, c=2",
        (": [n, a, c]", ""),
    )
    einsum_case(
        "batch_last",
        "a batched product, batch last",
        ["n=2, a=3, b=5", "n=2, b=5, c=2"],
        "a=3, c=2, n=2",
        (": [a, c, n]", ""),
    )
    einsum_case("inner", "an inner product", ["a=7", "a=7"], "", none, gradient=3)
    einsum_case("outer", "an outer product", ["a=3", "b=5"], "a=3, b=5", none)
    einsum_case("vector", "a matrix times a vector", ["a=3, b=5", "b=5"], "a=3", none)
    einsum_case("scalars", "a product of scalars", ["", ""], "", none)
    einsum_case("scalar", "a scalar times a matrix", ["", "a=2, b=3"], "a=2, b=3", none)
    einsum_case(
        "ones", "dimensions of size 1 everywhere", ["a=1, b=1", "b=1, c=1"], "a=1, c=1", none
    )
    einsum_case(
        "one_wide", "a summed dimension of size 1", ["a=3, b=1", "b=1, c=2"], "a=3, c=2", none
    )
    einsum_case(
        "two_summed",
        "two summed dimensions, in different orders",
        ["a=2, p=3, q=2", "q=2, p=3, c=3"],
        "a=2, c=3",
        none,
    )
    einsum_case(
        "over",
        "the summed dimensions are given",
        ["a=3, b=2", "b=2, c=2"],
        "a=3, b=2",
        ("", ", over=(c)"),
    )
    einsum_case(
        "over_one_input",
        "a dimension that only one input has is summed",
        ["a=3, b=5", "c=2"],
        "a=3, c=2",
        ("", ", over=(b)"),
    )
    einsum_case(
        "keep_all", "an elementwise product", ["a=3, b=2", "b=2, a=3"], "b=2, a=3", (": [b, a]", "")
    )
    einsum_case(
        "transpose",
        "one input: a transposition",
        ["a=3, b=5, c=2"],
        "c=2, a=3, b=5",
        (": [c, a, b]", ""),
        gradient=3,
    )
    einsum_case(
        "sum",
        "one input: a sum, and the rest transposed",
        ["a=3, b=5, c=2"],
        "c=2, a=3",
        (": [c, a]", ""),
        gradient=3,
    )
    einsum_case(
        "single_sum",
        "a dimension of one input is summed before the product",
        ["a=3, b=5, e=2", "b=5, c=2"],
        "a=3, c=2",
        (": [a, c]", ""),
    )
    einsum_case(
        "broadcast",
        "a result dimension that no input has",
        ["a=3, b=2", "b=2"],
        "a=3, e=2",
        (": [a, e=2]", ""),
    )
    einsum_case(
        "three",
        "three inputs in a chain",
        ["a=3, b=2", "b=2, c=5", "c=5, d=2"],
        "a=3, d=2",
        none,
        gradient=3,
    )
    einsum_case(
        "three_shared",
        "three inputs with one dimension in all",
        ["a=3, n=2", "n=2, b=3", "n=2"],
        "a=3, b=3",
        (": [a, b]", ""),
        gradient=3,
    )
    einsum_case(
        "four",
        "four inputs, small ones between large",
        ["a=3, b=3", "b=3", "c=2, b=3", "a=3"],
        "c=2, a=3",
        (": [c, a]", ""),
    )
    einsum_case(
        "attention",
        "two batch dimensions, as attention has them",
        ["n=2, h=2, q=3, k=2", "n=2, h=2, m=3, k=2"],
        "n=2, h=2, q=3, m=3",
        (": [n, h, q, m]", ""),
    )
    for kind in TYPES[1:]:
        einsum_case(
            "matrix_" + kind,
            "a matrix product of " + kind,
            ["a=3, b=5", "c=2, b=5"],
            "a=3, c=2",
            none,
            kind,
            0,
        )
        einsum_case(
            "batched_" + kind,
            "a batched product of " + kind,
            ["n=2, a=3, b=2", "b=2, c=3, n=2"],
            "c=3, n=2, a=3",
            (": [c, n, a]", ""),
            kind,
            0,
        )
        einsum_case(
            "vector_" + kind, "an inner product of " + kind, ["a=5", "a=5"], "", none, kind, 0
        )
    c = Case("einsum/same_twice", "the same tensor as both inputs")
    x = c.input("x", "f32", "a=3, b=5")
    c.line("y: [a] = einsum(x, x)")
    c.expect("y", (x * x).sum(1), "a=3")
    c.gradients("dx", "y", "x")
    c.write(3)


def reduce_flat(x, kept, dims, f):
    """f over the last axis of x with its kept dimensions first."""
    rest = [d for d in dims if d not in kept]
    y = order(x, dims, kept + rest)
    return f(y.reshape(list(y.shape[: len(kept)]) + [-1]))


REDUCE = {
    "reduce_sum": (lambda x: x.sum(-1), NUMBERS, 3),
    "reduce_mean": (lambda x: x.mean(-1), FLOATS, 3),
    "reduce_max": (lambda x: x.max(-1).values, NUMBERS, 3),
    "reduce_min": (lambda x: x.min(-1).values, NUMBERS, 3),
    "reduce_prod": (lambda x: x.prod(-1), NUMBERS, 3),
    "reduce_all": (lambda x: x.all(-1), ("bool",), 0),
    "reduce_any": (lambda x: x.any(-1), ("bool",), 0),
}
# dims of x, text before and after, kept dims
KEPT = (
    ("", "", "", ""),
    ("a=1, b=3", "", ", over=(b)", "a=1"),
    ("a=3, b=1", "", ", over=(b)", "a=3"),
    ("a=5", "", "", ""),
    ("a=3, b=5, c=2", "", ", over=(b)", "a=3, c=2"),
    ("a=2, b=3, c=2", ": [c, a]", "", "c=2, a=2"),
    ("a=2, b=3, c=3", "", ", over=(c, a)", "b=3"),
    ("a=2, b=3, c=2", "", "", ""),
)


def reductions():
    for name, (f, kinds, derivatives) in REDUCE.items():
        kind = kinds[0]
        c = Case("reduce/" + name, name + ": nothing, one or several dimensions, in any order")
        for i, (dims, before, after, kept) in enumerate(KEPT):
            x = c.input("x%d" % i, kind, dims, low=-2, high=2)
            c.line("y%d%s = %s(x%d%s)" % (i, before, name, i, after))
            c.expect("y%d" % i, reduce_flat(x, names(kept), names(dims), f), kept, kind)
        c.write(derivatives)
        if len(kinds) == 1:
            continue
        c = Case("reduce/%s_types" % name, name + " of the other types")
        for kind in kinds[1:]:
            x = c.input("x_" + kind, kind, "a=3, b=5", low=-2, high=2)
            c.line("y_%s = %s(x_%s, over=(a))\nz_%s = %s(x_%s)" % ((kind, name, kind) * 2))
            c.expect("y_" + kind, f(x.T), "b=5", kind)
            c.expect("z_" + kind, f(x.flatten()), "", kind)
        c.write(0)
    c = Case("reduce/reduce_prod_zeros", "the gradient of a product with no, one and two zeros")
    x = c.input("x", "f32", "a=3, b=4", [[1.5, -2, 3, 0.5], [2, 0, -3, 4], [0, 2, 0, 5]])
    c.line("y = reduce_prod(x, over=(b))")
    c.expect("y", x.prod(1), "a=3")
    c.gradients("dx", "y", "x")
    c.write(3)
    for name, sign in (("reduce_max", 1), ("reduce_min", -1)):
        c = Case("reduce/%s_tie" % name, "of equal elements the first receives the whole gradient")
        x = c.input(
            "x", "f32", "a=3, b=4", sign * np.array([[1, 3, 3, 2], [4, 4, 4, 4], [0, -1, 0, -2]])
        )
        c.line("y = %s(x, over=(b))\nz = %s(x)\nw: [b] = %s(x)" % (name, name, name))
        pick = (lambda v: v.max()) if sign > 0 else (lambda v: v.min())
        c.expect("y", torch.stack([pick(row) for row in x]), "a=3")
        c.expect("z", pick(x))
        c.expect("w", torch.stack([pick(column) for column in x.T]), "b=4")
        c.gradients(
            "dy", "y", "x", values=[torch.tensor([[0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])]
        )
        c.gradients(
            "dz", "z", "x", values=[torch.tensor([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])]
        )
        c.gradients(
            "dw", "w", "x", values=[torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]])]
        )
        c.write(0)
        c = Case("reduce/%s_nan" % name, name + ": not a number wins, infinities count")
        x = c.input("x", "f32", "a=3, b=3", [[1, NAN, 2], [-INF, INF, 0], [-INF, -INF, -INF]])
        c.line("y = %s(x, over=(b))" % name)
        c.expect("y", x.amax(1) if sign > 0 else x.amin(1))
        c.write(0)


def positions():
    for name, f in (("argmax_over", np.argmax), ("argmin_over", np.argmin)):
        c = Case("reduce/" + name, name + ": the position in row-major order of what is reduced")
        for i, (dims, before, after, kept) in enumerate(KEPT):
            if not dims:
                continue
            x = c.input("x%d" % i, "f32", dims)
            c.line("y%d%s = %s(x%d%s)" % (i, before, name, i, after))
            place = lambda v: torch.as_tensor(f(v.detach().numpy(), axis=-1))
            c.expect("y%d" % i, reduce_flat(x, names(kept), names(dims), place), kept, "i32")
        c.write(0)


def firsts():
    c = Case("reduce/reduce_first", "the first element along a dimension")
    for i, (dims, dim, kept) in enumerate(
        (("a=1", "a", ""), ("a=3, b=5", "b", "a=3"), ("c=2, a=3, b=5", "a", "c=2, b=5"))
    ):
        x = c.input("x%d" % i, "f32", dims)
        c.line("y%d = reduce_first(x%d, dim=%s)" % (i, i, dim))
        c.expect("y%d" % i, x.select(names(dims).index(dim), 0), kept)
    c.write(3)
    c = Case("reduce/reduce_first_types", "the first element of other types")
    for kind in TYPES[1:]:
        x = c.input("x_" + kind, kind, "a=3, b=2")
        c.line("y_%s = reduce_first(x_%s, dim=a)" % (kind, kind))
        c.expect("y_" + kind, x[0], "b=2", kind)
    c.write(0)
    for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
        c = Case("reduce/" + name, name + ": the lowest index of equals, every type")
        for i, (dims, dim, kept) in enumerate(
            (("a=1", "a", ""), ("a=3, b=5", "b", "a=3"), ("c=2, a=3, b=5", "a", "c=2, b=5"))
        ):
            x = c.input("x%d" % i, "f32", dims)
            c.line("y%d = %s(x%d, dim=%s)" % (i, name, i, dim))
            c.expect("y%d" % i, f(x.detach().numpy(), axis=names(dims).index(dim)), kept, "i32")
        for kind in TYPES:
            values = [[1, 3, -2, 3, -2], [7, 7, 7, 7, 7]]
            if kind == "bool":
                values = [[0, 1, 0, 1, 0], [1, 1, 1, 1, 1]]
            x = c.input("x_" + kind, kind, "a=2, b=5", values)
            c.line("y_%s = %s(x_%s, dim=b)" % (kind, name, kind))
            c.expect("y_" + kind, f(x.detach().numpy(), axis=1), "a=2", "i32")
        c.write(0)
        c = Case("reduce/%s_nan" % name, name + ": the first NaN where there is one")
        x = c.input("x", "f32", "a=2, b=4", [[1, NAN, 5, NAN], [INF, -INF, INF, -INF]])
        c.line("y = %s(x, dim=b)" % name)
        c.expect("y", f(x.detach().numpy(), axis=1), "a=2", "i32")
        c.write(0)


def write():
    einsums()
    reductions()
    positions()
    firsts()
