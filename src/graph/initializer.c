/* Initialisers: how a variable's first value is drawn. */
#include "graph/initializer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

/* The deviation of normal numbers that are redrawn until they lie within two deviations. */
static const double truncated_deviation = 0.87962566103423978;

/* clang-format off */
static const struct {
    const char *name;
    int         numbers; /* how many, in parentheses */
    initializer is;
} forms[] = {
    {"zeros",            0, {.kind = INIT_CONSTANT}},
    {"ones",             0, {.kind = INIT_CONSTANT, .a = 1}},
    {"constant",         1, {.kind = INIT_CONSTANT}},
    {"uniform",          2, {.kind = INIT_UNIFORM}},
    {"normal",           2, {.kind = INIT_NORMAL}},
    {"truncated_normal", 2, {.kind = INIT_TRUNCATED_NORMAL}},
    {"orthogonal",       0, {.kind = INIT_ORTHOGONAL, .a = 1}},
    {"orthogonal",       1, {.kind = INIT_ORTHOGONAL}},
    {"glorot_uniform",   0, {.kind = INIT_SCALED, .a = 1, .fan = FAN_AVG, .draw = INIT_UNIFORM}},
    {"glorot_normal",    0, {.kind = INIT_SCALED, .a = 1, .fan = FAN_AVG, .draw = INIT_TRUNCATED_NORMAL, .corrected = true}},
    {"he_uniform",       0, {.kind = INIT_SCALED, .a = 2, .fan = FAN_IN,  .draw = INIT_UNIFORM}},
    {"he_normal",        0, {.kind = INIT_SCALED, .a = 2, .fan = FAN_IN,  .draw = INIT_TRUNCATED_NORMAL, .corrected = true}},
    {"lecun_uniform",    0, {.kind = INIT_SCALED, .a = 1, .fan = FAN_IN,  .draw = INIT_UNIFORM}},
    {"lecun_normal",     0, {.kind = INIT_SCALED, .a = 1, .fan = FAN_IN,  .draw = INIT_TRUNCATED_NORMAL, .corrected = true}},
};
static const char *const fans[] = {[FAN_IN] = "fan_in", [FAN_OUT] = "fan_out", [FAN_AVG] = "fan_avg"};
static const char *const draws[] = {[INIT_UNIFORM] = "uniform", [INIT_NORMAL] = "untruncated_normal",
                                    [INIT_TRUNCATED_NORMAL] = "normal"};
/* clang-format on */

/* Reads `, 1.5` or, at the beginning, `(1.5`; NULL where there is no finite number. */
static const char *take_number(const char *text, bool first, double *number)
{
    if (!text || *text++ != (first ? '(' : ',')) return NULL;
    char *end;
    *number = number_read(text, &end);
    return end == text || !isfinite(*number) ? NULL : end + strspn(end, " ");
}

/* Reads `, word` and gives the word's place in the list, -1 where it is not there. */
static const char *take_word(const char *text, int n, const char *const *words, int *place)
{
    *place = -1;
    if (!text || *text++ != ',') return NULL;
    text += strspn(text, " ");
    size_t length = strcspn(text, " ,)");
    for (int i = 0; i < n; i++)
        if (words[i] && strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
            *place = i;
    return *place < 0 ? NULL : text + length + strspn(text + length, " ");
}

static bool ends(const char *text)
{
    return text && strcmp(text, ")") == 0;
}

static bool parse_scaling(const char *text, initializer *out)
{
    int fan, draw;
    *out = (initializer){.kind = INIT_SCALED};
    text = take_number(text, true, &out->a);
    text = take_word(text, FAN_AVG + 1, fans, &fan);
    text = take_word(text, INIT_TRUNCATED_NORMAL + 1, draws, &draw);
    if (!ends(text) || !(out->a > 0)) return false;
    out->fan = (initializer_fan)fan;
    out->draw = (initializer_kind)draw;
    return true;
}

static bool parse_each(const char *text, initializer *out)
{
    *out = (initializer){.kind = INIT_NORMAL_EACH};
    while (text && !ends(text) && out->n < INIT_DEVIATIONS) {
        text = take_number(text, out->n == 0, &out->deviations[out->n]);
        out->n++;
    }
    return ends(text);
}

static bool parse_numbers(const char *text, int count, initializer *out)
{
    double *to[2] = {&out->a, &out->b};
    assert(count <= 2);
    if (count == 0) return *text == 0;
    for (int i = 0; i < count; i++) text = take_number(text, i == 0, to[i]);
    return ends(text);
}

static bool is_called(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(name, text, length) == 0;
}

/* The number in parentheses, which is `a` as a double. */
static attr_number constant_value(const char *text, double a)
{
    char *end = NULL;
    errno = 0;
    long long whole = *text == '(' ? strtoll(text + 1, &end, 10) : 0;
    bool      exact = end && !errno && ends(end + strspn(end, " "));
    return exact ? number_of_whole(whole) : (attr_number){.r = a};
}

bool initializer_parse(const char *text, initializer *out)
{
    size_t n = strcspn(text, "(");
    if (is_called(text, n, "variance_scaling")) return parse_scaling(text + n, out);
    if (is_called(text, n, "normal_each")) return parse_each(text + n, out);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *out = forms[i].is;
        if (is_called(text, n, forms[i].name) && parse_numbers(text + n, forms[i].numbers, out)) {
            out->value = constant_value(text + n, out->a);
            return true;
        }
    }
    return false;
}

initializer initializer_for_fans(initializer i, double in, double out)
{
    if (i.kind != INIT_SCALED) return i;
    double fan = i.fan == FAN_IN ? in : i.fan == FAN_OUT ? out : (in + out) / 2;
    if (!(fan > 1)) fan = 1;
    if (i.draw == INIT_UNIFORM) {
        double limit = sqrt(3 * i.a / fan);
        return (initializer){.kind = INIT_UNIFORM, .a = -limit, .b = limit};
    }
    double deviation = sqrt(i.a / fan);
    if (i.corrected) deviation /= truncated_deviation;
    return (initializer){.kind = i.draw, .b = deviation};
}

initializer initializer_for_shape(initializer i, const mtf_shape *shape)
{
    double in = 1, out = 1, positions = 1;
    int    n = shape->ndims;
    if (n >= 1) out = (double)shape->dims[n - 1].size;
    in = n >= 2 ? (double)shape->dims[n - 2].size : out;
    for (int d = 0; d < n - 2; d++) positions *= (double)shape->dims[d].size;
    return initializer_for_fans(i, positions * in, positions * out);
}

void initializer_write(initializer i, char text[INIT_TEXT])
{
    number_format(text, INIT_TEXT, "%s(%.17g, %.17g)",
                  i.kind == INIT_UNIFORM  ? "uniform"
                  : i.kind == INIT_NORMAL ? "normal"
                                          : "truncated_normal",
                  i.a, i.b);
}
