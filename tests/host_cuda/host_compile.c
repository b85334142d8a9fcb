/* Kernels to shared libraries of the host, kept by what they say. */
#include "host_compile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Many kernels in one text, which run a few times each, are not worth optimising: that takes most of their time. */
enum { MUCH_TEXT = 100000 };

static uint64_t hash(uint64_t h, const char *text)
{
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static char *read_all(const char *path)
{
    FILE *from = fopen(path, "rb");
    if (!from) return NULL;
    size_t used = 0, room = 1 << 16;
    char  *text = malloc(room);
    for (size_t n; (n = fread(text + used, 1, room - used - 1, from)) > 0;) {
        used += n;
        if (room - used < 2) text = realloc(text, room *= 2);
    }
    text[used] = 0;
    fclose(from);
    return text;
}

/* What this library defines is part of what kernels say. */
static uint64_t hash_header(uint64_t h, const char *name)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", HOST_CUDA_SOURCE, name);
    char *text = read_all(path);
    if (text) h = hash(h, text);
    free(text);
    return h;
}

/* The folder of compiled kernels: beside this library. */
static void find_folder(char *folder, size_t room)
{
    Dl_info     info;
    const char *slash = NULL;
    if (dladdr((void *)(uintptr_t)&host_compile, &info)) slash = strrchr(info.dli_fname, '/');
    if (slash)
        snprintf(folder, room, "%.*s/kernels", (int)(slash - info.dli_fname), info.dli_fname);
    else
        snprintf(folder, room, "/tmp/mtf_host_cuda");
    mkdir(folder, 0777);
}

static const char *word_after(const char *bracket)
{
    return bracket + 1 + strspn(bracket + 1, " \n");
}

/* Kernels are named where their text says KERNEL void __launch_bounds__(...) NAME(, or has a cluster's size
 * before the name. */
static void list_kernels(FILE *to, const char *text)
{
    static const char word[] = "KERNEL void __launch_bounds__(", cluster[] = "__cluster_dims__(";
    for (const char *at = text; (at = strstr(at, word));) {
        at = strchr(at + sizeof word - 1, ')');
        if (at && strncmp(word_after(at), cluster, sizeof cluster - 1) == 0)
            at = strchr(at + 1, ')');
        const char *end = at ? strchr(at, '(') : NULL;
        if (!end) return;
        at = word_after(at);
        fprintf(to, "HOST_KERNEL(%.*s)\n", (int)(end - at), at);
    }
}

static bool write_source(const char *path, const char *text)
{
    FILE *to = fopen(path, "wb");
    if (!to) return false;
    fprintf(to, "%s\n", text);
    list_kernels(to, text);
    return fclose(to) == 0;
}

bool host_compile(const char *text, char *path, size_t room, char **log)
{
    char folder[800], source[900], said[1000], made[1000], command[6000];
    *log = NULL;
    find_folder(folder, sizeof folder);
    uint64_t h =
        hash_header(hash_header(hash(0xcbf29ce484222325u, text), "host_cuda.h"), "host_calls.h");
    snprintf(path, room, "%s/%016llx.so", folder, (unsigned long long)h);
    if (access(path, R_OK) == 0) return true;

    static _Atomic int unique_number;
    int                unique = (int)getpid() * 1000 + unique_number++ % 1000;
    snprintf(source, sizeof source, "%s/%016llx.%d.cpp", folder, (unsigned long long)h, unique);
    snprintf(said, sizeof said, "%s.log", source);
    snprintf(made, sizeof made, "%s.so", source);
    if (!write_source(source, text)) {
        *log = strdup("the source could not be written");
        return false;
    }
    snprintf(command, sizeof command,
             "LD_LIBRARY_PATH= LD_PRELOAD= c++ -std=c++17 -O%d -g0 -w -shared -fPIC "
             "-fvisibility=hidden -ffp-contract=off -fno-strict-aliasing -fno-math-errno "
             "-DMTF_HOST_CUDA -include '%s' -I'%s' -o '%s' '%s' > '%s' 2>&1",
             strlen(text) < MUCH_TEXT, HOST_CUDA_HEADERS, HOST_CUDA_SOURCE, made, source, said);
    bool ok = system(command) == 0 && rename(made, path) == 0;
    if (ok)
        remove(source);
    else
        *log = read_all(said);
    remove(said);
    if (!ok && !*log) *log = strdup("c++ could not be run");
    return ok;
}
