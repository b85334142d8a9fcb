"""Writes tests/harness/layer_values.h: layers in NumPy and PyTorch, in double; needs PyTorch.

    /tmp/venv/bin/python tests/reference/layers.py

Each row is one layer of tests/harness/test_layers.c: what goes in, variables included, and what must
come out.  Inputs have three decimals, so that text and memory hold the same numbers.
"""

import os
import zlib

import numpy as np
import torch
import torch.nn.functional as F

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../harness/layer_values.h")
torch.set_default_dtype(torch.float64)
HIDDEN = -1e9
ROWS = []


class Row:
    """Numbers that follow from the row's name; what is fed and what is expected."""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.name, self.lines = name, []
        ROWS.append(self)

    def feed(self, name, *shape, least=0.0, scale=1.0):
        """Numbers from -scale to scale, at least `least` away from 0."""
        x = np.round(self.rng.uniform(least, scale, shape), 3) * self.rng.choice([-1, 1], shape)
        return self.given(name, x)

    def given(self, name, x):
        x = np.asarray(x)
        self.lines.append("#< %s = %s" % (name, row(x)))
        return x

    def expect(self, name, dims, x):
        x = x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
        sizes = ", ".join("%s=%d" % pair for pair in zip(dims.split(), x.shape))
        assert len(dims.split()) == x.ndim, (self.name, dims, x.shape)
        self.lines.append("#> %s: [%s] = %s" % (name, sizes, row(x)))

    def option(self, text):
        self.lines.append("#! " + text)


def row(x):
    return " ".join("%.14g" % v for v in x.flatten().tolist())


def t(x):
    return torch.from_numpy(np.asarray(x))


def away_from_0(x):
    assert np.abs(x).min() > 0.004, "a kink is too near: choose another name"
    return x


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, extra=None):
    m = np.maximum(x.max(-1, keepdims=True), x.min() if extra is None else extra)
    e = np.exp(x - m)
    return e / (e.sum(-1, keepdims=True) + (0 if extra is None else np.exp(extra - m)))


# ---- dense ----


def dense():
    r = Row("dense")
    x, w, b = r.feed("x", 3, 5), r.feed("dense/kernel", 5, 4), r.feed("dense/bias", 4)
    r.expect("y", "b c", np.tanh(x @ w + b))

    r = Row("dense_many")
    x, w = r.feed("x", 2, 3, 2), r.feed("dense/kernel", 3, 2, 2, 3)
    r.expect("y", "b c e", np.einsum("bad,adce->bce", x, w))

    r = Row("dense_experts")
    x, w, b = r.feed("x", 3, 2, 4), r.feed("dense/kernel", 2, 4, 3), r.feed("dense/bias", 2, 3)
    h = away_from_0(np.einsum("bna,nac->bnc", x, w) + b)
    r.expect("y", "b n c", np.maximum(h, 0))

    r = Row("dense_ensemble")
    x, w, b = r.feed("x", 3, 4), r.feed("dense/kernel", 2, 4, 3), r.feed("dense/bias", 2, 3)
    r.expect("y", "n b c", np.einsum("ba,nac->nbc", x, w) + b[:, None])

    r = Row("dense_same")
    x, w, b = r.feed("x", 3, 4), r.feed("dense/kernel", 4, 5), r.feed("dense/bias", 5)
    r.expect("y", "b a", x @ w + b)

    r = Row("dense_given")
    x, w, b = r.feed("x", 3, 5), r.feed("w", 5, 4), r.feed("dense/bias", 4)
    r.expect("y", "b c", x @ w / np.sqrt(5) + b)

    r = Row("dense_product")
    x = r.feed("x", 3, 5)
    w0, b0 = r.feed("glu_0/kernel", 5, 4), r.feed("glu_0/bias", 4)
    w1, b1 = r.feed("glu_1/kernel", 5, 4), r.feed("glu_1/bias", 4)
    r.expect("y", "b c", sigmoid(x @ w0 + b0) * (x @ w1 + b1))

    r = Row("dense_relu_dense")
    x = r.feed("x", 3, 4)
    wi, wo = r.feed("dense_relu_dense/wi/kernel", 4, 5), r.feed("dense_relu_dense/wo/kernel", 5, 4)
    r.expect("y", "b a", np.maximum(away_from_0(x @ wi), 0) @ wo)


# ---- norms and losses ----


def norms():
    r = Row("layer_norm")
    x = r.feed("x", 3, 5)
    s, b = r.feed("pre/layer_norm/layer_norm_scale", 5), r.feed("pre/layer_norm/layer_norm_bias", 5)
    r.expect("y", "b a", F.layer_norm(t(x), (5,), t(s), t(b), 1e-6))

    r = Row("layer_norm_plain")
    x = r.feed("x", 3, 5, 2)
    r.expect("y", "b a c", F.layer_norm(t(x).movedim(1, 2), (5,), eps=1e-3).movedim(2, 1))

    r = Row("rms_norm")
    x, s = r.feed("x", 3, 5), r.feed("rms_norm/scale", 5)
    r.expect("y", "b a", x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-6) * s)

    for name in ("batch_norm", "batch_norm_inference"):
        r = Row(name)
        x = r.feed("x", 5, 3, 2)
        s, b = r.feed("batch_norm/batch_norm_scale", 2), r.feed("batch_norm/batch_norm_bias", 2)
        mean = r.feed("batch_norm/bn_moving_mean", 2)
        variance = r.given("batch_norm/bn_moving_variance", [0.75, 1.5])
        training = name == "batch_norm"
        after = (t(mean).clone(), t(variance).clone())
        y = F.batch_norm(t(x.reshape(15, 2)), *after, t(s), t(b), training, 0.2, 1e-9)
        r.expect("y", "b h c", y.reshape(5, 3, 2))
        if training:  # a variable is fetched as it was before the step
            biased = x.reshape(15, 2).var(0)
            r.option("steps 2")
            r.expect("batch_norm/bn_moving_mean", "c", after[0])
            r.expect("batch_norm/bn_moving_variance", "c", 0.8 * variance + 0.2 * biased)


    r = Row("batch_norm_over")
    x = r.feed("x", 5, 3, 2)
    s = r.feed("bn/batch_norm_scale", 3, 2)
    b = r.feed("bn/batch_norm_bias", 3, 2)
    y = F.batch_norm(t(x.reshape(5, 6)), None, None, t(s.flatten()), t(b.flatten()), True, eps=0.5)
    r.expect("y", "b h c", y.reshape(5, 3, 2))


def losses():
    r = Row("softmax_cross_entropy")
    x, n = r.feed("x", 3, 7), r.given("n", [5, 0, 6])
    z = torch.logsumexp(t(x), 1)
    r.expect("y", "b", F.cross_entropy(t(x), t(n), reduction="none") + 0.25 * z**2)

    r = Row("softmax_cross_entropy_soft")
    x = r.feed("x", 3, 4)
    p = r.given("p", [[0.5, 0.25, 0.25, 0], [0, 0, 1, 0], [0.125, 0.375, 0.25, 0.25]])
    r.expect("y", "b", F.cross_entropy(t(x), t(p), reduction="none"))

    r = Row("sigmoid_cross_entropy")
    x = r.given("x", [[0, 40.5, -40.5, 1.25], [-0.5, 2, 0, 3]])
    z = r.given("z", [[0, 1, 1, 0.25], [1, 0, 0.5, 1]])
    r.expect("y", "b a", F.binary_cross_entropy_with_logits(t(x), t(z), reduction="none"))

    r = Row("weights_nonzero")
    n = r.given("n", [3, 0, -1, 0, 7])
    r.expect("y", "a", (n != 0).astype(float))


# ---- convolutions ----


def same(n, taps, stride):
    total = max((-(-n // stride) - 1) * stride + taps - n, 0)
    return total // 2, total - total // 2


def conv(x, w, stride, padding="same"):
    """x [batch, spatial.., channels], w [taps.., channels, outputs], as TensorFlow pads."""
    ns = x.ndim - 2
    pads = [(0, 0)]
    for i in range(ns):
        pads.append(same(x.shape[i + 1], w.shape[i], stride[i]) if padding == "same" else (0, 0))
    x = np.pad(x, pads + [(0, 0)])
    x = t(np.moveaxis(x, -1, 1))
    w = t(np.moveaxis(np.moveaxis(w, -1, 0), -1, 1))
    y = (F.conv1d, F.conv2d, F.conv3d)[ns - 1](x, w, stride=stride)
    return np.moveaxis(y.numpy(), 1, -1)


def conv_transpose(x, w, stride):
    """The gradient of conv with SAME padding; w [taps.., outputs, channels]."""
    sizes = [n * s for n, s in zip(x.shape[1:-1], stride)]
    whole = torch.zeros([x.shape[0]] + sizes + [w.shape[-2]], requires_grad=True)
    pads = [0, 0]
    for n, k, s in reversed(list(zip(sizes, w.shape, stride))):
        pads += same(n, k, s)
    ns = len(sizes)
    f = (F.conv1d, F.conv2d, F.conv3d)[ns - 1]
    kernel = t(np.moveaxis(np.moveaxis(w, -1, 0), -1, 1))
    y = f(F.pad(whole, pads).movedim(-1, 1), kernel, stride=stride).movedim(1, -1)
    (dx,) = torch.autograd.grad(y, whole, t(x))
    return dx.numpy()


def convolutions():
    for name, shape, taps, stride, padding in (
        ("conv1d", (2, 7), (3,), (1,), "same"),
        ("conv2d", (2, 5, 4), (3, 3), (2, 1), "same"),
        ("conv2d_valid", (2, 5, 4), (2, 3), (1, 1), "valid"),
        ("conv3d", (1, 4, 3, 3), (3, 2, 3), (2, 1, 1), "same"),
    ):
        r = Row(name)
        x = r.feed("x", *shape, 2)
        w = r.feed("conv%dd/kernel" % len(taps), *taps, 2, 3)
        dims = "b " + {1: "w", 2: "h w", 3: "d h w"}[len(taps)] + " o"
        r.expect("y", dims, conv(x, w, stride, padding))
    for name, shape, taps, stride in (
        ("conv1d_transpose", (2, 3), (3,), (2,)),
        ("conv2d_transpose", (1, 3, 2), (2, 2), (2, 2)),
        ("conv3d_transpose", (1, 2, 2, 3), (2, 2, 3), (2, 2, 1)),
    ):
        r = Row(name)
        x = r.feed("x", *shape, 2)
        w = r.feed("conv%dd_transpose/kernel" % len(taps), *taps, 3, 2)
        dims = "b " + {1: "w", 2: "h w", 3: "d h w"}[len(taps)] + " o"
        r.expect("y", dims, conv_transpose(x, w, stride))


def cut(x, blocks):
    """[b, h, w, c] to [b, blocks.., h, w, c] for the dimensions that have several blocks."""
    ns = x.ndim - 2
    shape, counts, sizes = [x.shape[0]], [], []
    for i in range(ns):
        shape += [blocks[i], x.shape[i + 1] // blocks[i]]
        counts.append(1 + 2 * i)
        sizes.append(2 + 2 * i)
    y = x.reshape(shape + [x.shape[-1]]).transpose([0] + counts + sizes + [1 + 2 * ns])
    return y.reshape([y.shape[0]] + [n for n in blocks if n > 1] + list(y.shape[1 + ns :]))


def blocks():
    for name, shape, counts, taps, stride in (
        ("conv2d_with_blocks", (2, 4, 6), (2, 3), (3, 3), (1, 1)),
        ("conv2d_with_blocks_stride", (1, 8, 4), (2, 2), (3, 4), (2, 2)),
        ("conv2d_with_blocks_w", (1, 5, 6), (1, 3), (3, 5), (2, 1)),
        ("conv3d_with_blocks", (1, 4, 4, 3), (2, 2, 1), (3, 3, 3), (1, 2, 2)),
    ):
        r = Row(name)
        ns = len(taps)
        x = r.rng.integers(-999, 999, shape + (2,)) / 1000
        r.given("x", cut(x, counts))
        w = r.feed("conv%dd_with_blocks/kernel" % ns, *taps, 2, 2)
        r.expect("y", block_dims(counts), cut(conv(x, w, stride), counts))
    for name, shape, counts, taps, stride in (
        ("conv2d_transpose_with_blocks", (1, 4, 4), (2, 2), (2, 2), (2, 2)),
        ("conv2d_transpose_with_blocks_wide", (1, 4, 2), (2, 1), (5, 4), (2, 2)),
        ("conv2d_transpose_with_blocks_thin", (1, 4, 6), (2, 3), (1, 3), (2, 1)),
        ("conv3d_transpose_with_blocks", (1, 2, 4, 2), (2, 2, 1), (4, 3, 2), (2, 2, 1)),
    ):
        r = Row(name)
        ns = len(taps)
        x = r.rng.integers(-999, 999, shape + (2,)) / 1000
        r.given("x", cut(x, counts))
        w = r.feed("conv%dd_transpose_with_blocks/kernel" % ns, *taps, 2, 2)
        r.expect("y", block_dims(counts), cut(conv_transpose(x, w, stride), counts))


def block_dims(counts):
    spatial = ("h", "w") if len(counts) == 2 else ("d", "h", "w")
    named = [s + "b" for s, n in zip(spatial, counts) if n > 1]
    return " ".join(["b"] + named + list(spatial) + ["o"])


def others():
    r = Row("separable_conv1d")
    x = r.feed("x", 2, 5, 3)
    w = [r.feed("separable_conv1d/depthwise_dense_%d/kernel" % i, 3) for i in range(3)]
    b = r.feed("separable_conv1d/depthwise_dense_0/bias", 3)
    m = r.feed("separable_conv1d/pointwise_dense/kernel", 3, 2)
    c = r.feed("separable_conv1d/pointwise_dense/bias", 2)
    p = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    h = sum(p[:, i : i + 5] * w[i] for i in range(3)) + b
    r.expect("y", "b length o", h @ m + c)

    r = Row("separable_conv1d_given")
    x, w0, w1 = r.feed("x", 2, 5, 3), r.feed("w0", 3), r.feed("w1", 3)
    m = r.feed("separable_conv1d/pointwise_dense/kernel", 3, 2)
    p = np.pad(x, ((0, 0), (2, 0), (0, 0)))
    r.expect("y", "b length o", (p[:, :5] * w0 + p[:, 1:6] * w1) @ m)

    for name, f in (("max_pool2d", F.max_pool2d), ("avg_pool2d", F.avg_pool2d)):
        r = Row(name)
        x = r.given("x", r.rng.permutation(48).reshape(2, 4, 3, 2) / 16)
        r.expect("y", "b h w c", f(t(x).movedim(-1, 1), (2, 3)).movedim(1, -1))
    for name, f in (("max_pool3d", F.max_pool3d), ("avg_pool3d", F.avg_pool3d)):
        r = Row(name)
        x = r.given("x", r.rng.permutation(48).reshape(1, 4, 3, 2, 2) / 16)
        r.expect("y", "b d h w c", f(t(x).movedim(-1, 1), (2, 1, 2)).movedim(1, -1))

    r = Row("embedding")
    n, w = r.given("n", [[4, 0, 2], [6, 4, 4]]), r.feed("embedding/embedding", 7, 3)
    r.expect("y", "b length a", w[n])

    r = Row("embedding_ensemble")
    n, w = r.given("n", [[4, 0, 2], [6, 4, 4]]), r.feed("words/embedding", 2, 7, 3)
    r.expect("y", "e length a", np.stack([w[0][n[0]], w[1][n[1]]]))


# ---- attention ----

# b batch, h heads, l length, m memory, i channels, k key and value


def weights(r, scope, heads=2, channels=3, kv=4):
    return [r.feed(scope + n, heads, channels, kv, scale=0.9) for n in "qkvo"]


def project(x, w):
    return np.einsum("bli,hik->bhlk", x, w)


def attend(q, k, v, mask=0.0, extra=None):
    return softmax(q @ np.swapaxes(k, -1, -2) + mask, extra) @ v


def output(o, w):
    return np.einsum("bhlk,hik->bli", o, w)


def attention():
    r = Row("dot_product_attention")
    q, k, v = r.feed("q", 2, 3, 4), r.feed("k", 2, 5, 4), r.feed("v", 2, 5, 2)
    mask, extra = r.feed("mask", 3, 5), r.feed("extra", 2, 3)
    y = F.scaled_dot_product_attention(t(q), t(k), t(v), t(mask), scale=1)
    share = np.exp(q @ np.swapaxes(k, 1, 2) + mask).sum(-1)
    y = y.numpy() * (share / (share + np.exp(extra)))[..., None]
    r.expect("y", "b length kv", y)

    r = Row("multihead_self_attention")
    x = r.feed("x", 2, 5, 3)
    w = r.feed("multihead_attention/qkvo", 4, 2, 3, 4, scale=0.9)
    mask = np.triu(np.full((5, 5), HIDDEN), 1)
    y = F.scaled_dot_product_attention(
        *(t(project(x, w[i])) for i in range(3)), attn_mask=t(mask), scale=1
    )
    r.expect("y", "b length a", output(y.numpy(), w[3]))

    r = Row("multihead_attention")
    x, m = r.feed("x", 2, 3, 3), r.feed("m", 2, 5, 3)
    wq, wk, wv, wo = weights(r, "multihead_attention/")
    y = attend(project(x, wq), project(m, wk), project(m, wv))
    r.expect("y", "b length a", output(y, wo))

    r = Row("multihead_attention_ensemble")
    x = r.feed("x", 2, 3, 3)
    w = [r.feed("multihead_attention/" + n, 2, 2, 3, 4, scale=0.9) for n in "qkvo"]
    y = [
        output(attend(*(project(x, w[i][e]) for i in range(3))), w[3][e]) for e in range(2)
    ]
    r.expect("y", "e b length a", np.stack(y))

    r = Row("multihead_attention_unit")  # weights given, products divided by roots
    x = r.feed("x", 2, 3, 3)
    w = [r.feed("w" + n, 2, 3, 4, scale=0.9) for n in "qkvo"]
    q, k, v = (project(x, w[i]) / np.sqrt(3) for i in range(3))
    r.expect("y", "b length a", output(attend(q / np.sqrt(4), k, v), w[3]) / np.sqrt(8))

    r = Row("multihead_self_attention_incremental")
    x, step = r.feed("x", 2, 3), r.given("step", 2)
    k, v = np.zeros((2, 2, 4, 4)), np.zeros((2, 2, 4, 4))
    k[:, :, :2], v[:, :, :2] = np.round(r.rng.uniform(-1, 1, (2, 2, 2, 2, 4)), 3)
    r.given("k", k), r.given("v", v)
    wq, wk, wv, wo = weights(r, "multihead_attention/")
    k[:, :, 2] = np.einsum("bi,hik->bhk", x, wk)
    v[:, :, 2] = np.einsum("bi,hik->bhk", x, wv)
    q = np.einsum("bi,hik->bhk", x, wq)[:, :, None]
    y = attend(q, k[:, :, :3], v[:, :, :3])
    r.expect("y", "b a", output(y, wo)[:, 0])
    r.expect("new_k", "b heads memory_length kv", k)
    r.expect("new_v", "b heads memory_length kv", v)

    r = Row("multihead_encdec_attention_incremental")
    x = r.feed("x", 2, 3)
    wq, wo = r.feed("wq", 2, 3, 4), r.feed("wo", 2, 3, 4)
    k, v = r.feed("k", 2, 2, 5, 4), r.feed("v", 2, 2, 5, 4)
    q = np.einsum("bi,hik->bhk", x, wq)[:, :, None]
    r.expect("y", "b a", output(attend(q, k, v), wo)[:, 0])


def windowed(x, w, window, hidden):
    """Positions 0 .. window - 1 back, one at a time; zeros before the first unless hidden."""
    q, k, v = (project(x, w[i]) for i in range(3))
    length, ys = x.shape[1], []
    pad = ((0, 0), (0, 0), (window - 1, 0), (0, 0))
    k, v = np.pad(k, pad), np.pad(v, pad)
    for i in range(length):
        first = max(window - 1 - i, 0) if hidden else 0
        span = slice(i + first, i + window)
        ys.append(attend(q[:, :, i : i + 1], k[:, :, span], v[:, :, span]))
    return output(np.concatenate(ys, 2), w[3])


def local():
    for name, window, hidden in (
        ("masked_local_attention_1d", 3, False),
        ("masked_local_attention_1d_hidden", 6, True),
        ("masked_local_attention_1d_long", 11, False),
    ):
        r = Row(name)
        x = r.feed("x", 2, 8, 3)
        w = weights(r, "masked_local_attention_1d/")
        r.expect("y", "b length a", windowed(x, w, window, hidden))

    for name, step, hidden in (("", 4, False), ("_hidden", 1, True)):
        r = Row("masked_local_attention_1d_incremental" + name)
        xs = np.round(r.rng.uniform(-1, 1, (2, step + 1, 3)), 3)
        r.given("x", xs[:, -1]), r.given("step", step)
        w = [np.round(r.rng.uniform(-0.9, 0.9, (2, 3, 4)), 3) for _ in range(4)]
        k, v = np.zeros((2, 2, 3, 4)), np.zeros((2, 2, 3, 4))
        for i in range(step + 1):
            if i == step:
                r.given("k", k), r.given("v", v)
            k[:, :, i % 3] = np.einsum("bi,hik->bhk", xs[:, i], w[1])
            v[:, :, i % 3] = np.einsum("bi,hik->bhk", xs[:, i], w[2])
        for n, value in zip("qkvo", w):
            r.given("masked_local_attention_1d/" + n, value)
        r.expect("y", "b a", windowed(xs, w, 3, hidden)[:, -1])
        r.expect("new_k", "b heads window kv", k)


def spatial(x, w, visible, seen_zeros):
    """x [b, p, i]; visible(q, m): is position m seen from q; seen_zeros(q): zeros beside them."""
    q, k, v = (project(x, w[i]) for i in range(3))
    logits, n = q @ np.swapaxes(k, -1, -2), x.shape[1]
    mask = np.array([[0.0 if visible(i, j) else -np.inf for j in range(n)] for i in range(n)])
    zeros = np.array([seen_zeros(i) for i in range(n)])
    e = np.exp(logits + mask)
    return output(e @ v / (e.sum(-1) + zeros)[..., None], w[3])


def spatial_blocks():
    scope = "local_self_attention_spatial_blocks/"
    size = 2
    for name, right, hidden, count in (
        ("local_attention", False, False, 3),
        ("local_attention_right", True, False, 3),
        ("local_attention_hidden", False, True, 3),
        ("local_attention_one", True, True, 1),
    ):
        r = Row(name)
        n = count * size
        x = np.round(r.rng.uniform(-1, 1, (2, n, 3)), 3)
        r.given("x", x)
        w = weights(r, scope)

        def visible(i, j):
            near = -1 <= j // size - i // size <= (0 if right else 1)
            return near and (not right or j <= i)

        def zeros(i):
            outside = (i // size == 0) + (not right and i // size == count - 1)
            return 0 if hidden else size * outside

        y = spatial(x, w, visible, zeros)
        if count > 1:
            r.expect("y", "b wb w a", y.reshape(2, count, size, 3))
        else:
            r.expect("y", "b w a", y)

    scope = "local_2d_self_attention_spatial_blocks/"
    for name, right, hidden, hb, wb in (
        ("local_2d_attention", False, False, 2, 3),
        ("local_2d_attention_right", True, False, 2, 2),
        ("local_2d_attention_hidden", True, True, 2, 2),
        ("local_2d_attention_one", False, False, 1, 1),
    ):
        r = Row(name)
        h, wide = 2, 2
        image = np.round(r.rng.uniform(-1, 1, (1, hb * h, wb * wide, 3)), 3)
        blocked = image.reshape(1, hb, h, wb, wide, 3).transpose(0, 1, 3, 2, 4, 5)
        r.given("x", blocked)
        w = weights(r, scope)
        columns = wb * wide

        def visible(i, j):
            (qr, qc), (mr, mc) = divmod(i, columns), divmod(j, columns)
            dr, dc = mr // h - qr // h, mc // wide - qc // wide
            near = -1 <= dr <= (0 if right else 1) and -1 <= dc <= (0 if right else 1)
            if right and dr == 0 and dc == 0:
                return (mr, mc) <= (qr, qc)
            return near

        def zeros(i):
            if hidden:
                return 0
            qr, qc = divmod(i, columns)
            rows = [qr // h + d for d in ((-1, 0) if right else (-1, 0, 1))]
            cols = [qc // wide + d for d in ((-1, 0) if right else (-1, 0, 1))]
            inside = sum(0 <= a < hb and 0 <= b < wb for a in rows for b in cols)
            return (len(rows) * len(cols) - inside) * h * wide

        y = spatial(image.reshape(1, -1, 3), w, visible, zeros)
        y = y.reshape(1, hb, h, wb, wide, 3).transpose(0, 1, 3, 2, 4, 5)
        if hb > 1:
            r.expect("y", "b hb wb h w a", y)
        else:
            r.expect("y", "b h w a", y[:, 0, 0])

    r = Row("memory_compressed_attention")
    x = r.feed("x", 2, 6, 3)
    w = weights(r, "multihead_self_attention_memory_compressed/")
    g = x.reshape(2, 3, 2, 3).mean(2)
    mask = np.array([[0.0 if 2 * j + 1 <= i else HIDDEN for j in range(3)] for i in range(6)])
    y = attend(project(x, w[0]), project(g, w[1]), project(g, w[2]), mask, 0.0)
    r.expect("y", "b length a", output(y, w[3]))

    r = Row("compress_mean")
    x = r.feed("x", 2, 6, 3)
    r.expect("y", "b length a", x.reshape(2, 3, 2, 3).mean(2))


def masks():
    r = Row("attention_masks")
    n = r.given("n", [[3, 0, 2], [0, 1, 1]])
    p = r.given("p", [0, 1, 2])
    s = r.given("s", [[1, 1, 2], [4, 5, 5]])
    r.expect("padding", "b memory_length", HIDDEN * (n == 0))
    r.expect("causal", "length memory_length", HIDDEN * (p[:, None] < p))
    r.expect("segment", "b length memory_length", HIDDEN * (s[:, :, None] != s[:, None]))


# ---- gradients and residuals ----


def residuals():
    r = Row("clip_activation_gradient")
    r.option("gradient 0")
    x, d = r.feed("x", 3, 4), r.feed("d", 3, 4)
    rms = np.sqrt((d**2).mean())
    assert rms > 0.25
    r.expect("y", "b a", x)
    r.expect("clipped", "b a", d * 0.25 / rms)
    r.expect("whole", "b a", d)

    r = Row("reversible")
    x1, x2 = r.feed("x1", 3, 4), r.feed("x2", 3, 4)
    w0, w1 = r.feed("f0/kernel", 4, 4), r.feed("f1/kernel", 4, 4)
    y1, y2 = x2, x1 + np.tanh(x2 @ w0)
    y1, y2 = y2, y1 + np.tanh(y2 @ w1)
    r.expect("y1", "b a", y1)
    r.expect("y2", "b a", y2)


# ---- U-Nets ----


def unet(r, x, spatial, levels, filters, classes, norms):
    """One convolution a level; with batch norm in training."""

    def kernel(scope, taps, inputs, outputs, transposed=False):
        name = "conv%dd%s" % (spatial, "_transpose" if transposed else "")
        ends = (outputs, inputs) if transposed else (inputs, outputs)
        return r.feed("unet/%s%s/kernel" % (scope, name), *[taps] * spatial, *ends)

    def level(x, scope, outputs):
        y = conv(x, kernel(scope, 3, x.shape[-1], outputs), [1] * spatial)
        if norms:
            s = r.feed("unet/%sbatch_norm/batch_norm_scale" % scope, outputs, least=0.3)
            b = r.feed("unet/%sbatch_norm/batch_norm_bias" % scope, outputs)
            over = tuple(range(spatial + 1))
            mean, variance = y.mean(over), y.var(over)
            y = (y - mean) / np.sqrt(variance + 1e-6) * s + b
        y = away_from_0(y)
        return np.where(y > 0, y, 0.1 * y)

    def halved(x):
        pool = (F.max_pool2d, F.max_pool3d)[spatial - 2]
        return np.moveaxis(pool(t(np.moveaxis(x, -1, 1)), 2).numpy(), 1, -1)

    def both(x, k):
        seen = level(x, "down_%d/" % k, filters << k)
        if k == levels - 1:
            return seen
        below = both(halved(seen), k + 1)
        w = kernel("", 2, below.shape[-1], filters << k, True)
        wide = conv_transpose(below, w, [2] * spatial)
        return level(np.concatenate((wide, seen), -1), "up_%d/" % k, filters << k)

    y = both(x, 0)
    return conv(y, kernel("", 1, y.shape[-1], classes), [1] * spatial)


def unets():
    r = Row("unet2d")
    x = r.feed("x", 1, 4, 6, 1)
    r.expect("y", "b h w k", unet(r, x, 2, 2, 2, 3, False))
    r = Row("unet3d")
    x = r.feed("x", 2, 2, 4, 2, 1)
    r.expect("y", "b d h w k", unet(r, x, 3, 2, 1, 2, True))
    r = Row("dice")
    x, y = r.given("x", np.round(r.rng.random((3, 4, 2)), 3)), r.given("z", np.round(r.rng.random((3, 4, 2)), 3))
    both, each = (x * y).sum(1), x.sum(1) + y.sum(1)
    r.expect("y", "b c", (2 * both + 0.5) / (each + 0.25))


def main():
    for make in (dense, norms, losses, convolutions, blocks, others, attention, local,
                 spatial_blocks, masks, residuals, unets):
        make()
    with open(PATH, "w") as out:
        out.write("/* Layers and what they give, written by tests/reference/layers.py. */\n")
        out.write("/* clang-format off */\n")
        out.write("static const struct {\n    const char *name, *lines[24];\n} layer_values[] = {\n")
        for r in ROWS:
            assert len(r.lines) < 24 and max(map(len, r.lines)) < 4000, r.name
            out.write('    {"%s", {\n' % r.name)
            for line in r.lines:
                out.write('     "%s",\n' % line)
            out.write("    }},\n")
        out.write("};\n/* clang-format on */\n")


if __name__ == "__main__":
    main()
