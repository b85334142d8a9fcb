/* Links: connections that break when a remote process ends.
 *
 * Only two marks, with which both ends identify themselves, and a goodbye are
 * sent.  A connection that breaks without a goodbye means that its process was
 * lost.  Where no connection is possible, there is no link, and a loss is not
 * noticed.
 */
#ifndef MACHINE_LINK_H
#define MACHINE_LINK_H

#include <stdbool.h>
#include <stdint.h>

enum { LINK_ADDRESSES = 8 };

/* How other processes reach this one. */
typedef struct link_offer {
    uint64_t mark;
    int      count;
    uint32_t address[LINK_ADDRESSES]; /* IPv4, in network byte order, like the port */
    uint16_t port;
} link_offer;

/* A socket that listens for connections; -1: not available. */
int link_listen(link_offer *mine);
/* Connects to a process that listens; a descriptor, or -1.  Every process connects before it
 * accepts. */
int link_call(const link_offer *whom);
/* Accepts a connection and sends this process's mark.  A descriptor, or -1. */
int  link_answer(int listener, const link_offer *mine);
bool link_was_answered(int descriptor, const link_offer *whom);

typedef enum link_news { LINK_NOTHING, LINK_FAREWELL, LINK_BROKEN } link_news;

void      link_say_goodbye(int descriptor); /* before an orderly exit */
link_news link_hear(int descriptor);        /* does not block */

#endif
