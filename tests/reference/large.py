"""Tensors beyond a tile, a block, one thread's share: made of ranges, reduced to few numbers."""

import torch

from common import Case

ROWS, COLS = 263, 271  # primes; together more than twice what one thread keeps to itself
GRID = "i: %s[a=%d] = range\nj: %s[b=%d] = range"


def grid(c, kind):
    c.line(GRID % (kind, ROWS, kind, COLS))
    i, j = torch.arange(ROWS, dtype=torch.float64), torch.arange(COLS, dtype=torch.float64)
    s = c.input("s", kind, "", [0.046875])
    c.line("x = sin(i * s) * cos(j * 0.125) + j * s")
    return torch.sin(i * s)[:, None] * torch.cos(j * 0.125) + j * s


def finish(c, kind, gradient=0):
    # Sums of seventy thousand f32 terms lose some digits.
    c.option("#~ 1e-4" if kind == "f32" else "#~ 1e-10")
    c.write(gradient)


def maps(kind):
    c = Case("large/map_" + kind, "a fused chain over many elements, and sums of it every way")
    x = grid(c, kind)
    c.line("t: [b, a] = transpose(x)\ny = tanh(t * 0.25) * x + 1\nz = reduce_mean(y)")
    c.line("p: [b] = reduce_sum(y)\nq = slice(p, dim=b, begin=1, size=3, step=130)")
    c.line("r: [a] = reduce_sum(y)\nu = slice(r, dim=a, begin=2, size=3, step=130)")
    y = torch.tanh(x * 0.25) * x + 1
    c.expect("z", y.mean(), "", kind)
    c.expect("q", y.sum(0)[[1, 131, 261]], "b=3", kind)
    c.expect("u", y.sum(1)[[2, 132, 262]], "a=3", kind)
    c.gradients("ds", "z", "s", kind)
    finish(c, kind, 3)


def extremes(kind):
    c = Case("large/order_" + kind, "extremes, sorting and running sums of many elements")
    x = grid(c, kind)
    c.line("f: [n=%d] = reshape(x)\nm = reduce_max(f)\nk = argmin(f, dim=n)" % (ROWS * COLS))
    c.line("t, at = top_k(f, dim=n, k=[k=3])\ny, _ = sort(f, dim=n)")
    c.line("v = slice(y, dim=n, begin=0, size=3, step=35000)")
    c.line(
        "w = cumsum(x, dim=b)\nl = slice(w, dim=b, begin=%d, size=1)\no = reduce_mean(l)"
        % (COLS - 1)
    )
    f = x.flatten()
    values, index = torch.topk(f, 3)
    c.expect("m", f.max(), "", kind)
    c.expect("k", f.argmin(), "", "i32")
    c.expect("t", values, "k=3", kind)
    c.expect("at", index, "k=3", "i32")
    c.expect("v", f.sort().values[[0, 35000, 70000]], "n=3", kind)
    c.expect("o", x.sum(1).mean(), "", kind)
    finish(c, kind)


def products(kind):
    c = Case("large/product_" + kind, "matrix products of every orientation, larger than a block")
    x = grid(c, kind)
    c.line("g: [a, e=%d] = reshape(x)" % COLS)
    c.line("p: [b, e] = einsum(x, g)\nh: [c=%d, b] = reshape(x)\nq: [c, a] = einsum(h, x)" % ROWS)
    c.line("u: [a] = einsum(x, j)\nz = reduce_mean(p)\ny = reduce_max(q)\nw = reduce_mean(u)")
    j = torch.arange(COLS, dtype=torch.float64)
    c.expect("z", (x.T @ x).mean(), "", kind)
    c.expect("y", (x @ x.T).max(), "", kind)
    c.expect("w", (x @ j).mean(), "", kind)
    c.gradients("ds", "z, w", "s", kind)
    finish(c, kind)


def softmaxes(kind):
    c = Case("large/softmax_" + kind, "softmax of long rows and of long columns")
    x = grid(c, kind)
    c.line(
        "y = softmax(x, dim=b)\nz = softmax(x, dim=a)\np = reduce_sum(y * j)\nq = reduce_sum(z * i)"
    )
    i, j = torch.arange(ROWS, dtype=torch.float64), torch.arange(COLS, dtype=torch.float64)
    c.expect("p", (torch.softmax(x, 1) * j).sum(), "", kind)
    c.expect("q", (torch.softmax(x, 0) * i[:, None]).sum(), "", kind)
    c.gradients("ds", "p, q", "s", kind)
    finish(c, kind)


def indexed(kind):
    c = Case("large/gather_" + kind, "gathering and scattering many rows")
    x = grid(c, kind)
    c.line("r: i32[n=%d] = range\nk = mod(r * 17, %d)" % (ROWS, ROWS + 1))
    c.line("y = gather(x, k, dim=a)\nw: [n] = reduce_sum(y)")
    c.line("z = scatter_add(y, mod(r, 5), dim=[v=5])\np: [v] = reduce_sum(z)")
    c.line("q = slice(w, dim=n, begin=1, size=2, step=100)")
    r = torch.arange(ROWS)
    k = (r * 17) % (ROWS + 1)
    padded = torch.cat([x, torch.zeros(1, COLS)])
    y = padded[k]
    c.expect("q", y.sum(1)[[1, 101]], "n=2", kind)
    c.expect("p", torch.zeros(5, COLS).index_add(0, r % 5, y).sum(1), "v=5", kind)
    c.gradients("ds", "p", "s", kind)
    finish(c, kind)


def convolved(kind):
    c = Case("large/conv_" + kind, "a convolution and pooling of a larger image")
    x = grid(c, kind)
    c.line(
        "m: [n=1, a, b, c=1] = reshape(x)\nf: %s[fh=3, fw=3, c=1, o=2] = constant(value=0.25)"
        % kind
    )
    c.line("y = conv2d(m, f, stride=(2, 1))\nz = max_pool(y)\np = reduce_mean(z)")
    image = torch.nn.functional.pad(x[None, None], [1, 1, 1, 1])
    y = torch.nn.functional.conv2d(image, torch.full((2, 1, 3, 3), 0.25), stride=(2, 1))
    c.expect("p", torch.nn.functional.max_pool2d(y, 2).mean(), "", kind)
    c.gradients("ds", "p", "s", kind)
    finish(c, kind)


def write():
    for kind in ("f32", "f64"):
        maps(kind)
        extremes(kind)
        products(kind)
        softmaxes(kind)
        indexed(kind)
        convolved(kind)
