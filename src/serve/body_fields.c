/* The body of a request as JSON, and its fields. */
#include "serve/body_fields.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/numbers.h"
#include "base/utf8.h"

bool body_wrong(body_reading *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    number_vformat(r->why, r->room, format, args);
    va_end(args);
    return false;
}

/* ---- the body ---- */

static bool is_utf8(const char *text, size_t n)
{
    uint32_t character;
    for (size_t at = 0, taken; at < n; at += taken)
        if (utf8_take(text + at, n - at, &taken, &character) != UTF8_CHARACTER) return false;
    return true;
}

/* A character with code 0, which a C string cannot hold. */
static bool has_zero(const char *text, size_t n)
{
    for (size_t k = 0; k + 1 < n; k++) {
        if (text[k] != '\\') continue;
        if (k + 5 < n && memcmp(text + k, "\\u0000", 6) == 0) return true;
        k++;
    }
    return memchr(text, 0, n) != NULL;
}

/* `end` is where the parser gave up. */
static void not_json(body_reading *r, const char *body, size_t bytes, const char *end)
{
    size_t at = end ? (size_t)(end - body) : 0;
    if (bytes == 0)
        body_wrong(r, "the body is not JSON: it is empty");
    else if (at + 1 >= bytes)
        body_wrong(r, "the body is not JSON: it ends too early");
    else
        body_wrong(r, "the body is not JSON: what stands from byte %zu on is wrong", at + 1);
}

cJSON *body_object(body_reading *r, const char *body, size_t bytes)
{
    const char *end = NULL;
    bool        text = is_utf8(body, bytes), zero = has_zero(body, bytes);
    if (!text || zero) {
        body_wrong(r, text ? "the body has a character with code 0" : "the body is not UTF-8");
        return NULL;
    }
    cJSON *root = bytes ? cJSON_ParseWithLengthOpts(body, bytes, &end, false) : NULL;
    while (root && end < body + bytes && strchr(" \t\r\n", *end)) end++;
    if (root && end == body + bytes && cJSON_IsObject(root)) return root;
    if (root && end == body + bytes)
        body_wrong(r, "the body is not a JSON object");
    else
        not_json(r, body, bytes, end);
    cJSON_Delete(root);
    return NULL;
}

/* ---- fields ---- */

enum { MOST_FIELDS_READ = 64 };

static bool take_field(body_reading *r, const request_field *f, const cJSON *v);

/* Without a hint, those that there are. */
static bool no_field(body_reading *r, const char *name, const request_field *fields,
                     const char *hint)
{
    char all[400] = "";
    for (int k = 0; !*hint && fields[k].name; k++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%s%s", k ? ", " : "; there are ", fields[k].name);
    }
    return body_wrong(r, "there is no parameter \"%.60s\"%s%s", name, hint, all);
}

bool body_fields(body_reading *r, const cJSON *root, const request_field *fields)
{
    bool         seen[MOST_FIELDS_READ] = {false};
    const cJSON *member;
    cJSON_ArrayForEach(member, root)
    {
        nearest near = {.wanted = member->string};
        char    hint[100];
        int     k = 0;
        for (; fields[k].name && strcmp(fields[k].name, member->string) != 0; k++)
            nearest_offer(&near, fields[k].name);
        if (!fields[k].name)
            return no_field(r, member->string, fields, nearest_hint(&near, hint, sizeof hint));
        if (seen[k]) return body_wrong(r, "\"%s\" is given twice", fields[k].name);
        seen[k] = true;
        if (!cJSON_IsNull(member)) TRY(take_field(r, &fields[k], member));
    }
    return true;
}

static bool take_number(body_reading *r, const cJSON *v, double least, double most, double *to)
{
    *to = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (*to >= least && *to <= most) return true;
    return body_wrong(r, "\"%s\" must be a number from %g to %g", v->string, least, most);
}

bool body_whole(body_reading *r, const cJSON *v, int64_t least, int64_t most, int64_t *to)
{
    double x = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (!(x >= (double)least && x <= (double)most) || x != floor(x))
        return body_wrong(r, "\"%s\" must be a whole number from %lld to %lld", v->string,
                          (long long)least, (long long)most);
    *to = (int64_t)x;
    return true;
}

bool body_flag(body_reading *r, const cJSON *v, bool *to)
{
    *to = cJSON_IsTrue(v);
    return cJSON_IsBool(v) || body_wrong(r, "\"%s\" must be true or false", v->string);
}

static bool take_text(body_reading *r, const cJSON *v, const char **to)
{
    *to = cJSON_IsString(v) ? v->valuestring : NULL;
    return *to || body_wrong(r, "\"%s\" must be a string", v->string);
}

static bool take_field(body_reading *r, const request_field *f, const cJSON *v)
{
    void *to = (char *)r->request + f->at;
    switch (f->kind) {
    case FIELD_NUMBER: return take_number(r, v, f->least, f->most, to);
    case FIELD_WHOLE: return body_whole(r, v, (int64_t)f->least, (int64_t)f->most, to);
    case FIELD_FLAG: return body_flag(r, v, to);
    case FIELD_TEXT: return take_text(r, v, to);
    default: return f->take(r, v);
    }
}
