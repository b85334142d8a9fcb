/* Small models of bytes, for tests of requests. */
#ifndef TESTS_SERVE_MODEL_H
#define TESTS_SERVE_MODEL_H

#include "serve/opened_model.h"

typedef enum serve_kind {
    SERVE_LM,
    SERVE_PREFIX,
    SERVE_NO_SHIFT,
    SERVE_ENCODER,
    SERVE_KINDS
} serve_kind;

/* In a session of its own, on one processor where `mesh` is NULL. */
opened_model serve_model(serve_kind kind, const char *mesh, const char *layout);

#endif
