"""Writes tests/reference/bert_values.txt: BERT with its options and heads, in PyTorch.

    /tmp/venv/bin/python tests/reference/bert_values.py

One block for each model of tests/model/test_bert.c: the sum of the losses of all heads in training, and for each
variable its name, a weighted sum of its gradient and the gradient's size.  The model is written here from its
description, in double; variables have values that follow from their names, on both sides.
"""

import math
import os

import numpy as np
import torch

from transformer_values import Variables, bucket, noise

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bert_values.txt")
BATCH, LENGTH, PREDICTIONS, CLASSES = 3, 7, 2, 3
D, HEADS, FF, VOCAB, PADDED, TYPES, POSITIONS, BLOCKS = 12, 3, 10, 50, 128, 3, 9, 2


def numbers(n, first, below):
    return [(i * 11 + first) % below for i in range(n)]


def batch():
    b = dict(
        ids=torch.tensor(numbers(BATCH * LENGTH, 3, VOCAB)).reshape(BATCH, LENGTH),
        segments=torch.tensor(numbers(BATCH * LENGTH, 1, TYPES)).reshape(BATCH, LENGTH),
        mask=torch.ones(BATCH, LENGTH),
        positions=torch.tensor(numbers(BATCH * PREDICTIONS, 2, LENGTH)).reshape(BATCH, PREDICTIONS),
        words=torch.tensor(numbers(BATCH * PREDICTIONS, 5, VOCAB)).reshape(BATCH, PREDICTIONS),
        weights=torch.ones(BATCH, PREDICTIONS),
        next=torch.tensor(numbers(BATCH, 1, 2)), classes=torch.tensor(numbers(BATCH, 2, CLASSES)),
        first=torch.tensor(numbers(BATCH, 1, LENGTH)), last=torch.tensor(numbers(BATCH, 4, LENGTH)),
    )
    b["mask"][2, 5:] = 0
    b["mask"][1, 6:] = 0
    b["weights"][1, 1] = 0
    return b


class Bert:
    def __init__(self, kind=(), **o):
        self.v = Variables()
        self.o = dict(layers=["attention", "feedforward"], heads=(HEADS, HEADS, HEADS), size=(4, 4), act="gelu",
                      relative=False, direct=False, bias=True, mask=True, segments=True, epsilon=1e-6)
        self.o.update(o)

    def act(self, x):
        return {"gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"), "relu": torch.relu,
                "gelu_exact": torch.nn.functional.gelu, "tanh": torch.tanh, "": lambda x: x}[self.o["act"]](x)

    def dense(self, x, name, into, outof=1):
        """Sums x's last `outof` dimensions."""
        shape = tuple(x.shape[-outof:])
        kernel = self.v(name + "/kernel", *shape, *into)
        y = torch.tensordot(x, kernel, outof)
        return y + self.v(name + "/bias", *into) if self.o["bias"] else y

    def norm(self, x, scope):
        if not self.o["bias"]:
            y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.o["epsilon"])
            return y * self.v(scope + "/rms_norm/scale", D)
        x = x - x.mean(-1, keepdim=True)
        y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + self.o["epsilon"])
        return y * self.v(scope + "/layer_norm/layer_norm_scale", D) + self.v(scope + "/layer_norm/layer_norm_bias", D)

    def attention(self, x, scope, hidden, bias):
        heads, keys, values = self.o["heads"]
        q, k = (self.dense(x, "%s/%s" % (scope, n), (keys, self.o["size"][0])) for n in ("query", "key"))
        v = self.dense(x, scope + "/value", (values, self.o["size"][1]))
        logits = torch.einsum("bqhk,bmhk->bqmh", q, k) * self.o["size"][0] ** -0.5
        if keys != heads:
            logits = logits @ self.v(scope + "/logits/kernel", keys, heads)
        if bias is not None:
            logits = logits + bias
        weights = torch.softmax(logits + hidden[:, None, :, None], 2)
        if values != heads:
            weights = weights @ self.v(scope + "/weights/kernel", heads, values)
        return self.dense(torch.einsum("bqmh,bmhk->bqhk", weights, v), scope + "/output", (D,), 2)

    def layer(self, kind, x, scope, hidden, bias):
        if kind == "attention":
            return self.attention(x, scope, hidden, bias)
        if kind == "moe":  # of one expert, without biases, to which padding does not go
            wi, wo = self.v(scope + "/wi/kernel", 1, D, FF), self.v(scope + "/wo/kernel", 1, FF, D)
            self.v(scope + "/top_k_gating/kernel", D, 1)
            return (self.act(x @ wi[0]) @ wo[0]) * (hidden == 0)[..., None]
        return self.dense(self.act(self.dense(x, scope + "/dense_1", (FF,))), scope + "/dense_2", (D,))

    def encode(self, b):
        o, v = self.o, self.v
        table = v("bert/embeddings/word_embeddings", PADDED, D)
        types = v("bert/embeddings/token_type_embeddings", TYPES, D)
        x = table[b["ids"]] + (types[b["segments"]] if o["segments"] else types[0])
        if not o["relative"]:
            x = x + v("bert/embeddings/position_embeddings", POSITIONS, D)[:LENGTH]
        x, bias = self.norm(x, "bert/embeddings"), None
        if o["relative"]:
            buckets = torch.tensor([[bucket(m - q, 32, 128, True) for m in range(LENGTH)] for q in range(LENGTH)])
            bias = v("bert/encoder/relative_attention_bias", HEADS, 32)[:, buckets].permute(1, 2, 0)
        hidden = (b["mask"] - 1) * 1e9 if o["mask"] else torch.zeros(BATCH, LENGTH)
        for block in range(BLOCKS):
            for i, kind in enumerate(o["layers"]):
                before = o["layers"][:i].count(kind)
                scope = "bert/encoder/block_%03d/%s%s" % (block, kind, "_%d" % before if before else "")
                y = self.layer(kind, self.norm(x, scope) if o["direct"] else x, scope, hidden, bias)
                x = x + y if o["direct"] else self.norm(x + y, scope)
        x = self.norm(x, "bert/encoder") if o["direct"] else x
        return x, torch.tanh(self.dense(x[:, 0], "bert/pooler", (D,))), table

    def loss(self, b):
        x, pooled, table = self.encode(b)
        rows = torch.arange(BATCH)[:, None]
        h = self.act(self.dense(x[rows, b["positions"]], "cls/predictions/transform", (D,)))
        h = self.norm(h, "cls/predictions/transform")
        logits = h @ table[:VOCAB].T + self.v("cls/predictions/output_bias", PADDED)[:VOCAB]
        top = torch.logsumexp(logits, -1)
        losses = top - logits.gather(-1, b["words"][..., None])[..., 0] + 1e-4 * top**2
        loss = (losses * b["weights"]).sum() / (b["weights"].sum() + 1e-5)
        entropy = torch.nn.functional.cross_entropy
        loss = loss + entropy(self.dense(pooled, "cls/seq_relationship", (2,)), b["next"])
        loss = loss + entropy(self.dense(pooled, "classifier", (CLASSES,)), b["classes"])
        ends = self.dense(x, "span", (2,))
        return loss + 0.5 * (entropy(ends[..., 0], b["first"]) + entropy(ends[..., 1], b["last"]))


MODELS = {
    "original": Bert(),
    "direct, relative, no bias, relu": Bert(direct=True, relative=True, bias=False, act="relu"),
    "relative, large epsilon": Bert(relative=True, epsilon=0.1, act="tanh"),
    "no mask, no segments": Bert(mask=False, segments=False),
    "composed": Bert(relative=True),
    "talking heads": Bert(heads=(3, 2, 5), size=(4, 6), direct=True),
    "two attentions": Bert(layers=["attention", "feedforward", "attention"], direct=True),
    "one expert": Bert(layers=["attention", "moe"]),
}


def main():
    lines = []
    for what, model in MODELS.items():
        loss = model.loss(batch())
        loss.backward()
        lines += ["model " + what, "loss %.10g" % loss.item()]
        for name in sorted(model.v.all):
            x = model.v.all[name]
            g = np.zeros(x.numel()) if x.grad is None else x.grad.numpy().flatten()
            lines.append("%s %.10g %.10g" % (name, (g * noise(name + "?", g.size)).sum(), math.sqrt((g * g).sum())))
    with open(PATH, "w") as f:
        f.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
