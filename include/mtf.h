/* The language of mtf: named dimensions, tensors, operations, programs.
 *
 * Everything belongs to a session.  The session keeps the first error; after
 * it every call is a harmless no-op (NULL in, NULL out).  So model code reads
 * as mathematics, and one function, mtf_close, reports what went wrong.
 *
 * Names follow the original Mesh TensorFlow: mtf.einsum is mtf_einsum.
 * Options are structs written as literals; a field that is zero has its default.
 */
#ifndef MTF_H
#define MTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MTF_API __attribute__((visibility("default")))
#else
#define MTF_API
#endif

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/* ---- dimensions and shapes ------------------------------------------------------------- */

/* A shape has at most MTF_MAX_DIMS dimensions.  The library's own intermediate shapes may have a few
 * more, up to MTF_SHAPE_ROOM; the names of those begin with a dot, which is reserved for them. */
enum { MTF_MAX_DIMS = 16, MTF_SHAPE_ROOM = 20 };

/* A dimension has a name and a size.  Everything in the language matches by name. */
typedef struct mtf_dim {
    const char *name;
    int64_t     size;
} mtf_dim;

/* A shape is an ordered set of dimensions with distinct names; {0} is the shape of a scalar.
 * A shape that could not be made (a duplicate name, too many dimensions) has ndims < 0; the function
 * that is given it reports the reason. */
typedef struct mtf_shape {
    int     ndims;
    mtf_dim dims[MTF_SHAPE_ROOM];
} mtf_shape;

/* mtf_shape(batch, rows, cols); mtf_shape() is the scalar shape. */
#ifdef __cplusplus
#define mtf_shape(...) mtf_shape_of_list({__VA_ARGS__})
#else
#define mtf_shape(...)                                                                             \
    mtf_shape_of((int)(sizeof((mtf_dim[]){{0, 0}, __VA_ARGS__}) / sizeof(mtf_dim)) - 1,            \
                 (const mtf_dim[]){{0, 0}, __VA_ARGS__} + 1)
#endif

MTF_API mtf_shape mtf_shape_of(int ndims, const mtf_dim *dims);

/* Writes "Shape[batch=100, hidden=1024]"; returns the length it needs, as snprintf does. */
MTF_API int mtf_shape_print(mtf_shape s, char *text, size_t room);

MTF_API int64_t   mtf_shape_size(mtf_shape s);                   /* product of the sizes  */
MTF_API bool      mtf_shape_equal(mtf_shape a, mtf_shape b);     /* order matters         */
MTF_API int       mtf_shape_find(mtf_shape s, const char *name); /* position, or -1       */
MTF_API mtf_dim   mtf_shape_dim(mtf_shape s, const char *name);  /* {0} where absent      */
MTF_API mtf_shape mtf_shape_plus(mtf_shape a, mtf_shape b);      /* a, then b's new dims  */
MTF_API mtf_shape mtf_shape_minus(mtf_shape a, mtf_shape b);     /* a without b's names   */
MTF_API mtf_shape mtf_shape_rename(mtf_shape s, const char *from, const char *to);
MTF_API mtf_shape mtf_shape_resize(mtf_shape s, const char *name, int64_t size);
MTF_API mtf_shape mtf_shape_replace(mtf_shape s, mtf_shape old_dims, mtf_shape new_dims);
MTF_API void      mtf_shape_cumprod(mtf_shape s, int64_t *products);    /* exclusive, ndims long */
MTF_API int       mtf_shape_cumprod_axis(mtf_shape s, int64_t product); /* largest axis, or -1   */
MTF_API mtf_dim mtf_combined_dimension(mtf_shape dims, const char *name); /* NULL: first's name  */

/* ---- element types --------------------------------------------------------------------- */

/* Types are never promoted implicitly.  bf16 and f16 are for storage; arithmetic on them is in f32.
 * The two f8 types are for factors of einsum: other operations only cast and move them. */
typedef enum mtf_dtype {
    MTF_F32,
    MTF_BF16,
    MTF_F16,
    MTF_F64,
    MTF_I32,
    MTF_I64,
    MTF_BOOL,   /* one byte, 0 or 1 */
    MTF_F8E4M3, /* 4 bits of exponent, 3 of mantissa: up to 448, NaN, no infinity */
    MTF_F8E5M2  /* 5 bits of exponent, 2 of mantissa: up to 57344, infinity, NaN  */
} mtf_dtype;

MTF_API size_t      mtf_dtype_bytes(mtf_dtype type);
MTF_API const char *mtf_dtype_name(mtf_dtype type);

/* ---- sessions -------------------------------------------------------------------------- */

typedef struct mtf_session mtf_session;
typedef struct mtf_graph   mtf_graph;
typedef struct mtf_tensor  mtf_tensor;
typedef struct mtf_program mtf_program;

/* Supplies memory: for programs that embed the library, limit its memory or inject faults. */
typedef struct mtf_allocator {
    void *(*alloc)(void *context, size_t bytes); /* NULL: out of memory */
    void (*release)(void *context, void *memory);
    void *context;
} mtf_allocator;

/* A layout rule as a value: {"batch", {"rows", "cols"}} is "batch:rows+cols". */
typedef struct mtf_rule {
    const char *dim;
    const char *axes[8];  /* NULL after the last */
    bool        optional; /* its dimension or axes may be missing in the model or the mesh */
    bool        firm;     /* for stored state: kept even where it raises the planned memory */
} mtf_rule;

typedef struct mtf_session_opts {
    mtf_allocator allocator;  /* default: malloc and free                                      */
    uint64_t      seed;       /* of every random number; default 0                             */
    int           threads;    /* inside a processor; default: all cores that it may use        */
    const char   *device;     /* "cpu", "cuda", or "check" (finds the first NaN); default "cpu" */
    size_t        memory;     /* most bytes a program may take; default: what the system grants */
    const char   *mesh;       /* "rows:2,cols:2": named axes of processors; default: one        */
    const char   *layout;     /* "batch:rows,hidden:cols": what is cut along which axes; "auto"  */
    mtf_shape     mesh_shape; /* the mesh as a value, where `mesh` is NULL                       */
    const mtf_rule *rules;    /* the layout as a list, its last dim NULL, where `layout` is NULL */
    /* Rules for stored state, which cut variables further between steps.  A rule that would raise the
     * planned memory of the first program compiled is ignored, unless it ends in "!". */
    const char     *state_layout;
    const mtf_rule *state_rules; /* that as a list, where `state_layout` is NULL                  */
    const char     *machine; /* what "auto" layouts are chosen for, as in mtf_layout_opts         */
    bool            measure; /* count and time every instruction, for mtf_program_measured      */
    int             patience; /* seconds that a processor waits for another; default 600        */
    bool            tf32;     /* GPUs may round factors of f32 products, convolutions to 11 bits */
    /* Receives every text that the session prints: errors at mtf_close, print ops.  Default: none. */
    void (*say)(void *context, const char *text);
    void *say_context;
} mtf_session_opts;

/* Takes --seed, --threads, --device, --memory, --mesh, --layout, --state-layout, --machine, --patience,
 * --tf32 from the arguments, leaves the others to the program (mtf_option), and prints errors on stderr.
 *
 * Started by mpirun or srun, each process is a rank with some of the mesh's processors.  Every rank
 * makes the same calls with the same values; a fetch gives each of them the whole tensor. */
MTF_API mtf_session *mtf_open(int argc, char **argv);
MTF_API mtf_session *mtf_open_with(const mtf_session_opts *opts);
MTF_API bool         mtf_ok(const mtf_session *s);
/* True in the only process, or the first of several: the one that prints and writes files. */
MTF_API bool        mtf_is_first(const mtf_session *s);
MTF_API const char *mtf_error(const mtf_session *s); /* the first error, "" where none      */
/* The value of --name VALUE or --name=VALUE, or `otherwise`.  Ask before the first step: that refuses
 * an option which the program has not asked for, and so does mtf_close; --help lists those it has. */
MTF_API const char *mtf_option(mtf_session *s, const char *name, const char *otherwise);
MTF_API int         mtf_close(mtf_session *s); /* prints the first error; 0: none     */
MTF_API const char *mtf_version(void);         /* version and what the build found    */
/* "batch:100,hidden:1024"; `,` `;` `.` and spaces all separate.  Names live in the session. */
MTF_API mtf_shape mtf_shape_parse(mtf_session *s, const char *text);

/* ---- graphs ---------------------------------------------------------------------------- */

MTF_API mtf_graph  *mtf_graph_new(mtf_session *s); /* lives as long as the session */
MTF_API void        mtf_scope_push(mtf_graph *g, const char *name); /* names become name/...  */
MTF_API void        mtf_scope_pop(mtf_graph *g);
MTF_API mtf_graph  *mtf_parse(mtf_session *s, const char *text, const char *file); /* .mtf text */
MTF_API char       *mtf_print(mtf_graph *g); /* .mtf text; lives as long as the session */
MTF_API mtf_tensor *mtf_find(mtf_graph *g, const char *name); /* by name; an error where absent */

MTF_API mtf_shape   mtf_shape_of_tensor(const mtf_tensor *x);
MTF_API mtf_dtype   mtf_dtype_of_tensor(const mtf_tensor *x);
MTF_API const char *mtf_name_of_tensor(const mtf_tensor *x);
MTF_API mtf_tensor *mtf_name(mtf_tensor *x, const char *name); /* renames x; unique in its graph */

/* ---- sources and state ----------------------------------------------------------------- */

MTF_API mtf_tensor *mtf_input(mtf_graph *g, const char *name, mtf_dtype type, mtf_shape shape);
MTF_API mtf_tensor *mtf_constant(mtf_graph *g, double value, mtf_dtype type, mtf_shape shape);
/* An i64 constant, for numbers that a double would round. */
MTF_API mtf_tensor *mtf_constant_i64(mtf_graph *g, int64_t value, mtf_shape shape);
MTF_API mtf_tensor *mtf_constant_data(mtf_graph *g, const void *data, mtf_dtype type,
                                      mtf_shape shape);
MTF_API mtf_tensor *mtf_zeros(mtf_graph *g, mtf_dtype type, mtf_shape shape);
MTF_API mtf_tensor *mtf_ones(mtf_graph *g, mtf_dtype type, mtf_shape shape);
MTF_API mtf_tensor *mtf_zeros_like(mtf_tensor *x);
MTF_API mtf_tensor *mtf_ones_like(mtf_tensor *x);
MTF_API mtf_tensor *mtf_range(mtf_graph *g, mtf_dim dim, mtf_dtype type); /* 0, 1, ..., size-1 */
/* A bool: true where the graph assigns to variables, as a training step does, and false where it
 * only computes, as for evaluation.  mtf_where(mtf_training(g), mtf_dropout(x, ...), x) draws noise
 * in training only. */
MTF_API mtf_tensor *mtf_training(mtf_graph *g);

typedef struct mtf_variable_opts {
    mtf_dtype   type; /* default f32                                                     */
    const char *init; /* "zeros", "ones", "constant(v)", "uniform(lo, hi)", "normal(mean, stddev)",
                         "truncated_normal(mean, stddev)", "orthogonal(gain)", "glorot_uniform"
                         (default), ...: docs/layers.md has all                               */
    bool        untrainable;
    const char *master;     /* "bf16", ...: its type in checkpoints; default: `type`            */
    const char *activation; /* the type of the tensor that mtf_variable returns; default: `type` */
} mtf_variable_opts;

/* The same name gives the same variable; another shape or type with that name is an error.  The
 * tensor is the variable's value at the start of a step.  Where opts->activation differs from the
 * variable's type, the tensor is a converted copy; the calls below accept it in place of the variable,
 * and mtf_variables lists the variables themselves. */
MTF_API mtf_tensor *mtf_variable(mtf_graph *g, const char *name, mtf_shape shape,
                                 const mtf_variable_opts *opts);
MTF_API int mtf_variables(mtf_graph *g, mtf_tensor **list, int room); /* trainable ones; count */
MTF_API mtf_tensor *mtf_read_variable(mtf_tensor *variable); /* after the assignments so far   */
MTF_API mtf_tensor *mtf_assign(mtf_tensor *variable, mtf_tensor *value); /* each returns the new */
MTF_API mtf_tensor *mtf_assign_add(mtf_tensor *variable, mtf_tensor *value); /* value          */
MTF_API mtf_tensor *mtf_assign_sub(mtf_tensor *variable, mtf_tensor *value);

/* ---- elementwise ----------------------------------------------------------------------- */

/* Elementwise functions.  First those for floating types. */
MTF_API mtf_tensor *mtf_exp(mtf_tensor *x);
MTF_API mtf_tensor *mtf_expm1(mtf_tensor *x);
MTF_API mtf_tensor *mtf_log(mtf_tensor *x);
MTF_API mtf_tensor *mtf_log1p(mtf_tensor *x);
MTF_API mtf_tensor *mtf_sin(mtf_tensor *x);
MTF_API mtf_tensor *mtf_cos(mtf_tensor *x);
MTF_API mtf_tensor *mtf_tanh(mtf_tensor *x);
MTF_API mtf_tensor *mtf_erf(mtf_tensor *x);
MTF_API mtf_tensor *mtf_sqrt(mtf_tensor *x);
MTF_API mtf_tensor *mtf_rsqrt(mtf_tensor *x);
MTF_API mtf_tensor *mtf_reciprocal(mtf_tensor *x);
MTF_API mtf_tensor *mtf_sigmoid(mtf_tensor *x);
MTF_API mtf_tensor *mtf_silu(mtf_tensor *x);
MTF_API mtf_tensor *mtf_swish(mtf_tensor *x);     /* another name of silu */
MTF_API mtf_tensor *mtf_gelu(mtf_tensor *x);      /* the tanh approximation, as the original */
MTF_API mtf_tensor *mtf_gelu_grad(mtf_tensor *x); /* its derivative */
MTF_API mtf_tensor *mtf_gelu_exact(mtf_tensor *x);
MTF_API mtf_tensor *mtf_elu(mtf_tensor *x);
MTF_API mtf_tensor *mtf_selu(mtf_tensor *x);
MTF_API mtf_tensor *mtf_softplus(mtf_tensor *x);
MTF_API mtf_tensor *mtf_floor(mtf_tensor *x);
MTF_API mtf_tensor *mtf_ceil(mtf_tensor *x);
MTF_API mtf_tensor *mtf_round(mtf_tensor *x); /* halves to even */
MTF_API mtf_tensor *mtf_isnan(mtf_tensor *x); /* bool */
/* These take floating and integer types. */
MTF_API mtf_tensor *mtf_negative(mtf_tensor *x);
MTF_API mtf_tensor *mtf_abs(mtf_tensor *x);
MTF_API mtf_tensor *mtf_sign(mtf_tensor *x);
MTF_API mtf_tensor *mtf_square(mtf_tensor *x);
MTF_API mtf_tensor *mtf_relu(mtf_tensor *x);
MTF_API mtf_tensor *mtf_leaky_relu(mtf_tensor *x, double alpha); /* the original's alpha: 0.2 */
MTF_API mtf_tensor *mtf_clip(mtf_tensor *x, double low, double high);
MTF_API mtf_tensor *mtf_identity(mtf_tensor *x);
MTF_API mtf_tensor *mtf_cast(mtf_tensor *x, mtf_dtype type);

/* Binary operations broadcast by name: the result has the dimensions of the operand that contains the
 * other's as a subsequence, else x's dimensions followed by those that only y has. */
MTF_API mtf_tensor *mtf_add(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_sub(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_multiply(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_divide(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_floordiv(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_mod(mtf_tensor *x, mtf_tensor *y); /* the sign of y */
MTF_API mtf_tensor *mtf_pow(mtf_tensor *x, mtf_tensor *y);
/* Random bits: number x of the stream y, integers both; the same in every step and for every seed. */
MTF_API mtf_tensor *mtf_random_bits(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_minimum(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_maximum(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_less(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_less_equal(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_greater(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_greater_equal(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_equal(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_not_equal(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_logical_and(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_logical_or(mtf_tensor *x, mtf_tensor *y);
MTF_API mtf_tensor *mtf_logical_not(mtf_tensor *x);
MTF_API mtf_tensor *mtf_where(mtf_tensor *condition, mtf_tensor *x, mtf_tensor *y);

/* The second operand is a number, converted to x's type. */
MTF_API mtf_tensor *mtf_add_scalar(mtf_tensor *x, double y);
MTF_API mtf_tensor *mtf_scale(mtf_tensor *x, double y);
MTF_API mtf_tensor *mtf_add_n(int n, mtf_tensor *const *xs);

/* ---- einsum and reductions ------------------------------------------------------------- */

/* Multiplies the inputs, then sums every dimension that `output` lacks. */
#ifdef __cplusplus
#define mtf_einsum(output, ...) mtf_einsum_list(output, {__VA_ARGS__})
#else
#define mtf_einsum(output, ...)                                                                    \
    mtf_einsum_n(output, (int)(sizeof((mtf_tensor *[]){__VA_ARGS__}) / sizeof(mtf_tensor *)),      \
                 (mtf_tensor *[]){__VA_ARGS__})
#endif
MTF_API mtf_tensor *mtf_einsum_n(mtf_shape output, int n, mtf_tensor *const *xs);
/* Sums the dimensions of `reduced`; with mtf_shape() those that occur in two inputs or more. */
MTF_API mtf_tensor *mtf_einsum_over(mtf_shape reduced, int n, mtf_tensor *const *xs);
MTF_API mtf_tensor *mtf_matmul(mtf_tensor *a, mtf_tensor *b);
/* einsum of x and y, rounded to f8e4m3 with a scale for each; in its gradient that of the result is
 * rounded to f8e5m2.  Sums are f32, the result has the type of x.                               */
MTF_API mtf_tensor *mtf_einsum_f8(mtf_shape output, mtf_tensor *x, mtf_tensor *y);

/* Einsum of x and y in which each of `rows` is multiplied with its own group's part of y, without a
 * tensor of [rows, groups].  Rows are sorted by group: `ends`, i32, has one dimension that x lacks, the
 * groups, and says where each one's rows end, as a cumulative sum; row r is in the first group g with
 * r < ends[g], rows from the last end on are in none.  Two forms:
 *
 *     x [rows, in],  y [groups, in, out]  ->  [rows, out]        0 for rows of no group
 *     x [rows, in],  y [rows, out]        ->  [groups, in, out]  0 for groups without rows
 *
 * These, with y and the result exchanged, are each other's gradients.  Further dimensions are those of
 * einsum; those of `ends` (the batch, say) have groups of their own, and `x` has them, too.  In the
 * first form a row's result depends on that row and its group's part of y only, to the last bit. */
MTF_API mtf_tensor *mtf_grouped_einsum(mtf_shape output, mtf_tensor *x, mtf_tensor *y,
                                       mtf_tensor *ends, mtf_dim rows);

/* Reduce the dimensions of `over`; MTF_ALL reduces every one.  The _to forms name what is kept,
 * in any order. Ties of max, min, argmax: the lowest index wins and receives the gradient. */
#define MTF_ALL mtf_shape()
MTF_API mtf_tensor *mtf_reduce_sum(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_mean(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_max(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_min(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_prod(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_all(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_any(mtf_tensor *x, mtf_shape over);
MTF_API mtf_tensor *mtf_reduce_sum_to(mtf_tensor *x, mtf_shape kept);
MTF_API mtf_tensor *mtf_reduce_mean_to(mtf_tensor *x, mtf_shape kept);
MTF_API mtf_tensor *mtf_reduce_max_to(mtf_tensor *x, mtf_shape kept);
MTF_API mtf_tensor *mtf_reduce_first(mtf_tensor *x, mtf_dim dim);
MTF_API mtf_tensor *mtf_argmax(mtf_tensor *x, mtf_dim dim); /* i32 */
MTF_API mtf_tensor *mtf_reduce_logsumexp(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra_logit);
MTF_API mtf_tensor *mtf_log_softmax(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra_logit);
MTF_API mtf_tensor *mtf_softmax(mtf_tensor *x, mtf_dim dim, mtf_tensor *extra_logit);

/* Attention: y = sum over the memory of softmax(scale q k + bias) v; the weights are never stored.
 * q has `key` and any others, of which `query` counts its positions; k has `memory`, `key` and any of
 * q's others, v has `memory`, `value` and any of q's others: dimensions that they lack are broadcast.
 * memory may be query: a sequence attends to itself.  A query sees a position of the memory where
 * min_relative <= write - read <= max_relative and both are in the same segment. */
typedef struct mtf_attention_op_opts {
    const char    *query;                       /* NULL: q has one position */
    const char    *memory, *key, *value;        /* value may be key */
    double         scale;                       /* default 1 */
    const int64_t *min_relative, *max_relative; /* NULL: no limit */
    mtf_tensor    *bias;                        /* any of q's dimensions but key, and memory */
    const char    *bias_memory;                 /* the bias's name for the memory; NULL: memory */
    const char    *bias_relative; /* its dimension of distances, of size query + memory - 1:
                                                     element memory - query + (size of query) - 1 */
    mtf_tensor    *read, *write;  /* i32 positions of q and k; NULL: the index */
    mtf_tensor    *query_segment, *memory_segment; /* i32; NULL: one segment */
    double         dropout;                        /* of weights */
    mtf_shape      dropout_over;                   /* dimensions that share the dropout mask */
} mtf_attention_op_opts;
/* y has q's dimensions without key, then value.  *lse, unless NULL, receives the log of the sum of
 * exponentials, in f32, or f64 for f64.  A query that sees nothing has y 0 and lse -1e30. */
MTF_API mtf_tensor *mtf_attention(mtf_tensor *q, mtf_tensor *k, mtf_tensor *v,
                                  const mtf_attention_op_opts *opts, mtf_tensor **lse);
MTF_API mtf_tensor *mtf_cumsum(mtf_tensor *x, mtf_dim dim, bool exclusive, bool reverse);

/* ---- shape and order ------------------------------------------------------------------- */

MTF_API mtf_tensor *mtf_broadcast(mtf_tensor *x, mtf_shape shape);
MTF_API mtf_tensor *mtf_transpose(mtf_tensor *x, mtf_shape shape);
MTF_API mtf_tensor *mtf_reshape(mtf_tensor *x, mtf_shape shape);
MTF_API mtf_tensor *mtf_rename_dimension(mtf_tensor *x, const char *from, const char *to);
/* Renames several at once, so that two names can be exchanged. */
MTF_API mtf_tensor *mtf_rename(mtf_tensor *x, int n, const char *const *from,
                               const char *const *to);
MTF_API mtf_tensor *mtf_replace_dimensions(mtf_tensor *x, mtf_shape old_dims, mtf_shape new_dims);

MTF_API mtf_tensor *mtf_concat(const char *dim, int n, mtf_tensor *const *xs);
MTF_API void        mtf_split(mtf_tensor *x, mtf_dim dim, int n, const int64_t *sizes /* or NULL */,
                              mtf_tensor **parts);
MTF_API mtf_tensor *mtf_stack(const char *dim, int axis, int n, mtf_tensor *const *xs);
MTF_API void        mtf_unstack(mtf_tensor *x, mtf_dim dim, mtf_tensor **parts);
MTF_API mtf_tensor *mtf_slice(mtf_tensor *x, const char *dim, int64_t begin, int64_t size,
                              int64_t step);

typedef enum mtf_pad_mode { MTF_PAD_CONSTANT, MTF_PAD_REFLECT, MTF_PAD_EDGE } mtf_pad_mode;
typedef struct mtf_pad_opts {
    int64_t      before, after;
    int64_t      between; /* elements inserted between neighbours; constant mode only */
    mtf_pad_mode mode;    /* default constant                           */
    double       value;   /* default 0                                  */
} mtf_pad_opts;
MTF_API mtf_tensor *mtf_pad(mtf_tensor *x, const char *dim, const mtf_pad_opts *opts);
MTF_API mtf_tensor *mtf_reverse(mtf_tensor *x, mtf_dim dim);
/* Moves contents to the right by offset (left where negative); fills with zeros or wraps around. */
MTF_API mtf_tensor *mtf_shift(mtf_tensor *x, int64_t offset, mtf_dim dim, bool wrap);
MTF_API mtf_tensor *mtf_dynamic_shift(mtf_tensor *x, mtf_tensor *offset, mtf_dim dim, bool wrap);
MTF_API mtf_tensor *mtf_halo_exchange(mtf_tensor *x, mtf_dim blocks, mtf_dim block_size,
                                      int64_t halo, bool wrap);
MTF_API mtf_tensor *mtf_left_halo_exchange(mtf_tensor *x, mtf_dim blocks, mtf_dim block_size,
                                           int64_t halo, bool wrap);
MTF_API mtf_tensor *mtf_pool_tensor_1d(mtf_tensor *x, mtf_dim dim, int64_t size,
                                       mtf_tensor *(*reduce)(mtf_tensor *, mtf_shape));
MTF_API mtf_tensor *mtf_stride_tensor_1d(mtf_tensor *x, mtf_dim dim, int64_t size);

/* ---- indices --------------------------------------------------------------------------- */

/* An index out of range selects nothing: one_hot gives `off`, gather zero, scatter_add ignores. */
MTF_API mtf_tensor *mtf_one_hot(mtf_tensor *indices, mtf_dim dim); /* f32, 1 and 0 */
MTF_API mtf_tensor *mtf_one_hot_as(mtf_tensor *indices, mtf_dim dim, double on, double off,
                                   mtf_dtype type);
/* y[..index dims.., ..rest..] = x[.., indices, ..]; dimensions that both have act as a batch. */
MTF_API mtf_tensor *mtf_gather(mtf_tensor *x, mtf_tensor *indices, mtf_dim dim);
/* The transpose of gather: adds the elements of x into a tensor that has `dim`, at the indices.  The
 * indices' dimensions disappear, except those in `keep`, which act as a batch. */
MTF_API mtf_tensor *mtf_scatter_add(mtf_tensor *x, mtf_tensor *indices, mtf_dim dim,
                                    mtf_shape keep);
/* x with `value` at a position along dim; a value that has dim as well starts at that position.  The
 * position may have any of x's other dimensions.  Where x is not read again, as for a decoder's cache
 * (a variable assigned the result), only the new elements are written. */
MTF_API mtf_tensor *mtf_update(mtf_tensor *x, mtf_tensor *value, mtf_tensor *position,
                               const char *dim);
MTF_API mtf_tensor *mtf_sort(mtf_tensor *x, mtf_dim dim, bool descending, mtf_tensor **indices);
MTF_API mtf_tensor *mtf_argsort(mtf_tensor *x, mtf_dim dim, bool descending);
MTF_API mtf_tensor *mtf_top_k(mtf_tensor *x, mtf_dim dim, mtf_dim k, mtf_tensor **indices);
MTF_API mtf_tensor *mtf_top_1(mtf_tensor *x, mtf_dim dim, mtf_tensor **indices);
/* The index of the largest score along dim, but only among the k most probable by these logits, and of
 * them the fewest that have a share of p of their probability.  Both are f32; k (i32) and p (f32) lack
 * dim; k = 0, p = 0 and p = 1 leave out nothing. */
MTF_API mtf_tensor *mtf_nucleus_argmax(mtf_tensor *scores, mtf_tensor *logits, mtf_tensor *k,
                                       mtf_tensor *p, mtf_dim dim);
MTF_API mtf_tensor *mtf_nth_largest_element(mtf_tensor *x, int64_t n, mtf_dim dim);
MTF_API mtf_tensor *mtf_nth_smallest_element(mtf_tensor *x, int64_t n, mtf_dim dim);

/* ---- convolution and pooling ----------------------------------------------------------- */

typedef enum mtf_padding { MTF_SAME, MTF_VALID, MTF_EXPLICIT } mtf_padding;

/* x [batch dims.., spatial dims.., channels]; filter [one per spatial dim.., channels / groups,
 * outputs].  Zero strides and dilations mean 1, zero groups 1.  groups == channels: depthwise. */
typedef struct mtf_conv_opts {
    int64_t     stride[3];
    int64_t     dilation[3];
    mtf_padding padding;             /* default SAME: output size = ceil(size / stride) */
    int64_t     before[3], after[3]; /* with MTF_EXPLICIT                               */
    int64_t     groups;
} mtf_conv_opts;

MTF_API mtf_tensor *mtf_conv1d(mtf_tensor *x, mtf_tensor *filter, const mtf_conv_opts *opts);
MTF_API mtf_tensor *mtf_conv2d(mtf_tensor *x, mtf_tensor *filter, const mtf_conv_opts *opts);
MTF_API mtf_tensor *mtf_conv3d(mtf_tensor *x, mtf_tensor *filter, const mtf_conv_opts *opts);
/* Filter [one per spatial dim.., outputs / groups, channels]: the gradient of a convolution. SAME gives
 * size * stride, VALID (size - 1) * stride + reach of the filter. */
MTF_API mtf_tensor *mtf_conv1d_transpose(mtf_tensor *x, mtf_tensor *filter,
                                         const mtf_conv_opts *opts);
MTF_API mtf_tensor *mtf_conv2d_transpose(mtf_tensor *x, mtf_tensor *filter,
                                         const mtf_conv_opts *opts);
MTF_API mtf_tensor *mtf_conv3d_transpose(mtf_tensor *x, mtf_tensor *filter,
                                         const mtf_conv_opts *opts);

typedef struct mtf_pool_opts {
    int64_t window[3];
    int64_t stride[3]; /* default: the window                             */
    bool    same;      /* padded: ceil(size / stride) windows; else only full ones */
} mtf_pool_opts;
/* Pools the `spatial` dimensions just before the last one.  An average excludes padding. */
MTF_API mtf_tensor *mtf_max_pool(mtf_tensor *x, int spatial, const mtf_pool_opts *opts);
MTF_API mtf_tensor *mtf_avg_pool(mtf_tensor *x, int spatial, const mtf_pool_opts *opts);

/* ---- random numbers -------------------------------------------------------------------- */

/* Every number is a function of (seed, op, step, global index) alone: docs/random.md. */
MTF_API mtf_tensor *mtf_random_uniform(mtf_graph *g, mtf_dtype type, mtf_shape shape, double low,
                                       double high);
MTF_API mtf_tensor *mtf_random_normal(mtf_graph *g, mtf_dtype type, mtf_shape shape, double mean,
                                      double stddev);
MTF_API mtf_tensor *mtf_truncated_normal(mtf_graph *g, mtf_dtype type, mtf_shape shape, double mean,
                                         double stddev);
MTF_API mtf_tensor *mtf_sample_with_temperature(mtf_tensor *logits, mtf_dim dim,
                                                double temperature);
MTF_API mtf_tensor *mtf_categorical(mtf_tensor *logits, mtf_dim dim); /* temperature 1 */
/* Keeps each element with probability 1 - rate and divides by it; `noise` lists the dimensions
 * along which the mask varies, mtf_shape() means all of x's. */
MTF_API mtf_tensor *mtf_dropout(mtf_tensor *x, double rate, mtf_shape noise);

/* ---- control --------------------------------------------------------------------------- */

MTF_API mtf_tensor *mtf_stop_gradient(mtf_tensor *x);
MTF_API mtf_tensor *mtf_depend(mtf_tensor *x, int n, mtf_tensor *const *after);
MTF_API mtf_tensor *mtf_print_tensor(mtf_tensor *x, const char *message); /* identity */
MTF_API mtf_tensor *mtf_scalar_summary(const char *name, mtf_tensor *x);  /* identity */

/* Builds the inside of a loop, a recomputed region or a custom gradient: reads `in`, fills `out`. */
typedef void mtf_build(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out);

/* Carried values enter the body and are replaced by its first outputs; further outputs
 * (`sums`) are summed over the iterations.  `out` receives carried, then sums. */
typedef struct mtf_loop_opts {
    int64_t    trips;     /* fixed number of iterations; gradients flow through such a loop    */
    mtf_build *condition; /* or: one bool scalar, tested before each iteration                 */
    mtf_build *body;
    void      *context;
    int        sums; /* how many outputs the body has besides the carried values          */
} mtf_loop_opts;
MTF_API void mtf_while_loop(mtf_graph *g, int carried, mtf_tensor *const *in, mtf_tensor **out,
                            const mtf_loop_opts *opts);
/* The innermost loop's iteration, counted from 0, an i32 scalar; only inside a loop. */
MTF_API mtf_tensor *mtf_iteration(mtf_graph *g);

/* Inner values are computed again in the backward pass instead of being kept. */
MTF_API void mtf_recompute(mtf_graph *g, int nin, mtf_tensor *const *in, int nout, mtf_tensor **out,
                           mtf_build *body, void *context);
/* `backward` reads the inputs, the outputs, the gradients of the outputs; it gives one gradient
 * for each input. */
MTF_API void mtf_custom_gradient(mtf_graph *g, int nin, mtf_tensor *const *in, int nout,
                                 mtf_tensor **out, mtf_build *forward, mtf_build *backward,
                                 void *context);

/* grads[i] is NULL where no y depends on xs[i]. grad_ys NULL: ones. */
MTF_API void mtf_gradients(int ny, mtf_tensor *const *ys, int nx, mtf_tensor *const *xs,
                           mtf_tensor *const *grad_ys, mtf_tensor **grads);

/* Micro-batches: wherever this graph is planned or run, the batch comes in n parts, one after the other on
 * the same processors, to save memory; 0: in as few as fit the memory.  Losses, updates and random numbers
 * are those of the whole batch, up to the rounding of sums: what the graph says does not change. */
MTF_API void mtf_microbatches(mtf_graph *g, mtf_dim batch, int64_t n);

/* ---- programs -------------------------------------------------------------------------- */

/* Compiles everything that the fetched tensors and all side effects (assignments, prints) need. */
#ifdef __cplusplus
#define mtf_compile(g, ...) mtf_compile_list(g, {__VA_ARGS__})
#else
#define mtf_compile(g, ...)                                                                        \
    mtf_compile_n(g, (int)(sizeof((mtf_tensor *[]){__VA_ARGS__}) / sizeof(mtf_tensor *)),          \
                  (mtf_tensor *[]){__VA_ARGS__})
#endif
MTF_API mtf_program *mtf_compile_n(mtf_graph *g, int n, mtf_tensor *const *fetches);
MTF_API void         mtf_program_free(mtf_program *p); /* optional; the session frees the rest */

MTF_API bool mtf_feed(mtf_program *p, mtf_tensor *input, const void *data); /* row-major, whole */
MTF_API bool mtf_step(mtf_program *p);
/* The number of the next step, counted from 0; random numbers depend on it.  Set it when resuming. */
MTF_API int64_t mtf_program_step(const mtf_program *p);
MTF_API bool    mtf_program_set_step(mtf_program *p, int64_t step);
MTF_API bool    mtf_fetch(mtf_program *p, mtf_tensor *x, void *data);
MTF_API double  mtf_fetch_scalar(mtf_program *p, mtf_tensor *x);

/* One processor's own part of a tensor: elements begin .. begin + shape's size along each
 * dimension, row-major at `data`; a part may be empty. */
typedef struct mtf_part {
    int       processor;
    mtf_shape shape;
    int64_t   begin[MTF_SHAPE_ROOM];
    void     *data;
} mtf_part;
/* Calls `fill` for the part of each processor of this process; `fill` writes its data.  So no process
 * needs to hold the whole tensor. */
MTF_API bool mtf_feed_parts(mtf_program *p, mtf_tensor                              *input,
                            void (*fill)(void *context, const mtf_part *part), void *context);
/* Visits the parts that mtf_feed_parts will ask for, with data NULL, so that they can be prepared. */
MTF_API bool mtf_input_parts(mtf_program *p, mtf_tensor                               *input,
                             void (*visit)(void *context, const mtf_part *part), void *context);
MTF_API int  mtf_program_inputs(const mtf_program *p, mtf_tensor **list, int room); /* count */
/* Feeds parts without copying them: `find` returns the address of each part, row-major, a multiple of
 * 64.  The data must stay there unchanged until the input is fed again, the program ends, or another
 * call with `find` NULL makes the input unfed. */
MTF_API bool mtf_lend_parts(mtf_program *p, mtf_tensor *input,
                            const void *(*find)(void *context, const mtf_part *part),
                            void *context);
/* Calls `visit` for each processor's part of the tensor, without gathering the whole. */
MTF_API bool mtf_fetch_parts(mtf_program *p, mtf_tensor                               *x,
                             void (*visit)(void *context, const mtf_part *part), void *context);

/* ---- layouts --------------------------------------------------------------------------- */

typedef enum mtf_objective { MTF_FASTEST, MTF_SMALLEST } mtf_objective;

typedef struct mtf_layout_opts {
    const char *mesh;   /* "rows:2,cols:4", or "auto:64": the best shape of 64 processors      */
    const char *layout; /* rules that are fixed, as in "batch:rows,auto"; default "auto"       */
    const char *state_layout; /* for stored state; "auto" finds rules that help; default: none    */
    const char *machine; /* a file that describes it, or "flops=1e12,wire=25e9"; see docs        */
    mtf_objective
           objective; /* least time or least memory                                          */
    size_t memory;    /* bytes a processor may use; default: what the machine's file says     */
    int    most_axes; /* of an "auto:" mesh; default 2                                       */
    double seconds;   /* of search at most; default 10                                       */
} mtf_layout_opts;

/* Texts live in the session. */
typedef struct mtf_layout_found {
    const char *mesh, *layout, *state_layout;
    double      seconds;                /* of a step, predicted */
    int64_t     peak_bytes, sent_bytes; /* of a processor */
    double      gap; /* no layout is better than (1 - gap) of this one; 0: optimal */
} mtf_layout_found;

/* Finds the best layouts for the program with these fetches and all side effects, best first; returns
 * how many it found, at most `room`, 0 after an error.  Axes of an "auto:" mesh are mesh_0, mesh_1, ...
 * A session whose own layout is "auto" does this when its first graph is compiled. */
MTF_API int mtf_layout_find(mtf_graph *g, int n, mtf_tensor *const *fetches,
                            const mtf_layout_opts *opts, int room, mtf_layout_found *found);

/* Variables belong to the session, by name. */
MTF_API bool mtf_variable_get(mtf_tensor *variable, void *data);
MTF_API bool mtf_variable_set(mtf_tensor *variable, const void *data);

/* What a step of the program costs on one processor; exact, and known before it runs. */
typedef struct mtf_cost {
    int64_t instructions;
    int64_t flops; /* one step; a loop of unknown length counts once     */
    int64_t bytes; /* read and written by instructions                   */
    int64_t variable_bytes, input_bytes, constant_bytes;
    int64_t peak_bytes;                /* variables and the slab together                    */
    int64_t collectives, sent_bytes;   /* to other processors of the mesh, in one step     */
    int64_t scratch_bytes, wire_bytes; /* not in the peak: work space of kernels, message buffers */
} mtf_cost;
MTF_API mtf_cost mtf_program_cost(const mtf_program *p);

/* What all processors together compute and move in a step, by name:
 *
 *     output/OP, output_unique/OP        results of an operation: counting every copy that a processor
 *                                        holds, and counting each element once
 *     einsum, einsum_unique              multiplications, counted the same way; they have no bytes
 *     conv2d/forward, conv2d/backprop_input, conv2d/backprop_filter, conv2d_unique/...
 *     allreduce/[AXES]/OP, allgather/..., alltoall/...    results of collectives, counting every copy
 *     exchange/[AXES]/OP                 what is sent to other processors, where only margins move
 *     variables/trainable, variables/untrainable
 *
 * A loop counts each of its iterations, a loop of unknown length one; identical nodes count once.
 * INT64_MAX means that number or more. */
typedef struct mtf_counter {
    const char *name;
    int64_t     elements, bytes;
} mtf_counter;
/* Sorted by name; the list lives as long as the program.  Returns how many there are. */
MTF_API int mtf_program_counters(const mtf_program *p, const mtf_counter **list);

/* What one processor did in all steps so far, counted as it ran; see mtf_session_opts.measure. */
typedef struct mtf_measured {
    int64_t        steps; /* 0: nothing ran here, or nothing is measured */
    int64_t        flops;
    int64_t        collectives;       /* how many it took part in */
    int64_t        received_bytes;    /* from other processors, by both of these ways: */
    int64_t        read_bytes;        /*   bytes read from memory that is shared with them, */
    int64_t        received_messages; /*   and bytes received in messages */
    int64_t        sent_messages;     /* bytes sent in messages */
    int64_t        peak_bytes;        /* variables and the slab together, as allocated */
    int64_t        scratch_bytes, wire_bytes; /* not in the peak, as in mtf_cost */
    int64_t        instructions;
    const int64_t *executions; /* by instruction: how often it ran */
    const double  *seconds; /* by instruction: of all runs, waiting for other processors included */
    const double  *first_seconds; /* of the first step, which touches memory for the first time */
} mtf_measured;
MTF_API mtf_measured mtf_program_measured(const mtf_program *p, int processor);
MTF_API char        *mtf_program_print(const mtf_program *p); /* lives as long as the session */

#ifdef __cplusplus
}

/* C++ has no compound literals: its versions of the macros that take lists call these. */
static inline mtf_shape mtf_shape_of_list(std::initializer_list<mtf_dim> dims)
{
    return mtf_shape_of((int)dims.size(), dims.begin());
}

static inline mtf_tensor *mtf_einsum_list(mtf_shape output, std::initializer_list<mtf_tensor *> xs)
{
    return mtf_einsum_n(output, (int)xs.size(), xs.begin());
}

static inline mtf_program *mtf_compile_list(mtf_graph                          *g,
                                            std::initializer_list<mtf_tensor *> fetches)
{
    return mtf_compile_n(g, (int)fetches.size(), fetches.begin());
}
#endif
#endif
