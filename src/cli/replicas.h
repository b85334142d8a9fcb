/* How many replicas a batch is for, where its size is given for one. */
#ifndef CLI_REPLICAS_H
#define CLI_REPLICAS_H

#include "base/textbuf.h"
#include "cli/options.h"

/* A configuration may give the tokens of one replica: then the batch depends on how the layout cuts it.
 * Where the layout or the mesh is to be found, this finds how the best one, by time per example, cuts the batch,
 * on which mesh, and writes that into the options --layout and --mesh, so that every command plans the same
 * batch.  -1, or the exit status after an error, which was reported. */
int replicas_choose(options *o);
/* Writes ", 4 for each of 2 replicas", where files give the batch so and there are several. */
void replicas_write(const options *o, int64_t batch, textbuf *t);

#endif
