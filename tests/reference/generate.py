"""Writes every case file under tests/cases; needs NumPy and PyTorch.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy torch
    /tmp/venv/bin/python tests/reference/generate.py

Values are computed in double by PyTorch, NumPy or plain loops, never by mtf.  Inputs follow from
the name of the case, so that the files change only where a case does.
"""

import os
import shutil
import sys

sys.dont_write_bytecode = True

import common
import control
import elementwise
import indices
import large
import pools
import random_numbers
import reductions
import shapes
import shifts
import softmaxes
import sources
import windows

MODULES = (sources, elementwise, reductions, softmaxes, shapes, shifts, indices, windows, pools)
MODULES += (random_numbers, control, large)


def main():
    # Stale files go; tests/cases/by_hand belongs to people.
    for group in os.listdir(common.CASES) if os.path.isdir(common.CASES) else ():
        if group != "by_hand":
            shutil.rmtree(os.path.join(common.CASES, group))
    for module in MODULES:
        module.write()
    files = [os.path.join(root, f) for root, _, found in os.walk(common.CASES) for f in found]
    print("%d cases, %d KiB" % (len(files), sum(os.path.getsize(f) for f in files) // 1024))


if __name__ == "__main__":
    main()
