/* Training: keeping what was learned, and the loop around the steps.
 *
 * The rules of mtf.h hold: the first error is kept in the session, and every
 * later call is a harmless no-op.
 */
#ifndef MTF_TRAIN_H
#define MTF_TRAIN_H

#include "mtf.h"
#include "mtf_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints ----------------------------------------------------------------------- */

/* A checkpoint belongs to the model, not to the mesh: a folder FOLDER/step_00001000 with safetensors
 * files, which hold whole tensors by name, and manifest.json.  It is written on any mesh, layout or
 * wire, and read on any other.  Every processor writes and reads its own parts only. */
typedef struct mtf_save_opts {
    int64_t     step;       /* names the checkpoint                                          */
    int64_t     position;   /* of the data: batches fed so far                               */
    const char *config;     /* any text that says how the model was made                     */
    const char *const *facts; /* pairs, then NULL: what a run that goes on from it should have
                                 alike, as in "batch", "64"                                  */
    int         keep;       /* how many of the newest stay; default: all                     */
    int64_t     keep_every; /* those whose step it divides stay as well; default: none       */
    bool        background; /* returns when the values are copied; a thread writes them      */
} mtf_save_opts;

/* Every variable of the session: those of the programs compiled so far, and those that were read or
 * set.  All ranks call it.  A kill at any instant leaves the checkpoints before it as they were.
 * One is written at a time: the next call first waits for the one before, and says its error.
 * One process at a time, or all ranks of one run, writes to a folder: another is refused. */
MTF_API bool mtf_save(mtf_session *s, const char *folder, const mtf_save_opts *opts);
/* Until what is written in the background has its name; false: it failed.  mtf_close does the same. */
MTF_API bool mtf_save_wait(mtf_session *s);
/* The same where it is written already, else nothing; for all ranks between steps. */
MTF_API bool mtf_save_poll(mtf_session *s);

typedef struct mtf_load_opts {
    int64_t     step;          /* default: the newest                                          */
    const char *only;          /* a pattern: which variables are loaded; default: all          */
    bool        trainable;     /* of these only trainable ones: no counters, no optimizer state */
    const char *const *rename; /* pairs, then NULL: a pattern and what takes the place of the piece of
                                  a variable's name that it matches, \1 being its first group: so it
                                  is called in the checkpoint.  The first that matches counts; one
                                  that matches no variable is an error                         */
    bool partial;              /* variables that the checkpoint lacks keep their values        */
    bool convert;              /* other floating types than the variable's are converted       */
} mtf_load_opts;

typedef struct mtf_loaded {
    int64_t     step, position;
    uint64_t    seed;           /* of the session that saved it                                */
    const char *config;         /* "" where there was none                                     */
    const char *path;           /* of the checkpoint                                           */
    int         variables;      /* that were loaded                                            */
    int         wanted;         /* that were to be loaded                                      */
    const char *const *missing; /* names of those that it lacks, then NULL                     */
    const char *const *facts;   /* pairs, then NULL, as in mtf_save_opts                       */
} mtf_loaded;                   /* all texts live as long as the session                       */

/* Patterns are extended regular expressions, found anywhere in a name.  `path` is a folder of
 * checkpoints, a checkpoint, or safetensors files from elsewhere.  Fills in `loaded`, where given.
 * Dimensions are matched by name: the same ones in another order are transposed. */
MTF_API bool mtf_load(mtf_session *s, const char *path, const mtf_load_opts *opts,
                      mtf_loaded *loaded);

/* ---- the loop -------------------------------------------------------------------------- */

/* How a training ended. */
typedef struct mtf_trained {
    int64_t step;        /* steps since the model's beginning           */
    double  loss;        /* of the last one                             */
    bool    interrupted; /* by a signal, before the last step           */
    int     signal;      /* which one; 0: none                          */
} mtf_trained;

/* What a step of a training gave. */
typedef struct mtf_train_step {
    int64_t            step;     /* since the model's beginning                            */
    int64_t            examples; /* in this one; 0: nobody counts them                     */
    double             loss;
    double             rate;    /* NAN: no learning rate was named                         */
    double             seconds; /* that it took, with its batch                            */
    bool               saved;   /* a checkpoint of it is written, or being written         */
    const mtf_program *program;
} mtf_train_step;

typedef struct mtf_train_opts {
    /* what to run; the graph has its assignments already (mtf_minimize, mtf_sgd, ...) */
    mtf_dataset            *data;    /* default: the graph needs none                            */
    const mtf_batches_opts *batches; /* how examples become batches                              */
    int64_t                 steps;   /* up to this one, counted from the model's beginning;
                                        default 0: until the batches end; -1: none at all, so
                                        that the initial variables are saved                     */
    /* what to start from and what to keep */
    const char          *init_from; /* variables that another model's checkpoint has            */
    const mtf_load_opts *init;      /* which, under which names; default: all trainable ones    */
    const char          *checkpoint_dir; /* default: nothing is saved                            */
    int64_t              save_every; /* steps; default 0: only at the end                        */
    int                  keep;       /* newest checkpoints that stay; default 0: all             */
    int64_t              keep_every; /* those whose step it divides stay as well                 */
    bool                 resume;     /* go on from the newest whole one, where there is one      */
    bool                 resume_anyway; /* the same with other data, another batch or optimizer;
                                           variables that it lacks have their first values       */
    const char          *optimizer;  /* its name: kept in each checkpoint, and compared          */
    const char          *config;     /* kept in each checkpoint                                  */
    /* what to show, besides a line of progress */
    mtf_tensor *rate;          /* the learning rate                                        */
    mtf_tensor *gradient_norm; /* for event files                                        */
    const char *events_dir;    /* TensorBoard event files                                  */
    const char *trace;         /* a file: timeline of some steps of all processors         */
    const char *watch;         /* pattern: statistics of tensors whose names match         */
    int64_t     watch_every;   /* steps; default 100                                       */
    bool        profile;       /* a closing table of time by instruction and by scope      */
    bool        json;          /* one object a line for each step, and nothing else        */
    bool        quiet;         /* nothing                                                  */
    void (*show)(void *context, const char *text); /* default: writes to standard output         */
    void *show_context;
    /* Called before the first step, when the program is compiled and the variables have their
     * values: whatever will be needed later is best made and checked here.  False ends the training
     * with an error. */
    bool (*ready)(void *context);
    /* Called after every step that `look_every` divides, to evaluate or to say something; likewise. */
    bool (*look)(void *context, int64_t step);
    /* Called after every step, on every rank, when its checkpoint is on its way; likewise. */
    bool (*after_step)(void *context, const mtf_train_step *now);
    void        *look_context; /* of all three */
    int64_t      look_every;
    mtf_trained *trained; /* filled in where it is not NULL                           */
} mtf_train_opts;

/* Takes steps until the last one, and saves.  SIGINT, SIGTERM, SIGHUP and SIGUSR1 end it after the
 * step and save, the second one ends the process.  A loss that is not finite is an error, which names the tensor
 * where that began.  False after an error. */
MTF_API bool mtf_train(mtf_graph *g, mtf_tensor *loss, const mtf_train_opts *opts);

/* Means over all examples of some data, as often as one likes: the program, the batches and what
 * they need are made once. */
typedef struct mtf_evaluation mtf_evaluation;

/* `values` have the dimension that counts examples first ([batch] or [batch, length]), or are
 * scalars, which are taken for means over their batch.  The graph must not assign: build it once
 * more without the optimizer, in the same session.  Whatever it will need is checked here.  NULL
 * after an error. */
MTF_API mtf_evaluation *mtf_evaluation_new(mtf_graph *g, int n, mtf_tensor *const *values,
                                           mtf_dataset *data, const mtf_batches_opts *batches);
/* The mean of each value over an epoch of the data, with the variables as they are now.  Every
 * example counts once, those that do not fill a batch as well (MTF_REPEAT).  False after an error. */
MTF_API bool mtf_evaluation_run(mtf_evaluation *e, double *means);
MTF_API void mtf_evaluation_free(mtf_evaluation *e); /* optional: the session frees the rest */

/* All three for one value. */
MTF_API double mtf_evaluate(mtf_graph *g, mtf_tensor *value, mtf_dataset *data,
                            const mtf_batches_opts *batches);

#ifdef __cplusplus
}
#endif
#endif
