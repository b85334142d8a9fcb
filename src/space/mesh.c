/* Meshes: grids of processors with named axes. */
#include "space/mesh.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"
#include "space/pieces.h"

/* axis:size */
static bool parse_axis(mtf_session *s, const char *text, char *piece, mtf_dim *axis)
{
    char *colon = strchr(piece, ':'), *end;
    *axis = (mtf_dim){.name = piece};
    if (!colon || colon == piece || strchr(colon + 1, ':'))
        return fail(&s->fault, ERR_USAGE,
                    "--mesh %s: \"%s\" is not an axis; write axis:size, as in rows:2,cols:4", text,
                    piece);
    *colon = 0;
    errno = 0;
    long long size = strtoll(colon + 1, &end, 10);
    if (errno || *end || end == colon + 1 || size < 1)
        return fail(&s->fault, ERR_USAGE,
                    "--mesh %s: the size of axis \"%s\" is \"%s\"; write a whole number, 1 or more",
                    text, piece, colon + 1);
    axis->size = size;
    return true;
}

/* Checks the axes together; the messages of shape_check would call them dimensions. */
static bool check_axes(mtf_session *s, const char *text, int n, const mtf_dim *axes)
{
    int64_t processors = 1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            if (strcmp(axes[k].name, axes[i].name) == 0)
                return fail(&s->fault, ERR_USAGE, "--mesh %s: axis \"%s\" is given twice", text,
                            axes[i].name);
        if (n > 1 && strcmp(axes[i].name, "auto") == 0)
            return fail(&s->fault, ERR_USAGE,
                        "--mesh %s: auto finds all axes and stands alone, as in auto:8", text);
        processors = saturate_times(processors, axes[i].size);
    }
    if (processors > MAX_PROCESSORS)
        return fail(&s->fault, ERR_USAGE, "--mesh %s has %lld processors; at most %d are possible",
                    text, (long long)processors, MAX_PROCESSORS);
    mtf_shape shape = mtf_shape_of(n, axes);
    if (shape.ndims < 0)
        return fail(&s->fault, ERR_USAGE,
                    "--mesh %s: an axis' name is a word without any of , . ; : + ? = # | and "
                    "brackets",
                    text);
    return true;
}

bool mesh_parse(mtf_session *s, const char *text, mesh *m)
{
    mtf_dim axes[MAX_AXES] = {{0}};
    int     n = 0;
    *m = (mesh){0};
    if (!text) text = "";
    pieces p = {.rest = arena_text(&s->arena, text), .numbers = true};
    TRY(mtf_ok(s) && p.rest);
    for (char *piece; (piece = pieces_next(&p)) != NULL; n++) {
        if (n == MAX_AXES)
            return fail(&s->fault, ERR_USAGE, "--mesh %s: a mesh has at most %d axes", text,
                        MAX_AXES);
        TRY(parse_axis(s, text, piece, &axes[n]));
    }
    if (p.missing)
        return fail(&s->fault, ERR_USAGE,
                    "--mesh %s: an axis is missing; write axis:size,axis:size", text);
    TRY(check_axes(s, text, n, axes));
    m->naxes = n;
    for (int i = 0; i < n; i++) {
        m->name[i] = axes[i].name;
        m->size[i] = (int)axes[i].size;
    }
    return true;
}

bool mesh_asks(const mesh *m)
{
    return m->naxes == 1 && strcmp(m->name[0], "auto") == 0;
}

int mesh_size(const mesh *m)
{
    int n = 1;
    for (int i = 0; i < m->naxes; i++) n *= m->size[i];
    return n;
}

mesh_point mesh_place(const mesh *m, int number)
{
    mesh_point p = {0};
    for (int i = m->naxes - 1; i >= 0; i--) {
        p.at[i] = number % m->size[i];
        number /= m->size[i];
    }
    assert(number == 0); /* else the mesh has no such processor */
    return p;
}

int mesh_number(const mesh *m, const mesh_point *p)
{
    int number = 0;
    for (int i = 0; i < m->naxes; i++) number = number * m->size[i] + p->at[i];
    return number;
}

int mesh_axis(const mesh *m, const char *name)
{
    for (int i = 0; i < m->naxes; i++)
        if (strcmp(m->name[i], name) == 0) return i;
    return -1;
}

void mesh_write_place(const mesh *m, const mesh_point *p, char *text, size_t room)
{
    size_t used = 0;
    if (room) text[0] = 0;
    for (int i = 0; i < m->naxes && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s=%d", i ? "," : "", m->name[i],
                                 p->at[i]);
}

void mesh_write_places(const mesh *m, int n, const int *numbers, char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "%s", n ? "" : "nobody");
    for (int k = 0; k < n && k < PLACES_NAMED && used < room; k++) {
        char       place[100];
        mesh_point p = mesh_place(m, numbers[k]);
        mesh_write_place(m, &p, place, sizeof place);
        used += (size_t)snprintf(text + used, room - used, "%s%.80s", k ? " and " : "", place);
    }
    if (n > PLACES_NAMED && used < room)
        snprintf(text + used, room - used, " and %d more", n - PLACES_NAMED);
}

int cut_parts(const mesh *m, const axis_list *c)
{
    int n = 1;
    for (int i = 0; i < c->n; i++) n *= m->size[c->axis[i]];
    return n;
}

int cut_part(const mesh *m, const axis_list *c, const mesh_point *p)
{
    int part = 0;
    for (int i = 0; i < c->n; i++) part = part * m->size[c->axis[i]] + p->at[c->axis[i]];
    return part;
}

void cut_set_part(const mesh *m, const axis_list *c, int part, mesh_point *p)
{
    for (int i = c->n - 1; i >= 0; i--) {
        p->at[c->axis[i]] = part % m->size[c->axis[i]];
        part /= m->size[c->axis[i]];
    }
    assert(part == 0);
}

unsigned cut_axes(const axis_list *c)
{
    unsigned axes = 0;
    for (int i = 0; i < c->n; i++) axes |= 1u << c->axis[i];
    return axes;
}

bool cut_equal(const axis_list *a, const axis_list *b)
{
    return a->n == b->n && memcmp(a->axis, b->axis, a->n) == 0;
}

bool cut_refines(const axis_list *finer, const axis_list *c)
{
    return c->n <= finer->n && memcmp(finer->axis, c->axis, c->n) == 0;
}

span part_range(int64_t size, int parts, int part)
{
    assert(size >= 0 && part >= 0 && part <= parts);
    /* floor(i * n / p) without the product, which might not fit. */
    int64_t whole = size / parts, rest = size % parts;
    int64_t begin = part * whole + part * rest / parts;
    int64_t end = (part + 1) * whole + (part + 1) * rest / parts;
    return (span){begin, end - begin};
}

/* The last part that begins at or before the element: k n / p < e + 1 just where k < (e + 1) p / n. */
int part_holding(int64_t size, int parts, int64_t element)
{
    assert(parts > 0 && element >= 0 && element < size);
    if (size <= INT64_MAX / parts) return (int)(((element + 1) * parts - 1) / size);
    int k = (int)((double)element / (double)size * parts); /* may be a neighbour of the part */
    if (k >= parts) k = parts - 1;
    while (part_range(size, parts, k).begin > element) k--;
    while (part_range(size, parts, k + 1).begin <= element) k++;
    return k;
}

span cut_range(const mesh *m, const axis_list *c, const mesh_point *p, int64_t size)
{
    return part_range(size, cut_parts(m, c), cut_part(m, c, p));
}

unsigned placement_axes(const placement *p, int ndims)
{
    unsigned axes = 0;
    for (int i = 0; i < ndims; i++) axes |= cut_axes(&p->dim[i]);
    return axes;
}

mtf_shape placement_local(const mesh *m, const placement *where, const mesh_point *p,
                          const mtf_shape *shape)
{
    mtf_shape local = *shape;
    for (int i = 0; i < shape->ndims; i++)
        local.dims[i].size = cut_range(m, &where->dim[i], p, shape->dims[i].size).size;
    return local;
}
