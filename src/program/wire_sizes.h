/* Sizes at which wires change their ways. */
#ifndef PROGRAM_WIRE_SIZES_H
#define PROGRAM_WIRE_SIZES_H

/* An operand that everybody combines for itself rather than in shards, all that is read of others
 * together: one barrier less. */
enum { WHOLE_BYTES = 1 << 14 };
/* The same in messages, where every processor has a process to itself. */
enum { SWAP_BYTES = 1 << 14, SWAP_MEMBERS = 4 };
/* Half of the memory that a process shows others of its machine, and what a core takes at a time. */
enum { MAILBOX_BYTES = 1 << 18, CACHE_LINE = 128 };
/* A part that goes through that memory whole, though others may want little of it. */
enum { LOOSE_BYTES = 1 << 14 };

#endif
