"""Writes tests/text/bert.tfrecord: three rows of BERT's pre-training with the original's features.

    python3 tests/reference/bert_records.py

The file's parts are put together here, from their descriptions: records with checksums, and the protocol buffers of
tf.Example in them.  Row i has the words 5 + i, 6 + i, ... and two masked ones.
"""

import os
import struct

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../text/bert.tfrecord")
LENGTH, PREDICTIONS = 8, 3


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(x):
    out = b""
    while x >= 128:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def whole(values):
    return field(3, field(1, b"".join(varint(x) for x in values)))


def real(values):
    return field(2, field(1, struct.pack("<%df" % len(values), *values)))


def example(i):
    words = 4 + i
    features = {
        "input_ids": whole([5 + i + k if k < words else 0 for k in range(LENGTH)]),
        "input_mask": whole([int(k < words) for k in range(LENGTH)]),
        "segment_ids": whole([int(2 <= k < words) for k in range(LENGTH)]),
        "masked_lm_positions": whole([1, 2 + i, 0]),
        "masked_lm_ids": whole([10 + i, 20 + i, 0]),
        "masked_lm_weights": real([1.0, 1.0, 0.0]),
        "next_sentence_labels": whole([i % 2]),
    }
    return field(1, b"".join(field(1, field(1, k.encode()) + field(2, v)) for k, v in sorted(features.items())))


with open(PATH, "wb") as f:
    for i in range(3):
        data = example(i)
        head = struct.pack("<Q", len(data))
        f.write(head + masked(head) + data + masked(data))
