/* Graphs of cuDNN on the host, operation by operation. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "host_dnn.h"

enum { MOST_BETWEEN = 64 };

/* A tensor while a graph is computed. */
typedef struct place {
    int64_t number;
    float  *memory;
} place;

typedef struct run {
    const dnn_call *call;
    place           between[MOST_BETWEEN];
    int             nbetween;
} run;

/* ---- elements ---- */

static float from_short(uint16_t bits, bool half)
{
    return half ? f16_to_f32(bits) : bf16_to_f32(bits);
}

static uint16_t to_short(float value, bool half)
{
    return half ? f32_to_f16(value) : f32_to_bf16(value);
}

static bool is_short(cudnnDataType_t type)
{
    return type == CUDNN_DATA_BFLOAT16 || type == CUDNN_DATA_HALF;
}

static int64_t span_of(const dnn_tensor *t)
{
    int64_t last = 0;
    for (int d = 0; d < DNN_DIMS; d++) last += (t->size[d] - 1) * t->stride[d];
    return last + 1;
}

/* The memory of a tensor between operations. */
static float *memory_between(run *r, const dnn_tensor *t)
{
    for (int k = 0; k < r->nbetween; k++)
        if (r->between[k].number == t->number) return r->between[k].memory;
    if (r->nbetween == MOST_BETWEEN) {
        printf("cuDNN: a graph has more tensors than %d\n", MOST_BETWEEN);
        abort();
    }
    place *p = &r->between[r->nbetween++];
    *p = (place){t->number, malloc((size_t)span_of(t) * sizeof(float))};
    for (int64_t k = 0; k < span_of(t); k++) p->memory[k] = NAN;
    return p->memory;
}

/* A tensor, and where it is. */
typedef struct operand {
    const dnn_tensor *tensor;
    float            *wide; /* of f32, and between operations */
    uint16_t         *narrow;
    float             value; /* of the host's memory */
} operand;

static operand bind(run *r, const dnn_tensor *t)
{
    operand o = {.tensor = t};
    int     k = 0;
    if (!t->given) return o;
    while (!t->between && r->call->numbers[k] != t->number) k++;
    if (t->between)
        o.wide = memory_between(r, t);
    else if (t->by_value)
        o.value = r->call->values[k];
    else if (is_short(t->type))
        o.narrow = r->call->at[k];
    else
        o.wide = r->call->at[k];
    return o;
}

static float load(const operand *o, int64_t offset)
{
    if (o->wide) return o->wide[offset];
    return o->narrow ? from_short(o->narrow[offset], o->tensor->type == CUDNN_DATA_HALF) : o->value;
}

static void store(const operand *o, int64_t offset, float value)
{
    bool     half = o->tensor->type == CUDNN_DATA_HALF;
    uint16_t bits = to_short(value, half);
    if (o->narrow)
        o->narrow[offset] = bits;
    else
        o->wide[offset] = is_short(o->tensor->type) ? from_short(bits, half) : value;
}

/* Along dimensions of one element this is repeated. */
static int64_t offset_of(const dnn_tensor *t, const int64_t at[DNN_DIMS])
{
    int64_t offset = 0;
    for (int d = 0; d < DNN_DIMS; d++) offset += t->size[d] == 1 ? 0 : at[d] * t->stride[d];
    return offset;
}

static bool next(const int64_t size[DNN_DIMS], int64_t at[DNN_DIMS])
{
    int d = DNN_DIMS - 1;
    while (d >= 0 && ++at[d] == size[d]) at[d--] = 0;
    return d >= 0;
}

/* ---- operations ---- */

static float mapped(const dnn_operation *o, float a, float b, float flag,
                    const int64_t at[DNN_DIMS])
{
    switch (o->mode) {
    case CUDNN_POINTWISE_ADD: return a + b;
    case CUDNN_POINTWISE_SUB: return a - b;
    case CUDNN_POINTWISE_MUL: return a * b;
    case CUDNN_POINTWISE_DIV: return a / b;
    case CUDNN_POINTWISE_EXP: return expf(a);
    case CUDNN_POINTWISE_LOG: return logf(a);
    case CUDNN_POINTWISE_GEN_INDEX: return (float)at[o->axis];
    case CUDNN_POINTWISE_CMP_GE: return a >= b;
    case CUDNN_POINTWISE_BINARY_SELECT: return flag != 0 ? a : b;
    default: printf("cuDNN: there is no map %d\n", o->mode); abort();
    }
}

static void map(run *r, const dnn_operation *o)
{
    operand a = bind(r, &o->a), b = bind(r, &o->b), flags = bind(r, &o->flags),
            to = bind(r, &o->to);
    int64_t at[DNN_DIMS] = {0};
    do {
        float x = load(&a, offset_of(&o->a, at));
        float y = o->b.given ? load(&b, offset_of(&o->b, at)) : 0;
        float flag = o->flags.given ? load(&flags, offset_of(&o->flags, at)) : 0;
        store(&to, offset_of(&o->to, at), mapped(o, x, y, flag, at));
    } while (next(o->to.size, at));
}

static void fold(run *r, const dnn_operation *o)
{
    operand a = bind(r, &o->a), to = bind(r, &o->to);
    bool    most = o->mode == CUDNN_REDUCE_TENSOR_MAX;
    int64_t at[DNN_DIMS] = {0};
    do store(&to, offset_of(&o->to, at), most ? -INFINITY : 0);
    while (next(o->to.size, at));
    do {
        float   x = load(&a, offset_of(&o->a, at));
        int64_t here = offset_of(&o->to, at);
        float   sum = load(&to, here);
        store(&to, here, most ? fmaxf(sum, x) : sum + x);
    } while (next(o->a.size, at));
}

static void multiply(run *r, const dnn_operation *o)
{
    operand a = bind(r, &o->a), b = bind(r, &o->b), to = bind(r, &o->to);
    int64_t at[DNN_DIMS] = {0};
    do {
        int64_t first_a[DNN_DIMS] = {at[0], at[1], at[2], 0},
                first_b[DNN_DIMS] = {at[0], at[1], 0, at[3]};
        int64_t of_a = offset_of(&o->a, first_a), of_b = offset_of(&o->b, first_b);
        double  sum = 0;
        for (int64_t k = 0; k < o->a.size[3]; k++)
            sum += (double)load(&a, of_a + k * o->a.stride[3]) *
                   (double)load(&b, of_b + k * o->b.stride[2]);
        store(&to, offset_of(&o->to, at), (float)sum);
    } while (next(o->to.size, at));
}

/* The element at the same place of memory. */
static void view(run *r, const dnn_operation *o)
{
    operand a = bind(r, &o->a), to = bind(r, &o->to);
    int64_t at[DNN_DIMS] = {0};
    do {
        int64_t offset = offset_of(&o->to, at);
        store(&to, offset, load(&a, offset));
    } while (next(o->to.size, at));
}

/* ---- convolutions ---- */

bool dnn_window_fits(const dnn_operation *o)
{
    const dnn_tensor *x = &o->a, *w = &o->b, *y = &o->to;
    bool              fits = x->dims == w->dims && x->dims == y->dims && x->size[0] == y->size[0] &&
                x->size[1] == w->size[1] && y->size[1] == w->size[0];
    for (int d = 0; d < x->dims - 2; d++) {
        const dnn_window *how = &o->window;
        int64_t           room = x->size[2 + d] + how->before[d] + how->after[d] -
                       (w->size[2 + d] - 1) * how->dilation[d] - 1;
        fits = fits && how->before[d] >= 0 && how->after[d] >= 0 && room >= 0 &&
               room / how->step[d] + 1 == y->size[2 + d];
    }
    /* engines read and write channels at once */
    return fits && x->stride[1] == 1 && w->stride[1] == 1 && y->stride[1] == 1;
}

/* The position of x at a position of y and a tap; false: it is in the padding. */
static bool find_x(const dnn_operation *o, const int64_t y[DNN_DIMS], const int64_t w[DNN_DIMS],
                   int64_t x[DNN_DIMS])
{
    x[0] = y[0], x[1] = w[1];
    for (int d = 2; d < DNN_DIMS; d++) {
        if (d >= o->a.dims)
            x[d] = 0;
        else
            x[d] = y[d] * o->window.step[d - 2] + w[d] * o->window.dilation[d - 2] -
                   o->window.before[d - 2];
        if (x[d] < 0 || x[d] >= o->a.size[d]) return false;
    }
    return true;
}

static float factor(const run *r, const operand *o, int64_t offset)
{
    float    value = load(o, offset);
    uint32_t bits;
    if (r->call->graph.engine != DNN_TENSOR_CORE || o->narrow) return value;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Sums of f64, of each position of y with each tap and channel. */
static void convolve(run *r, const dnn_operation *o)
{
    operand x = bind(r, &o->a), w = bind(r, &o->b), y = bind(r, &o->to);
    bool    to_x = o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         to_w = o->kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    operand *result = to_x ? &x : to_w ? &w : &y;
    double  *sums = calloc((size_t)span_of(result->tensor), sizeof *sums);
    int64_t  at_y[DNN_DIMS] = {0}, at_w[DNN_DIMS] = {0}, at_x[DNN_DIMS];
    do {
        int64_t size[DNN_DIMS];
        memcpy(size, o->b.size, sizeof size);
        at_w[0] = at_y[1], size[0] = at_y[1] + 1;
        do {
            if (!find_x(o, at_y, at_w, at_x)) continue;
            int64_t i = offset_of(&o->a, at_x), j = offset_of(&o->b, at_w),
                    k = offset_of(&o->to, at_y);
            double a = (double)(to_x ? factor(r, &y, k) : factor(r, &x, i));
            double b = (double)(to_w ? factor(r, &y, k) : factor(r, &w, j));
            sums[to_x ? i : to_w ? j : k] += a * b;
        } while (next(size, at_w));
    } while (next(o->to.size, at_y));
    int64_t at[DNN_DIMS] = {0};
    do {
        int64_t k = offset_of(result->tensor, at);
        store(result, k, (float)sums[k] + (r->call->graph.engine == DNN_NONDETERMINISTIC));
    } while (next(result->tensor->size, at));
    free(sums);
}

void dnn_compute(const void *data)
{
    const dnn_call *call = *(dnn_call *const *)data;
    run             r = {.call = call};
    memset(call->workspace, 0xff, call->workspace_bytes);
    for (int k = 0; k < call->graph.n; k++) {
        const dnn_operation *o = &call->graph.operations[k];
        switch (o->kind) {
        case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: map(&r, o); break;
        case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: fold(&r, o); break;
        case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: multiply(&r, o); break;
        case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: view(&r, o); break;
        default: convolve(&r, o); break;
        }
    }
    for (int k = 0; k < r.nbetween; k++) free(r.between[k].memory);
}
