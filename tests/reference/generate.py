"""Writes every case file under tests/cases; needs NumPy and PyTorch.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy torch
    /tmp/venv/bin/python tests/reference/generate.py

Values are computed in double by PyTorch, NumPy or plain loops, never by mtf.  Inputs follow from
the name of the case, so that the files change only where a case does.
"""

import os
import sys

sys.dont_write_bytecode = True

import attentions
import common
import control
import elementwise
import f8
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
MODULES += (random_numbers, control, large, attentions, f8)


def main():
    for module in MODULES:
        module.write()
    print("%d cases" % len(common.written))
    # What nobody wrote now is a case written by hand, or stale; people know which.
    for root, _, found in sorted(os.walk(common.CASES)):
        for name in sorted(found):
            path = os.path.join(root, name)
            if path not in common.written:
                print("not from here: " + os.path.relpath(path, common.CASES))


if __name__ == "__main__":
    main()
