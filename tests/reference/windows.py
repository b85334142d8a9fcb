"""Convolutions and their transposes."""

import torch.nn.functional as F

from common import FLOATS, TYPES, Case, names, sizes

CONV = (None, F.conv1d, F.conv2d, F.conv3d)
CONV_TRANSPOSE = (None, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)


def same_padding(n, taps, stride, dilation):
    total = max((-(-n // stride) - 1) * stride + (taps - 1) * dilation + 1 - n, 0)
    return total // 2, total - total // 2


def pads(padding, space, taps, stride, dilation, before, after):
    if padding == "same":
        return [same_padding(*p) for p in zip(space, taps, stride, dilation)]
    return list(zip(before, after)) if padding == "explicit" else [(0, 0)] * len(space)


def channels_first(x, n):
    """[batch.., space.., channels] as [batch, channels, space..]."""
    batch = x.shape[: x.dim() - n - 1]
    return x.reshape([-1] + list(x.shape[len(batch) :])).movedim(-1, 1), list(batch)


def conv(x, w, n, stride, dilation, padding, before, after, groups):
    y, batch = channels_first(x, n)
    amounts = pads(padding, list(y.shape[2:]), w.shape[:n], stride, dilation, before, after)
    y = F.pad(y, [p for pair in reversed(amounts) for p in pair])
    y = CONV[n](y, w.movedim((-1, -2), (0, 1)), stride=stride, dilation=dilation, groups=groups)
    return y.movedim(1, -1).reshape(batch + list(y.shape[2:]) + [w.shape[-1]])


def conv_transpose(x, w, n, stride, dilation, padding, before, after, groups):
    y, batch = channels_first(x, n)
    space = list(y.shape[2:])
    y = CONV_TRANSPOSE[n](
        y, w.movedim((-1, -2), (0, 1)), stride=stride, dilation=dilation, groups=groups
    )
    for a in range(n):
        first, size = 0, y.shape[2 + a]
        if padding == "same":
            size = space[a] * stride[a]
            first = same_padding(size, w.shape[a], stride[a], dilation[a])[0]
        elif padding == "explicit":
            first, size = before[a], size - before[a] - after[a]
        short = max(first + size - y.shape[2 + a], 0)  # strides beyond the filter leave zeros
        y = F.pad(y, [0, 0] * (n - 1 - a) + [0, short]).narrow(2 + a, first, size)
    return y.movedim(1, -1).reshape(batch + list(y.shape[2:]) + [y.shape[1]])


def listed(name, values, default):
    return (
        ""
        if values == [default] * len(values)
        else ", %s=(%s)" % (name, ", ".join(map(str, values)))
    )


def conv_case(
    path,
    says,
    x_dims,
    w_dims,
    transposed=False,
    stride=None,
    dilation=None,
    padding="same",
    before=None,
    after=None,
    groups=1,
    kind="f32",
    gradient=3,
):
    n = len(sizes(w_dims)) - 2
    stride, dilation = stride or [1] * n, dilation or [1] * n
    before, after = before or [0] * n, after or [0] * n
    name = "conv%dd%s" % (n, "_transpose" if transposed else "")
    c = Case("conv/" + path, says)
    x, w = c.input("x", kind, x_dims, low=-2, high=2), c.input("w", kind, w_dims, low=-2, high=2)
    text = listed("stride", stride, 1) + listed("dilation", dilation, 1)
    text += ", padding=" + padding if padding != "same" else ""
    text += listed("before", before, 0) + listed("after", after, 0)
    text += ", groups=%d" % groups if groups != 1 else ""
    c.line("y = %s(x, w%s)" % (name, text))
    if kind not in FLOATS:  # small whole numbers are exact in double
        x, w = x.double(), w.double()
    f = conv_transpose if transposed else conv
    y = f(x, w, n, stride, dilation, padding, before, after, groups)
    out = names(x_dims)[:-1]
    (
        c.expect("y", y, kind=kind)
        if groups > 1 and transposed
        else c.expect(
            "y",
            y,
            ", ".join(
                "%s=%d" % p for p in zip(out + [names(w_dims)[-2 if transposed else -1]], y.shape)
            ),
            kind,
        )
    )
    c.write(gradient)


def convolutions():
    conv_case("conv1d", "SAME, odd filter", "n=2, w=5, c=2", "fw=3, c=2, o=3")
    conv_case(
        "conv1d_even", "SAME, even filter: one more zero after", "n=1, w=5, c=1", "fw=4, c=1, o=2"
    )
    conv_case("conv1d_valid", "VALID", "n=2, w=7, c=2", "fw=3, c=2, o=2", padding="valid")
    conv_case(
        "conv1d_stride",
        "SAME with a stride: the size is rounded up",
        "n=2, w=7, c=2",
        "fw=3, c=2, o=2",
        stride=[2],
    )
    conv_case(
        "conv1d_stride3",
        "SAME with a stride beyond the filter",
        "n=1, w=7, c=2",
        "fw=2, c=2, o=2",
        stride=[3],
    )
    conv_case(
        "conv1d_valid_stride",
        "VALID with a stride that leaves a rest",
        "n=1, w=8, c=1",
        "fw=3, c=1, o=2",
        stride=[3],
        padding="valid",
    )
    conv_case("conv1d_dilation", "dilation", "n=1, w=7, c=2", "fw=3, c=2, o=2", dilation=[2])
    conv_case(
        "conv1d_explicit",
        "explicit padding, uneven",
        "n=1, w=5, c=2",
        "fw=3, c=2, o=2",
        padding="explicit",
        before=[2],
        after=[1],
    )
    conv_case(
        "conv1d_everything",
        "stride, dilation, groups and explicit padding at once",
        "n=1, w=7, c=4",
        "fw=2, c_in=2, o=6",
        stride=[2],
        dilation=[3],
        padding="explicit",
        before=[1],
        after=[3],
        groups=2,
    )
    conv_case("conv1d_one", "everything of size 1", "n=1, w=1, c=1", "fw=1, c=1, o=1")
    conv_case("conv1d_no_batch", "no batch dimension", "w=5, c=2", "fw=3, c=2, o=2")
    conv_case("conv1d_batches", "two batch dimensions", "m=2, n=2, w=3, c=2", "fw=2, c=2, o=2")
    conv_case(
        "conv1d_depthwise",
        "one filter for each channel",
        "n=2, w=5, c=3",
        "fw=3, one=1, o=3",
        groups=3,
    )
    conv_case("conv2d", "SAME", "n=2, h=3, w=5, c=1", "fh=3, fw=2, c=1, o=2")
    conv_case(
        "conv2d_valid",
        "VALID with strides",
        "n=1, h=5, w=5, c=2",
        "fh=3, fw=2, c=2, o=2",
        stride=[1, 2],
        padding="valid",
    )
    conv_case(
        "conv2d_stride",
        "SAME with different strides",
        "n=1, h=5, w=4, c=2",
        "fh=3, fw=3, c=2, o=2",
        stride=[2, 3],
    )
    conv_case(
        "conv2d_dilation",
        "different dilations",
        "n=1, h=5, w=5, c=1",
        "fh=2, fw=3, c=1, o=2",
        dilation=[3, 2],
    )
    conv_case(
        "conv2d_explicit",
        "explicit padding",
        "n=1, h=3, w=3, c=2",
        "fh=2, fw=3, c=2, o=1",
        padding="explicit",
        before=[1, 0],
        after=[0, 2],
    )
    conv_case(
        "conv2d_groups", "two groups", "n=1, h=3, w=3, c=4", "fh=2, fw=2, c_in=2, o=4", groups=2
    )
    conv_case(
        "conv2d_depthwise",
        "each channel by itself, twice",
        "n=1, h=3, w=3, c=3",
        "fh=2, fw=2, one=1, o=6",
        groups=3,
    )
    conv_case("conv2d_point", "a 1 x 1 filter", "n=2, h=3, w=2, c=3", "fh=1, fw=1, c=3, o=2")
    conv_case("conv3d", "SAME", "n=1, d=2, h=3, w=3, c=2", "fd=2, fh=2, fw=3, c=2, o=1")
    conv_case(
        "conv3d_valid",
        "VALID with strides and dilation",
        "n=1, d=3, h=5, w=3, c=1",
        "fd=2, fh=2, fw=1, c=1, o=2",
        stride=[1, 2, 2],
        dilation=[1, 2, 1],
        padding="valid",
    )
    conv_case(
        "conv3d_one",
        "everything of size 1",
        "n=1, d=1, h=1, w=1, c=1",
        "fd=1, fh=1, fw=1, c=1, o=1",
    )
    conv_case(
        "conv3d_stride",
        "SAME with strides",
        "n=1, d=3, h=4, w=3, c=1",
        "fd=3, fh=2, fw=2, c=1, o=2",
        stride=[2, 3, 2],
    )
    for kind in TYPES[1:]:
        conv_case(
            "conv1d_" + kind,
            "a convolution of " + kind,
            "n=1, w=5, c=2",
            "fw=3, c=2, o=2",
            kind=kind,
            gradient=0,
        )
        conv_case(
            "conv2d_" + kind,
            "a convolution of " + kind,
            "n=1, h=3, w=4, c=2",
            "fh=2, fw=3, c=2, o=2",
            kind=kind,
            gradient=0,
        )
        conv_case(
            "conv3d_" + kind,
            "a convolution of " + kind,
            "d=2, h=2, w=3, c=2",
            "fd=2, fh=2, fw=2, c=2, o=2",
            kind=kind,
            gradient=0,
        )


def transposed():
    def case(path, says, x, w, **more):
        conv_case(path, says, x, w, transposed=True, **more)

    case("conv1d_transpose", "SAME: the same size", "n=2, w=5, c=2", "fw=3, o=3, c=2")
    case(
        "conv1d_transpose_stride",
        "SAME: size times stride",
        "n=1, w=3, c=2",
        "fw=3, o=2, c=2",
        stride=[2],
    )
    case(
        "conv1d_transpose_gaps",
        "SAME: a stride beyond the filter leaves zeros",
        "n=1, w=3, c=2",
        "fw=2, o=2, c=2",
        stride=[3],
    )
    case(
        "conv1d_transpose_valid",
        "VALID with stride and dilation",
        "n=1, w=3, c=2",
        "fw=3, o=2, c=2",
        stride=[2],
        dilation=[2],
        padding="valid",
    )
    case(
        "conv1d_transpose_explicit",
        "explicit cropping",
        "n=1, w=4, c=1",
        "fw=3, o=2, c=1",
        stride=[2],
        padding="explicit",
        before=[1],
        after=[2],
    )
    case("conv1d_transpose_groups", "two groups", "n=1, w=3, c=4", "fw=2, o=3, c=4", groups=2)
    case("conv1d_transpose_one", "everything of size 1", "n=1, w=1, c=1", "fw=1, o=1, c=1")
    case("conv2d_transpose", "SAME", "n=2, h=3, w=2, c=2", "fh=3, fw=2, o=2, c=2")
    case(
        "conv2d_transpose_stride",
        "SAME with different strides",
        "n=1, h=3, w=2, c=2",
        "fh=3, fw=4, o=1, c=2",
        stride=[2, 3],
    )
    case(
        "conv2d_transpose_valid",
        "VALID",
        "n=1, h=2, w=3, c=1",
        "fh=2, fw=3, o=2, c=1",
        stride=[1, 2],
        padding="valid",
    )
    case("conv3d_transpose", "SAME", "n=1, d=2, h=2, w=3, c=1", "fd=2, fh=3, fw=2, o=2, c=1")
    case(
        "conv3d_transpose_stride",
        "SAME with strides",
        "n=1, d=1, h=2, w=2, c=2",
        "fd=2, fh=3, fw=1, o=1, c=2",
        stride=[2, 2, 1],
    )
    case(
        "conv3d_transpose_valid",
        "VALID",
        "n=1, d=2, h=2, w=2, c=1",
        "fd=2, fh=2, fw=2, o=1, c=1",
        stride=[2, 1, 1],
        padding="valid",
    )
    for kind in TYPES[1:]:
        case(
            "conv1d_transpose_" + kind,
            "of " + kind,
            "n=1, w=3, c=2",
            "fw=3, o=2, c=2",
            stride=[2],
            kind=kind,
            gradient=0,
        )
        case(
            "conv2d_transpose_" + kind,
            "of " + kind,
            "n=1, h=2, w=3, c=1",
            "fh=2, fw=2, o=2, c=1",
            kind=kind,
            gradient=0,
        )
        case(
            "conv3d_transpose_" + kind,
            "of " + kind,
            "n=1, d=1, h=2, w=2, c=1",
            "fd=1, fh=2, fw=2, o=2, c=1",
            kind=kind,
            gradient=0,
        )


def write():
    convolutions()
    transposed()
