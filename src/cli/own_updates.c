/* What a model file assigns to variables itself.
 *
 * An assignment to a trainable variable is the file's own training; one to a
 * running mean or a counter is part of a step that an optimizer completes.  In
 * evaluation both are left out.
 */
#include "cli/own_updates.h"

#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "cli/network_copy.h"
#include "cli/shared_options.h"
#include "ops/catalogue.h"

static bool is_assignment(const node *n)
{
    return n->op->flags & OP_STORE;
}

const node *own_update(mtf_graph *g)
{
    bool none_trainable = mtf_variables(g, NULL, 0) == 0;
    for (int i = 0; i < g->root.nnodes; i++) {
        const node *n = g->root.nodes[i];
        if (is_assignment(n) && (none_trainable || node_attr(n->in[0]->node, "trainable")->b))
            return n;
    }
    return NULL;
}

/* "model.mtf:8" */
static const char *line_of(const node *n, char text[PLACE_TEXT])
{
    snprintf(text, PLACE_TEXT, "%.140s:%d", n->graph->file, n->line);
    return text;
}

static bool notes(const options *o, mtf_session *s)
{
    return mtf_is_first(s) && !o->trial && !option_given(o, "quiet");
}

bool own_update_stands(const options *o, const node *update)
{
    static const char *const others[] = {"dtype", "microbatches"}; /* are of any step */
    char                     line[PLACE_TEXT];
    const char              *w = tensor_name(update->in[0]);
    option_walk              walk = walk_options(training_options);
    const option_spec       *spec;
    while ((spec = walk_next(&walk)) != NULL) {
        if (!spec->name || !option_given(o, spec->name)) continue;
        if (strcmp(spec->name, others[0]) == 0 || strcmp(spec->name, others[1]) == 0) continue;
        return fail(&update->graph->session->fault, ERR_USAGE,
                    "--%s is for the optimizer that mtf adds, but %s assigns \"%s\" itself: leave "
                    "out one of them",
                    spec->name, line_of(update, line), w);
    }
    if (notes(o, update->graph->session))
        printable_print(stderr, "mtf: note: no optimizer added: %s assigns \"%s\" itself\n",
                        line_of(update, line), w);
    return true;
}

void own_updates_mention(const options *o, const mtf_graph *g)
{
    char line[PLACE_TEXT];
    for (int i = 0; i < g->root.nnodes && notes(o, g->session); i++) {
        const node *n = g->root.nodes[i];
        if (!is_assignment(n)) continue;
        printable_print(stderr,
                        "mtf: note: %s assigns \"%s\" in every step, and the checkpoint keeps the "
                        "value that it has: mtf train saves new ones\n",
                        line_of(n, line), tensor_name(n->in[0]));
        return;
    }
}

/* ---- evaluation ------------------------------------------------------------------------- */

/* What these depend on, through assigned values, too: true by tensor id.  The first branch of
 * where(training, x, y) is never taken.  NULL: no memory. */
static bool *depends(const network *n)
{
    const block      *root = &n->graph->root;
    const mtf_tensor *wanted[] = {n->loss, n->right};
    bool             *needed = arena_array(&n->graph->arena, bool, n->graph->ntensors);
    for (int i = 0; needed && i < 2; i++)
        if (wanted[i]) needed[wanted[i]->id] = true;
    for (int i = root->nnodes - 1; needed && i >= 0; i--) {
        const node *x = root->nodes[i];
        bool        used = false, trains = x->op == &op_where && x->in[0]->node->op == &op_training;
        for (int j = 0; j < x->nout; j++) used |= needed[x->out[j]->id];
        for (int j = 0; used && j < x->nin; j++)
            if (!trains || j != 1) needed[x->in[j]->id] = true;
    }
    return needed;
}

/* Whether the value that the i-th node assigns is used: its output, or what is read below it. */
static bool gives_value(const block *root, int i, const bool *needed)
{
    const node *n = root->nodes[i];
    bool        used = needed[n->out[0]->id];
    for (int k = i + 1; k < root->nnodes && !used; k++) {
        const node *below = root->nodes[k];
        used = below->op == &op_read && below->in[0] == n->in[0] && needed[below->out[0]->id];
    }
    return used;
}

bool own_updates_drop(const options *o, network *n)
{
    mtf_session *s = n->graph->session;
    const block *root = &n->graph->root;
    char         line[PLACE_TEXT];
    if (!graph_trains(n->graph)) return true;
    const bool *needed = depends(n);
    TRY(needed != NULL);
    for (int i = 0; i < root->nnodes; i++)
        if (notes(o, s) && is_assignment(root->nodes[i]) && gives_value(root, i, needed))
            printable_print(stderr,
                            "mtf: note: evaluation takes \"%s\" as it is, not the new value of "
                            "%s\n",
                            tensor_name(root->nodes[i]->in[0]), line_of(root->nodes[i], line));
    return network_drop_assignments(n);
}
