/* Rates: what a machine does in a second.
 *
 * Four numbers describe any machine; the rest refines them where it is known:
 * products by element type and size, wires that differ between axes of the
 * mesh, memory of a processor.  Written by people in a small file, by
 * `mtf calibrate` for the machine at hand.
 */
#ifndef PLAN_RATES_H
#define PLAN_RATES_H

#include "base/session.h"
#include "base/textbuf.h"
#include "space/mesh.h"

struct site; /* program/site.h */

enum { MAX_PRODUCT_RATES = 32, MAX_WINDOW_RATES = 32, MAX_CACHE_RATES = 8, MAX_RATE_NAME = 40 };

/* Products of this type whose sides are, in the geometric mean, at least `side`. */
typedef struct product_rate {
    mtf_dtype type;
    double    side, flops;
} product_rate;

/* Convolutions of this type, and their gradients, with so many `channels`: the cube root of inputs *
 * outputs * outputs, in one group, for kernels run along outputs and few of these leave them idle.
 * Between rows rates change evenly with their logarithms; the first and the last row hold beyond.
 * Measured: convolutions with as many inputs as outputs, flops / (seconds - start). */
typedef struct window_rate {
    mtf_dtype type;
    double    channels, flops;
} window_rate;

/* Memory that was used so many bytes ago; between rows rates change evenly with their logarithms, and
 * at four times the last row's bytes it is `memory`. */
typedef struct cache_rate {
    double bytes, memory;
} cache_rate;

/* A number for each side of a product y[rows, columns] = x[rows, k] w[k, columns]: x is large where
 * columns are few, w where rows are, y where k is short.  Columns are the dimension along which y
 * lies in memory. */
typedef struct product_sides {
    double left, right, result;
} product_sides;

typedef struct axis_rate {
    char   axis[MAX_RATE_NAME];
    double wire, latency;
} axis_rate;

/* An instruction takes `start`, and the longer of its flops and its bytes of memory (their sum where
 * rows are summed up first and used then, as `rows` tells, and for products where caches are known:
 * there neither hides the other; only its bytes where it changes variables, as optimizers do).
 *
 * A collective takes latency + (messages - 1) * message + bytes / wire, with the messages and bytes
 * that a processor sends or receives in it, and waits for those whose core the system took away
 * meanwhile.  `latency` and `message` are seconds; 0: none.  Measured: sums of 8 numbers in groups of
 * two sizes, which differ by their messages.  `wire` is bytes in a second.  Measured: long sums, less
 * the time of a short one.
 *
 * `node` processors, neighbours by number, share the wire above.  Each of them has a port to other
 * nodes: `outer_wire` bytes in a second while all ports of a node are in use, and seconds of messages
 * as above.  plan/links.h has the formula.  Not measured: people write them. */
typedef struct price_rates {
    double        flops, memory, wire; /* flops, bytes, bytes in a second */
    double        latency, message;    /* seconds, of a collective's first message and of others */
    double        start;               /* seconds, for each other instruction */
    double        pauses, pause;       /* in a second of work; seconds of each */
    double        rows;          /* flops a second of maps that sum up along rows; 0: `flops` */
    product_sides flat;          /* bytes beyond a cube's, in a second; 0: at once */
    double        alone;         /* times as fast while all others are idle; 0: as fast; */
    double        half, quarter; /* while so many of them are; 0: as fast as what is left allows */
    double        most;          /* while three quarters are; 0: between `half` and `alone` */
    double        capacity;      /* bytes of memory that a processor has; 0: not known */
    int           node;          /* 0: all */
    double        outer_wire, outer_latency, outer_message;
    const struct site
        *site; /* how processors meet; NULL: threads of one process, without working space */
    int           nproducts;
    product_rate  products[MAX_PRODUCT_RATES]; /* by type, then by side; none: `flops` for all */
    int           nwindows;
    window_rate   windows[MAX_WINDOW_RATES]; /* by type, then by channels; none: `flops` for all */
    int           ncaches;
    cache_rate    caches[MAX_CACHE_RATES]; /* by bytes; none: `memory` for all */
    int           naxes;
    axis_rate     axes[MAX_AXES]; /* axes that have a wire of their own, by name */
} price_rates;

/* One core of a modest computer, its neighbours in the same memory. */
#define PRICE_RATES ((price_rates){.flops = 30e9, .memory = 10e9, .wire = 5e9, .latency = 10e-6})

/* Flops a second of a product whose m * n * k is `volume`; no product of the type that is at most as
 * large is faster than the second. */
double rates_product(const price_rates *r, mtf_dtype type, double volume);
double rates_best_product(const price_rates *r, mtf_dtype type, double volume);
/* Seconds of `products` products of that volume, which have so many bytes in all: rates are those of
 * cubes, and what a flat one has beyond a cube's takes its time, too. */
double rates_product_seconds(const price_rates *r, mtf_dtype type, double volume, double products,
                             const product_sides *bytes);
/* Flops a second of a convolution with so many inputs and outputs in a group; none that has at most
 * as many of either is faster than the second. */
double rates_window(const price_rates *r, mtf_dtype type, double inputs, double outputs);
double rates_best_window(const price_rates *r, mtf_dtype type, double inputs, double outputs);
/* Bytes a second of memory that was used `reach` bytes ago; none that was used so long ago or longer
 * is faster than the second. */
double rates_memory(const price_rates *r, double reach);
double rates_best_memory(const price_rates *r, double reach);
/* How many times as fast as all together processors are of which the busiest has so much to do that
 * the mean has this `share` of it: what the others leave is theirs, up to their speed alone, where
 * all of them share one thing; where neighbours share theirs, as fast as `most`, `half`
 * and `quarter` say. */
double rates_speed(const price_rates *r, double share);

/* What `group` processors wait for the last of them after each has worked for so long. */
double rates_wait(const price_rates *r, double work, int group);

void rates_add_product(price_rates *r, product_rate p); /* where it belongs; there is room */
void rates_add_window(price_rates *r, window_rate w);

/* "flops=30e9,latency=1e-5": some of the numbers, the others stay.  Else the name of a file, or of
 * one that came with mtf.  False after an error. */
bool rates_choose(mtf_session *s, const char *text, price_rates *r);
/* The text of a description into `r`; `file` stands in errors. */
bool rates_read(mtf_session *s, const char *text, const char *file, price_rates *r);
void rates_write(const price_rates *r, textbuf *t); /* as rates_read takes it */

#endif
