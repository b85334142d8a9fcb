/* What a store holds, and whose errors they are. */
#include "run/stored.h"

#include <stdio.h>

int64_t store_part_bytes(const store *s, mtf_dtype type, const mtf_shape *shape,
                         const placement *where, int processor)
{
    mesh_point p = mesh_place(&s->mesh, processor);
    mtf_shape  local = placement_local(&s->mesh, where, &p, shape);
    return mtf_shape_size(local) * (int64_t)mtf_dtype_bytes(type);
}

void store_name(const store *s, int processor, bool rank)
{
    char whose[240];
    int  used = 0;
    if (!s->wire || mtf_ok(s->session) || (s->ranks && ranks_foreign(s->ranks))) return;
    mesh_point p = mesh_place(&s->mesh, processor);
    if (s->ranks && rank) used = snprintf(whose, sizeof whose, "rank %d, ", ranks_number(s->ranks));
    used += snprintf(whose + used, sizeof whose - (size_t)used, "processor ");
    mesh_write_place(&s->mesh, &p, whose + used, sizeof whose - (size_t)used);
    if (s->session->fault.kind != ERR_LOST) fault_whose(&s->session->fault, whose);
}

bool store_blame(const store *s, int processor)
{
    store_name(s, processor, true);
    return false;
}
