"""safetensors files and the reference library: writes one of theirs, reads ours.

Needs numpy and safetensors.  Usage:
    safetensors_files.py write FILE         a small file of theirs (tests/reference/safetensors_theirs.safetensors)
    safetensors_files.py read FILE...       opens files that mtf wrote, and prints what is in them
"""
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file


def write(path):
    save_file(
        {
            "model.weight": np.linspace(-2.5, 2.5, 6, dtype=np.float32).reshape(2, 3),
            "model.half": np.array([1, 2, 3], dtype=np.float16),
            "step": np.array(17, dtype=np.int64),
            "mask": np.array([True, False]),
            "bytes": np.array([1, 2, 255], dtype=np.uint8),
        },
        path,
        metadata={"format": "np"},
    )


def read(paths):
    for path in paths:
        with safe_open(path, "np") as f:
            print(path, f.metadata().get("made_by"))
            for name in sorted(f.keys()):
                view = f.get_slice(name)
                values = "" if view.get_dtype() == "BF16" else np.asarray(f.get_tensor(name)).ravel()[:3]
                print(f"  {name} {view.get_dtype()} {view.get_shape()} {values}")


if __name__ == "__main__":
    write(sys.argv[2]) if sys.argv[1] == "write" else read(sys.argv[2:])
