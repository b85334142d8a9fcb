"""Pooling, and the windows under it: window and overlap_add."""

import itertools

import torch

from common import FLOATS, NUMBERS, TYPES, Case, along, names, sizes
from windows import same_padding


def pooled(x, what, window, stride, same):
    """Element by element over [batch.., space.., channels]; the first of equals is the maximum."""
    n = len(window)
    space = list(x.shape[-n - 1 : -1])
    amounts = [same_padding(*p) if same else (0, 0) for p in zip(space, window, stride, [1] * n)]
    out = [-(-s // t) if same else (s - k) // t + 1 for s, k, t in zip(space, window, stride)]
    cells = []
    for at in itertools.product(*map(range, out)):
        part = x
        for a in range(n):
            first = at[a] * stride[a] - amounts[a][0]
            inside = [i for i in range(first, first + window[a]) if 0 <= i < space[a]]
            part = along(part, x.dim() - n - 1 + a, inside)
        part = part.flatten(-n - 1, -2)
        if what == "avg":
            cells.append(part.mean(-2))
        else:  # torch's argmax may pick any of equals
            index = torch.as_tensor(part.detach().numpy().argmax(-2)).unsqueeze(-2)
            cells.append(torch.gather(part, -2, index).squeeze(-2))
    return torch.stack(cells, -2).unflatten(-2, out)


def pools():
    rows = (
        ("n=1, h=1, w=1, c=1", [1, 1], None, False),
        ("n=2, h=4, w=5, c=1", [2, 2], None, False),
        ("n=1, h=5, w=5, c=2", [3, 2], [1, 2], False),
        ("n=1, h=5, w=3, c=2", [2, 2], None, True),
        ("h=5, w=4, c=2", [3, 3], [2, 1], True),
        ("m=2, n=1, h=3, w=2, c=2", [2, 1], [1, 1], False),
        ("n=2, w=7, c=2", [3], None, False),
        ("n=2, w=7, c=2", [3], [2], True),
        ("n=1, d=3, h=2, w=4, c=2", [2, 2, 2], None, False),
        ("n=1, d=3, h=3, w=3, c=1", [2, 2, 2], [1, 2, 1], True),
    )
    for what in ("max", "avg"):
        c = Case("conv/%s_pool" % what, "%s pooling over one, two, three dimensions" % what)
        for i, (dims, window, stride, same) in enumerate(rows):
            x = c.input("x%d" % i, "f32", dims)
            text = "" if window == [2, 2] else ", window=(%s)" % ", ".join(map(str, window))
            text += ", stride=(%s)" % ", ".join(map(str, stride)) if stride else ""
            text += ", padding=same" if same else ""
            c.line("y%d = %s_pool(x%d%s)" % (i, what, i, text))
            y = pooled(x, what, window, stride or window, same)
            c.expect("y%d" % i, y, ", ".join("%s=%d" % p for p in zip(names(dims), y.shape)))
        c.write(3)
        c = Case("conv/%s_pool_types" % what, "%s pooling of the other types" % what)
        for kind in (NUMBERS if what == "max" else FLOATS)[1:]:
            x = c.input("x_" + kind, kind, "n=1, h=4, w=4, c=2")
            c.line("y_%s = %s_pool(x_%s)" % (kind, what, kind))
            c.expect("y_" + kind, pooled(x, what, [2, 2], [2, 2], False), kind=kind)
        c.write(0)
    c = Case("conv/max_pool_tie", "of equal elements the first receives the whole gradient")
    x = c.input(
        "x", "f32", "n=1, h=4, w=4, c=1", [1, 1, 0, 2, 1, 1, 2, 2, -1, -2, 3, 0, -1, -1, 0, 3]
    )
    c.line("y = max_pool(x)")
    c.expect("y", pooled(x, "max", [2, 2], [2, 2], False))
    c.gradients("dx", "y", "x")
    c.write(0)
    c = Case("conv/max_pool_overlap_tie", "overlapping windows, equal elements")
    x = c.input("x", "f32", "w=5, c=2", [1, 0, 2, 0, 2, 0, 1, 0, 2, 0])
    c.line("y = max_pool(x, window=(3), stride=(1), padding=same)")
    c.expect("y", pooled(x, "max", [3], [1], True))
    c.gradients("dx", "y", "x")
    c.write(0)


def unfolded(x, axis, taps, step, dilation):
    count = (x.shape[axis] - (taps - 1) * dilation - 1) // step + 1
    rows = [along(x, axis, [o * step + t * dilation for o in range(count)]) for t in range(taps)]
    return torch.stack(rows, -1)


def window_op():
    rows = (
        ("h=1", "h", 1, 1, 1),
        ("h=5", "h", 3, 1, 1),
        ("a=2, h=7, c=2", "h", 2, 3, 1),
        ("h=7, a=2", "h", 2, 2, 3),
        ("a=3, h=5", "h", 5, 1, 1),
        ("h=6, a=2", "h", 3, 2, 1),
    )
    c = Case("conv/window", "windows of a dimension, taps last")
    o = Case("conv/overlap_add", "the transpose of window: overlapping windows add up")
    for i, (dims, dim, taps, step, dilation) in enumerate(rows):
        axis, n = names(dims).index(dim), sizes(dims)[names(dims).index(dim)]
        text = (", step=%d" % step if step != 1 else "") + (
            ", dilation=%d" % dilation if dilation != 1 else ""
        )
        x = c.input("x%d" % i, "f32", dims)
        y = unfolded(x, axis, taps, step, dilation)
        shape = ", ".join("%s=%d" % p for p in zip(names(dims) + ["fh"], y.shape))
        c.line("y%d = window(x%d, dim=h, taps=[fh=%d]%s)" % (i, i, taps, text))
        c.expect("y%d" % i, y, shape)
        dy = o.input("y%d" % i, "f32", shape)
        o.line("x%d = overlap_add(y%d, dim=h, taps=fh, size=%d%s)" % (i, i, n, text))
        o.expect("x%d" % i, torch.autograd.grad(y, x, dy, retain_graph=True)[0], dims)
    c.write(3)
    o.write(3)
    c = Case("conv/window_types", "window and overlap_add of every type")
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "h=5, a=2")
        y = unfolded(x, 0, 2, 2, 1)
        c.line("y_%s = window(x_%s, dim=h, taps=[t=2], step=2)" % (kind, kind))
        c.line("z_%s = overlap_add(y_%s, dim=h, taps=t, size=5, step=2)" % (kind, kind))
        c.expect("y_" + kind, y, "h=2, a=2, t=2", kind)
        c.expect("z_" + kind, torch.cat([x[:4], torch.zeros_like(x[4:])]), "h=5, a=2", kind)
    c.write(0)


def write():
    pools()
    window_op()
