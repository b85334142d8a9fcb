/* The state of a graph in the making: tensors that further lines may use. */
#ifndef PROPERTY_MAKER_H
#define PROPERTY_MAKER_H

#include "property_templates.h"

enum { MAX_VALUES = 128, VALUE_DIMS = 6, POOL = 6, OPERANDS = 10 };

/* A tensor of the graph. */
typedef struct value {
    char      name[NAME_ROOM];
    mtf_dtype type;
    int       ndims;
    char      dims[VALUE_DIMS][NAME_ROOM];
    int64_t   sizes[VALUE_DIMS];
    bool      exact;   /* the same bits in every layout */
    bool      kinked;  /* a kink behind a sum: its gradient may jump from layout to layout */
    bool      retired; /* too large or too wide to go on with */
    bool      variable, assigned;
    double    bound;   /* of magnitudes, roughly */
    uint64_t  sources; /* float inputs and variables that it depends on, by bits */
} value;

typedef struct maker {
    property_case *c;
    dice           dice;
    mtf_dtype      type; /* of most floats */
    char           pool[POOL][NAME_ROOM];
    int64_t        pool_size[POOL];
    int            nvalues, nsources, nnames;
    value          values[MAX_VALUES];
    int            source_of[64]; /* value of each source */
} maker;

/* One line in the making: what has been chosen for its places. */
typedef struct line_choice {
    const value *operand[OPERANDS];
    char         place[OPERANDS]; /* 'x', 'y', ... */
    int          noperands;
    int          d, f;                  /* dimensions of the first operand, -1: not chosen */
    char         results[3][NAME_ROOM]; /* o, p, q */
    bool         named[3];
    char         fresh[NAME_ROOM]; /* %N and %D speak of the same dimension */
    int64_t      fresh_size;
    bool         failed;
} line_choice;

int64_t value_elements(const value *v);
int     value_find(const value *v, const char *dim);
bool    values_agree(const value *a, const value *b); /* common dimensions have one size */
/* Chooses the operand for a place; NULL where nothing fits. */
const value *choose_operand(maker *m, const line_choice *l, char place);
/* Writes a shape of the kind for the chosen operands; false where there is none. */
bool write_shape(maker *m, const line_choice *l, shape_kind kind, char *text, size_t room);
/* Fills in a template; false where a place cannot be filled. */
bool fill_template(maker *m, const line_template *t, line_choice *l, char *text, size_t room);
/* Appends the text where the library takes it, and its results to the values. */
bool maker_accept(maker *m, const char *text, int nresults, char results[][NAME_ROOM],
                  const value *like);

#endif
