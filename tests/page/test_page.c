/* Tests the parts of pages: text, phases, memory, history. */
#include "page/escape.h"
#include "page/history.h"
#include "page/page.h"
#include "page/plan_view.h"
#include "page/run_columns.h"
#include "page/seen_layouts.h"

#include "ground.h"

/* ---- text ---- */

static void test_escape(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    textbuf      h = {.arena = &s->arena}, j = {.arena = &s->arena};
    html_text(&h, "a<b>&\"'c\n\xc3\xa9");
    assert_string_equal(text_done(&h), "a&lt;b&gt;&amp;&quot;&#39;c \xc3\xa9");
    json_string(&j, "</script>\"\\\t\xe2\x82\xac");
    assert_string_equal(text_done(&j), "\"\\u003c/script\\u003e\\\"\\\\ \xe2\x82\xac\"");
    close_well(s);
}

/* Each byte that begins no character becomes U+FFFD, and what follows it stays. */
static void test_no_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text;
    } rows[] = {{"a\xff"
                 "b",
                 "a\xef\xbf\xbd"
                 "b"},
                {"\xc3", "\xef\xbf\xbd"},
                {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
                {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* < in two bytes */
                {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* half of a pair */
                {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}};
    mtf_session *s = open_two_threads();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        textbuf t = {.arena = &s->arena};
        html_text(&t, rows[k].bytes);
        assert_string_equal(text_done(&t), rows[k].text);
    }
    close_well(s);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double      x;
        const char *text;
    } rows[] = {{0, "0"},        {1000, "1000"}, {12.5, "12.5"},
                {0.129, "0.13"}, {-0.001, "0"},  {10, "10"}};
    mtf_session *s = open_two_threads();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        textbuf t = {.arena = &s->arena};
        page_number(&t, rows[k].x);
        assert_string_equal(text_done(&t), rows[k].text);
    }
    assert_near(page_round_up(0.0013), 0.002, 1e-12);
    assert_near(page_round_up(2.2), 2.5, 1e-12);
    assert_near(page_round_up(1000), 1000, 1e-12);
    assert_near(page_round_up(7e9), 1e10, 1e-12);
    close_well(s);
}

/* ---- phases ---- */

static const char network[] =
    "x: f32[batch=8, a=6] = input\n"
    "layer0/w: f32[a=6, b=10] = variable\n"
    "layer1/v: f32[b=10, c=4] = variable\n"
    "layer0/h: [batch, b] = einsum(x, layer0/w)\n"
    "layer0/r = relu(layer0/h)\n"
    "layer1/y: [batch, c] = einsum(layer0/r, layer1/v)\n"
    "loss = reduce_mean(square(layer1/y))\n"
    "dw, dv = gradients(loss; layer0/w, layer1/v)\n"
    "layer0/w/m: f32[a=6, b=10] = variable(init=\"zeros\", trainable=false)\n"
    "m: [a, b] = layer0/w/m * 0.9 + dw\n"
    "keep = assign(layer0/w/m, m)\n"
    "w2: [a, b] = layer0/w - 0.1 * m\n"
    "nw = assign(layer0/w, w2)\n"
    "nv = assign(layer1/v, layer1/v - 0.1 * dv)\n"
    "norm = sqrt(reduce_sum(square(dw)))\n";

typedef struct scene {
    mtf_session *s;
    mtf_graph   *g;
    arena        arena;
} scene;

static scene scene_of(const char *text)
{
    scene c = {.s = open_two_threads()};
    c.g = mtf_parse(c.s, text, "scene");
    assert_string_equal(mtf_error(c.s), "");
    c.arena = arena_make(&c.s->allocator, &c.s->fault);
    return c;
}

static void scene_close(scene *c)
{
    arena_free(&c->arena);
    close_well(c->s);
}

static void assert_phase(const scene *c, const phases *p, const char *name, phase want,
                         const char *layer)
{
    const mtf_tensor *x = mtf_find(c->g, name);
    assert_non_null(x);
    if (p->phase[x->id] != want) print_message("of %s:\n", name);
    assert_int_equal(p->phase[x->id], want);
    assert_string_equal(p->names[p->layer[x->id]], layer);
}

static void test_phases(void **state)
{
    (void)state;
    scene       c = scene_of(network);
    mtf_tensor *fetches[] = {mtf_find(c.g, "loss"), mtf_find(c.g, "norm")};
    phases      p;
    assert_true(phases_find(c.g, 2, fetches, &c.arena, &p));
    assert_phase(&c, &p, "layer0/h", PHASE_FORWARD, "layer0");
    assert_phase(&c, &p, "layer1/y", PHASE_FORWARD, "layer1");
    assert_phase(&c, &p, "loss", PHASE_FORWARD, "");
    assert_phase(&c, &p, "dw", PHASE_BACKWARD, "layer0");
    assert_phase(&c, &p, "dv", PHASE_BACKWARD, "layer1");
    assert_phase(&c, &p, "m", PHASE_UPDATE, "layer0");
    assert_phase(&c, &p, "w2", PHASE_UPDATE, "layer0");
    assert_phase(&c, &p, "nv", PHASE_UPDATE, "layer1");
    const mtf_tensor *norm = mtf_find(c.g, "norm");
    assert_int_equal(p.phase[norm->id], PHASE_UPDATE);
    assert_int_equal(p.n,
                     3); /* outside, layer0, layer1: what is kept for a variable is in its layer */
    scene_close(&c);
}

static void test_not_trained(void **state)
{
    (void)state;
    scene       c = scene_of("x: f32[a=6] = input\nenc/block_1/attention/y = exp(x)\nother/z = "
                                   "exp(enc/block_1/attention/y)\n");
    mtf_tensor *fetches[] = {mtf_find(c.g, "other/z")};
    phases      p;
    assert_true(phases_find(c.g, 1, fetches, &c.arena, &p));
    assert_phase(&c, &p, "enc/block_1/attention/y", PHASE_FORWARD,
                 "enc/block_1"); /* up to the number */
    assert_phase(&c, &p, "other/z", PHASE_FORWARD, "other");
    scene_close(&c);
}

/* ---- memory ---- */

/* What the picture shows at its highest is what the price says must be alive at once. */
static void check_memory(const char *mesh_text, const char *layout_text)
{
    scene         c = scene_of(network);
    mesh          m;
    layout        l;
    plan_view     v;
    mtf_tensor   *loss = mtf_find(c.g, "loss");
    estimate_opts o = {.mesh = &m, .layout = &l, .processor = -1, .rates = PRICE_RATES};
    assert_true(mesh_parse(c.s, mesh_text, &m) && layout_parse(c.s, layout_text, &m, &l));
    estimate *e = estimate_graph(c.g, 1, &loss, &o);
    assert_non_null(e);
    assert_true(plan_view_make(&v, c.g, e, &c.arena));
    assert_int_equal(v.most, e->price.memory.bound);
    assert_int_equal(v.reserved, e->price.memory.peak);
    assert_int_equal(v.alive[v.peak][MEMORY_PARAMETERS], e->price.memory.parameters);
    assert_int_equal(v.alive[v.peak][MEMORY_STATE], e->price.memory.state);
    assert_near(v.end, e->price.seconds - e->price.end_seconds, 1e-12);
    for (int k = 0; k < e->program->ninstrs; k++)
        for (int j = 0; j < MEMORY_KINDS; j++) assert_true(v.alive[k][j] >= 0);
    estimate_free(e);
    scene_close(&c);
}

static void test_memory(void **state)
{
    (void)state;
    check_memory("", "");
    check_memory("x:2", "batch:x");
    check_memory("x:2,y:3", "batch:x,b:y");
    check_memory("x:7", "c:x");
}

/* ---- layouts ---- */

/* A search tells of every layout that it priced, the best among them. */
static void test_seen(void **state)
{
    (void)state;
    scene            c = scene_of(network);
    mtf_tensor      *loss = mtf_find(c.g, "loss");
    seen_layouts     seen = {.session = c.s};
    automatic_answer answer;
    automatic_opts   o = {.mesh = "x:2,y:2",
                          .layout = "auto",
                          .rates = PRICE_RATES,
                          .want = 3,
                          .tell = seen_add,
                          .context = &seen};
    assert_true(automatic_find(c.g, 1, &loss, &o, &answer));
    assert_int_equal(seen.n, answer.search.priced);
    for (int k = 0; k < answer.n; k++) assert_true(seen_add_best(&seen, &answer.best[k], "why"));
    assert_int_equal(seen.n, answer.search.priced); /* each was there, and is there once */
    int faster = 0, reasons = 0;
    for (int k = 0; k < seen.n; k++) {
        faster += seen.list[k].cost.seconds < answer.best[0].cost.seconds * (1 - SAME_PRICE);
        reasons += seen.list[k].reason != NULL;
        assert_true(seen.list[k].cost.peak > 0);
    }
    assert_int_equal(faster, 0);
    assert_int_equal(reasons, answer.n);
    scene_close(&c);
}

/* ---- history ---- */

static void test_history(void **state)
{
    (void)state;
    enum { STEPS = 3 * HISTORY_POINTS + 5 };
    mtf_session *s = open_two_threads();
    history      h;
    int64_t      next = 1, steps = 0;
    double       sum = 0, seconds = 0;
    assert_true(history_open(&h, &s->arena));
    for (int64_t k = 1; k <= STEPS; k++)
        history_add(&h, &(mtf_train_step){
                            .step = k, .loss = (double)(k % 10), .rate = NAN, .seconds = 0.5});
    assert_true(h.n <= HISTORY_POINTS && h.n > HISTORY_POINTS / 4);
    for (int k = 0; k < h.n; k++) { /* no step is lost, none counts twice */
        const history_point *p = &h.points[k];
        assert_int_equal(p->first, next);
        assert_int_equal(p->last - p->first + 1, p->steps);
        assert_true(p->least <= p->loss && p->loss <= p->most);
        next = p->last + 1;
        steps += p->steps;
        sum += p->loss * (double)p->steps;
        seconds += p->seconds;
    }
    double want = 0;
    for (int k = 1; k <= STEPS; k++) want += k % 10;
    assert_int_equal(steps, STEPS);
    assert_near(sum, want, 1e-9);
    assert_near(seconds, 0.5 * STEPS, 1e-9);
    close_well(s);
}

static void test_history_nan(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    history      h;
    assert_true(history_open(&h, &s->arena));
    for (int64_t k = 1; k <= 2 * HISTORY_POINTS; k++)
        history_add(&h, &(mtf_train_step){.step = k, .loss = k == 2 ? NAN : 1});
    assert_true(isnan(h.points[0].loss) && isnan(h.points[0].most));
    assert_true(h.points[1].loss == 1);
    close_well(s);
}

/* ---- runs ---- */

enum { RUN_STEPS = 5000 };

/* A history of steps that take half a second, with two evaluations. */
static run_columns columns_of(mtf_session *s)
{
    history     h;
    run_columns r = {.name = "a", .setting = "b; </script>"};
    assert_true(history_open(&h, &s->arena));
    for (int64_t k = 11; k <= 10 + RUN_STEPS; k++) {
        history_add(&h, &(mtf_train_step){.step = k,
                                          .examples = 8,
                                          .loss = k == 11 ? NAN : 1.0 / (double)k,
                                          .rate = NAN,
                                          .seconds = 0.5});
        if (k % 2500 == 0) assert_true(history_add_evaluation(&h, k, "accuracy", 1e-4 * (double)k));
    }
    assert_true(run_columns_of(&r, &h, 0.1, &s->arena));
    return r;
}

static void test_columns(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    run_columns  r = columns_of(s);
    assert_true(r.n > 1000 && r.examples && r.first == 11);
    assert_null(r.column[RUN_RATE]); /* it had none */
    assert_true(r.column[RUN_LEAST] && r.column[RUN_MOST]);
    assert_true(r.column[RUN_STEP][r.n - 1] == 10 + RUN_STEPS);
    assert_near(r.column[RUN_SECONDS][r.n - 1], 0.5 * RUN_STEPS, 1e-9);
    assert_near(run_mean(&r, RUN_SPEED), 16, 1e-9);
    assert_near(run_mean(&r, RUN_USE), 20, 1e-9);
    assert_true(isnan(run_mean(&r, RUN_RATE)));
    assert_int_equal(r.nfigures, 1);
    assert_int_equal(r.figures[0].n, 2);
    assert_near(r.figures[0].seconds[1], 0.5 * (5000 - 10), 1e-9);
    assert_near(r.figures[0].value[1], 0.5, 1e-12);
    close_well(s);
}

/* Reads a page with these bytes as its run. */
static bool reads(mtf_session *s, const char *data, size_t length, run_columns *r)
{
    textbuf t = {.arena = &s->arena};
    text_add(&t, "<script type=\"application/json\" id=\"data\">{\"runs\":[%.*s]}</script>",
             (int)length, data);
    *r = (run_columns){.name = "c"};
    return run_columns_read(r, text_done(&t), &s->arena);
}

/* What is written is read, to nine digits; a part of it never. */
static void test_columns_read(void **state)
{
    (void)state;
    mtf_session *s = open_two_threads();
    run_columns  a = columns_of(s), b;
    textbuf      t = {.arena = &s->arena};
    run_columns_write(&a, &t);
    const char *data = text_done(&t);
    assert_true(reads(s, data, strlen(data), &b));
    assert_string_equal(b.name, "c");
    assert_string_equal(b.setting, a.setting);
    assert_true(a.n == b.n && a.first == b.first && a.examples == b.examples);
    for (int c = 0; c < RUN_COLUMNS; c++) {
        assert_true(!a.column[c] == !b.column[c]);
        for (int k = 0; a.column[c] && k < a.n; k++) {
            double x = a.column[c][k], y = b.column[c][k];
            assert_true(isnan(x) ? isnan(y) : fabs(x - y) <= 1e-8 * fabs(x));
        }
    }
    assert_int_equal(b.nfigures, 1);
    assert_near(b.figures[0].value[0], a.figures[0].value[0], 1e-8);
    for (size_t n = 0; n < strlen(data); n += 997) assert_false(reads(s, data, n, &b));
    close_well(s);
}

/* Points that go backwards, columns of other lengths, other kinds of values. */
static void test_columns_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "7",
        "{}",
        "{\"setting\":\"\",\"first\":1,\"step\":[],\"seconds\":[],\"loss\":[],\"figures\":[]}",
        "{\"setting\":\"\",\"first\":1,\"step\":[1,2],\"seconds\":[1],\"loss\":[1,2],\"figures\":[]"
        "}",
        "{\"setting\":\"\",\"first\":1,\"step\":[2,1],\"seconds\":[1,2],\"loss\":[1,2],\"figures\":"
        "[]}",
        "{\"setting\":\"\",\"first\":1,\"step\":[1,2],\"seconds\":[1,null],\"loss\":[1,2],"
        "\"figures\":[]}",
        "{\"setting\":\"\",\"first\":3,\"step\":[1,2],\"seconds\":[1,2],\"loss\":[1,2],\"figures\":"
        "[]}",
        "{\"setting\":\"\",\"first\":1,\"step\":[1,1e99],\"seconds\":[1,2],\"loss\":[1,2],"
        "\"figures\":[]}",
        "{\"setting\":\"\",\"first\":1,\"step\":[1,2],\"seconds\":[1,2],\"loss\":[1,\"2\"],"
        "\"figures\":[]}",
        "{\"setting\":\"\",\"first\":1,\"step\":[1,2],\"seconds\":[1,2],\"loss\":[1,2],\"figures\":"
        "[3]}"};
    static const char right[] = "{\"setting\":\"\",\"first\":1,\"step\":[1,2],\"seconds\":[1,2],"
                                "\"loss\":[1,null],\"figures\":[]}";
    mtf_session      *s = open_two_threads();
    run_columns       r;
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_false(reads(s, wrong[k], strlen(wrong[k]), &r));
    assert_true(reads(s, right, strlen(right), &r) && r.n == 2 && isnan(r.column[RUN_LOSS][1]));
    assert_false(run_columns_read(&r, "<html></html>", &s->arena));
    close_well(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escape),       cmocka_unit_test(test_no_utf8),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_phases),
        cmocka_unit_test(test_not_trained),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_seen),         cmocka_unit_test(test_history),
        cmocka_unit_test(test_history_nan),  cmocka_unit_test(test_columns),
        cmocka_unit_test(test_columns_read), cmocka_unit_test(test_columns_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
