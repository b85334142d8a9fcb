"""Writes tests/nn/adam_values.h: five steps of Adam in double; needs PyTorch.

    /tmp/venv/bin/python tests/reference/adam.py

The loss is the mean of tanh(x w + c)^2 - w[0, 0] c[1]; torch.optim.Adam and AdamW take the steps,
and plain lines the one without correction.
"""

import os

import torch

STEPS = 5
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../nn/adam_values.h")
torch.set_default_dtype(torch.float64)


def start():
    x = (torch.arange(21) * 7 % 11).reshape(7, 3) / 5 - 1
    w = (torch.arange(15) * 5 % 13).reshape(3, 5) / 10 - 0.5
    c = torch.arange(5) / 4 - 0.5
    return x, w.requires_grad_(), c.requires_grad_()


def loss_of(x, w, c):
    return (torch.tanh(x @ w + c) ** 2).mean() - w[0, 0] * c[1]


def train(make, rates=None):
    x, w, c = start()
    optimizer = make(w, c)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rates[step] if rates else group["lr"]
        optimizer.zero_grad()
        loss_of(x, w, c).backward()
        optimizer.step()
    return w, c


def uncorrected(rate, decay, beta1, beta2, epsilon):
    x, *ws = start()
    ms, vs = [torch.zeros_like(w) for w in ws], [torch.zeros_like(w) for w in ws]
    for _ in range(STEPS):
        gradients = torch.autograd.grad(loss_of(x, *ws), ws)
        for i, g in enumerate(gradients):
            ms[i] = beta1 * ms[i] + (1 - beta1) * g
            vs[i] = beta2 * vs[i] + (1 - beta2) * g * g
            step = ms[i] / (torch.sqrt(vs[i]) + epsilon) + decay * ws[i]
            ws[i] = (ws[i] - rate * step).detach().requires_grad_()
    return ws


def adam(**options):
    return lambda w, c: torch.optim.Adam([w, c], **options)


def adamw(decay_of_c, **options):
    def make(w, c):
        groups = [{"params": [w]}, {"params": [c], "weight_decay": decay_of_c}]
        return torch.optim.AdamW(groups, **options)

    return make


RUNS = {
    "plain": train(adam()),
    "chosen": train(adam(lr=0.05, betas=(0.8, 0.95), eps=1e-3)),
    "decayed": train(adamw(0.5, lr=0.01, weight_decay=0.5)),
    "excluded": train(adamw(0, lr=0.01, weight_decay=0.5)),
    "scheduled": train(adam(), [0.1, 0.05, 0.2, 0.01, 0.1]),
    "uncorrected": uncorrected(0.01, 0.5, 0.9, 0.999, 1e-6),
}


def row(values):
    return ", ".join("%.17g" % v for v in values.detach().flatten().tolist())


def main():
    with open(PATH, "w") as out:
        out.write("/* Five steps of Adam, written by tests/reference/adam.py. */\n")
        out.write("/* clang-format off */\n")
        x, w, c = start()
        for name, values in (("x", x), ("w", w), ("c", c)):
            out.write("static const double first_%s[] = {%s};\n" % (name, row(values)))
        for name, (w, c) in RUNS.items():
            out.write("static const double %s_w[] = {%s};\n" % (name, row(w)))
            out.write("static const double %s_c[] = {%s};\n" % (name, row(c)))
        out.write("/* clang-format on */\n")


if __name__ == "__main__":
    main()
