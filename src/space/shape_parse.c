/* Reads shapes from text: "x:4;y:8".
 *
 * The original's syntax: `,` `.` `;` and spaces all separate, every piece has
 * exactly one colon.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "space/shape.h"

static bool parse_dim(mtf_session *s, char *piece, mtf_dim *dim)
{
    char *colon = strchr(piece, ':');
    if (!colon || strchr(colon + 1, ':'))
        return fail(&s->fault, ERR_SYNTAX, "\"%s\" is not a dimension; write name:size", piece);
    *colon = 0;
    char *end;
    errno = 0;
    long long size = strtoll(colon + 1, &end, 10);
    if (errno || *end || end == colon + 1)
        return fail(&s->fault, ERR_SYNTAX,
                    "the size of dimension \"%s\" is \"%s\"; write a whole number", piece,
                    colon + 1);
    *dim = (mtf_dim){piece, size};
    return true;
}

mtf_shape mtf_shape_parse(mtf_session *s, const char *text)
{
    mtf_shape none = {.ndims = SHAPE_SYNTAX};
    if (!mtf_ok(s)) return none;
    char *copy = arena_text(&s->arena, text);
    if (!copy) return none;
    mtf_dim dims[MTF_MAX_DIMS + 1] = {{0}};
    int     n = 0;
    char   *rest = copy;
    for (char *piece; (piece = strtok_r(rest, ",.; \t\n", &rest)); n++) {
        if (n == MTF_MAX_DIMS) {
            n++; /* one too many: mtf_shape_of reports that before it looks at names */
            break;
        }
        if (!parse_dim(s, piece, &dims[n])) return none;
    }
    mtf_shape shape = mtf_shape_of(n, dims);
    shape_check(&shape, text, &s->fault);
    return shape;
}
