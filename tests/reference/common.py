"""What every module of cases shares: case files, numbers that are exact, layouts by name."""

import os
import re
import textwrap
import zlib

import numpy as np
import torch

torch.set_default_dtype(torch.float64)

CASES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cases"))
FLOATS = ("f32", "bf16", "f16", "f64")
INTS = ("i32", "i64")
NUMBERS = FLOATS + INTS
TYPES = NUMBERS + ("bool",)
TORCH = {
    "f32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "f64": torch.float64,
    "i32": torch.int32,
    "i64": torch.int64,
    "bool": torch.bool,
}
# Three shapes for everything that works on each element: size 1, primes, more dimensions.
SHAPES = ("", "a=1, b=3", "a=5, b=2, c=3")


def names(dims):
    return re.findall(r"([A-Za-z_]\w*)\s*=", dims)


def sizes(dims):
    return [int(n) for n in re.findall(r"=\s*(\d+)", dims)]


def order(x, have, want):
    """x with dimensions `have` laid out as `want`; a missing one becomes size 1."""
    have, want = list(have), list(want)
    x = x.permute([have.index(d) for d in want if d in have])
    for axis, dim in enumerate(want):
        if dim not in have:
            x = x.unsqueeze(axis)
    return x


def along(x, axis, index):
    """x[.., index, ..] at one axis, with gradients."""
    return torch.index_select(x, axis, torch.as_tensor(index, dtype=torch.int64))


def counted(x):
    """A bool tensor as numbers: a sum of products of flags is true where it is not zero."""
    return x.long() if x.dtype == torch.bool else x


def exact(values, kind):
    """The values as the element type stores them, in double, int64 or bool."""
    x = torch.as_tensor(values)
    if kind in FLOATS:
        return x.to(torch.float64).to(TORCH[kind]).to(torch.float64)
    return x.to(TORCH[kind]).to(torch.bool if kind == "bool" else torch.int64)


def number(v, kind):
    if kind in INTS or kind == "bool":
        return str(int(v) if kind in INTS else int(v != 0))
    v = float(v)
    if v != v:
        return "nan"
    if v in (float("inf"), float("-inf")):
        return "inf" if v > 0 else "-inf"
    digits = {"f64": 17, "f32": 9, "bf16": 6, "f16": 7, "f8e4m3": 9, "f8e5m2": 9}[kind]
    short = "%.9g" % v
    return short if float(short) == v else "%.*g" % (digits, v)


written = set()


class Case:
    """One file: lines of text, feeds and expectations."""

    def __init__(self, path, says):
        self.path, self.says = path, says
        self.lines, self.feeds, self.expected, self.options = [], [], [], []
        self.values, self.used = {}, set()
        self.random = np.random.RandomState(zlib.crc32(path.encode()))

    def draw(self, dims, kind, low=-4.0, high=4.0):
        """Numbers that the type holds exactly; no two floats of a case are equal, none is a
        whole number or a half, so kinks and ties are at least 1/64 away."""
        shape = sizes(dims)
        count = int(np.prod(shape, dtype=int))
        if kind == "bool":
            return self.random.randint(0, 2, size=shape)
        if kind in INTS:
            return self.random.randint(-9, 10, size=shape)
        step = 1 / 16 if kind == "bf16" else 1 / 64
        pool = (np.arange(np.ceil(low / step), np.floor(high / step)) + 0.5) * step
        free = [v for v in pool if v not in self.used]
        if len(free) < count:
            self.used.clear()
            free = list(pool)
        got = self.random.choice(free, size=count, replace=len(free) < count)
        self.used.update(got)
        return got.reshape(shape)

    def source(self, name, kind, dims, values, how, low, high):
        if values is None:
            values = self.draw(dims, kind, low, high)
        x = exact(values, kind).reshape(sizes(dims)).clone()
        self.lines.append("%s: %s[%s] = %s" % (name, kind, dims, how))
        flat = " ".join(number(v, kind) for v in x.flatten().tolist())
        self.feeds.append("#< %s = %s" % (name, flat))
        if kind in FLOATS:
            x.requires_grad_()
        self.values[name] = x
        return x

    def input(self, name, kind, dims, values=None, low=-4.0, high=4.0):
        return self.source(name, kind, dims, values, "input", low, high)

    def variable(self, name, kind, dims, values=None, init="zeros", high=4.0):
        return self.source(name, kind, dims, values, 'variable(init="%s")' % init, -high, high)

    def line(self, text):
        self.lines += textwrap.dedent(text).strip().split("\n")

    def expect(self, name, value, dims=None, kind="f32"):
        """value: a tensor or anything like one; dims: the shape that the result must have."""
        value = torch.as_tensor(value)
        self.values[name] = value
        if dims is not None and list(value.shape) != sizes(dims):
            raise ValueError("%s: %s is %s, not %s" % (self.path, name, list(value.shape), dims))
        shape = "" if dims is None else ": [%s]" % dims
        flat = " ".join(number(v, kind) for v in value.detach().flatten().tolist())
        self.expected.append("#> %s%s = %s" % (name, shape, flat))

    def gradients(self, results, ys, xs, kind="f32", values=None):
        """The line `results = gradients(ys; xs)` and what PyTorch makes of it."""
        self.line("%s = gradients(%s; %s)" % (results, ys, xs))
        inputs = [self.values[x] for x in xs.split(", ")]
        if values is None:
            total = sum(self.values[y].sum() for y in ys.split(", "))
            values = torch.autograd.grad(total, inputs, create_graph=True)
        for name, x, value in zip(results.split(", "), inputs, values):
            assert list(torch.as_tensor(value).shape) == list(x.shape), self.path
            self.expect(name, value, kind=kind)

    def option(self, text):
        self.options.append(text)

    def write(self, gradient=None):
        if gradient is not None:
            self.option("#! gradient %d" % gradient)
        path = os.path.join(CASES, self.path + ".mtf")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        written.add(path)
        with open(path, "w") as out:
            out.write(
                "\n".join(
                    ["# " + self.says] + self.lines + self.feeds + self.expected + self.options
                )
                + "\n"
            )
