"""Random numbers by position, rebuilt from docs/random.md alone."""

import math

import numpy as np
import torch

from common import FLOATS, TYPES, Case, exact, names, order, sizes

MASK = 0xFFFFFFFF


def philox(counter, key, rounds=10):
    c, k = list(counter), list(key)
    for _ in range(rounds):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
assert philox([0] * 4, [0] * 2, 7) == [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]


class Stream:
    """The numbers of one operation at one step and in these iterations; the seed is 0."""

    def __init__(self, op, step=0, iterations=()):
        self.key, self.high = [0, 0], [op, step]
        for i in range(0, len(iterations), 2):
            outer, inner = iterations[i], iterations[i + 1] if i + 1 < len(iterations) else 0
            block = philox([outer, inner] + self.high, self.key)
            self.key, self.high = block[:2], block[2:]

    def block(self, n, rounds=10):
        return philox([n & MASK, (n >> 32) & MASK] + self.high, self.key, rounds)

    def flag(self, g):
        return self.block(g // 8, 7)[g % 8 // 2] >> g % 2 * 16 & 0x7FFF

    def word(self, g):
        return self.block(g // 4)[g % 4]

    def long(self, g):
        block, at = self.block(g // 2), 2 * (g % 2)
        return block[at] << 32 | block[at + 1]

    def unit(self, g):
        return (self.word(g) >> 8) * 2.0**-24

    def unit64(self, g):
        return (self.long(g) >> 11) * 2.0**-53


def uniform(s, g, a, b, kind):
    if kind in ("i32", "i64"):
        word, bits = (s.word(g), 32) if kind == "i32" else (s.long(g), 64)
        return a + ((word * (b - a)) >> bits)
    if kind == "f64":
        return a + (b - a) * s.unit64(g)
    if kind == "bool":
        return s.flag(g) < math.floor(b * 2**15 + 0.5)
    a, b = np.float32(a), np.float32(b)
    return float(a + (b - a) * np.float32(s.unit(g)))


def normal(s, g, a, b, kind):
    if kind == "f64":
        w = s.block(g)
        p, q = ((w[i] << 32 | w[i + 1]) >> 11 for i in (0, 2))
        p, q, odd = p * 2.0**-53, q * 2.0**-53, False
    else:
        even = g & ~1
        p, q, odd = s.unit(even), s.unit(even + 1), g & 1
    wave = math.sin if odd else math.cos
    return a + b * math.sqrt(-2 * math.log(1 - p)) * wave(2 * math.pi * q)


def truncated_normal(s, g, a, b, kind):
    p = s.unit64(g) + 2.0**-54 if kind == "f64" else s.unit(g) + 2.0**-25
    at = torch.tensor(0.5 + 0.9544997361036416 * (p - 0.5))
    return a + b * float(torch.special.ndtri(at).clamp(-2, 2))


def drawn(f, stream, dims, a, b, kind):
    shape = sizes(dims)
    count = int(np.prod(shape, dtype=int))
    return exact([f(stream, g, a, b, kind) for g in range(count)], kind).reshape(shape)


def distributions():
    rows = (
        ("uniform", "random_uniform", uniform, 0, 1, -2, 5, "low", "high"),
        ("normal", "random_normal", normal, 0, 1, 3, 0.5, "mean", "stddev"),
        ("truncated_normal", "truncated_normal", truncated_normal, 0, 1, -1, 2, "mean", "stddev"),
    )
    for path, name, f, a, b, p, q, first, second in rows:
        for kind in FLOATS:
            c = Case("random/%s_%s" % (path, kind), "%s of %s" % (name, kind))
            for i, dims in enumerate(("", "a=1, b=7", "a=5, b=3, c=2")):
                c.line("x%d: %s[%s] = %s(key=%d)" % (i, kind, dims, name, 7 + i))
                c.expect("x%d" % i, drawn(f, Stream(7 + i), dims, a, b, kind), dims, kind)
                c.line(
                    "y%d: %s[%s] = %s(%s=%g, %s=%g, key=%d)"
                    % (i, kind, dims, name, first, p, second, q, 2**31 + i)
                )
                c.expect("y%d" % i, drawn(f, Stream(2**31 + i), dims, p, q, kind), dims, kind)
            if path == "uniform":
                c.option("#~ 0")
            c.write(0)
    for kind in ("i32", "i64"):
        c = Case("random/uniform_" + kind, "whole random numbers")
        c.line("x: %s[a=11] = random_uniform(low=-3, high=10, key=5)" % kind)
        c.expect("x", drawn(uniform, Stream(5), "a=11", -3, 10, kind), "a=11", kind)
        c.write(0)
    c = Case("random/uniform_bool", "true with a probability")
    c.line("x: bool[a=5, b=3] = random_uniform(high=0.25, key=6)")
    c.expect("x", drawn(uniform, Stream(6), "a=5, b=3", 0, 0.25, "bool"), "a=5, b=3", "bool")
    c.write(0)
    c = Case("random/steps", "another step, other numbers")
    c.line("x: f32[a=5] = random_uniform(key=9)")
    c.expect("x", drawn(uniform, Stream(9, step=2), "a=5", 0, 1, "f32"), "a=5")
    c.option("#! steps 3")
    c.write(0)
    c = Case("random/iterations", "another iteration of a loop, other numbers")
    x = c.input("x0", "f32", "a=5")
    c.line(
        "x, t = loop(x0, trips=3) {\n    body(p; i) {\n        r: f32[a=5] = random_uniform(key=4)"
    )
    c.line("        f: f32 = cast(i)\n        yield p * r; r * f\n    }\n}")
    rs = [drawn(uniform, Stream(4, iterations=(i,)), "a=5", 0, 1, "f32") for i in range(3)]
    c.expect("x", x * rs[0] * rs[1] * rs[2], "a=5")
    c.expect("t", rs[1] + 2 * rs[2], "a=5")
    c.gradients("dx", "x", "x0")
    c.write(0)
    nested_iterations()
    c = Case("random/transposed", "a transposed draw is the same draw")
    c.line("x: f32[a=3, b=5] = random_uniform(key=1)\ny: [b, a] = transpose(x)\nz = y * 2.0")
    r = drawn(uniform, Stream(1), "a=3, b=5", 0, 1, "f32")
    c.expect("y", r.T, "b=5, a=3")
    c.expect("z", 2 * r.T, "b=5, a=3")
    c.write(0)


def nested_iterations():
    c = Case("random/iterations_nested", "the iterations of all loops around count, in the gradient, too")
    x = c.input("x0", "f32", "a=3", [1.5, -2.25, 0.75])
    c.line(
        """x, t = loop(x0, trips=2) {
    body(p; i) {
        q, s = loop(p, trips=3) {
            body(u; j) {
                r: f32[a=3] = random_uniform(key=4)
                v = loop(u, trips=2) {
                    body(w) {
                        k: f32[a=3] = random_uniform(key=5)
                        yield w * (k + 1)
                    }
                }
                yield v * (r + 1); r
            }
        }
        yield q; s
    }
}"""
    )
    y, total = x, 0
    for i in range(2):
        for j in range(3):
            r = drawn(uniform, Stream(4, iterations=(i, j)), "a=3", 0, 1, "f32")
            for l in range(2):
                y = y * (drawn(uniform, Stream(5, iterations=(i, j, l)), "a=3", 0, 1, "f32") + 1)
            y, total = y * (r + 1), total + r
    c.expect("x", y, "a=3")
    c.expect("t", total, "a=3")
    c.gradients("dx", "x", "x0")
    c.write(0)
    c = Case("random/iterations_recomputed", "a region inside of loops draws the same numbers again")
    y = c.input("x0", "f32", "a=3", [1.25, -0.75, 0.5])
    c.line(
        """x = loop(x0, trips=2) {
    body(p) {
        q = loop(p, trips=2) {
            body(u) {
                v = recompute(u) {
                    body(w) {
                        r: f32[a=3] = random_uniform(key=4)
                        yield w * w * (r + 1)
                    }
                }
                yield v
            }
        }
        yield q
    }
}"""
    )
    for i in range(2):
        for j in range(2):
            y = y * y * (drawn(uniform, Stream(4, iterations=(i, j)), "a=3", 0, 1, "f32") + 1)
    c.expect("x", y, "a=3")
    c.gradients("dx", "x", "x0")
    c.write(0)
    c = Case("random/iterations_large", "every bit of an iteration counts")
    iterations = (1 << 24, 0, 1 << 30, 2**31 - 1)
    for i, iteration in enumerate(iterations):
        c.line("t%d: i32[] = constant(value=%d)" % (i, iteration))
        c.line("x%d: f32[a=3] = random_uniform(t%d, key=4)" % (i, i))
        c.line("y%d: f32[a=3] = random_uniform(t0, t%d, key=4)" % (i, i))
        c.expect("x%d" % i, drawn(uniform, Stream(4, iterations=(iteration,)), "a=3", 0, 1, "f32"), "a=3")
        pair = Stream(4, iterations=(iterations[0], iteration))
        c.expect("y%d" % i, drawn(uniform, pair, "a=3", 0, 1, "f32"), "a=3")
    c.write(0)
    c = Case("random/iterations_condition", "a condition draws anew before each iteration")
    c.line(
        """n0: i32[] = constant(value=0)
n = while(n0) {
    cond(m) {
        r: f32[] = random_uniform(key=12)
        yield logical_and(less(r, 0.8), less(m, 50))
    }
    body(m) {
        yield m + 1
    }
}"""
    )
    n = 0
    while drawn(uniform, Stream(12, iterations=(n,)), "", 0, 1, "f32") < 0.8:
        n += 1
    c.expect("n", n, "", "i32")
    c.write(0)


def keyed(c, key):
    """An op without a key takes the next unused one: key, if key - 1 was the largest so far."""
    c.line("last: f32[] = random_uniform(key=%d)" % (key - 1))
    return Stream(key)


def kept(stream, dims, rate):
    return drawn(uniform, stream, dims, 0, 1 - rate, "bool")


def dropouts():
    for path, dims, rate, noise in (
        ("", "a=5, b=7", 0.5, ""),
        ("_low", "a=11", 0.25, ""),
        ("_one", "a=1, b=1", 0.5, ""),
        ("_noise", "a=5, b=7", 0.5, "b=7"),
        ("_noise_first", "a=7, b=3, c=2", 0.75, "a=7"),
        ("_none", "a=3", 0, ""),
    ):
        c = Case("random/dropout" + path, "dropout of %g: the rest grows" % rate)
        s = keyed(c, 40)
        x = c.input("x", "f32", dims)
        text = ", noise=(%s)" % ", ".join(names(noise)) if noise else ""
        c.line("y = dropout(x, rate=%g%s)" % (rate, text))
        mask = order(kept(s, noise or dims, rate), names(noise or dims), names(dims))
        c.expect("y", torch.where(mask, x / (1 - rate), 0), dims)
        c.gradients("dx", "y", "x")
        c.write(0)
    c = Case("random/dropout_types", "dropout of the other types; integers do not grow")
    for i, kind in enumerate(TYPES[1:]):
        c.line("last%d: f32[] = random_uniform(key=%d)" % (i, 10 * i + 9))
        x = c.input("x_" + kind, kind, "a=7")
        c.line("y_%s = dropout(x_%s, rate=0.5)" % (kind, kind))
        grown = x * 2 if kind in FLOATS else x
        c.expect("y_" + kind, kept(Stream(10 * i + 10), "a=7", 0.5) * grown, "a=7", kind)
    c.write(0)


def samples():
    c = Case("random/sample_with_temperature", "samples by Gumbel noise, certain at temperature 0")
    rows = (("a=3, v=5", "v", 1), ("v=7, a=2", "v", 0.5), ("v=1", "v", 1), ("a=3, v=5", "v", 0))
    for i, (dims, dim, temperature) in enumerate(rows):
        x = c.input("x%d" % i, "f32", dims, low=-1, high=1)
        c.line("last%d: f32[] = random_uniform(key=%d)" % (i, 10 * i + 9))
        text = "" if temperature == 1 else ", temperature=%g" % temperature
        c.line("y%d = sample_with_temperature(x%d, dim=%s%s)" % (i, i, dim, text))
        u = drawn(uniform, Stream(10 * i + 10), dims, 1e-9, 1, "f32")
        noisy = x.detach() - temperature * torch.log(-torch.log(u))
        c.expect("y%d" % i, noisy.argmax(names(dims).index(dim)), kind="i32")
    c.write(0)

    c = Case("random/categorical_noise", "categorical is sampling at temperature 1")
    c.line("last: f32[] = random_uniform(key=9)")
    x = c.input("x", "f32", "v=5, a=3", low=-1, high=1)
    c.line("y = categorical(x, dim=v)")
    u = drawn(uniform, Stream(10), "v=5, a=3", 1e-9, 1, "f32")
    c.expect("y", (x.detach() - torch.log(-torch.log(u))).argmax(0), "a=3", "i32")
    c.write(0)


def write():
    distributions()
    dropouts()
    samples()
