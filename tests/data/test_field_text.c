/* Tests fields as command lines give them. */
#include "data/field_text.h"

#include "scratch.h"

/* What the text gives, written out again; or the error. */
static const char *read_as(const char *text)
{
    static char  out[900];
    mtf_session *s = mtf_open_with(NULL);
    mtf_field    f;
    if (field_parse(s, "data", text, &f))
        snprintf(out, sizeof out, "%s|%s|%s|%s|%.9g|%lld|%d|%lld|%.9g|%.9g", f.name, f.files,
                 f.format ? f.format : "", f.part ? f.part : "", f.scale, (long long)f.length,
                 f.header, (long long)f.shift, f.least, f.most);
    else
        snprintf(out, sizeof out, "%s", mtf_error(s));
    mtf_close(s);
    return out;
}

static void taken_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"x=a.npy", "x|a.npy|||0|0|0|0|0|0"},
        {"x=*.gz:format=idx:scale=1/255", "x|*.gz|idx||0.00392156863|0|0|0|0|0"},
        {"x=t:scale=-2.5e-1:part=0-15:length=7", "x|t||0-15|-0.25|7|0|0|0|0"},
        {"x=t.csv:header:range=0-9", "x|t.csv|||0|0|1|0|0|9"},
        {"x=t.csv:range=-5--1:header", "x|t.csv|||0|0|1|0|-5|-1"},
        {"x=t.csv:range=1e-3-2", "x|t.csv|||0|0|0|0|0.001|2"},
        {"y=t.bin:format=u16:length=64:shift=1", "y|t.bin|u16||0|64|0|1|0|0"},
        /* colons that belong to a name */
        {"x=10:30:00.npy", "x|10:30:00.npy|||0|0|0|0|0|0"},
        {"x=a:b.npy:scale=2", "x|a:b.npy|||2|0|0|0|0|0"},
        {"x=headers:header:header", "x|headers|||0|0|1|0|0|0"},
        {"x=a\\:part=3.npy:part=4", "x|a:part=3.npy||4|0|0|0|0|0|0"},
        {"x=a\\:header:part=b\\:scale=1,c", "x|a:header||b:scale=1,c|0|0|0|0|0|0"},
        {"x=a\\b\\:c", "x|a\\b:c|||0|0|0|0|0|0"},
        {"x=a=b.npy", "x|a=b.npy|||0|0|0|0|0|0"},
        {"x=a:", "x|a:|||0|0|0|0|0|0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(read_as(rows[i].text), rows[i].want);
}

static void refused_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"", "--data takes NAME=FILES, then any of :format= :part= :scale="},
        {"x", "not \"x\""},
        {"=a", "not \"=a\""},
        {"x=", "not \"x=\""},
        {"x=:scale=2", "not \"x=:scale=2\""},
        {"x=a.npy:scael=2", "there is no \"scael=\"; did you mean \"scale=\"?"},
        {"x=a.npy:scael=2", "a colon in the name of a file is written \"\\:\""},
        {"x=a:scale=", "\"scale=\" should be scale=X"},
        {"x=a:scale=2x", "\"scale=2x\" should be"},
        {"x=a:scale=1/", "\"scale=1/\" should be"},
        {"x=a:scale=1/0", "\"scale=1/0\" should be"},
        {"x=a:scale=0", "\"scale=0\" should be"},
        {"x=a:scale=nan", "\"scale=nan\" should be"},
        {"x=a:scale=inf", "\"scale=inf\" should be"},
        {"x=a:length=0", "\"length=0\" should be length=N, a number from 1 on"},
        {"x=a:length=-1", "\"length=-1\" should be"},
        {"x=a:length=2.5", "\"length=2.5\" should be"},
        {"x=a:length=99999999999999999999", "should be length=N"},
        {"x=a:shift=-1", "\"shift=-1\" should be shift=N"},
        {"x=a:format=", "should be format=F"},
        {"x=a:part=", "should be part=P"},
        {"x=a:header=yes", "\"header=yes\" should be header, without a value"},
        {"x=a:range=5", "\"range=5\" should be range=A-B"},
        {"x=a:range=9-0", "\"range=9-0\" should be"},
        {"x=a:range=0-", "\"range=0-\" should be"},
        {"x=a:range=0-9x", "\"range=0-9x\" should be"},
        {"x=a:range=0-0", "\"range=0-0\" should be"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_contains(read_as(rows[i].text), rows[i].words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(taken_texts),
                                       cmocka_unit_test(refused_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
