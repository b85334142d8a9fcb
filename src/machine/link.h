/* Links: connections that break when a process of another machine ends.
 *
 * Nothing is sent but two marks, which tell that the right two are connected, and
 * a goodbye: a connection that breaks without one has lost its process.  Where
 * no connection is possible there is no link, and nothing is noticed.
 */
#ifndef MACHINE_LINK_H
#define MACHINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

enum { LINK_ADDRESSES = 8 };

/* How other processes reach one. */
typedef struct link_offer {
    uint64_t mark;
    int      count;
    uint32_t address[LINK_ADDRESSES]; /* of IPv4, in the network's order, like the port */
    uint16_t port;
} link_offer;

/* A descriptor that listens for callers; -1: the system has none. */
int link_listen(link_offer *mine);
/* Calls a process that listens; a descriptor, or -1.  All calls come before the first answer. */
int link_call(const link_offer *whom);
/* Answers who has called; the caller hears it.  A descriptor, or -1. */
int  link_answer(int listener, const link_offer *mine);
bool link_was_answered(int descriptor, const link_offer *whom);

typedef enum link_news { LINK_NOTHING, LINK_FAREWELL, LINK_BROKEN } link_news;

void      link_say_goodbye(int descriptor); /* before an orderly end */
link_news link_hear(int descriptor);        /* does not wait */

#endif
