"""How a contestant of the benchmark talks: it says when it is ready, takes as many steps as each
line of its input says, answers with seconds for a step and the peak memory, ends with its input."""

import json
import resource
import sys
import time

WARM_UP = 2


def serve(step):
    for _ in range(WARM_UP):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        begin = time.perf_counter()
        for _ in range(count):
            step()
        seconds = (time.perf_counter() - begin) / count
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({"seconds": seconds, "peak_bytes": peak}), flush=True)
