"""Loops, recomputed regions, own gradients, order, and gradients lines of every form."""

import torch

from common import TYPES, Case


def whiles():
    c = Case("control/while", "doubles until the counter reaches its limit")
    x, n = c.input("x0", "f32", "a=3"), c.input("n0", "i32", "", [0])
    c.line("""
        x1, n1 = while(x0, n0) {
            cond(x, n) {
                yield less(n, 5)
            }
            body(x, n) {
                yield x * 2.0, n + 1
            }
        }
        """)
    c.expect("x1", x * 32, "a=3")
    c.expect("n1", n + 5, "", "i32")
    c.write(0)
    c = Case("control/while_never", "no iteration at all")
    x, n = c.input("x0", "f32", "a=3"), c.input("n0", "i64", "", [9])
    c.line("""
        x1, n1 = while(x0, n0) {
            cond(x, n) {
                yield less(n, 5)
            }
            body(x, n) {
                yield x * 2.0, n + 1
            }
        }
        y = x1 + x0
        """)
    c.expect("x1", x, "a=3")
    c.expect("n1", n, "", "i64")
    c.expect("y", 2 * x, "a=3")
    c.write(0)
    c = Case("control/while_swap", "carried values that change places, and one from outside")
    x, y = c.input("x0", "f32", "a=2"), c.input("y0", "f32", "a=2")
    w, n = c.input("w", "f32", "a=2"), c.input("n0", "i32", "", [0])
    c.line("""
        x1, y1, n1 = while(x0, y0, n0) {
            cond(x, y, n) {
                yield less(n, 3)
            }
            body(x, y, n) {
                yield y + w, x, n + 1
            }
        }
        """)
    p, q = x, y
    for _ in range(3):
        p, q = q + w, p
    c.expect("x1", p, "a=2")
    c.expect("y1", q, "a=2")
    c.expect("n1", n + 3, "", "i32")
    c.write(0)


def loops():
    c = Case("control/loop", "a fixed number of iterations, what is summed, gradients")
    s0, w = c.input("s0", "f32", "a=3", low=-1, high=1), c.input(
        "w", "f32", "a=3, b=3", low=-1, high=1
    )
    c.line("""
        s, total = loop(s0, trips=4) {
            body(s; i) {
                h: [b] = einsum(s, w)
                t: [a=3] = reshape(tanh(h))
                f: f32 = cast(i)
                yield t; t * t * f
            }
        }
        """)
    s, total = s0, torch.zeros(3)
    for i in range(4):
        s = torch.tanh(s @ w)
        total = total + s * s * i
    c.expect("s", s, "a=3")
    c.expect("total", total, "a=3")
    c.gradients("ds0, dw", "s, total", "s0, w")
    c.write(3)
    c = Case("control/loop_plain", "nothing summed; an integer is carried beside a float")
    x, n = c.input("x0", "f32", "a=2, b=3"), c.input("n0", "i32", "", [3])
    c.line("""
        x, n = loop(x0, n0, trips=3) {
            body(x, n) {
                yield x * x * 0.5, n + 2
            }
        }
        """)
    y = x
    for _ in range(3):
        y = y * y * 0.5
    c.expect("x", y, "a=2, b=3")
    c.expect("n", n + 6, "", "i32")
    c.write(3)
    c = Case("control/loop_once", "one iteration")
    x = c.input("x0", "f32", "")
    c.line("""
        x = loop(x0, trips=1) {
            body(x) {
                yield sin(x)
            }
        }
        """)
    c.expect("x", torch.sin(x), "")
    c.gradients("dx", "x", "x0")
    c.write(3)
    c = Case(
        "control/loop_unused", "gradients where only the sums or only the carried value is used"
    )
    x, v = c.input("x0", "f32", "a=3", low=-1, high=1), c.input("v", "f32", "a=3")
    c.line("""
        _, t = loop(x0, trips=3) {
            body(x) {
                yield sin(x); x * v
            }
        }
        u, _ = loop(x0, trips=3) {
            body(x) {
                yield x * v; exp(x)
            }
        }
        """)
    y, t, u = x, torch.zeros(3), x
    for _ in range(3):
        y, t, u = torch.sin(y), t + y * v, u * v
    c.expect("t", t, "a=3")
    c.expect("u", u, "a=3")
    c.gradients("dx, dv", "t", "x0, v")
    c.gradients("ex, ev", "u", "x0, v")
    c.write(3)
    nested()


def nested():
    c = Case("control/loop_nested", "a loop inside a loop")
    x = c.input("x0", "f32", "a=3", low=-1, high=1)
    c.line("""
        x = loop(x0, trips=2) {
            body(p) {
                q = loop(p, trips=3) {
                    body(r) {
                        yield sin(r) + x0
                    }
                }
                yield q * p
            }
        }
        """)
    p = x
    for _ in range(2):
        q = p
        for _ in range(3):
            q = torch.sin(q) + x
        p = q * p
    c.expect("x", p, "a=3")
    c.gradients("dx", "x", "x0")
    c.write(3)
    c = Case("control/history", "the values that a carried tensor had at the start of each iteration")
    x = c.input("x0", "f32", "a=2", low=-1, high=1)
    c.line("""
        s = loop(x0, trips=3) {
            body(p) {
                yield tanh(p) + 0.25
            }
        }
        h = history(s)
        """)
    s, h = x, []
    for _ in range(3):
        h.append(s)
        s = torch.tanh(s) + 0.25
    c.expect("s", s, "a=2")
    c.expect("h", torch.stack(h), "_iterations=3, a=2")
    c.write(0)
    c = Case("control/loop_recompute", "a recomputed region inside a loop")
    x, w = c.input("x0", "f32", "a=3", low=-1, high=1), c.input("w", "f32", "a=3")
    c.line("""
        x = loop(x0, trips=3) {
            body(p) {
                q = recompute(p) {
                    body(r) {
                        yield tanh(sin(r) * w)
                    }
                }
                yield q + p
            }
        }
        """)
    p = x
    for _ in range(3):
        p = torch.tanh(torch.sin(p) * w) + p
    c.expect("x", p, "a=3")
    c.gradients("dx, dw", "x", "x0, w")
    c.write(3)


def regions():
    c = Case("control/recompute", "the same values and gradients as without it")
    x, w = c.input("x", "f32", "n=2, a=3", low=-1, high=1), c.input("w", "f32", "a=3, b=2")
    c.line("""
        y = recompute(x) {
            body(p) {
                h = tanh(einsum(p, w))
                yield h * h
            }
        }
        """)
    c.expect("y", torch.tanh(x @ w) ** 2, "n=2, b=2")
    c.gradients("dx, dw", "y", "x, w")
    c.write(3)
    c = Case("control/recompute_two", "two inputs, two results, one of them not used")
    x, z = c.input("x", "f32", "a=3", low=-1, high=1), c.input("z", "f32", "a=3")
    c.line("""
        p, q = recompute(x, z) {
            body(u, v) {
                yield sin(u) * v, u - v
            }
        }
        """)
    c.expect("p", torch.sin(x) * z, "a=3")
    c.expect("q", x - z, "a=3")
    c.gradients("dx, dz", "p", "x, z")
    c.write(3)
    c = Case("control/recompute_chain", "regions one after the other, as layers have them")
    x = c.input("x", "f32", "a=5", low=-1, high=1)
    y = x
    for i in range(3):
        c.line(
            "y%d = recompute(%s) {\n    body(p) {\n        yield sigmoid(p * p) + p\n    }\n}"
            % (i, "x" if i == 0 else "y%d" % (i - 1))
        )
        y = torch.sigmoid(y * y) + y
    c.expect("y2", y, "a=5")
    c.gradients("dx", "y2", "x")
    c.write(3)
    c = Case("control/custom_gradient", "the straight-through estimator")
    x = c.input("x", "f32", "a=5")
    c.line("""
        y = custom_gradient(x) {
            forward(p) {
                yield sign(p)
            }
            backward(p, q, dq) {
                yield dq * 3.0
            }
        }
        z = y * x
        """)
    c.expect("y", torch.sign(x), "a=5")
    c.expect("z", torch.sign(x) * x, "a=5")
    c.gradients("dx", "z", "x", values=[torch.sign(x) + 3 * x])
    c.write(0)
    c = Case("control/custom_gradient_right", "an own gradient that is the true one")
    x, w = c.input("x", "f32", "a=3", low=-1, high=1), c.input("w", "f32", "a=3")
    c.line("""
        y, z = custom_gradient(x, w) {
            forward(p, q) {
                yield sin(p) * q, p * q
            }
            backward(p, q, r, s, dr, ds) {
                yield dr * cos(p) * q + ds * q, dr * sin(p) + ds * p
            }
        }
        """)
    c.expect("y", torch.sin(x) * w, "a=3")
    c.expect("z", x * w, "a=3")
    c.gradients("dx, dw", "y, z", "x, w")
    c.write(3)


def plain():
    c = Case("control/stop_gradient", "a constant to the gradient")
    x = c.input("x", "f32", "a=3")
    c.line("y = x * stop_gradient(x)")
    c.expect("y", x * x, "a=3")
    c.gradients("dx", "y", "x", values=[x.detach()])
    c.write(0)
    c = Case("control/identities", "depend, print and scalar_summary pass their input on")
    x, s = c.input("x", "f32", "a=3"), c.input("s", "f32", "")
    c.input("z", "f32", "b=2")
    c.line("""
        y = depend(x, z, s)
        p = print(x * 2.0, message="twice x")
        q = scalar_summary(s * s, name="loss")
        """)
    c.expect("y", x, "a=3")
    c.expect("p", 2 * x, "a=3")
    c.expect("q", s * s, "")
    c.gradients("dx, ds", "y, p, q", "x, s")
    c.write(3)


def plain_types():
    c = Case("control/identity_types", "depend, print and stop_gradient of every type")
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "a=3")
        c.line("p_%s = print(x_%s)\nd_%s = depend(x_%s, p_%s)" % ((kind,) * 5))
        c.line("s_%s = stop_gradient(x_%s)" % (kind, kind))
        for name in "pds":
            c.expect("%s_%s" % (name, kind), x, "a=3", kind)
    c.write(0)


def gradient_lines():
    c = Case("control/gradients_given", "gradients of the results are given; several results")
    x, w = c.input("x", "f32", "a=3", low=-1, high=1), c.input("w", "f32", "a=3")
    u = c.input("u", "f32", "a=3")
    c.line("""
        y = sin(x) * w
        z = x * x
        dx, dw = gradients(y, z; x, w; u, w)
        """)
    y, z = torch.sin(x) * w, x * x
    dx, dw = torch.autograd.grad([y, z], [x, w], [u, w], create_graph=True)
    c.expect("dx", dx, "a=3")
    c.expect("dw", dw, "a=3")
    c.write(3)
    c = Case("control/gradients_twice", "gradients of gradients, three times")
    x = c.input("x", "f32", "a=3", low=-1, high=1)
    c.line("y = exp(sin(x))")
    c.expect("y", torch.exp(torch.sin(x)), "a=3")
    c.gradients("d1", "y", "x")
    c.gradients("d2", "d1", "x")
    c.gradients("d3", "d2", "x")
    c.write(3)
    c = Case(
        "control/gradients_inner",
        "with respect to a tensor in the middle, and to the result itself",
    )
    x = c.input("x", "f32", "a=3", low=-1, high=1)
    c.line("""
        h = sin(x)
        y = h * h * x
        """)
    c.values["h"] = torch.sin(x)
    c.expect("y", c.values["h"] ** 2 * x, "a=3")
    c.gradients("dh, dx, dy", "y", "h, x, y")
    c.write(3)
    c = Case("control/gradients_shared", "a tensor used along many paths; an input that is dropped")
    x, w = c.input("x", "f32", "a=2, b=3", low=-1, high=1), c.input("w", "f32", "b=3")
    c.input("unused", "f32", "a=2")
    c.line("""
        h = x * w
        y = reduce_sum(h + h * h + tanh(h)) + reduce_max(h)
        """)
    h = x * w
    c.expect("y", (h + h * h + torch.tanh(h)).sum() + h.max(), "")
    c.gradients("dx, _, dw", "y", "x, x, w")
    c.expected = [e for e in c.expected if not e.startswith("#> _")]
    c.lines[-1] = "dx, _, dw = gradients(y; x, unused, w)"
    c.write(3)


def write():
    whiles()
    loops()
    regions()
    plain()
    plain_types()
    gradient_lines()
