"""Neighbours: reversal, shifts, halo exchange and the 1-d pooling helpers."""

import torch

from common import NUMBERS, TYPES, Case, along, names, sizes
from shapes import cut, moves, named, padded, typed


def moved(axis, offset, wrap):
    def f(x):
        if wrap:
            return torch.roll(x, offset, axis)
        n = x.shape[axis]
        y = torch.zeros_like(x)
        where = [i + offset for i in range(n) if 0 <= i + offset < n]
        kept = along(x, axis, [i for i in range(n) if 0 <= i + offset < n])
        return y.index_copy(axis, torch.tensor(where, dtype=torch.int64), kept) if where else x * 0

    return f


def shifts():
    moves(
        "shape/reverse",
        "reversal along every dimension",
        [
            ("a=1", "", "reverse(X, dim=a)", lambda x: x, "a=1"),
            ("a=7", "", "reverse(X, dim=a)", lambda x: x.flip(0), "a=7"),
            ("a=3, b=5, c=2", "", "reverse(X, dim=b)", lambda x: x.flip(1), "a=3, b=5, c=2"),
            ("b=5, a=2", "", "reverse(X, dim=a)", lambda x: x.flip(1), "b=5, a=2"),
        ],
    )
    typed(
        "shape/reverse_types",
        "reversal of every type",
        "",
        "reverse(X, dim=b)",
        lambda x: x.flip(1),
    )
    for wrap in (False, True):
        rows = [
            (
                dims,
                "",
                "shift(X, dim=%s, offset=%d%s)" % (dim, n, ", wrap=true" if wrap else ""),
                moved(names(dims).index(dim), n, wrap),
                dims,
            )
            for dims, dim, n in (
                ("a=1", "a", 1),
                ("a=5", "a", 2),
                ("a=5", "a", -1),
                ("a=3, b=5", "a", 1),
                ("a=2, b=5, c=2", "b", -3),
                ("a=3, b=2", "b", 7),
                ("a=3", "a", -8),
                ("a=3", "a", 0),
            )
        ]
        tail = "_wrap" if wrap else ""
        moves(
            "shape/shift" + tail,
            "shifts to both sides, also by more than the size" + tail.replace("_", ", "),
            rows,
        )
        typed(
            "shape/shift%s_types" % tail,
            "a shift of every type",
            "",
            "shift(X, dim=b, offset=2%s)" % (", wrap=true" if wrap else ""),
            moved(1, 2, wrap),
        )
    for wrap in (False, True):
        dynamic_shift(wrap)
    dynamic_shift_types()


def dynamic_shift(wrap):
    tail, text = ("_wrap", ", wrap=true") if wrap else ("", "")
    c = Case(
        "shape/dynamic_shift" + tail,
        "shifts by an offset that is a tensor" + tail.replace("_", ", "),
    )
    x, o = c.input("x0", "f32", "a=5"), c.input("o0", "i32", "", [2])
    c.line("y0 = dynamic_shift(x0, o0, dim=a%s)" % text)
    c.expect("y0", moved(0, int(o), wrap)(x), "a=5")
    x, o = c.input("x1", "f32", "a=3, b=5"), c.input("o1", "i32", "a=3", [1, -2, 9])
    c.line("y1 = dynamic_shift(x1, o1, dim=b%s)" % text)
    c.expect("y1", torch.stack([moved(0, int(n), wrap)(r) for n, r in zip(o, x)]), "a=3, b=5")
    x, o = c.input("x2", "f32", "b=3, a=2, c=2"), c.input("o2", "i64", "c=2", [0, -1])
    c.line("y2 = dynamic_shift(x2, o2, dim=b%s)" % text)
    c.expect(
        "y2",
        torch.stack([moved(0, int(o[k]), wrap)(x[:, :, k]) for k in range(2)], 2),
        "b=3, a=2, c=2",
    )
    x, o = c.input("x3", "f32", "a=2, b=3, c=2"), c.input("o3", "i32", "c=2, a=2", [1, 0, -1, 2])
    c.line("y3 = dynamic_shift(x3, o3, dim=b%s)" % text)
    c.expect(
        "y3",
        torch.stack(
            [
                torch.stack([moved(0, int(o[k, i]), wrap)(x[i, :, k]) for k in range(2)], 1)
                for i in range(2)
            ]
        ),
        "a=2, b=3, c=2",
    )
    c.write(3)


def dynamic_shift_types():
    c = Case("shape/dynamic_shift_types", "shifts by a tensor of every type")
    o = c.input("o", "i32", "a=2", [1, -2])
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "a=2, b=5")
        c.line("y_%s = dynamic_shift(x_%s, o, dim=b, wrap=true)" % (kind, kind))
        rows = [moved(0, int(n), True)(r) for n, r in zip(o, x)]
        c.expect("y_" + kind, torch.stack(rows), "a=2, b=5", kind)
    c.write(0)


def halo(x, left, right, wrap, axis=0):
    """x[.., blocks, size, ..]: each block with its neighbours' elements on both sides."""
    blocks, size = x.shape[axis], x.shape[axis + 1]
    flat, total = x.flatten(axis, axis + 1), blocks * size
    if not wrap:
        flat = padded(axis, left, right)(flat)
    base = 0 if wrap else left
    rows = []
    for b in range(blocks):
        at = [base + b * size + i for i in range(-left, size + right)]
        rows.append(along(flat, axis, [i % total for i in at] if wrap else at))
    return torch.stack(rows, axis)


def halos():
    for name, left in (("halo_exchange", False), ("left_halo_exchange", True)):
        for wrap in (False, True):
            rows = []
            for dims, h, axis in (
                ("n=3, s=2", 1, 0),
                ("n=3, s=2", 0, 0),
                ("a=2, n=3, s=3", 2, 1),
                ("n=1, s=3", 2, 0),
                ("n=4, s=2", 3, 0),
                ("n=2, s=3, c=2", 1, 0),
            ):
                out = sizes(dims)
                out[axis + 1] += h if left else 2 * h
                rows.append(
                    (
                        dims,
                        "",
                        "%s(X, blocks=n, size=s, halo=%d%s)"
                        % (name, h, ", wrap=true" if wrap else ""),
                        lambda x, h=h, a=axis: halo(x, h, 0 if left else h, wrap, a),
                        named(names(dims), out),
                    )
                )
            moves(
                "shape/%s%s" % (name, "_wrap" if wrap else ""),
                name + ": halos of none, less and more than a block",
                rows,
            )
        typed(
            "shape/%s_types" % name,
            name + " of every type",
            "",
            name + "(X, blocks=n, size=s, halo=1)",
            lambda x: halo(x, 1, 0 if left else 1, False),
            "n=3, s=2",
            TYPES,
        )


def grouped(f, axis, size):
    return lambda x: f(x.unflatten(axis, (x.shape[axis] // size, size)), axis + 1)


def helpers():
    kinds = {
        "": torch.mean,
        ", reduce=max": torch.amax,
        ", reduce=sum": torch.sum,
        ", reduce=min": torch.amin,
    }
    rows = []
    for text, f in kinds.items():
        for dims, dim, size, out in (
            ("a=2", "a", 2, "a=1"),
            ("a=6, b=3", "a", 3, "a=2, b=3"),
            ("a=2, b=4, c=2", "b", 2, "a=2, b=2, c=2"),
            ("a=3", "a", 1, "a=3"),
        ):
            rows.append(
                (
                    dims,
                    "",
                    "pool_tensor_1d(X, dim=%s%s%s)"
                    % (dim, ", size=%d" % size if size != 2 else "", text),
                    grouped(f, names(dims).index(dim), size),
                    out,
                )
            )
    moves("shape/pool_tensor_1d", "groups of neighbours reduced, every way", rows)
    moves(
        "shape/stride_tensor_1d",
        "the first of each group",
        [
            ("a=2", "", "stride_tensor_1d(X, dim=a)", cut(0, 0, 1, 2), "a=1"),
            ("a=6, b=3", "", "stride_tensor_1d(X, dim=a, size=3)", cut(0, 0, 2, 3), "a=2, b=3"),
            ("b=2, a=4, c=2", "", "stride_tensor_1d(X, dim=a)", cut(1, 0, 2, 2), "b=2, a=2, c=2"),
        ],
    )
    typed(
        "shape/pool_tensor_1d_types",
        "group sums of every number type",
        "",
        "pool_tensor_1d(X, dim=a, size=2, reduce=sum)",
        grouped(torch.sum, 0, 2),
        "a=4, b=3",
        NUMBERS,
    )
    typed(
        "shape/stride_tensor_1d_types",
        "the first of each group, every type",
        "",
        "stride_tensor_1d(X, dim=a, size=2)",
        cut(0, 0, 2, 2),
        "a=4, b=3",
        TYPES,
    )


def write():
    shifts()
    halos()
    helpers()
