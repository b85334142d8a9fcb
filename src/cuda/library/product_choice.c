/* Which of the library's algorithms makes a product. */
#include "cuda/library/product_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/library/product_cache.h"

enum { MOST_CANDIDATES = 8, LEAST_CANDIDATES = 2 };

/* A first step waits for all this: candidates are measured until this much time has passed since the
 * first was loaded.  Loading the others' kernels counts. */
static const double measure_for = 0.04; /* seconds for a product */
static const float  measure_at_least =
    0.2f; /* milliseconds: short ones are measured several times */
enum { MOST_TRIALS = 10, WORTH_EMPTYING = 1 << 20 /* bytes */ };
/* The library puts what it thinks best first: another must be faster by more than noise. */
static const float worth_it = 0.97f;

struct product_memory {
    char                 gpu[sizeof((cuda_gpu *)0)->name];
    product_key          key;
    cublasLtMatmulAlgo_t algorithm;
    bool                 refused;
    int64_t              used; /* when, by the device's clock */
};

/* ---- candidates ---- */

/* Partial sums are added in a second step, in f32 and in a fixed order.  The other schemes add up in
 * the type of the result, or in the result itself as parts are finished. */
static bool prefer(cuda_context *c, const product_key *k, cublasLtMatmulPreference_t wish)
{
    static const struct {
        cublasLtMatmulPreferenceAttributes_t which;
        int                                  matrix;
    } alignments[] = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, LEFT},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, RIGHT},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, RESULT},
                      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, RESULT}};
    static const char    what[] = "take a preference";
    const cuda_products *lt = &c->device->api.products;
    uint64_t             space = PRODUCT_WORKSPACE;
    uint32_t             schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    TRY(product_ok(c,
                   lt->cublasLtMatmulPreferenceSetAttribute(
                       wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space, sizeof space),
                   what) &&
        product_ok(c,
                   lt->cublasLtMatmulPreferenceSetAttribute(
                       wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes),
                   what));
    for (size_t a = 0; a < sizeof alignments / sizeof *alignments; a++) {
        uint32_t bytes = (uint32_t)k->alignment[alignments[a].matrix];
        TRY(product_ok(c,
                       lt->cublasLtMatmulPreferenceSetAttribute(wish, alignments[a].which, &bytes,
                                                                sizeof bytes),
                       what));
    }
    return true;
}

/* The library's candidates, the likeliest first; 0 after an error, or if it does not make an
 * epilogue. */
static int find_candidates(cuda_context *c, const product_call *p,
                           cublasLtMatmulAlgo_t to[MOST_CANDIDATES])
{
    const cuda_products            *lt = &c->device->api.products;
    cublasLtMatmulHeuristicResult_t found[MOST_CANDIDATES];
    cublasLtMatmulPreference_t      wish;
    int                             n = 0, usable = 0;
    if (!product_ok(c, lt->cublasLtMatmulPreferenceCreate(&wish), "take a preference")) return 0;
    bool           ok = prefer(c, &p->key, wish);
    cublasStatus_t said = CUBLAS_STATUS_NOT_SUPPORTED;
    if (ok)
        said = lt->cublasLtMatmulAlgoGetHeuristic(
            c->products, p->how, p->layout[LEFT], p->layout[RIGHT], p->layout[RESULT],
            p->layout[RESULT], wish, MOST_CANDIDATES, found, &n);
    lt->cublasLtMatmulPreferenceDestroy(wish);
    if (ok && p->key.epilogue && said != CUBLAS_STATUS_SUCCESS) return 0;
    ok = ok && product_ok(c, said, "find a way to multiply");
    for (int k = 0; ok && k < n; k++)
        if (found[k].state == CUBLAS_STATUS_SUCCESS) to[usable++] = found[k].algo;
    if (ok && !usable && !p->key.epilogue)
        fail(cuda_fault(c), ERR_DEVICE, "cuBLASLt has no way to multiply");
    return usable;
}

/* ---- measuring ---- */

static int64_t matrix_bytes(const product_key *k, int m)
{
    int64_t each = k->type[m] == CUDA_R_64F ? 8 : k->type[m] == CUDA_R_32F ? 4 : 2;
    return each *
           ((k->batches - 1) * k->step[m] + (k->columns[m] - 1) * k->leading[m] + k->rows[m]);
}

/* In a step a product finds its factors in the GPU's memory, not in its cache, where the trial before
 * would leave them: writing working space takes their place there. */
static bool empty_cache(cuda_context *c, const product_call *p, const product_places *at)
{
    if (matrix_bytes(&p->key, LEFT) + matrix_bytes(&p->key, RIGHT) < WORTH_EMPTYING) return true;
    return c->device->api.driver.cuMemsetD8Async((CUdeviceptr)(uintptr_t)at->workspace, 0,
                                                 PRODUCT_WORKSPACE, c->stream) == CUDA_SUCCESS;
}

/* Milliseconds of one product; negative: it could not be measured, which is no error. */
static float measure_once(cuda_context *c, const product_call *p,
                          const cublasLtMatmulAlgo_t *algorithm, const product_places *at,
                          const CUevent events[2])
{
    const cuda_driver *d = &c->device->api.driver;
    float              time = -1;
    bool ok = empty_cache(c, p, at) && d->cuEventRecord(events[0], c->stream) == CUDA_SUCCESS &&
              product_multiply(c, p, algorithm, at) == CUBLAS_STATUS_SUCCESS &&
              d->cuEventRecord(events[1], c->stream) == CUDA_SUCCESS &&
              d->cuEventSynchronize(events[1]) == CUDA_SUCCESS &&
              d->cuEventElapsedTime(&time, events[0], events[1]) == CUDA_SUCCESS;
    return ok ? time : -1;
}

/* The shortest of several trials. */
static float measure(cuda_context *c, const product_call *p, const cublasLtMatmulAlgo_t *algorithm,
                     const product_places *at, int trials, const CUevent events[2])
{
    float least = -1;
    for (int k = 0; k < trials; k++) {
        float time = measure_once(c, p, algorithm, at, events);
        if (time < 0) return -1;
        if (k == 0 || time < least) least = time;
    }
    return least;
}

static int within(float wanted, int least, int most)
{
    return wanted <= (float)least ? least : wanted >= (float)most ? most : (int)wanted;
}

/* The number of the fastest candidate, and its time.  The first call of each loads its kernel and does
 * not count. */
static int fastest(cuda_context *c, const product_call *p, int n,
                   const cublasLtMatmulAlgo_t candidates[], const product_places *at,
                   const CUevent events[2], float *shortest)
{
    int    best = 0, trials = 1;
    float  least = 0;
    double begin = 0;
    for (int k = 0; k < n; k++) {
        if (k >= LEAST_CANDIDATES && clock_seconds() - begin > measure_for) break;
        bool loaded = measure(c, p, &candidates[k], at, 1, events) >= 0;
        if (k == 0) begin = clock_seconds();
        float time = loaded ? measure(c, p, &candidates[k], at, trials, events) : -1;
        if (k == 0) {
            if (time < 0) return 0;
            trials = within(measure_at_least / (time + 1e-6f), 1, MOST_TRIALS);
            if (trials > 1) time = measure(c, p, &candidates[k], at, trials, events);
            least = time * worth_it;
            *shortest = time;
        } else if (time >= 0 && time < least) {
            best = k;
            *shortest = least = time;
        }
    }
    return best;
}

/* Measures with a result of its own where the real one must not change.  -1: it was not possible. */
static int measure_all(cuda_context *c, const product_call *p, int n,
                       const cublasLtMatmulAlgo_t candidates[], const product_places *at,
                       bool may_write, float *shortest)
{
    const cuda_driver *d = &c->device->api.driver;
    product_places     places = *at;
    CUevent            events[2] = {NULL, NULL};
    CUdeviceptr        own = 0;
    int                best = -1;
    bool               ready =
        may_write || d->cuMemAlloc(&own, (size_t)matrix_bytes(&p->key, RESULT)) == CUDA_SUCCESS;
    if (own && places.added == places.result) places.added = (void *)(uintptr_t)own;
    if (own) places.result = (void *)(uintptr_t)own;
    for (int k = 0; k < 2; k++) ready = ready && d->cuEventCreate(&events[k], 0) == CUDA_SUCCESS;
    *shortest = -1;
    if (ready) best = fastest(c, p, n, candidates, &places, events, shortest);
    for (int k = 0; k < 2; k++)
        if (events[k]) d->cuEventDestroy(events[k]);
    if (own) d->cuMemFree(own);
    return best;
}

/* ---- choosing ---- */

static product_memory *find_known(const cuda_context *c, const product_key *k)
{
    cuda_device *d = c->device;
    for (int n = 0; n < d->nproducts; n++)
        if (memcmp(&d->products[n].key, k, sizeof *k) == 0 &&
            strcmp(d->products[n].gpu, c->gpu->name) == 0) {
            d->products[n].used = ++d->products_clock;
            return &d->products[n];
        }
    return NULL;
}

/* A new place, or that of the choice which was not used for the longest time: programs have copies. */
static product_memory *find_place(cuda_device *d)
{
    product_memory *oldest = d->products;
    if (d->nproducts < d->most.products) {
        if (!arena_push(&d->product_arena, d->products, d->nproducts, d->products_room))
            return NULL;
        return &d->products[d->nproducts++];
    }
    for (int n = 1; n < d->nproducts; n++)
        if (d->products[n].used < oldest->used) oldest = &d->products[n];
    return oldest;
}

static bool remember(cuda_context *c, const product_call *p)
{
    product_memory *m = find_place(c->device);
    TRY(m != NULL);
    *m = (product_memory){.key = p->key,
                          .algorithm = p->algorithm,
                          .refused = p->refused,
                          .used = ++c->device->products_clock};
    memcpy(m->gpu, c->gpu->name, sizeof m->gpu);
    return true;
}

/* Files outlive libraries and GPUs: the library is asked whether it still knows the algorithm. */
static bool is_usable(cuda_context *c, const product_call *p)
{
    cublasLtMatmulHeuristicResult_t says;
    return c->device->api.products.cublasLtMatmulAlgoCheck(
               c->products, p->how, p->layout[LEFT], p->layout[RIGHT], p->layout[RESULT],
               p->layout[RESULT], &p->algorithm, &says) == CUBLAS_STATUS_SUCCESS &&
           says.workspaceSize <= PRODUCT_WORKSPACE;
}

/* Without a place to keep a choice the next run might choose otherwise and round otherwise. */
static bool may_measure(void)
{
    const char *refused = getenv("MTF_NO_MEASURE");
    return !(refused && *refused) && product_cache_exists();
}

/* Is the product without its epilogue, followed by other kernels, faster?  These read and write memory
 * at most of its speed. */
static bool is_slower(cuda_context *c, const product_call *p, const product_places *at, float time)
{
    static const double  speed = 0.85, start = 3e-3 /* milliseconds */;
    cublasLtMatmulAlgo_t candidates[MOST_CANDIDATES];
    product_call         plain = {.key = p->key};
    float                alone = -1;
    plain.key.epilogue &= ADDS_A_MATRIX;
    if (!p->spared || c->gpu->bandwidth == 0 || time < 0) return false;
    int n = product_describe(c, &plain) ? find_candidates(c, &plain, candidates) : 0;
    if (n > 0) measure_all(c, &plain, n, candidates, at, true, &alone);
    product_undescribe(c, &plain);
    double rest = 1e3 * (double)p->spared / (speed * c->gpu->bandwidth) + start;
    return alone >= 0 && (double)time > (double)alone + rest;
}

static bool choose_anew(cuda_context *c, product_call *p, const product_places *at, bool may_write)
{
    cublasLtMatmulAlgo_t candidates[MOST_CANDIDATES];
    int                  n = find_candidates(c, p, candidates);
    p->refused = n == 0 && p->key.epilogue && mtf_ok(c->device->face.session);
    if (n == 0) return p->refused;
    p->algorithm = candidates[0];
    bool other_results = p->key.epilogue && !may_write; /* there is a stand-in for the first only */
    if ((n == 1 && !p->key.epilogue) || other_results || !may_measure()) return true;
    float time;
    int   best = measure_all(c, p, n, candidates, at, may_write, &time);
    if (best < 0) return true;
    p->algorithm = candidates[best];
    p->refused = p->key.epilogue && is_slower(c, p, at, time);
    if (!product_cache_settle(c, p) || (!p->refused && !is_usable(c, p))) {
        p->algorithm = candidates[0];
        p->refused = false;
    }
    return true;
}

static bool choose(cuda_context *c, product_call *p, const product_places *at, bool may_write)
{
    const product_memory *known = find_known(c, &p->key);
    if (known) {
        p->algorithm = known->algorithm;
        p->refused = known->refused;
        return true;
    }
    bool kept = product_cache_read(c, p) && (p->refused || is_usable(c, p));
    if (!kept) p->refused = false;
    return (kept || choose_anew(c, p, at, may_write)) && remember(c, p);
}

bool product_choose(cuda_context *c, product_call *p, const product_places *at, bool may_write)
{
    pthread_mutex_lock(&c->device->product_lock);
    bool ok = choose(c, p, at, may_write);
    pthread_mutex_unlock(&c->device->product_lock);
    return ok;
}
