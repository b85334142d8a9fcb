/* The body of a request as JSON, and its fields. */
#ifndef SERVE_BODY_FIELDS_H
#define SERVE_BODY_FIELDS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Receives the error message. */
typedef struct reading {
    char  *why;
    size_t room;
    void  *request;
} body_reading;

typedef enum field_kind { FIELD_OWN, FIELD_NUMBER, FIELD_WHOLE, FIELD_FLAG, FIELD_TEXT } field_kind;

/* A parameter: the offset and range of its value; or a function that reads it. */
typedef struct request_field {
    const char *name;
    field_kind  kind;
    size_t      at; /* in the request: double, int64_t, bool or const char * */
    double      least, most;
    bool (*take)(body_reading *r, const cJSON *value);
} request_field;

/* Reports what is wrong; always false. */
bool body_wrong(body_reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The object that the body is; NULL: it is none. */
cJSON *body_object(body_reading *r, const char *body, size_t bytes);
/* Reads each member with the field of its name; the last field has none. */
bool body_fields(body_reading *r, const cJSON *root, const request_field *fields);
/* A whole number of a range; a flag. */
bool body_whole(body_reading *r, const cJSON *v, int64_t least, int64_t most, int64_t *to);
bool body_flag(body_reading *r, const cJSON *v, bool *to);

#endif
