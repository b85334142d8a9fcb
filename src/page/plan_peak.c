/* The tensors alive at the peak of memory. */
#include "page/plan_peak.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "page/escape.h"

enum { LINES = 8 };

/* A family of similar tensors. */
typedef struct family {
    const lifetime *one;
    const char     *pattern; /* layer#/add_# */
    int             members;
    int64_t         bytes; /* of all */
} family;

static const char *name_of(const lifetime *x)
{
    return x->tensor ? mtf_name_of_tensor(x->tensor) : x->what;
}

/* Replaces each number by #, except in the last piece, which tells tensors of a layer apart. */
static const char *pattern_of(const char *name, arena *a)
{
    char       *copy = arena_text(a, name), *to = copy;
    const char *slash = strrchr(name, '/');
    if (!copy || !slash) return copy;
    for (const char *from = name; *from; from++) {
        bool digit = from < slash && *from >= '0' && *from <= '9';
        if (digit && to > copy && to[-1] == '#') continue;
        *to++ = digit ? '#' : *from;
    }
    *to = 0;
    return copy;
}

static int by_likeness(const void *a, const void *b)
{
    const family *x = a, *y = b;
    if (x->one->kind != y->one->kind) return x->one->kind < y->one->kind ? -1 : 1;
    if (x->one->bytes != y->one->bytes) return x->one->bytes > y->one->bytes ? -1 : 1;
    int order = strcmp(x->pattern, y->pattern);
    return order ? order : x->one < y->one ? -1 : 1;
}

static int by_bytes(const void *a, const void *b)
{
    const family *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return x->one < y->one ? -1 : 1;
}

static int find_families(const plan_view *v, family *list, int *alive)
{
    int n = 0, joined = 0;
    for (int k = 0; k < v->nlifetimes; k++) {
        const lifetime *x = &v->lifetimes[k];
        if (x->first > v->peak || x->last < v->peak) continue;
        list[n] = (family){
            .one = x, .pattern = pattern_of(name_of(x), v->arena), .members = 1, .bytes = x->bytes};
        if (!list[n++].pattern) return 0;
    }
    *alive = n;
    if (n) qsort(list, (size_t)n, sizeof *list, by_likeness);
    for (int k = 0; k < n; k++) {
        family *last = joined ? &list[joined - 1] : NULL;
        if (last && last->one->kind == list[k].one->kind &&
            last->one->bytes == list[k].one->bytes && strcmp(last->pattern, list[k].pattern) == 0)
            last->members++, last->bytes += list[k].bytes;
        else
            list[joined++] = list[k];
    }
    if (joined) qsort(list, (size_t)joined, sizeof *list, by_bytes);
    return joined;
}

static void write_family(const plan_view *v, const family *f, textbuf *t)
{
    const mtf_tensor *x = f->one->tensor;
    text_add(t, "<tr class=\"%s\"><td><i></i>", memory_classes[f->one->kind]);
    html_name(t, f->members > 1 ? f->pattern : name_of(f->one));
    text_add(t, " <small>");
    if (f->members > 1) text_add(t, "&#215;&#8239;%d ", f->members);
    if (x) {
        mtf_shape local = view_local(v, x);
        textbuf   shape = {.arena = v->arena};
        shape_write(&local, &shape);
        html_text(t, text_done(&shape));
    }
    text_add(t, "</small></td><td>%s</td></tr>\n", unit_bytes(f->bytes).s);
}

void plan_write_peak(const plan_view *v, textbuf *t)
{
    family *list = arena_array(v->arena, family, v->nlifetimes + 1);
    int     alive = 0, n = list ? find_families(v, list, &alive) : 0;
    if (v->e->program->ninstrs == 0) return;
    const price_line *line = &v->e->price.lines[v->peak];
    text_add(t, "<h3>At the peak <b>%s</b></h3>\n<p>after %s: %s <b>", unit_bytes(v->most).s,
             unit_seconds(v->begin[v->peak]).s, view_kind(v, v->peak));
    html_name(t, line->tensor ? mtf_name_of_tensor(line->tensor) : "");
    text_add(t, "</b></p>\n<table class=\"kinds\">\n");
    for (int j = MEMORY_KINDS - 1; j >= 0; j--)
        text_add(t, "<tr class=\"%s\"><td><i></i>%s</td><td>%s</td></tr>\n", memory_classes[j],
                 memory_names[j], unit_bytes(v->alive[v->peak][j]).s);
    text_add(
        t,
        "</table>\n<table class=\"tensors\"><caption>%d tensors alive; most bytes in</caption>\n",
        alive);
    for (int k = 0; k < n && k < LINES; k++) write_family(v, &list[k], t);
    text_add(t, "</table>\n");
}
