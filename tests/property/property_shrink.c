/* Makes a failing case smaller as long as it fails in the same way. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/node.h"
#include "property_case.h"
#include "property_feed.h"

enum { MAX_TRIES = 2000 };

typedef struct shrinker {
    property_case *best;
    property_case *next; /* a smaller one, to be tried */
    verdict        how;
    bool           graph; /* alone */
    char          *reason;
    int            tries;
} shrinker;

/* Errors of one kind begin alike: "name: ...", "internal: ...", "Segmentation fault". */
static bool same_kind(const char *a, const char *b)
{
    size_t n = strcspn(a, ":");
    return n == strcspn(b, ":") && !strncmp(a, b, n);
}

/* Keeps `next` where it still fails. */
static bool try_next(shrinker *s)
{
    char reason[REASON_ROOM];
    if (s->tries++ > MAX_TRIES || case_try_apart(s->next, s->graph, reason) != s->how) return false;
    if (s->how != VERDICT_DIFFERS && !same_kind(reason, s->reason)) return false;
    *s->best = *s->next;
    snprintf(s->reason, REASON_ROOM, "%s", reason);
    return true;
}

static property_case *propose(shrinker *s)
{
    *s->next = *s->best;
    return s->next;
}

/* ---- fetches, lines ---- */

static void drop_at(void *list, size_t size, int *n, int i)
{
    char *p = list;
    memmove(p + (size_t)i * size, p + (size_t)(i + 1) * size, size * (size_t)(*n - i - 1));
    --*n;
}

static bool shrink_fetches(shrinker *s)
{
    bool any = false;
    for (int i = 0; s->best->nfetches > 1 && i < s->best->nfetches; i++) {
        property_case *c = propose(s);
        c->fetches[0] = c->fetches[i];
        c->nfetches = 1;
        if (try_next(s)) return true;
    }
    for (int i = s->best->nfetches - 1; i >= 0 && s->best->nfetches > 1; i--) {
        property_case *c = propose(s);
        drop_at(c->fetches, sizeof c->fetches[0], &c->nfetches, i);
        if (try_next(s)) any = true;
    }
    return any;
}

/* The line after the block that begins in line i. */
static int block_end(const property_case *c, int i)
{
    int depth = 0;
    do {
        for (const char *p = c->lines[i]; *p; p++) depth += (*p == '{') - (*p == '}');
        i++;
    } while (depth > 0 && i < c->nlines);
    return i;
}

/* Whole blocks at once: half of one cannot be read. */
static bool shrink_blocks(shrinker *s)
{
    bool any = false;
    for (int i = s->best->nlines - 1; i >= 0; i--) {
        if (i >= s->best->nlines || !strchr(s->best->lines[i], '{')) continue;
        property_case *c = propose(s);
        for (int k = block_end(c, i) - i; k > 0; k--)
            drop_at(c->lines, sizeof c->lines[0], &c->nlines, i);
        if (try_next(s)) any = true;
    }
    return any;
}

static bool shrink_lines(shrinker *s)
{
    bool any = shrink_blocks(s);
    for (int size = s->best->nlines / 2; size > 0; size /= 2)
        for (int i = s->best->nlines - size; i >= 0; i--) {
            if (i + size > s->best->nlines) continue;
            property_case *c = propose(s);
            for (int k = 0; k < size; k++) drop_at(c->lines, sizeof c->lines[0], &c->nlines, i);
            if (try_next(s)) any = true;
        }
    return any;
}

/* What the line's first result looks like: "t5: f64[a=3, b=2]"; false where it has several. */
static bool describe_line(const property_case *c, int i, char *text, size_t room)
{
    static char whole[TEXT_ROOM];
    char        name[NAME_ROOM];
    size_t      n = strcspn(c->lines[i], ": =,");
    if (!n || n >= NAME_ROOM || c->lines[i][n] == ',' || !strstr(c->lines[i], " = ")) return false;
    memcpy(name, c->lines[i], n);
    name[n] = 0;
    case_text(c, whole);
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.threads = 1});
    mtf_graph   *g = mtf_parse(s, whole, "random");
    mtf_tensor  *x = g ? mtf_find(g, name) : NULL;
    if (x) {
        char shape[SHAPE_TEXT];
        snprintf(text, room, "%s: %s%s", name, mtf_dtype_name(x->type),
                 shape_text(&x->shape, shape));
    }
    mtf_close(s);
    return x != NULL;
}

/* A line that can be an input needs nothing above it. */
static bool shrink_to_inputs(shrinker *s)
{
    bool any = false;
    for (int i = s->best->nlines - 1; i >= 0; i--) {
        char head[LINE_ROOM - 16];
        if (strstr(s->best->lines[i], "= input") || strstr(s->best->lines[i], "= constant(data"))
            continue;
        if (!describe_line(s->best, i, head, sizeof head)) continue;
        property_case *c = propose(s);
        for (int k = block_end(c, i) - i; k > 1; k--)
            drop_at(c->lines, sizeof c->lines[0], &c->nlines, i + 1);
        snprintf(c->lines[i], LINE_ROOM, "%s = input", head);
        if (try_next(s)) any = true;
    }
    return any;
}

/* ---- sizes ---- */

/* Every "dim=from" becomes "dim=to". */
static bool replace_size(property_case *c, const char *dim, int from, int to)
{
    char old[64], fresh[64];
    bool any = false;
    snprintf(old, sizeof old, "%.23s=%d", dim, from);
    snprintf(fresh, sizeof fresh, "%.23s=%d", dim, to);
    for (int i = 0; i < c->nlines; i++)
        for (char *at = c->lines[i]; (at = strstr(at, old)); at++) {
            size_t length = strlen(at), n = strlen(old), k = strlen(fresh);
            if (isdigit((unsigned char)at[n]) ||
                (at > c->lines[i] && isalnum((unsigned char)at[-1])))
                continue;
            if (k > n) continue;
            memmove(at + k, at + n, length - n + 1);
            memcpy(at, fresh, k);
            any = true;
        }
    return any;
}

static bool shrink_sizes(shrinker *s)
{
    char dims[MOST_DIMS][NAME_ROOM];
    bool any = false;
    int  n = case_dims(s->best, MOST_DIMS, dims);
    for (int d = 0; d < n; d++)
        for (int from = 60; from > 1; from--)
            for (int to = 1; to < from; to++) {
                if (!replace_size(propose(s), dims[d], from, to)) break;
                if (try_next(s)) {
                    any = true;
                    break;
                }
            }
    return any;
}

/* ---- mesh and layout ---- */

/* Drops the rule for state that begins at character `at`. */
static bool drop_state_rule(shrinker *s, size_t at)
{
    char  *rule = propose(s)->state_layout + at;
    size_t length = strcspn(rule, ",");
    memmove(rule, rule + length + (rule[length] == ','),
            strlen(rule + length) + 1 - (rule[length] == ','));
    size_t left = strlen(s->next->state_layout);
    if (left && s->next->state_layout[left - 1] == ',') s->next->state_layout[left - 1] = 0;
    return try_next(s);
}

static bool shrink_state_rules(shrinker *s)
{
    bool any = false;
    for (size_t at = 0; at < strlen(s->best->state_layout);) {
        if (drop_state_rule(s, at))
            any = true;
        else
            at += strcspn(s->best->state_layout + at, ",") + 1;
    }
    return any;
}

static bool shrink_rules(shrinker *s)
{
    bool any = shrink_state_rules(s);
    for (int i = s->best->nrules - 1; i >= 0; i--) {
        property_case *c = propose(s);
        drop_at(c->rules, sizeof c->rules[0], &c->nrules, i);
        if (try_next(s)) {
            any = true;
            continue;
        }
        for (int k = 0; s->best->rules[i].naxes > 1 && k < s->best->rules[i].naxes; k++) {
            cut_rule *r = &propose(s)->rules[i];
            drop_at(r->axis, sizeof r->axis[0], &r->naxes, k);
            if (try_next(s)) any = true;
        }
        if (!s->best->rules[i].optional) continue;
        propose(s)->rules[i].optional = false;
        if (try_next(s)) any = true;
    }
    return any;
}

/* Takes an axis away; false where a rule needs it. */
static bool drop_axis(property_case *c, int axis)
{
    for (int i = 0; i < c->nrules; i++)
        for (int k = 0; k < c->rules[i].naxes; k++) {
            if (c->rules[i].axis[k] == axis) return false;
            if (c->rules[i].axis[k] > axis) c->rules[i].axis[k]--;
        }
    drop_at(c->sizes, sizeof c->sizes[0], &c->naxes, axis);
    return c->naxes > 0 || !c->nrules;
}

static bool shrink_mesh(shrinker *s)
{
    bool any = false;
    for (int axis = s->best->naxes - 1; axis >= 0; axis--) {
        if (drop_axis(propose(s), axis) && try_next(s)) {
            any = true;
            continue;
        }
        for (int size = 1; size < s->best->sizes[axis]; size++) {
            propose(s)->sizes[axis] = size;
            if (!try_next(s)) continue;
            any = true;
            break;
        }
    }
    return any;
}

static bool shrink_rest(shrinker *s)
{
    bool any = false;
    if (s->best->steps > 1) {
        propose(s)->steps = 1;
        any = try_next(s) || any;
    }
    if (s->best->check) {
        propose(s)->check = false;
        any = try_next(s) || any;
    }
    if (s->best->automatic) {
        propose(s)->automatic = false;
        any = try_next(s) || any;
    }
    if (s->best->seed) {
        propose(s)->seed = 0;
        any = try_next(s) || any;
    }
    return any;
}

/* Inputs become constants, so that the text says all. */
static void inputs_to_constants(shrinker *s)
{
    for (int i = 0; i < s->best->nlines; i++) {
        property_case *c = propose(s);
        char           head[LINE_ROOM], *end = strstr(c->lines[i], " = input"), *line = c->lines[i];
        if (!end || end[strlen(" = input")] || !describe_line(s->best, i, head, sizeof head))
            continue;
        char      name[NAME_ROOM];
        int64_t   n = 1;
        mtf_dtype type = strstr(head, ": i32")    ? MTF_I32
                         : strstr(head, ": i64")  ? MTF_I64
                         : strstr(head, ": bool") ? MTF_BOOL
                                                  : MTF_F64;
        size_t    used = (size_t)(end - line);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(head, ":"), head);
        for (const char *p = head; (p = strchr(p, '=')); p++) n *= atoi(p + 1);
        used += (size_t)snprintf(line + used, LINE_ROOM - used, " = constant(data={");
        for (int64_t k = 0; k < n && used + 40 < LINE_ROOM; k++) {
            number a = fed_number(name, k, type);
            used += type == MTF_F64 ? (size_t)snprintf(line + used, LINE_ROOM - used, "%s%.15g",
                                                       k ? ", " : "", a.v)
                                    : (size_t)snprintf(line + used, LINE_ROOM - used, "%s%lld",
                                                       k ? ", " : "", (long long)a.i);
        }
        snprintf(line + used, LINE_ROOM - used, "})");
        if (used + 40 < LINE_ROOM) try_next(s);
    }
}

void case_shrink(property_case *c, verdict how, bool graph, char reason[REASON_ROOM])
{
    property_case *next = malloc(sizeof *next);
    if (!next) return;
    shrinker s = {c, next, how, graph, reason, 0};
    if (graph) c->nfetches = 0;
    bool any = true;
    while (any && s.tries < MAX_TRIES) {
        any = shrink_fetches(&s);
        any = shrink_lines(&s) || any;
        any = shrink_rules(&s) || any;
        any = shrink_to_inputs(&s) || any;
        any = shrink_mesh(&s) || any;
        any = shrink_sizes(&s) || any;
        any = shrink_rest(&s) || any;
    }
    inputs_to_constants(&s);
    free(next);
}

void case_print(const property_case *c, const char *reason)
{
    static char text[TEXT_ROOM];
    char        mesh[64], layout[1200];
    case_text(c, text);
    case_mesh(c, mesh, sizeof mesh);
    case_layout(c, layout, sizeof layout);
    printf("%s# --seed %llu --steps %d --device %s", text, (unsigned long long)c->seed, c->steps,
           case_device(c));
    if (c->naxes) printf(" --mesh %s --layout \"%s\"", mesh, layout);
    if (c->state_layout[0]) printf(" --state-layout \"%s\"", c->state_layout);
    for (int i = 0; i < c->nfetches; i++) printf(" --fetch %s", c->fetches[i].name);
    printf("\n# %s\n\n", reason);
}
