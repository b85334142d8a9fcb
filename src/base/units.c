/* Numbers with units, short enough for a column. */
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

static unit_text scaled(int64_t count, const char *unit)
{
    static const char *const steps[] = {"", "k", "M", "G", "T", "P", "E", "Z"};
    double                   v = (double)count;
    int                      u = 0;
    unit_text                t;
    while (v >= 999.5 && u < 7) v /= 1000, u++;
    const char *more = count == INT64_MAX ? ">" : "";
    int         n = number_format(t.s, sizeof t.s, "%s%.3g %s%s", more, v, steps[u], unit);
    if (n > 0 && n < (int)sizeof t.s && t.s[n - 1] == ' ') t.s[n - 1] = 0; /* a bare number */
    return t;
}

unit_text unit_bytes(int64_t n)
{
    return scaled(n, "B");
}

unit_text unit_count(int64_t n)
{
    return scaled(n, "");
}

unit_text unit_rate(double rate)
{
    unit_text t = unit_count((int64_t)rate);
    if (!strchr(t.s, ' ')) strcat(t.s, " ");
    return t;
}

unit_text unit_seconds(double s)
{
    static const struct {
        double      from;
        const char *name;
    } steps[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    unit_text t = {"0 s"};
    if (s < 1e-12) return t;
    int u = 0;
    while (u < 3 && s < 0.9995 * steps[u].from) u++;
    number_format(t.s, sizeof t.s, s / steps[u].from >= 999.5 ? "%.0f %s" : "%.3g %s",
                  s / steps[u].from, steps[u].name);
    return t;
}

unit_text unit_percent(double part, double whole)
{
    unit_text t;
    double    share = whole > 0 ? 100 * part / whole : 0;
    number_format(t.s, sizeof t.s, share > 0 && share < 0.1 ? "< 0.1 %%" : "%.1f %%", share);
    return t;
}
