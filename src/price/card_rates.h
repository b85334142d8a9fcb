/* Rates that describe cards: products by shape, passes, attention.
 *
 * A card computes a product in tiles, many at once: its rate depends on how many
 * results there are, in all products of a batch, and on the terms of each sum.
 */
#ifndef PRICE_CARD_RATES_H
#define PRICE_CARD_RATES_H

#include "base/textbuf.h"
#include "mtf.h"

struct instr; /* program/instr.h */

enum { MAX_CARD_PRODUCTS = 96, MAX_CARD_PASSES = 16, MAX_CARD_ATTENTIONS = 8, MAX_PASS_NAME = 24 };

/* Flops per second of products with so many terms in each sum and so many results.  Rates between
 * rows are interpolated on logarithms, first along results, then along terms; outside of them the
 * nearest row holds. */
typedef struct card_product {
    mtf_dtype type;    /* of the factors */
    bool      rounded; /* f32 whose factors are rounded: "tf32" */
    double    terms, results, flops;
} card_product;

/* Bytes per second of instructions of a kind that mostly move data: the name of an instruction, or
 * "rows" for maps that fold rows. */
typedef struct card_pass {
    char   kind[MAX_PASS_NAME];
    double memory;
} card_pass;

/* Flops per second of attention and of its gradients, by type and size of the keys. */
typedef struct card_attention {
    mtf_dtype type;
    double    key, forward, backward;
} card_attention;

typedef struct card_rates {
    int            nproducts; /* by type, unrounded ones first; then by terms, then by results */
    card_product   products[MAX_CARD_PRODUCTS];
    int            npasses;
    card_pass      passes[MAX_CARD_PASSES];
    int            nattentions; /* by type, then by key */
    card_attention attentions[MAX_CARD_ATTENTIONS];
} card_rates;

/* These keep the order; false: there is no room. */
bool card_add_product(card_rates *c, card_product p);
bool card_add_pass(card_rates *c, const char *kind, double memory);
bool card_add_attention(card_rates *c, card_attention a);

/* Flops per second; 0: not known. */
double card_product_rate(const card_rates *c, const card_product *like);
double card_best_product(const card_rates *c); /* of all products */
double card_attention_rate(const card_rates *c, const struct instr *i);

/* Seconds of one execution of a product; 0: there is no rate for its type. */
double card_product_seconds(const card_rates *c, const struct instr *i, bool rounded);
/* Bytes per second of the instruction's memory; `otherwise` where its kind has no rate. */
double card_pass_memory(const card_rates *c, const struct instr *i, double otherwise);

/* A rate, or 0 where that is one: beyond these bounds times would not be numbers. */
bool rate_parse(const char *text, bool zero, double *to);
/* What machine files call factors of products and convolutions: a type, or "tf32". */
bool        card_factors_parse(const char *word, mtf_dtype *type, bool *rounded);
const char *card_factors_name(mtf_dtype type, bool rounded);

/* A line of a machine file, in words: "product TYPE TERMS RESULTS FLOPS", "pass KIND MEMORY" or
 * "attention TYPE KEY FORWARD BACKWARD".  False: it is none of these. */
bool card_take_line(card_rates *c, int n, char **words);
void card_write(const card_rates *c, textbuf *t); /* such lines */

#endif
