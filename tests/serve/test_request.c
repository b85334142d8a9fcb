/* Tests the parameters of requests, and their error messages. */
#include "serve/serve_request.h"
#include "serve/serve_reply.h"

#include "ground.h"

static void refused(const char *body, const char *sentence)
{
    completion_request r;
    char               why[300] = "";
    if (completion_parse(body, strlen(body), &r, why, sizeof why)) fail_msg("%s is taken", body);
    assert_string_equal(why, sentence);
    completion_free(&r);
}

static void test_completions(void **state)
{
    static const char  body[] = "{\"prompt\": [\"a\", \"b\\n\\u00fc\"], \"max_tokens\": 7, "
                                "\"temperature\": 0.5, \"top_p\": 0.9,"
                                " \"top_k\": 4, \"n\": 2, \"best_of\": 2, \"stop\": [\"x\", "
                                "\"yz\"], \"seed\": -3, \"stream\": true,"
                                " \"stream_options\": {\"include_usage\": true}, \"echo\": true, "
                                "\"logprobs\": 1, \"user\": \"me\","
                                " \"model\": \"m\", \"presence_penalty\": 0, \"suffix\": null}\r\n";
    completion_request r;
    char               why[300];
    (void)state;
    assert_true(completion_parse(body, strlen(body), &r, why, sizeof why));
    assert_int_equal(r.nprompts, 2);
    assert_string_equal(r.prompts[1].text, "b\n\xc3\xbc");
    assert_int_equal(r.prompts[1].bytes, 4);
    assert_int_equal(r.like.how.max_tokens, 7);
    assert_true(r.like.how.temperature == 0.5 && r.like.how.top_p == 0.9);
    assert_int_equal(r.like.how.top_k, 4);
    assert_int_equal(r.like.results, 2);
    assert_string_equal(r.like.stops[1], "yz");
    assert_null(r.like.stops[2]);
    assert_true(r.seeded && r.like.how.seed == (uint64_t)-3);
    assert_true(r.stream && r.usage && r.echo && r.log_probabilities && !r.nothing_new);
    assert_string_equal(r.model, "m");
    completion_free(&r);
}

static void test_defaults_are_those_of_the_interface(void **state)
{
    static const char  body[] = "{\"prompt\": [5, 6, 7], \"stop\": \"s\", \"top_p\": 1}";
    completion_request r;
    char               why[300];
    (void)state;
    assert_true(completion_parse(body, strlen(body), &r, why, sizeof why));
    assert_int_equal(r.nprompts, 1);
    assert_int_equal(r.prompts[0].nids, 3);
    assert_int_equal(r.prompts[0].ids[2], 7);
    assert_int_equal(r.like.how.max_tokens, 16);
    assert_true(r.like.how.temperature == 1 && r.like.how.top_p == 0 && r.like.how.alpha == 0.6);
    assert_true(!r.stream && !r.seeded && !r.echo && !r.log_probabilities && !r.model);
    assert_string_equal(r.like.stops[0], "s");
    completion_free(&r);
}

/* In the library's own terms 0 stands for the default, so a 0 that is asked for is another value. */
static void test_zeros_are_no_defaults(void **state)
{
    static const char  body[] = "{\"prompt\": \"a\", \"top_p\": 0, \"alpha\": 0}";
    completion_request r;
    char               why[300];
    (void)state;
    assert_true(completion_parse(body, strlen(body), &r, why, sizeof why));
    assert_int_equal(r.like.how.top_k, 1);
    assert_true(r.like.how.alpha < 0);
    completion_free(&r);
}

/* What changes nothing is accepted. */
static void test_no_bias(void **state)
{
    static const char *const bodies[] = {"{\"prompt\": \"a\", \"logit_bias\": {}}",
                                         "{\"prompt\": \"a\", \"logit_bias\": {\"7\": 0}}",
                                         "{\"prompt\": \"a\", \"logit_bias\": null}"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        completion_request r;
        char               why[300];
        if (!completion_parse(bodies[k], strlen(bodies[k]), &r, why, sizeof why))
            fail_msg("%s", why);
        completion_free(&r);
    }
}

static void test_faulty_completions(void **state)
{
    (void)state;
    refused("", "the body is not JSON: it is empty");
    refused("{", "the body is not JSON: it ends too early");
    refused("{\"prompt\": \"a\", ", "the body is not JSON: it ends too early");
    refused("{\"prompt\": \"a\"} x more",
            "the body is not JSON: what stands from byte 17 on is wrong");
    refused("{\"prompt\": a, \"n\": 1}",
            "the body is not JSON: what stands from byte 12 on is wrong");
    refused("[1]", "the body is not a JSON object");
    refused("{\"prompt\": \"\xff\"}", "the body is not UTF-8");
    refused("{\"prompt\": \"a\\u0000b\"}", "the body has a character with code 0");
    refused("{}", "\"prompt\" is missing");
    refused("{\"prompt\": null}", "\"prompt\" is missing");
    refused("{\"prompt\": []}", "\"prompt\" is an empty list");
    refused("{\"prompt\": 3}",
            "\"prompt\" must be a string, a list of strings, or a list of token numbers");
    refused("{\"prompt\": [\"a\", 3]}",
            "\"prompt\" must be a string, a list of strings, or a list of token numbers");
    refused("{\"prompt\": [1.5]}", "\"prompt\" holds 1.5, which is not a token");
    refused("{\"prompt\": [-1]}", "\"prompt\" holds -1, which is not a token");
    refused("{\"prompt\": \"a\", \"max_token\": 3}",
            "there is no parameter \"max_token\"; did you mean \"max_tokens\"?");
    refused("{\"prompt\": \"a\", \"prompt\": \"b\"}", "\"prompt\" is given twice");
    refused("{\"prompt\": \"a\", \"max_tokens\": 1.5}",
            "\"max_tokens\" must be a whole number from 0 to 2147483647");
    refused("{\"prompt\": \"a\", \"max_tokens\": \"3\"}",
            "\"max_tokens\" must be a whole number from 0 to 2147483647");
    refused("{\"prompt\": \"a\", \"max_tokens\": 0}",
            "\"max_tokens\" is 0: without \"echo\" there is nothing to say");
    refused("{\"prompt\": \"a\", \"n\": 0}", "\"n\" must be a whole number from 1 to 2147483647");
    refused("{\"prompt\": \"a\", \"top_p\": 1.5}", "\"top_p\" must be a number from 0 to 1");
    refused("{\"prompt\": \"a\", \"temperature\": 1e999}",
            "\"temperature\" must be a number from 0 to 1e+06");
    refused("{\"prompt\": \"a\", \"stream\": 1}", "\"stream\" must be true or false");
    refused("{\"prompt\": \"a\", \"stop\": [\"\"]}",
            "\"stop\" must be a string or a list of strings, none of them empty");
    refused("{\"prompt\": \"a\", \"logprobs\": 21}",
            "\"logprobs\" must be a whole number from 0 to 20: how many alternatives to each token "
            "have "
            "their log probability, too");
    refused("{\"prompt\": \"a\", \"n\": 2, \"best_of\": 3}",
            "\"best_of\" is not supported here: there are as many results as \"n\" says");
    refused("{\"prompt\": \"a\", \"frequency_penalty\": 0.5}",
            "\"frequency_penalty\" is not supported here; leave it out");
    refused("{\"prompt\": \"a\", \"logit_bias\": {\"5\": 1}}",
            "\"logit_bias\" is not supported here, except {}; leave it out");
    refused("{\"prompt\": \"a\", \"logit_bias\": 0}",
            "\"logit_bias\" is not supported here, except {}; leave it out");
    refused("{\"prompt\": \"a\", \"suffix\": \"b\"}",
            "\"suffix\" is not supported here; leave it out");
    refused("{\"prompt\": \"a\", \"stream_options\": {\"x\": 1}}",
            "\"stream_options\" must be an object with \"include_usage\"");
}

static void test_a_backslash_before_u_is_no_zero(void **state)
{
    static const char  body[] = "{\"prompt\": \"a\\\\u0000\"}";
    completion_request r;
    char               why[300];
    (void)state;
    assert_true(completion_parse(body, strlen(body), &r, why, sizeof why));
    assert_string_equal(r.prompts[0].text, "a\\u0000");
    completion_free(&r);
}

static bool score(const char *body, score_request *r, char *why)
{
    return score_parse(body, strlen(body), r, why, 300);
}

static void test_scores(void **state)
{
    score_request r;
    char          why[300];
    (void)state;
    assert_true(score("{\"continuation\": \"a\"}", &r, why));
    assert_int_equal(r.count, 1);
    assert_string_equal(r.prompts[0].text, "");
    assert_false(r.end);
    score_free(&r);
    assert_true(
        score("{\"prompt\": [4, 5], \"continuation\": [\"a\", \"b\"], \"end\": true}", &r, why));
    assert_int_equal(r.count, 2);
    assert_int_equal(r.prompts[1].nids, 2);
    assert_int_equal(r.prompts[1].ids[1], 5);
    assert_ptr_not_equal(r.prompts[0].ids, r.prompts[1].ids);
    assert_true(r.end);
    score_free(&r);
    assert_true(score("{\"prompt\": [\"p\", \"q\"], \"continuation\": [[6], \"b\"]}", &r, why));
    assert_string_equal(r.prompts[1].text, "q");
    assert_int_equal(r.targets[0].ids[0], 6);
    score_free(&r);
    assert_false(
        score("{\"prompt\": [\"p\", \"q\"], \"continuation\": [\"a\", \"b\", \"c\"]}", &r, why));
    assert_string_equal(why,
                        "there are 2 prompts and 3 continuations: one prompt, or one for each");
    score_free(&r);
    assert_false(score("{\"text\": \"p\"}", &r, why));
    assert_string_equal(
        why, "there is no parameter \"text\"; there are prompt, continuation, model, end, "
             "user");
    score_free(&r);
    assert_false(score("{\"prompt\": \"p\"}", &r, why));
    assert_string_equal(why, "\"continuation\" is missing");
    score_free(&r);
    assert_false(score("{\"continuation\": {\"a\": 1}}", &r, why));
    score_free(&r);
}

static void test_errors_are_told_as_json(void **state)
{
    char *text = reply_error(429, "a \"busy\" server\n");
    (void)state;
    assert_string_equal(text, "{\"error\":{\"message\":\"a \\\"busy\\\" server\\n\",\"type\":"
                              "\"rate_limit_error\",\"param\":null,\"code\":429}}");
    cJSON_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_completions),
                                       cmocka_unit_test(test_defaults_are_those_of_the_interface),
                                       cmocka_unit_test(test_zeros_are_no_defaults),
                                       cmocka_unit_test(test_no_bias),
                                       cmocka_unit_test(test_faulty_completions),
                                       cmocka_unit_test(test_a_backslash_before_u_is_no_zero),
                                       cmocka_unit_test(test_scores),
                                       cmocka_unit_test(test_errors_are_told_as_json)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
