"""Indices and order: one_hot, gather, scatter_add, sorting, top-k."""

import itertools

import numpy as np
import torch

from common import FLOATS, NUMBERS, TYPES, Case, counted, names, sizes

NAN, INF = float("nan"), float("inf")


def one_hot(index, size, on=1, off=0):
    return torch.where(index.unsqueeze(-1) == torch.arange(size), on, off)


def one_hots():
    c = Case("indices/one_hot", "the new dimension comes last; an index out of range gives off")
    for i, (dims, values, n) in enumerate(
        (
            ("", [2], 3),
            ("a=1", [0], 1),
            ("a=5", [0, 2, -1, 3, 1], 3),
            ("a=2, b=3", [0, 1, 2, 3, 4, 5], 5),
        )
    ):
        for kind in ("i32", "i64"):
            x = c.input("x%d_%s" % (i, kind), kind, dims, values)
            c.line("y%d_%s = one_hot(x%d_%s, dim=[v=%d])" % (i, kind, i, kind, n))
            c.expect(
                "y%d_%s" % (i, kind), one_hot(x, n), (dims + ", " if dims else "") + "v=%d" % n
            )
    c.option("#! outside")
    c.write(0)
    c = Case("indices/one_hot_types", "one_hot of every type, with on and off")
    x = c.input("x", "i32", "a=3", [1, 3, -2])
    for kind in TYPES:
        c.line("y_%s: %s = one_hot(x, dim=[v=3])" % (kind, kind))
        c.expect("y_" + kind, one_hot(x, 3), "a=3, v=3", kind)
    for kind in NUMBERS:
        c.line("z_%s: %s = one_hot(x, dim=[v=3], on=3, off=-2)" % (kind, kind))
        c.expect("z_" + kind, one_hot(x, 3, 3, -2), "a=3, v=3", kind)
    c.option("#! outside")
    c.write(0)


def gather(x, x_dims, index, i_dims, dim, out_dims):
    """By the definition, element by element; out of range is zero."""
    shape = dict(zip(x_dims, x.shape))
    shape.update(zip(i_dims, index.shape))
    limit, zero = x.shape[x_dims.index(dim)], torch.zeros((), dtype=x.dtype)
    out = []
    for at in itertools.product(*(range(shape[d]) for d in out_dims)):
        where = dict(zip(out_dims, at))
        k = int(index[tuple(where[d] for d in i_dims)])
        inside = 0 <= k < limit
        out.append(x[tuple(k if d == dim else where[d] for d in x_dims)] if inside else zero)
    return torch.stack(out).reshape([shape[d] for d in out_dims])


# dims of x, dims of indices, indices, dim, dims of the result
GATHERS = (
    ("v=1", "", [0], "v", ""),
    ("v=5", "i=3", [4, 0, 4], "v", "i=3"),
    ("v=5, c=2", "", [3], "v", "c=2"),
    ("v=3, c=2", "i=4", [2, -1, 0, 3], "v", "i=4, c=2"),
    ("a=2, v=3, c=2", "i=2", [2, 2], "v", "a=2, i=2, c=2"),
    ("a=3, v=5", "i=2, j=2", [0, 4, 1, 1], "v", "a=3, i=2, j=2"),
    ("a=3, v=5", "a=3", [4, 0, 7], "v", "a=3"),
    ("a=2, v=3, c=2", "a=2, i=3", [0, 1, 1, 2, 0, 0], "v", "a=2, i=3, c=2"),
    ("a=2, v=3, c=2", "i=2, a=2", [0, 2, 1, 5], "v", "a=2, i=2, c=2"),
    ("v=5, a=3", "v=2", [3, 3], "v", "v=2, a=3"),
    ("a=3, v=3", "a=3, v=2", [0, 2, 1, 1, 2, 0], "v", "a=3, v=2"),
)


def gathers():
    c = Case("indices/gather", "gather: shared dimensions go together, out of range is zero")
    for i, (dx, di, index, dim, out) in enumerate(GATHERS):
        x = c.input("x%d" % i, "f32", dx)
        k = c.input("i%d" % i, "i64" if i % 2 else "i32", di, index)
        c.line("y%d = gather(x%d, i%d, dim=%s)" % (i, i, i, dim))
        c.expect("y%d" % i, gather(x, names(dx), k, names(di), dim, names(out)), out)
    c.option("#! outside")
    c.write(3)
    c = Case(
        "indices/gather_gradient",
        "repeated indices sum their gradients, those out of range give none",
    )
    x, k = c.input("x", "f32", "v=4, c=2"), c.input("i", "i32", "i=5", [1, 1, 3, -1, 4])
    c.line("y = gather(x, i, dim=v)\nz = y * y")
    y = gather(x, ["v", "c"], k, ["i"], "v", ["i", "c"])
    c.expect("z", y * y, "i=5, c=2")
    c.gradients("dx", "z", "x")
    c.option("#! outside")
    c.write(3)
    c = Case("indices/gather_types", "gather of every type")
    k = c.input("i", "i32", "i=4", [2, 0, 2, 9])
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "a=2, v=3")
        c.line("y_%s = gather(x_%s, i, dim=v)" % (kind, kind))
        c.expect("y_" + kind, gather(x, ["a", "v"], k, ["i"], "v", ["a", "i"]), "a=2, i=4", kind)
    c.option("#! outside")
    c.write(0)


def scatter_many():
    """Several index dimensions, some of them kept; by the definition, element by element."""
    rows = (
        ("i=2, j=3", "i=2, j=3", [0, 1, 2, 2, 9, 0], "", "v=3"),
        ("i=2, c=2, j=2", "j=2, i=2", [1, 0, 1, 1], "", "v=3, c=2"),
        ("a=3, i=2", "a=3, i=2", [0, 1, 1, 1, -1, 4], ", keep=(a)", "a=3, v=5"),
        ("i=3, c=2, a=2", "a=2, i=3", [0, 2, 2, 1, 1, 0], ", keep=(a)", "v=3, c=2, a=2"),
        ("a=3, b=2", "", [1], "", "a=3, b=2, v=2"),
    )
    c = Case("indices/scatter_add_many", "no, several and kept index dimensions")
    for n, (dx, di, index, keep, out) in enumerate(rows):
        x, k = c.input("x%d" % n, "f32", dx), c.input("i%d" % n, "i32", di, index)
        size = sizes(out)[names(out).index("v")]
        c.line("y%d = scatter_add(x%d, i%d, dim=[v=%d]%s)" % (n, n, n, size, keep))
        y = {}
        for at in itertools.product(*map(range, x.shape)):
            where = dict(zip(names(dx), at))
            where["v"] = int(k[tuple(where[d] for d in names(di))])
            place = tuple(where[d] for d in names(out))
            y[place] = y.get(place, 0) + x[at]
        cells = itertools.product(*map(range, sizes(out)))
        flat = [torch.as_tensor(y.get(at, 0.0)) for at in cells]
        c.expect("y%d" % n, torch.stack(flat).reshape(sizes(out)), out)
    c.option("#! outside")
    c.write(3)


def scatters():
    rows = (
        ("i=1", "i=1", [0], "v=1", "v=1"),
        ("i=5", "i=5", [1, 0, 1, 3, -1], "v=3", "v=3"),
        ("i=3, c=2", "i=3", [2, 2, 0], "v=5", "v=5, c=2"),
        ("a=3, i=4, c=2", "i=4", [4, 1, 4, 5], "v=5", "a=3, v=5, c=2"),
        ("a=3, i=2", "i=2", [1, 1], "v=2", "a=3, v=2"),
    )

    def scatter(x, axis, index, size):
        inside = [j for j, k in enumerate(index) if 0 <= int(k) < size]
        shape = list(x.shape)
        shape[axis] = size
        kept = torch.index_select(x, axis, torch.tensor(inside, dtype=torch.int64))
        return torch.zeros(shape, dtype=x.dtype).index_add(axis, index[inside].long(), kept)

    c = Case(
        "indices/scatter_add",
        "scatter_add: repeated indices add up, those out of range are ignored",
    )
    for i, (dx, di, index, v, out) in enumerate(rows):
        x, k = c.input("x%d" % i, "f32", dx), c.input(
            "i%d" % i, "i64" if i % 2 else "i32", di, index
        )
        c.line("y%d = scatter_add(x%d, i%d, dim=[%s])" % (i, i, i, v))
        c.expect("y%d" % i, scatter(x, names(dx).index("i"), k, sizes(v)[0]), out)
    c.option("#! outside")
    c.write(3)
    scatter_many()
    c = Case("indices/scatter_add_types", "scatter_add of every type")
    k = c.input("i", "i32", "i=5", [2, 0, 2, 7, 2])
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "i=5, c=2")
        c.line("y_%s = scatter_add(x_%s, i, dim=[v=3])" % (kind, kind))
        c.expect("y_" + kind, scatter(counted(x), 0, k, 3), "v=3, c=2", kind)
    c.option("#! outside")
    c.write(0)
    c = Case("indices/scatter_add_gradient", "the gradient of scatter_add is gather")
    x, k = c.input("x", "f32", "i=4, c=2"), c.input("i", "i32", "i=4", [1, 1, -3, 0])
    c.line("y = scatter_add(x, i, dim=[v=3])\nz = y * y")
    c.expect("z", scatter(x, 0, k, 3) ** 2, "v=3, c=2")
    c.gradients("dx", "z", "x")
    c.option("#! outside")
    c.write(3)


def sorted_index(x, axis, descending):
    """Stable, equals by index, NaN as the largest."""
    v = np.moveaxis(counted(x).detach().numpy(), axis, -1)
    rank = np.empty(v.shape, dtype=np.int64)
    for at in np.ndindex(v.shape[:-1]):
        row = v[at]
        key = [(2, 0) if e != e else (1, e) for e in row]
        index = sorted(range(len(row)), key=lambda j: key[j])
        if descending:
            index = sorted(range(len(row)), key=lambda j: (-key[j][0], -key[j][1]))
        rank[at] = index
    return torch.as_tensor(np.ascontiguousarray(np.moveaxis(rank, -1, axis)))


ROWS = (("a=1", "a"), ("a=7", "a"), ("a=3, b=5, c=2", "b"), ("b=5, a=2", "b"), ("a=2, b=1", "b"))
TIES = [[3, 1, 3, 1, 2], [2, 2, 2, 2, 2]]
FLAGS = [[1, 0, 1, 0, 0], [1, 1, 1, 1, 1]]


def sorts():
    for descending in (False, True):
        tail, text = ("_descending", ", descending=true") if descending else ("", "")
        c = Case("indices/sort" + tail, "values and where they were" + tail.replace("_", ", "))
        for i, (dims, dim) in enumerate(ROWS):
            x = c.input("x%d" % i, "f32", dims)
            index = sorted_index(x, names(dims).index(dim), descending)
            c.line(
                "y%d, k%d = sort(x%d, dim=%s%s)\nj%d = argsort(x%d, dim=%s%s)"
                % (i, i, i, dim, text, i, i, dim, text)
            )
            c.expect("y%d" % i, torch.gather(x, names(dims).index(dim), index), dims)
            c.expect("k%d" % i, index, dims, "i32")
            c.expect("j%d" % i, index, dims, "i32")
        c.write(3)
        c = Case("indices/sort_types" + tail, "every type; equals keep their order")
        for kind in TYPES:
            x = c.input("x_" + kind, kind, "a=2, b=5", FLAGS if kind == "bool" else TIES)
            index = sorted_index(x, 1, descending)
            c.line("y_%s, k_%s = sort(x_%s, dim=b%s)" % (kind, kind, kind, text))
            c.expect("y_" + kind, torch.gather(x, 1, index), "a=2, b=5", kind)
            c.expect("k_" + kind, index, "a=2, b=5", "i32")
        c.write(0)
        c = Case("indices/sort_tie" + tail, "the gradient goes where each value came from")
        x, w = c.input("x", "f32", "a=2, b=5", TIES), c.input("w", "f32", "b=5", [1, 2, 3, 4, 5])
        index = sorted_index(x, 1, descending)
        c.line("y, _ = sort(x, dim=b%s)\nz = y * w" % text)
        c.expect("z", torch.gather(x, 1, index) * w)
        c.gradients("dx", "z", "x")
        c.write(0)
        c = Case("indices/sort_nan" + tail, "NaN counts as the largest, infinities sort")
        x = c.input("x", "f32", "a=6", [1, NAN, INF, -INF, NAN, 0])
        index = sorted_index(x, 0, descending)
        c.line("y, k = sort(x, dim=a%s)" % text)
        c.expect("y", torch.gather(x, 0, index))
        c.expect("k", index, kind="i32")
        c.write(0)


def tops():
    c = Case("indices/top_k", "the k largest, descending, the dimension k last")
    for i, (dims, dim, k, out) in enumerate(
        (
            ("a=1", "a", 1, "k=1"),
            ("a=7", "a", 3, "k=3"),
            ("a=3, b=5, c=2", "b", 2, "a=3, c=2, k=2"),
            ("b=5, a=2", "b", 5, "a=2, k=5"),
        )
    ):
        axis = names(dims).index(dim)
        x = c.input("x%d" % i, "f32", dims)
        index = sorted_index(x, axis, True).narrow(axis, 0, k)
        c.line("y%d, j%d = top_k(x%d, dim=%s, k=[k=%d])" % (i, i, i, dim, k))
        c.expect("y%d" % i, torch.gather(x, axis, index).movedim(axis, -1), out)
        c.expect("j%d" % i, index.movedim(axis, -1), out, "i32")
    c.write(3)
    c = Case("indices/top_k_types", "every type; of equals the lowest index first")
    for kind in TYPES:
        x = c.input("x_" + kind, kind, "a=2, b=5", FLAGS if kind == "bool" else TIES)
        index = sorted_index(x, 1, True)[:, :3]
        c.line("y_%s, k_%s = top_k(x_%s, dim=b, k=[k=3])" % (kind, kind, kind))
        c.expect("y_" + kind, torch.gather(x, 1, index), "a=2, k=3", kind)
        c.expect("k_" + kind, index, "a=2, k=3", "i32")
    c.write(0)
    c = Case("indices/top_k_tie", "the gradient of equals goes to the lowest index")
    x, w = c.input("x", "f32", "a=2, b=5", TIES), c.input("w", "f32", "k=2", [2, 3])
    c.line("y, _ = top_k(x, dim=b, k=[k=2])\nz = y * w")
    c.expect("z", torch.gather(x, 1, sorted_index(x, 1, True)[:, :2]) * w)
    c.gradients("dx", "z", "x")
    c.write(0)
    c = Case("indices/top_k_far", "very small numbers and infinities")
    x = c.input("x", "f32", "b=5", [-2e9, -INF, -1e30, -3e9, -INF])
    index = sorted_index(x, 0, True)[:4]
    c.line("y, k = top_k(x, dim=b, k=[k=4])")
    c.expect("y", x[index])
    c.expect("k", index, kind="i32")
    c.write(0)
    singles()


def singles():
    c = Case("indices/top_1_types", "the largest of the other types and where it is")
    for kind in NUMBERS[1:]:
        x = c.input("x_" + kind, kind, "a=2, b=5", TIES)
        c.line("y_%s, k_%s = top_1(x_%s, dim=b)" % (kind, kind, kind))
        c.expect("y_" + kind, [3, 2], "a=2", kind)
        c.expect("k_" + kind, [0, 0], "a=2", "i32")
    c.write(0)
    c = Case("indices/top_1", "the largest and where it is")
    for i, (dims, dim) in enumerate(ROWS):
        axis = names(dims).index(dim)
        x = c.input("x%d" % i, "f32", dims)
        index = sorted_index(x, axis, True).narrow(axis, 0, 1)
        c.line("y%d, k%d = top_1(x%d, dim=%s)" % (i, i, i, dim))
        c.expect("y%d" % i, torch.gather(x, axis, index).squeeze(axis))
        c.expect("k%d" % i, index.squeeze(axis), kind="i32")
    c.write(3)
    for name, descending in (("nth_largest_element", True), ("nth_smallest_element", False)):
        c = Case("indices/" + name, name + ", counted from 0")
        for i, ((dims, dim), n) in enumerate(zip(ROWS, (0, 4, 1, 2, 0))):
            axis = names(dims).index(dim)
            x = c.input("x%d" % i, "f32", dims)
            index = sorted_index(x, axis, descending).narrow(axis, n, 1)
            c.line("y%d = %s(x%d, n=%d, dim=%s)" % (i, name, i, n, dim))
            c.expect("y%d" % i, torch.gather(x, axis, index).squeeze(axis))
        c.write(3)
        c = Case("indices/%s_types" % name, name + " of the other types, with equals")
        for kind in FLOATS[1:] + ("i32", "i64"):
            x = c.input("x_" + kind, kind, "a=2, b=5", TIES)
            index = sorted_index(x, 1, descending)[:, 1]
            c.line("y_%s = %s(x_%s, n=1, dim=b)" % (kind, name, kind))
            c.expect("y_" + kind, torch.gather(x, 1, index.unsqueeze(1)).squeeze(1), kind=kind)
        c.write(0)


def write():
    one_hots()
    gathers()
    scatters()
    sorts()
    tops()
