"""Writes tests/data/examples.tfrecord and its .gz; needs TensorFlow.

    /tmp/venv/bin/python tests/reference/tfrecords.py

Seven tf.Examples: "label" i (one whole number), "whole" i, -i, i * 10^12 (three), "real" i / 4,
-1.5 (two floats), "text" i letters, "list" i whole numbers.  The writer is TensorFlow's own.
"""

import os

import tensorflow as tf

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data/examples.tfrecord")


def whole(values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def example(i):
    feature = {
        "label": whole([i]),
        "whole": whole([i, -i, i * 10**12]),
        "real": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 4, -1.5])),
        "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"abcdefg"[:i]])),
        "list": whole(range(i)),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString(deterministic=True)


for options, path in ((None, PATH), ("GZIP", PATH + ".gz")):
    with tf.io.TFRecordWriter(path, options) as out:
        for i in range(7):
            out.write(example(i))
