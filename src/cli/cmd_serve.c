/* mtf serve: answers over HTTP. */
#include "cli/commands.h"

static int run(const options *o)
{
    return usage_error(o->command, "not yet");
}

const command command_serve = {.name = "serve", .says = "answer requests over HTTP", .run = run};
