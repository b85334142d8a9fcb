/* Names: tables keyed by text, and the nearest name to a misspelt one. */
#include "base/names.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

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
            bool same = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
            int  best = d[i - 1][j - 1] + !same;
            if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

/* Scores: a lower one is likelier.  Each wrong letter adds SLIP. */
enum { BEGINNING = 3, SLIP = 4, PIECE = 5, INSIDE = 6, FOREIGN = 2, UNLIKE = INT_MAX };

static bool ends_piece(char c)
{
    return !ascii_is_alnum(c);
}

/* Does `text` contain the word: at its beginning, as a whole piece ("data" of "eval-data"), or
 * somewhere? */
static int contained(const char *text, const char *word)
{
    size_t      n = strlen(word);
    const char *at = strcasestr(text, word);
    if (n < 3 || !at) return UNLIKE;
    if (at == text) return BEGINNING;
    return ends_piece(at[-1]) && ends_piece(at[n]) ? PIECE : INSIDE;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

static int likeness(const char *wanted, const char *candidate)
{
    /* A word with more than a third of its letters wrong, or all of them, is not a misspelling. */
    int length = (int)strlen(wanted), wrong = distance(wanted, candidate);
    int slips = wrong <= length / 3 + 1 && wrong < length ? wrong * SLIP : UNLIKE;
    return wrong == 0
               ? 0
               : least(slips, least(contained(candidate, wanted), contained(wanted, candidate)));
}

static void offer(nearest *n, const char *candidate, int more)
{
    int score = likeness(n->wanted, candidate);
    if (score == UNLIKE || (n->best && score + more >= n->score)) return;
    n->best = candidate;
    n->score = score + more;
}

void nearest_offer(nearest *n, const char *candidate)
{
    offer(n, candidate, 0);
}

void nearest_offer_foreign(nearest *n, const char *candidate)
{
    offer(n, candidate, FOREIGN);
}

const char *nearest_hint(const nearest *n, char *text, size_t room)
{
    if (n->best)
        snprintf(text, room, "; did you mean \"%s%s\"?", n->before ? n->before : "", n->best);
    else if (room)
        text[0] = 0;
    return text;
}
