/* mtf serve: a model that answers requests over HTTP. */
#include "cli/answering_options.h"
#include "cli/commands.h"
#include "cli/graph_file.h"
#include "cli/model_open.h"
#include "cli/shared_options.h"
#include "serve/serve.h"

enum { SIGNAL_STATUS = 128 };

static bool read_options(const options *o, serve_opts *s)
{
    uint64_t port = 8080, batch = 8, beams = 1, tokens = 0, waiting = 256, body = 1 << 20,
             clients = 64;
    double seconds = 600;
    if (!option_number(o, "port", 0, 65535, &port) ||
        !option_number(o, "batch", 1, 1 << 16, &batch) ||
        !option_number(o, "beams", 1, 1 << 10, &beams) ||
        !option_number(o, "max-tokens", 1, 1 << 30, &tokens) ||
        !option_number(o, "max-waiting", 1, 1 << 20, &waiting) ||
        !option_number(o, "max-clients", 1, 1 << 16, &clients) ||
        !option_real(o, "max-seconds", 0.001, 1e9, &seconds) || !option_bytes(o, "max-body", &body))
        return false;
    s->limits = (engine_opts){.batch = (int64_t)batch,
                              .beams = (int64_t)beams,
                              .max_tokens = (int64_t)tokens,
                              .max_waiting = (int64_t)waiting,
                              .max_seconds = seconds};
    s->http = (http_opts){.host = option_nth(o, "host", 0),
                          .port = (int)port,
                          .max_body = (size_t)body,
                          .max_clients = (int)clients};
    return true;
}

static int run(const options *o)
{
    serve_opts s;
    int        status, signal;
    if (!read_options(o, &s)) return STATUS_USAGE;
    config_setup  c;
    opened_model *m = model_open(o, &c, &status);
    if (!m) return status;
    serve(m, &s, &signal);
    status = close_session(m->session);
    return status == STATUS_DONE && signal ? SIGNAL_STATUS + signal : status;
}

static const option_spec table[] = {
    OPTION_GROUP("where it listens"),
    {"port", "N", false, "the port; 0: one that is free; default 8080"},
    {"host", "ADDRESS", false,
     "an address, or a name: all its addresses; default 127.0.0.1, which only this machine "
     "reaches; 0.0.0.0: all"},
    OPTION_GROUP("limits"),
    {"batch", "N", false, "sequences that are decoded together; default 8"},
    {"beams", "N", false, "answer by beam search with N beams; default: by sampling"},
    {"max-tokens", "N", false, "new tokens that an answer may have; default: as many as fit"},
    {"max-waiting", "N", false,
     "sequences that wait for room before requests are refused; default 256"},
    {"max-seconds", "S", false, "how long a request may take; default 600"},
    {"max-body", "BYTES", false, "size of a request; default 1M"},
    {"max-clients", "N", false,
     "connections at a time, beyond which requests are refused; default 64"},
    OPTION_TABLE(opening_options),
    OPTION_TABLE(mesh_options),
    OPTION_TABLE(running_options),
    {0},
};

static const char *const examples[] = {
    "mtf serve run --port 8080",
    "curl http://127.0.0.1:8080/v1/completions -d '{\"prompt\": \"Once\", \"max_tokens\": 40}'",
    NULL,
};

const command command_serve = {
    .name = "serve",
    .says = "answer requests for completions and scores over HTTP",
    FOLDER_COMMAND,
    .options = table,
    .examples = examples,
    .teaches = FOLDER_TEACHES
    "Keeps the model loaded and answers requests in the form of the OpenAI completions\n"
    "interface, whole or as a stream of events; those that arrive together are decoded together.\n"
    "There is a page to try it at /.  SIGINT and SIGTERM end it: what is being answered then has\n"
    "three seconds to end.",
    .run = run,
};
