"""What both models in Mesh TensorFlow share: a graph becomes a step of a session."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import mesh_tensorflow as mtf
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def lower(graph, mesh, mesh_shape, layout, loss, updates, threads, feeds):
    """A function that takes a step: the loss is computed, the updates are made."""
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
    return lambda: session.run(results, feeds)
