/* The cheapest registers of a map from which others follow.
 *
 * That is a minimum cut: what flows from inputs and folds to the wanted
 * registers has to pass through each register's cost.  The largest flow is found
 * by the shortest paths that still have room (Edmonds and Karp).
 */
#include "plan/least_cut.h"

#include "program/map_form.h"

/* Each register has two nodes, before and after its cost. */
enum { SOURCE = 2 * MAX_REGISTERS, SINK, NODES };
enum { MOST_EDGES = 2 * (6 * MAX_REGISTERS) };

typedef struct flow_edge {
    int64_t room;
    int to, next; /* edge e and e ^ 1 are the two directions; next: of the same node, -1: none */
} flow_edge;

typedef struct network {
    int       first[NODES], nedges;
    flow_edge edges[MOST_EDGES];
    int       came_by[NODES]; /* the edge of the path; -1: not reached */
} network;

static int before(int reg)
{
    return 2 * reg;
}
static int after(int reg)
{
    return 2 * reg + 1;
}

static void connect(network *n, int from, int to, int64_t room)
{
    n->edges[n->nedges] = (flow_edge){room, to, n->first[from]};
    n->first[from] = n->nedges++;
    n->edges[n->nedges] = (flow_edge){0, from, n->first[to]};
    n->first[to] = n->nedges++;
}

static void build_flow(network *n, const least_cut *c)
{
    const instr *m = c->map;
    for (int k = 0; k < NODES; k++) n->first[k] = -1;
    n->nedges = 0;
    for (int r = 0; r < m->nin + m->map.nsteps; r++) {
        const scalar_step *s = map_register_step(m, r);
        int                of[3], operands = s ? map_operands(s, of) : 0;
        connect(n, before(r), after(r), c->cost[r]);
        if (!s || map_folds(s->fn)) connect(n, SOURCE, before(r), NOT_AT_ANY_COST);
        for (int k = 0; k < operands; k++) connect(n, after(of[k]), before(r), NOT_AT_ANY_COST);
        if (c->wanted[r]) connect(n, after(r), SINK, NOT_AT_ANY_COST);
    }
}

/* Nodes reached from `start`, along edges with room, or (backwards) against them. */
static void reach(network *n, int start, bool backwards)
{
    int queue[NODES], begin = 0, end = 0;
    for (int k = 0; k < NODES; k++) n->came_by[k] = -1;
    n->came_by[start] = MOST_EDGES;
    for (queue[end++] = start; begin < end;) {
        for (int e = n->first[queue[begin++]]; e >= 0; e = n->edges[e].next) {
            int to = n->edges[e].to;
            if (n->came_by[to] >= 0 || n->edges[backwards ? e ^ 1 : e].room == 0) continue;
            n->came_by[to] = e;
            queue[end++] = to;
        }
    }
}

/* Fills the path that was found; returns what flows along it. */
static int64_t fill_path(network *n)
{
    int64_t most = NOT_AT_ANY_COST;
    for (int k = SINK; k != SOURCE; k = n->edges[n->came_by[k] ^ 1].to)
        if (n->edges[n->came_by[k]].room < most) most = n->edges[n->came_by[k]].room;
    for (int k = SINK; k != SOURCE; k = n->edges[n->came_by[k] ^ 1].to) {
        n->edges[n->came_by[k]].room -= most;
        n->edges[n->came_by[k] ^ 1].room += most;
    }
    return most;
}

int64_t least_cut_find(least_cut *c)
{
    network n;
    int64_t cost = 0;
    build_flow(&n, c);
    for (reach(&n, SOURCE, false); n.came_by[SINK] >= 0; reach(&n, SOURCE, false)) {
        cost += fill_path(&n);
        if (cost >= NOT_AT_ANY_COST) return NOT_AT_ANY_COST;
    }
    /* The cut that is nearest to the sink. */
    reach(&n, SINK, true);
    for (int r = 0; r < c->map->nin + c->map->map.nsteps; r++)
        c->kept[r] = n.came_by[after(r)] >= 0 && n.came_by[before(r)] < 0;
    return cost;
}
