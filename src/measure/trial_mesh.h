/* The mesh that a trial runs on. */
#ifndef MEASURE_TRIAL_MESH_H
#define MEASURE_TRIAL_MESH_H

#include "price/rates.h"

typedef struct trial {
    mtf_session *session;
    mesh         mesh;
    bool         divided;  /* the mesh's two axes divide the user's only one: see calibrate_begin */
    bool         crowded;  /* more processors than cores */
    double      *of_ranks; /* one number for each rank; NULL: no ranks */
} trial;

#endif
