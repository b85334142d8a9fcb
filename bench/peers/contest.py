"""The protocol of a contestant of the benchmark: it reports that it is ready, runs as many steps as each
line of its input says, writes the seconds of a step and the peak memory, and ends with its input."""

import json
import sys
import time

WARM_UP = 2


def peak_bytes():
    """The peak memory of this process; getrusage begins with that of its parent."""
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
