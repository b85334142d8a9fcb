/* An error on one rank becomes an error on all. */
#include "checkpoint/agree.h"

#include <stdio.h>
#include <string.h>

/* The error state that a rank sends. */
typedef struct word {
    int  kind;
    char text[sizeof((fault *)0)->text];
} word;

bool agree_on(store *s, const char *what, const fault *f, fault *first)
{
    mtf_session *m = s->session;
    if (f->kind != ERR_NONE && !s->ranks) fault_take(first, f->kind, f->text);
    if (!s->ranks) return f->kind == ERR_NONE && mtf_ok(m);
    int   count = ranks_count(s->ranks);
    word  mine = {.kind = f->kind};
    word *all = block_alloc(&m->allocator, &m->fault, sizeof *all * (size_t)count, false);
    memcpy(mine.text, f->text, sizeof mine.text);
    bool ok = all && ranks_gather(s->ranks, what, &mine, all, (int)sizeof mine);
    for (int k = 0; ok && k < count; k++)
        if (all[k].kind != ERR_NONE) {
            char whose[40];
            snprintf(whose, sizeof whose, "rank %d", k);
            fault_take(first, all[k].kind, all[k].text);
            if (k > 0) fault_whose(first, whose);
            first->named = true; /* the text already names the rank */
            ok = false;
        }
    block_free(&m->allocator, all);
    return ok && mtf_ok(m);
}

bool agree(store *s, const char *what, const fault *f)
{
    fault *mine = &s->session->fault, all = {0};
    bool   ok = agree_on(s, what, f, &all);
    if (all.kind != ERR_NONE && fault_take(mine, all.kind, all.text)) mine->named = all.named;
    return ok;
}

bool agree_sums(store *s, const char *what, int n, uint64_t *sums)
{
    enum { AT_ONCE = 1024 };
    mtf_session *m = s->session;
    if (!s->ranks || n == 0) return true;
    size_t    count = (size_t)ranks_count(s->ranks);
    uint64_t *all = block_alloc(&m->allocator, &m->fault, sizeof *all * AT_ONCE * count, false);
    bool      ok = all != NULL;
    for (int first = 0; ok && first < n; first += AT_ONCE) {
        int k = n - first < AT_ONCE ? n - first : AT_ONCE;
        ok = ranks_gather(s->ranks, what, sums + first, all, k * (int)sizeof *sums);
        for (int i = 0; ok && i < k; i++) {
            sums[first + i] = 0;
            for (size_t r = 0; r < count; r++) sums[first + i] += all[r * (size_t)k + (size_t)i];
        }
    }
    block_free(&m->allocator, all);
    return ok;
}

bool agree_all(store *s, const char *what, bool flag)
{
    uint64_t missing = !flag;
    return agree_sums(s, what, 1, &missing) && missing == 0;
}
