/* Instructions: loop nests over strided accesses.
 *
 * An instruction names its operands as accesses: a buffer, an offset and one
 * stride per loop, all in elements.  A stride of zero repeats the element
 * (broadcast) or, in an output, accumulates in it (reduction).  Names are
 * resolved at lowering; kernels see only numbers.
 */
#ifndef PROGRAM_INSTR_H
#define PROGRAM_INSTR_H

#include "base/dtype.h"
#include "space/mesh.h"

enum { MAX_LOOPS = 20, MAX_SPATIAL = 3 };
enum { MAX_NESTING = 64 }; /* loops around an instruction */

typedef enum instr_kind {
#define INSTR(kind, name, says) INSTR_##kind,
#include "program/instrs.h"
#undef INSTR
    INSTR_KINDS
} instr_kind;

typedef struct access {
    int       buffer;
    mtf_dtype type;
    int64_t   offset;
    int64_t   stride[MAX_LOOPS];
} access;

/* ---- map ---- */

typedef enum scalar_fn {
    FN_IMMEDIATE, /* the number `value`                                  */
    FN_INDEX,     /* the position along loop `a`, plus `value`           */
    FN_CAST,      /* register a of type `from` converted to `type`       */
    FN_SELECT,    /* a (bool) ? b : c                                    */
    FN_ROW_SUM,   /* register a folded along the row: one value per row  */
    FN_ROW_MAX,
    FN_ROW_MIN,
#define REAL1(name, ...) FN_##name,
#define ANY1(name, ...) FN_##name,
#define TEST1(name, ...) FN_##name,
#define LOGIC1(name, ...) FN_##name,
#define REAL2(name, ...) FN_##name,
#define ANY2(name, ...) FN_##name,
#define COMPARE(name, ...) FN_##name,
#define LOGIC2(name, ...) FN_##name,
#include "program/scalars.h"
#undef REAL1
#undef ANY1
#undef TEST1
#undef LOGIC1
#undef REAL2
#undef ANY2
#undef COMPARE
#undef LOGIC2
    SCALAR_FNS
} scalar_fn;

/* One step of a map's expression.  Registers 0 .. nin-1 are the inputs, widened to their compute
 * type; step s writes register nin + s.  `type` is the compute type of the operands (F32, F64, I32,
 * I64, BOOL); comparisons and tests yield BOOL, FN_CAST yields `type` from `from`. */
typedef struct scalar_step {
    scalar_fn fn;
    mtf_dtype type, from;
    int       a, b, c;
    scalar    value; /* of `type` */
} scalar_step;

enum { MAX_REGISTERS = 128 };

typedef struct map_args {
    int                nsteps;
    const scalar_step *steps;
    const int         *results; /* the register that each output stores, rounded to its type */
    int                nrow;    /* the last `nrow` loops are the row of FN_ROW_*; 0: none */
    uint32_t           sums; /* bit o: output o is the sum over all rows of its column's elements */
} map_args;

/* ---- the others ---- */

typedef enum fold_kind {
    FOLD_SUM,
    FOLD_MAX,
    FOLD_MIN,
    FOLD_PROD,
    FOLD_ARGMAX,
    FOLD_ARGMIN
} fold_kind;
typedef struct fold_args {
    fold_kind kind;  /* MAX, MIN on BOOL are any and all; a NaN is the MAX and MIN; ARG*: out is
                      * I32, the position in the row-major order of the reduced loops, the lowest of
                      * equal ones, the first NaN if any */
    int       nkept; /* loops 0 .. nkept-1 are kept, the others reduced; none reduced is a copy */
} fold_args;

/* Loops: batch loops, then m, n, k as the last three.  out = c, in = a, b.  F32, F64, BF16: one of
 * a's strides along m, k is 1 (or its loop has size 1), likewise b along k, n and c along m, n.
 * Integers: any strides.  All operands have one type, except that c may be F32 for BF16.  Where the
 * device can, a and b may also be F8, of either type, and c F32 or BF16: see abilities.h.
 *
 * Floats may have an epilogue, without batch loops of more than one iteration, except where c is added
 * to itself:
 *
 *     v = sum of products + in[add] + in[bias]
 *     out[kept] = v
 *     out[0] = v, activation(v), or v * activation(in[at])
 *     out[total] = the sums of c, a or b along one of their loops
 *
 * v is f32, or f64; it is rounded once, or more often on a device that has no such product.  in[add],
 * in[at] and out[kept] lie as c does and have its type.  in[bias] has c's type and one element for each
 * index of the loop along which c's elements are adjacent, as has a total of c; a total of a (of b) has
 * one for each index of m (of n), and is a sum over k. */
typedef enum total_of { TOTAL_OF_C, TOTAL_OF_A, TOTAL_OF_B } total_of;
typedef struct contract_args {
    int       add, bias, at; /* numbers of inputs; 0: none */
    int       kept, total;   /* numbers of outputs; 0: none */
    total_of  total_of;
    scalar_fn activation; /* FN_IMMEDIATE: none; with `at`: FN_gelu_grad */
} contract_args;

/* Products whose rows are in groups: in = a, b, ends (I32).  Loops: batch loops, then row, n, k as the
 * last three.  Row r of the whole tensor is in the first group g with r < ends[g], if there is one.
 *
 *     c[.., row, n] = sum over k of a[.., row, k] * b[.., g, n, k], 0 for rows of no group here
 *
 * or, where it `sums`, with batch loops along which c has stride 0 summed, too,
 *
 *     c[.., g, n, k] = sum over the rows of g of a[.., row, k] * b[.., row, n]
 *
 * Floats: a and b have one type, c the same or that of their sums.  A row's result depends on that row
 * and its group's factor only, to the last bit. */
typedef struct grouped_args {
    bool    sums;
    int64_t first_row;            /* the number of the first row in the whole tensor */
    int64_t groups, group_stride; /* of b, or of c where it sums */
    int64_t first_group;          /* the number of its first group; */
    int64_t ends_stride;          /* ends of all groups up to the last one here are read */
    int64_t all_groups;           /* of the whole tensor: how many the rows share, for prices */
} grouped_args;

typedef struct gather_args {
    int     nindex; /* the index depends on loops 0 .. nindex-1, the data on all */
    int64_t along,
        along_stride; /* size and stride of the indexed dimension in the table or output */
    bool set;         /* SCATTER: store instead of add */
} gather_args;        /* GATHER: in = table, index; SCATTER: in = data, index */

typedef struct scan_args {
    int64_t along, in_stride, out_stride; /* loops run over the other dimensions */
    bool    exclusive, reverse;
} scan_args;

typedef struct order_args {
    int64_t along, in_stride;           /* loops run over the other dimensions */
    int64_t k;                          /* the number of results; k = along: a full sort */
    int64_t value_stride, index_stride; /* out = values, then I32 indices */
    bool    descending;                 /* NaN is the largest; of equals, lowest index first */
} order_args;

/* Inputs: scores and logits, F32, along the same dimension, then k, I32, and p, F32. */
typedef struct nucleus_args {
    int64_t along, score_stride, logit_stride; /* loops run over the other dimensions */
} nucleus_args;
enum { NUCLEUS_FLOPS = 16 }; /* for each element */

typedef enum window_kind { WINDOW_FORWARD, WINDOW_INPUT, WINDOW_FILTER } window_kind;
/* y[b, o.., g*outs+n] = sum over taps t.., c of x[b, o*step + t*dilation - before, g*chans+c]
 *                                             * w[t.., c, g*outs+n]
 * FORWARD computes y from (x, w), INPUT x from (y, w), FILTER w from (x, y): out = the computed one.
 * Loops run over the batch dimensions. FILTER sums over them: its out has stride 0 there.  All operands
 * have one type; where the device can, out may be F32 for short floats: see abilities.h. */
typedef struct window_args {
    window_kind kind;
    int         nspatial;
    int64_t     in_size[MAX_SPATIAL], out_size[MAX_SPATIAL], taps[MAX_SPATIAL];
    int64_t     step[MAX_SPATIAL], dilation[MAX_SPATIAL], before[MAX_SPATIAL];
    int64_t     groups, chans, outs;            /* channels and outputs in one group */
    int64_t     x_spatial[MAX_SPATIAL], x_chan; /* strides */
    int64_t     w_tap[MAX_SPATIAL], w_chan, w_out;
    int64_t     y_spatial[MAX_SPATIAL], y_out;
    bool        library; /* the device's library may compute it: plan/transpose_filters.c */
} window_args;

/* The inputs of attention.  LSE, DY, DELTA, Y: the gradient only. */
typedef enum attention_operand {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_LSE,
    ATTENTION_DY,
    ATTENTION_DELTA, /* sum of dy y, minus the gradient of lse */
    ATTENTION_BIAS,
    ATTENTION_READ, /* positions of queries and of the memory; absent: their index */
    ATTENTION_WRITE,
    ATTENTION_QUERY_SEGMENT,
    ATTENTION_MEMORY_SEGMENT,
    ATTENTION_Y, /* what attention gave; then delta is the sum of dy y */
    ATTENTION_OPERANDS
} attention_operand;

/* Loops run over the rows: all dimensions of q but key.  A row i sees the positions m of the memory
 * with min <= write[m] - read[i] <= max and equal segments.  For these,
 *
 *     s[i, m] = scale * sum of q[i] k[m] + bias[i, m],  p = exp(s - lse) times the dropout factor
 *     y[i] = sum of p v[m], lse[i] = log of the sum of exp(s)
 *
 * out = y, lse; with `parts`: sum of exp(s - max) v, sum of exp(s - max), max.  A row that sees
 * nothing has y 0, and lse or max NOTHING_SEEN.  The gradient: out = dq, dk, dv and, if there is a
 * bias, its gradient; dk, dv and the bias's are sums over loops along which they have stride 0.
 * Elements of q, k along key and of v, y, dy along value are adjacent, as are those of gradients.
 */
typedef struct attention_args {
    int      at[ATTENTION_OPERANDS];   /* the number of the input; -1: absent */
    int64_t  step[ATTENTION_OPERANDS]; /* from one position of the memory to the next */
    int64_t  out_step[4];
    int64_t  memory, key, value;        /* sizes */
    int      query;                     /* the loop over positions; -1: one position */
    int64_t  first_query, first_memory; /* index of the first one in the whole tensor */
    int64_t  min, max;
    double   scale;
    bool     parts;
    bool     relative; /* the bias is indexed by distance: few elements, each read many times */
    double   dropout;  /* rate; 0: none */
    uint32_t stream;
    int      first_iteration; /* from here on the inputs are iteration numbers, as for a draw */
    int64_t  first, weight[MAX_LOOPS], memory_weight; /* global index of a pair, as for a draw */
    int64_t  part;                                    /* as for a draw */
} attention_args;
#define NOTHING_SEEN (-1e30)

typedef enum draw_kind { DRAW_UNIFORM, DRAW_NORMAL, DRAW_TRUNCATED_NORMAL } draw_kind;
typedef struct draw_args {
    draw_kind kind;
    double    a, b; /* low and high, or mean and stddev */
    uint32_t  key;
    int64_t   first;             /* global index of the first element */
    int64_t   weight[MAX_LOOPS]; /* what a step along a loop adds to the global index */
    int64_t   part; /* what 1 more in the last input adds to it; 0: that input is like the others */
} draw_args;        /* in: iteration numbers of the enclosing loops, I32 scalars, outermost first */

typedef struct reduce_args {
    fold_kind kind; /* SUM, MAX, MIN */
    unsigned  axes; /* the group: processors that differ along these axes only */
} reduce_args;      /* in and out are dense, with the same local shape in the whole group */

/* A reduction of which each member of the group keeps its part along the outermost dimension.  in:
 * dense, with that dimension cut by `from`; out: dense, cut by `to`, which is `from` and the
 * group's axes. */
typedef struct scatter_args {
    fold_kind kind;
    axis_list from, to;
    int64_t   size; /* of the whole dimension */
    int64_t   row;  /* elements for each index of the dimension */
} scatter_args;

/* What processor p keeps, in elements of its input. */
span     scatter_kept(const mesh *m, const scatter_args *how, const mesh_point *p);
unsigned scatter_axes(const scatter_args *how); /* the axes of the group */

/* What a processor needs of a dimension whose result, of size `size`, is cut by `cut`: for its part
 * [b, e) of the result the elements floor((mult*b + low) / div) .. floor((mult*(e-1) + high) /
 * div), as far as they exist. */
typedef struct span_map {
    axis_list cut;
    int64_t   size;
    int64_t   mult, low, high, div; /* mult -1: counted from the end */
} span_map;

/* in: this processor's part under `from`, dense; out: its part under `to`, dense. */
typedef struct exchange_args {
    mtf_shape shape; /* of the whole tensor */
    placement from, to;
    unsigned  mapped; /* bit d: map[d] says what is needed of dimension d, not `to` */
    span_map  map[MTF_SHAPE_ROOM];
} exchange_args;

typedef struct loop_args {
    int64_t trips; /* LOOP: -1 if a TEST decides */
    int     other; /* LOOP, TEST: index of the AGAIN; AGAIN: index of the LOOP */
} loop_args;

typedef struct say_args {
    const char *message;
    bool        summary; /* prints a scalar summary called `message` */
} say_args;

typedef struct instr {
    instr_kind        kind;
    int               nout, nin;
    access           *out, *in;
    int               nloops;
    int64_t           size[MAX_LOOPS];
    const mtf_tensor *cause;  /* the tensor it computes, for messages */
    int64_t           flops;  /* of one execution; INT64_MAX: that or more */
    bool              remade; /* computes a value again, to save memory in between */
    union {
        map_args              map;
        fold_args             fold;
        contract_args         contract;
        grouped_args          grouped;
        gather_args           gather; /* GATHER, SCATTER */
        scan_args             scan;
        order_args            order;
        nucleus_args          nucleus;
        window_args           window;
        const attention_args *attention; /* ATTENTION, ATTENTION_GRAD */
        draw_args             draw;
        reduce_args           reduce;
        scatter_args          reduce_scatter;
        const exchange_args  *exchange;
        loop_args             loop; /* LOOP, TEST, AGAIN */
        say_args              say;
    };
} instr;

/* Flops per element: of the generator's rounds; of a heap with k elements. */
static inline int64_t draw_flops(draw_kind kind)
{
    return kind == DRAW_UNIFORM ? 12 : 40;
}

static inline int64_t order_depth(int64_t k)
{
    int64_t depth = 1;
    while ((int64_t)1 << depth < k) depth++;
    return depth;
}

const char *instr_name(instr_kind kind);
bool        instr_is_collective(const instr *i); /* between processors */
bool        instr_is_control(const instr *i);    /* LOOP, TEST, AGAIN: has loop_args */
bool        instr_reads(const instr *i, int b);  /* buffer b */
bool        instr_writes(const instr *i, int b);
int         instr_input_of(const instr *i, int b); /* the first that is buffer b; -1: none */
bool        access_same(const access *a, const access *b, int nloops);
int64_t     instr_elements(const instr *i);             /* product of the loop sizes */
double      instr_flops(const instr *i);                /* `flops`, also if they saturate */
int64_t     instr_bytes(const instr *i);                /* distinct bytes read and written */
int64_t     instr_operand_bytes(const instr *i, int k); /* of one operand, outputs first */

#endif
