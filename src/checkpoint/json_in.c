/* JSON from files, read strictly: unique members, exact numbers. */
#include "checkpoint/json_in.h"

#include <string.h>

bool json_whole(const cJSON *item, int64_t *value)
{
    if (!cJSON_IsNumber(item)) return false;
    double v = item->valuedouble;
    if (!(v >= 0 && v <= 0x1p53) || v != (double)(int64_t)v) return false;
    *value = (int64_t)v;
    return true;
}

const cJSON *json_member(const cJSON *object, const char *key)
{
    const cJSON *found = NULL;
    for (const cJSON *i = object->child; i; i = i->next) {
        if (strcmp(i->string, key) != 0) continue;
        if (found) return NULL;
        found = i;
    }
    return found;
}

cJSON *json_read(const char *text, size_t length)
{
    const char *end = NULL;
    cJSON      *root = cJSON_ParseWithLengthOpts(text, length, &end, false);
    bool        ok = cJSON_IsObject(root);
    for (; ok && end < text + length; end++) ok = *end == ' ' || *end == '\n';
    if (ok) return root;
    cJSON_Delete(root);
    return NULL;
}

void json_quote(textbuf *t, const char *text)
{
    text_add(t, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_add(t, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            text_add(t, "\\u%04x", *p);
        else
            text_add(t, "%c", *p);
    }
    text_add(t, "\"");
}
