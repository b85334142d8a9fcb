/* Values of tensors as text. */
#include "cli/show_values.h"

#include "base/dtype.h"
#include "graph/spell.h"

enum { SHOW_ALL = 1000, LINE = 100 };

void value_write(textbuf *t, mtf_dtype type, const void *data, int64_t index)
{
    if (type == MTF_BOOL)
        text_add(t, "%s", ((const uint8_t *)data)[index] ? "true" : "false");
    else if (type == MTF_I32)
        text_add(t, "%d", (int)((const int32_t *)data)[index]);
    else if (type == MTF_I64)
        text_add(t, "%lld", (long long)((const int64_t *)data)[index]);
    else
        spell_real(t, dtype_load(type, data, index), type);
}

/* An iteration over the shown elements, once to find the widest, once to write. */
typedef struct view {
    textbuf         *text;
    mtf_dtype        type;
    const mtf_shape *shape;
    const void      *data;
    int64_t          edge;  /* elements shown at either end of a long dimension; 0: all */
    int              width; /* of an element; 0: not yet known */
    int              column;
} view;

static int write_element(view *v, textbuf *t, int64_t index)
{
    int before = t->used;
    value_write(t, v->type, v->data, index);
    return t->used - before;
}

/* The next shown index after `i`; `*gap`: whether some are omitted between. */
static int64_t next_shown(const view *v, int64_t size, int64_t i, bool *gap)
{
    *gap = v->edge && i == v->edge - 1 && size > 2 * v->edge;
    return *gap ? size - v->edge : i + 1;
}

static void find_width(view *v, int dim, int64_t at)
{
    if (dim == v->shape->ndims) {
        textbuf scratch = {.arena = v->text->arena};
        int     width = write_element(v, &scratch, at);
        if (width > v->width) v->width = width;
        return;
    }
    bool    gap;
    int64_t size = v->shape->dims[dim].size;
    for (int64_t i = 0; i < size; i = next_shown(v, size, i, &gap))
        find_width(v, dim + 1, at * size + i);
}

static void new_line(view *v, int indent, int empty)
{
    while (empty-- > 0) text_add(v->text, "\n");
    text_add(v->text, "\n%*s", indent, "");
    v->column = indent;
}

static void write_row(view *v, int dim, int64_t at)
{
    bool    gap;
    int64_t size = v->shape->dims[dim].size;
    for (int64_t i = 0, next; i < size; i = next) {
        next = next_shown(v, size, i, &gap);
        textbuf scratch = {.arena = v->text->arena};
        write_element(v, &scratch, at * size + i);
        text_add(v->text, "%*s%s", v->width, text_done(&scratch) ? scratch.text : "",
                 gap           ? ", ...,"
                 : next < size ? ","
                               : "");
        v->column += v->width + (gap ? 6 : 1);
        if (next == size) break;
        if (v->column + v->width + 2 > LINE)
            new_line(v, dim + 1, 0);
        else
            text_add(v->text, " "), v->column++;
    }
}

static void write_level(view *v, int dim, int64_t at)
{
    int ndims = v->shape->ndims;
    text_add(v->text, "[");
    v->column++;
    if (dim == ndims - 1) {
        write_row(v, dim, at);
    } else {
        bool    gap;
        int64_t size = v->shape->dims[dim].size;
        for (int64_t i = 0, next; i < size; i = next) {
            next = next_shown(v, size, i, &gap);
            write_level(v, dim + 1, at * size + i);
            if (next == size) break;
            text_add(v->text, ",");
            if (gap) {
                new_line(v, dim + 1, ndims - dim - 2);
                text_add(v->text, "...,");
            }
            new_line(v, dim + 1, ndims - dim - 2);
        }
    }
    text_add(v->text, "]");
}

void value_show(textbuf *t, const char *name, mtf_dtype type, const mtf_shape *shape,
                const void *data)
{
    spell_name(t, name);
    if (shape->ndims == 0) {
        text_add(t, " = ");
        value_write(t, type, data, 0);
        text_add(t, "\n");
        return;
    }
    text_add(t, ": ");
    spell_type_and_shape(t, type, shape);
    text_add(t, "\n");
    view v = {.text = t, .type = type, .shape = shape, .data = data};
    /* With many dimensions even six elements along each are too many. */
    if (mtf_shape_size(*shape) > SHOW_ALL) v.edge = shape->ndims <= 3 ? 3 : 1;
    find_width(&v, 0, 0);
    write_level(&v, 0, 0);
    text_add(t, "\n");
}
