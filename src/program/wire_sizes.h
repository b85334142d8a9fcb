/* Sizes at which wires change their methods. */
#ifndef PROGRAM_WIRE_SIZES_H
#define PROGRAM_WIRE_SIZES_H

/* If all that a member reads of other members is at most this, each member combines the whole
 * operand instead of a shard: one barrier less. */
enum { WHOLE_BYTES = 1 << 14 };
/* The same in messages, if every processor has its own process. */
enum { SWAP_BYTES = 1 << 14, SWAP_MEMBERS = 4 };
/* Half of a mailbox, which other processes of the machine can read; and the alignment that keeps
 * writers in separate cache lines. */
enum { MAILBOX_BYTES = 1 << 18, CACHE_LINE = 128 };
/* A part up to this size is posted whole, even if the readers need little of it. */
enum { LOOSE_BYTES = 1 << 14 };

#endif
