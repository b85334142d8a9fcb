/* Instructions that the GPU's library, cuDNN, carries out.
 *
 * It is taken for forms that it computes faster than kernels of our own, as measured on an
 * H200; its results are the same bits in every run.  Where the library is not there, or
 * refuses, our kernels are launched instead: nothing here is an error.
 */
#ifndef CUDA_LIBRARY_LIBRARY_CALLS_H
#define CUDA_LIBRARY_LIBRARY_CALLS_H

#include "cuda/library/library_kind.h"

/* Does the library carry it out, if it is there?  Then so much working space is planned for it. */
bool    library_suits(const instr *i);
int64_t library_bytes(const instr *i);

/* Begins to make the plans of a program's instructions, beside other work.  They are kept until
 * library_let.  NULL: there are none. */
typedef struct library_hold library_hold;
library_hold               *library_begin(cuda_context *c, const program *p, arena *a);
void                        library_let(cuda_context *c, library_hold *h);
void                        library_close(cuda_context *c);
/* Has the plan of an instruction been begun?  Then our kernels are compiled only if it fails. */
bool library_is_begun(const cuda_context *c, const instr *i);

/* An instruction that the library carries out; NULL: our kernels do.  `addresses` are those of the
 * outputs, then of the inputs.  Freed by library_forget. */
library_calls *library_prepare(cuda_context *c, arena *a, const instr *i, void *const *addresses,
                               void *workspace, int64_t workspace_bytes);
bool           library_run(cuda_context *c, const library_calls *l, const instr *i);
void           library_forget(cuda_context *c, library_calls *l);

#endif
