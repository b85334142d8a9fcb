/* Attention by the card's library, cuDNN.
 *
 * It is taken for forms that it computes faster than kernels of our own, as measured on an
 * H200; its gradients are the same bits in every run.  Where the library is not there, or
 * refuses, our kernels are launched instead: nothing here is an error.
 */
#ifndef MACHINE_LIBRARY_ATTENTION_H
#define MACHINE_LIBRARY_ATTENTION_H

#include "machine/cuda/cuda_device.h"

typedef struct library_attention library_attention;

/* Does the library carry it out, if it is there?  Then so much working space is planned for it. */
bool    library_attention_suits(const instr *i);
int64_t library_attention_bytes(const instr *i);

/* Begins to make the plans of a program's instructions, beside other work: the first time the library
 * compiles kernels, which takes most of a second.  Plans are kept on disk. */
void library_attention_begin(cuda_context *c, const program *p);
void library_attention_close(cuda_context *c);
/* Has the plan of an instruction been begun?  Then our kernels are compiled only if it fails. */
bool library_attention_is_begun(const cuda_context *c, const instr *i);

/* An instruction that the library carries out; NULL: our kernels do.  `addresses` are those of the
 * outputs, then of the inputs.  Freed by library_attention_forget. */
library_attention *library_attention_prepare(cuda_context *c, arena *a, const instr *i,
                                             void *const *addresses, void *workspace,
                                             int64_t workspace_bytes);
/* The instruction whose only result is delta, of a gradient that is the only one to read it: the library
 * computes delta by itself.  -1: there is none. */
int  library_attention_delta(const program *p, int grad);
bool library_attention_run(cuda_context *c, const library_attention *l, const instr *i);
void library_attention_forget(cuda_context *c, library_attention *l);

#endif
