/* Fixup: initial weights that need no norms. */
#include "model/transformer/fixup.h"

#include <math.h>
#include <string.h>

#include "base/numbers.h"

/* The deviation of normal numbers of deviation 1 that are cut off at 2. */
#define TRUNCATED 0.87962566103423978

static bool one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || (c && strcmp(word, c) == 0);
}

bool fixup_complete(fault *f, const char *layer, const char *init, mtf_fixup *o)
{
    if (o->layers == 0) return true;
    if (!o->init) o->init = init;
    if (!o->distribution) o->distribution = "uniform";
    if (o->layers < 1)
        return fail(f, ERR_VALUE, "%s: fixup for %lld layers; there must be 1 or more", layer,
                    (long long)o->layers);
    if (!one_of(o->init, "glorot", "he", NULL))
        return fail(f, ERR_VALUE, "%s: fixup starts from \"glorot\" or \"he\", not \"%s\"", layer,
                    o->init);
    return one_of(o->distribution, "uniform", "truncated_normal", "untruncated_normal") ||
           fail(f, ERR_VALUE,
                "%s: fixup draws from \"uniform\", \"truncated_normal\" or "
                "\"untruncated_normal\", not \"%s\"",
                layer, o->distribution);
}

void fixup_init(const mtf_fixup *o, double scale, int64_t in, int64_t out, char text[FIXUP_INIT])
{
    bool   he = strcmp(o->init, "he") == 0;
    double n = he ? (double)in : (double)(in + out) / 2;
    double s = sqrt((he ? 2 : 1) * scale / n);
    if (strcmp(o->distribution, "uniform") == 0)
        number_format(text, FIXUP_INIT, "uniform(%.17g, %.17g)", -sqrt(3) * s, sqrt(3) * s);
    else if (strcmp(o->distribution, "truncated_normal") == 0)
        number_format(text, FIXUP_INIT, "truncated_normal(0, %.17g)", s / TRUNCATED);
    else
        number_format(text, FIXUP_INIT, "normal(0, %.17g)", s);
}
