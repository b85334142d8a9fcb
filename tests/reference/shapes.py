"""Moving elements about: broadcast, transpose, reshape, concat, split, stack, slice, pad."""

import numpy as np
import torch

from common import NUMBERS, TYPES, Case, along, names, order, sizes


def named(dims_names, dims_sizes):
    return ", ".join("%s=%d" % p for p in zip(dims_names, dims_sizes))


def moves(path, says, rows, gradient=3):
    """rows: dims of x, annotation, call with X for the input, function, dims of y."""
    c = Case(path, says)
    for i, (dims, annotation, call, f, out) in enumerate(rows):
        x = c.input("x%d" % i, "f32", dims)
        c.line("y%d%s = %s" % (i, annotation, call.replace("X", "x%d" % i)))
        c.expect("y%d" % i, f(x), out)
    c.write(gradient)


def typed(path, says, annotation, call, f, dims="a=3, b=5", kinds=TYPES):
    c = Case(path, says)
    for kind in kinds:
        x = c.input("x_" + kind, kind, dims)
        c.line("y_%s%s = %s" % (kind, annotation, call.replace("X", "x_" + kind)))
        c.expect("y_" + kind, f(x), kind=kind)
    c.write(0)


def layouts():
    def grow(have, want):
        return lambda x: order(x, names(have), names(want)).expand(sizes(want))

    rows = [
        (have, ": [%s]" % want, "broadcast(X)", grow(have, want), want)
        for have, want in (
            ("", "a=3"),
            ("a=1, b=3", "b=3, c=2, a=1"),
            ("a=3", "b=5, a=3"),
            ("a=3", "a=3, b=2"),
            ("a=2, b=3", "b=3, c=2, a=2"),
            ("a=2", "a=2"),
        )
    ]
    moves("shape/broadcast", "broadcast to more dimensions, in any order", rows)
    typed(
        "shape/broadcast_types",
        "broadcast of every type",
        ": [b=2, a=5]",
        "broadcast(X)",
        lambda x: x.expand(2, 5),
        "a=5",
    )

    def transpose(have, want):
        return lambda x: order(x, names(have), names(want))

    rows = [
        (have, ": [%s]" % want, "transpose(X)", transpose(have, want), want)
        for have, want in (
            ("", ""),
            ("a=1, b=3", "b=3, a=1"),
            ("a=3, b=5", "b=5, a=3"),
            ("a=3, b=5, c=2", "c=2, a=3, b=5"),
            ("a=3, b=5, c=2", "b=5, a=3, c=2"),
            ("a=2, b=3, c=2, d=3", "d=3, b=3, a=2, c=2"),
        )
    ]
    moves("shape/transpose", "transposition of one to four dimensions", rows)
    typed(
        "shape/transpose_types",
        "transposition of every type",
        ": [b, a]",
        "transpose(X)",
        lambda x: x.T,
    )

    rows = [
        (have, ": [%s]" % want, "reshape(X)", lambda x, n=tuple(sizes(want)): x.reshape(n), want)
        for have, want in (
            ("", "a=1"),
            ("a=1, b=1", ""),
            ("a=3, b=5", "n=15"),
            ("n=6", "a=2, b=3"),
            ("a=2, b=3, c=2", "c=2, p=6"),
            ("a=6, b=2", "a=4, b=3"),
            ("a=3", "z=3"),
        )
    ]
    moves("shape/reshape", "row-major reshapes: merge, divide, rename", rows)
    typed(
        "shape/reshape_types",
        "reshape of every type",
        ": [p=5, q=3]",
        "reshape(X)",
        lambda x: x.reshape(5, 3),
    )
    c = Case("shape/reshape_transposed", "a reshape right after a transposition")
    x = c.input("x", "f32", "a=3, b=5")
    c.line("t: [b, a] = transpose(x)\ny: [n=15] = reshape(t)")
    c.expect("y", x.T.reshape(15), "n=15")
    c.write(3)

    rows = [
        (have, "", "rename_dimension(X, from=a, to=z)", lambda x: x, have.replace("a=", "z="))
        for have in ("a=1", "b=3, a=5", "a=3, b=2, c=2")
    ]
    moves("shape/rename_dimension", "another name for a dimension", rows)
    rows = [
        ("a=1", "", "rename(X, from=a, to=z)", lambda x: x, "z=1"),
        ("b=3, a=5", "", "rename(X, from=(a), to=(z))", lambda x: x, "b=3, z=5"),
        ("a=3, b=2", "", "rename(X, from=(a, b), to=(b, a))", lambda x: x, "b=3, a=2"),
        ("a=2, b=3, c=2", "", "rename(X, from=(c, a), to=(a, y))", lambda x: x, "y=2, b=3, a=2"),
        ("a=2, b=3", "", "rename(X, from=(b, a), to=(b, q))", lambda x: x, "q=2, b=3"),
    ]
    moves("shape/rename", "other names for dimensions, exchanged too", rows)
    typed(
        "shape/rename_dimension_types",
        "another name, every type",
        "",
        "rename_dimension(X, from=b, to=q)",
        lambda x: x,
    )


def joins():
    c = Case(
        "shape/concat", "concatenation along the first, middle, last dimension, of one to three"
    )
    for i, (parts, axis, dim, out) in enumerate(
        (
            (("a=1",), 0, "a", "a=1"),
            (("a=2", "a=3"), 0, "a", "a=5"),
            (("a=3, b=1", "a=3, b=5", "a=3, b=2"), 1, "b", "a=3, b=8"),
            (("a=2, b=3, c=2", "a=2, b=1, c=2"), 1, "b", "a=2, b=4, c=2"),
        )
    ):
        xs = [c.input("x%d_%d" % (i, j), "f32", dims) for j, dims in enumerate(parts)]
        called = ", ".join("x%d_%d" % (i, j) for j in range(len(parts)))
        c.line("y%d = concat(%s, dim=%s)" % (i, called, dim))
        c.expect("y%d" % i, torch.cat(xs, axis), out)
    c.write(3)
    c = Case("shape/concat_types", "concatenation of every type")
    for kind in TYPES:
        x, y = c.input("x_" + kind, kind, "a=2, b=3"), c.input("y_" + kind, kind, "a=2, b=2")
        c.line("z_%s = concat(x_%s, y_%s, dim=b)" % (kind, kind, kind))
        c.expect("z_" + kind, torch.cat([x, y], 1), "a=2, b=5", kind)
    c.write(0)
    c = Case("shape/concat_same", "the same tensor twice")
    x = c.input("x", "f32", "a=3, b=2")
    c.line("y = concat(x, x, dim=a)\nz = y * y")
    c.expect("z", torch.cat([x, x]) ** 2, "a=6, b=2")
    c.gradients("dx", "z", "x")
    c.write(3)
    c = Case("shape/split", "split into uneven parts, along the first, middle, last dimension")
    for i, (dims, dim, parts) in enumerate(
        (
            ("a=1", "a", (1,)),
            ("a=7", "a", (2, 5)),
            ("a=3, b=6, c=2", "b", (1, 2, 3)),
            ("a=3, b=4", "b", (2, 2)),
        )
    ):
        x = c.input("x%d" % i, "f32", dims)
        results = ["y%d_%d" % (i, j) for j in range(len(parts))]
        c.line(
            "%s = split(x%d, dim=%s, sizes=(%s))"
            % (", ".join(results), i, dim, ", ".join(map(str, parts)))
        )
        for r, y in zip(results, torch.split(x, parts, names(dims).index(dim))):
            c.expect(r, y)
    c.write(3)
    c = Case("shape/split_types", "split of every type")
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "a=2, b=5")
        c.line("p_%s, q_%s = split(x_%s, dim=b, sizes=(3, 2))" % (kind, kind, kind))
        c.expect("p_" + kind, x[:, :3], "a=2, b=3", kind)
        c.expect("q_" + kind, x[:, 3:], "a=2, b=2", kind)
    c.write(0)
    c = Case("shape/split_dropped", "a part that nobody uses has gradient zero")
    x = c.input("x", "f32", "a=5")
    c.line("_, q, _ = split(x, dim=a, sizes=(2, 2, 1))\ny = q * q")
    c.expect("y", x[2:4] ** 2, "a=2")
    c.gradients("dx", "y", "x")
    c.write(3)


def stacks():
    c = Case("shape/stack", "stacking at every axis")
    for i, (dims, n, axis, out) in enumerate(
        (
            ("", 2, 0, "z=2"),
            ("a=3", 1, 0, "z=1, a=3"),
            ("a=3, b=2", 2, 0, "z=2, a=3, b=2"),
            ("a=3, b=2", 3, 1, "a=3, z=3, b=2"),
            ("a=3, b=2", 2, 2, "a=3, b=2, z=2"),
        )
    ):
        xs = [c.input("x%d_%d" % (i, j), "f32", dims) for j in range(n)]
        called = ", ".join("x%d_%d" % (i, j) for j in range(n))
        c.line("y%d = stack(%s, dim=z%s)" % (i, called, ", axis=%d" % axis if axis else ""))
        c.expect("y%d" % i, torch.stack(xs, axis), out)
    c.write(3)
    c = Case("shape/unstack", "unstacking along every axis")
    for i, (dims, dim) in enumerate(
        (("a=1", "a"), ("a=3, b=2", "a"), ("a=2, b=3, c=2", "b"), ("a=5, c=2", "c"))
    ):
        x = c.input("x%d" % i, "f32", dims)
        parts = torch.unbind(x, names(dims).index(dim))
        results = ["y%d_%d" % (i, j) for j in range(len(parts))]
        c.line("%s = unstack(x%d, dim=%s)" % (", ".join(results), i, dim))
        for r, y in zip(results, parts):
            c.expect(r, y)
    c.write(3)
    c = Case("shape/unstack_dropped", "gradients where some parts are not used")
    x = c.input("x", "f32", "a=3, b=2")
    c.line("p, _, _ = unstack(x, dim=a)\ny = p * p")
    c.expect("y", x[0] ** 2, "b=2")
    c.gradients("dx", "y", "x")
    c.write(3)
    c = Case("shape/stack_types", "stack and unstack of every type")
    for kind in TYPES:
        x, y = c.input("x_" + kind, kind, "a=3"), c.input("y_" + kind, kind, "a=3")
        c.line(
            "z_%s = stack(x_%s, y_%s, dim=s, axis=1)\nu_%s, v_%s = unstack(z_%s, dim=s)"
            % ((kind,) * 6)
        )
        c.expect("z_" + kind, torch.stack([x, y], 1), "a=3, s=2", kind)
        c.expect("u_" + kind, x, "a=3", kind)
        c.expect("v_" + kind, y, "a=3", kind)
    c.write(0)


def cut(axis, begin, size, step=1):
    return lambda x: along(x, axis, [begin + step * i for i in range(size)])


def padded(axis, before, after, between=0, value=0.0):
    def f(x):
        n = x.shape[axis]
        where = [before + i * (between + 1) for i in range(n)]
        shape = list(x.shape)
        shape[axis] = before + after + n + between * max(n - 1, 0)
        y = torch.full(shape, value, dtype=x.dtype)
        return y.index_copy(axis, torch.tensor(where, dtype=torch.int64), x)

    return f


def mirrored(axis, before, after, mode):
    def f(x):
        index = np.pad(np.arange(x.shape[axis]), (before, after), mode)
        return along(x, axis, index)

    return f


def slices():
    moves(
        "shape/slice",
        "slices, with steps, along every dimension",
        [
            ("a=1", "", "slice(X, dim=a, begin=0, size=1)", cut(0, 0, 1), "a=1"),
            ("a=7", "", "slice(X, dim=a, begin=2, size=3)", cut(0, 2, 3), "a=3"),
            (
                "a=7, b=2",
                "",
                "slice(X, dim=a, begin=1, size=3, step=2)",
                cut(0, 1, 3, 2),
                "a=3, b=2",
            ),
            (
                "a=2, b=5, c=3",
                "",
                "slice(X, dim=b, begin=0, size=2, step=3)",
                cut(1, 0, 2, 3),
                "a=2, b=2, c=3",
            ),
            ("a=3, b=5", "", "slice(X, dim=b, begin=4, size=1)", cut(1, 4, 1), "a=3, b=1"),
        ],
    )
    typed(
        "shape/slice_types",
        "a slice of every type",
        "",
        "slice(X, dim=b, begin=1, size=2, step=2)",
        cut(1, 1, 2, 2),
    )
    moves(
        "shape/pad",
        "padding before, after, between",
        [
            ("a=1", "", "pad(X, dim=a, before=1)", padded(0, 1, 0), "a=2"),
            ("a=3", "", "pad(X, dim=a, after=2)", padded(0, 0, 2), "a=5"),
            ("a=3, b=5", "", "pad(X, dim=a, before=1, after=2)", padded(0, 1, 2), "a=6, b=5"),
            ("a=2, b=3, c=2", "", "pad(X, dim=b, between=2)", padded(1, 0, 0, 2), "a=2, b=7, c=2"),
            ("a=3", "", "pad(X, dim=a, before=1, after=2, between=1)", padded(0, 1, 2, 1), "a=8"),
            (
                "a=3, b=2",
                "",
                "pad(X, dim=b, before=1, after=1, value=-1.5)",
                padded(1, 1, 1, 0, -1.5),
                "a=3, b=4",
            ),
            ("a=3", "", "pad(X, dim=a)", lambda x: x, "a=3"),
        ],
    )
    typed(
        "shape/pad_types",
        "padding of every number type, with a value",
        "",
        "pad(X, dim=b, before=1, after=2, value=3)",
        padded(1, 1, 2, 0, 3),
        "a=2, b=3",
        NUMBERS,
    )
    typed(
        "shape/pad_bool",
        "padding of flags with true",
        "",
        "pad(X, dim=b, before=1, after=2, value=1)",
        padded(1, 1, 2, 0, True),
        "a=2, b=3",
        ("bool",),
    )
    typed(
        "shape/pad_types_zero",
        "padding of every type with zero",
        "",
        "pad(X, dim=b, before=1, after=2, between=1)",
        padded(1, 1, 2, 1, 0),
        "a=2, b=3",
    )
    for name, mode in (("pad_reflect", "reflect"), ("pad_edge", "edge")):
        rows = [
            (
                dims,
                "",
                "%s(X, dim=%s, before=%d, after=%d)" % (name, dim, p, q),
                mirrored(names(dims).index(dim), p, q, mode),
                out,
            )
            for dims, dim, p, q, out in (
                ("a=2", "a", 1, 1, "a=4"),
                ("a=5", "a", 3, 2, "a=10"),
                ("a=3, b=5", "a", 2, 0, "a=5, b=5"),
                ("a=2, b=3, c=2", "b", 0, 2, "a=2, b=5, c=2"),
            )
        ]
        if mode == "edge":
            rows.append(
                ("a=1", "", "pad_edge(X, dim=a, before=2, after=1)", mirrored(0, 2, 1, mode), "a=4")
            )
        moves("shape/" + name, name + " along every dimension", rows)
        typed(
            "shape/%s_types" % name,
            name + " of every type",
            "",
            name + "(X, dim=b, before=2, after=1)",
            mirrored(1, 2, 1, mode),
        )


def write():
    layouts()
    joins()
    stacks()
    slices()
