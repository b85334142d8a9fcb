"""Along one dimension: softmax and its relatives, running sums."""

import torch

from common import FLOATS, NUMBERS, Case, names, sizes

INF = float("inf")
SOFT = {
    "reduce_logsumexp": lambda x, a: torch.logsumexp(x, a),
    "log_softmax": lambda x, a: torch.log_softmax(x, a),
    "softmax": lambda x, a: torch.softmax(x, a),
}


def with_extra(name, x, axis, extra):
    """extra, already of x's rank with size 1 along the axis, is one more logit that is dropped."""
    total = torch.logsumexp(torch.cat([x, extra.expand_as(x.narrow(axis, 0, 1))], axis), axis, True)
    if name == "reduce_logsumexp":
        return total.squeeze(axis)
    return x - total if name == "log_softmax" else torch.exp(x - total)


def softmaxes():
    for name, f in SOFT.items():
        keeps = name != "reduce_logsumexp"
        c = Case("softmax/" + name, name + " over the first, middle, last dimension")
        for i, (dims, dim) in enumerate(
            (
                ("a=1", "a"),
                ("a=5", "a"),
                ("a=3, b=5, c=2", "b"),
                ("b=3, a=2", "b"),
                ("a=2, b=1, c=2", "c"),
            )
        ):
            axis = names(dims).index(dim)
            x = c.input("x%d" % i, "f32", dims, low=-3, high=3)
            c.line("y%d = %s(x%d, dim=%s)" % (i, name, i, dim))
            kept = ", ".join(
                "%s=%d" % p for p in zip(names(dims), sizes(dims)) if keeps or p[0] != dim
            )
            c.expect("y%d" % i, f(x, axis), kept)
        c.write(3)
        c = Case("softmax/%s_types" % name, name + " of the other types")
        for kind in FLOATS[1:]:
            x = c.input("x_" + kind, kind, "a=3, b=5", low=-3, high=3)
            c.line("y_%s = %s(x_%s, dim=b)" % (kind, name, kind))
            c.expect("y_" + kind, f(x, 1), kind=kind)
        c.write(0)
        c = Case("softmax/%s_extra" % name, name + " with an extra logit: per row, and one for all")
        x = c.input("x", "f32", "a=3, b=5, c=2", low=-3, high=3)
        e, s = c.input("e", "f32", "a=3, c=2", low=-3, high=3), c.input("s", "f32", "", [0.75])
        c.line("y = %s(x, e, dim=b)\nz = %s(x, s, dim=b)" % (name, name))
        c.expect("y", with_extra(name, x, 1, e.unsqueeze(1)))
        c.expect("z", with_extra(name, x, 1, s))
        c.gradients("dx, de", "y", "x, e")
        c.gradients("dxs, ds", "z", "x, s")
        c.write(3)
        c = Case("softmax/%s_far" % name, name + " of large and of masked logits, with gradient")
        x = c.input(
            "x",
            "f32",
            "a=4, b=3",
            [[1000, 1000, 999], [-1000, -1001, -1000], [-INF, 1, 2], [-INF, -INF, 3]],
        )
        c.line("y = %s(x, dim=b)" % name)
        c.expect("y", f(x, 1))
        if keeps and name == "softmax":
            c.line("z = y * y")
            c.expect("z", c.values["y"] ** 2)
            c.gradients("dx", "z", "x")
        elif not keeps:
            c.gradients("dx", "y", "x")
        c.write(0)


def running_sum(x, axis, exclusive, reverse):
    y = x.flip(axis) if reverse else x
    y = y.cumsum(axis) - (y if exclusive else 0)
    return y.flip(axis) if reverse else y


def cumsums():
    for exclusive in (False, True):
        for reverse in (False, True):
            text = (", exclusive=true" if exclusive else "") + (", reverse=true" if reverse else "")
            tail = ("_exclusive" if exclusive else "") + ("_reverse" if reverse else "")
            c = Case("reduce/cumsum" + tail, "running sums" + text.replace("=true", ""))
            for i, (dims, dim) in enumerate(
                (
                    ("a=1", "a"),
                    ("a=7", "a"),
                    ("a=3, b=5, c=2", "b"),
                    ("b=3, a=2", "b"),
                    ("a=2, b=1", "b"),
                )
            ):
                x = c.input("x%d" % i, "f32", dims)
                c.line("y%d = cumsum(x%d, dim=%s%s)" % (i, i, dim, text))
                c.expect(
                    "y%d" % i, running_sum(x, names(dims).index(dim), exclusive, reverse), dims
                )
            for kind in NUMBERS[1:]:
                x = c.input("x_" + kind, kind, "a=2, b=5")
                c.line("y_%s = cumsum(x_%s, dim=b%s)" % (kind, kind, text))
                c.expect("y_" + kind, running_sum(x, 1, exclusive, reverse), "a=2, b=5", kind)
            c.write(3)


def write():
    softmaxes()
    cumsums()
