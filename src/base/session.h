/* The session: what everything else belongs to. */
#ifndef BASE_SESSION_H
#define BASE_SESSION_H

#include "base/abilities.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/names.h"
#include "mtf.h"

typedef struct session_option {
    const char *name, *value;  /* value NULL: a bare --name */
    bool        asked, absent; /* absent: the program asked, and nobody gave it */
} session_option;

/* Called when the session closes, newest first: how upper layers free what they own. */
typedef struct session_closer {
    void (*close)(void *what);
    void                  *what;
    struct session_closer *older;
} session_closer;

struct mtf_session {
    fault            fault;
    mtf_allocator    allocator;
    mtf_session_opts opts; /* defaults filled in */
    abilities        can;  /* of the device that programs are planned for */
    arena            arena;
    session_option  *options;
    int              noptions, options_room;
    session_closer  *closers;
    void            *store;     /* variables by name: belongs to run/ */
    void            *ranks;     /* the other processes: belongs to run/ */
    void            *saver;     /* a checkpoint being written: belongs to checkpoint/ */
    void            *lock;      /* on the folder of a training: belongs to checkpoint/ */
    session_closer  *finishers; /* called before anything closes */
    const char  *layout_starts; /* rules that a search begins with (search/starts.h); NULL: none */
    name_table   model_state;   /* variables of models that no gradient trains (nn/layer.h) */
    bool         default_threads; /* the user gave no number */
    bool         default_memory;  /* neither */
    bool         said;            /* the error was printed already */
    _Atomic bool stepping;        /* a program runs: nothing may be allocated */
};

/* A session whose mesh and layout are not parsed yet, and whose device is a name only: upper layers go
 * on.  NULL: no memory. */
mtf_session *session_new(const mtf_session_opts *opts);
mtf_session *session_new_from(int argc, char **argv);

bool session_at_close(mtf_session *s, void (*close)(void *what), void *what);
/* Called when mtf_close begins, while all else still exists: how upper layers finish their work. */
bool session_before_close(mtf_session *s, void (*finish)(void *what), void *what);
void session_finish(mtf_session *s); /* calls these, once */
void session_say(mtf_session *s, const char *text);
void session_say_error(mtf_session *s); /* once */
/* An option that the program has not asked for is an error: of the first step, or at the end. */
bool session_knows_options(mtf_session *s);
void session_free(mtf_session *s); /* calls the closers */

#endif
