/* Training: keeping what was learned.
 *
 * The rules of mtf.h hold: the first error is kept in the session, and every
 * later call is a harmless no-op.
 */
#ifndef MTF_TRAIN_H
#define MTF_TRAIN_H

#include "mtf.h"

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
    int         keep;       /* how many of the newest stay; default: all                     */
    int64_t     keep_every; /* those whose step it divides stay as well; default: none       */
    bool        background; /* returns when the values are copied; a thread writes them      */
} mtf_save_opts;

/* Every variable of the session: those of the programs compiled so far, and those that were read or
 * set.  All ranks call it.  A kill at any instant leaves the checkpoints before it as they were.
 * One is written at a time: the next call first waits for the one before, and says its error. */
MTF_API bool mtf_save(mtf_session *s, const char *folder, const mtf_save_opts *opts);
/* Until what is written in the background has its name; false: it failed.  mtf_close does the same. */
MTF_API bool mtf_save_wait(mtf_session *s);
/* The same where it is written already, else nothing; for all ranks between steps. */
MTF_API bool mtf_save_poll(mtf_session *s);

typedef struct mtf_load_opts {
    int64_t            step;    /* default: the newest                                           */
    const char        *only;    /* a pattern: which variables are loaded; default: all           */
    const char *const *rename;  /* pairs, then NULL: a pattern and what takes the place of the piece of
                                   a variable's name that it matches, \1 being its first group: so
                                   it is called in the checkpoint.  The first that matches counts */
    bool               partial; /* variables that the checkpoint lacks keep their values        */
    bool               convert; /* other floating types than the variable's are converted        */
} mtf_load_opts;

typedef struct mtf_loaded {
    int64_t     step, position;
    uint64_t    seed;   /* of the session that saved it                                       */
    const char *config; /* "" where there was none                                            */
    const char *path;   /* of the checkpoint; both live as long as the session                */
    int         variables;
} mtf_loaded;

/* Patterns are extended regular expressions, found anywhere in a name.  `path` is a folder of
 * checkpoints, a checkpoint, or safetensors files from elsewhere.  Fills in `loaded`, where given. */
MTF_API bool mtf_load(mtf_session *s, const char *path, const mtf_load_opts *opts,
                      mtf_loaded *loaded);

#ifdef __cplusplus
}
#endif
#endif
