"""MNIST epochs by README.md's network in Mesh TensorFlow, from the images' bytes to the loss.

    mesh_tf_epochs.py THREADS tf.data|numpy BATCH FOLDER MESH LAYOUT
"""

import gzip
import sys

import mesh_tf
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf

from contest import serve_steps

EXAMPLES, PIXELS = 60000, 28 * 28
threads, source, size, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
mesh_shape, layout = sys.argv[5:7]


def pipeline():
    """As the original's example reads: records of files, kept in memory, shuffled, read ahead."""
    files = [f"{folder}/train-{name}-ubyte.gz" for name in ("images-idx3", "labels-idx1")]
    records = [
        tf.data.FixedLengthRecordDataset(file, length, header_bytes=header, compression_type="GZIP")
        for file, length, header in zip(files, (PIXELS, 1), (16, 8))
    ]
    batches = tf.data.Dataset.zip(tuple(records)).cache().shuffle(EXAMPLES).repeat()
    batches = batches.batch(size, drop_remainder=True).map(
        lambda image, label: (
            tf.cast(tf.io.decode_raw(image, tf.uint8), tf.float32) / 255,
            tf.cast(tf.io.decode_raw(label, tf.uint8), tf.int32),
        )
    )
    images, labels = tf.data.make_one_shot_iterator(batches.prefetch(2)).get_next()
    return tf.reshape(images, [size, 28, 28]), tf.reshape(labels, [size])


def arrays():
    def read(name, header):
        with gzip.open(f"{folder}/train-{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=header)

    images, labels = read("images-idx3", 16).reshape(-1, 28, 28), read("labels-idx1", 8)
    while True:
        order = np.random.permutation(EXAMPLES)
        for at in range(0, EXAMPLES - size + 1, size):
            rows = order[at : at + size]
            yield images[rows].astype(np.float32) / np.float32(255), labels[rows].astype(np.int32)


if source == "tf.data":
    images, labels = pipeline()
else:
    images = tf.placeholder(tf.float32, [size, 28, 28])
    labels = tf.placeholder(tf.int32, [size])
graph = mtf.Graph()
mesh = mtf.Mesh(graph, "mesh")
loss = mesh_tf.digits(mesh, images, labels)
weights = graph.trainable_variables
gradients = mtf.gradients([loss], [w.outputs[0] for w in weights])
updates = mtf.optimize.AdamWeightDecayOptimizer(0.001).apply_grads(gradients, weights)
step = mesh_tf.lower(graph, mesh, mesh_shape, layout, loss, updates, threads)

if source == "tf.data":
    serve_steps(lambda: step({}))
else:
    batches = arrays()
    serve_steps(lambda: step(dict(zip((images, labels), next(batches)))))
