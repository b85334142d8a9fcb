/* Runs a case on one processor and on its mesh, and compares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/node.h"
#include "property_case.h"
#include "run/audit.h"

/* What came out. */
typedef struct outcome {
    int       n;
    mtf_dtype types[MAX_FETCHES];
    int64_t   elements[MAX_FETCHES];
    void     *data[MAX_FETCHES];
    char      error[REASON_ROOM];
} outcome;

static void outcome_free(outcome *o)
{
    for (int i = 0; i < o->n; i++) free(o->data[i]);
}

/* ---- feeding ---- */

double fed_number(const char *name, int64_t i, mtf_dtype type)
{
    dice d = {(uint64_t)i * 0x632be59bd9b4e019u};
    for (const char *p = name; *p; p++) d.state = d.state * 31 + (unsigned char)*p;
    uint64_t bits = dice_bits(&d);
    switch (type) {
    case MTF_I32:
    case MTF_I64: return (double)(bits % 9) - 1; /* as indices, some are out of range */
    case MTF_BOOL: return (double)(bits & 1);
    /* 20 bits: exact in f32, and short when printed. */
    default: return (double)(bits % 2097151) / 1048576 - 1;
    }
}

static void put_number(void *data, mtf_dtype type, int64_t i, double x)
{
    switch (type) {
    case MTF_F64: ((double *)data)[i] = x; break;
    case MTF_F32: ((float *)data)[i] = (float)x; break;
    case MTF_I64: ((int64_t *)data)[i] = (int64_t)x; break;
    case MTF_I32: ((int32_t *)data)[i] = (int32_t)x; break;
    default: ((uint8_t *)data)[i] = x != 0;
    }
}

static double get_number(const void *data, mtf_dtype type, int64_t i)
{
    switch (type) {
    case MTF_F64: return ((const double *)data)[i];
    case MTF_F32: return (double)((const float *)data)[i];
    case MTF_I64: return (double)((const int64_t *)data)[i];
    case MTF_I32: return (double)((const int32_t *)data)[i];
    default: return (double)((const uint8_t *)data)[i];
    }
}

static bool feed_inputs(mtf_graph *g, mtf_program *p)
{
    bool good = true;
    for (int i = 0; i < g->root.nnodes && good; i++) {
        const node *n = g->root.nodes[i];
        if (strcmp(n->op->name, "input")) continue;
        int64_t size = mtf_shape_size(n->out[0]->shape);
        void   *data = calloc((size_t)size + 1, 8);
        for (int64_t k = 0; data && k < size; k++)
            put_number(data, n->out[0]->type, k, fed_number(n->out[0]->name, k, n->out[0]->type));
        good = data && mtf_feed(p, n->out[0], data);
        free(data);
    }
    return good;
}

/* ---- running ---- */

static void fetch_all(const property_case *c, mtf_graph *g, mtf_program *p, outcome *o)
{
    for (; o->n < c->nfetches; o->n++) {
        mtf_tensor *y = mtf_find(g, c->fetches[o->n].name);
        o->types[o->n] = mtf_dtype_of_tensor(y);
        o->elements[o->n] = mtf_shape_size(mtf_shape_of_tensor(y));
        o->data[o->n] = calloc((size_t)o->elements[o->n] + 1, 8);
        mtf_fetch(p, y, o->data[o->n]);
    }
}

static bool run_on(const property_case *c, const char *mesh, const char *layout, outcome *o)
{
    char text[TEXT_ROOM];
    *o = (outcome){0};
    case_text(c, text);
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.threads = 1,
                                          .seed = c->seed,
                                          .mesh = mesh,
                                          .layout = layout,
                                          .state_layout = mesh ? c->state_layout : NULL,
                                          .device = c->check && mesh ? "check" : "cpu",
                                          .measure = true});
    audit       a;
    mtf_graph  *g = mtf_parse(s, text, "random");
    mtf_tensor *ys[MAX_FETCHES];
    for (int i = 0; i < c->nfetches; i++) ys[i] = mtf_find(g, c->fetches[i].name);
    mtf_program *p = mtf_compile_n(g, c->nfetches, ys);
    bool         good = p && feed_inputs(g, p);
    for (int i = 0; i < c->steps && good; i++) good = mtf_step(p);
    good = good && audit_program(p, &a) && audit_agrees(s, &a);
    if (good) fetch_all(c, g, p, o);
    snprintf(o->error, sizeof o->error, "%s", mtf_error(s));
    mtf_close(s);
    return good && !o->error[0];
}

int case_dims(const property_case *c, int room, char dims[][NAME_ROOM])
{
    char text[TEXT_ROOM];
    int  n = 0;
    case_text(c, text);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "random");
    for (int i = 0; g && i < g->dim_names.room; i++)
        if (g->dim_names.entries[i].name && n < room)
            snprintf(dims[n++], NAME_ROOM, "%s", g->dim_names.entries[i].name);
    bool good = mtf_ok(s);
    mtf_close(s);
    return good ? n : -1;
}

/* ---- comparing ---- */

static bool same_value(const property_case *c, const outcome *one, const outcome *o, int k,
                       char *reason)
{
    mtf_dtype type = one->types[k];
    bool      rounds = (type == MTF_F64 || type == MTF_F32) && !c->fetches[k].exact;
    double    scale = 1;
    for (int64_t i = 0; i < one->elements[k]; i++) {
        double x = fabs(get_number(one->data[k], type, i));
        if (isfinite(x) && x > scale) scale = x;
    }
    double allowed = !rounds ? 0 : scale * (c->single ? 1e-4 : 1e-9);
    for (int64_t i = 0; i < one->elements[k]; i++) {
        double x = get_number(one->data[k], type, i), y = get_number(o->data[k], type, i);
        if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= allowed) continue;
        snprintf(reason, REASON_ROOM, "%s: element %lld is %.17g, on one processor %.17g%s",
                 c->fetches[k].name, (long long)i, y, x, rounds ? "" : ", which must be equal");
        return false;
    }
    return true;
}

verdict case_try(const property_case *c, char reason[REASON_ROOM])
{
    outcome one, o = {0};
    char    mesh[64], layout[600];
    verdict v = VERDICT_SAME;
    reason[0] = 0;
    case_mesh(c, mesh, sizeof mesh);
    case_layout(c, layout, sizeof layout);
    if (!run_on(c, NULL, NULL, &one)) {
        snprintf(reason, REASON_ROOM, "one processor: %.600s", one.error);
        v = VERDICT_BROKEN;
    } else if (!run_on(c, mesh, layout, &o)) {
        snprintf(reason, REASON_ROOM, "%.690s", o.error);
        v = strstr(o.error, "has two dimensions on axis") ? VERDICT_ILLEGAL : VERDICT_ERROR;
    } else
        for (int k = 0; k < c->nfetches && v == VERDICT_SAME; k++)
            if (!same_value(c, &one, &o, k, reason)) v = VERDICT_DIFFERS;
    outcome_free(&one);
    outcome_free(&o);
    return v;
}

verdict case_try_apart(const property_case *c, char reason[REASON_ROOM])
{
    struct answer {
        verdict verdict;
        char    reason[REASON_ROOM];
    } a = {VERDICT_ERROR, "no process to run in"};
    int ends[2], status = 0;
    if (pipe(ends)) abort();
    pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        a.verdict = case_try(c, a.reason);
        _exit(write(ends[1], &a, sizeof a) != sizeof a);
    }
    close(ends[1]);
    ssize_t got = read(ends[0], &a, sizeof a);
    close(ends[0]);
    if (child > 0) waitpid(child, &status, 0);
    if (got != sizeof a || status) {
        a.verdict = VERDICT_ERROR;
        snprintf(a.reason, REASON_ROOM, "%s",
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit");
    }
    memcpy(reason, a.reason, REASON_ROOM);
    return a.verdict;
}
