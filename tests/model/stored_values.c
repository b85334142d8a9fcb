/* Values of models that references store, by the names of variables. */
#include "stored_values.h"

#include "graph/node.h"

#include "ground.h"

enum { ELEMENTS = 4096, NAME = 200 };

/* ---- variables ---- */

/* From -0.5 to 0.5, by name and index. */
static double noise(const char *name, uint32_t i)
{
    uint32_t h = 2166136261u;
    for (const char *c = name; *c; c++) h = (h ^ (unsigned char)*c) * 16777619u;
    h ^= i * 0x9E3779B1u;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13)) * 0xC2B2AE35u;
    h ^= h >> 16;
    return h / 4294967296.0 - 0.5;
}

static void set_variable(mtf_tensor *v)
{
    static const char *const positive[] = {"scale", "rezero_weight", "hybrid_attention_mix"};
    const char              *name = tensor_name(v), *slash = strrchr(name, '/');
    float                    x[ELEMENTS];
    int64_t                  n = mtf_shape_size(mtf_shape_of_tensor(v));
    bool                     scale = false;
    assert_true(n <= ELEMENTS);
    for (int k = 0; k < 3; k++) scale = scale || strcmp(slash + 1, positive[k]) == 0;
    for (int64_t i = 0; i < n; i++) {
        double u = noise(name, (uint32_t)i);
        x[i] = (float)(scale ? 0.75 + 0.5 * u : 1.2 * u);
    }
    assert_true(mtf_variable_set(v, x));
}

void set_variables(const mtf_graph *g)
{
    for (int i = 0; i < g->root.nnodes; i++) {
        const node *n = g->root.nodes[i];
        if (strcmp(n->op->name, "variable") == 0) set_variable(n->out[0]);
    }
}

/* ---- references ---- */

void reference_find(reference *r, const char *what)
{
    char wanted[NAME];
    snprintf(wanted, sizeof wanted, "model %s\nloss ", what);
    char *at = strstr(r->text, wanted), *line;
    if (!at) fail_msg("there is no reference for \"%s\"", what);
    r->loss = strtod(at + strlen(wanted), &r->variables);
    r->count = 0;
    for (line = ++r->variables; *line && strncmp(line, "model ", 6) != 0; r->count++) {
        char *end = strchr(line, '\n');
        if (strncmp(end - 7, " frozen", 7) == 0) r->count--;
        line = end + 1;
    }
}

static void reference_variable(const reference *r, const char *name, double *sum, double *size)
{
    size_t n = strlen(name);
    for (char *line = r->variables; *line && strncmp(line, "model ", 6) != 0;) {
        if (strncmp(line, name, n) == 0 && line[n] == ' ' && line[n + 1] != 'f') {
            char *next;
            *sum = strtod(line + n, &next);
            *size = strtod(next, NULL);
            return;
        }
        line = strchr(line, '\n') + 1;
    }
    fail_msg("the reference has no trainable variable \"%s\"", name);
}

void check_gradient(const reference *r, const char *what, mtf_program *p, mtf_tensor *v,
                    mtf_tensor *gradient)
{
    char    name[NAME];
    float   g[ELEMENTS];
    double  sum = 0, size = 0, wanted_sum = 0, wanted_size = 0;
    int64_t n = mtf_shape_size(mtf_shape_of_tensor(v));
    snprintf(name, sizeof name, "%s?", tensor_name(v));
    assert_true(mtf_fetch(p, gradient, g));
    for (int64_t i = 0; i < n; i++) {
        sum += (double)g[i] * noise(name, (uint32_t)i);
        size += (double)g[i] * (double)g[i];
    }
    size = sqrt(size);
    reference_variable(r, tensor_name(v), &wanted_sum, &wanted_size);
    double allowed = 1e-4 * wanted_size + 1e-6; /* the gradient of some is 0 but for rounding */
    if (fabs(size - wanted_size) > allowed || fabs(sum - wanted_sum) > allowed)
        fail_msg("%s: the gradient of %s has size %.9g and sum %.9g instead of %.9g and %.9g", what,
                 tensor_name(v), size, sum, wanted_size, wanted_sum);
}
