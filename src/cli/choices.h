/* What a command line chose: session, fetches, mesh, layout, machine. */
#ifndef CLI_CHOICES_H
#define CLI_CHOICES_H

#include "cli/options.h"
#include "plan/estimate.h"

/* Opens the session that the options of mesh_options and running_options ask for; NULL after an error
 * that was said, `*status` being the exit status. */
mtf_session *choose_session(const options *o, bool measure, int *status);

/* What every --fetch names, each once; where there is none, all that the file is there to
 * compute.  The list lives in the session; -1 after an error. */
int choose_fetches(const options *o, mtf_graph *g, mtf_tensor ***list);

/* Where a command's program runs: --mesh and --layout. */
typedef struct choice {
    mesh   mesh;
    layout layout; /* refers to the mesh: a choice stays where it was filled in */
    layout_rule *state; /* all rules for state that were asked for, those too that are declined */
    int          nstate;
} choice;

/* Each text may be NULL.  Rules for state are those that are written. */
bool choice_parse(mtf_session *s, const char *m, const char *rules, const char *state, choice *c);
/* What the options say; what they leave open (auto) is found for the graph and the machine, and rules
 * for state are declined that would raise the memory (plan/decline.h). */
bool choose_mesh(const options *o, mtf_graph *g, int n, mtf_tensor *const *fetches,
                 const price_rates *r, choice *c);
/* --processor N; `*number` is unchanged where it is absent. */
bool choose_processor(const options *o, mtf_session *s, const mesh *m, int *number);
/* Which processors share memory: --ranks processes on --hosts machines, as many as the starter
 * launched, or as the machine's nodes ask for.  Sets the site of the rates to `at`, which stays
 * where it is. */
bool choose_site(const options *o, mtf_session *s, price_rates *r, site *at);
/* --machine FILE or "flops=30e9,memory=10e9,wire=5e9,latency=10e-6", or parts of that. */
bool choose_machine(const options *o, mtf_session *s, price_rates *r);

#endif
