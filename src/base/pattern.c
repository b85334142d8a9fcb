/* Patterns that names are matched against. */
#include "base/pattern.h"

#include <regex.h>
#include <stddef.h>

bool pattern_matches(const char *pattern, const char *text, fault *f)
{
    regex_t expression;
    int     wrong = regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB);
    if (wrong) {
        char why[100];
        regerror(wrong, &expression, why, sizeof why);
        return fail(f, ERR_SYNTAX,
                    "pattern \"%s\": %s; write an extended regular expression, as in "
                    "\"bias|norm/scale$\"",
                    pattern, why);
    }
    bool found = regexec(&expression, text, 0, NULL, 0) == 0;
    regfree(&expression);
    return found;
}
