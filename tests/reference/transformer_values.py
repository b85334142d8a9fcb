"""Writes tests/reference/transformer_values.txt: Transformers with every option, in PyTorch.

    /tmp/venv/bin/python tests/reference/transformer_values.py

One block for each model of tests/model/test_transformer_values.c: its loss in training, and for each
variable its name, a weighted sum of its gradient and the gradient's size.  The model is written here from
its description, in double; variables have values that follow from their names, on both sides.
"""

import math
import os

import numpy as np
import torch

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transformer_values.txt")
torch.set_default_dtype(torch.float64)
BATCH, LENGTH, INPUTS = 3, 7, 5
D, KV, FF, VOCAB, PADDED, POSITIONS = 16, 8, 24, 50, 56, 40
HIDDEN = -1e9


# ---- variables ----


def noise(name, n):
    """From -0.5 to 0.5, by name and index."""
    h = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for c in name.encode():
            h = (h ^ np.uint32(c)) * np.uint32(16777619)
        x = h ^ (np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B1))
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        x = x ^ (x >> np.uint32(16))
    return x / 2.0**32 - 0.5


class Variables:
    """Made when first asked for, under scopes that are paths; of an ensemble one member at a time."""

    def __init__(self, ensemble=1):
        self.all, self.ensemble, self.member, self.frozen = {}, ensemble, 0, False

    def __call__(self, name, *shape):
        if name not in self.all:
            whole = (self.ensemble,) + shape if self.ensemble > 1 else shape
            u = noise(name, int(np.prod(whole)))
            last = name.split("/")[-1]
            positive = last in ("scale", "rezero_weight", "hybrid_attention_mix")
            x = (0.75 + 0.5 * u if positive else 1.2 * u).astype(np.float32)
            self.all[name] = torch.tensor(x.reshape(whole), dtype=torch.float64, requires_grad=not self.frozen)
        return self.all[name][self.member] if self.ensemble > 1 else self.all[name]


# ---- layers ----


def bucket(relative, buckets, most, both):
    first, back = 0, -relative
    if both:
        buckets //= 2
        if back < 0:
            first, back = buckets, -back
    back = max(back, 0)
    exact = buckets // 2
    if back >= exact:
        share = math.log(back / exact) / math.log(most / exact) * (buckets - exact)
        back = min(exact + int(share + 1e-9), buckets - 1)
    return first + back


def buckets_of(queries, memory, o, both):
    return torch.tensor([[bucket(m - q, o["buckets"], o["max_distance"], both) for m in range(memory)]
                         for q in range(queries)])


def rotate(x, base, size):
    """x [.., length, kv]: element i of the first half and of the second are turned together."""
    half = size // 2
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:size]
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.cat([a * c - b * s, b * c + a * s, x[..., size:]], -1)


class Stack:
    """A stack that is being applied: what its layers see of each other."""

    def __init__(self, W, scope, o, causal, segment=None, priority=None, encoded=None, encoded_segment=None,
                 spans=None):
        self.W, self.scope, self.o, self.causal = W, scope, o, causal
        self.segment, self.priority = segment, priority
        self.encoded, self.encoded_segment, self.shared = encoded, encoded_segment, {}
        self.spans = spans

    def mask(self, length, a):
        place = torch.arange(length).expand(BATCH, length)
        rank = place if self.priority is None else self.priority
        seen = torch.ones(BATCH, length, length, dtype=torch.bool)
        if self.causal:
            seen &= rank[:, None, :] <= rank[:, :, None]
        if a.get("window"):
            ahead = place[:, None, :] - place[:, :, None]
            seen &= (ahead > -a["window"]) & (ahead <= a["window"])
        if self.segment is not None:
            seen &= self.segment[:, :, None] == self.segment[:, None, :]
        return seen

    def relative(self, scope, a, q, heads, length, across=False):
        """[batch, heads, query, memory] or less."""
        kind = a.get("relative")
        if not kind:
            return 0
        if kind == "shared" and across in self.shared:
            return self.shared[across]
        if across:
            of = self.span_buckets(a)
        else:
            of = buckets_of(length, length, a, not self.causal or self.priority is not None).expand(BATCH, -1, -1)
        if kind == "contextual":
            kernel = self.W(scope + "relative_attention_ak/kernel", heads, KV, a["buckets"])
            by_bucket = torch.einsum("bhqd,hdn->bhqn", q, kernel)
            return torch.gather(by_bucket, 3, of[:, None].expand(-1, heads, -1, -1))
        name = "enc_dec_relative_attention_bias" if across else "relative_attention_bias"
        table = self.W(scope + name, *((heads,) if heads > 1 else ()), a["buckets"])
        bias = table.reshape(heads, -1)[:, of].transpose(0, 1)
        if kind == "shared":
            self.shared[across] = bias
        return bias

    def span_buckets(self, a):
        """A token stands where the inputs have the sentinel that it has read last."""
        ids, inputs, first = self.spans
        of = torch.zeros(BATCH, LENGTH, INPUTS, dtype=torch.long)
        for b in range(BATCH):
            theirs = torch.cumsum((inputs[b] >= first).long(), 0)
            own = torch.cumsum((ids[b] >= first).long(), 0)
            for q in range(LENGTH):
                place = int(((theirs < own[q]) & (inputs[b] != 0)).sum())
                for m in range(INPUTS):
                    of[b, q, m] = bucket(place - m, a["buckets"], a["max_distance"], True)
        return of

    def project(self, scope, a, name, x, n):
        y = x @ self.W(scope + name, D, n * KV)
        return y + self.W(scope + name + "_bias", n * KV) if a.get("bias") else y

    def attention(self, scope, a, x, to_encoder):
        W, heads = self.W, a.get("heads", 4)
        groups = a.get("memory_heads") or heads
        from_ = self.encoded if to_encoder else x
        split = lambda y, n: y.reshape(BATCH, -1, n, KV).transpose(1, 2)
        q = split(self.project(scope, a, "q", x, heads), heads)
        k = v = split(self.project(scope, a, "kv" if a.get("shared_kv") else "k", from_, groups), groups)
        if not a.get("shared_kv"):
            v = split(self.project(scope, a, "v", from_, groups), groups)
        if a.get("scale_queries"):
            q = q / math.sqrt(KV)
        if a.get("rotary"):
            q, k = (rotate(y, a["rotary"], a.get("rotary_size", KV)) for y in (q, k))
        bias = self.relative(scope, a, q, heads, x.shape[1], to_encoder)
        k, v = (y.repeat_interleave(heads // groups, 1) for y in (k, v))
        logits = q @ k.transpose(2, 3)
        if to_encoder:
            seen = self.segment[:, :, None] == self.encoded_segment[:, None, :]
        else:
            seen = self.mask(x.shape[1], a)
        logits = logits + HIDDEN * (~seen)[:, None] + bias
        if a.get("hybrid"):
            over_queries = torch.softmax(logits, 2)
            twice = over_queries / (over_queries.sum(3, keepdim=True) + 1e-9)
            share = W(scope + "hybrid_attention_mix").clamp(0, 1)
            weights = share * torch.softmax(logits, 3) + (1 - share) * twice
        elif a.get("extra_logit"):
            extra = a["extra_logit"]
            extra = W(scope + "extra_logit", heads) if extra is True else torch.full((heads,), extra)
            extra = extra[:, None, None].expand(BATCH, heads, x.shape[1], 1)
            weights = torch.softmax(torch.cat([logits, extra], 3), 3)[..., :-1]
        else:
            weights = torch.softmax(logits, 3)
        y = (weights @ v).transpose(1, 2).reshape(BATCH, -1, heads * KV) @ W(scope + "o", heads * KV, D)
        return y + W(scope + "o_bias", D) if a.get("bias") else y

    def talking(self, scope, a, x, to_encoder):
        """Heads of keys, of the softmax and of values are dimensions with names, which are letters here."""
        W, from_, length = self.W, self.encoded if to_encoder else x, x.shape[1]
        keys, soft, values = ("".join(name for name, _ in a[part]) for part in ("key", "softmax", "value"))
        size = dict(a["key"] + a["softmax"] + a["value"], d=D, x=6, y=5)
        shape = lambda letters: [size[c] for c in letters]
        dense = lambda name, x, letters, memory: torch.einsum(
            "b%sd,d%s->b%s%s" % (memory, letters, memory, letters), x, W(scope + name + "/kernel", D, *shape(letters)))

        def mixed(name, to, p, heads, made):
            """p [b, q, m, heads] with other heads."""
            reduced = "".join(c for c in heads if c not in made)
            matrix = "".join(c for c in heads if c in made) + reduced + "".join(c for c in made if c not in heads)
            if heads == made:
                return p
            mix = lambda w, before: torch.einsum("bqm%s,%s%s->bqm%s" % (heads, before, matrix, made), p, w)
            y, n = mix(W(scope + name + "/kernel", *shape(matrix)), ""), 0
            for whose, input_, letter in (("x", x, "q"), ("m", from_, "m")):
                if whose + "2" + to in a.get("dynamic", []):
                    y = y + mix(dense("%s/%s_dynamic_%d" % (name, name, n), input_, matrix, letter), "b" + letter)
                    n += 1
            return y

        q, k = dense("q", x, keys + "x", "q"), dense("k", from_, keys + "x", "m")
        v = dense("v", from_, values + "y", "m")
        p = torch.einsum("bq%sx,bm%sx->bqm%s" % (keys, keys, keys), q, k)
        logits = mixed("logits", "l", p, keys, soft)
        if to_encoder:
            seen = self.segment[:, :, None] == self.encoded_segment[:, None, :]
        else:
            seen = self.mask(length, a)
        if a.get("relative") == "contextual":
            of = buckets_of(length, length, a, not self.causal).expand(BATCH, -1, -1)
            others = "".join(c for c in keys if c not in soft) + "x"
            w = W(scope + "relative_attention_ak/kernel", *shape(soft + others), a["buckets"])
            by_bucket = torch.einsum("bq%sx,%s%sn->bqn%s" % (keys, soft, others, soft), q, w)
            logits = logits + torch.gather(by_bucket, 2, of[..., None].expand(-1, -1, -1, size[soft]))
        elif a.get("relative"):
            logits = logits + self.relative(scope, a, q, size[soft], length, to_encoder).permute(0, 2, 3, 1)
        weights = torch.softmax(logits + HIDDEN * (~seen)[..., None], 2)
        weights = mixed("weights", "w", weights, soft, values)
        u = torch.einsum("bqm%s,bm%sy->bq%sy" % (values, values, values), weights, v)
        return torch.einsum("bq%sy,%syd->bqd" % (values, values), u, W(scope + "y/kernel", *shape(values + "yd")))

    def feed_forward(self, scope, o, x):
        W, words = self.W, o.get("activation", ["relu"])
        f = {"relu": torch.relu, "linear": lambda y: y, "swish": torch.nn.functional.silu,
             "gelu": lambda y: torch.nn.functional.gelu(y, approximate="tanh")}
        h = 1
        for i, word in enumerate(words):
            name = "wi_%d" % i if len(words) > 1 else "wi"
            y = x @ W(scope + name + "/kernel", D, FF)
            if o.get("ff_bias"):
                y = y + W(scope + name + "/bias", FF)
            h = h * f[word](y)
        y = h @ W(scope + "wo/kernel", FF, D)
        return y + W(scope + "wo/bias", D) if o.get("ff_bias") else y

    def norm(self, scope, kind, x):
        if kind == "layer_norm":
            y = torch.nn.functional.layer_norm(x, (D,), eps=1e-6)
            scope += "true_layer_norm/layer_prepostprocess/layer_norm/layer_norm_"
            return y * self.W(scope + "scale", D) + self.W(scope + "bias", D)
        some = x[..., :math.ceil(D * 0.4)] if kind == "layer_norm_subsampled" else x
        y = x / torch.sqrt((some**2).mean(-1, keepdim=True) + 1e-6)
        return y * self.W(scope + kind + "/scale", *((D,) if kind != "scale_norm" else ()))

    def keep(self, x):
        return x if self.segment is None else x * (self.segment != 0)[..., None]

    def layer(self, scope, kind, a, x):
        y, norm = self.keep(x), self.o.get("norm", "rms_norm")
        if norm:
            y = self.keep(self.norm(scope, norm, x))
        if kind == "feed_forward":
            y = self.feed_forward(scope + "DenseReluDense/", self.o, y)
        elif "Talking" in kind:
            y = self.talking(scope + kind + "/", a, y, "EncDec" in kind)
        else:
            y = self.attention(scope + kind + "/", a, y, "EncDec" in kind)
        if not norm:
            y = y * self.W(scope + "rezero_weight")
        return y if self.o.get("reversible") else x + y

    def apply(self, layers, x):
        before, after = x, x
        for b in range(2):
            for i, (kind, o) in enumerate(layers):
                scope = "%s/block_%03d/layer_%03d/" % (self.scope, b, i)
                if self.o.get("flat_scopes"):
                    scope = "%s/layer_%03d/" % (self.scope, b * len(layers) + i)
                if self.o.get("reversible"):
                    before, after = after, before + self.layer(scope, kind, o, after)
                else:
                    x = self.layer(scope, kind, o, x)
        if self.o.get("reversible"):
            x = before + after
        return self.keep(self.norm(self.scope + "/", self.o.get("final", "rms_norm"), x))


# ---- models ----

RELATIVE = {"buckets": 8, "max_distance": 12}
PACKED_SEGMENT = torch.tensor([1, 1, 1, 2, 2, 2, 0])
PACKED_POSITION = torch.tensor([0, 1, 2, 0, 1, 2, 0])


def embed(W, name, o, ids):
    x = W(name, PADDED, D)[ids]
    return x * math.sqrt(D) if o.get("scaled_embedding") else x


def positions(W, scope, o, place, limit):
    kind = o.get("positions", "learned")
    if kind == "learned":
        return W(scope + "/positional_embedding", limit, D)[place]
    if kind == "sinusoid":
        first, last = o.get("timescales", (1, 1e4))
        step = math.log(last / first) / (D // 2 - 1)
        angle = place[:, None] / (first * torch.exp(torch.arange(D // 2) * step))
        return torch.cat([torch.sin(angle), torch.cos(angle)], 1)
    return 0


def logits_of(W, scope, table, o, x):
    if not o.get("shared_softmax"):
        return x @ W(scope + "/logits/kernel", D, PADDED)
    if not (o.get("unscaled_softmax") or o.get("scaled_embedding")):
        x = x / math.sqrt(D)
    return x @ W(table, PADDED, D).T


def shift(x):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)


def encode(W, prefix, o, inputs, table):
    segment = (inputs != 0).long()
    stack = Stack(W, prefix + "encoder", {}, False, segment)
    own = dict(RELATIVE, relative="shared", **o.get("of_encoder", {}))
    layers = [("SelfAttention", own), ("feed_forward", {})]
    return stack.apply(layers, embed(W, table, o, inputs)), segment


def forward(W, prefix, o, inputs, targets):
    """Logits, and what they are to say."""
    a, ids, said = o.get("attention", {}), shift(targets.abs()), targets
    kind = "TalkingHeadsSelfAttention" if a.get("key") else "SelfAttention"
    layers = [(kind, a), ("feed_forward", {})]
    segment = priority = encoded = encoded_segment = None
    scope = prefix + "transformer"
    table = scope + "/embedding"
    if o.get("encoder"):
        scope, table = prefix + "decoder", prefix + "shared/embedding"
        first = prefix + "encoder/embedding" if o.get("separate_embedding") else table
        encoded, encoded_segment = encode(W, prefix, o, inputs, first)
        if o.get("separate_embedding"):
            table = scope + "/embedding"
        segment = (targets != 0).long()
        across = "TalkingHeadsEncDecAttention" if a.get("key") else "EncDecAttention"
        layers.insert(1, (across, o.get("across", {})))
    place = torch.arange(LENGTH)
    if o.get("packed"):
        segment, place = PACKED_SEGMENT.expand(BATCH, LENGTH), PACKED_POSITION
        ids = torch.where(segment == shift(segment), ids, 0)
    if o.get("no_shift"):
        ids, said = targets, torch.cat([targets[:, 1:], torch.zeros_like(targets[:, :1])], 1)
    if o.get("bidirectional"):
        ids, segment = inputs, (inputs != 0).long()
    if o.get("prefix"):
        ends = (targets == o.get("end", 1)).long()
        inside = (torch.cumsum(ends, 1) - ends) % 2 == 0
        wider = inside | shift(inside.long()).bool()
        priority = torch.where(wider, 0, torch.arange(LENGTH).expand(BATCH, LENGTH))
        if o.get("loss_on_targets_only"):
            said = torch.where(inside, 0, said)
    spans = (ids, inputs, VOCAB - o.get("sentinels", 0))
    stack = Stack(W, scope, o, not o.get("bidirectional"), segment, priority, encoded, encoded_segment, spans)
    x = embed(W, table, o, ids) + positions(W, scope, o, place, POSITIONS)
    return logits_of(W, scope, table, o, stack.apply(layers, x)), said


def token_losses(o, logits, said):
    smoothing, z = o.get("label_smoothing", 0), 0 if o.get("evaluate") else o.get("z_loss", 1e-4)
    said = said.clamp(min=0)
    soft = torch.full(logits.shape, smoothing / PADDED)
    soft.scatter_add_(2, said[..., None], torch.full(said.shape + (1,), 1.0 - smoothing))
    log_z = torch.logsumexp(logits, 2)
    return -(soft * torch.log_softmax(logits, 2)).sum(2) + z * log_z**2


def loss_of(o, logits, said):
    count = o.get("loss_denominator", said.numel())
    return (token_losses(o, logits, said) * (said > 0)).sum() / count


def evaluated(W, o, inputs, targets):
    """The members of an ensemble answer as one."""
    logits = []
    for W.member in range(W.ensemble):
        each, said = forward(W, "", o, inputs, targets)
        logits.append(each)
    logits = torch.stack(logits)
    one = {"probability": torch.log(torch.softmax(logits, 3).mean(0)), "logit": logits.mean(0), "second": logits[1]}
    return loss_of(o, one[o["evaluate"]], said)


def distilled(W, o, inputs, targets):
    """(1 - f) hard + f T^2 soft with T = 2."""
    f = o["distilled"]
    logits, said = forward(W, "student/", o, inputs, targets)
    if f < 0:
        return loss_of(o, logits, said)
    W.frozen = True
    teacher, _ = forward(W, "teacher/", o, inputs, targets)
    p = torch.softmax(teacher / 2, 2)
    log_z = torch.logsumexp(logits / 2, 2)
    soft = -(p * torch.log_softmax(logits / 2, 2)).sum(2) + 1e-4 * log_z**2
    soft = (soft * (said > 0)).sum() / said.numel()
    return (1 - f) * loss_of(o, logits, said) + f * 4 * soft


GPT2 = dict(no_shift=True, shared_softmax=True, unscaled_softmax=True, norm="layer_norm", final="layer_norm",
            activation=["gelu"], attention=dict(bias=True))
SHARED = dict(RELATIVE, relative="shared")
TALKS = dict(key=[("k", 2)], softmax=[("h", 3)], value=[("v", 4)])
MODELS = {
    "plain": {},
    "encoder and decoder": dict(encoder=True),
    "shared softmax": dict(shared_softmax=True),
    "grouped queries": dict(attention=dict(memory_heads=2)),
    "one memory head, rotary positions": dict(attention=dict(memory_heads=1, rotary=1e4), positions="none"),
    "half of a head rotated": dict(attention=dict(rotary=1e4, rotary_size=4)),
    "relative bias": dict(attention=dict(RELATIVE, relative="each")),
    "shared relative bias": dict(attention=SHARED),
    "contextual relative bias": dict(attention=dict(RELATIVE, relative="contextual")),
    "window": dict(attention=dict(window=3)),
    "extra logit": dict(attention=dict(extra_logit=True)),
    "biases": dict(attention=dict(bias=True)),
    "keys are values": dict(attention=dict(shared_kv=True)),
    "separate dimensions of heads": {},
    "queries divided": dict(attention=dict(scale_queries=True)),
    "one head": dict(attention=dict(heads=1)),
    "sinusoids": dict(positions="sinusoid"),
    "slower sinusoids": dict(positions="sinusoid", timescales=(3, 50)),
    "prefix": dict(prefix=True),
    "no shift, as GPT-2": GPT2,
    "gated units": dict(activation=["swish", "linear"]),
    "rezero": dict(norm=None),
    "ensemble": dict(ensemble=2),
    "scaled embedding": dict(scaled_embedding=True, shared_softmax=True),
    "recomputed layers": dict(attention=SHARED),
    "reversible layers": dict(attention=SHARED, reversible=True),
    "smoothed targets": dict(label_smoothing=0.1),
    "loss in blocks": dict(label_smoothing=0.1),
    "flat scopes": dict(flat_scopes=True),
    "prefix, relative bias": dict(prefix=True, attention=dict(RELATIVE, relative="each")),
    "prefix, window": dict(prefix=True, attention=dict(window=2)),
    "encoder and decoder in a scope": dict(encoder=True, scope="student/"),
    "norm of a part": dict(norm="layer_norm_subsampled", final="layer_norm_subsampled"),
    "talking heads": dict(attention=dict(TALKS, **RELATIVE, relative="each")),
    "talking heads in several dimensions": dict(attention=dict(
        RELATIVE, key=[("h", 2), ("k", 3)], softmax=[("h", 2)], value=[("h", 2), ("v", 3)], relative="contextual",
        dynamic=["x2l", "m2l", "x2w", "m2w"])),
    "talking heads that keep to themselves": dict(attention=dict(SHARED, key=[("h", 3)], softmax=[("h", 3)],
                                                                 value=[("h", 3)], dynamic=["x2l"])),
    "talking heads to an encoder": dict(encoder=True, sentinels=20, attention=dict(TALKS, dynamic=["m2w"]),
                                        across=dict(TALKS, **SHARED, dynamic=["m2l", "x2w"])),
    "fixed extra logit": dict(attention=dict(extra_logit=0.7)),
    "relative bias to the encoder": dict(encoder=True, sentinels=20,
                                         across=dict(RELATIVE, relative="each", extra_logit=True)),
    "shared relative bias to the encoder": dict(encoder=True, sentinels=20,
                                                across=dict(SHARED, memory_heads=2)),
    "contextual relative bias to the encoder": dict(encoder=True, sentinels=20,
                                                    across=dict(RELATIVE, relative="contextual")),
    "ensemble with relative bias to the encoder": dict(encoder=True, sentinels=20, ensemble=2,
                                                       across=dict(RELATIVE, relative="each")),
    "encoder with a window": dict(encoder=True, of_encoder=dict(window=2)),
    # beyond tests/model/small_models.c
    "hybrid": dict(attention=dict(hybrid=True)),
    "scale norm, gated gelu, biases": dict(norm="scale_norm", final="scale_norm", activation=["gelu", "linear"],
                                           ff_bias=True),
    "large z-loss, own denominator": dict(z_loss=0.05, loss_denominator=5),
    "loss on targets only": dict(prefix=True, loss_on_targets_only=True),
    "another end": dict(prefix=True, loss_on_targets_only=True, end=49),
    "bidirectional": dict(bidirectional=True, attention=SHARED),
    "separate embeddings": dict(encoder=True, separate_embedding=True),
    "distilled": dict(distilled=0.25),
    "distilled encoder and decoder": dict(encoder=True, distilled=0.25),
    "distilled without a teacher's share": dict(distilled=-1),
    "mean probability": dict(ensemble=2, evaluate="probability"),
    "mean logit": dict(ensemble=2, evaluate="logit"),
    "second member": dict(ensemble=2, evaluate="second"),
    "grouped queries, relative bias, extra logit": dict(attention=dict(RELATIVE, memory_heads=2, relative="each",
                                                                       extra_logit=True)),
    "packed": dict(packed=True, attention=SHARED),
    "packed, negative targets": dict(packed=True, negative=True, attention=dict(window=2)),
    "bidirectional, window": dict(bidirectional=True, attention=dict(window=2)),
}


def tokens(n, first):
    return (2 + (torch.arange(n) * 7 + first) % (VOCAB - 3)).reshape(BATCH, -1)


def main():
    lines = []
    for what, o in MODELS.items():
        W = Variables(o.get("ensemble", 1))
        length = LENGTH if o.get("bidirectional") else INPUTS
        inputs, targets = tokens(BATCH * length, 1), tokens(BATCH * LENGTH, 3)
        targets[:, 2] = targets[:, 5] = o.get("end", 1)
        targets[0, 6] = inputs[1, -1] = 0
        if o.get("packed"):
            targets[:, 6] = 0
        if o.get("negative"):
            targets[:, 1] *= -1
        if o.get("distilled"):
            loss = distilled(W, o, inputs, targets)
        elif o.get("evaluate"):
            loss = evaluated(W, o, inputs, targets)
        else:
            loss = 0
            for W.member in range(W.ensemble):
                loss = loss + loss_of(o, *forward(W, o.get("scope", ""), o, inputs, targets))
        loss.backward()
        lines.append("model %s\nloss %.10g" % (what, loss.item()))
        for name, w in sorted(W.all.items()):
            if not w.requires_grad:
                lines.append("%s frozen" % name)
                continue
            g = (torch.zeros_like(w) if w.grad is None else w.grad).numpy().flatten()
            lines.append("%s %.10g %.10g" % (name, g @ noise(name + "?", g.size), np.linalg.norm(g)))
    with open(PATH, "w") as f:
        f.write("\n".join(lines) + "\n")
    print("%d models, %d lines" % (len(MODELS), len(lines)))


if __name__ == "__main__":
    main()
