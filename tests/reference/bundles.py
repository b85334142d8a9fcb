"""Writes tests/reference/bundles: checkpoints of TensorFlow, by TensorFlow itself.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install tensorflow-cpu
    /tmp/venv/bin/python tests/reference/bundles.py
    /tmp/venv/bin/python tests/reference/bundles.py opens FOLDER   a folder that mtf exported: each tensor, and its sum

t5           the weights of tests/reference/published/t5 under the names, and in the orientation, that Mesh
             TensorFlow gives them, in two files, with the state of Adafactor and global_step 7
types        tensors of every type, of no dimensions and of no elements; a name that shares its beginning
snappy       the same, with an index of compressed blocks, as TensorFlow reads but does not write
partitioned  a variable that is kept as two slices
"""

import json
import os
import re
import struct
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
TO = os.path.join(HERE, "bundles")
STEP = 7


def save(prefix, tensors, slices=None):
    tf.raw_ops.SaveV2(prefix=prefix, tensor_names=list(tensors), shape_and_slices=slices or [""] * len(tensors),
                      tensors=list(tensors.values()))


def save_in_files(prefix, parts):
    """As a Saver with sharded=True does: each device writes a file, then the indexes become one."""
    names = [prefix + "_temp/part-%05d-of-%05d" % (i, len(parts)) for i in range(len(parts))]
    for name, part in zip(names, parts):
        save(name, part)
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=names, destination_prefix=prefix, delete_old_dirs=True)


# ---- a model ----


def published(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            yield name, np.frombuffer(data[begin:end], np.float32).reshape(about["shape"])


def original_name(name):
    """Of a tensor of the transformers library."""
    if name == "shared.weight":
        return "shared/embedding"
    name = name.removesuffix(".weight").replace(".final_layer_norm", "/final_layer_norm/scale")
    name = re.sub(r"\.block\.(\d+)\.layer\.(\d+)\.",
                  lambda m: "/block_%03d/layer_%03d/" % (int(m[1]), int(m[2])), name)
    name = re.sub(r"layer_norm$", "layer_norm/scale", name)
    name = re.sub(r"DenseReluDense\.(\w+)$", r"DenseReluDense/\1/kernel", name)
    return name.replace(".", "/")


def slots(rng, name, w):
    """Adafactor's state: without the largest dimension, and without the second."""
    order = sorted(range(w.ndim), key=lambda d: -w.shape[d])
    if w.ndim < 2 or w.shape[order[1]] < 8:
        yield name + "_slot_v", w.shape
    else:
        yield name + "_slot_vr", np.delete(w.shape, order[0])
        yield name + "_slot_vc", np.delete(w.shape, order[1])


def write_t5():
    rng = np.random.default_rng(5)
    weights, state = {}, {}
    for name, x in published(os.path.join(HERE, "published/t5/model.safetensors")):
        whole = name == "shared.weight" or x.ndim == 1
        weights[original_name(name)] = np.ascontiguousarray(x if whole else x.T)
    for name, w in weights.items():
        for slot, shape in slots(rng, name, w):
            state[slot] = rng.random(tuple(shape), np.float32)
    state["global_step"] = np.array(STEP, np.int64)
    both = dict(sorted({**weights, **state}.items()))
    first = {n: x for i, (n, x) in enumerate(both.items()) if i % 3}
    rest = {n: x for n, x in both.items() if n not in first}
    save_in_files(os.path.join(TO, "t5/model.ckpt-%d" % STEP), [first, rest])
    with open(os.path.join(TO, "t5/checkpoint"), "w") as f:
        f.write('model_checkpoint_path: "/of/old/model.ckpt-%d"\n' % STEP)


# ---- types ----


def write_types():
    x = np.array([[0, 1, -2.5], [1e30, np.inf, 3]])
    save(os.path.join(TO, "types/all"), {
        "f32": tf.constant(x, tf.float32), "f64": tf.constant(x, tf.float64),
        "half": tf.constant(np.arange(-2, 3), tf.float16), "bf16": tf.constant(x, tf.bfloat16),
        "i32": tf.constant([-1, 2 ** 31 - 1]), "i64": tf.constant([-1, 2 ** 62], tf.int64),
        "bool": tf.constant([True, False]), "bytes": tf.constant([1, 255], tf.uint8),
        "text": tf.constant(["a", "bc"]), "empty": tf.zeros([0, 3]),
        "a/common/beginning/one": tf.constant(1.5), "a/common/beginning/one_more": tf.constant(2.5),
        "a/common/beginning/two": tf.constant([[[1.0, 2.0]]]),
    })


def write_partitioned():
    save(os.path.join(TO, "partitioned/both"),
         {"w": tf.zeros([2, 2]), "w ": tf.ones([2, 2])}, ["4 2 0,2:0,2", ""])


# ---- compressed blocks ----


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(x):
    out = b""
    while x >= 128:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])


def take_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def piece(data):
    n = len(data) - 1
    head = bytes([n << 2]) if n < 60 else bytes([60 << 2, n]) if n < 256 else bytes([61 << 2, n & 255, n >> 8])
    return (head + data) if data else b""


def copy(n, back, turn):
    """The three forms in turn, where they fit."""
    if turn % 3 == 0 and 4 <= n <= 11 and back < 2048:
        return bytes([1 | (n - 4) << 2 | back >> 8 << 5, back & 255])
    if turn % 3 < 2:
        return bytes([2 | (n - 1) << 2]) + struct.pack("<H", back)
    return bytes([3 | (n - 1) << 2]) + struct.pack("<I", back)


def compressed(data):
    out, at, begin, turn = varint(len(data)), 0, 0, 0
    while at < len(data):
        found = data.rfind(data[at:at + 4], 0, at + 3) if at + 4 <= len(data) else -1
        n = 0
        while 0 <= found and at + n < len(data) and n < 64 and data[found + n] == data[at + n]:
            n += 1
        if n >= 4:
            out, turn = out + piece(data[begin:at]) + copy(n, at - found, turn), turn + 1
            at = begin = at + n
        else:
            at += 1
    return out + piece(data[begin:])


def write_snappy():
    """Rewrites the index: its blocks compressed, one after the other, and where they are."""
    with open(os.path.join(TO, "types/all.index"), "rb") as f:
        old = f.read()
    out = b""

    def block(data):
        nonlocal out
        data, begin = compressed(data) + b"\1", len(out)
        out += data + struct.pack("<I", crc32c(data))
        return varint(begin) + varint(len(data) - 1)

    _, at = take_varint(old, len(old) - 48)
    _, at = take_varint(old, at)
    begin, at = take_varint(old, at)
    n, _ = take_varint(old, at)
    assert old[begin + n] == 0
    index, at, entries = old[begin:begin + n], 0, b""
    end = len(index) - 4 - 4 * struct.unpack("<I", index[-4:])[0]
    while at < end:
        shared, at = take_varint(index, at)
        own, at = take_varint(index, at)
        length, at = take_varint(index, at)
        assert shared == 0
        first, after = take_varint(index, at + own)
        size, _ = take_varint(index, after)
        place = block(old[first:first + size])
        entries += varint(0) + varint(own) + varint(len(place)) + index[at:at + own] + place
        at += own + length
    none = block(struct.pack("<II", 0, 1))
    root = block(entries + struct.pack("<II", 0, 1))
    out += (none + root).ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    with open(os.path.join(TO, "snappy/all.index"), "wb") as f:
        f.write(out)
    with open(os.path.join(TO, "types/all.data-00000-of-00001"), "rb") as f:
        data = f.read()
    with open(os.path.join(TO, "snappy/all.data-00000-of-00001"), "wb") as f:
        f.write(data)


# ---- reading ----


def opens(folder):
    prefix = tf.train.latest_checkpoint(folder)
    reader = tf.train.load_checkpoint(prefix)
    print(prefix)
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        x = reader.get_tensor(name)
        total = "%.6g" % np.sum(np.asarray(x, np.float64)) if x.dtype != object else x
        print(" ", name, reader.get_variable_to_dtype_map()[name].name, shape, total)


def main():
    for folder in ("t5", "types", "snappy", "partitioned"):
        os.makedirs(os.path.join(TO, folder), exist_ok=True)
    write_t5()
    write_types()
    write_partitioned()
    write_snappy()
    theirs, ours = (tf.train.load_checkpoint(os.path.join(TO, f, "all")) for f in ("types", "snappy"))
    for name in theirs.get_variable_to_shape_map():
        assert np.array_equal(theirs.get_tensor(name), ours.get_tensor(name)), name


if __name__ == "__main__":
    opens(sys.argv[2]) if sys.argv[1:2] == ["opens"] else main()
