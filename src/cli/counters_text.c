/* Counters as a tree of text. */
#include "cli/counters_text.h"

#include <string.h>

#include "base/units.h"
#include "price/counters.h"

/* Indents by one space for each slash. */
static int depth(const char *name)
{
    int n = 0;
    while ((name = strchr(name, '/'))) n++, name++;
    return n;
}

void counters_write(estimate *e, textbuf *t)
{
    mtf_counter *tree;
    int n = counters_tree(&e->arena, e->program->ncounters, e->program->counters, &tree), width = 8;
    for (int i = 0; i < n; i++) {
        int length = depth(tree[i].name) + (int)strlen(tree[i].name);
        if (length > width) width = length;
    }
    text_add(t, "%-*s %9s %9s   all processors%s%s\n", width, "counters", "elements", "bytes",
             e->approximate ? "; collectives approximate" : "",
             e->price.open_ended ? "; loops of unknown length count once" : "");
    for (int i = 0; i < n; i++) {
        int indent = depth(tree[i].name);
        text_add(t, "%*s%-*s %9s", indent, "", width - indent, tree[i].name,
                 unit_count(tree[i].elements).s);
        if (tree[i].bytes) text_add(t, " %9s", unit_bytes(tree[i].bytes).s);
        text_add(t, "\n");
    }
}
