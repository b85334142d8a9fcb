/* Rates that describe GPUs: products by shape, passes, attention.
 *
 * A GPU computes a product in tiles, many at once: its rate depends on how many
 * results there are, in all products of a batch, and on the terms of each sum.
 */
#ifndef PRICE_GPU_RATES_H
#define PRICE_GPU_RATES_H

#include "base/textbuf.h"
#include "mtf.h"

#define GPU_DEVICE "cuda" /* as machine files and options call them */

struct instr; /* program/instr.h */

enum { MAX_GPU_PRODUCTS = 96, MAX_GPU_PASSES = 16, MAX_GPU_ATTENTIONS = 8, MAX_PASS_NAME = 24 };
enum { MAX_MULTIPROCESSORS = 1024 };

/* Flops per second of products with so many terms in each sum and so many results.  Rates between
 * rows are interpolated on logarithms, first along results, then along terms; outside of them the
 * nearest row holds. */
typedef struct gpu_product {
    mtf_dtype type;    /* of the factors */
    bool      rounded; /* f32 whose factors are rounded: "tf32" */
    double    terms, results, flops;
} gpu_product;

/* Bytes per second of instructions of a kind that mostly move data: the name of an instruction, or
 * "rows" for maps that fold rows. */
typedef struct gpu_pass {
    char   kind[MAX_PASS_NAME];
    double memory;
} gpu_pass;

/* Flops per second of attention and of its gradients, by type and size of the keys. */
typedef struct gpu_attention {
    mtf_dtype type;
    double    key, forward, backward;
} gpu_attention;

typedef struct gpu_rates {
    int           multiprocessors; /* 0: not known */
    int           nproducts; /* by type, unrounded ones first; then by terms, then by results */
    gpu_product   products[MAX_GPU_PRODUCTS];
    int           npasses;
    gpu_pass      passes[MAX_GPU_PASSES];
    int           nattentions; /* by type, then by key */
    gpu_attention attentions[MAX_GPU_ATTENTIONS];
} gpu_rates;

/* The text of a machine that is part of the library, such as "h200"; in the arena.  NULL after an error. */
const char *gpu_machine(arena *a, const char *name);
int         gpu_machine_multiprocessors(const char *name); /* of that machine */

/* These keep the order; false: there is no room. */
bool gpu_add_product(gpu_rates *c, gpu_product p);
bool gpu_add_pass(gpu_rates *c, const char *kind, double memory);
bool gpu_add_attention(gpu_rates *c, gpu_attention a);

/* Flops per second; 0: not known. */
double gpu_product_rate(const gpu_rates *c, const gpu_product *like);
double gpu_best_product(const gpu_rates *c); /* of all products */
/* Of rows in groups; `otherwise`: of types that tensor cores do not multiply. */
double gpu_grouped_rate(const gpu_rates *c, mtf_dtype type, double otherwise);
double gpu_attention_rate(const gpu_rates *c, const struct instr *i);

/* Seconds of one execution of a product; 0: there is no rate for its type. */
double gpu_product_seconds(const gpu_rates *c, const struct instr *i, bool rounded);
/* Bytes per second of the instruction's memory; `otherwise` where its kind has no rate. */
double gpu_pass_memory(const gpu_rates *c, const struct instr *i, double otherwise);

/* A rate, or 0 where that is one: beyond these bounds times would not be numbers. */
bool rate_parse(const char *text, bool zero, double *to);
/* What machine files call factors of products and convolutions: a type, or "tf32". */
bool        gpu_factors_parse(const char *word, mtf_dtype *type, bool *rounded);
const char *gpu_factors_name(mtf_dtype type, bool rounded);

/* A line of a machine file, in words: "product TYPE TERMS RESULTS FLOPS", "pass KIND MEMORY" or
 * "attention TYPE KEY FORWARD BACKWARD".  False: it is none of these. */
bool gpu_take_line(gpu_rates *c, int n, char **words);
void gpu_write(const gpu_rates *c, textbuf *t); /* such lines */

#endif
