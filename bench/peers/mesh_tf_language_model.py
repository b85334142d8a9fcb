"""A training step of the Transformer language model by Mesh TensorFlow's own library.

    mesh_tf_language_model.py THREADS BATCH [MESH LAYOUT]
"""

import sys

import mesh_tf
import mesh_tensorflow as mtf
import numpy as np
import tensorflow.compat.v1 as tf
from mesh_tensorflow.transformer import transformer, transformer_layers

from contest import serve_steps

threads, size = int(sys.argv[1]), int(sys.argv[2])
mesh_shape, layout = sys.argv[3:5] if len(sys.argv) > 3 else ("one:1", "")
LAYERS, LENGTH, MODEL, HEADS, FF, VOCAB = 6, 256, 512, 8, 2048, 256


def layer():
    attention = transformer_layers.SelfAttention(
        num_heads=HEADS, key_value_size=MODEL // HEADS, attention_kwargs={}
    )
    return [attention, transformer_layers.DenseReluDense(hidden_size=FF)]


graph = mtf.Graph()
mesh = mtf.Mesh(graph, "mesh")
stack = transformer.LayerStack(
    sum((layer() for _ in range(LAYERS)), []), dropout_rate=0.0, norm_epsilon=1e-6
)
model = transformer.Unitransformer(
    layer_stack=stack,
    d_model=MODEL,
    input_vocab_size=VOCAB,
    output_vocab_size=VOCAB,
    autoregressive=True,
    max_length=LENGTH,
    layout=mtf.convert_to_layout_rules(layout),
    mesh_shape=mtf.convert_to_shape(mesh_shape),
)
shape = mtf.Shape([mtf.Dimension("batch", size), mtf.Dimension("length", LENGTH)])
fed = tf.placeholder(tf.int32, [size, LENGTH])
tokens = mtf.import_tf_tensor(mesh, fed, shape)
loss = model.call_simple(
    inputs=tokens,
    targets=tokens,
    compute_loss=True,
    mode=tf.estimator.ModeKeys.TRAIN,
    variable_dtype=mtf.VariableDType(tf.float32, tf.float32, tf.float32),
)[1]
variables = graph.trainable_variables
gradients = mtf.gradients([loss], [v.outputs[0] for v in variables])
optimizer = mtf.optimize.AdamWeightDecayOptimizer(1e-4, weight_decay_rate=0.01)
updates = optimizer.apply_grads(gradients, variables)

feeds = {fed: np.random.randint(0, VOCAB, (size, LENGTH))}
step = mesh_tf.lower(graph, mesh, mesh_shape, layout, loss, updates, threads)
serve_steps(lambda: step(feeds))
