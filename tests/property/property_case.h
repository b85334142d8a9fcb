/* A random graph as text, with the mesh and the layout it runs on.
 *
 * A case is a plain value: shrinking copies it, changes the copy, and keeps the
 * copy where it still fails.  What inputs hold follows from their names, so
 * that removing a line changes nothing else.
 */
#ifndef PROPERTY_CASE_H
#define PROPERTY_CASE_H

#include "mtf.h"

enum {
    MAX_LINES = 72, /* of a graph; a block of lines counts once */
    LINE_ROOM = 640,
    TEXT_ROOM = MAX_LINES * LINE_ROOM,
    NAME_ROOM = 24,
    MAX_FETCHES = 48,
    MESH_AXES = 3, /* called x, y, z */
    MAX_RULES = 24,
    REASON_ROOM = 700,
    PATIENCE = 30 /* seconds for one run of a case */
};

/* A dimension and the axes that cut it, coarsest first. */
typedef struct cut_rule {
    char dim[NAME_ROOM];
    int  naxes, axis[MESH_AXES];
    bool optional;
} cut_rule;

typedef struct fetch_wish {
    char name[NAME_ROOM];
    bool exact; /* no floating sum on the way: every layout gives the same bits */
} fetch_wish;

typedef struct property_case {
    int        nlines;
    char       lines[MAX_LINES][LINE_ROOM];
    int        nfetches;
    fetch_wish fetches[MAX_FETCHES];
    int        naxes, sizes[MESH_AXES];
    int        nrules;
    cut_rule   rules[MAX_RULES];
    char       state_layout[200]; /* "": none */
    uint64_t   seed; /* of the session */
    int        steps;
    bool       single; /* f32: rounding is allowed more */
    bool       check;  /* on device check */
} property_case;

void case_text(const property_case *c, char text[TEXT_ROOM]);
void case_mesh(const property_case *c, char *text, size_t room);
void case_layout(const property_case *c, char *text, size_t room);

/* ---- random choices ---- */

typedef struct dice {
    uint64_t state;
} dice;

uint64_t dice_bits(dice *d);
int      dice_below(dice *d, int n); /* 0 .. n-1; 0 where n < 1 */
bool     dice_odds(dice *d, int percent);

/* ---- making, running, shrinking ---- */

/* A graph of 10 to 40 lines and what to fetch. */
void case_make_graph(property_case *c, uint64_t seed);
/* A mesh of at most 12 processors and rules for the dimensions named. */
void case_make_layout(property_case *c, dice *d, int ndims, char dims[][NAME_ROOM]);
/* Element i of what the input `name` is fed. */
double fed_number(const char *name, int64_t i, mtf_dtype type);

typedef enum verdict {
    VERDICT_SAME,
    VERDICT_ILLEGAL, /* the rules put two dimensions of a tensor on one axis */
    VERDICT_BROKEN,  /* already on one processor */
    VERDICT_DIFFERS,
    VERDICT_ERROR /* on the mesh only */
} verdict;

/* Runs on one processor and on the mesh, and compares; `reason` says what went wrong. */
verdict case_try(const property_case *c, char reason[REASON_ROOM]);
/* The same in a process of its own, so that a crash or a hang is a failure like others. */
verdict case_try_apart(const property_case *c, char reason[REASON_ROOM]);
/* The dimensions of the graph, those that operations make included; -1 where it cannot be read. */
int case_dims(const property_case *c, int room, char dims[][NAME_ROOM]);
/* Drops one of the two rules that an illegal case's reason names. */
bool case_drop_rule(property_case *c, dice *d, const char *reason);

/* Makes a failing case smaller as long as it fails in the same way. */
void case_shrink(property_case *c, verdict how, char reason[REASON_ROOM]);
void case_print(const property_case *c, const char *reason);

#endif
