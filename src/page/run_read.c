/* Reads the run of another page, as run_columns_write left it there. */
#include <math.h>
#include <string.h>

#include "checkpoint/json_in.h"
#include "page/run_columns.h"

/* An array of numbers; null is NAN.  NULL: it is absent, or anything else. */
static const double *numbers_read(const cJSON *from, const char *key, int *n, arena *a)
{
    const cJSON *list = json_member(from, key);
    if (!cJSON_IsArray(list)) return NULL;
    double *values = arena_array(a, double, cJSON_GetArraySize(list) + 1);
    *n = 0;
    for (const cJSON *i = list->child; values && i; i = i->next) {
        if (!cJSON_IsNumber(i) && !cJSON_IsNull(i)) return NULL;
        values[(*n)++] = cJSON_IsNumber(i) ? i->valuedouble : NAN;
    }
    return values;
}

/* Of `wanted` numbers. */
static bool column_read(const cJSON *from, const char *key, int wanted, const double **values,
                        arena *a)
{
    int n = 0;
    *values = numbers_read(from, key, &n, a);
    return *values && n == wanted;
}

/* Where points are: from 0 on, none before the one before it. */
static bool rises(const double *values, int n)
{
    double before = 0;
    for (int k = 0; k < n; k++) {
        if (!(values[k] >= before && values[k] <= 0x1p53)) return false;
        before = values[k];
    }
    return true;
}

static const char *text_read(const cJSON *from, const char *key, arena *a)
{
    const cJSON *item = json_member(from, key);
    return cJSON_IsString(item) ? arena_text(a, item->valuestring) : NULL;
}

static bool figure_read(run_columns *r, const cJSON *from, arena *a)
{
    run_figure f = {.name = cJSON_IsObject(from) ? text_read(from, "name", a) : NULL};
    if (!f.name || r->nfigures == RUN_FIGURES) return false;
    f.step = numbers_read(from, "step", &f.n, a);
    TRY(f.step && column_read(from, "seconds", f.n, &f.seconds, a) &&
        column_read(from, "value", f.n, &f.value, a));
    r->figures[r->nfigures++] = f;
    return f.n > 0 && rises(f.step, f.n) && rises(f.seconds, f.n);
}

static bool run_read(run_columns *r, const cJSON *from, arena *a)
{
    const cJSON *first = json_member(from, "first"), *figures = json_member(from, "figures");
    r->setting = text_read(from, "setting", a);
    r->examples = cJSON_IsTrue(json_member(from, "examples"));
    r->column[RUN_STEP] = numbers_read(from, "step", &r->n, a);
    TRY(r->setting && r->column[RUN_STEP] && r->n && cJSON_IsNumber(first) &&
        cJSON_IsArray(figures));
    r->first = first->valuedouble;
    for (run_column c = RUN_SECONDS; c < RUN_COLUMNS; c++)
        if (c <= RUN_LOSS || json_member(from, run_column_name(c)))
            TRY(column_read(from, run_column_name(c), r->n, &r->column[c], a));
    for (const cJSON *f = figures->child; f; f = f->next) TRY(figure_read(r, f, a));
    return r->first >= 0 && r->first <= r->column[RUN_STEP][0] &&
           rises(r->column[RUN_STEP], r->n) && rises(r->column[RUN_SECONDS], r->n);
}

bool run_columns_read(run_columns *r, const char *text, arena *a)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char       *data = strstr(text, begin);
    const char       *end = data ? strstr(data, "</script>") : NULL;
    if (!end) return false;
    data += sizeof begin - 1;
    cJSON       *root = json_read(data, (size_t)(end - data));
    const cJSON *runs = root ? json_member(root, "runs") : NULL;
    bool         ok =
        runs && cJSON_IsArray(runs) && cJSON_IsObject(runs->child) && run_read(r, runs->child, a);
    cJSON_Delete(root);
    return ok;
}
