"""f8: cases of casts and products, and, run by itself, tests/base/f8_values.h; needs PyTorch.

    /tmp/venv/bin/python tests/reference/f8.py
"""

import math
import os
import struct

import torch

from common import Case

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../base/f8_values.h")
TYPES = {"f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}
MOST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}


def rounded(x, kind):
    """x, f32, as an f8 type stores it: what is too large, infinity too, becomes the largest."""
    return x.to(torch.float32).clamp(-MOST[kind], MOST[kind]).to(TYPES[kind])


def scaled(x, kind):
    """x in f8 as f64, and the unit, f32, that it must be multiplied with."""
    x = x.detach().to(torch.float32)
    largest = x.abs().max().clamp(min=2.0**-100)
    most = torch.tensor(MOST[kind], dtype=torch.float32)
    unit = largest / most
    return rounded(x * (most / largest), kind).double(), unit


class Product(torch.autograd.Function):
    """einsum_f8: the gradient of the result is rounded to f8e5m2, the factors are those of before."""

    @staticmethod
    def forward(ctx, x, y, text):
        (x8, x_unit), (y8, y_unit) = scaled(x, "f8e4m3"), scaled(y, "f8e4m3")
        ctx.save_for_backward(x8, x_unit, y8, y_unit)
        ctx.text = text
        return torch.einsum(text, x8, y8) * x_unit * y_unit

    @staticmethod
    def backward(ctx, dy):
        x8, x_unit, y8, y_unit = ctx.saved_tensors
        left, out = ctx.text.split("->")
        x, y = left.split(",")
        d8, unit = scaled(dy, "f8e5m2")
        dx = torch.einsum(out + "," + y + "->" + x, d8, y8) * (unit * y_unit)
        dy = torch.einsum(out + "," + x + "->" + y, d8, x8) * (unit * x_unit)
        return dx, dy, None


# ---- cases ----


def casts():
    c = Case("elementwise/cast_f8", "casts to f8 round to even and stop at the largest number")
    numbers = [0.0, -0.0, 1.0, 1.0625, 1.1875, -1.125, 1.25, 448.0, 464.0, -1e9, 57344.0, 61440.0]
    numbers += [2.0**-9, 2.0**-10, 1.5 * 2.0**-9, 2.0**-16, 2.0**-17, 3 * 2.0**-17, 0.017, 1e-20]
    x = c.input("x", "f32", "n=%d" % len(numbers), values=numbers).detach()
    for kind in TYPES:
        want = rounded(x, kind).double()
        c.line("y_%s: %s = cast(x)\nz_%s: f32 = cast(y_%s)" % ((kind,) * 4))
        c.line("h_%s: bf16 = cast(y_%s)\ni_%s: i32 = cast(y_%s)" % ((kind,) * 4))
        c.expect("y_" + kind, want, kind=kind)
        c.expect("z_" + kind, want)
        c.expect("h_" + kind, want, kind="bf16")
        c.expect("i_" + kind, want.to(torch.int32), kind="i32")
    c.option("#~ 0")
    c.write(gradient=0)
    c = Case("elementwise/cast_f8_special", "infinity becomes the largest f8, NaN stays NaN")
    x = c.input("x", "f32", "n=4", values=[math.inf, -math.inf, math.nan, 1.0]).detach()
    for kind in TYPES:
        c.line("y_%s: %s = cast(x)" % (kind, kind))
        c.expect("y_" + kind, rounded(x, kind).double(), kind=kind)
    c.option("#~ 0")
    c.write(gradient=0)


def moves():
    c = Case("shape/f8_moves", "f8 tensors are moved as they are")
    x = rounded(c.input("x", "f32", "a=4, b=6").detach(), "f8e4m3").double()
    c.line("h: f8e4m3 = cast(x)\nt: [b, a] = transpose(h)\nr: [c=3, d=8] = reshape(h)")
    c.line("s = slice(h, dim=b, begin=1, size=4)\nb: [n=2, a, b] = broadcast(h)")
    c.expect("t", x.T, "b=6, a=4", kind="f8e4m3")
    c.expect("r", x.reshape(3, 8), "c=3, d=8", kind="f8e4m3")
    c.expect("s", x[:, 1:5], "a=4, b=4", kind="f8e4m3")
    c.expect("b", x.expand(2, 4, 6), "n=2, a=4, b=6", kind="f8e4m3")
    c.option("#~ 0")
    c.write(gradient=0)


def products():
    for name, says, size in (
        ("f8", "products of f8 tensors are f32", (3, 5, 2)),
        ("f8_aligned", "products whose sizes are multiples of 16", (32, 48, 16)),
    ):
        a, b, d = size
        c = Case("einsum/" + name, says)
        x = c.input("x", "f32", "a=%d, b=%d" % (a, b)).detach()
        y = c.input("y", "f32", "b=%d, c=%d" % (b, d)).detach()
        z = c.input("z", "f32", "n=2, c=%d, b=%d" % (d, b)).detach()
        c.line("x4: f8e4m3 = cast(x)\ny4: f8e4m3 = cast(y)\ny5: f8e5m2 = cast(y)\nz5: f8e5m2 = cast(z)")
        x4, y4 = (rounded(v, "f8e4m3").double() for v in (x, y))
        y5, z5 = (rounded(v, "f8e5m2").double() for v in (y, z))
        c.line("p = einsum(x4, y4)\nq: [c, a] = einsum(x4, y5)\nr: [n, a, c] = einsum(z5, x4)")
        c.line("s: [b] = einsum(x4)\nt: [b, c, a] = einsum(y4, x4)\nu: [a] = einsum(x4, y4, z5)")
        c.line("v: [n, b, c] = einsum(z5, y5)\nw: [b, e=2, c] = einsum(y5)")
        c.line("h: bf16[a, c] = einsum(x4, y5)")
        c.expect("h", x4 @ y5, "a=%d, c=%d" % (a, d), kind="bf16")
        c.expect("p", x4 @ y4, "a=%d, c=%d" % (a, d))
        c.expect("q", (x4 @ y5).T, "c=%d, a=%d" % (d, a))
        c.expect("r", torch.einsum("ncb,ab->nac", z5, x4))
        c.expect("s", x4.sum(0))
        c.expect("t", torch.einsum("bc,ab->bca", y4, x4))
        c.expect("u", torch.einsum("ab,bc,ncb->a", x4, y4, z5))
        c.expect("v", torch.einsum("ncb,bc->nbc", z5, y5))
        c.expect("w", y5[:, None].expand(b, 2, d))
        c.write(gradient=0)


def exact_scale(numbers, most):
    """The numbers, the first of them replaced by `most`."""
    numbers.reshape(-1)[0] = most
    return numbers


def scaled_products():
    for name, kind, says, size in (
        ("einsum_f8", "f32", "einsum_f8 and its gradients", (3, 5, 2)),
        ("einsum_f8_aligned", "f32", "einsum_f8 of multiples of 16", (32, 16, 48)),
        ("einsum_f8_bf16", "bf16", "einsum_f8 of bf16", (16, 32, 3)),
    ):
        a, b, d = size
        c = Case("einsum/" + name, says)
        shapes = ("n=2, a=%d, b=%d" % (a, b), "b=%d, c=%d" % (b, d), "n=2, a=%d, c=%d" % (a, d))
        numbers = [c.draw(dims, kind, -high, high) for dims, high in zip(shapes, (3, 0.5, 1))]
        if a > 3:  # powers of two as scales: everything is exact
            numbers = [exact_scale(v, most) for v, most in zip(numbers, (3.5, 0.4375, 0.875))]
        x, y, g = (c.input(n, kind, dims, v) for n, dims, v in zip("xyg", shapes, numbers))
        c.line("p: [n, a, c] = einsum_f8(x, y)\ns: [] = einsum(p, g)")
        p = Product.apply(x, y, "nab,bc->nac")
        c.expect("p", p, "n=2, a=%d, c=%d" % (a, d), kind=kind)
        slopes = torch.autograd.grad((p * g).sum(), [x, y])
        c.gradients("dx, dy", "s", "x, y", kind=kind, values=slopes)
        c.write(gradient=0)


def layers():
    c = Case("einsum/einsum_f8_layers", "two products around an activation, as in a feed-forward layer")
    x = c.input("x", "f32", "a=3, b=5")
    v = c.input("v", "f32", "b=5, h=7", low=-0.5, high=0.5)
    w = c.input("w", "f32", "h=7, b=5", low=-0.5, high=0.5)
    c.line("h: [a, h] = einsum_f8(x, v)\ng = relu(h)\ny: [a, b] = einsum_f8(g, w)\nz = tanh(y)")
    y = Product.apply(torch.relu(Product.apply(x, v, "ab,bh->ah")), w, "ah,hb->ab")
    c.expect("y", y, "a=3, b=5")
    c.expect("z", torch.tanh(y), "a=3, b=5")
    c.gradients("dx, dv, dw", "z", "x, v, w")
    c.write(gradient=0)


def limits():
    c = Case("einsum/einsum_f8_zero", "zeros, and numbers whose scale is large or small")
    x = c.input("x", "f32", "a=2, b=3", values=[1e-9, 2e-9, -3e-9, 4e-9, 5e-9, 1e-12])
    y = c.input("y", "f32", "b=3, c=2", values=[1e20, -3e20, 2e20, 5e20, 7e19, 1e17])
    z = c.input("z", "f32", "b=3, c=2", values=[0.0] * 6)
    c.line("p = einsum_f8(x, y)\nq = einsum_f8(x, z)")
    c.expect("p", Product.apply(x, y, "ab,bc->ac"))
    c.expect("q", torch.zeros(2, 2))
    c.option("#! relative")
    c.write(gradient=0)
    for word, value in (("inf", math.inf), ("nan", math.nan)):
        c = Case("einsum/einsum_f8_" + word, "an input with %s gives NaN, never a number" % word)
        c.input("x", "f32", "a=2, b=3", values=[1.0, 2.0, value, 0.5, 3.0, 1.0])
        c.input("y", "f32", "b=3, c=2", values=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        c.line("p = einsum_f8(x, y)")
        c.expect("p", torch.full((2, 2), math.nan))
        c.option("#! nan")
        c.write(gradient=0)


def loops():
    c = Case("control/loop_einsum_f8", "einsum_f8 in a loop, with the gradients of both factors")
    x = c.input("x", "f32", "a=3, b=4")
    w = c.input("w", "f32", "b=4, c=4", low=-0.5, high=0.5)
    c.line("""
        y = loop(x, trips=3) {
            body(h) {
                p: [a, c] = einsum_f8(h, w)
                q: [a=3, b=4] = reshape(p)
                yield q
            }
        }
        """)
    h = x
    for _ in range(3):
        h = Product.apply(h, w, "ab,bc->ac")
    c.expect("y", h, "a=3, b=4")
    c.gradients("dx, dw", "y", "x, w")
    c.write(gradient=0)


def write():
    casts()
    moves()
    products()
    scaled_products()
    layers()
    limits()
    loops()


# ---- every code, and every number between two of them ----


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def table(out, kind):
    codes = torch.arange(256, dtype=torch.uint8).view(TYPES[kind]).float()
    out.append("static const uint32_t %s_numbers[256] = { /* NaN: 0x7fc00000 */" % kind)
    words = ["0x7fc00000" if v != v else "0x%08x" % bits(v) for v in codes.tolist()]
    out += ["    " + ", ".join(words[k : k + 8]) + "," for k in range(0, 256, 8)]
    out.append("};\n")
    finite = sorted(v for v in set(codes.tolist()) if v == v and abs(v) != math.inf and v >= 0)
    numbers = []
    for low, high in zip(finite, finite[1:]):
        middle = bits((low + high) / 2)
        numbers += [middle - 1, middle, middle + 1]
    numbers += [bits(v) for v in (MOST[kind] * 1.01, MOST[kind] * 2, 1e30, math.inf)]
    numbers += [v | 0x80000000 for v in numbers]
    x = torch.tensor([struct.unpack("<f", struct.pack("<I", v))[0] for v in numbers])
    got = rounded(x, kind).view(torch.uint8).tolist()
    out.append("static const f8_rounding %s_roundings[] = {" % kind)
    rows = ["{0x%08x, 0x%02x}" % pair for pair in zip(numbers, got)]
    out += ["    " + ", ".join(rows[k : k + 5]) + "," for k in range(0, len(rows), 5)]
    out.append("};\n")


def main():
    torch.set_default_dtype(torch.float32)
    out = ["/* f8 by PyTorch: every code, and floats around every midpoint.  Written by"]
    out += [" * tests/reference/f8.py. */", "/* clang-format off */", "#ifndef BASE_F8_VALUES_H", "#define BASE_F8_VALUES_H", ""]
    out += ["#include <stdint.h>", "", "typedef struct f8_rounding {", "    uint32_t number;"]
    out += ["    uint8_t  code;", "} f8_rounding;", ""]
    for kind in TYPES:
        table(out, kind)
    with open(PATH, "w") as f:
        f.write("\n".join(out + ["#endif", ""]))


if __name__ == "__main__":
    main()
