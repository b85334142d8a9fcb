/* Tests that a server listens at every address of its host. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http_listen.h"

#include "ground.h"

enum { ADDRESSES = 5 };

/* 192.0.2.1 is an address for examples, which no machine has. */
static const char *const places[ADDRESSES] = {"192.0.2.1", "127.0.0.1", "127.0.0.2", "127.0.0.1",
                                              "::1"};

typedef struct chain {
    struct addrinfo *first, *part[ADDRESSES];
} chain;

static chain addresses(int from, int end)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    chain           c = {0};
    for (int k = end - 1; k >= from; k--) {
        assert_int_equal(getaddrinfo(places[k], NULL, &hints, &c.part[k]), 0);
        c.part[k]->ai_next = c.first;
        c.first = c.part[k];
    }
    return c;
}

static void end_chain(chain *c)
{
    for (int k = 0; k < ADDRESSES; k++) {
        if (!c->part[k]) continue;
        c->part[k]->ai_next = NULL;
        freeaddrinfo(c->part[k]);
    }
}

static void close_sockets(http_sockets *s)
{
    for (int k = 0; k < s->n; k++) close(s->socket[k]);
}

static bool answers_at(const char *place, int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int                s = socket(AF_INET, SOCK_STREAM, 0);
    struct addrinfo   *a, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    assert_int_equal(getaddrinfo(place, NULL, &hints, &a), 0);
    at.sin_addr = ((struct sockaddr_in *)(void *)a->ai_addr)->sin_addr;
    freeaddrinfo(a);
    bool ok = connect(s, (struct sockaddr *)&at, sizeof at) == 0;
    close(s);
    return ok;
}

static int port_of(const http_sockets *s)
{
    int port = 0;
    assert_int_equal(sscanf(strrchr(s->address, ':') + 1, "%d", &port), 1);
    return port;
}

static void test_every_address(void **state)
{
    chain        c = addresses(0, ADDRESSES);
    http_sockets s, more;
    (void)state;
    assert_true(http_listen_at(c.first, 0, &s));
    assert_in_range(s.n, 2, 3); /* not every machine has ::1 */
    assert_memory_equal(s.address, "http://127.0.0.1:", 17);
    assert_true(answers_at("127.0.0.1", port_of(&s)) && answers_at("127.0.0.2", port_of(&s)));
    chain second = addresses(2, 3);
    assert_false(http_listen_at(second.first, port_of(&s), &more));
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(more.n, 0);
    end_chain(&second);
    close_sockets(&s);
    end_chain(&c);
}

static void test_no_address_of_this_machine(void **state)
{
    chain        c = addresses(0, 1);
    http_sockets s;
    (void)state;
    assert_false(http_listen_at(c.first, 0, &s));
    assert_int_equal(errno, EADDRNOTAVAIL);
    end_chain(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_address),
                                       cmocka_unit_test(test_no_address_of_this_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
