"""Attention: values and gradients by plain softmax over everything, with masks as tensors."""

import torch

from common import FLOATS, Case, names, order, sizes


def total(dims):
    return dict(zip(names(dims), sizes(dims)))


def text(size, which):
    return ", ".join("%s=%d" % (d, size[d]) for d in which)


class Attention:
    """One call: dimensions of q, k, v by name; "m" is the memory, also where it is the query."""

    def __init__(self, case, tag, q, k, v, query="i", memory="m", kind="f32", **attrs):
        self.case, self.tag, self.kind, self.attrs = case, tag, kind, dict(attrs)
        self.dims = {"q": q, "k": k, "v": v}
        self.query, self.memory, self.key, self.value = query, memory, "d", attrs.pop("value", "d")
        self.attrs.pop("value", None)
        self.size = {**total(v), **total(k), **total(q)}
        self.rows = [d for d in names(q) if d != self.key]
        self.optional, self.tensors = [], {}
        for x, dims in self.dims.items():
            self.tensors[x] = case.input(x + tag, kind, dims, low=-2, high=2)

    def more(self, what, kind, dims, values=None, low=-2, high=2):
        self.dims[what] = dims
        self.optional.append(what)
        x = self.case.input(what + self.tag, kind, dims, values, low=low, high=high)
        self.tensors[what] = x
        return self

    def spread(self, what, memory=None):
        """[rows.., memory]; memory: what the tensor calls it."""
        have = names(self.dims[what])
        if memory:
            have = ["m!" if d == memory else d for d in have]
        x = self.tensors[what]
        return order(x, have, self.rows + ["m!"])

    def visible(self):
        low, high = self.attrs.get("min_relative"), self.attrs.get("max_relative")
        queries = self.size[self.query] if self.query else 1
        index = torch.arange(queries)
        at = self.rows.index(self.query) if self.query else 0
        shape = [1] * (len(self.rows) + 1)
        if self.query:
            shape[at] = queries
        read = index.reshape(shape)
        shape = [1] * len(self.rows) + [self.size[self.memory]]
        write = torch.arange(self.size[self.memory]).reshape(shape)
        if "read" in self.tensors:
            read = self.spread("read")
        if "write" in self.tensors:
            write = self.spread("write", self.memory)
        seen = torch.ones([1] * (len(self.rows) + 1), dtype=torch.bool)
        if low is not None:
            seen = seen & (write - read >= low)
        if high is not None:
            seen = seen & (write - read <= high)
        if "query_segment" in self.tensors:
            seen = seen & (
                self.spread("query_segment") == self.spread("memory_segment", self.memory)
            )
        return seen

    def bias(self):
        own, relative = self.attrs.get("bias_memory"), self.attrs.get("bias_relative")
        if relative:
            x, have = self.tensors["bias"], names(self.dims["bias"])
            queries = self.size[self.query] if self.query else 1
            at = torch.arange(self.size[self.memory]) - torch.arange(queries).reshape(-1, 1)
            x = x.movedim(have.index(relative), -1)[..., at + queries - 1]
            have = [d for d in have if d != relative] + [self.query or "none", "m!"]
            if not self.query:
                x, have = x.squeeze(-2), [d for d in have if d != "none"]
            return order(x, have, self.rows + ["m!"])
        return self.spread("bias", own or (None if self.memory == self.query else self.memory))

    def compute(self):
        all_dims = self.rows + ["m!"]
        full = lambda x, last: order(
            self.tensors[x],
            ["m!" if d == self.memory and x != "q" else d for d in names(self.dims[x])],
            all_dims + [last],
        )
        s = (full("q", self.key) * full("k", self.key)).sum(-1) * self.attrs.get("scale", 1)
        if "bias" in self.tensors:
            s = s + self.bias()
        seen = self.visible().expand(s.shape)
        s = torch.where(seen, s, torch.full_like(s, -torch.inf))
        some = seen.any(-1)
        safe = torch.where(some.unsqueeze(-1), s, torch.zeros_like(s))
        lse = torch.where(some, torch.logsumexp(safe, -1), torch.full_like(safe[..., 0], -1e30))
        p = torch.where(seen, torch.exp(safe - lse.unsqueeze(-1)), torch.zeros_like(s))
        y = (p.unsqueeze(-1) * full("v", self.value)).sum(-2)
        return y, lse

    def write(self, gradients=True, lse=True):
        """lse: it is expected, too; for gradients all rows must see something then."""
        tag, c = self.tag, self.case
        inputs = [x + tag for x in ["q", "k", "v"] + self.optional]
        words = {"query": self.query, "memory": self.memory, "key": self.key, "value": self.value}
        attrs = ["%s=%s" % (a, b) for a, b in words.items() if b]
        attrs += ["%s=%s" % (a, b) for a, b in self.attrs.items()]
        if self.optional:
            attrs.append("with=(%s)" % ", ".join(self.optional))
        c.line("y%s, lse%s = attention(%s)" % (tag, tag, ", ".join(inputs + attrs)))
        y, l = self.compute()
        size = dict(self.size)
        c.expect("y" + tag, y, text(size, self.rows + [self.value]), kind=self.kind)
        if lse:
            kind = "f64" if self.kind == "f64" else "f32"
            c.expect("lse" + tag, l, text(size, self.rows), kind)
        if not gradients:
            return
        # A sum of y times something that differs from element to element, and of lse.
        if lse:
            c.line("t%s = reduce_sum(square(y%s)) + reduce_sum(square(lse%s))" % (tag, tag, tag))
            c.values["t" + tag] = (y * y).sum() + (l * l).sum()
        else:
            c.line("t%s = reduce_sum(square(y%s))" % (tag, tag))
            c.values["t" + tag] = (y * y).sum()
        wrt = [x for x in inputs if c.values[x].dtype.is_floating_point]
        results = ", ".join("d" + x for x in wrt)
        c.gradients(results, "t" + tag, ", ".join(wrt), kind=self.kind)


def plain():
    c = Case("attention/attention", "attention: plain, one head for all, groups, other names")
    Attention(c, "0", "b=2, h=3, i=5, d=4", "b=2, h=3, m=7, d=4", "b=2, h=3, m=7, e=3", value="e",
              scale=0.5).write()
    Attention(c, "1", "b=2, i=3, h=3, d=2", "b=2, m=5, d=2", "m=5, b=2, d=2").write()
    Attention(c, "2", "g=2, h=3, i=2, d=3", "h=3, m=3, d=3", "h=3, m=3, d=3").write()
    Attention(c, "3", "d=3, i=2", "d=3, m=2", "d=3, m=2").write()
    Attention(c, "4", "i=1, d=1", "m=1, d=1", "m=1, d=1").write()
    c.write(2)
    c = Case("attention/attention_one", "attention of one position, and of a memory of one")
    Attention(c, "0", "b=2, h=3, d=4", "b=2, m=7, d=4", "b=2, m=7, d=4", query=None).write()
    Attention(c, "1", "d=4", "m=3, d=4", "m=3, e=1", query=None, value="e").write()
    Attention(c, "2", "b=2, i=3, d=2", "b=2, m=1, d=2", "b=2, m=1, d=2").write()
    Attention(c, "3", "b=3, d=2", "m=4, d=2", "m=4, d=2", query=None, max_relative=1).write()
    c.write(2)
    c = Case("attention/attention_types", "attention of the other types")
    for kind in FLOATS[1:]:
        # Short floats round the gradient of y, too: the products are what matters here.
        Attention(c, "_" + kind, "b=2, h=2, i=3, d=4", "b=2, m=5, d=4", "b=2, m=5, d=4", kind=kind,
                  scale=0.5, max_relative=1).write(gradients=kind == "f64")
    c.write(0)


def limits():
    c = Case("attention/attention_causal", "attention to what came before, and to a window")
    Attention(c, "0", "b=2, i=7, d=2", "b=2, m=7, d=2", "b=2, m=7, d=2", max_relative=0).write()
    Attention(c, "1", "h=2, i=5, d=2", "m=7, d=2", "m=7, d=2", min_relative=-2,
              max_relative=1).write()
    Attention(c, "2", "i=7, d=2", "m=5, d=2", "m=5, d=2", min_relative=1).write(lse=False)
    c.write(1)
    c = Case("attention/attention_self", "a sequence attends to itself")
    Attention(c, "0", "b=2, i=7, h=2, d=2", "b=2, i=7, h=2, d=2", "b=2, i=7, h=2, d=2", memory="i",
              max_relative=0).write()
    Attention(c, "1", "h=2, i=11, d=2", "i=11, d=2", "i=11, e=3", memory="i", value="e",
              min_relative=-2, max_relative=0).write()
    Attention(c, "2", "b=2, i=3, d=2", "b=2, i=3, d=2", "b=2, i=3, d=2", memory="i").write()
    c.write(2)


def biases():
    c = Case("attention/attention_bias", "attention with a bias, and its gradient")
    Attention(c, "0", "b=2, h=3, i=5, d=2", "b=2, h=3, m=4, d=2", "b=2, h=3, m=4, d=2").more(
        "bias", "f32", "h=3, i=5, m=4").write()
    Attention(c, "1", "b=2, h=3, i=3, d=2", "b=2, m=5, d=2", "b=2, m=5, d=2").more(
        "bias", "f32", "m=5, b=2").write()
    Attention(c, "2", "h=2, i=5, d=2", "i=5, d=2", "i=5, d=2", memory="i", bias_memory="n",
              max_relative=0).more("bias", "f32", "n=5, i=5").write()
    Attention(c, "3", "h=2, i=3, d=2", "m=5, d=2", "m=5, d=2").more("bias", "f32", "h=2").write()
    c.write(2)
    c = Case("attention/attention_relative", "attention with a bias by distance")
    Attention(c, "0", "b=2, h=2, i=3, d=2", "b=2, h=2, m=5, d=2", "b=2, h=2, m=5, d=2",
              bias_relative="r").more("bias", "f32", "h=2, r=7").write()
    Attention(c, "1", "h=2, i=5, d=2", "h=2, i=5, d=2", "h=2, i=5, d=2", memory="i",
              bias_relative="r", max_relative=0).more("bias", "f32", "r=9, h=2").write()
    Attention(c, "2", "h=2, d=2", "m=3, d=2", "m=3, d=2", query=None, bias_relative="r").more(
        "bias", "f32", "r=3").write()
    c.write(2)


def places():
    c = Case("attention/attention_places", "attention with places and segments, some see nothing")
    Attention(c, "0", "b=2, h=2, i=4, d=2", "b=2, m=5, d=2", "b=2, m=5, d=2", max_relative=0).more(
        "read", "i32", "b=2, i=4", [[0, 4, -1, 2], [3, 3, 0, 9]]).write(lse=False)
    Attention(c, "1", "b=2, i=3, d=2", "b=2, m=5, d=2", "b=2, m=5, d=2", min_relative=-1,
              max_relative=0).more("read", "i32", "i=3", [0, 2, 4]).more(
        "write", "i32", "m=5, b=2", [[0, 1], [1, 0], [2, 5], [7, 3], [4, 4]]).write(lse=False)
    Attention(c, "2", "b=2, i=5, d=2", "b=2, i=5, d=2", "b=2, i=5, d=2", memory="i",
              max_relative=0).more("query_segment", "i32", "b=2, i=5",
                                   [[1, 1, 2, 2, 0], [3, 1, 1, 1, 2]]).more(
        "memory_segment", "i32", "b=2, i=5", [[1, 1, 2, 2, 3], [1, 1, 1, 2, 2]]).write(lse=False)
    Attention(c, "3", "b=3, d=2", "b=3, m=4, d=2", "b=3, m=4, d=2", query=None,
              max_relative=0).more("read", "i32", "b=3", [0, 3, 1]).write()
    c.write(1)


def nothing():
    c = Case("attention/attention_nothing", "attention of rows that see nothing, with lse")
    Attention(c, "0", "b=2, h=2, i=4, d=2", "b=2, m=5, d=2", "b=2, m=5, d=2", max_relative=0).more(
        "read", "i32", "b=2, i=4", [[-1, 4, -3, 2], [3, -1, 0, 9]]).write(False)
    Attention(c, "1", "i=7, d=2", "m=3, d=2", "m=3, d=2", min_relative=0).write(False)
    Attention(c, "2", "i=5, d=2", "i=5, d=2", "i=5, d=2", memory="i", max_relative=-2).write(False)
    c.write(0)


def gradient():
    """attention_grad by itself: of y alone, so that delta is the sum of dy y."""
    c = Case("attention/attention_grad", "gradients of attention, by themselves")
    a = Attention(c, "", "b=2, h=3, i=5, d=2", "b=2, m=4, d=2", "b=2, m=4, d=2", scale=0.5,
                  max_relative=1).more("bias", "f32", "h=3, m=4")
    dy = c.input("dy", "f32", "b=2, h=3, i=5, d=2", low=-2, high=2)
    y, lse = a.compute()
    words = "query=i, memory=m, key=d, value=d, scale=0.5, max_relative=1, with=(bias)"
    c.line("y, lse = attention(q, k, v, bias, %s)" % words)
    c.line("delta: f32[b=2, h=3, i=5] = einsum(y, dy)")
    c.line("dq, dk, dv, dbias = attention_grad(q, k, v, lse, dy, delta, bias, %s)" % words)
    inputs = [c.values[x] for x in ("q", "k", "v", "bias")]
    for name, x in zip(("dq", "dk", "dv", "dbias"), torch.autograd.grad((y * dy).sum(), inputs)):
        c.expect(name, x)
    c.write(1)


def many():
    c = Case("attention/attention_wide", "attention among sixteen dimensions")
    ones = ", ".join("a%d=1" % k for k in range(13))
    Attention(c, "0", ones + ", h=2, i=3, d=2", "h=2, m=5, d=2", "m=5, d=2", scale=0.5).write(
        lse=False)
    c.write(1)


def write():
    plain()
    limits()
    biases()
    places()
    nothing()
    gradient()
    many()
