"""How a contestant of the benchmark talks: it says when it is ready, takes as many steps as each
line of its input says, answers with seconds for a step and the peak memory, ends with its input."""

import json
import sys
import time

WARM_UP = 2


def peak_bytes():
    """The most memory that this process ever had; getrusage begins with that of its parent."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def serve_steps(step):
    for _ in range(WARM_UP):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        begin = time.perf_counter()
        for _ in range(count):
            step()
        seconds = (time.perf_counter() - begin) / count
        print(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes()}), flush=True)
