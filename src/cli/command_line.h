/* A command line as its user typed it. */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include "base/textbuf.h"
#include "cli/options.h"

/* "mtf plan mnist --mesh rows:2", with quotes where a shell needs them. */
void command_line_write(const options *o, textbuf *t);

#endif
