/* Runs a case on its mesh and compares with the oracle. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asked.h"
#include "graph/node.h"
#include "property_feed.h"
#include "property_slopes.h"
#include "run/audit.h"

/* ---- one run ---- */

typedef struct trial {
    const property_case *c;
    mtf_session         *session;
    mtf_graph           *graph;
    mtf_program         *program;
    oracle              *oracle;
    mtf_tensor          *fetches[MAX_FETCHES];
    char                *reason;
    coverage            *cover;
} trial;

static verdict says(const trial *t, verdict v, const char *text)
{
    snprintf(t->reason, REASON_ROOM, "%.690s", text);
    return v;
}

/* Large integers are what the text says, whatever its reader makes of it. */
static void give_literals(const trial *t)
{
    for (int i = 0; i < t->c->nlines; i++) {
        const char *line = t->c->lines[i], *literal = strstr(line, " = constant(value=");
        char        name[NAME_ROOM];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, ":"), line);
        if (!literal || line[0] == ' ' || !strstr(line, ": i64[")) continue;
        const mtf_tensor *x = mtf_find(t->graph, name);
        int64_t           n = mtf_shape_size(x->shape);
        number           *elements = calloc((size_t)n + 1, sizeof *elements);
        long long         v = strtoll(literal + strlen(" = constant(value="), NULL, 10);
        if (!elements) abort();
        for (int64_t k = 0; k < n; k++) elements[k] = number_int(v, MTF_I64);
        oracle_give(t->oracle, x, elements);
        free(elements);
    }
}

const char *case_device(const property_case *c)
{
    const char *asked = asked_device();
    if (c->check) return asked ? "check:cuda" : "check";
    return asked ? asked : "cpu";
}

int case_patience(void)
{
    return asked_device() ? 10 * PATIENCE : PATIENCE;
}

/* A GPU captures the second step and replays the third. */
static int steps_of(const property_case *c)
{
    return asked_device() ? MAX_STEPS : c->steps;
}

/* A device that records steps does so only where nothing is measured: most programs there. */
static bool is_measured(const property_case *c)
{
    return !asked_device() || c->seed % 4 == 0;
}

static verdict begin(trial *t, const char *mesh, const char *layout)
{
    const property_case *c = t->c;
    static char          text[TEXT_ROOM];
    case_text(c, text);
    mtf_session_opts o = {.threads = 1,
                          .seed = c->seed,
                          .mesh = mesh,
                          .layout = layout,
                          .state_layout = mesh ? c->state_layout : NULL,
                          .device = case_device(c),
                          .measure = is_measured(c)};
    t->session = mtf_open_with(&o);
    t->graph = mtf_parse(t->session, text, "random");
    for (int i = 0; i < c->nfetches && t->graph; i++)
        t->fetches[i] = mtf_find(t->graph, c->fetches[i].name);
    if (!t->graph || !mtf_ok(t->session)) return says(t, VERDICT_BROKEN, mtf_error(t->session));
    t->oracle = oracle_new(t->graph, c->seed);
    feed_all(t->graph, NULL, t->oracle);
    give_literals(t);
    return VERDICT_SAME;
}

/* Did a number that is none, or infinite, arise anywhere? The device `check` stops there. */
static bool is_finite(const trial *t)
{
    for (int i = 0; i < t->graph->ntensors; i++)
        if (!(oracle_peak(t->oracle, t->graph->all[i]) < (double)INFINITY)) return false;
    return true;
}

static verdict library_failed(const trial *t)
{
    const char *error = mtf_error(t->session);
    verdict     v = VERDICT_ERROR;
    if (strstr(error, "has two dimensions on axis")) v = VERDICT_ILLEGAL;
    /* A limit of products of very many dimensions, whatever the layout. */
    if (strstr(error, "some intermediate product has more than")) v = VERDICT_SAME;
    if (t->c->check && (strstr(error, "NaN") || strstr(error, "nan")) && !is_finite(t))
        v = VERDICT_SAME;
    /* Inputs are fed with any numbers, positions or not. */
    if (t->c->check && strstr(error, "whose positions are")) v = VERDICT_SAME;
    return says(t, v, error);
}

static verdict compare(const trial *t, int k, int step)
{
    const mtf_tensor *x = t->fetches[k];
    const value      *v = oracle_value(t->oracle, x);
    void             *data = calloc((size_t)v->n + 1, 8);
    verdict           found = VERDICT_SAME;
    if (!data || !mtf_fetch(t->program, t->fetches[k], data)) found = library_failed(t);
    for (int64_t i = 0; found == VERDICT_SAME && i < v->n; i++) {
        number want = v->at[i], got = number_load(v->type, data, i);
        if (t->cover)
            *(!number_known(want) ? &t->cover->unknown
              : want.slack > 0    ? &t->cover->near
                                  : &t->cover->exact) += 1;
        if (number_allows(want, v->type, got)) continue;
        found = VERDICT_DIFFERS;
        if (is_real(v->type))
            snprintf(t->reason, REASON_ROOM,
                     "%s: element %lld is %.9g, not %.9g (slack %.3g) in step %d",
                     t->c->fetches[k].name, (long long)i, number_known(got) ? got.v : (double)NAN,
                     want.v, want.slack, step);
        else
            snprintf(t->reason, REASON_ROOM, "%s: element %lld is %lld, not %lld in step %d",
                     t->c->fetches[k].name, (long long)i, (long long)got.i, (long long)want.i,
                     step);
    }
    free(data);
    return found;
}

/* Did the run do what the plan says, and take what it says? */
static bool is_audited(const trial *t)
{
    audit a;
    return audit_program(t->program, &a) && audit_agrees(t->session, &a);
}

static verdict run(trial *t)
{
    verdict v = VERDICT_SAME;
    t->program = mtf_compile_n(t->graph, t->c->nfetches, t->fetches);
    if (!t->program) return library_failed(t);
    if (!feed_all(t->graph, t->program, NULL)) return library_failed(t);
    for (int i = 0; i < steps_of(t->c) && v == VERDICT_SAME; i++) {
        if (!oracle_step(t->oracle)) return says(t, VERDICT_BROKEN, oracle_error(t->oracle));
        if (oracle_complaint(t->oracle)[0])
            return says(t, VERDICT_DIFFERS, oracle_complaint(t->oracle));
        if (!mtf_step(t->program)) return library_failed(t);
        for (int k = 0; k < t->c->nfetches && v == VERDICT_SAME; k++) v = compare(t, k, i);
    }
    if (v != VERDICT_SAME || !is_measured(t->c) || is_audited(t)) return v;
    return library_failed(t);
}

static void end(trial *t)
{
    oracle_free(t->oracle);
    if (t->session) mtf_close(t->session);
}

verdict case_try(const property_case *c, char reason[REASON_ROOM], coverage *cover)
{
    char  mesh[64], layout[1200];
    trial t = {.c = c, .reason = reason, .cover = cover};
    reason[0] = 0;
    case_mesh(c, mesh, sizeof mesh);
    case_layout(c, layout, sizeof layout);
    verdict v = begin(&t, c->naxes ? mesh : NULL, c->naxes ? layout : NULL);
    if (v == VERDICT_SAME) v = run(&t);
    end(&t);
    return v;
}

static verdict check_text(const trial *t)
{
    const char *once = mtf_print(t->graph);
    mtf_graph  *again = once ? mtf_parse(t->session, once, "printed") : NULL;
    const char *twice = again ? mtf_print(again) : NULL;
    if (!twice) return says(t, VERDICT_TEXT, mtf_error(t->session));
    return strcmp(once, twice)
               ? says(t, VERDICT_TEXT, "printed, read and printed again, it differs")
               : VERDICT_SAME;
}

verdict case_try_graph(const property_case *c, char reason[REASON_ROOM], coverage *cover)
{
    trial t = {.c = c, .reason = reason, .cover = cover};
    reason[0] = 0;
    verdict v = begin(&t, NULL, NULL);
    if (v == VERDICT_SAME) v = check_slopes(c, t.graph, reason, cover);
    if (v == VERDICT_SAME) v = check_text(&t);
    end(&t);
    return v;
}

verdict case_try_apart(const property_case *c, bool graph, char reason[REASON_ROOM])
{
    struct answer {
        verdict verdict;
        char    reason[REASON_ROOM];
    } a = {VERDICT_ERROR, "no process to run in"};
    int ends[2], status = 0;
    if (pipe(ends)) abort();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm((unsigned)case_patience());
        a.verdict = graph ? case_try_graph(c, a.reason, NULL) : case_try(c, a.reason, NULL);
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

/* The largest size that a dimension has anywhere. */
static int64_t largest_size(const mtf_graph *g, const char *name)
{
    int64_t most = 0;
    for (int i = 0; i < g->ntensors; i++) {
        int64_t size = mtf_shape_dim(g->all[i]->shape, name).size;
        if (size > most) most = size;
    }
    return most;
}

int case_dims(const property_case *c, int room, char dims[][NAME_ROOM])
{
    static char text[TEXT_ROOM];
    int         n = 0, ones = 0;
    case_text(c, text);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, text, "random");
    for (int i = 0; g && i < g->dim_names.room; i++) {
        const char *name = g->dim_names.entries[i].name;
        if (!name || n == room || name_is_internal(name)) continue;
        if (largest_size(g, name) > 1 || ones++ < MOST_ONES)
            snprintf(dims[n++], NAME_ROOM, "%s", name);
    }
    bool good = mtf_ok(s);
    mtf_close(s);
    return good ? n : -1;
}
