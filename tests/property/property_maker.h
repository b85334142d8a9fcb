/* The state of a program in the making: values that further lines may use. */
#ifndef PROPERTY_MAKER_H
#define PROPERTY_MAKER_H

#include "property_templates.h"

enum { MAX_VALUES = 192, POOL = 20, OPERANDS = 10, MAX_DEPTH = 3, MOST_ELEMENTS = 400 };

/* Which values something depends on, by their numbers. */
typedef struct ancestry {
    uint64_t bits[MAX_VALUES / 64];
} ancestry;

/* A tensor of the program. */
typedef struct made_value {
    char      name[NAME_ROOM];
    mtf_dtype type;
    int       ndims;
    char      dims[MTF_SHAPE_ROOM][NAME_ROOM];
    int64_t   sizes[MTF_SHAPE_ROOM];
    bool      retired; /* too large to go on with, or of no definite value */
    bool      variable;
    bool      used; /* by some line */
    double    peak; /* largest magnitude in the first step */
    ancestry  from; /* itself included */
} made_value;

typedef struct maker {
    property_case *c;
    dice           dice;
    bool           plain; /* one floating type, few dimensions */
    int            scale; /* 1, or more where values may be so many times as large */
    mtf_dtype      type;  /* of most floats */
    int            npool;
    char           pool[POOL][NAME_ROOM];
    int64_t        pool_size[POOL];
    int            nvalues, nnames;
    made_value     values[MAX_VALUES];
    int            depth;                         /* of open blocks */
    char           closers[MAX_DEPTH][LINE_ROOM]; /* lines that would close each */
    ancestry       used;                          /* by the lines of the open blocks */
    bool           ended; /* the library gave itself away: the last line shows it */
} maker;

/* One line in the making: what has been chosen for its places. */
typedef struct line_choice {
    const made_value *operand[OPERANDS];
    char              place[OPERANDS]; /* 'x', 'y', ... */
    int               noperands;
    int               d, f;                  /* dimensions of the first operand, -1: not chosen */
    char              results[3][NAME_ROOM]; /* o, p, q */
    bool              named[3];
    char              fresh[NAME_ROOM]; /* %N and %D speak of the same dimension */
    int64_t           fresh_size;
    unsigned          flags; /* of the template */
    bool              failed;
} line_choice;

int64_t made_elements(const made_value *v);
int     made_find(const made_value *v, const char *dim);
bool    made_is_float(const made_value *v);
bool    made_is_int(const made_value *v);
/* Chooses the operand for a place; NULL where nothing fits. */
const made_value *choose_operand(maker *m, const line_choice *l, char place);
/* Writes a shape of the kind for the chosen operands; false where there is none. */
bool write_shape(maker *m, const line_choice *l, shape_kind kind, char *text, size_t room);
void write_shape_of(const made_value *v, char *text, size_t room); /* "a=2, b=3" */
/* Fills in a template; false where a place cannot be filled. */
bool fill_template(maker *m, const line_template *t, line_choice *l, char *text, size_t room);

void fresh_name(maker *m, char name[NAME_ROOM]);
/* Appends the text where the library takes it, and its results to the values. */
bool maker_accept(maker *m, const char *text, int nresults, char results[][NAME_ROOM],
                  const ancestry *from);
/* One more line of the templates. */
bool add_line(maker *m);
/* A gradient of one value with respect to others, and perhaps of that again. */
bool add_gradient(maker *m);
/* A loop, a region or a gradient of one's own, with lines inside. */
bool add_block(maker *m);
/* A value of exactly the type and shape of `like`, not too large, made of one that is there. */
bool add_alike(maker *m, const made_value *like, char name[NAME_ROOM]);

void ancestry_join(ancestry *to, const ancestry *from);
bool ancestry_has(const ancestry *a, int which);
void ancestry_add(ancestry *a, int which);
int  ancestry_count(const ancestry *a);

#endif
