/* Tests that the end of the watched process is noticed. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/link.h"
#include "machine/watch.h"

#include "ground.h"

static int ended_of(const watch *w)
{
    bool link = false;
    return watch_ended(w, &link);
}

/* ---- a process of this machine ---- */

typedef struct child {
    int             process;
    process_address address; /* as the child itself tells it */
} child;

/* Waits until it is killed. */
static child start_child(void)
{
    child c = {0};
    int   way[2];
    assert_int_equal(pipe(way), 0);
    c.process = fork();
    assert_true(c.process >= 0);
    if (c.process == 0) {
        process_address here = process_here();
        if (write(way[1], &here, sizeof here) != sizeof here) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(way[0], &c.address, sizeof c.address), sizeof c.address);
    close(way[0]), close(way[1]);
    return c;
}

static void end_child(const child *c)
{
    kill(c->process, SIGKILL);
    waitpid(c->process, NULL, 0);
}

/* How many of the watch see the child, told so, end. */
static int seen(process_address told)
{
    mtf_session *s = mtf_open_with(NULL);
    child        c = start_child();
    watch        w;
    if (!told.process) told = c.address;
    told.process = c.process;
    if (!told.started) told.started = c.address.started;
    assert_true(watch_open(&w, s, 1, &(watched){told, 7}, 0));
    assert_int_equal(ended_of(&w), -1);
    end_child(&c);
    int ended = ended_of(&w), count = w.count;
    assert_int_equal(ended, count ? 7 : -1);
    watch_close(&w, s);
    close_well(s);
    return count;
}

static void test_end_of_a_neighbour(void **state)
{
    (void)state;
    assert_int_equal(seen((process_address){0}), 1);
}

/* The number alone does not make it the same process. */
static void test_a_stranger_with_the_same_number(void **state)
{
    (void)state;
    process_address later = process_here(), elsewhere = later, contained = later;
    assert_true(later.started > 0 && later.boot[0] && later.table);
    later.started -= 1;
    assert_int_equal(seen(later), 0);
    elsewhere.started = 0, elsewhere.boot[0] ^= 1;
    assert_int_equal(seen(elsewhere), 0);
    contained.started = 0, contained.table += 1;
    assert_int_equal(seen(contained), 0);
    assert_false(process_in_sight(&(process_address){0}));
}

/* ---- a process of another machine ---- */

/* Two ends of a link, as two processes make it. */
static void connect_both(int *call, int *answer)
{
    link_offer offer;
    int        listener = link_listen(&offer);
    assert_true(listener >= 0 && offer.count > 0);
    *call = link_call(&offer);
    assert_true(*call >= 0);
    *answer = link_answer(listener, &offer);
    assert_true(*answer >= 0);
    assert_true(link_was_answered(*call, &offer));
    close(listener);
}

static void watch_one(watch *w, mtf_session *s, int link)
{
    assert_true(watch_open(w, s, 0, NULL, 1));
    watch_link(w, link, 3);
    assert_int_equal(ended_of(w), -1);
}

static int wait_for_end(const watch *w) /* the kernel carries it over at once, or nearly */
{
    int ended = -1;
    for (int k = 0; k < 1000 && ended < 0; k++) ended = ended_of(w), usleep(1000);
    return ended;
}

static void test_a_link_that_breaks(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        mtf_session *s = mtf_open_with(NULL);
        int          end[2];
        watch        w;
        connect_both(&end[0], &end[1]);
        watch_one(&w, s, end[which]);
        close(end[!which]);
        assert_int_equal(wait_for_end(&w), 3);
        bool link = false;
        assert_int_equal(watch_ended(&w, &link), 3);
        assert_true(link);
        watch_close(&w, s);
        close_well(s);
    }
}

/* Who leaves in order is not lost. */
static void test_goodbye(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    int          call, answer;
    watch        a, b;
    connect_both(&call, &answer);
    watch_one(&a, s, call);
    watch_one(&b, s, answer);
    watch_close(&a, s);
    for (int k = 0; k < 50; k++) assert_int_equal(ended_of(&b), -1);
    assert_int_equal(link_hear(answer), LINK_BROKEN); /* it was there, and was heard */
    watch_close(&b, s);
    close_well(s);
}

/* Whoever else listens at that address and port cannot answer. */
static void test_a_wrong_mark(void **state)
{
    (void)state;
    link_offer offer, wrong;
    int        listener = link_listen(&offer);
    assert_true(listener >= 0);
    wrong = offer;
    wrong.mark ^= 1;
    int call = link_call(&wrong);
    assert_true(call >= 0);
    assert_int_equal(link_answer(listener, &offer), -1);
    assert_false(link_was_answered(call, &wrong));
    close(call), close(listener);
    assert_int_equal(link_call(&offer), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_a_neighbour),
        cmocka_unit_test(test_a_stranger_with_the_same_number),
        cmocka_unit_test(test_a_link_that_breaks),
        cmocka_unit_test(test_goodbye),
        cmocka_unit_test(test_a_wrong_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
