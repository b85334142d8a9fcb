/* Meshes and layouts of a configuration. */
#include "model/config/config_mesh.h"

#include "model/config/configurable.h"
#include "model/config/optional_rules.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSORS = 1 << 20 }; /* along an axis */

/* ---- lists "name:value,name:value" ---- */

typedef struct pair {
    const char *name, *value;
    int         name_length, value_length;
} pair;

/* The next pair of a list; false at its end, and where the text is not a pair, which leaves it unread. */
static bool next_pair(const char **list, pair *p)
{
    *list += strspn(*list, " \t\n,;");
    p->name = *list;
    p->name_length = (int)strcspn(p->name, ":,; \t\n");
    const char *colon = p->name + p->name_length;
    colon += strspn(colon, " \t");
    if (*colon != ':' || p->name_length == 0) return false;
    p->value = colon + 1 + strspn(colon + 1, " \t");
    p->value_length = (int)strcspn(p->value, ":,; \t\n");
    if (p->value_length == 0) return false;
    *list = p->value + p->value_length;
    return true;
}

static bool is_named(const pair *p, const char *name, int length)
{
    return p->name_length == length && strncmp(p->name, name, (size_t)length) == 0;
}

/* The size of an axis; 0: the mesh has none of that name. */
static int64_t axis_size(const char *mesh, const char *name, int length)
{
    pair p;
    while (next_pair(&mesh, &p))
        if (is_named(&p, name, length)) return strtoll(p.value, NULL, 10);
    return 0;
}

/* The number of parts into which a rule's axes, such as "rows+cols", cut; 0: the mesh lacks one. */
static int64_t rule_size(const char *mesh, const pair *rule)
{
    int64_t     size = 1;
    const char *axis = rule->value, *end = axis + rule->value_length;
    while (end > axis && strchr("?!", end[-1])) end--;
    while (axis < end && size > 0) {
        int length = (int)strcspn(axis, "+");
        if (length > end - axis) length = (int)(end - axis);
        int64_t one = axis_size(mesh, axis, length);
        size = size <= MOST_PROCESSORS ? size * one : 0;
        axis += length + 1;
    }
    return size;
}

int64_t mesh_splits(const mesh_rules *m, const char *dimension)
{
    const char *rules = m->layout;
    pair        p;
    int64_t     size = 1;
    while (next_pair(&rules, &p))
        if (is_named(&p, dimension, (int)strlen(dimension))) size = rule_size(m->mesh, &p);
    return size > 0 ? size : 1;
}

int64_t mesh_replicas(const mesh_rules *m)
{
    return mesh_splits(m, "batch") * mesh_splits(m, "outer_batch");
}

/* ---- values ---- */

/* "8x8": 64 chips of two cores each; "v3-32": 32 cores. */
static bool count_cores(mtf_config *c, const gin_value *v, int64_t *cores)
{
    const char *dash = v->kind == GIN_TEXT ? strrchr(v->text, '-') : NULL;
    char       *end = NULL;
    *cores = 0;
    if (v->kind == GIN_INT)
        *cores = v->whole;
    else if (dash)
        *cores = strtoll(dash + 1, &end, 10);
    else if (v->kind == GIN_TEXT && isdigit((unsigned char)*v->text)) {
        *cores = 2;
        for (const char *at = v->text; *cores > 0; at = end + 1) {
            int64_t n = strtoll(at, &end, 10);
            *cores = end > at && n > 0 && n <= 4096 && *cores < 1 << 20 ? *cores * n : 0;
            if (*end != 'x') break;
        }
    }
    return (*cores > 0 && *cores <= 1 << 24 && (!end || !*end)) ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "tpu_mesh_shape.tpu_topology takes '8x8', 'v3-32' or the like");
}

static const char *tpu_mesh(mtf_config *c, const gin_value *v)
{
    mesh_args a = {0};
    textbuf   t = {.arena = &c->gin.session->arena};
    int64_t   cores;
    if (!configure(c, &known_tpu_mesh_shape, v->scope, NULL, &a)) return NULL;
    if (a.topology->kind == GIN_NONE) return "";
    if (!count_cores(c, a.topology, &cores)) return NULL;
    int64_t members = a.ensemble > 0 ? a.ensemble : 1, batch = cores / a.model / members;
    if (batch * a.model * members != cores) {
        gin_fail(&c->gin, &a.topology->at, ERR_VALUE,
                 "%lld cores are not divided by model_parallelism %lld and ensemble_parallelism "
                 "%lld",
                 (long long)cores, (long long)a.model, (long long)members);
        return NULL;
    }
    const struct {
        const char *name;
        int64_t     size;
    } axes[] = {{"ensemble", members}, {"batch", batch}, {"model", a.model}};
    for (int k = 0; k < 3; k++)
        if (axes[k].size > 1)
            text_add(&t, "%s%s:%lld", t.used ? "," : "", axes[k].name, (long long)axes[k].size);
    return text_done(&t);
}

/* A text, or pairs in a list or a dictionary. */
static const char *pairs_text(mtf_config *c, const gin_value *v, const char *what)
{
    textbuf t = {.arena = &c->gin.session->arena};
    bool    ok = config_is_list(v) || v->kind == GIN_DICT;
    if (v->kind == GIN_NONE) return "";
    if (v->kind == GIN_TEXT) return v->text;
    for (int k = 0; ok && k < v->n; k++) {
        const gin_value *item = v->kind == GIN_DICT ? NULL : config_item(c, v, k), *part[2];
        ok = v->kind == GIN_DICT || (item && config_is_list(item) && item->n == 2);
        for (int i = 0; ok && i < 2; i++) {
            part[i] = gin_resolve(&c->gin, item ? &item->items[i] : &v->items[2 * k + i]);
            ok = part[i] && (part[i]->kind == GIN_TEXT || part[i]->kind == GIN_INT);
        }
        if (!ok) break;
        const char *value = part[1]->kind == GIN_TEXT ? part[1]->text : gin_text(&c->gin, part[1]);
        text_add(&t, "%s%s:%s", k ? "," : "", part[0]->kind == GIN_TEXT ? part[0]->text : "",
                 value);
    }
    if (ok) return text_done(&t);
    if (mtf_ok(c->gin.session))
        gin_fail(&c->gin, &v->at, ERR_VALUE, "run.%s takes a string, such as 'batch:4,model:2'",
                 what);
    return NULL;
}

/* ---- reading ---- */

static bool check_pairs(mtf_config *c, const gin_value *v, const char *list, const char *what,
                        bool sizes)
{
    pair  p;
    char *end;
    while (next_pair(&list, &p))
        if (sizes) {
            long long size = strtoll(p.value, &end, 10);
            if (size < 1 || size > MOST_PROCESSORS || end != p.value + p.value_length)
                return gin_fail(&c->gin, &v->at, ERR_VALUE,
                                "run.%s: the size of an axis is a whole number from 1 on, not "
                                "\"%.*s\"",
                                what, p.value_length, p.value);
        }
    return !*list ||
           gin_fail(&c->gin, &v->at, ERR_VALUE,
                    "run.%s is a list as in 'batch:4,model:2'; \"%.40s\" is not name:value", what,
                    list);
}

/* Dimensions of Transformers, including those of layers that mtf does not have yet. */
static const char *const dimensions[] = {"batch",       "outer_batch",
                                         "length",      "memory_length",
                                         "d_model",     "d_ff",
                                         "heads",       "d_kv",
                                         "vocab",       "experts",
                                         "ensemble",    "expert_hidden",
                                         "max_length",  "expert_capacity",
                                         "group",       "buckets",
                                         "query_heads", "beam",
                                         "inner_batch", "expert_x",
                                         "expert_y",    "inner_vocab",
                                         "gates",       "gate_embedding",
                                         "n_heads",     "softmax_components",
                                         "n_keys",      "n_values",
                                         "knn",         "product_key",
                                         "key",         "tmp",
                                         "branch_d_ff", "batch_unsplit",
                                         "slots",       "outer_batch_unsplit",
                                         NULL};

const char *mesh_optional_rules(arena *a, const char *rules)
{
    static const char between[] = ",.; \t\n";
    textbuf           t = {.arena = a};
    const char       *next = rules;
    while (next && *(next += strspn(next, between))) {
        size_t n = strcspn(next, between), name = strcspn(next, ":");
        bool   known = false;
        for (int k = 0; dimensions[k]; k++)
            known |= strlen(dimensions[k]) == name && memcmp(dimensions[k], next, name) == 0;
        known = known && name < n && !memchr(next, '?', n);
        text_add(&t, "%s%.*s%s", t.used ? "," : "", (int)n, next, known ? "?" : "");
        next += n;
    }
    return t.used ? text_done(&t) : rules;
}

static void check_dimension(mtf_config *c, const gin_value *v, const pair *rule)
{
    char    name[60], hint[100];
    nearest near = {.wanted = name};
    snprintf(name, sizeof name, "%.*s", rule->name_length, rule->name);
    for (int k = 0; dimensions[k]; k++) {
        if (strcmp(dimensions[k], name) == 0) return;
        nearest_offer(&near, dimensions[k]);
    }
    gin_say(&c->gin, &v->at, true, "run.layout_rules: Transformers have no dimension \"%s\"%s",
            name, nearest_hint(&near, hint, sizeof hint));
}

/* Rules for axes that the mesh has.  Each ends in "?" because, as in the original, a model need not have
 * their dimensions. */
static const char *kept_rules(mtf_config *c, const char *mesh, const gin_value *v,
                              const char *rules)
{
    textbuf t = {.arena = &c->gin.session->arena};
    pair    p;
    while (next_pair(&rules, &p)) {
        check_dimension(c, v, &p);
        if (rule_size(mesh, &p) == 0) continue;
        bool marked = memchr(p.value, '?', (size_t)p.value_length) != NULL;
        text_add(&t, "%s%.*s:%.*s%s", t.used ? "," : "", p.name_length, p.name, p.value_length,
                 p.value, marked ? "" : "?");
    }
    return text_done(&t);
}

bool mesh_read(mtf_config *c, const gin_value *shape, const gin_value *rules, mesh_rules *m)
{
    if (shape->kind == GIN_REFERENCE) {
        const configurable *k = config_reference(c, shape, "run.mesh_shape");
        TRY(k != NULL);
        if (k != &known_tpu_mesh_shape)
            return gin_fail(&c->gin, &shape->at, ERR_VALUE,
                            "run.mesh_shape takes a string or @tpu_mesh_shape(), not @%s", k->name);
        m->mesh = tpu_mesh(c, shape);
    } else {
        m->mesh = pairs_text(c, shape, "mesh_shape");
    }
    const char *all = m->mesh ? pairs_text(c, rules, "layout_rules") : NULL;
    TRY(all && check_pairs(c, shape, m->mesh, "mesh_shape", true));
    m->layout = m->all = all;
    if (strcmp(all, "auto") == 0) return true;
    TRY(check_pairs(c, rules, all, "layout_rules", false));
    m->layout = kept_rules(c, m->mesh, rules, all);
    return m->layout != NULL;
}
