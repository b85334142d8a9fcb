/* Random meshes and layouts, and their text. */
#include <stdio.h>
#include <string.h>

#include "property_case.h"

/* ---- dice ---- */

uint64_t dice_bits(dice *d)
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int dice_below(dice *d, int n)
{
    return n > 1 ? (int)(dice_bits(d) % (uint64_t)n) : 0;
}

bool dice_odds(dice *d, int percent)
{
    return dice_below(d, 100) < percent;
}

/* ---- text ---- */

void case_text(const property_case *c, char text[TEXT_ROOM])
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->nlines; i++)
        used += (size_t)snprintf(text + used, TEXT_ROOM - used, "%s\n", c->lines[i]);
}

void case_mesh(const property_case *c, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->naxes; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%c:%d", i ? "," : "", 'x' + i,
                                 c->sizes[i]);
}

void case_layout(const property_case *c, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < c->nrules && used + NAME_ROOM + 16 < room; i++) {
        const cut_rule *r = &c->rules[i];
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? "," : "", r->dim);
        for (int k = 0; k < r->naxes; k++)
            used +=
                (size_t)snprintf(text + used, room - used, "%c%c", k ? '+' : ':', 'x' + r->axis[k]);
        if (r->optional) used += (size_t)snprintf(text + used, room - used, "?");
    }
    if (c->automatic) snprintf(text + used, room - used, "%sauto", used ? "," : "");
}

/* ---- choosing ---- */

static void make_mesh(property_case *c, dice *d)
{
    int processors;
    do {
        processors = 1;
        c->naxes = 1 + dice_below(d, MESH_AXES);
        for (int i = 0; i < c->naxes; i++) {
            c->sizes[i] = 1 + dice_below(d, 4);
            /* One processor along an axis is legal, and seldom of interest. */
            if (c->sizes[i] == 1 && dice_odds(d, 60)) c->sizes[i] = 2;
            processors *= c->sizes[i];
        }
    } while (processors > 12);
}

static void make_rule(property_case *c, dice *d, const char *dim)
{
    cut_rule *r = &c->rules[c->nrules++];
    *r = (cut_rule){.optional = dice_odds(d, 10)};
    snprintf(r->dim, NAME_ROOM, "%s", dim);
    int      n = dice_odds(d, 60) ? 1 : 1 + dice_below(d, c->naxes);
    unsigned used = 0;
    while (r->naxes < n) {
        int axis = dice_below(d, c->naxes);
        if (used >> axis & 1) continue;
        used |= 1u << axis;
        r->axis[r->naxes++] = axis;
    }
}

/* Rules for state in random order, optional so that lines and axes can be shrunk away, and mostly
 * firm: programs as small as these would decline many. */
static void make_state_layout(property_case *c, dice *d, int ndims, char dims[][NAME_ROOM])
{
    size_t room = sizeof c->state_layout, used = 0;
    int    first = dice_below(d, ndims);
    bool   firm = dice_odds(d, 85);
    c->state_layout[0] = 0;
    for (int i = 0; i < ndims && used + NAME_ROOM + 6 < room; i++)
        if (dice_odds(d, 60))
            used += (size_t)snprintf(c->state_layout + used, room - used, "%s%s:%c?%s",
                                     used ? "," : "", dims[(first + i) % ndims],
                                     'x' + dice_below(d, c->naxes), firm ? "!" : "");
}

/* What is owed along the second axis is scattered along it, in parts of parts along the first. */
static void aim_at_scatters(property_case *c, dice *d, int ndims, char dims[][NAME_ROOM])
{
    size_t room = sizeof c->state_layout, used = 0;
    int    first = dice_below(d, c->naxes), second = (first + 1) % c->naxes;
    c->state_layout[0] = 0;
    for (int i = 0; i < ndims && c->nrules < MAX_RULES - 1; i++) {
        bool owed = !strcmp(dims[i], "owed");
        if (!owed && !dice_odds(d, 50)) continue;
        cut_rule *r = &c->rules[c->nrules++];
        *r = (cut_rule){.naxes = 1, .axis = {owed ? second : first}};
        snprintf(r->dim, NAME_ROOM, "%s", dims[i]);
        if (!owed && used + NAME_ROOM + 6 < room)
            used += (size_t)snprintf(c->state_layout + used, room - used, "%s%s:%c?!",
                                     used ? "," : "", dims[i], 'x' + second);
    }
}

static bool has_owed(int ndims, char dims[][NAME_ROOM])
{
    for (int i = 0; i < ndims; i++)
        if (!strcmp(dims[i], "owed")) return true;
    return false;
}

void case_no_layout(property_case *c)
{
    c->naxes = c->nrules = 0;
    c->automatic = false;
    c->state_layout[0] = 0;
}

void case_make_layout(property_case *c, dice *d, int ndims, char dims[][NAME_ROOM])
{
    int share = 20 + dice_below(d, 60);
    case_no_layout(c);
    if (dice_odds(d, 8)) return; /* one processor */
    make_mesh(c, d);
    if (c->naxes > 1 && has_owed(ndims, dims) && dice_odds(d, 30)) {
        aim_at_scatters(c, d, ndims, dims);
        return;
    }
    if (dice_odds(d, 40)) make_state_layout(c, d, ndims, dims);
    if (dice_odds(d, 3)) { /* a search: one rule that stands, or none */
        c->automatic = true;
        share = 10;
    }
    for (int i = 0; i < ndims && c->nrules < MAX_RULES - 1; i++)
        if (dice_odds(d, share)) make_rule(c, d, dims[i]);
    if (dice_odds(d, 10)) {
        make_rule(c, d, "absent");
        c->rules[c->nrules - 1].optional = true;
    }
}

/* The k-th rule of `... by the rules "a:x" and "b:x"; ...`, or -1. */
static int named_rule(const property_case *c, const char *reason, int k)
{
    const char *at = strstr(reason, "by the rules \"");
    at = at ? at + strlen("by the rules \"") : NULL;
    if (at && k) at = strstr(at, "\" and \"");
    if (at && k) at += strlen("\" and \"");
    for (int i = 0; at && i < c->nrules; i++) {
        size_t n = strlen(c->rules[i].dim);
        if (!strncmp(at, c->rules[i].dim, n) && at[n] == ':') return i;
    }
    return -1;
}

bool case_drop_rule(property_case *c, dice *d, const char *reason)
{
    int i = named_rule(c, reason, dice_below(d, 2));
    if (i < 0) i = c->nrules - 1; /* those of a search are not named */
    if (i < 0) return false;
    memmove(&c->rules[i], &c->rules[i + 1], sizeof c->rules[0] * (size_t)(c->nrules - i - 1));
    c->nrules--;
    return true;
}
