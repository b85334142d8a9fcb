/* Splits text by a pattern with Unicode classes. */
#include "data/text/splitter.h"

#include "base/utf8.h"

#include "mtf_build.h"

#if MTF_HAVE_PCRE2

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct splitter {
    pcre2_code *code;
};

static void close_splitter(void *what)
{
    splitter *p = what;
    pcre2_code_free(p->code);
}

splitter *splitter_open(mtf_session *s, const char *pattern, const char *whose)
{
    int        error;
    PCRE2_SIZE at;
    splitter  *p = arena_new(&s->arena, splitter);
    (void)whose;
    if (!p || !session_at_close(s, close_splitter, p)) return NULL;
    p->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                            &error, &at, NULL);
    if (!p->code) {
        fail(&s->fault, error == PCRE2_ERROR_HEAP_FAILED ? ERR_MEMORY : ERR_INTERNAL,
             "PCRE2 rejects the pattern of a vocabulary: error %d at %d", error, (int)at);
        return NULL;
    }
    pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* may fail: then matching is slower */
    return p;
}

/* One stretch of valid UTF-8. */
typedef struct splitting {
    const splitter   *by;
    pcre2_match_data *match;
    split_visit      *visit;
    void             *context;
    fault            *why;
} splitting;

static int match_at(const splitting *t, const char *text, size_t n, size_t at)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)text;
    int        got = pcre2_match(t->by->code, subject, n, at, PCRE2_NO_UTF_CHECK, t->match, NULL);
    if (got != PCRE2_ERROR_JIT_STACKLIMIT) return got;
    return pcre2_match(t->by->code, subject, n, at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, t->match,
                       NULL);
}

static bool split_valid(const splitting *t, const char *text, size_t n)
{
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(t->match);
    size_t            at = 0;
    while (at < n) {
        int got = match_at(t, text, n, at);
        if (got < 0 && got != PCRE2_ERROR_NOMATCH)
            return fail(t->why, got == PCRE2_ERROR_NOMEMORY ? ERR_MEMORY : ERR_INTERNAL,
                        "PCRE2 cannot match a text: error %d", got);
        size_t begin = got < 0 ? n : found[0], end = got < 0 ? n : found[1];
        if (begin > at) TRY(t->visit(t->context, text + at, begin - at, false));
        if (end > begin) TRY(t->visit(t->context, text + begin, end - begin, true));
        at = end;
    }
    return true;
}

/* How many bytes from the beginning on are all valid, or all invalid. */
static size_t alike(const char *text, size_t n, bool valid)
{
    size_t   at = 0, taken;
    uint32_t character;
    while (at < n && (utf8_take(text + at, n - at, &taken, &character) == UTF8_CHARACTER) == valid)
        at += taken;
    return at;
}

bool splitter_split(const splitter *p, const char *text, size_t n, split_visit *visit,
                    void *context, fault *why)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    splitting         t = {p, match, visit, context, why};
    if (!match) return fail(why, ERR_MEMORY, "no memory to match a text");
    bool ok = true;
    for (size_t at = 0; ok && at < n;) {
        size_t valid = alike(text + at, n - at, true);
        ok = split_valid(&t, text + at, valid);
        at += valid;
        size_t invalid = alike(text + at, n - at, false);
        if (ok && invalid) ok = visit(context, text + at, invalid, false);
        at += invalid;
    }
    pcre2_match_data_free(match);
    return ok;
}

#else

splitter *splitter_open(mtf_session *s, const char *pattern, const char *whose)
{
    (void)pattern;
    fail(&s->fault, ERR_USAGE,
         "the vocabulary \"%s\" needs PCRE2, which this mtf was built without; Debian has it as "
         "libpcre2-dev",
         whose);
    return NULL;
}

bool splitter_split(const splitter *p, const char *text, size_t n, split_visit *visit,
                    void *context, fault *why)
{
    (void)p, (void)text, (void)n, (void)visit, (void)context, (void)why;
    return false; /* there is no splitter to call it with */
}

#endif
