/* Pieces of JSON that several commands print. */
#include "cli/json_out.h"

#include <math.h>
#include <stdio.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "cli/show_values.h"

void json_text(cJSON *to, const char *key, const char *value)
{
    cJSON_AddStringToObject(to, key, value);
}

void json_int(cJSON *to, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    cJSON_AddRawToObject(to, key, digits);
}

void json_flag(cJSON *to, const char *key, bool value)
{
    cJSON_AddBoolToObject(to, key, value);
}

cJSON *json_list(cJSON *to, const char *key)
{
    return cJSON_AddArrayToObject(to, key);
}

cJSON *json_object(cJSON *to, const char *key)
{
    return cJSON_AddObjectToObject(to, key);
}

void json_append(cJSON *list, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    if (!cJSON_AddItemToArray(list, item)) cJSON_Delete(item);
}

void json_type_and_shape(cJSON *to, const mtf_tensor *x)
{
    json_text(to, "type", mtf_dtype_name(x->type));
    cJSON *shape = json_object(to, "shape");
    for (int i = 0; i < x->shape.ndims; i++)
        json_int(shape, x->shape.dims[i].name, x->shape.dims[i].size);
}

bool json_data(cJSON *to, mtf_session *s, const mtf_tensor *x, const void *data)
{
    arena_mark mark = arena_here(&s->arena);
    textbuf    t = {.arena = &s->arena};
    int64_t    count = mtf_shape_size(x->shape);
    text_add(&t, "[");
    for (int64_t i = 0; i < count && !t.failed; i++) {
        bool number = !dtype_is_float(x->type) || isfinite(dtype_load(x->type, data, i));
        text_add(&t, i ? (number ? ", " : ", \"") : (number ? "" : "\""));
        value_write(&t, x->type, data, i);
        if (!number) text_add(&t, "\"");
    }
    text_add(&t, "]");
    const char *text = text_done(&t);
    bool        ok = text && cJSON_AddRawToObject(to, "data", text);
    arena_back(&s->arena, mark);
    return ok || fail(&s->fault, ERR_MEMORY, "no memory to print %lld elements", (long long)count);
}

void json_cost(cJSON *to, const mtf_cost *cost)
{
    cJSON *c = json_object(to, "cost");
    json_int(c, "instructions", cost->instructions);
    json_int(c, "flops", cost->flops);
    json_int(c, "bytes", cost->bytes);
    json_int(c, "variable_bytes", cost->variable_bytes);
    json_int(c, "input_bytes", cost->input_bytes);
    json_int(c, "constant_bytes", cost->constant_bytes);
    json_int(c, "peak_bytes", cost->peak_bytes);
    json_int(c, "scratch_bytes", cost->scratch_bytes);
    json_int(c, "wire_bytes", cost->wire_bytes);
}

bool json_print(mtf_session *s, cJSON *root)
{
    locale_t before =
        number_begin(); /* cJSON replaces one byte of the locale's decimal point, which may have two */
    char *text = cJSON_Print(root);
    number_end(before);
    if (text) puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text || fail(&s->fault, ERR_MEMORY, "no memory to print JSON");
}
