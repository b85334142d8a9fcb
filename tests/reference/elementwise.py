"""Elementwise functions: every row of the table, every type, broadcasting by name, kinks."""

import torch
import torch.nn.functional as F

from common import FLOATS, INTS, NUMBERS, SHAPES, TYPES, Case, exact, names, order

INF, NAN = float("inf"), float("nan")


def gelu_grad(x):
    """By the library's own differentiation, with a graph so that it can be differentiated again."""
    with torch.enable_grad():
        at = x if x.requires_grad else x.detach().requires_grad_()
        y = F.gelu(at, approximate="tanh").sum()
        return torch.autograd.grad(y, at, create_graph=True)[0]


# name: (function, lowest input, highest input, order of the derivatives to check)
REAL1 = {
    "exp": (torch.exp, -4, 4, 3),
    "expm1": (torch.expm1, -4, 4, 3),
    "log": (torch.log, 0.25, 4, 3),
    "log1p": (torch.log1p, -0.75, 4, 3),
    "sin": (torch.sin, -4, 4, 3),
    "cos": (torch.cos, -4, 4, 3),
    "tanh": (torch.tanh, -4, 4, 3),
    "erf": (torch.erf, -3, 3, 3),
    "sqrt": (torch.sqrt, 0.25, 4, 3),
    "rsqrt": (torch.rsqrt, 0.5, 4, 3),
    "reciprocal": (torch.reciprocal, 0.5, 4, 3),
    "sigmoid": (torch.sigmoid, -4, 4, 3),
    "silu": (F.silu, -4, 4, 3),
    "swish": (F.silu, -4, 4, 3),
    "gelu": (lambda x: F.gelu(x, approximate="tanh"), -4, 4, 3),
    "gelu_grad": (gelu_grad, -4, 4, 3),
    "gelu_exact": (F.gelu, -4, 4, 3),
    "elu": (F.elu, -4, 4, 3),
    "selu": (F.selu, -4, 4, 3),
    "softplus": (lambda x: torch.logaddexp(x, torch.zeros_like(x)), -4, 4, 3),
    "floor": (torch.floor, -4, 4, 3),
    "ceil": (torch.ceil, -4, 4, 3),
    "round": (torch.round, -4, 4, 3),
    "isnan": (torch.isnan, -4, 4, 0),
}
ANY1 = {
    "negative": (torch.neg, -4, 4, 3),
    "abs": (torch.abs, -4, 4, 3),
    "sign": (torch.sign, -4, 4, 3),
    "square": (torch.square, -4, 4, 3),
    "relu": (torch.relu, -4, 4, 3),
    "identity": (lambda x: x, -4, 4, 3),
}


def result_kind(name, kind):
    return "bool" if name == "isnan" else kind


def unary():
    for name, (f, low, high, derivatives) in {**REAL1, **ANY1}.items():
        kinds = NUMBERS if name in ANY1 else FLOATS
        kinds = TYPES if name == "identity" else kinds
        c = Case("elementwise/" + name, "%s: a scalar, a dimension of size 1, primes" % name)
        for i, dims in enumerate(SHAPES):
            x = c.input("x%d" % i, "f32", dims, low=low, high=high)
            c.line("y%d = %s(x%d)" % (i, name, i))
            c.expect("y%d" % i, f(x), dims, result_kind(name, "f32"))
        c.write(derivatives)
        c = Case("elementwise/%s_types" % name, "%s of the other types" % name)
        for kind in kinds[1:]:
            x = c.input("x_" + kind, kind, "a=2, b=3", low=low, high=high)
            c.line("y_%s = %s(x_%s)" % (kind, name, kind))
            c.expect("y_" + kind, f(x), "a=2, b=3", result_kind(name, kind))
        c.write(0)


def one_input(path, says, text, f, values, kind="f32", gradient=0, derive=False, out=None):
    c = Case("elementwise/" + path, says)
    x = c.input("x", kind, "n=%d" % len(values), values)
    c.line("y = " + text)
    c.expect("y", f(x), kind=out or kind)
    if derive:
        c.gradients("dx", "y", "x", kind)
    if path.endswith("_edges"):
        c.option("#! relative")
    c.write(gradient)


def edges():
    """Far out, at infinities, and the gradient at the kinks."""
    far = {
        "exp": [INF, -INF, 88, -80, 0],
        "log": [0, INF, 1e-30, 1],
        "sqrt": [0, INF, 1e-30],
        "expm1": [1e-6, -1e-6, INF, -INF, 1e-20],
        "log1p": [1e-6, -1e-6, 1e-20, INF, -1],
        "tanh": [50, -50, INF, -INF, 1e-6],
        "erf": [10, -10, INF, -INF, 1e-6],
        "sigmoid": [100, -80, INF, -INF],
        "silu": [100, -80],
        "gelu": [20, -20, 60, -60],
        "gelu_grad": [20, -20, 60, -60],
        "gelu_exact": [20, -20],
        "elu": [-100, -INF, 1e-6, -1e-6],
        "softplus": [100, -80, 0],
        "reciprocal": [INF, -INF, 1e30],
        "rsqrt": [INF, 1e30, 1e-30],
        "floor": [0, -0.5, 2, 0.5, -INF],
        "ceil": [0, -0.5, 2, 0.5, INF],
        "round": [0.5, 1.5, 2.5, -0.5, -1.5, 3, 0.25],
    }
    for name, values in far.items():
        f = {**REAL1, **ANY1}[name][0]
        one_input(name + "_edges", "%s where it is easily wrong" % name, name + "(x)", f, values)
    for name, values in {
        "log": [-1, NAN, 1],
        "sqrt": [-1, NAN, 4],
        "relu": [NAN, -1, 1],
        "exp": [NAN, 0],
        "abs": [NAN, -INF],
    }.items():
        f = {**REAL1, **ANY1}[name][0]
        one_input(name + "_nan", "%s of what is not a number" % name, name + "(x)", f, values)
    one_input(
        "isnan_edges",
        "isnan of every kind of number",
        "isnan(x)",
        torch.isnan,
        [NAN, 0, INF, -INF, 1],
        out="bool",
    )
    for name in ("relu", "abs", "elu", "selu"):
        f = {**REAL1, **ANY1}[name][0]
        if name in ("elu", "selu"):
            one_input(
                name + "_gradient",
                "%s and its gradient" % name,
                name + "(x)",
                f,
                [-1, -0.25, 0.5, 2],
                derive=True,
            )
        else:
            one_input(
                name + "_kink",
                "the gradient of %s at 0 is 0" % name,
                name + "(x)",
                f,
                [-1, 0, 2],
                derive=True,
            )
    for kind, top in (("i32", 2**31 - 1), ("i64", 2**63 - 1)):
        c = Case("elementwise/wrap_" + kind, "integers wrap around")
        c.input("x", kind, "n=3", [top, -top - 1, top])
        c.input("y", kind, "n=3", [1, -1, top])
        for name, value in {
            "add": [-top - 1, top, -2],
            "sub": [top - 1, -top, 0],
            "multiply": [top, -top - 1, 1],
        }.items():
            c.line("z_%s = %s(x, y)" % (name, name))
            c.expect("z_" + name, torch.tensor(value), kind=kind)
        c.line("z_negative = negative(x)\nz_abs = abs(x)\nz_square = square(x)")
        c.expect("z_negative", torch.tensor([-top, -top - 1, -top]), kind=kind)
        c.expect("z_abs", torch.tensor([top, -top - 1, top]), kind=kind)
        c.expect("z_square", torch.tensor([1, 0, 1]), kind=kind)
        c.write(0)


def with_attributes():
    for i, (alpha, text) in enumerate(((0.2, ""), (0.5, ", alpha=0.5"), (0.0, ", alpha=0"))):
        c = Case("elementwise/leaky_relu_%d" % i, "leaky_relu with slope %g below 0" % alpha)
        for j, dims in enumerate(SHAPES):
            x = c.input("x%d" % j, "f32", dims)
            c.line("y%d = leaky_relu(x%d%s)" % (j, j, text))
            c.expect("y%d" % j, F.leaky_relu(x, alpha), dims)
        c.write(3)
    c = Case("elementwise/leaky_relu_types", "leaky_relu of the other types")
    for kind in FLOATS[1:]:
        x = c.input("x_" + kind, kind, "a=5")
        c.line("y_%s = leaky_relu(x_%s, alpha=0.25)" % (kind, kind))
        c.expect("y_" + kind, F.leaky_relu(x, 0.25), kind=kind)
    c.write(0)
    c = Case("elementwise/clip", "clip from both sides")
    for j, dims in enumerate(SHAPES):
        x = c.input("x%d" % j, "f32", dims)
        c.line("y%d = clip(x%d, low=-1, high=1.5)" % (j, j))
        c.expect("y%d" % j, torch.clamp(x, -1, 1.5), dims)
    c.write(3)
    c = Case("elementwise/clip_types", "clip of the other types")
    for kind in NUMBERS[1:]:
        x = c.input("x_" + kind, kind, "a=7")
        c.line("y_%s = clip(x_%s, low=-2, high=3)" % (kind, kind))
        c.expect("y_" + kind, torch.clamp(x, -2, 3), kind=kind)
    c.write(0)


def same_or_broadcast(c, name, f, kind, low, high, low_y, high_y, out=None):
    """Scalars, equal shapes, subsequences, permuted orders, dimensions that only one has."""
    pairs = (
        ("", "", ""),
        ("a=3, b=5", "a=3, b=5", "a=3, b=5"),
        ("a=3, b=1", "b=1", "a=3, b=1"),
        ("c=2", "a=3, c=2", "a=3, c=2"),
        ("a=3, b=2", "b=2, a=3", "a=3, b=2"),
        ("a=2, b=3", "c=2, a=2", "a=2, b=3, c=2"),
        ("b=3", "", "b=3"),
    )
    for i, (dx, dy, dz) in enumerate(pairs):
        x = c.input("x%d" % i, kind, dx, low=low, high=high)
        y = c.input("y%d" % i, kind, dy, low=low_y, high=high_y)
        c.line("z%d = %s(x%d, y%d)" % (i, name, i, i))
        z = f(order(x, names(dx), names(dz)), order(y, names(dy), names(dz)))
        c.expect("z%d" % i, z, dz, out or kind)


BINARY = {  # name: (function, domain of x, domain of y, derivatives, integer types too)
    "add": (torch.add, (-4, 4), (-4, 4), 3, True),
    "sub": (torch.sub, (-4, 4), (-4, 4), 3, True),
    "multiply": (torch.mul, (-4, 4), (-4, 4), 3, True),
    "divide": (torch.div, (-4, 4), (0.5, 4), 3, False),
    "floordiv": (torch.floor_divide, (-4, 4), (0.5, 4), 0, True),
    "mod": (torch.remainder, (-4, 4), (0.5, 4), 0, True),
    "pow": (torch.pow, (0.5, 3), (-3, 3), 3, False),
    "minimum": (torch.minimum, (-4, 4), (-4, 4), 3, True),
    "maximum": (torch.maximum, (-4, 4), (-4, 4), 3, True),
}
COMPARE = {
    "less": torch.lt,
    "less_equal": torch.le,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "equal": torch.eq,
    "not_equal": torch.ne,
}


def not_zero(values):
    return torch.where(torch.as_tensor(values) == 0, 4, torch.as_tensor(values))


def binary():
    for name, (f, dx, dy, derivatives, integers) in BINARY.items():
        c = Case("elementwise/" + name, name + ": equal shapes and broadcasting by name")
        same_or_broadcast(c, name, f, "f32", *dx, *dy)
        c.write(derivatives)
        c = Case("elementwise/%s_types" % name, name + " of the other types")
        for kind in (NUMBERS if integers else FLOATS)[1:]:
            x = c.input("x_" + kind, kind, "a=3, b=5", low=dx[0], high=dx[1])
            values = c.draw("b=5, a=3", kind, *dy)
            y = c.input("y_" + kind, kind, "b=5, a=3", not_zero(values) if kind in INTS else values)
            c.line("z_%s = %s(x_%s, y_%s)" % (kind, name, kind, kind))
            c.expect("z_" + kind, f(x, y.T), "a=3, b=5", kind)
        c.write(0)
    for name, f in COMPARE.items():
        c = Case("elementwise/" + name, name + ": equal shapes and broadcasting by name")
        same_or_broadcast(c, name, f, "f32", -0.1, 0.1, -0.1, 0.1, "bool")
        c.write(0)
        c = Case("elementwise/%s_types" % name, name + " of the other types, ties and NaN")
        for kind in TYPES:
            values = [0, 1, 1, 0] if kind == "bool" else [1, 2, 3, -4]
            others = [0, 1, 0, 1] if kind == "bool" else [1, 3, 2, -4]
            x, y = c.input("x_" + kind, kind, "n=4", values), c.input(
                "y_" + kind, kind, "n=4", others
            )
            c.line("z_%s = %s(x_%s, y_%s)" % (kind, name, kind, kind))
            c.expect("z_" + kind, f(x, y), kind="bool")
        x, y = c.input("x", "f32", "n=4", [NAN, 1, NAN, INF]), c.input(
            "y", "f32", "n=4", [1, NAN, NAN, INF]
        )
        c.line("z = %s(x, y)" % name)
        c.expect("z", f(x, y), kind="bool")
        c.write(0)


def logic():
    c = Case("elementwise/logic", "logical functions, broadcasting by name")
    x, y = c.input("x", "bool", "a=2", [0, 1]), c.input("y", "bool", "b=2, a=2", [0, 0, 1, 1])
    s = c.input("s", "bool", "", [1])
    c.line("n = logical_not(x)\np = logical_and(x, y)\nq = logical_or(y, x)")
    c.line("r = logical_and(s, y)\nt = logical_not(s)")
    c.expect("n", ~x, "a=2", "bool")
    c.expect("p", x & y, "b=2, a=2", "bool")
    c.expect("q", x | y, "b=2, a=2", "bool")
    c.expect("r", s & y, "b=2, a=2", "bool")
    c.expect("t", ~s, "", "bool")
    c.write(0)
    c = Case("elementwise/logic_permuted", "logical functions on permuted and prime shapes")
    x, y = c.input("x", "bool", "a=3, b=5"), c.input("y", "bool", "b=5, a=3")
    c.line("p = logical_and(x, y)\nq = logical_or(x, y)\nn = logical_not(y)")
    c.expect("p", x & y.T, "a=3, b=5", "bool")
    c.expect("q", x | y.T, "a=3, b=5", "bool")
    c.expect("n", ~y, "b=5, a=3", "bool")
    c.write(0)


def binary_edges():
    for name, dx, dy in (("maximum", [1, 1, 0], [0, 0, 1]), ("minimum", [1, 0, 1], [0, 1, 0])):
        c = Case("elementwise/%s_tie" % name, "of two equal numbers the first gets the gradient")
        x, y = c.input("x", "f32", "n=3", [2, 3, 1]), c.input("y", "f32", "n=3", [2, 1, 4])
        c.line("z = %s(x, y)" % name)
        c.expect("z", getattr(torch, name)(x, y))
        c.gradients("dx, dy", "z", "x, y", values=[torch.tensor(dx), torch.tensor(dy)])
        c.write(0)
        c = Case("elementwise/%s_nan" % name, name + ": not a number wins")
        x, y = c.input("x", "f32", "n=4", [NAN, 1, NAN, INF]), c.input(
            "y", "f32", "n=4", [1, NAN, NAN, -INF]
        )
        c.line("z = %s(x, y)" % name)
        c.expect("z", getattr(torch, name)(x, y))
        c.write(0)
    for kind in INTS:
        c = Case("elementwise/division_" + kind, "floor division: signs, and 0 gives 0")
        least = -(2**31) if kind == "i32" else -(2**63)
        c.input("x", kind, "n=10", [7, -7, 7, -7, 6, 0, 5, -5, least, least])
        c.input("y", kind, "n=10", [2, 2, -2, -2, 3, 5, 0, 0, 1, -1])
        c.line("q = floordiv(x, y)\nr = mod(x, y)")
        c.expect("q", torch.tensor([3, -4, -4, 3, 2, 0, 0, 0, least, least]), kind=kind)
        c.expect("r", torch.tensor([1, 1, -1, -1, 0, 0, 0, 0, 0, 0]), kind=kind)
        c.write(0)
    c = Case("elementwise/division_f32", "floor division of floats: signs")
    x = c.input("x", "f32", "n=6", [7, -7, 7, -7, 5.5, -0.5])
    y = c.input("y", "f32", "n=6", [2, 2, -2, -2, 0.25, 3])
    c.line("q = floordiv(x, y)\nr = mod(x, y)")
    c.expect("q", torch.floor(x / y))
    c.expect("r", torch.remainder(x, y))
    c.write(0)
    c = Case("elementwise/pow_edges", "powers of 0 and of negative numbers, and the gradient at 0")
    x = c.input("x", "f32", "n=4", [0, -2, -2, 4])
    c.input("y", "f32", "n=4", [2, 3, -2, 0.5])
    c.line("z = pow(x, y)")
    c.expect("z", torch.pow(x, c.values["y"]))
    c.gradients("dx", "z", "x")
    c.write(0)
    c = Case("elementwise/divide_edges", "division by zero and by infinity")
    x, y = c.input("x", "f32", "n=3", [1, -1, 5]), c.input("y", "f32", "n=3", [0, 0, INF])
    c.line("z = divide(x, y)")
    c.expect("z", x / y)
    c.write(0)


def select():
    c = Case("elementwise/where", "where: equal shapes and a condition with fewer dimensions")
    for i, (dc, dx) in enumerate(
        (("", ""), ("b=3", "a=1, b=3"), ("a=3, b=5", "a=3, b=5"), ("b=2, a=3", "a=3, b=2"))
    ):
        b = c.input("c%d" % i, "bool", dc)
        x, y = c.input("x%d" % i, "f32", dx), c.input("y%d" % i, "f32", dx)
        c.line("z%d = where(c%d, x%d, y%d)" % (i, i, i, i))
        c.expect("z%d" % i, torch.where(order(b, names(dc), names(dx)), x, y), kind="f32")
    c.write(3)
    c = Case("elementwise/where_types", "where of every type")
    b = c.input("c", "bool", "a=5", [1, 0, 0, 1, 1])
    for kind in TYPES:
        x, y = c.input("x_" + kind, kind, "a=5"), c.input("y_" + kind, kind, "a=5")
        c.line("z_%s = where(c, x_%s, y_%s)" % (kind, kind, kind))
        c.expect("z_" + kind, torch.where(b, x, y), "a=5", kind)
    c.write(0)
    c = Case("elementwise/where_nan", "a true select: what is not chosen never shows, not even NaN")
    b = c.input("c", "bool", "a=4", [1, 0, 1, 0])
    x = c.input("x", "f32", "a=4", [1, NAN, 3, INF])
    y = c.input("y", "f32", "a=4", [NAN, 2, -INF, 4])
    c.line("z = where(c, x, y)")
    c.expect("z", torch.where(b, x, y))
    c.gradients("dx, dy", "z", "x, y")
    c.write(0)


def casts():
    values = {
        "float": [0, 1, -1, 2.75, -2.75, 100, 0.5],
        "int": [0, 1, -1, 2, -7, 100, 3],
        "bool": [0, 1, 1, 0, 1, 0, 1],
    }
    for source in TYPES:
        family = "float" if source in FLOATS else "bool" if source == "bool" else "int"
        c = Case(
            "elementwise/cast_" + source, "%s to every type; floats lose their fraction" % source
        )
        x = c.input("x", source, "n=7", values[family])
        one = c.input("s", source, "", [1])
        for target in TYPES:
            c.line("y_%s: %s = cast(x)\ns_%s: %s = cast(s)" % (target, target, target, target))
            c.expect("y_" + target, exact(x.detach(), target), "n=7", target)
            c.expect("s_" + target, exact(one.detach(), target), "", target)
        c.option("#~ 0")
        c.write(0)
    c = Case(
        "elementwise/cast_rounding",
        "casts round to nearest, ties to even, and overflow to infinity",
    )
    eps = 2.0**-8
    values = [
        1 + eps,
        1 + 3 * eps,
        1 + 2.0**-11,
        1 + 3 * 2.0**-11,
        65519,
        65520,
        1e-7,
        2.0**-24,
        1e-40,
        -0.0,
    ]
    x = c.input("x", "f64", "n=10", values)
    for target in FLOATS[:3]:
        c.line("y_%s: %s = cast(x)" % (target, target))
        c.expect("y_" + target, exact(x.detach(), target), kind=target)
    c.option("#~ 0")
    c.write(0)
    c = Case("elementwise/cast_gradient", "the gradient of a cast is cast back")
    x = c.input("x", "f32", "a=3, b=2")
    c.line("h: f64 = cast(x)\ny = h * h")
    c.expect("y", x * x, "a=3, b=2", "f64")
    c.gradients("dx", "y", "x")
    c.write(3)


def write():
    unary()
    edges()
    with_attributes()
    binary()
    logic()
    binary_edges()
    select()
    casts()
