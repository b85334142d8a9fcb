"""What trainings in PyTorch share that take the options of `mtf train`: the device, its arithmetic, and a step.

A mode is eager, compiled, channels_last (compiled, too) or graphs (compiled into CUDA graphs)."""

import argparse

import torch

import contest

MODES = ("eager", "compiled", "channels_last", "graphs")


def arguments(modes=MODES, **defaults):
    """Options with these names and defaults, and those that all trainings have."""
    p = argparse.ArgumentParser()
    p.add_argument("mode", choices=modes)
    p.add_argument("--device", default="cpu")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
    p.add_argument("--tf32", action="store_true")
    for name, value in defaults.items():
        p.add_argument("--" + name, type=type(value), default=value)
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high" if a.tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = a.tf32
    torch.backends.cudnn.benchmark = True
    return a


def serve_steps(a, step):
    """Takes steps when asked, which end when the device has done them."""
    if a.device == "cuda":
        contest.peak_bytes = torch.cuda.max_memory_allocated

    def done():
        step()
        if a.device == "cuda":
            torch.cuda.synchronize()

    contest.serve_steps(done)


def serve(a, net, loss_of, optimizer, most_norm=None):
    """Serves training steps; loss_of() computes the loss of a batch."""
    if a.mode != "eager":
        loss_of = torch.compile(loss_of, mode="reduce-overhead" if a.mode == "graphs" else None)

    def step():
        with torch.autocast(a.device, torch.bfloat16, enabled=a.dtype == "bf16"):
            loss = loss_of()
        loss.backward()
        if most_norm:
            torch.nn.utils.clip_grad_norm_(net.parameters(), most_norm)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    serve_steps(a, step)
