/* What a command line chose: fetches, mesh, layout, machine. */
#include "cli/choices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph_file.h"

int choose_fetches(const options *o, mtf_graph *g, mtf_tensor ***list)
{
    int n = 0;
    while (option_nth(o, "fetch", n)) n++;
    if (n == 0) return file_ends(g, list);
    *list = arena_array(&g->session->arena, mtf_tensor *, n);
    if (!*list) return -1;
    int kept = 0;
    for (int i = 0; i < n; i++) {
        mtf_tensor *x = file_find(g, option_nth(o, "fetch", i));
        if (!x) return -1;
        bool listed = false;
        for (int k = 0; k < kept; k++) listed |= (*list)[k] == x;
        if (!listed) (*list)[kept++] = x;
    }
    return kept;
}

bool choose_mesh(const options *o, mtf_session *s, choice *c)
{
    const char *m = option_nth(o, "mesh", 0), *l = option_nth(o, "layout", 0);
    return mesh_parse(s, m ? m : "", &c->mesh) &&
           layout_parse(s, l ? l : "", &c->mesh, &c->layout) &&
           layout_parse_state(s, option_nth(o, "state-layout", 0), &c->layout);
}

bool choose_processor(const options *o, mtf_session *s, const mesh *m, int *number)
{
    const char *text = option_nth(o, "processor", 0);
    uint64_t    n = (uint64_t)*number;
    if (!text || !option_number(o, "processor", 0, MAX_PROCESSORS - 1, &n)) return !text;
    if (n >= (uint64_t)mesh_size(m))
        return fail(&s->fault, ERR_VALUE, "--processor %s: the mesh has processors 0 to %d", text,
                    mesh_size(m) - 1);
    *number = (int)n;
    return true;
}

/* "name=number" into the field of that name. */
static bool take_rate(const options *o, const char *piece, price_rates *r)
{
    const struct {
        const char *name;
        double     *to;
    } fields[] = {
        {"flops", &r->flops}, {"memory", &r->memory}, {"wire", &r->wire}, {"latency", &r->latency}};
    const char *equals = strchr(piece, '=');
    size_t      length = equals ? (size_t)(equals - piece) : 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) != length || strncmp(fields[i].name, piece, length) != 0)
            continue;
        char  *end;
        double v = strtod(equals + 1, &end);
        bool   sound = end > equals + 1 && !*end && isfinite(v) &&
                     (v > 0 || (v == 0 && fields[i].to == &r->latency));
        if (sound) *fields[i].to = v;
        if (sound) return true;
    }
    usage_error(o->command,
                "--machine takes flops, memory, wire (each in a second) and latency (in seconds), "
                "as in \"flops=30e9,latency=1e-5\", not \"%s\"",
                piece);
    return false;
}

bool choose_machine(const options *o, price_rates *r)
{
    const char *text = option_nth(o, "machine", 0);
    *r = PRICE_RATES;
    if (!text) return true;
    char *copy = strdup(text), *rest = copy, *piece;
    bool  ok = copy != NULL;
    while (ok && (piece = strtok_r(rest, ",; ", &rest)) != NULL) ok = take_rate(o, piece, r);
    free(copy);
    return ok;
}
