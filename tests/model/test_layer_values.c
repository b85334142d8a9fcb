/* Tests layers against plain loops in double, on meshes: attention without the usual products, layers in
 * parallel, memories, fixup. */
#include "graph/node.h"
#include "model/transformer/apply.h"
#include "model/transformer/layer_kind.h"
#include "taken_weights.h"

/* last */
#include "ground.h"

enum { BATCH = 2, L = 5, M = 4, D = 6, H = 2, KV = 3, FF = 4, MOST = 8, TABLE = 7, MEMBERS = 2 };

/* ---- plain loops for one sequence ---- */

typedef struct sequence {
    const taken  *w;
    const double *x, *memory; /* [L, D], [M, D] */
    const int    *place;      /* of each position in its example; a new example begins at 0 */
} sequence;

/* y [rows, out] = x [rows, in] w [in, out] */
static void times(const double *x, int rows, const double *w, int in, int out, double *y)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            y[r * out + o] = 0;
            for (int i = 0; i < in; i++) y[r * out + o] += x[r * in + i] * w[i * out + o];
        }
}

static int example_of(const sequence *s, int at)
{
    int n = 0;
    for (int i = 1; i <= at; i++) n += s->place[i] == 0;
    return n;
}

/* Turns logits of memory 0..n-1 into weights; a causal query sees its own example up to itself. */
static void soften(const sequence *s, int q, int n, bool causal, double *l)
{
    double sum = 0;
    for (int m = 0; m < n; m++) {
        bool seen = !causal || (m <= q && example_of(s, m) == example_of(s, q));
        l[m] = seen ? exp(l[m]) : 0;
        sum += l[m];
    }
    for (int m = 0; m < n; m++) l[m] /= sum;
}

static void bilinear(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    bool          across = l->kind == MTF_BILINEAR_ENC_DEC_ATTENTION;
    const double *wq = weight_of(s->w, "q/kernel"), *wy = weight_of(s->w, "y/kernel");
    const double *memory = across ? s->memory : s->x;
    int           n = across ? M : L;
    double        q[L * H * D], u[H * D];
    times(s->x, L, wq, D, H * D, q);
    for (int i = 0; i < L; i++) {
        for (int h = 0; h < H; h++) {
            double a[MOST];
            for (int m = 0; m < n; m++) {
                a[m] = 0;
                for (int d = 0; d < D; d++) a[m] += q[(i * H + h) * D + d] * memory[m * D + d];
            }
            soften(s, i, n, !across, a);
            times(a, 1, memory, n, D, u + h * D);
        }
        times(u, 1, wy, H * D, D, y + i * D);
    }
}

/* The learned logit of a synthesizer. */
static double learned(const sequence *s, mtf_synthesis mode, const double *q, int h, int i, int m)
{
    int    a = s->place[i], b = s->place[m];
    double sum = 0;
    if (mode == MTF_SYNTHESIS_FACTORIZED) {
        const double *r1 = weight_of(s->w, "R1"), *r2 = weight_of(s->w, "R2");
        for (int k = 0; k < 2; k++)
            sum += r1[(k * H + h) * TABLE + a] * r2[(k * H + h) * TABLE + b];
        return sum;
    }
    if (mode < MTF_SYNTHESIS_FACTORIZED) return weight_of(s->w, "R")[(a * H + h) * TABLE + b];
    for (int d = 0; d < KV; d++) sum += fmax(q[d], 0) * weight_of(s->w, "pi/kernel")[d * TABLE + b];
    return sum;
}

static void synthesizer(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    mtf_synthesis mode = l->synthesizer.mode;
    bool          table = mode == MTF_SYNTHESIS_RANDOM || mode == MTF_SYNTHESIS_FACTORIZED;
    bool          plus = !table && mode != MTF_SYNTHESIS_DENSE_MINUS;
    bool mixed = mode == MTF_SYNTHESIS_RANDOM_PLUS_ALPHA || mode == MTF_SYNTHESIS_DENSE_PLUS_ALPHA;
    double q[L * H * KV] = {0}, k[L * H * KV] = {0}, v[L * H * KV], u[H * KV];
    if (!table) times(s->x, L, weight_of(s->w, "q"), D, H * KV, q);
    if (plus) times(s->x, L, weight_of(s->w, "k"), D, H * KV, k);
    times(s->x, L, weight_of(s->w, plus ? "v" : "kv"), D, H * KV, v);
    double part = mixed ? 1 / (1 + exp(-weight_of(s->w, "alpha")[0])) : 1;
    for (int i = 0; i < L; i++) {
        for (int h = 0; h < H; h++) {
            double a[L];
            for (int m = 0; m < L; m++) {
                double        product = 0;
                const double *own = q + (i * H + h) * KV;
                for (int d = 0; d < KV; d++) product += own[d] * k[(m * H + h) * KV + d];
                a[m] = part * learned(s, mode, own, h, i, m);
                if (plus) a[m] += (mixed ? 1 - part : 1) * product;
            }
            soften(s, i, L, true, a);
            for (int d = 0; d < KV; d++) {
                u[h * KV + d] = 0;
                for (int m = 0; m < L; m++) u[h * KV + d] += a[m] * v[(m * H + h) * KV + d];
            }
        }
        times(u, 1, weight_of(s->w, "o"), H * KV, D, y + i * D);
    }
}

/* The results of a usual attention's heads, [L, H, KV]; `end` of the names of weights. */
static void attention(const sequence *s, const char *end, double scale, double *u)
{
    char   name[3][16];
    double q[L * H * KV], k[L * H * KV], v[L * H * KV];
    for (int n = 0; n < 3; n++) snprintf(name[n], sizeof name[n], "%c%s", "qkv"[n], end);
    times(s->x, L, weight_of(s->w, name[0]), D, H * KV, q);
    times(s->x, L, weight_of(s->w, name[1]), D, H * KV, k);
    times(s->x, L, weight_of(s->w, name[2]), D, H * KV, v);
    for (int i = 0; i < L; i++)
        for (int h = 0; h < H; h++) {
            double a[L];
            for (int m = 0; m < L; m++) {
                a[m] = 0;
                for (int d = 0; d < KV; d++)
                    a[m] += scale * q[(i * H + h) * KV + d] * k[(m * H + h) * KV + d];
            }
            soften(s, i, L, true, a);
            for (int d = 0; d < KV; d++) {
                u[(i * H + h) * KV + d] = 0;
                for (int m = 0; m < L; m++)
                    u[(i * H + h) * KV + d] += a[m] * v[(m * H + h) * KV + d];
            }
        }
}

static void feed_forward_loops(const sequence *s, const double *x, double shift, double *y)
{
    double h[FF];
    times(x, 1, weight_of(s->w, "wi/kernel"), D, FF, h);
    for (int i = 0; i < FF; i++) h[i] = fmax(h[i], 0) + shift;
    times(h, 1, weight_of(s->w, "wo/kernel"), FF, D, y);
}

static double positive_sum(const double *z)
{
    double sum = 0;
    for (int h = 0; h < H; h++) sum += fmax(z[h], 0) + 1e-4;
    return sum;
}

static void branched(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    const double *kappa = weight_of(s->w, "kappa"), *alpha = weight_of(s->w, "alpha");
    const double *o = weight_of(s->w, "o");
    double        u[L * H * KV], one[D], out[D];
    (void)l;
    attention(s, "", 1, u);
    for (int i = 0; i < L; i++) {
        for (int d = 0; d < D; d++) y[i * D + d] = 0;
        for (int h = 0; h < H; h++) {
            times(u + (i * H + h) * KV, 1, o + h * KV * D, KV, D, one);
            for (int d = 0; d < D; d++) one[d] *= fmax(kappa[h], 0) / positive_sum(kappa);
            feed_forward_loops(s, one, 0, out);
            for (int d = 0; d < D; d++)
                y[i * D + d] += out[d] * fmax(alpha[h], 0) / positive_sum(alpha);
        }
    }
}

static void fixup_attention(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    double u[L * H * KV];
    (void)l;
    attention(s, "_fixup", 1 / sqrt(KV), u);
    times(u, L, weight_of(s->w, "o_fixup"), H * KV, D, y);
}

static void fixup_dense(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    (void)l;
    for (int i = 0; i < L; i++)
        feed_forward_loops(s, s->x + i * D, weight_of(s->w, "shift")[0], y + i * D);
}

static void parallel(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    double u[L * H * KV], a[L * D];
    (void)l;
    attention(s, "", 1, u);
    times(u, L, weight_of(s->w, "o"), H * KV, D, a);
    for (int i = 0; i < L; i++) {
        feed_forward_loops(s, s->x + i * D, 0, y + i * D);
        for (int d = 0; d < D; d++) y[i * D + d] = (y[i * D + d] + a[i * D + d]) / sqrt(2);
    }
}

enum { KEYS = 4, HALF = 2, BEST = 2, READERS = 3 };

/* One head's share of the result: all pairs of half-keys are scored. */
static void read_memory(const sequence *s, const double *q, const double *keys, double *y)
{
    double        score[KEYS * KEYS], sum = 0;
    const double *values = weight_of(s->w, "values");
    int           best[BEST];
    for (int a = 0; a < KEYS; a++)
        for (int b = 0; b < KEYS; b++) {
            score[a * KEYS + b] = 0;
            for (int d = 0; d < HALF; d++)
                score[a * KEYS + b] +=
                    q[d] * keys[a * HALF + d] + q[HALF + d] * keys[(KEYS + b) * HALF + d];
        }
    for (int n = 0; n < BEST; n++) {
        best[n] = -1;
        for (int p = 0; p < KEYS * KEYS; p++)
            if ((n == 0 || p != best[0]) && (best[n] < 0 || score[p] > score[best[n]])) best[n] = p;
        sum += exp(score[best[n]]);
    }
    for (int n = 0; n < BEST; n++)
        for (int d = 0; d < D; d++) y[d] += exp(score[best[n]]) / sum * values[best[n] * D + d];
}

static void product_key(const sequence *s, const mtf_transformer_layer *l, double *y)
{
    const double *bias = weight_of(s->w, "query/bias"), *keys = weight_of(s->w, "keys");
    const double *scale = weight_of(s->w, "layer_norm_scale"),
                 *shift = weight_of(s->w, "layer_norm_bias");
    double q[L * READERS * 2 * HALF];
    (void)l;
    times(s->x, L, weight_of(s->w, "query/kernel"), D, READERS * 2 * HALF, q);
    for (int i = 0; i < L; i++) {
        for (int d = 0; d < D; d++) y[i * D + d] = 0;
        for (int h = 0; h < READERS; h++) {
            double *own = q + (i * READERS + h) * 2 * HALF;
            for (int d = 0; d < 2 * HALF; d++) own[d] += bias[h * 2 * HALF + d];
            for (int part = 0; part < 2; part++) {
                double *p = own + part * HALF, mean = (p[0] + p[1]) / 2;
                double  spread = (p[0] - mean) * (p[0] - mean) + (p[1] - mean) * (p[1] - mean);
                for (int d = 0; d < HALF; d++)
                    p[d] = (p[d] - mean) / sqrt(spread / 2 + 1e-6) * scale[d] + shift[d];
            }
            read_memory(s, own, keys + h * 2 * KEYS * HALF, y + i * D);
        }
    }
}

/* ---- cases ---- */

#define SELF                                                                                       \
    {                                                                                              \
        .heads = H, .kv = KV                                                                       \
    }
static const mtf_feed_forward_layer small_dense = {.hidden = FF};
static const mtf_transformer_layer  both[] = {
     {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = FF}},
     {.kind = MTF_SELF_ATTENTION, .attention = SELF},
     {0}};
#define SYNTHESIZER(mode_)                                                                         \
    {                                                                                              \
#mode_,                                                                                    \
            {.kind = MTF_SYNTHESIZER,                                                              \
            .synthesizer = {.mode = mode_, .length = TABLE, .factors = 2, .attention = SELF } },   \
             synthesizer                                                                           \
    }

static const struct {
    const char           *what;
    mtf_transformer_layer layer;
    void (*loops)(const sequence *s, const mtf_transformer_layer *l, double *y);
} cases[] = {
    {"bilinear", {.kind = MTF_BILINEAR_SELF_ATTENTION, .bilinear = {.heads = H}}, bilinear},
    {"bilinear to an encoder",
     {.kind = MTF_BILINEAR_ENC_DEC_ATTENTION, .bilinear = {.heads = H}},
     bilinear},
    SYNTHESIZER(MTF_SYNTHESIS_RANDOM_PLUS_ALPHA),
    SYNTHESIZER(MTF_SYNTHESIS_RANDOM_PLUS),
    SYNTHESIZER(MTF_SYNTHESIS_RANDOM),
    SYNTHESIZER(MTF_SYNTHESIS_FACTORIZED),
    SYNTHESIZER(MTF_SYNTHESIS_DENSE_PLUS_ALPHA),
    SYNTHESIZER(MTF_SYNTHESIS_DENSE_PLUS),
    SYNTHESIZER(MTF_SYNTHESIS_DENSE_MINUS),
    {"branches",
     {.kind = MTF_SELF_ATTENTION,
      .attention = {.heads = H, .kv = KV, .separate_heads = true, .branches = &small_dense}},
     branched},
    {"attention by fixup",
     {.kind = MTF_SELF_ATTENTION,
      .attention = {.heads = H, .kv = KV, .scale_queries = true, .fixup = {.layers = 8}}},
     fixup_attention},
    {"feed-forward by fixup",
     {.kind = MTF_FEED_FORWARD, .feed_forward = {.hidden = FF, .fixup = {.layers = 8}}},
     fixup_dense},
    {"in parallel", {.kind = MTF_PARALLEL, .parallel = {both}}, parallel},
    {"product keys",
     {.kind = MTF_PRODUCT_KEY_MEMORY,
      .product_key = {.key_size = 2 * HALF, .keys = KEYS, .heads = READERS, .nearest = BEST}},
     product_key},
};
enum { CASES = sizeof cases / sizeof *cases };

static const struct {
    const char *mesh, *layout;
} places[] = {{NULL, NULL},
              {"a:2,b:3", "batch:a,length:b"},
              {"a:3,b:2", "memory_length:a?,heads:b?,d_ff:b?,n_keys:b?"},
              {"a:2,b:3", "d_model:b,n_heads:a?,n_values:a?,tmp:a?"}};
enum { PLACES = sizeof places / sizeof *places };

/* ---- one layer in a graph ---- */

static mtf_transformer *model_of(mtf_session *s, const mtf_transformer_layer *l, int members)
{
    static const mtf_transformer_layer plain[] = {{.kind = MTF_FEED_FORWARD}, {0}};
    mtf_transformer_layer              layers[] = {*l, {0}};
    mtf_transformer_opts               o = {.d_model = D,
                                            .input_vocab = 8,
                                            .activation = MTF_F64,
                                            .ensemble = members,
                                            .stack = {.name = "t", .layers = layers, .blocks = 1}};
    if (l->kind == MTF_BILINEAR_ENC_DEC_ATTENTION)
        o.encoder = (mtf_stack_opts){.layers = plain, .blocks = 1};
    return mtf_transformer_new(s, &o);
}

/* Two examples in a row, or one. */
static const int packed[L] = {0, 1, 2, 0, 1}, whole[L] = {0, 1, 2, 3, 4};

static mtf_tensor *row_of(mtf_graph *g, const int32_t *values, mtf_shape all)
{
    return mtf_broadcast(mtf_constant_data(g, values, MTF_I32, mtf_shape((mtf_dim){"length", L})),
                         all);
}

static void check_rows(int k, const taken *t, const double *x, const double *memory, const int *at,
                       const double *y)
{
    for (int b = 0; b < BATCH; b++) {
        double   want[L * D];
        int      row = t->member * BATCH + b;
        sequence s = {t, x + row * L * D, memory + row * M * D, at};
        cases[k].loops(&s, &cases[k].layer, want);
        for (int i = 0; i < L * D; i++)
            if (fabs(want[i] - y[row * L * D + i]) > 1e-5 * (1 + fabs(want[i])))
                fail_msg("%s: element %d of row %d is %.9g instead of %.9g", cases[k].what, i, row,
                         y[row * L * D + i], want[i]);
    }
}

static void check_layer(int k, int place, bool pack, int members)
{
    static const int32_t segment[L] = {1, 1, 1, 2, 2};
    double               x[MEMBERS * BATCH * L * D], memory[MEMBERS * BATCH * M * D];
    double               y[MEMBERS * BATCH * L * D];
    taken                t;
    mtf_session         *s = open_as_asked(
                &(mtf_session_opts){.mesh = places[place].mesh, .layout = places[place].layout});
    mtf_transformer *m = model_of(s, &cases[k].layer, members);
    if (!m) fail_msg("%s: %s", cases[k].what, mtf_error(s));
    mtf_graph *g = mtf_graph_new(s);
    stack_call c = call_of(m, &m->decoder, CALL_EVALUATE, false);
    mtf_dim    batch = {"batch", BATCH}, length = {"length", L}, given = {"memory_length", M};
    c.graph = g, c.outside = "", c.length = length, c.memory = given;
    c.batch = mtf_shape_plus(m->ensemble, mtf_shape(batch));
    if (pack) {
        c.position = row_of(g, packed, mtf_shape(batch, length));
        c.segment = c.own = row_of(g, segment, mtf_shape(batch, length));
    }
    mtf_shape   all = call_shape(&c, mtf_shape(m->d_model));
    mtf_tensor *in = mtf_input(g, "x", MTF_F64, all);
    c.encoded =
        mtf_input(g, "memory", MTF_F64, mtf_shape_plus(c.batch, mtf_shape(given, m->d_model)));
    const mtf_transformer_layer *l = &m->decoder.layers[0];
    mtf_tensor                  *out = mtf_transpose(layer_kind_of(l->kind)->apply(&c, l, in), all);
    mtf_program                 *p = mtf_compile(g, out);
    if (!p) fail_msg("%s: %s", cases[k].what, mtf_error(s));
    take_weights(g, members, &t);
    stir_weights(&t, 0.9);
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = cos((double)i * 1.3);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) memory[i] = sin((double)i * 2.1);
    mtf_feed(p, in, x);
    if (l->kind == MTF_BILINEAR_ENC_DEC_ATTENTION) mtf_feed(p, c.encoded, memory);
    mtf_step(p);
    if (!mtf_fetch(p, out, y)) fail_msg("%s: %s", cases[k].what, mtf_error(s));
    for (t.member = 0; t.member < members; t.member++)
        check_rows(k, &t, x, memory, pack ? packed : whole, y);
    free_weights(&t);
    close_well(s);
}

static void test_values(void **state)
{
    (void)state;
    for (int k = 0; k < CASES; k++) {
        bool to_encoder = cases[k].layer.kind == MTF_BILINEAR_ENC_DEC_ATTENTION;
        check_layer(k, 0, !to_encoder, 1);
        check_layer(k, 1 + k % (PLACES - 1), false, MEMBERS);
        check_layer(k, 1 + (k + 1) % (PLACES - 1), !to_encoder, 1);
    }
}

/* ---- fixup's initial weights ---- */

static void test_fixup_starts(void **state)
{
    static const char *const kinds[] = {"uniform", "truncated_normal", "untruncated_normal"};
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        enum { WIDE = 32 };
        mtf_transformer_layer layers[] = {
            {.kind = MTF_SELF_ATTENTION,
             .attention = {.heads = 4,
                           .kv = WIDE,
                           .scale_queries = true,
                           .fixup = {.layers = 8, .distribution = kinds[kind]}}},
            {.kind = MTF_FEED_FORWARD,
             .feed_forward = {.hidden = 4 * WIDE,
                              .fixup = {.layers = 8, .distribution = kinds[kind]}}},
            {0}};
        mtf_session     *s = mtf_open_with(&(mtf_session_opts){.seed = 3});
        mtf_transformer *m = mtf_transformer_new(
            s, &(mtf_transformer_opts){.d_model = WIDE,
                                       .input_vocab = 8,
                                       .activation = MTF_F64,
                                       .stack = {.layers = layers, .blocks = 1}});
        mtf_graph  *g = mtf_graph_new(s);
        mtf_tensor *ids = mtf_ones(g, MTF_I32, mtf_shape((mtf_dim){"length", 2}));
        mtf_tensor *y =
            mtf_transformer_apply(m, &(mtf_transformer_batch){.targets = ids}, NULL).logits;
        mtf_program *p = mtf_compile(g, y);
        taken        t;
        assert_non_null(p);
        mtf_step(p);
        take_weights(g, 1, &t);
        /* glorot: layers^(-1/3) / mean of fans; he: 2 / layers / terms */
        double      want[] = {0.5 / ((WIDE + 4 * WIDE) / 2.0), 2.0 / 8 / WIDE, 0, 0};
        const char *names[] = {"q_fixup", "wi/kernel", "o_fixup", "wo/kernel"};
        for (int k = 0; k < 4; k++) {
            const double *w = weight_of(&t, names[k]);
            double        sum = 0;
            for (int i = 0; i < 4 * WIDE * WIDE; i++) sum += w[i] * w[i];
            double got = sum / (4 * WIDE * WIDE);
            if (fabs(got - want[k]) > 0.08 * want[k])
                fail_msg("%s, %s: the variance is %g instead of %g", kinds[kind], names[k], got,
                         want[k]);
        }
        free_weights(&t);
        close_well(s);
    }
}

/* ---- refusals ---- */

static void refuse(mtf_transformer_layer l, const char *piece)
{
    mtf_session *s = mtf_open_with(NULL);
    assert_null(model_of(s, &l, 1));
    assert_contains(mtf_error(s), piece);
    mtf_close(s);
}

static void test_refusals(void **state)
{
    static const mtf_transformer_layer experts[] = {{.kind = MTF_MOE}, {0}};
    static const mtf_transparent       modules = {1, 1, 1, 1, 0};
    mtf_transformer_layer              l = {.kind = MTF_SYNTHESIZER};
    (void)state;
    l.synthesizer.attention.memory_heads = 1;
    refuse(l, "Synthesizer: a synthesizer has as many heads of keys as of queries");
    l = (mtf_transformer_layer){.kind = MTF_PARALLEL, .parallel = {experts}};
    refuse(l, "ParallelLayer: MoE1D has a loss besides its result");
    l = (mtf_transformer_layer){.kind = MTF_PRODUCT_KEY_MEMORY, .product_key = {3, 4, 1, 2}};
    refuse(l, "ProductKeyValueMemory: keys of size 3");
    l = (mtf_transformer_layer){.kind = MTF_PRODUCT_KEY_MEMORY, .product_key = {4, 4, 1, 5}};
    refuse(l, "5 nearest of 4 half-keys");
    l = (mtf_transformer_layer){.kind = MTF_SELF_ATTENTION,
                                .attention = {.branches = &small_dense}};
    refuse(l, "BranchedSelfAttention: branches need separate_heads");
    l.attention = (mtf_attention_layer){.fixup = {.layers = 2}};
    refuse(l, "SelfAttentionFixup: fixup needs scale_queries");
    l.attention.scale_queries = true, l.attention.fixup.init = "lecun";
    refuse(l, "fixup starts from \"glorot\" or \"he\", not \"lecun\"");
    l.attention = (mtf_attention_layer){.transparent = &modules};
    refuse(l, "transparent attention is to an encoder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_fixup_starts),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
