/* Rates: how fast a machine computes and communicates.
 *
 * Four numbers (flops, memory, wire, latency) describe any machine.  The others refine the
 * prediction where they are known: products by element type and size, memory by cache level, links
 * that differ between mesh axes or leave a node.  `mtf calibrate` measures the machine it runs on;
 * for other machines people write a small file.
 */
#ifndef PRICE_RATES_H
#define PRICE_RATES_H

#include "base/session.h"
#include "base/textbuf.h"
#include "price/gpu_rates.h"
#include "space/mesh.h"

struct site; /* program/site.h */

enum { MAX_PRODUCT_RATES = 32, MAX_WINDOW_RATES = 32, MAX_CACHE_RATES = 8, MAX_RATE_NAME = 40 };

/* Flops per second of matrix products of this type whose side, the cube root of m * n * k, is at
 * least `side`. */
typedef struct product_rate {
    mtf_dtype type;
    double    side, flops;
} product_rate;

/* Flops per second of convolutions of this type, and of their gradients: by kernels of our own, or by
 * the library of a GPU.
 *
 * `channels` is the cube root of inputs * outputs * outputs of one group: kernels vectorise along
 * outputs, so few outputs cost more than few inputs.  Rates between two rows are interpolated on
 * logarithms; outside the rows the first or the last one holds.  Calibration measures convolutions
 * with as many inputs as outputs, as flops / (seconds - start). */
typedef struct window_rate {
    mtf_dtype type;
    double    channels, flops;
    bool      library;
    bool      rounded; /* the library's, of f32 whose factors are rounded: "tf32" */
} window_rate;

/* Bytes per second of memory last used `bytes` bytes ago, that is, with so much traffic in between.
 * Rates between two rows are interpolated on logarithms; from four times the last row's bytes on,
 * the rate is that of main memory. */
typedef struct cache_rate {
    double bytes, memory;
} cache_rate;

/* One number for each operand of a product result[rows, columns] = left[rows, k] right[k, columns].
 * Columns are the dimension that is contiguous in the result. */
typedef struct product_sides {
    double left, right, result;
} product_sides;

typedef struct axis_rate {
    char   axis[MAX_RATE_NAME];
    double wire, latency;
} axis_rate;

/* The rates of a machine.
 *
 * An instruction takes `start` plus the longer of its flops and its memory traffic.  The two are
 * added up instead where neither can hide the other: for maps that reduce a row before they use it
 * (at `rows` flops per second), and for products where cache rates are known.  An instruction that
 * updates variables, as optimizers do, takes its memory traffic alone.  A GPU's instruction always
 * takes the longer of the two; price/gpu_rates.h has further rates of GPUs.
 *
 * A collective takes latency + (messages - 1) * message + bytes / wire, with the messages and bytes
 * that one processor sends or receives, plus the wait for members that the operating system has
 * paused.  Calibration measures `latency` and `message` on sums of 8 numbers in groups of two sizes,
 * and `wire` on long sums, less the time of a short one.
 *
 * Processors are grouped into nodes of `node` neighbours by number, which share `wire`.  Each has a
 * port to other nodes with rates of its own: `outer_wire` holds while all ports of a node are busy.
 * price/links.h has the formula.  Outer rates are not measured: people write them. */
typedef struct price_rates {
    double flops, memory, wire; /* per second: flops, bytes of memory, bytes sent */
    double latency, message;    /* seconds of a collective's first message, of each further one */
    double start;               /* seconds of overhead for each instruction */
    double pauses, pause;       /* pauses per second of work; mean seconds of one */
    double rows;                /* flops per second of maps that reduce rows; 0: `flops` */
    product_sides flat; /* bytes per second of what a flat operand has beyond a cube's; 0: free */
    /* Speed of a processor, relative to its speed while all work: while all others are idle, while
     * three quarters, half, a quarter of them are.  0: not known. */
    double             alone, most, half, quarter;
    double             capacity; /* bytes of memory of a processor; 0: not known */
    int                node;     /* processors of a node; 0: all */
    double             outer_wire, outer_latency, outer_message;
    const struct site *site; /* which processors share memory; NULL: threads of one process */
    int                nproducts;
    product_rate       products[MAX_PRODUCT_RATES]; /* by type, then side; none: `flops` for all */
    int                nwindows;
    window_rate        windows[MAX_WINDOW_RATES]; /* our kernels' first; by type, then channels */
    int                ncaches;
    cache_rate         caches[MAX_CACHE_RATES]; /* by bytes; none: `memory` for all */
    int                naxes;
    axis_rate          axes[MAX_AXES]; /* axes with a wire of their own, by name */
    bool               described;      /* by a file, which says what the machine can do; */
    abilities          can;            /* else it is this machine */
    gpu_rates         *gpu;            /* NULL: a processor is not a GPU; lives in the session */
    const char        *named;          /* the file; NULL: none was given */
} price_rates;

/* The default: one core of a modest computer, in one memory with the others. */
#define PRICE_RATES ((price_rates){.flops = 30e9, .memory = 10e9, .wire = 5e9, .latency = 10e-6})

/* Each rate comes with an upper bound for the search: the best rate of anything no larger. */

/* Flops per second of a product with m * n * k = volume. */
double rates_product(const price_rates *r, mtf_dtype type, double volume);
double rates_best_product(const price_rates *r, mtf_dtype type, double volume);
/* Seconds of `products` products of that volume; `bytes`: of each operand in all of them.  Rates
 * are those of cubes; the bytes of a flat operand beyond a cube's are added at the rate `flat`. */
double rates_product_seconds(const price_rates *r, mtf_dtype type, double volume, double products,
                             const product_sides *bytes);
/* The channels of a convolution, as rows have them: a mean of its inputs and outputs in a group. */
double rates_channels(double inputs, double outputs);
/* Of the fastest products, of whatever type and size. */
double rates_peak(const price_rates *r);
/* Flops per second of such convolutions: `flops` where no row is for them.  Those of the library have
 * our kernels' rows where it has none.  `best`: of as many channels or fewer. */
double rates_window(const price_rates *r, const window_rate *like);
double rates_best_window(const price_rates *r, const window_rate *like);
/* Bytes per second of memory last used `reach` bytes ago; the bound is for that long ago or longer. */
double rates_memory(const price_rates *r, double reach);
double rates_best_memory(const price_rates *r, double reach);
/* The speed of the busiest processor, relative to its speed while all work, where the mean load is
 * `share` of its own: the others idle for part of the time and leave it their bandwidth. */
double rates_speed(const price_rates *r, double share);

/* Seconds that a group waits for its last member after each has worked for `work` seconds. */
double rates_wait(const price_rates *r, double work, int group);

void rates_add_product(price_rates *r, product_rate p); /* keeps the order; there must be room */
void rates_add_window(price_rates *r, window_rate w);

/* Changes the rates that the text gives, as "flops=30e9,latency=1e-5"; any other text is the name of
 * a machine file, or of a machine that comes with mtf.  A file that does not describe a GPU is an
 * error where the session's device is one.  False after an error. */
bool rates_choose(mtf_session *s, const char *text, price_rates *r);
/* What holds unless a machine is chosen: PRICE_RATES, or the machine that the session's device names. */
bool rates_default(mtf_session *s, price_rates *r);
/* Reads the text of a machine file; `file` names it in errors. */
bool rates_read(mtf_session *s, const char *text, const char *file, price_rates *r);
void rates_write(const price_rates *r, textbuf *t); /* in the form that rates_read takes */
/* From now on the session's programs are planned for the machine with these rates. */
void rates_plan_for(const price_rates *r, mtf_session *s);

#endif
