/* The number of sequences of a batch, from one text. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/session.h"
#include "mtf_text.h"

static const struct way {
    const char *name;
    bool        tokens, replica;
} ways[] = {{"sequences_per_batch", false, false},
            {"tokens_per_batch", true, false},
            {"sequences_per_replica", false, true},
            {"tokens_per_replica", true, true}};
enum { WAYS = sizeof ways / sizeof *ways };

static const struct way *find_way(const char *spec, size_t n)
{
    for (int i = 0; i < WAYS; i++)
        if (strlen(ways[i].name) == n && strncmp(ways[i].name, spec, n) == 0) return &ways[i];
    return NULL;
}

static bool batch_size(mtf_session *s, const char *spec, int64_t length, int64_t replicas,
                       int64_t *size)
{
    size_t            n = strcspn(spec, ":");
    const struct way *way = find_way(spec, n);
    const char       *digits = spec[n] ? spec + n + 1 : "";
    char             *end;
    errno = 0;
    int64_t number = strtoll(digits, &end, 10);
    if (!way || !isdigit((unsigned char)*digits) || *end || errno || number < 1)
        return fail(&s->fault, ERR_USAGE,
                    "the batch size \"%s\" should be sequences_per_batch:N, tokens_per_batch:N, "
                    "sequences_per_replica:N or tokens_per_replica:N",
                    spec);
    if (way->tokens && number % length)
        return fail(&s->fault, ERR_USAGE,
                    "the batch size \"%s\" is not a multiple of %lld, the length of a sequence",
                    spec, (long long)length);
    *size = way->tokens ? number / length : number;
    if (way->replica && __builtin_mul_overflow(*size, replicas, size))
        return fail(&s->fault, ERR_USAGE, "the batch size \"%s\" is too large", spec);
    return true;
}

int64_t mtf_text_batch_size(mtf_session *s, const char *spec, int64_t length, int64_t replicas)
{
    int64_t size = 0;
    if (!s || !mtf_ok(s)) return 0;
    if (!spec || length < 1 || replicas < 1) {
        fail(&s->fault, ERR_USAGE, "a batch size needs a text, a length and a number of replicas");
        return 0;
    }
    return batch_size(s, spec, length, replicas, &size) ? size : 0;
}
