/* Sites: which processors share memory, and how collectives are done. */
#include "program/site.h"

#include "program/exchange.h"
#include "program/group.h"

static bool is_one_process(const site *s)
{
    return !s || s->ranks <= 1;
}

/* The most processors in one process. */
static int widest(const site *s, const mesh *m)
{
    return (mesh_size(m) + s->ranks - 1) / s->ranks;
}

static int64_t block_of(const site *s, int rank)
{
    return (int64_t)rank * s->hosts / s->ranks;
}

/* the process of a processor */
static int site_rank(const site *s, const mesh *m, int processor)
{
    if (is_one_process(s)) return 0;
    return (int)(((processor + 1) * (int64_t)s->ranks - 1) / mesh_size(m));
}

span site_process(const site *s, const mesh *m, int processor)
{
    int all = mesh_size(m);
    return is_one_process(s) ? (span){0, all}
                             : part_range(all, s->ranks, site_rank(s, m, processor));
}

int site_threads(const site *s, const mesh *m, int processor)
{
    int64_t each = s ? s->threads / site_process(s, m, processor).size : 1;
    return each > 1 ? (int)each : 1;
}

/* ---- hosts ---- */

/* Do ranks begin a host exactly where they begin a block? */
static bool are_blocks(const site *s, const int *host)
{
    for (int k = 1; k < s->ranks; k++)
        if ((host[k] == k) != (block_of(s, k) != block_of(s, k - 1)) ||
            (host[k] != k && host[k] != host[k - 1]))
            return false;
    return true;
}

site site_of_hosts(int ranks, const int *host)
{
    site s = {.ranks = ranks};
    for (int k = 0; k < ranks; k++) s.hosts += host[k] == k;
    if (!are_blocks(&s, host)) s.host = host;
    return s;
}

bool site_has_hosts(const site *s)
{
    return !is_one_process(s) && !s->library && (s->host || s->hosts > 1);
}

bool site_same_host(const site *s, const mesh *m, int a, int b)
{
    if (is_one_process(s)) return true;
    int x = site_rank(s, m, a), y = site_rank(s, m, b);
    return s->host ? s->host[x] == s->host[y] : s->hosts <= 1 || block_of(s, x) == block_of(s, y);
}

span site_host(const site *s, const mesh *m, int processor)
{
    int all = mesh_size(m);
    if (is_one_process(s) || s->host || s->hosts <= 1) return (span){0, all};
    int64_t block = block_of(s, site_rank(s, m, processor));
    int     first = (int)((block * s->ranks + s->hosts - 1) / s->hosts);
    int     end = (int)(((block + 1) * s->ranks + s->hosts - 1) / s->hosts);
    int64_t begin = part_range(all, s->ranks, first).begin;
    span    last = part_range(all, s->ranks, end - 1);
    return (span){begin, last.begin + last.size - begin};
}

/* ---- how collectives are done ---- */

bool site_meets(const site *s, const mesh *m, int me, unsigned axes)
{
    if (is_one_process(s)) return true;
    if (s->library) return false;
    group g = group_of(m, me, axes);
    bool  all = widest(s, m) == 1 && g.n > 1 && g.n <= MAILBOX_BYTES / CACHE_LINE;
    for (int k = 0; k < g.n && all && s->host; k++)
        all = s->host[group_member(m, &g, k)] == s->host[me];
    /* Blocks and members are both ordered by rank: it is enough to check the first and the last. */
    return all && (s->host || block_of(s, group_member(m, &g, 0)) ==
                                  block_of(s, group_member(m, &g, g.n - 1)));
}

/* Through shared memory go parts that fit, and contiguous parts, which may take several rounds. */
bool site_exchange_meets(const site *s, const mesh *m, int me, const instr *i)
{
    if (is_one_process(s)) return true;
    const exchange_args *how = i->exchange;
    int64_t              bytes = (int64_t)mtf_dtype_bytes(i->out[0].type);
    int64_t              most = exchange_gathers(how) ? MAILBOX_BYTES : LOOSE_BYTES;
    bool suits = exchange_largest(m, how) * bytes <= most || find_runs(m, how, me, bytes).dim >= 0;
    return suits && site_meets(s, m, me, exchange_axes(how));
}

bool site_takes_whole(int n, int64_t bytes)
{
    return bytes * (n > 1 ? n - 1 : 1) <= WHOLE_BYTES;
}

bool site_swaps(const site *s, const mesh *m, int n, int64_t bytes)
{
    return !s->library && n <= SWAP_MEMBERS && widest(s, m) == 1 && bytes <= SWAP_BYTES;
}
