/* Vocabularies in plain loops and in double, from their definitions. */
#include "vocab_reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- weights ---- */

static const double *find(const weights *w, const char *name)
{
    return weight_of(&w->t, name);
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Row r of a table, or of the product of two. */
static void row_of(const weights *w, const char *name, int inner, int r, double *to)
{
    char one[80], two[80];
    if (inner == 0) {
        memcpy(to, find(w, name) + r * D, sizeof *to * D);
        return;
    }
    snprintf(one, sizeof one, "%s1", name);
    snprintf(two, sizeof two, "%s2", name);
    const double *a = find(w, one) + r * inner, *b = find(w, two);
    for (int d = 0; d < D; d++) {
        to[d] = 0;
        for (int i = 0; i < inner; i++) to[d] += a[i] * b[i * D + d];
    }
}

/* Products of x with rows of a table. */
static void scores(const weights *w, const char *name, int inner, int rows, const double *x,
                   double *to)
{
    double scale = w->of->scaled && inner == 0 ? 1 : 1 / sqrt(D);
    for (int r = 0; r < rows; r++) {
        double row[D];
        row_of(w, name, inner, r, row);
        to[r] = scale * dot(row, x, D);
    }
}

static double log_sum(const double *l, int n)
{
    double most = l[0], sum = 0;
    for (int i = 1; i < n; i++) most = fmax(most, l[i]);
    for (int i = 0; i < n; i++) sum += exp(l[i] - most);
    return most + log(sum);
}

/* ---- clusters ---- */

typedef struct cluster {
    char   name[40];
    int    begin, tokens, inner;
    double length;
} cluster;

static int clusters_of(const weights *w, cluster *to)
{
    const mtf_vocab_cluster *c = w->of->o.clusters;
    int                      n = 0, begin = 0;
    for (; c[n].tokens; n++) {
        to[n] = (cluster){.begin = begin,
                          .tokens = (int)c[n].tokens,
                          .inner = c[n].inner == D ? 0 : (int)c[n].inner,
                          .length = c[n].length > 0 ? c[n].length : 1};
        snprintf(to[n].name, sizeof to[n].name, "embedding_%d", n);
        begin += to[n].tokens;
    }
    to[n - 1].tokens += PADDED - begin;
    return n;
}

static int cluster_of(const cluster *c, int n, int id)
{
    int k = n - 1;
    while (id < c[k].begin) k--;
    return k;
}

static void cluster_logits(const weights *w, const double *x, double *to)
{
    cluster c[8];
    int     n = clusters_of(w, c);
    for (int k = 0; k < n; k++) scores(w, c[k].name, c[k].inner, c[k].tokens, x, to + c[k].begin);
}

static void adaptive_logits(const weights *w, const double *x, double *to)
{
    cluster c[8];
    double  head[PADDED + 8];
    int     n = clusters_of(w, c), rows = c[0].tokens + n - 1;
    scores(w, c[0].name, c[0].inner, rows, x, head);
    double all = log_sum(head, rows);
    for (int i = 0; i < c[0].tokens; i++) to[i] = head[i] - all;
    for (int k = 1; k < n; k++) {
        double *own = to + c[k].begin;
        scores(w, c[k].name, c[k].inner, c[k].tokens, x, own);
        double sum = log_sum(own, c[k].tokens);
        for (int i = 0; i < c[k].tokens; i++) own[i] += head[c[0].tokens + k - 1] - all - sum;
    }
}

/* ---- mixtures ---- */

/* tanh(x matrix + bias) of one component; the bias may be NULL. */
static void context(const double *x, const double *matrix, const double *bias, double *to)
{
    for (int d = 0; d < D; d++) {
        double sum = bias ? bias[d] : 0;
        for (int i = 0; i < D; i++) sum += x[i] * matrix[i * D + d];
        to[d] = tanh(sum);
    }
}

static void softmaxes_logits(const weights *w, const double *x, double *to)
{
    const double *table = find(w, "embedding_embedding_weights");
    const double *shares = find(w, "embedding_mixture_weights");
    const double *matrices = find(w, "embedding_context_weights");
    int           n = (int)w->of->o.softmaxes;
    double        share[8], h[D], c[D], l[PADDED], p[PADDED] = {0};
    for (int d = 0; d < D; d++) h[d] = x[d] / sqrt(D);
    for (int k = 0; k < n; k++) share[k] = dot(shares + k * D, h, D);
    double all = log_sum(share, n);
    for (int k = 0; k < n; k++) {
        context(h, matrices + k * D * D, NULL, c);
        for (int v = 0; v < PADDED; v++) l[v] = dot(table + v * D, c, D);
        double sum = log_sum(l, PADDED);
        for (int v = 0; v < PADDED; v++) p[v] += exp(share[k] - all + l[v] - sum);
    }
    for (int v = 0; v < PADDED; v++) to[v] = log(p[v]);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The place of a token among gates: the last few come first. */
static int gate_of(const weights *w, int v)
{
    int last = (int)w->of->o.last_frequent;
    return v >= VOCAB ? v : v >= VOCAB - last ? v - (VOCAB - last) : v + last;
}

static void mixtape_logits(const weights *w, const double *x, double *to)
{
    const mtf_vocab_opts *o = &w->of->o;
    const double         *table = find(w, "embedding_embedding_weights");
    const double         *matrices = find(w, "embedding_context_weights");
    const double         *biases = find(w, "embedding_context_weights_bias");
    const double         *prior = find(w, "embedding_prior_weights");
    const double         *prior_bias = find(w, "embedding_prior_weights_bias");
    const double         *of = find(w, "embedding_prior_vocab_vector");
    const double         *shared = find(w, "embedding_prior_gates_vector");
    const double         *bias = find(w, "embedding_prior_bias");
    int                   size = (int)o->gate_size, frequent = (int)(o->frequent * PADDED);
    double                h[D], c[4][D];
    for (int d = 0; d < D; d++) h[d] = x[d] / sqrt(D);
    for (int g = 0; g < 4; g++) context(h, matrices + g * D * D, biases + g * D, c[g]);
    for (int v = 0; v < PADDED; v++) {
        int    at = gate_of(w, v);
        double y[3];
        for (int j = 0; j < 3; j++) {
            double z = dot(shared + j * D, h, D) + (at < frequent ? bias[at * 3 + j] : 0);
            for (int i = 0; i < size && at < frequent; i++)
                z += of[at * size + i] *
                     tanh(dot(prior + (j * size + i) * D, h, D) + prior_bias[j * size + i]);
            y[j] = sigmoid(z);
        }
        double share[4] = {y[0] * y[1], y[0] * (1 - y[1]), (1 - y[0]) * y[2],
                           (1 - y[0]) * (1 - y[2])};
        to[v] = 0;
        for (int g = 0; g < 4; g++) to[v] += share[g] * dot(table + v * D, c[g], D);
    }
}

/* ---- all kinds ---- */

void reference_embed(const weights *w, int id, double *x)
{
    const mtf_vocab_opts *o = &w->of->o;
    cluster               c[8];
    if (o->kind == MTF_VOCAB_SOFTMAXES || o->kind == MTF_VOCAB_MIXTAPE) {
        row_of(w, "embedding_embedding_weights", 0, id, x);
    } else if (o->clusters) {
        int k = cluster_of(c, clusters_of(w, c), id);
        row_of(w, c[k].name, c[k].inner, id - c[k].begin, x);
        if (w->of->scaled && c[k].inner == 0)
            for (int d = 0; d < D; d++) x[d] *= sqrt(D);
    } else {
        row_of(w, "embedding", (int)o->inner, id, x);
        if (w->of->scaled)
            for (int d = 0; d < D; d++) x[d] *= sqrt(D);
    }
}

void reference_logits(const weights *w, const double *x, double *to)
{
    switch (w->of->o.kind) {
    case MTF_VOCAB_CLUSTERS: cluster_logits(w, x, to); break;
    case MTF_VOCAB_ADAPTIVE_SOFTMAX: adaptive_logits(w, x, to); break;
    case MTF_VOCAB_SOFTMAXES: softmaxes_logits(w, x, to); break;
    case MTF_VOCAB_MIXTAPE: mixtape_logits(w, x, to); break;
    default: scores(w, "embedding", (int)w->of->o.inner, PADDED, x, to);
    }
}

static double cross_entropy(const weights *w, const double *l, int n, int target)
{
    double all = log_sum(l, n);
    return all - l[target] + w->of->z_loss * all * all;
}

/* Only the first few tokens of a sequence that are in a cluster have a loss of its softmax. */
static double adaptive_loss(const weights *w, int length, const double *x, const int32_t *targets)
{
    cluster c[8];
    int     n = clusters_of(w, c), seen[8] = {0};
    double  sum = 0, l[PADDED + 8];
    for (int i = 0; i < length; i++) {
        if (targets[i] <= 0) continue;
        int k = cluster_of(c, n, targets[i]);
        scores(w, c[0].name, c[0].inner, c[0].tokens + n - 1, x + i * D, l);
        sum += cross_entropy(w, l, c[0].tokens + n - 1, k == 0 ? targets[i] : c[0].tokens + k - 1);
        if (k == 0 || seen[k]++ >= (int)ceil(c[k].length * length)) continue;
        scores(w, c[k].name, c[k].inner, c[k].tokens, x + i * D, l);
        sum += cross_entropy(w, l, c[k].tokens, targets[i] - c[k].begin);
    }
    return sum;
}

double reference_loss(const weights *w, int length, const double *x, const int32_t *targets)
{
    double sum = 0, l[PADDED];
    if (w->of->o.kind == MTF_VOCAB_ADAPTIVE_SOFTMAX) return adaptive_loss(w, length, x, targets);
    for (int i = 0; i < length; i++) {
        if (targets[i] <= 0) continue;
        reference_logits(w, x + i * D, l);
        sum += cross_entropy(w, l, PADDED, targets[i]);
    }
    return sum;
}
