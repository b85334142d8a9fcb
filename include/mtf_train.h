/* Training: checkpoints, the training loop, and evaluation.
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
    int64_t            step;     /* names the checkpoint                                          */
    int64_t            position; /* of the data: batches fed so far                               */
    const char        *config;   /* any text, such as a description of the model                  */
    const char *const *facts; /* pairs, then NULL: settings that a run which resumes from it should
                                 share, as in "batch", "64"                                  */
    int                keep;  /* how many of the newest to keep; default: all                  */
    int64_t keep_every;       /* also keep those whose step it divides; default: none          */
    bool    background;       /* returns when the values are copied; a thread writes them      */
} mtf_save_opts;

/* Saves every variable of the session: those of the programs compiled so far, and those that were read
 * or set.  All ranks call it.  A process killed at any instant leaves earlier checkpoints intact.  One
 * checkpoint is written at a time: a call first waits for the previous one, and reports its error.
 * One process at a time, or all ranks of one run, may write to a folder: another gets an error. */
MTF_API bool mtf_save(mtf_session *s, const char *folder, const mtf_save_opts *opts);
/* Waits until the checkpoint written in the background has its final name; false: it failed.  mtf_close
 * does the same. */
MTF_API bool mtf_save_wait(mtf_session *s);
/* The same where writing has finished, else nothing; all ranks call it, between steps. */
MTF_API bool mtf_save_poll(mtf_session *s);

typedef struct mtf_load_opts {
    int64_t     step;      /* default: the newest                                          */
    const char *only;      /* a pattern: which variables are loaded; default: all          */
    bool        trainable; /* of these only the model's: trainable ones, and biases of experts and
                              running means, of which a checkpoint may lack some; no counters, no
                              optimizer state                                              */
    const char *const
        *rename;  /* pairs, then NULL: a pattern and a replacement for what it matches in
                                  a variable's name, \1 being its first group; the result is the
                                  name in the checkpoint.  The first pair that matches applies; a
                                  pattern that matches no variable is an error                 */
    bool partial; /* variables that the checkpoint lacks keep their values        */
    bool convert; /* floating types that differ from the variable's are converted */
} mtf_load_opts;

typedef struct mtf_loaded {
    int64_t            step, position;
    uint64_t           seed;      /* of the session that saved it                                */
    const char        *config;    /* "" where there was none                                     */
    const char        *path;      /* of the checkpoint                                           */
    int                variables; /* how many were loaded                                        */
    int                wanted;    /* how many were to be loaded                                  */
    const char *const *missing;   /* names of those that the checkpoint lacks, then NULL         */
    const char *const *facts;     /* pairs, then NULL, as in mtf_save_opts                       */
} mtf_loaded;                     /* all texts live as long as the session                       */

/* Patterns are extended regular expressions that may match anywhere in a name.  `path` is a folder of
 * checkpoints, a checkpoint, or safetensors files written by another program.  Fills in `loaded`,
 * unless NULL.  Dimensions are matched by name: in another order the tensor is transposed. */
MTF_API bool mtf_load(mtf_session *s, const char *path, const mtf_load_opts *opts,
                      mtf_loaded *loaded);

/* ---- the loop -------------------------------------------------------------------------- */

/* How training ended. */
typedef struct mtf_trained {
    int64_t step;        /* steps since the model's beginning           */
    double  loss;        /* of the last one                             */
    double  epoch;       /* passes through the data, as in mtf_train_step */
    bool    interrupted; /* by a signal, before the last step           */
    int     signal;      /* which one; 0: none                          */
} mtf_trained;

/* What a mixture of experts (mtf_moe) tells of a step; NAN: it tells no such. */
typedef struct mtf_train_experts {
    const char   *layer;   /* its scope                                                    */
    int64_t       experts; /* of two levels all inner ones                                 */
    const double *load;    /* the share of choices that ask for each                       */
    double        dropped, entropy, loss;
} mtf_train_experts;

/* The results of a training step. */
typedef struct mtf_train_step {
    int64_t                  step;     /* since the model's beginning                            */
    int64_t                  examples; /* in this step; 0: unknown                               */
    double                   epoch; /* passes through the data since the beginning, with the part of
                                    the present one; NAN: there is none, or its size is unknown */
    double                   loss;
    double                   rate;    /* NAN: no learning rate was named                         */
    double                   seconds; /* duration, including the reading of the batch            */
    bool                     saved;   /* a checkpoint of it is written or being written          */
    const mtf_program       *program;
    int                      nexperts; /* layers with experts, where `experts` was asked for      */
    const mtf_train_experts *experts;
} mtf_train_step;

typedef struct mtf_train_opts {
    /* what to run; the graph must already contain its assignments (mtf_minimize, mtf_sgd, ...) */
    mtf_dataset            *data;    /* default: the graph needs none                            */
    const mtf_batches_opts *batches; /* how examples become batches                              */
    int64_t                 steps;   /* the last step, counted from the model's beginning;
                                        default 0: until the batches end; -1: no steps, only
                                        save the initial variables                               */
    /* what to start from and what to keep */
    const char          *init_from; /* initialise variables from another model's checkpoint     */
    const mtf_load_opts *init;      /* which variables and names; default: all of the model     */
    const char          *checkpoint_dir; /* default: nothing is saved                            */
    int64_t              save_every; /* steps; default 0: only at the end                        */
    int                  keep;       /* how many of the newest to keep; default 0: all           */
    int64_t              keep_every; /* also keep those whose step it divides                    */
    bool                 resume;     /* continue from the newest complete one, if there is one   */
    bool                 resume_anyway; /* even with another model, other data or other settings;
                                           variables that it lacks keep their initial values     */
    const char          *optimizer; /* its name: stored in checkpoints, compared when resuming  */
    const char *const   *facts;  /* pairs, then NULL: further settings that are stored and compared;
                                        "model" is a mark of the network, "order" how examples come */
    const char          *config; /* stored in each checkpoint                                */
    /* what to show, besides a line of progress */
    mtf_tensor *rate;          /* the learning rate                                        */
    mtf_tensor *gradient_norm; /* for event files                                        */
    const char *events_dir;    /* TensorBoard event files                                  */
    const char *trace;         /* a file: timeline of some steps of all processors         */
    const char *watch;         /* a pattern: statistics of tensors whose names match       */
    int64_t     watch_every;   /* steps; default 100                                       */
    bool        profile;       /* a table of time by instruction and by scope at the end   */
    bool        experts;       /* what mixtures of experts tell: in event files, after the
                                  profile, and in `after_step`; computed in addition        */
    bool        measure;       /* times instructions, as `profile` and `trace` do, for
                                  mtf_program_measured in `after_step`; on GPUs, where
                                  this takes long, those of five steps                   */
    bool        json;          /* one JSON object a line for each step, and nothing else   */
    bool        quiet;         /* print nothing but the profile; damaged checkpoints are told to
                                  the session's callback all the same                      */
    void (*show)(void *context, const char *text); /* default: writes to standard output         */
    void *show_context;
    /* Each of these three ends the training with an error when it returns false.
     * Called before the first step, when the program is compiled and the variables have their values:
     * the place to prepare and check what later calls need. */
    bool (*ready)(void *context);
    /* Called after every step that `look_every` divides, to evaluate or to print something. */
    bool (*look)(void *context, int64_t step);
    /* Called after every step, on every rank, when saving its checkpoint has begun. */
    bool (*after_step)(void *context, const mtf_train_step *now);
    void        *look_context; /* passed to all three */
    int64_t      look_every;
    mtf_trained *trained; /* filled in where it is not NULL                           */
} mtf_train_opts;

/* Runs all steps, and saves.  SIGINT, SIGTERM, SIGHUP or SIGUSR1 ends training after the current step
 * and saves; a second signal ends the process.  A loss that is not finite is an error, which names the
 * first tensor that was not finite.  False after an error. */
MTF_API bool mtf_train(mtf_graph *g, mtf_tensor *loss, const mtf_train_opts *opts);

/* Computes means over all examples of a dataset, repeatedly: program and batches are made once. */
typedef struct mtf_evaluation mtf_evaluation;

/* `values` have the dimension that counts examples first ([batch] or [batch, length]), or are scalars,
 * each treated as a mean over its batch.  The graph must not assign variables: build the model again
 * without the optimizer, in the same session.  All errors in graph and data are found here.  NULL after
 * an error. */
MTF_API mtf_evaluation *mtf_evaluation_new(mtf_graph *g, int n, mtf_tensor *const *values,
                                           mtf_dataset *data, const mtf_batches_opts *batches);
/* The mean of each value over an epoch of the data, with the current variables.  Every example counts
 * once, including those that do not fill a batch (MTF_REPEAT).  False after an error. */
MTF_API bool mtf_evaluation_run(mtf_evaluation *e, double *means);
MTF_API void mtf_evaluation_free(mtf_evaluation *e); /* optional: the session frees the rest */

/* Calls all three for one value and returns its mean. */
MTF_API double mtf_evaluate(mtf_graph *g, mtf_tensor *value, mtf_dataset *data,
                            const mtf_batches_opts *batches);

#ifdef __cplusplus
}
#endif
#endif
