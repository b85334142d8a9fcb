/* Instructions that the GPU's library, cuDNN, carries out. */
#include "cuda/library/library_calls.h"

#if MTF_HAVE_CUDNN
#include "cuda/library/library_attention.h"
#include "cuda/library/library_window.h"

static const library_kind *kind_of(const instr *i)
{
    switch (i->kind) {
    case INSTR_ATTENTION:
    case INSTR_ATTENTION_GRAD: return &library_attention;
    case INSTR_WINDOW: return &library_window;
    default: return NULL;
    }
}

bool library_suits(const instr *i)
{
    const library_kind *k = kind_of(i);
    return k && k->suits(i);
}

int64_t library_bytes(const instr *i)
{
    return kind_of(i)->bytes(i);
}

struct library_hold {
    dnn_made **plans;
    int        n, room;
};

library_hold *library_begin(cuda_context *c, const program *p, arena *a)
{
    library_hold *h = arena_new(a, library_hold);
    for (int n = 0; h && n < p->ninstrs; n++) {
        const instr *i = &p->instrs[n];
        if (!library_suits(i) || !kind_of(i)->is_known(c->gpu)) continue;
        if (!dnn_plans_open(c) || !arena_push(a, h->plans, h->n, h->room)) return h;
        dnn_request r = kind_of(i)->request(i);
        dnn_made   *begun = dnn_plans_begin(c, &r);
        if (!begun) return h;
        h->plans[h->n++] = begun;
    }
    return h;
}

void library_let(cuda_context *c, library_hold *h)
{
    while (h && h->n > 0) dnn_plans_let(c, h->plans[--h->n]);
}

void library_close(cuda_context *c)
{
    dnn_plans_close(c);
}

bool library_is_begun(const cuda_context *c, const instr *i)
{
    if (!c->plans || !library_suits(i)) return false;
    dnn_request r = kind_of(i)->request(i);
    return dnn_plans_is_begun(c, &r);
}

library_calls *library_prepare(cuda_context *c, arena *a, const instr *i, void *const *addresses,
                               void *workspace, int64_t workspace_bytes)
{
    const library_kind *k = kind_of(i);
    dnn_request         r = k->request(i);
    if (k->bytes(i) > workspace_bytes) return NULL;
    dnn_made      *plan = dnn_plans_find(c, &r);
    library_calls *l = plan ? arena_new(a, library_calls) : NULL;
    if (!l) return NULL;
    l->plan = plan;
    dnn_plans_hold(c, plan);
    if (k->pack(c, a, i, addresses, workspace, l)) return l;
    library_forget(c, l);
    return NULL;
}

bool library_run(cuda_context *c, const library_calls *l, const instr *i)
{
    const cuda_dnn *api = &c->device->api.dnn;
    for (int k = 0; k < l->n; k++) {
        cudnnStatus_t said = dnn_plans_run(c, l->plan, l->packs[k]);
        if (said != CUDNN_STATUS_SUCCESS)
            return fail(cuda_fault(c), ERR_DEVICE, "cuDNN could not compute \"%s\": %s",
                        mtf_name_of_tensor(i->cause), api->cudnnGetErrorString(said));
    }
    return true;
}

void library_forget(cuda_context *c, library_calls *l)
{
    while (l->n > 0) c->device->api.dnn.cudnnBackendDestroyDescriptor(l->packs[--l->n]);
    dnn_plans_let(c, l->plan);
}
#else
bool library_suits(const instr *i)
{
    (void)i;
    return false;
}

int64_t library_bytes(const instr *i)
{
    (void)i;
    return 0;
}

library_hold *library_begin(cuda_context *c, const program *p, arena *a)
{
    (void)c, (void)p, (void)a;
    return NULL;
}

void library_let(cuda_context *c, library_hold *h)
{
    (void)c, (void)h;
}

void library_close(cuda_context *c)
{
    (void)c;
}

bool library_is_begun(const cuda_context *c, const instr *i)
{
    (void)c, (void)i;
    return false;
}

library_calls *library_prepare(cuda_context *c, arena *a, const instr *i, void *const *addresses,
                               void *workspace, int64_t workspace_bytes)
{
    (void)c, (void)a, (void)i, (void)addresses, (void)workspace, (void)workspace_bytes;
    return NULL;
}

bool library_run(cuda_context *c, const library_calls *l, const instr *i)
{
    (void)c, (void)l, (void)i;
    return true;
}

void library_forget(cuda_context *c, library_calls *l)
{
    (void)c, (void)l;
}
#endif
