/* Gives arbitrary bytes to the reader of .mtf text, and plans what can be read.
 *
 * Planning takes time and memory by the size of the graph, so graphs of many
 * nodes or elements are only read.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"

/* Memory is capped: a short text must not ask for much. */
enum { MOST = 256 << 20, HEADER = 16 };

static void *capped_alloc(void *context, size_t bytes)
{
    size_t *left = context;
    if (bytes > *left) return NULL;
    char *p = malloc(bytes + HEADER);
    if (!p) return NULL;
    memcpy(p, &bytes, sizeof bytes);
    *left -= bytes;
    return p + HEADER;
}

static void capped_release(void *context, void *memory)
{
    if (!memory) return;
    size_t *left = context, bytes;
    char   *p = (char *)memory - HEADER;
    memcpy(&bytes, p, sizeof bytes);
    *left += bytes;
    free(p);
}

/* Either a sentence, or a graph whose print reads back as the same print; NULL without one. */
static mtf_graph *check(mtf_session *s, const char *text)
{
    mtf_graph *g = mtf_parse(s, text, "fuzz.mtf");
    if ((g != NULL) != mtf_ok(s)) abort();
    if (!g && !*mtf_error(s)) abort();
    if (!g) return NULL;
    const char *once = mtf_print(g);
    if (!once) return NULL; /* no memory */
    mtf_graph  *again = mtf_parse(s, once, "printed.mtf");
    const char *twice = again ? mtf_print(again) : NULL;
    if (!twice && strncmp(mtf_error(s), "memory", 6) != 0) abort();
    if (twice && strcmp(once, twice) != 0) abort();
    return twice ? g : NULL;
}

/* ---- planning ---- */

enum { MOST_NODES = 300, MOST_ELEMENTS = 1 << 16, MOST_FETCHES = 8 };

static bool is_small(const mtf_graph *g)
{
    int64_t elements = 0;
    for (int i = 0; i < g->ntensors; i++) {
        int64_t n = mtf_shape_size(g->all[i]->shape);
        if (n < 0 || n > MOST_ELEMENTS) return false;
        elements += n;
    }
    return g->nnodes <= MOST_NODES && elements <= 16 * MOST_ELEMENTS;
}

/* The last tensors outside of blocks. */
static int choose_fetches(const mtf_graph *g, mtf_tensor *fetches[MOST_FETCHES])
{
    int n = 0;
    for (int i = g->root.nnodes - 1; i >= 0 && n < MOST_FETCHES; i--)
        if (g->root.nodes[i]->nout) fetches[n++] = g->root.nodes[i]->out[0];
    return n;
}

/* A program, or a sentence: the layout may put two dimensions of a tensor on one axis. */
static void plan(const char *text, mtf_session_opts opts, size_t *left)
{
    opts.allocator = (mtf_allocator){capped_alloc, capped_release, left};
    mtf_session *s = mtf_open_with(&opts);
    mtf_graph   *g = s ? mtf_parse(s, text, "fuzz.mtf") : NULL;
    mtf_tensor  *fetches[MOST_FETCHES];
    int          n = g ? choose_fetches(g, fetches) : 0;
    if (n) {
        mtf_program *p = mtf_compile_n(g, n, fetches);
        if ((p != NULL) != mtf_ok(s)) abort();
        if (p && mtf_program_cost(p).instructions < 0) abort();
    }
    if (s) mtf_close(s);
}

/* On one processor, and on a mesh that cuts the first two dimensions the graph names. */
static void plan_twice(const mtf_graph *g, const char *text, size_t *left)
{
    char     names[2][40];
    mtf_rule rules[3] = {{.dim = NULL}};
    int      n = 0;
    for (int i = 0; i < g->dim_names.room && n < 2; i++) {
        const char *name = g->dim_names.entries[i].name;
        if (!name || strlen(name) >= sizeof names[0]) continue;
        memcpy(names[n], name, strlen(name) + 1);
        rules[n] = (mtf_rule){.dim = names[n], .axes = {n ? "y" : "x"}, .optional = true};
        n++;
    }
    plan(text, (mtf_session_opts){.threads = 1}, left);
    plan(text, (mtf_session_opts){.threads = 1, .mesh = "x:2,y:3", .rules = rules}, left);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (!text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    size_t       left = MOST, left_to_plan = MOST;
    mtf_session *s =
        mtf_open_with(&(mtf_session_opts){.allocator = {capped_alloc, capped_release, &left}});
    if (s) {
        mtf_graph *g = check(s, text);
        if (g && is_small(g)) plan_twice(g, text, &left_to_plan);
        mtf_close(s);
    }
    if (left != MOST || left_to_plan != MOST) abort();
    free(text);
    return 0;
}
