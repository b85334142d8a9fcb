/* Patterns that names are matched against. */
#include "base/pattern.h"

#include <regex.h>

#include "base/textbuf.h"

static bool compile(regex_t *expression, const char *pattern, int flags, fault *f)
{
    int wrong = regcomp(expression, pattern, REG_EXTENDED | flags);
    if (!wrong) return true;
    char why[100];
    regerror(wrong, expression, why, sizeof why);
    return fail(f, ERR_SYNTAX,
                "pattern \"%s\": %s; write an extended regular expression, as in "
                "\"bias|norm/scale$\"",
                pattern, why);
}

bool pattern_matches(const char *pattern, const char *text, fault *f)
{
    regex_t expression;
    TRY(compile(&expression, pattern, REG_NOSUB, f));
    bool found = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    return found;
}

const char *pattern_replace(const char *pattern, const char *with, const char *text, arena *a)
{
    enum { GROUPS = 10 };
    regex_t    expression;
    regmatch_t at[GROUPS];
    if (!compile(&expression, pattern, 0, a->fault)) return NULL;
    bool found = regexec(&expression, text, GROUPS, at, 0) == 0;
    regfree(&expression);
    if (!found) return NULL;
    textbuf t = {.arena = a};
    text_add(&t, "%.*s", (int)at[0].rm_so, text);
    for (const char *p = with; *p; p++) {
        if (*p != '\\' || !p[1]) {
            text_add(&t, "%c", *p);
            continue;
        }
        int group = *++p - '0';
        if (group < 0 || group >= GROUPS)
            text_add(&t, "%c", *p);
        else if (at[group].rm_so >= 0)
            text_add(&t, "%.*s", (int)(at[group].rm_eo - at[group].rm_so), text + at[group].rm_so);
    }
    text_add(&t, "%s", text + at[0].rm_eo);
    return text_done(&t);
}
