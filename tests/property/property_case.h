/* A random program as text, with the mesh and the layout it runs on.
 *
 * A case is a plain value: shrinking copies it, changes the copy, and keeps the
 * copy where it still fails.  What inputs and variables hold follows from their
 * names, so that removing a line changes nothing else.
 */
#ifndef PROPERTY_CASE_H
#define PROPERTY_CASE_H

#include "mtf.h"

enum {
    MAX_LINES = 160, /* of the text */
    LINE_ROOM = 480,
    TEXT_ROOM = MAX_LINES * LINE_ROOM,
    NAME_ROOM = 24,
    MAX_FETCHES = 48,
    MAX_STEPS = 3,
    MESH_AXES = 3, /* called x, y, z */
    MAX_RULES = 40,
    MOST_DIMS = 64, /* of a program */
    MOST_ONES = 3,
    REASON_ROOM = 700,
    PATIENCE = 30 /* seconds for one run of a case on the CPU */
};

/* A dimension and the axes that cut it, coarsest first. */
typedef struct cut_rule {
    char dim[NAME_ROOM];
    int  naxes, axis[MESH_AXES];
    bool optional;
} cut_rule;

typedef struct fetch_wish {
    char name[NAME_ROOM];
} fetch_wish;

typedef struct property_case {
    int        nlines;
    char       lines[MAX_LINES][LINE_ROOM];
    int        nfetches;
    fetch_wish fetches[MAX_FETCHES];
    int        naxes, sizes[MESH_AXES]; /* no axes: no mesh */
    int        nrules;
    cut_rule   rules[MAX_RULES];
    bool       automatic;         /* the search adds rules to these */
    char       state_layout[400]; /* "": none */
    uint64_t   seed;              /* of the session */
    int        steps;
    bool       check; /* on device check */
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

/* ---- making ---- */

/* A program of whatever the language has: one or two results are fetched. */
void case_make_program(property_case *c, uint64_t seed);
/* A graph of few dimensions and one floating type, all of whose last results are fetched. */
void case_make_graph(property_case *c, uint64_t seed);
/* Other results of the same program. */
void case_choose_fetches(property_case *c, dice *d);
/* All that nobody uses. */
void case_fetch_ends(property_case *c);
/* A mesh of at most 12 processors and rules for the dimensions named. */
void case_make_layout(property_case *c, dice *d, int ndims, char dims[][NAME_ROOM]);
void case_no_layout(property_case *c); /* one processor */

/* ---- running ---- */

typedef enum verdict {
    VERDICT_SAME,
    VERDICT_ILLEGAL,  /* the rules put two dimensions of a tensor on one axis */
    VERDICT_BROKEN,   /* it cannot be read, or the oracle cannot say what it gives */
    VERDICT_GRADIENT, /* a gradient is not the limit of difference quotients */
    VERDICT_TEXT,     /* printed and read again, it is another */
    VERDICT_DIFFERS,
    VERDICT_ERROR
} verdict;

/* How much was compared. */
typedef struct coverage {
    int64_t exact, near, unknown; /* elements */
    int64_t slopes;
} coverage;

/* Where it runs: on `check`, or as MTF_TEST_DEVICE says. */
const char *case_device(const property_case *c);
int         case_patience(void); /* seconds for one run */

/* Runs on the mesh and compares with the oracle; `reason` says what went wrong.  `cover` may be
 * NULL. */
verdict case_try(const property_case *c, char reason[REASON_ROOM], coverage *cover);
/* Checks what does not depend on fetches, meshes and layouts: gradients and text. */
verdict case_try_graph(const property_case *c, char reason[REASON_ROOM], coverage *cover);
/* Either in a process of its own, so that a crash or a hang is a failure like others. */
verdict case_try_apart(const property_case *c, bool graph, char reason[REASON_ROOM]);
/* The dimensions of the graph, those that operations make included, but only a few of those that are
 * never larger than 1; -1 where it cannot be read. */
int case_dims(const property_case *c, int room, char dims[][NAME_ROOM]);
/* Drops one of the two rules that an illegal case's reason names. */
bool case_drop_rule(property_case *c, dice *d, const char *reason);

/* Makes a failing case smaller as long as it fails in the same way. */
void case_shrink(property_case *c, verdict how, bool graph, char reason[REASON_ROOM]);
void case_print(const property_case *c, const char *reason);

#endif
