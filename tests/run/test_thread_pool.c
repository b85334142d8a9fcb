/* Tests that signals and output stay with the calling thread. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "run/thread_pool.h"

enum { WORKERS = 3, TEAM = 2 };

static void be_late(mtf_session *s)
{
    fail(&s->fault, ERR_LATE, "somebody waited for somebody");
}

#include "ground.h"

/* ---- signals ---- */

/* All but what tells a thread of its own mistakes. */
static bool blocks_all(void)
{
    static const int some[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD};
    sigset_t         now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        if (!sigismember(&now, some[k])) return false;
    return !sigismember(&now, SIGSEGV) && !sigismember(&now, SIGFPE);
}

/* Inside OpenMP's teams, too. */
static void look_at_signals(void *context, int index)
{
    _Atomic int *open = context;
#ifdef _OPENMP
#pragma omp parallel for num_threads(TEAM) schedule(static, 1)
#endif
    for (int k = 0; k < TEAM; k++)
        if (!blocks_all()) open[index]++;
}

static void test_signals_reach_only_the_caller(void **state)
{
    (void)state;
    _Atomic int  open[WORKERS] = {0};
    sigset_t     before, now;
    mtf_session *s = mtf_open_with(NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    thread_pool *c = thread_pool_open(s, WORKERS, TEAM);
    assert_non_null(c);
    thread_pool_run(c, look_at_signals, open);
    thread_pool_close(c);
#ifdef _OPENMP
    assert_int_equal(open[0], 1); /* the caller itself, not the other thread of its team */
#else
    assert_int_equal(open[0], TEAM);
#endif
    for (int k = 1; k < WORKERS; k++) assert_int_equal(open[k], 0);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int k = 1; k < 32; k++) assert_int_equal(sigismember(&now, k), sigismember(&before, k));
    close_well(s);
}

/* ---- words ---- */

typedef struct scene {
    mtf_session *session;
    pthread_t    caller;
    _Atomic int  words, elsewhere; /* said; of these, in another thread than the caller's */
    bool         holds_up;         /* the first word waits until somebody has failed */
} scene;

static void hear(void *context, const char *text)
{
    scene *s = context;
    (void)text;
    if (!pthread_equal(pthread_self(), s->caller)) s->elsewhere++;
    while (s->holds_up && mtf_ok(s->session)) sched_yield();
    s->words++;
}

static void begin(scene *s, const char *mesh)
{
    *s = (scene){.caller = pthread_self()};
    s->session = mtf_open_with(&(mtf_session_opts){.mesh = mesh,
                                                   .layout = mesh ? "n:x" : NULL,
                                                   .threads = 1,
                                                   .patience = 1,
                                                   .say = hear,
                                                   .say_context = s});
}

/* One finds that another is late, who comes only when that was said. */
static void wait_for_words(void *context, int index)
{
    scene *s = context;
    if (index == 1) be_late(s->session);
    while (index == 2 && !s->words) sched_yield();
}

static void test_late_is_said_at_once_by_the_caller(void **state)
{
    (void)state;
    scene s;
    begin(&s, NULL);
    thread_pool *c = thread_pool_open(s.session, WORKERS, 1);
    assert_non_null(c);
    thread_pool_run(c, wait_for_words, &s);
    thread_pool_close(c);
    int said = s.words;
    assert_true(said > 0);
    assert_int_equal(mtf_close(s.session), 1);
    assert_int_equal(s.words, said); /* once */
    assert_int_equal(s.elsewhere, 0);
}

/* The caller itself is late: it prints, and the others lose patience. */
static void test_nobody_speaks_for_the_caller(void **state)
{
    (void)state;
    scene s;
    begin(&s, "x:2");
    mtf_graph   *g = mtf_parse(s.session,
                               "x: f32[n=4] = range\ns = reduce_sum(x)\nt = print(s)\n"
                                 "y = x * t\nu = reduce_sum(y)\n",
                               "late.mtf");
    mtf_tensor  *u = mtf_find(g, "u");
    mtf_program *p = mtf_compile(g, u);
    assert_string_equal(mtf_error(s.session), "");
    s.holds_up = true;
    assert_false(mtf_step(p));
    assert_non_null(strstr(mtf_error(s.session), "waited 1 seconds for x=0 (--patience)"));
    mtf_program_free(p);
    assert_int_equal(mtf_close(s.session), 1);
    assert_int_equal(s.elsewhere, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_reach_only_the_caller),
        cmocka_unit_test(test_late_is_said_at_once_by_the_caller),
        cmocka_unit_test(test_nobody_speaks_for_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
