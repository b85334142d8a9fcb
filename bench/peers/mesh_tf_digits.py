"""A step of README.md's network in Mesh TensorFlow.

    mesh_tf_digits.py THREADS BATCH [MESH LAYOUT]
"""

import sys

import mesh_tf
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf

from contest import serve

threads, size = int(sys.argv[1]), int(sys.argv[2])
mesh_shape, layout = sys.argv[3:5] if len(sys.argv) > 3 else ("one:1", "")

graph = mtf.Graph()
mesh = mtf.Mesh(graph, "mesh")
batch, rows, cols = (mtf.Dimension(*d) for d in (("batch", size), ("rows", 28), ("cols", 28)))
hidden, classes = mtf.Dimension("hidden", 1024), mtf.Dimension("classes", 10)

fed_images = tf.placeholder(tf.float32, [size, 28, 28])
fed_labels = tf.placeholder(tf.int32, [size])
images = mtf.import_tf_tensor(mesh, fed_images, mtf.Shape([batch, rows, cols]))
labels = mtf.import_tf_tensor(mesh, fed_labels, mtf.Shape([batch]))
w1 = mtf.get_variable(mesh, "w1", [rows, cols, hidden])
w2 = mtf.get_variable(mesh, "w2", [hidden, classes])
h = mtf.relu(mtf.einsum([images, w1], output_shape=[batch, hidden]))
logits = mtf.einsum([h, w2], output_shape=[batch, classes])
targets = mtf.one_hot(labels, classes)
losses = mtf.layers.softmax_cross_entropy_with_logits(logits, targets, classes)
loss = mtf.reduce_mean(losses)
updates = [
    mtf.assign(w, w - 0.001 * dw) for w, dw in zip((w1, w2), mtf.gradients([loss], [w1, w2]))
]

feeds = {
    fed_images: np.random.rand(size, 28, 28).astype("float32"),
    fed_labels: np.random.randint(0, 10, size),
}
serve(mesh_tf.lower(graph, mesh, mesh_shape, layout, loss, updates, threads, feeds))
