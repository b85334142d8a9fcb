/* The .mtf file that a command works on. */
#include "cli/graph_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/pattern.h"
#include "base/textbuf.h"
#include "cli/colour.h"
#include "cli/options.h"
#include "machine/launch.h"
#include "model/ready.h"
#include "run/share.h"

enum { MOST_TEXT = 1 << 29 };

static void say(void *context, const char *text)
{
    (void)context;
    bool begins = strcmp(text, "mtf: ") == 0; /* an error follows */
    fprintf(stderr, "%s%s%s", begins ? colour_error(stderr) : "", text,
            begins ? colour_end(stderr) : "");
}

mtf_session *file_session(const mtf_session_opts *opts)
{
    mtf_session_opts o = *opts;
    o.say = say;
    mtf_session *s = mtf_open_with(&o);
    if (!s) fputs("mtf: memory: no memory for a session\n", stderr);
    return s;
}

/* Removes the session's error, and returns its sentence without its kind. */
static void take_sentence(mtf_session *s, char *text, size_t room)
{
    const char *sentence = strstr(s->fault.text, ": ");
    snprintf(text, room, "%s", sentence ? sentence + 2 : s->fault.text);
    fault_clear(&s->fault);
}

bool option_blame(mtf_session *s, const char *option)
{
    char text[sizeof s->fault.text];
    take_sentence(s, text, sizeof text);
    bool        named = strncmp(text, "--", 2) == 0; /* the sentence already names an option */
    const char *rest = named ? text + strcspn(text, ": ") : text;
    return fail(&s->fault, ERR_USAGE, "--%s%s%.900s", option, named ? "" : ": ", rest);
}

bool option_is_pattern(mtf_session *s, const char *option, const char *pattern)
{
    if (!pattern || pattern_matches(pattern, "", &s->fault) || mtf_ok(s)) return true;
    return option_blame(s, option);
}

bool option_names_file(mtf_session *s, const char *option, const char *given, const char *path,
                       const char *printed)
{
    if (!path || strcmp(path, "-") != 0) return true;
    return fail(&s->fault, ERR_USAGE, "--%s %s: standard output has %s; give the name of a file",
                option, given, printed);
}

int close_session(mtf_session *s)
{
    bool usage = s->fault.kind == ERR_USAGE;
    return mtf_close(s) == 0 ? STATUS_DONE : usage ? STATUS_USAGE : STATUS_FAILED;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* The whole of an open file as text in the session; NULL after an error. */
static char *read_text(mtf_session *s, const char *path, FILE *file)
{
    char *text = NULL;
    int   used = 0, room = 0;
    for (;;) {
        if (used + 1 >= room && used < MOST_TEXT) {
            text = arena_grow(&s->arena, text, 1, used, &room);
            if (!text) return NULL;
        }
        errno = 0;
        size_t got = fread(text + used, 1, (size_t)(room - used - 1), file);
        used += (int)got;
        if (ferror(file)) {
            fail(&s->fault, ERR_FILE, "\"%s\": %s", path, strerror(errno ? errno : EIO));
            return NULL;
        }
        if (used >= MOST_TEXT) {
            fail(&s->fault, ERR_FILE, "\"%s\" is larger than any .mtf file should be", path);
            return NULL;
        }
        if (got == 0) break;
    }
    text[used] = 0;
    size_t length = strlen(text);
    if (length < (size_t)used) {
        fail(&s->fault, ERR_FILE, "\"%s\" is not a text: byte %zu is zero", path, length);
        return NULL;
    }
    return text;
}

static void no_file(mtf_session *s, const char *path)
{
    textbuf t = {.arena = &s->arena};
    int     why = errno;
    nearest near = {.wanted = path};
    char    hint[100];
    for (int i = 0; model_nth(i); i++) {
        text_add(&t, "%s%s", i ? ", " : "", model_nth(i)->name);
        nearest_offer(&near, model_nth(i)->name);
    }
    const char *models = text_done(&t);
    bool        name = why == ENOENT && !strchr(path, '/') && !strchr(path, '.');
    /* A word that is neither a model nor a file is a fault of the command line. */
    fail(&s->fault, name ? ERR_USAGE : ERR_FILE, "\"%s\": %s%s%s%s", path, strerror(why),
         name ? "; built-in models are " : "", name && models ? models : "",
         name ? nearest_hint(&near, hint, sizeof hint) : "");
}

/* An error in the file is not an error of the command line, whatever its kind. */
static void blame_text(mtf_session *s)
{
    char text[sizeof s->fault.text];
    if (s->fault.kind != ERR_USAGE) return;
    take_sentence(s, text, sizeof text);
    fail(&s->fault, ERR_VALUE, "%s", text);
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* mpirun gives standard input to the first rank only, which sends it to the others. */
static const char *shared_input(mtf_session *s)
{
    ranks      *r;
    const char *text = mtf_is_first(s) ? read_text(s, "-", stdin) : "";
    bool ok = text && store_prepare(s, &r) && share_text(s, r, "reading standard input", &text);
    return ok ? text : NULL;
}

const char *file_text(mtf_session *s, const char *path)
{
    bool on_mesh = s->opts.mesh && *s->opts.mesh;
    if (is_standard_input(path) && on_mesh && launch_find().size > 1) return shared_input(s);
    FILE *file = is_standard_input(path) ? stdin : fopen(path, "r");
    if (!file) {
        no_file(s, path);
        return NULL;
    }
    const char *text = read_text(s, path, file);
    if (file != stdin) fclose(file);
    return text;
}

mtf_graph *file_parse(mtf_session *s, const char *path, const char *text)
{
    mtf_graph *g = mtf_parse(s, text, is_standard_input(path) ? "standard input" : path);
    if (!g || !mtf_ok(s)) blame_text(s);
    return g;
}

mtf_graph *file_graph(mtf_session *s, const char *path)
{
    const char *text = file_text(s, path);
    return text ? file_parse(s, path, text) : NULL;
}

/* ---- tensors ---------------------------------------------------------------------------- */

bool is_input(const mtf_tensor *x)
{
    return strcmp(x->node->op->name, "input") == 0;
}

mtf_tensor *file_find(mtf_graph *g, const char *name)
{
    mtf_tensor *x = mtf_find(g, name);
    if (x && x->node->home != &g->root) {
        fail(&g->session->fault, ERR_NAME,
             "\"%s\" is inside a block, where it has many values or none; only tensors outside "
             "of blocks can be fetched",
             name);
        return NULL;
    }
    return x;
}

mtf_tensor *file_last(mtf_graph *g)
{
    mtf_tensor *last = NULL;
    for (int i = 0; i < g->ntensors; i++)
        if (g->all[i]->name && g->all[i]->node->home == &g->root) last = g->all[i];
    return last;
}

/* A result of its own: not a source, not a side effect, not a loop's history. */
static bool is_end(const mtf_tensor *x, const bool *used)
{
    const node *n = x->node;
    return !used[x->id] && !x->hidden && n->home == &n->graph->root && n->nargs > 0 &&
           !(n->op->flags & OP_EFFECT);
}

int file_ends(mtf_graph *g, mtf_tensor ***ends)
{
    arena *a = &g->session->arena;
    bool  *used = arena_array(a, bool, g->ntensors);
    *ends = arena_array(a, mtf_tensor *, g->ntensors + 1);
    if (!used || !*ends) return -1;
    for (int i = 0; i < g->root.nnodes; i++)
        for (int j = 0; j < g->root.nodes[i]->nin; j++) used[g->root.nodes[i]->in[j]->id] = true;
    int n = 0;
    for (int i = 0; i < g->ntensors; i++)
        if (is_end(g->all[i], used)) (*ends)[n++] = g->all[i];
    mtf_tensor *last = file_last(g);
    if (n == 0 && last) (*ends)[n++] = last;
    return n;
}

bool *file_needs(mtf_graph *g, int n, mtf_tensor *const *fetches)
{
    bool *needed = arena_array(&g->session->arena, bool, g->ntensors);
    if (!needed) return NULL;
    for (int i = 0; i < n; i++) needed[fetches[i]->id] = true;
    /* Inputs precede their uses, so one pass backwards finds all. */
    for (int i = g->root.nnodes - 1; i >= 0; i--) {
        const node *x = g->root.nodes[i];
        bool        wanted = x->op->flags & OP_EFFECT;
        for (int j = 0; j < x->nout; j++) wanted |= needed[x->out[j]->id];
        for (int j = 0; wanted && j < x->nin; j++) needed[x->in[j]->id] = true;
    }
    return needed;
}
