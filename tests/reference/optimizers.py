"""Writes tests/nn/optimizer_values.h: ten steps of each optimizer in double; needs PyTorch.

    /tmp/venv/bin/python tests/reference/optimizers.py

The loss is the mean of tanh(x w + c)^2, less w[0, 0] c[1], plus the mean of (x u)^2.  torch.optim takes
the steps where it has the method; else plain lines do.
"""

import os

import torch

STEPS = 10
RATES = [0.1, 0.05, 0.2, 0.01, 0.1, 0.3, 0.02, 0.1, 0.2, 0.05]
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../nn/optimizer_values.h")
NAMES = ("w", "layer/c", "u")
torch.set_default_dtype(torch.float64)


def start():
    x = (torch.arange(21) * 7 % 11).reshape(7, 3) / 5 - 1
    w = (torch.arange(15) * 5 % 13).reshape(3, 5) / 10 - 0.5
    c = torch.arange(5) / 4 - 0.5
    u = (torch.arange(30) * 7 % 17).reshape(3, 5, 2) / 8 - 1
    return x, [v.requires_grad_() for v in (w, c, u)]


def loss_of(x, w, c, u):
    line = (torch.tanh(x @ w + c) ** 2).mean() - w[0, 0] * c[1]
    return line + (torch.einsum("na,abd->nbd", x, u) ** 2).mean()


def by_torch(make, rates=None, clip=None):
    x, variables = start()
    optimizer = make(variables)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rates[step] if rates else group["lr"]
        optimizer.zero_grad()
        loss_of(x, *variables).backward()
        if clip:
            clip(variables)
        optimizer.step()
    return variables


def by_hand(step_of):
    """step_of(step, name, value, gradient, state) gives what is taken from the value."""
    x, variables = start()
    states = [{} for _ in variables]
    for step in range(STEPS):
        gradients = torch.autograd.grad(loss_of(x, *variables), variables)
        variables = [
            (v - step_of(step, name, v.detach(), g, state)).detach().requires_grad_()
            for name, v, g, state in zip(NAMES, variables, gradients, states)
        ]
    return variables


def adam(**options):
    return lambda variables: torch.optim.Adam(variables, **options)


def adamw(decay_of_c, **options):
    def make(variables):
        w, c, u = variables
        groups = [{"params": [w, u]}, {"params": [c], "weight_decay": decay_of_c}]
        return torch.optim.AdamW(groups, **options)

    return make


def sgd(**options):
    return lambda variables: torch.optim.SGD(variables, **options)


def two_rates(rate, rate_of_c):
    def make(variables):
        w, c, u = variables
        return torch.optim.SGD([{"params": [w, u]}, {"params": [c], "lr": rate_of_c}], lr=rate)

    return make


def uncorrected(rate, decay, beta1, beta2, epsilon):
    def step_of(step, name, value, g, state):
        state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * g
        state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * g * g
        return rate * (state["m"] / (torch.sqrt(state["v"]) + epsilon) + decay * value)

    return by_hand(step_of)


def momentum(rates, kept, nesterov):
    def step_of(step, name, value, g, state):
        state["v"] = kept * state.get("v", 0) + rates[step] * g
        return kept * state["v"] + rates[step] * g if nesterov else state["v"]

    return by_hand(step_of)


def rms(x, over):
    return torch.sqrt((x * x).mean(over, keepdim=True))


def adafactor(least=128, beta1=0, scaled=True, excluded=(), stacked=0, decay=None, clipping=1, rate=None):
    """stacked: 1 where the first dimension of w and of u, which c lacks, is stacked."""

    def decay_rate(step):
        if decay is None:
            return 1 - (step + 1.0) ** -0.8
        return decay * (1 - decay**step) / (1 - decay ** (step + 1))

    def step_of(step, name, value, g, state):
        rho, kept = decay_rate(step), stacked if name != "layer/c" else 0
        square = g * g + 1e-30
        dims = sorted(range(kept, g.dim()), key=lambda d: -g.shape[d])

        def averaged(key, fresh):
            state[key] = rho * state.get(key, 0) + (1 - rho) * fresh
            return state[key]

        if len(dims) >= 2 and g.shape[dims[1]] >= least:
            d0, d1 = dims[:2]
            vr = averaged("vr", square.mean(d0, keepdim=True))
            vc = averaged("vc", square.mean(d1, keepdim=True))
            x = g * torch.rsqrt(vr / vr.mean(d1, keepdim=True)) * torch.rsqrt(vc)
        else:
            x = g * torch.rsqrt(averaged("v", square))
        x = x / max(1, (x * x).mean().sqrt() / clipping)
        size = rate or min((step + 1) ** -0.5, 0.01) * (1 if scaled else 0.05)
        if scaled and name not in excluded:
            size = size * torch.clamp(rms(value, tuple(range(kept, g.dim()))), min=1e-3)
        step = x * size
        if beta1:
            state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * step
            step = state["m"]
        return step

    return by_hand(step_of)


def clip_norm(most):
    """PyTorch's own adds 1e-6 to the norm."""

    def clip(variables):
        norm = torch.sqrt(sum((v.grad**2).sum() for v in variables))
        for v in variables:
            v.grad *= most / max(norm, most)

    return clip


def clip_value(most):
    return lambda variables: torch.nn.utils.clip_grad_value_(variables, most)


def clip_both(value, norm):
    return lambda variables: (clip_value(value)(variables), clip_norm(norm)(variables))


def averages(keep):
    x, variables = start()
    optimizer = torch.optim.SGD(variables, lr=0.1)
    means = None
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss_of(x, *variables).backward()
        optimizer.step()
        now = [v.detach().clone() for v in variables]
        means = [keep * m + (1 - keep) * v for m, v in zip(means, now)] if means else now
    return means


RUNS = {
    "sgd": by_torch(sgd(lr=0.1)),
    "sgd_scheduled": by_torch(sgd(lr=0.1), RATES),
    "momentum": by_torch(sgd(lr=0.1, momentum=0.9)),
    "momentum_scheduled": momentum(RATES, 0.8, False),
    "nesterov": by_torch(sgd(lr=0.1, momentum=0.9, nesterov=True)),
    "nesterov_scheduled": momentum(RATES, 0.8, True),
    "adam": by_torch(adam()),
    "adam_chosen": by_torch(adam(lr=0.05, betas=(0.8, 0.95), eps=1e-3)),
    "adam_scheduled": by_torch(adam(), RATES),
    "adamw": by_torch(adamw(0.5, lr=0.01, weight_decay=0.5)),
    "adamw_default": by_torch(adamw(0.01, lr=0.01)),
    "adamw_excluded": by_torch(adamw(0, lr=0.01, weight_decay=0.5)),
    "uncorrected": uncorrected(0.01, 0.5, 0.9, 0.999, 1e-6),
    "adafactor": adafactor(),
    "adafactor_factored": adafactor(least=2, rate=0.05),
    "adafactor_half": adafactor(least=4),
    "adafactor_beta1": adafactor(least=2, beta1=0.7),
    "adafactor_adam": adafactor(least=2, decay=0.9, clipping=0.5),
    "adafactor_unscaled": adafactor(scaled=False),
    "adafactor_excluded": adafactor(least=2, rate=0.05, excluded=("layer/c", "u")),
    "adafactor_stacked": adafactor(least=2, stacked=1, rate=0.05),
    "clip_norm": by_torch(sgd(lr=0.1), clip=clip_norm(0.3)),
    "clip_value": by_torch(sgd(lr=0.1), clip=clip_value(0.05)),
    "clip_both": by_torch(sgd(lr=0.1), clip=clip_both(0.05, 0.1)),
    "two_rates": by_torch(two_rates(0.1, 0.02)),
    "averaged": averages(0.8),
}


def row(values):
    return ", ".join("%.17g" % v for v in values.detach().flatten().tolist())


def main():
    with open(PATH, "w") as out:
        out.write("/* Ten steps of each optimizer, written by tests/reference/optimizers.py. */\n")
        out.write("/* clang-format off */\n")
        x, variables = start()
        out.write("static const double first_x[] = {%s};\n" % row(x))
        out.write("static const double rates[] = {%s};\n" % ", ".join(map(str, RATES)))
        for name, values in (("first", variables), *RUNS.items()):
            rows = ",\n    ".join("{%s}" % row(v) for v in values)
            out.write("static const double %s_values[3][30] = {\n    %s};\n" % (name, rows))
        out.write("/* clang-format on */\n")


if __name__ == "__main__":
    main()
