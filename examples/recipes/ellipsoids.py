"""Volumes with an organ and lesions in it, for a network that finds them: random ellipsoids in noise.

    python3 examples/recipes/ellipsoids.py FOLDER [--size 32] [--depth 16] [--train 192] [--test 32] [--seed 1]

Writes train-volumes.npy (f32 [examples, height, width, depth]), train-labels.npy (u8: 0 background, 1 organ,
2 lesion), test-volumes.npy and test-labels.npy.  A body holds an organ, up to three lesions within it, and
other parts of the organ's brightness elsewhere, so that brightness alone does not tell.  Python alone is enough.
"""

import argparse
import array
import math
import os
import random
import sys


def main():
    a = arguments()
    os.makedirs(a.folder, exist_ok=True)
    for part, count, seed in (("train", a.train, a.seed), ("test", a.test, -a.seed)):
        drawn = random.Random(seed)
        volumes, labels = array.array("f"), array.array("B")
        for _ in range(count):
            volume, label = example(drawn, (a.size, a.size, a.depth))
            volumes.extend(volume)
            labels.extend(label)
        if sys.byteorder == "big":
            volumes.byteswap()
        shape = (count, a.size, a.size, a.depth)
        write(os.path.join(a.folder, part + "-volumes.npy"), "<f4", shape, volumes)
        write(os.path.join(a.folder, part + "-labels.npy"), "|u1", shape, labels)


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    for name, value in (("size", 32), ("depth", 16), ("train", 192), ("test", 32), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=value, metavar="N")
    return p.parse_args()


def example(drawn, sizes):
    voxels = sizes[0] * sizes[1] * sizes[2]
    volume, label = array.array("f", bytes(4 * voxels)), array.array("B", bytes(voxels))
    fill(ellipsoid(drawn, sizes, (0.5, 0.5, 0.5), 0.02, 0.42, 0.48), sizes, volume, 0.3)
    for _ in range(drawn.randint(2, 4)):  # other parts
        place = [drawn.uniform(0.2, 0.8) for _ in sizes]
        fill(ellipsoid(drawn, sizes, place, 0, 0.05, 0.1), sizes, volume, drawn.uniform(0.5, 0.7))
    middle = [drawn.uniform(0.4, 0.6) for _ in sizes]
    organ = fill(ellipsoid(drawn, sizes, middle, 0, 0.18, 0.3), sizes, volume, 0.6, label, 1)
    for _ in range(drawn.randint(0, 3)):
        at = drawn.choice(organ)
        place = [(at // (sizes[1] * sizes[2]) + 0.5) / sizes[0],
                 (at // sizes[2] % sizes[1] + 0.5) / sizes[1],
                 (at % sizes[2] + 0.5) / sizes[2]]
        lesion = ellipsoid(drawn, sizes, place, 0, 0.05, 0.11)
        fill(lesion, sizes, volume, 0.45, label, 2, within=1)
    for i in range(voxels):
        volume[i] += drawn.gauss(0, 0.08)
    return volume, label


def ellipsoid(drawn, sizes, place, spread, least, most):
    """The middle and the half axes, in voxels; sizes are shares of the volume's."""
    return ([n * (p + drawn.uniform(-spread, spread)) for n, p in zip(sizes, place)],
            [max(n * drawn.uniform(least, most), 0.8) for n in sizes])


def fill(shape, sizes, volume, brightness, label=None, kind=0, within=None):
    """Gives the voxels inside a brightness and a label; tells which they are."""
    middle, half = shape
    low, high = zip(*((max(0, math.floor(m - h)), min(n, math.ceil(m + h)))
                      for m, h, n in zip(middle, half, sizes)))
    inside = []
    for y in range(low[0], high[0]):
        ry = ((y + 0.5 - middle[0]) / half[0]) ** 2
        for x in range(low[1], high[1]):
            rx = ry + ((x + 0.5 - middle[1]) / half[1]) ** 2
            if rx > 1:
                continue
            at = (y * sizes[1] + x) * sizes[2]
            for z in range(low[2], high[2]):
                if rx + ((z + 0.5 - middle[2]) / half[2]) ** 2 > 1:
                    continue
                if within is not None and label[at + z] != within:
                    continue
                volume[at + z] = brightness
                if label is not None:
                    label[at + z] = kind
                inside.append(at + z)
    return inside


def write(path, kind, shape, numbers):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode("ascii"))
        numbers.tofile(f)


if __name__ == "__main__":
    main()
