"""What the scripts for Mesh TensorFlow share: README.md's network, and how a graph becomes a step."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import mesh_tensorflow as mtf
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def digits(mesh, fed_images, fed_labels):
    """The mean loss of images [batch, 28, 28] and labels [batch], tensors of TensorFlow."""
    batch = mtf.Dimension("batch", fed_images.shape[0].value)
    rows, cols = mtf.Dimension("rows", 28), mtf.Dimension("cols", 28)
    hidden, classes = mtf.Dimension("hidden", 1024), mtf.Dimension("classes", 10)
    images = mtf.import_tf_tensor(mesh, fed_images, mtf.Shape([batch, rows, cols]))
    labels = mtf.import_tf_tensor(mesh, fed_labels, mtf.Shape([batch]))
    w1 = mtf.get_variable(mesh, "w1", [rows, cols, hidden])
    w2 = mtf.get_variable(mesh, "w2", [hidden, classes])
    h = mtf.relu(mtf.einsum([images, w1], output_shape=[batch, hidden]))
    logits = mtf.einsum([h, w2], output_shape=[batch, classes])
    targets = mtf.one_hot(labels, classes)
    losses = mtf.layers.softmax_cross_entropy_with_logits(logits, targets, classes)
    return mtf.reduce_mean(losses)


def lower(graph, mesh, mesh_shape, layout, loss, updates, threads):
    """A function of what is fed that takes a step: it makes the updates and returns the loss."""
    shape = mtf.convert_to_shape(mesh_shape)
    devices = [""] * shape.size
    rules = mtf.convert_to_layout_rules(layout)
    placement = mtf.placement_mesh_impl.PlacementMeshImpl(shape, rules, devices)
    lowering = mtf.Lowering(graph, {mesh: placement})
    results = [lowering.export_to_tf_tensor(loss)]
    results += [lowering.lowered_operation(update) for update in updates]
    session = tf.Session(
        config=tf.ConfigProto(
            intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads
        )
    )
    session.run(tf.global_variables_initializer())
    session.run(lowering.copy_masters_to_slices())
    return lambda feeds: session.run(results, feeds)[0]
