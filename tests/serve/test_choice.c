/* Tests which tokens of an answer have log probabilities: those of its text, not of a stop string. */
#include "serve/choice.h"

#include "ground.h"
#include "serve/stop_text.h"

enum { MOST = 12 };

/* Decodes the tokens into a choice whose prompt is "p"; a stream forgets what it has sent. */
static char *decode(const char *const *tokens, const char *stop, bool stream, choice *c)
{
    const char *stops[] = {stop, NULL};
    stop_text   s = {.stops = stops};
    char       *joined = calloc(1, 200);
    *c = (choice){.ntokens = 0};
    assert_true(choice_add_text(c, "p") && choice_add_token(c, "p", -1, NULL));
    choice_begin(c);
    if (stream) choice_forget(c);
    for (int k = 0; tokens[k] && !s.found; k++) {
        assert_true(choice_add_text(c, stop_text_add(&s, tokens[k])));
        assert_true(choice_add_token(c, tokens[k], -2 - k, NULL));
        choice_settle(c);
        if (!stream) continue;
        for (int64_t i = 0; i < c->certain; i++) strcat(joined, c->tokens[i].text);
        choice_forget(c);
    }
    assert_true(choice_add_text(c, stop_text_end(&s)));
    c->end = FINISH_STOP;
    choice_settle(c);
    assert_int_equal(c->certain, c->ntokens);
    for (int64_t i = 0; i < c->certain; i++) strcat(joined, c->tokens[i].text);
    stop_text_free(&s);
    return joined;
}

static void test_tokens_end_where_the_text_ends(void **state)
{
    static const struct {
        const char *tokens[MOST], *stop, *want;
        int         count; /* of tokens, the prompt's included */
    } rows[] = {
        {{"a", "b", "x", "y", "z"}, "xyz", "pab", 3}, /* the stop string's tokens are dropped */
        {{"a", "bx", "yzc"}, "xyz", "pab", 3},        /* the one in which it begins is cut */
        {{"a", "x", "y", "b"}, "xyz", "paxyb", 5},    /* held back, then part of the answer */
        {{"a", "x", "y"}, "xyz", "paxy", 4},          /* ... because the answer ends there */
        {{"a", "", "\xc3\xa9", "b"}, "\xc3\xa9", "pa", 2}, /* in two tokens, one without text */
        {{"a", "", "\xc3\xa9", "b"},
         "zz",
         "pa\xc3\xa9"
         "b",
         5},
        {{"abc"}, "abc", "p", 1},
        {{"a", ""}, "zz", "pa", 3}, /* the token that ends a text has none */
    };
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int stream = 0; stream < 2; stream++) {
            choice c;
            char  *got = decode(rows[k].tokens, rows[k].stop, stream, &c);
            assert_string_equal(got, stream ? rows[k].want + 1 : rows[k].want);
            if (!stream) assert_int_equal(c.ntokens, rows[k].count);
            if (!stream) assert_string_equal(c.text.bytes, rows[k].want);
            free(got);
            choice_free(&c);
        }
}

static void test_streams_know_where_a_token_begins(void **state)
{
    static const char *const tokens[] = {"ab", "x", "y", "c", "d", NULL};
    static const int64_t     begins[] = {1, 3, 6};
    const char              *stops[] = {"xyz", NULL};
    stop_text                s = {.stops = stops};
    choice                   c = {.ntokens = 0};
    int                      events = 0;
    (void)state;
    assert_true(choice_add_text(&c, "p") && choice_add_token(&c, "p", -1, NULL));
    choice_begin(&c);
    choice_forget(&c);
    for (int k = 0; tokens[k]; k++) {
        assert_true(choice_add_text(&c, stop_text_add(&s, tokens[k])));
        assert_true(choice_add_token(&c, tokens[k], -2, NULL));
        choice_settle(&c);
        if (!c.certain) continue;
        assert_int_equal(c.offset, begins[events]);
        assert_int_equal(c.certain, events == 1 ? 3 : 1);
        choice_forget(&c);
        events++;
    }
    assert_int_equal(events, 3);
    stop_text_free(&s);
    choice_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_end_where_the_text_ends),
        cmocka_unit_test(test_streams_know_where_a_token_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
