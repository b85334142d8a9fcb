/* Tests datasets of text as one text, for command lines. */
#include "data/text/text_option.h"

#include "ground.h"

static void all_words(void **state)
{
    (void)state;
    mtf_session  *s = mtf_open_with(NULL);
    mtf_text_opts o;
    assert_true(text_option_parse(
        s, "text", "a:b-*.tsv:objective=spans:length=12:inputs_length=34:documents=line", &o));
    assert_string_equal(o.files, "a:b-*.tsv");
    assert_true(o.objective == MTF_TEXT_SPANS && o.length == 12 && o.inputs_length == 34);
    assert_true(o.documents == MTF_DOCUMENTS_LINE && !o.joined && !o.pack && !o.ensure_end);
    assert_true(
        text_option_parse(s, "text", "x:joined:split:pack:ends:seed=7:noise=0.25:span=2.5", &o));
    assert_true(o.joined && o.overlong == MTF_OVERLONG_SPLIT && o.pack && o.ensure_end &&
                o.seed == 7);
    assert_true(o.noise == 0.25 && o.mean_span == 2.5 && o.objective == MTF_TEXT_LM);
    assert_true(text_option_parse(s, "text", "x\\:pack:format=tsv:inputs=en:targets=2", &o));
    assert_string_equal(o.files, "x:pack");
    assert_string_equal(o.format, "tsv");
    assert_string_equal(o.inputs, "en");
    assert_string_equal(o.targets, "2");
    close_well(s);
}

static void refused(const char *text, const char *words)
{
    mtf_text_opts o;
    mtf_session  *s = mtf_open_with(NULL);
    assert_false(text_option_parse(s, "text", text, &o));
    assert_contains(mtf_error(s), words);
    mtf_close(s);
}

static void wrong_words(void **state)
{
    (void)state;
    refused("", "takes FILES");
    refused(":length=3", "takes FILES");
    refused("x:lenght=3", "there is no \"lenght=\"; did you mean \"length=\"?");
    refused("x:length=0", "\"length=0\" should be length=N");
    refused("x:length=3x", "should be length=N");
    refused("x:objective=t5", "one of lm, pairs, delimited");
    refused("x:documents=page", "one of blank, line and file");
    refused("x:noise=1", "a share between 0 and 1");
    refused("x:noise=nan", "a share between 0 and 1");
    refused("x:span=0.5", "from 1 on");
    refused("x:span=inf", "from 1 on");
    refused("x:pack=1", "\"pack=1\" should be pack, without a value");
    refused("x:seed=-1", "a number from 0 on");
    refused("x:format=", "one of text, tsv");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_words), cmocka_unit_test(wrong_words)};
    return cmocka_run_group_tests_name("text_option", tests, NULL, NULL);
}
