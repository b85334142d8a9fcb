/* Session, fetches, mesh, layout and machine of a command line. */
#ifndef CLI_CHOICES_H
#define CLI_CHOICES_H

#include "cli/options.h"
#include "microbatch/microbatch.h"
#include "price/estimate.h"

/* Opens a session with the options of mesh_options and running_options; NULL after an error, which was
 * reported; `*status` is then the exit status. */
mtf_session *choose_session(const options *o, bool measure, int *status);
/* Opens one with planning_options, for a program that is only planned; NULL as of file_session. */
mtf_session *planning_session(const options *o);

/* The tensors that --fetch names, each once; without --fetch all results of the file (file_ends).  The
 * list lives in the session; -1 after an error. */
int choose_fetches(const options *o, mtf_graph *g, mtf_tensor ***list);

/* The mesh and layout of a command's program. */
typedef struct choice {
    mesh         mesh;
    layout       layout; /* points to the mesh: the struct must not be moved */
    layout_rule *state;  /* all rules for state that were given, including declined ones */
    int          nstate;
    bool         found;   /* by a search, which was asked for the layout */
    microbatched planned; /* the graph with its batch in parts, and what is fetched of it */
} choice;

/* Reads the options; searches what they leave open (auto), for the graph and the machine; divides the batch;
 * declines rules for state that would raise the memory (price/decline.h). */
bool choose_mesh(const options *o, mtf_graph *g, int n, mtf_tensor *const *fetches,
                 const price_rates *r, choice *c);
/* --processor N; `*number` is unchanged where it is absent. */
bool choose_processor(const options *o, mtf_session *s, const mesh *m, int *number);
/* Which processors share memory: --ranks processes on --hosts machines; by default as many as mpirun
 * launched, or as the machine's nodes need.  Makes the rates point to `at`, which must not be moved. */
bool choose_site(const options *o, mtf_session *s, price_rates *r, site *at);
/* --machine FILE or "flops=30e9,memory=10e9,wire=5e9,latency=10e-6", or parts of that. */
bool choose_machine(const options *o, mtf_session *s, price_rates *r);
/* The same where nothing will run: unless --device is given, the device is the one that the machine's
 * file describes. */
bool choose_planned_machine(const options *o, mtf_session *s, price_rates *r);

#endif
