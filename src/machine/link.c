/* Links: connections that break when a remote process ends. */
#include "machine/link.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALL_PATIENCE = 200, MARK_PATIENCE = 1000 }; /* milliseconds */

static bool wait_for(int descriptor, short what, int milliseconds)
{
    struct pollfd p = {.fd = descriptor, .events = what};
    int           n;
    do n = poll(&p, 1, milliseconds);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

static int open_socket(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int give_up(int descriptor)
{
    if (descriptor >= 0) close(descriptor);
    return -1;
}

/* ---- addresses ---- */

/* This machine's addresses; loopback comes last, for processes that only seem to be on different
 * machines. */
static void list_addresses(link_offer *mine)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0) return;
    for (int loop = 0; loop < 2; loop++)
        for (const struct ifaddrs *i = all; i && mine->count < LINK_ADDRESSES; i = i->ifa_next) {
            bool is_loop = i->ifa_flags & IFF_LOOPBACK;
            if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP) ||
                is_loop != (loop == 1))
                continue;
            struct sockaddr_in at;
            memcpy(&at, i->ifa_addr, sizeof at);
            mine->address[mine->count++] = at.sin_addr.s_addr;
        }
    freeifaddrs(all);
}

int link_listen(link_offer *mine)
{
    enum { WAITING = 16 };
    int                listener = open_socket();
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t          length = sizeof at;
    *mine = (link_offer){0};
    if (listener < 0 || getrandom(&mine->mark, sizeof mine->mark, 0) != sizeof mine->mark ||
        bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, WAITING) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0)
        return give_up(listener);
    mine->port = at.sin_port;
    list_addresses(mine);
    return listener;
}

/* ---- connecting and accepting ---- */

static bool send_mark(int descriptor, uint64_t mark)
{
    return send(descriptor, &mark, sizeof mark, MSG_NOSIGNAL) == sizeof mark;
}

static bool hear_mark(int descriptor, uint64_t wanted)
{
    uint64_t mark = 0;
    return wait_for(descriptor, POLLIN, MARK_PATIENCE) &&
           recv(descriptor, &mark, sizeof mark, 0) == sizeof mark && mark == wanted;
}

static bool reach(int descriptor, const struct sockaddr_in *at)
{
    int       wrong = 0;
    socklen_t length = sizeof wrong;
    if (connect(descriptor, (const struct sockaddr *)at, sizeof *at) == 0) return true;
    return errno == EINPROGRESS && wait_for(descriptor, POLLOUT, CALL_PATIENCE) &&
           getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &wrong, &length) == 0 && wrong == 0;
}

int link_call(const link_offer *whom)
{
    for (int k = 0; k < whom->count; k++) {
        struct sockaddr_in at = {
            .sin_family = AF_INET, .sin_port = whom->port, .sin_addr.s_addr = whom->address[k]};
        int descriptor = open_socket();
        if (descriptor >= 0 && reach(descriptor, &at) && send_mark(descriptor, whom->mark))
            return descriptor;
        give_up(descriptor);
    }
    return -1;
}

int link_answer(int listener, const link_offer *mine)
{
    while (listener >= 0 && wait_for(listener, POLLIN, MARK_PATIENCE)) {
        int caller = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (caller < 0) return -1;
        if (hear_mark(caller, mine->mark) && send_mark(caller, ~mine->mark)) return caller;
        give_up(caller); /* not the expected process */
    }
    return -1;
}

bool link_was_answered(int descriptor, const link_offer *whom)
{
    return hear_mark(descriptor, ~whom->mark);
}

/* ---- closing ---- */

void link_say_goodbye(int descriptor)
{
    send(descriptor, "", 1, MSG_NOSIGNAL);
}

link_news link_hear(int descriptor)
{
    char    word;
    ssize_t n = recv(descriptor, &word, 1, MSG_DONTWAIT);
    if (n == 1) return LINK_FAREWELL;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? LINK_NOTHING : LINK_BROKEN;
}
