"""A step of README.md's network in Mesh TensorFlow.

    mesh_tf_digits.py THREADS BATCH [MESH LAYOUT]
"""

import sys

import mesh_tf
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf

from contest import serve_steps

threads, size = int(sys.argv[1]), int(sys.argv[2])
mesh_shape, layout = sys.argv[3:5] if len(sys.argv) > 3 else ("one:1", "")

graph = mtf.Graph()
mesh = mtf.Mesh(graph, "mesh")
images = tf.placeholder(tf.float32, [size, 28, 28])
labels = tf.placeholder(tf.int32, [size])
loss = mesh_tf.digits(mesh, images, labels)
weights = [w.outputs[0] for w in graph.trainable_variables]
updates = [
    mtf.assign(w, w - 0.001 * dw) for w, dw in zip(weights, mtf.gradients([loss], weights))
]

feeds = {
    images: np.random.rand(size, 28, 28).astype("float32"),
    labels: np.random.randint(0, 10, size),
}
step = mesh_tf.lower(graph, mesh, mesh_shape, layout, loss, updates, threads)
serve_steps(lambda: step(feeds))
