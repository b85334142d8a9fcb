/* The session: what everything else belongs to. */
#include "base/session.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/printable.h"
#include "base/quota.h"
#include "base/textbuf.h"

/* Large blocks use huge pages where the system has them: fewer TLB misses, fewer pages to clear. */
static void *take_heap(void *context, size_t bytes)
{
    const size_t page = (size_t)2 << 20, whole = bytes / page * page;
    (void)context;
    if (bytes < 2 * page || bytes > SIZE_MAX - page) return malloc(bytes);
    void *at = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (at) madvise(at, whole, MADV_HUGEPAGE); /* only a hint */
    return at;
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

/* Debug builds wrap the session's allocator in these, to check that a step allocates nothing. */
#ifndef NDEBUG
static void *take_checked(void *context, size_t bytes)
{
    mtf_session *s = context;
    assert(!s->stepping);
    return s->opts.allocator.alloc(s->opts.allocator.context, bytes);
}

static void give_checked(void *context, void *memory)
{
    mtf_session *s = context;
    s->opts.allocator.release(s->opts.allocator.context, memory);
}
#endif

static void say_on_stderr(void *context, const char *text)
{
    (void)context;
    fputs(text, stderr);
}

/* The memory of the machine, or the quota of this process's group, less what the libraries, files that are read, and
 * the system need besides. */
static size_t machine_memory(void)
{
    long    pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    size_t  all = pages > 0 && bytes > 0 ? (size_t)pages * (size_t)bytes : SIZE_MAX;
    int64_t granted = quota_memory("/proc/self/cgroup", "/sys/fs/cgroup");
    if (granted && (size_t)granted < all) all = (size_t)granted;
    return all - all / 16;
}

mtf_session *session_new(const mtf_session_opts *opts)
{
    mtf_session_opts o = opts ? *opts : (mtf_session_opts){0};
    if (!o.allocator.alloc) o.allocator = (mtf_allocator){take_heap, give, NULL};
    bool default_threads = o.threads < 1;
    if (default_threads) o.threads = cores_count();
    if (o.patience < 1) o.patience = 600;
    if (!o.device) o.device = "cpu";
    bool default_memory = !o.memory;
    if (default_memory) o.memory = machine_memory();
    mtf_session *s = o.allocator.alloc(o.allocator.context, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->allocator = o.allocator;
    s->opts = o;
    s->default_threads = default_threads;
    s->default_memory = default_memory;
#ifndef NDEBUG
    s->allocator = (mtf_allocator){take_checked, give_checked, s};
#endif
    s->arena = arena_make(&s->allocator, &s->fault);
    return s;
}

/* Splits the command line into options; any other word is an error. */
static bool take_options(mtf_session *s, int argc, char **argv)
{
    s->options = arena_array(&s->arena, session_option, argc > 0 ? argc : 1);
    TRY(s->options != NULL);
    s->options_room = argc > 0 ? argc : 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            return fail(&s->fault, ERR_USAGE, "\"%s\" is not an option; options start with --",
                        argv[i]);
        char *name = arena_text(&s->arena, argv[i] + 2);
        TRY(name != NULL);
        session_option *o = &s->options[s->noptions++];
        char           *equals = strchr(name, '=');
        o->name = name;
        if (equals) {
            *equals = 0;
            o->value = equals + 1;
        } else if (i + 1 < argc && strncmp(argv[i + 1], "--", 2) != 0) {
            o->value = argv[++i];
        }
    }
    return true;
}

/* Hints and --help name it. */
static void add_absent(mtf_session *s, const char *name)
{
    if (!mtf_ok(s) || !arena_push(&s->arena, s->options, s->noptions, s->options_room)) return;
    const char *kept = arena_text(&s->arena, name);
    if (kept)
        s->options[s->noptions++] = (session_option){.name = kept, .asked = true, .absent = true};
}

const char *mtf_option(mtf_session *s, const char *name, const char *otherwise)
{
    if (!s) return otherwise;
    const char *value = otherwise;
    bool        listed = false;
    for (int i = 0; i < s->noptions; i++) {
        session_option *o = &s->options[i];
        if (strcmp(o->name, name) != 0) continue;
        o->asked = listed = true;
        if (!o->absent) value = o->value ? o->value : "";
    }
    if (!listed) add_absent(s, name);
    return value;
}

static bool number_option(mtf_session *s, const char *name, uint64_t *value)
{
    const char *text = mtf_option(s, name, NULL);
    if (!text) return true;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || end == text || *text == '-')
        return fail(&s->fault, ERR_USAGE, "--%s takes a whole number, not \"%s\"", name, text);
    *value = v;
    return true;
}

mtf_session *session_new_from(int argc, char **argv)
{
    mtf_session *s = session_new(&(mtf_session_opts){.say = say_on_stderr});
    if (!s || !take_options(s, argc, argv)) return s;
    uint64_t threads = (uint64_t)s->opts.threads, memory = s->opts.memory;
    uint64_t patience = (uint64_t)s->opts.patience;
    if (!number_option(s, "seed", &s->opts.seed) || !number_option(s, "threads", &threads) ||
        !number_option(s, "memory", &memory) || !number_option(s, "patience", &patience))
        return s;
    if (threads < 1 || threads > 1024)
        fail(&s->fault, ERR_USAGE, "--threads takes a number from 1 to 1024");
    if (patience < 1 || patience > INT_MAX / 2)
        fail(&s->fault, ERR_USAGE, "--patience takes a number of seconds, 1 or more");
    s->default_threads = !mtf_option(s, "threads", NULL);
    s->opts.threads = (int)threads;
    s->opts.patience = (int)patience;
    s->opts.memory = memory;
    s->default_memory = !mtf_option(s, "memory", NULL);
    s->opts.device = mtf_option(s, "device", s->opts.device);
    s->opts.mesh = mtf_option(s, "mesh", NULL);
    s->opts.layout = mtf_option(s, "layout", NULL);
    s->opts.state_layout = mtf_option(s, "state-layout", NULL);
    s->opts.machine = mtf_option(s, "machine", NULL);
    s->opts.tf32 = mtf_option(s, "tf32", NULL) != NULL;
    return s;
}

bool mtf_ok(const mtf_session *s)
{
    return s && s->fault.kind == ERR_NONE;
}

const char *mtf_error(const mtf_session *s)
{
    return s ? s->fault.text : "memory: no memory for a session";
}

static bool add_closer(mtf_session *s, session_closer **list, void (*close)(void *what), void *what)
{
    session_closer *c = arena_new(&s->arena, session_closer);
    TRY(c != NULL);
    *c = (session_closer){close, what, *list};
    *list = c;
    return true;
}

bool session_at_close(mtf_session *s, void (*close)(void *what), void *what)
{
    return add_closer(s, &s->closers, close, what);
}

bool session_before_close(mtf_session *s, void (*finish)(void *what), void *what)
{
    return add_closer(s, &s->finishers, finish, what);
}

void session_finish(mtf_session *s)
{
    for (session_closer *c = s->finishers; c; c = c->older) c->close(c->what);
    s->finishers = NULL;
}

void session_say(mtf_session *s, const char *text)
{
    if (s->opts.say) printable_show(text, s->opts.say, s->opts.say_context);
}

void session_say_error(mtf_session *s)
{
    if (mtf_ok(s) || s->said) return;
    s->said = true;
    session_say(s, "mtf: ");
    session_say(s, s->fault.text);
    session_say(s, "\n");
}

/* --help lists what the program has asked for. */
static bool list_options(mtf_session *s)
{
    textbuf t = {.arena = &s->arena};
    for (int i = 0; i < s->noptions; i++)
        if (s->options[i].asked) text_add(&t, "%s--%s", t.used ? ", " : "", s->options[i].name);
    const char *all = text_done(&t);
    return all && fail(&s->fault, ERR_USAGE, "this program's options are %s", all);
}

bool session_knows_options(mtf_session *s)
{
    for (int i = 0; i < s->noptions; i++) {
        const char *name = s->options[i].name;
        if (s->options[i].asked) continue;
        if (strcmp(name, "help") == 0) return list_options(s);
        nearest near = {.wanted = name};
        char    hint[100];
        for (int j = 0; j < s->noptions; j++)
            if (s->options[j].asked) nearest_offer(&near, s->options[j].name);
        return fail(&s->fault, ERR_USAGE, "unknown option --%s%s", name,
                    nearest_hint(&near, hint, sizeof hint));
    }
    return true;
}

void session_free(mtf_session *s)
{
    for (session_closer *c = s->closers; c; c = c->older) c->close(c->what);
    arena_free(&s->arena);
    mtf_allocator a = s->opts.allocator;
    a.release(a.context, s);
}
