/* Convolutions as users write them: SAME, VALID, transposed. */
#include <stdio.h>
#include <string.h>

#include "base/whole.h"
#include "ops/call.h"
#include "ops/catalogue.h"

/* Strides, dilations and paddings with all defaults resolved. */
typedef struct spelled {
    int64_t stride[3], dilation[3], before[3], after[3];
    int64_t groups;
} spelled;

static int64_t or_one(int64_t v)
{
    return v ? v : 1;
}

/* TensorFlow's rule: the odd element of padding goes after. */
static void pad_same(spelled *s, int i, int64_t in, int64_t out, int64_t reach)
{
    int64_t total = (out - 1) * s->stride[i] + reach - in;
    if (total < 0) total = 0;
    s->before[i] = total / 2;
    s->after[i] = total - s->before[i];
}

static bool spell(mtf_tensor *x, mtf_tensor *filter, int ns, bool transpose,
                  const mtf_conv_opts *given, const char *name, spelled *s, int64_t sizes[3])
{
    mtf_conv_opts o = given ? *given : (mtf_conv_opts){0};
    fault        *f = &graph_of(x)->session->fault;
    if (x->shape.ndims < ns + 1 || filter->shape.ndims != ns + 2)
        return fail(f, ERR_SHAPE,
                    "%s: \"%s\" must be [batch.., %d spatial, channels] and the filter \"%s\" [%d "
                    "taps, channels, outputs]",
                    name, tensor_name(x), ns, tensor_name(filter), ns);
    *s = (spelled){.groups = or_one(o.groups)};
    for (int i = 0; i < ns; i++) {
        int64_t n = x->shape.dims[x->shape.ndims - ns - 1 + i].size;
        s->stride[i] = or_one(o.stride[i]);
        s->dilation[i] = or_one(o.dilation[i]);
        if (s->stride[i] < 1 || s->dilation[i] < 1 || s->stride[i] > 1 << 20 ||
            s->dilation[i] > 1 << 20)
            return fail(f, ERR_SHAPE, "%s: strides and dilations are 1 to %d", name, 1 << 20);
        int64_t reach = (filter->shape.dims[i].size - 1) * s->dilation[i] + 1;
        if (o.padding == MTF_EXPLICIT) s->before[i] = o.before[i], s->after[i] = o.after[i];
        if (transpose) {
            sizes[i] = o.padding == MTF_SAME
                           ? n * s->stride[i]
                           : (n - 1) * s->stride[i] + reach - s->before[i] - s->after[i];
            if (o.padding == MTF_SAME) pad_same(s, i, sizes[i], n, reach);
        } else if (o.padding == MTF_SAME) {
            pad_same(s, i, n, ceil_div(n, s->stride[i]), reach);
        }
    }
    return true;
}

static void to_attrs(const spelled *s, int ns, const mtf_shape *shape, attr attrs[6])
{
    attrs[0].ints = (attr_ints){ns, s->stride};
    attrs[1].ints = (attr_ints){ns, s->dilation};
    attrs[2].ints = (attr_ints){ns, s->before};
    attrs[3].ints = (attr_ints){ns, s->after};
    attrs[4].i = s->groups;
    attrs[5].shape = shape;
}

static mtf_tensor *convolve(mtf_tensor *x, mtf_tensor *filter, int ns, const mtf_conv_opts *opts,
                            const char *name)
{
    spelled s = {0};
    int64_t unused[3];
    attr    attrs[6];
    if (!graph_of(x) || !filter || !spell(x, filter, ns, false, opts, name, &s, unused))
        return NULL;
    to_attrs(&s, ns, NULL, attrs);
    return node_binary(&op_conv, x, filter, attrs);
}

/* x plays the role of the convolution's output, the result that of its input. */
static mtf_tensor *convolve_back(mtf_tensor *x, mtf_tensor *filter, int ns,
                                 const mtf_conv_opts *opts, const char *name)
{
    spelled s = {0};
    int64_t sizes[3] = {0};
    attr    attrs[6];
    if (!graph_of(x) || !filter || !spell(x, filter, ns, true, opts, name, &s, sizes)) return NULL;
    mtf_shape out = x->shape;
    for (int i = 0; i < ns; i++) out.dims[out.ndims - ns - 1 + i].size = sizes[i];
    mtf_dim outputs = filter->shape.dims[ns];
    outputs.size *= s.groups;
    out.dims[out.ndims - 1] = outputs;
    out = shape_of(out.ndims, out.dims);
    to_attrs(&s, ns, &out, attrs);
    return node_binary(&op_conv_input, x, filter, attrs);
}

static bool need_each(const op_call *c, const attr_spec *spec, int64_t first, int ns)
{
    char list[100] = "";
    for (int i = 0, at = 0; i < ns; i++)
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%lld", i ? ", " : "",
                       (long long)first);
    return fail(&c->graph->session->fault, ERR_SHAPE,
                "%s: %s needs a number for each of %d dimensions: write %s=(%s)", c->op->name,
                spec->name, ns, spec->name, list);
}

/* In C, 0 stands for the default of 1; who writes it in a file means something else. */
static bool options(const op_call *c, int ns, mtf_conv_opts *o)
{
    fault                   *f = &c->graph->session->fault;
    static const char *const words[] = {
        [MTF_SAME] = "same", [MTF_VALID] = "valid", [MTF_EXPLICIT] = "explicit"};
    *o = (mtf_conv_opts){.groups = c->attrs[5].i};
    int64_t  *to[4] = {o->stride, o->dilation, o->before, o->after};
    const int from[4] = {0, 1, 3, 4};
    for (int k = 0; k < 4; k++) {
        attr_ints given = c->attrs[from[k]].ints;
        if (given.n && given.n != ns) return need_each(c, &c->op->attrs[from[k]], given.v[0], ns);
        for (int i = 0; i < given.n; i++) {
            if (k < 2 && given.v[i] == 0)
                return fail(f, ERR_SHAPE, "%s: %s has a 0; its numbers are 1 or more", c->op->name,
                            c->op->attrs[from[k]].name);
            to[k][i] = given.v[i];
        }
    }
    if (o->groups == 0)
        return fail(f, ERR_SHAPE, "%s: groups is 0; it must be 1 or more", c->op->name);
    for (int p = MTF_SAME; p <= MTF_EXPLICIT; p++)
        if (strcmp(words[p], c->attrs[2].text) == 0) {
            o->padding = (mtf_padding)p;
            return true;
        }
    return fail(f, ERR_USAGE, "%s: padding is same, valid or explicit, not \"%s\"", c->op->name,
                c->attrs[2].text);
}

static const attr_spec form_attrs[] = {
    {"stride", ATTR_INTS, "()", "one per spatial dimension; default 1"},
    {"dilation", ATTR_INTS, "()", "distance of taps; default 1"},
    {"padding", ATTR_WORD, "same", "same, valid or explicit"},
    {"before", ATTR_INTS, "()", "zeros before, with padding=explicit"},
    {"after", ATTR_INTS, "()", "zeros after, with padding=explicit"},
    {"groups", ATTR_INT, "1",
     "channels are split into groups that do not mix; as many as channels: depthwise"},
    {0},
};

#define FORM(NAME, NS, BUILD, SAYS)                                                                \
    mtf_tensor *mtf_##NAME(mtf_tensor *x, mtf_tensor *filter, const mtf_conv_opts *opts)           \
    {                                                                                              \
        return BUILD(x, filter, NS, opts, #NAME);                                                  \
    }                                                                                              \
    static void expand_##NAME(op_call *c)                                                          \
    {                                                                                              \
        mtf_conv_opts o;                                                                           \
        if (options(c, NS, &o)) c->out[0] = mtf_##NAME(c->in[0], c->in[1], &o);                    \
    }                                                                                              \
    const op op_##NAME = {.name = #NAME,                                                           \
                          .says = SAYS,                                                            \
                          .args = "x, filter",                                                     \
                          .attrs = form_attrs,                                                     \
                          .expand = expand_##NAME};
FORM(conv1d, 1, convolve,
     "convolution of x [batch.., w, channels] with a filter [fw, channels / groups, outputs]")
FORM(
    conv2d, 2, convolve,
    "convolution of x [batch.., h, w, channels] with a filter [fh, fw, channels / groups, outputs]")
FORM(conv3d, 3, convolve,
     "convolution of x [batch.., d, h, w, channels] with a filter [fd, fh, fw, channels / groups, "
     "outputs]")
FORM(conv1d_transpose, 1, convolve_back,
     "transposed convolution; filter [fw, outputs / groups, channels]; same: size * stride")
FORM(conv2d_transpose, 2, convolve_back,
     "transposed convolution; filter [fh, fw, outputs / groups, channels]; same: size * stride")
FORM(conv3d_transpose, 3, convolve_back,
     "transposed convolution; filter [fd, fh, fw, outputs / groups, channels]; same: size * stride")
