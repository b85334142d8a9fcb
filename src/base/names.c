/* Names: tables keyed by text, and the nearest name to a misspelt one. */
#include "base/names.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

uint64_t hash_bytes(uint64_t seed, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t             h = seed ^ 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < bytes; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

uint64_t hash_text(const char *text)
{
    return hash_bytes(0, text, strlen(text));
}

static struct name_entry *slot(const name_table *t, const char *name)
{
    uint64_t mask = (uint64_t)t->room - 1;
    for (uint64_t i = hash_text(name) & mask;; i = (i + 1) & mask)
        if (!t->entries[i].name || strcmp(t->entries[i].name, name) == 0) return &t->entries[i];
}

static bool enlarge(name_table *t)
{
    name_table bigger = {.arena = t->arena, .room = t->room ? t->room * 2 : 32};
    bigger.entries = arena_array(t->arena, struct name_entry, bigger.room);
    if (!bigger.entries) return false;
    for (int i = 0; i < t->room; i++)
        if (t->entries[i].name) *slot(&bigger, t->entries[i].name) = t->entries[i];
    bigger.count = t->count;
    *t = bigger;
    return true;
}

bool names_put(name_table *t, const char *name, void *value)
{
    if (2 * (t->count + 1) > t->room) TRY(enlarge(t));
    struct name_entry *e = slot(t, name);
    if (!e->name) t->count++;
    *e = (struct name_entry){name, value};
    return true;
}

void *names_get(const name_table *t, const char *name)
{
    return t->room ? slot(t, name)->value : NULL;
}

/* Edit distance with transpositions, case ignored; names are cut at LONGEST characters. */
enum { LONGEST = 40 };

static int distance(const char *a, const char *b)
{
    int na = (int)strnlen(a, LONGEST), nb = (int)strnlen(b, LONGEST);
    int d[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= na; i++) d[i][0] = i;
    for (int j = 0; j <= nb; j++) d[0][j] = j;
    for (int i = 1; i <= na; i++)
        for (int j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = d[i - 1][j - 1] + (ca != cb);
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

void nearest_offer(nearest *n, const char *candidate)
{
    int d = distance(n->wanted, candidate);
    if (n->best && d >= n->distance) return;
    n->best = candidate;
    n->distance = d;
}

const char *nearest_hint(const nearest *n, char *text, size_t room)
{
    /* More than a third of the letters wrong, or all of them, is another word, not a misspelt one. */
    int  length = (int)strlen(n->wanted), limit = length / 3 + 1;
    bool near = n->best && n->distance <= limit && n->distance < length;
    if (near)
        snprintf(text, room, "; did you mean \"%s\"?", n->best);
    else
        text[0] = 0;
    return text;
}
