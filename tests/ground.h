/* Helpers that tests of the language share.
 *
 * Sessions, feeding and fetching, error messages, files.  Include this after
 * the project's headers: cmocka's macro `fail` has the name of our function.
 */
#ifndef TESTS_GROUND_H
#define TESTS_GROUND_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "mtf.h"

#include <cmocka.h>

/* On the device that the test is asked for, unless the options choose one; the one that checks then checks
 * that device. */
static inline mtf_session *open_as_asked(const mtf_session_opts *opts)
{
    static bool      held;
    mtf_session_opts o = *opts;
    if (!o.device) o.device = asked_device();
    if (asked_device() && strcmp(o.device, "check") == 0) o.device = "check:cuda";
    if (!held) asked_hold_gpu();
    held = true;
    mtf_session *s = mtf_open_with(&o);
    assert_non_null(s);
    return s;
}

static inline mtf_session *open_two_threads(void)
{
    return open_as_asked(&(mtf_session_opts){.threads = 2});
}

/* Closes a session in which nothing may have gone wrong. */
static inline void close_well(mtf_session *s)
{
    assert_string_equal(mtf_error(s), "");
    assert_int_equal(mtf_close(s), 0);
}

/* Closes a session whose first error is this sentence. */
static inline void close_with(mtf_session *s, const char *sentence)
{
    assert_string_equal(mtf_error(s), sentence);
    assert_false(mtf_ok(s));
    assert_int_equal(mtf_close(s), 1);
}

/* Runs one step for x alone, which must depend on no input, and reads it. */
static inline void evaluate(mtf_graph *g, mtf_tensor *x, void *values)
{
    assert_non_null(x);
    mtf_program *p = mtf_compile(g, x);
    assert_true(mtf_step(p));
    assert_true(mtf_fetch(p, x, values));
    mtf_program_free(p);
}

static inline void assert_near(double got, double want, double relative)
{
    double scale = fabs(want) > 1 ? fabs(want) : 1;
    if (!(fabs(got - want) <= relative * scale)) fail_msg("%.17g is not %.17g", got, want);
}

static inline void assert_contains(const char *text, const char *sought)
{
    assert_non_null(text);
    if (!strstr(text, sought)) fail_msg("\"%s\" does not contain \"%s\"", text, sought);
}

static inline int occurrences(const char *text, const char *sought)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, sought)); p += strlen(sought)) n++;
    return n;
}

/* The whole file, to be freed. */
static inline char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    char  *text = NULL;
    size_t used = 0, got;
    do {
        text = realloc(text, used + 65536 + 1);
        assert_non_null(text);
        got = fread(text + used, 1, 65536, f);
        used += got;
    } while (got);
    fclose(f);
    text[used] = 0;
    return text;
}

#endif
