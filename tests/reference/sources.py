"""Where values come from, variables and their assignments, and the text language itself."""

import torch

from common import FLOATS, NUMBERS, TYPES, Case, exact


def constants():
    for kind in TYPES:
        value = 1 if kind == "bool" else -3 if kind in ("i32", "i64") else -2.5
        c = Case("sources/constant_" + kind, "constants of type " + kind)
        for i, (dims, n) in enumerate((("", ()), ("a=1", (1,)), ("a=3, b=5", (3, 5)))):
            c.line("x%d: %s[%s] = constant(value=%s)" % (i, kind, dims, value))
            c.expect("x%d" % i, exact(torch.full(n, value), kind), dims, kind)
        c.line("z: %s[a=2] = constant" % kind)
        c.expect("z", exact(torch.zeros(2), kind), "a=2", kind)
        data = [0, 1, 1, 0, 1, 0] if kind == "bool" else [1, -2, 3, 4, 0, -6]
        if kind in FLOATS:
            data = [0.5, -2.25, 3, 1024, 0, -6]
        c.line("d: %s[a=2, b=3] = constant(data={%s})" % (kind, ", ".join(map(str, data))))
        c.line("t: [b, a] = transpose(d)")
        c.expect("d", exact(torch.tensor(data), kind).reshape(2, 3), "a=2, b=3", kind)
        c.expect("t", exact(torch.tensor(data), kind).reshape(2, 3).T, "b=3, a=2", kind)
        c.write(0)
    c = Case("sources/constant_large", "integers that a double does not hold, infinities")
    c.line(
        "x: i64[a=3] = constant(data={9007199254740993, -9223372036854775808, 9223372036854775807})"
    )
    c.expect("x", torch.tensor([9007199254740993, -(2**63), 2**63 - 1]), "a=3", "i64")
    c.line("y: f32[a=2] = constant(data={inf, -inf})")
    c.expect("y", torch.tensor([float("inf"), float("-inf")]), "a=2")
    c.write(0)


def ranges():
    c = Case("sources/range", "0, 1, ... of every number type")
    for kind in NUMBERS:
        for n in (1, 3, 11):
            c.line("x%d_%s: %s[a=%d] = range" % (n, kind, kind, n))
            c.expect("x%d_%s" % (n, kind), exact(torch.arange(n), kind), "a=%d" % n, kind)
    c.write(0)
    c = Case("sources/range_used", "a range beside other tensors")
    x = c.input("x", "f32", "b=3, a=5")
    c.line("i: f32[a=5] = range\ny = x * i")
    c.expect("y", x * torch.arange(5), "b=3, a=5")
    c.write(3)


def inputs():
    c = Case("sources/input", "inputs of every type come out as they went in")
    for kind in TYPES:
        for i, dims in enumerate(("", "a=1", "a=3, b=5")):
            x = c.input("x%d_%s" % (i, kind), kind, dims)
            c.line("y%d_%s = identity(x%d_%s)" % (i, kind, i, kind))
            c.expect("y%d_%s" % (i, kind), x, dims, kind)
    c.write(0)
    c = Case("sources/input_fetched", "an input itself can be fetched")
    x = c.input("x", "f32", "a=3")
    c.expect("x", x, "a=3")
    c.line("y = x + x")
    c.expect("y", x + x, "a=3")
    c.write(3)


def variables():
    c = Case("state/variable_init", "initial values")
    for kind in NUMBERS:
        for init, v in (("zeros", 0), ("ones", 1), ("constant(3)", 3)):
            name = "w_%s_%s" % (init[:4], kind)
            c.line(
                '%s: %s[a=2, b=3] = variable(init="%s")\ny%s = identity(%s)'
                % (name, kind, init, name, name)
            )
            c.expect("y" + name, exact(torch.full((2, 3), v), kind), "a=2, b=3", kind)
    c.write(0)
    c = Case("state/variable_untrainable", "a variable that is not trained still holds its value")
    c.line('w: f32[a=3] = variable(init="ones", trainable=false)\ny = w * 2.0')
    c.expect("y", torch.full((3,), 2.0), "a=3")
    c.write(0)
    c = Case("state/variable_gradient", "variables have gradients like inputs")
    x, w = c.input("x", "f32", "n=3, a=2"), c.variable("w", "f32", "a=2, b=2")
    c.line("y = tanh(einsum(x, w))")
    c.expect("y", torch.tanh(x @ w), "n=3, b=2")
    c.gradients("dw", "y", "w")
    c.write(3)


def assignments():
    for mode, sign in (("set", 0), ("add", 1), ("sub", -1)):
        for steps in (1, 3):
            c = Case(
                "state/assign_%s_%d" % (mode, steps),
                "assign, mode %s, after %d steps" % (mode, steps),
            )
            for kind in NUMBERS:
                w, x = c.variable("w_" + kind, kind, "a=3"), c.input("x_" + kind, kind, "a=3")
                text = "" if mode == "set" else ", mode=" + mode
                c.line(
                    "n_%s = assign(w_%s, x_%s%s)\nr_%s = read(w_%s)\nold_%s = identity(w_%s)"
                    % (kind, kind, kind, text, kind, kind, kind, kind)
                )
                value = [w.detach()]
                for _ in range(steps):
                    value.append(x.detach() + 0 if sign == 0 else value[-1] + sign * x.detach())
                c.expect("n_" + kind, value[-1], "a=3", kind)
                c.expect("r_" + kind, value[-1], "a=3", kind)
                c.expect("old_" + kind, value[-2], "a=3", kind)
            c.option("#! steps %d" % steps)
            c.write(0)
    c = Case(
        "state/assign_twice", "read sees the assignments above it, the name the start of the step"
    )
    w, x = c.variable("w", "f32", "a=2, b=3"), c.input("x", "f32", "a=2, b=3")
    c.line(
        "r0 = read(w)\nn1 = assign(w, x, mode=add)\nr1 = read(w)\n"
        "n2 = assign(w, r1 * 2.0)\nr2 = read(w)"
    )
    c.line("s = w + r1 + r2")
    for name, value in {
        "r0": w,
        "n1": w + x,
        "r1": w + x,
        "n2": 2 * (w + x),
        "r2": 2 * (w + x),
        "s": w + 3 * (w + x),
    }.items():
        c.expect(name, value, "a=2, b=3")
    c.write(0)
    c = Case("state/assign_transposed", "two variables exchange their values")
    v, w = c.variable("v", "f32", "a=3, b=2"), c.variable("w", "f32", "a=3, b=2")
    c.line("nv = assign(v, w)\nnw = assign(w, v)")
    c.expect("nv", w, "a=3, b=2")
    c.expect("nw", v, "a=3, b=2")
    c.write(0)
    c = Case("state/assign_swap_3", "two variables exchange their values three times")
    v, w = c.variable("v", "f32", "a=3, b=2"), c.variable("w", "f32", "a=3, b=2")
    c.line("nv = assign(v, w)\nnw = assign(w, v)")
    c.expect("nv", w, "a=3, b=2")
    c.expect("nw", v, "a=3, b=2")
    c.option("#! steps 3")
    c.write(0)


def descent():
    """The network of the language's manual, small, some steps of it."""
    c = Case("state/descent", "a two-layer network: three steps of gradient descent")
    x = c.input("images", "f32", "batch=3, rows=2, cols=2", low=-1, high=1)
    labels = c.input("labels", "i32", "batch=3", [0, 2, 1])
    w1 = c.variable("w1", "f32", "rows=2, cols=2, hidden=5", high=1)
    w2 = c.variable("w2", "f32", "hidden=5, classes=3", high=1)
    c.line(
        "h: [batch, hidden] = einsum(images, w1)\nlogits: [batch, classes] = einsum(relu(h), w2)"
    )
    c.line("hot: f32[batch=3, classes=3] = one_hot(labels, dim=[classes=3])")
    c.line(
        "loss = reduce_mean(0 - reduce_sum(log_softmax(logits, dim=classes) * hot, over=(classes)))"
    )
    c.line("dw1, dw2 = gradients(loss; w1, w2)")
    c.line("new_w1 = assign(w1, w1 - 0.125 * dw1)\nnew_w2 = assign(w2, w2 - 0.125 * dw2)")
    for _ in range(3):
        logits = torch.relu(torch.einsum("brc,rch->bh", x, w1)) @ w2
        loss = torch.nn.functional.cross_entropy(logits, labels)
        d1, d2 = torch.autograd.grad(loss, [w1, w2])
        w1 = (w1 - 0.125 * d1).detach().requires_grad_()
        w2 = (w2 - 0.125 * d2).detach().requires_grad_()
    c.expect("loss", loss, "")
    c.expect("new_w1", w1)
    c.expect("new_w2", w2)
    c.option("#! steps 3")
    c.option("#~ 1e-5")
    c.write(0)


def text():
    c = Case("text/operators", "sums and products with numbers, brackets and nested calls")
    a, b = c.input("a", "f32", "p=3"), c.input("b", "f32", "q=2, p=3", low=0.5, high=4)
    c.line("y = (a + 2.0) * 3 - b / (1 + exp(a)) - 0.5\nz = 1 - a\nw = 2 / b\nv = 0.25 * a * 4 + 1")
    c.expect("y", (a + 2) * 3 - b / (1 + torch.exp(a)) - 0.5, "q=2, p=3")
    c.expect("z", 1 - a, "p=3")
    c.expect("w", 2 / b, "q=2, p=3")
    c.expect("v", a + 1, "p=3")
    c.write(3)
    c = Case("text/integers", "numbers take the type of the operand beside them")
    a = c.input("a", "i32", "p=3")
    c.line("y = (a + 2) * 3 - a * a\nz = 7 - a")
    c.expect("y", (a + 2) * 3 - a * a, "p=3", "i32")
    c.expect("z", 7 - a, "p=3", "i32")
    c.write(0)
    c = Case("text/dims", "sizes from `dim` lines and from inputs, lines that go on, quoted names")
    c.line("dim p = 3\ndim q = 2")
    c.line("x: f32[p, q] = input  # a comment after a line")
    c.line(
        '"x two": f32[q] = input\nscope/y = add(\n    x,\n    "x two"\n)\n\n'
        "z: [q, p] = transpose(scope/y)"
    )
    c.feeds += ["#< x = 1 2 3 4 5 6", "#< x two = 10 20"]
    c.expect("scope/y", torch.tensor([[11.0, 22], [13, 24], [15, 26]]), "p=3, q=2")
    c.expect("z", torch.tensor([[11.0, 13, 15], [22, 24, 26]]), "q=2, p=3")
    c.write(3)


def write():
    constants()
    ranges()
    inputs()
    variables()
    assignments()
    descent()
    text()
