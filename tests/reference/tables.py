"""Writes tests/data/table.csv, elements_*.npy and tokens_*.bin; needs NumPy.

    /tmp/venv/bin/python tests/reference/tables.py

The table, by Python's own csv module, has a line of names and 14 rows: "id" i, "a ""name"", quoted"
TEXTS[i % 7], "x0" to "x3" i / 8 + column, "label" i % 10.  Each elements file, by numpy.save, has
three rows of two: the least and the largest number of its type, 0 and 1, 7 and 100.  The files of
tokens, by numpy.tofile as nanoGPT's prepare.py does it, have the tokens 3 i % 50257 (u16) and
70001 i (u32), for i from 0 to 100.
"""

import csv
import os

import numpy as np

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
TEXTS = ["plain", 'a "quoted" word', "two\nlines", "", "comma, inside", "cr\r\nlf", '"']


def table():
    with open(os.path.join(FOLDER, "table.csv"), "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["id", 'a "name", quoted', "x0", "x1", "x2", "x3", "label"])
        for i in range(14):
            w.writerow([i, TEXTS[i % 7]] + [i / 8 + k for k in range(4)] + [i % 10])


def elements():
    for name in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]:
        limits = np.iinfo(name)
        values = np.array([[limits.min, limits.max], [0, 1], [7, 100]], dtype=name)
        np.save(os.path.join(FOLDER, f"elements_{name}.npy"), values)


def tokens():
    (3 * np.arange(101) % 50257).astype(np.uint16).tofile(os.path.join(FOLDER, "tokens_u16.bin"))
    (70001 * np.arange(101)).astype(np.uint32).tofile(os.path.join(FOLDER, "tokens_u32.bin"))


table()
elements()
tokens()
