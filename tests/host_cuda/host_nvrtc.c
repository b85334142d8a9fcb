/* NVRTC's functions, with the host's compiler. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_compile.h"

struct _nvrtcProgram {
    char *text, *log;
};

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13, *minor = 999; /* no NVRTC has it: caches keep the two apart */
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    return result == NVRTC_SUCCESS             ? "NVRTC_SUCCESS"
           : result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION"
                                               : "NVRTC_ERROR_INTERNAL_ERROR";
}

/* Where a line of the text includes one of the headers, that is put in its place. */
static char *with_headers(const char *text, int n, const char *const *headers,
                          const char *const *names)
{
    size_t bytes = strlen(text) + sizeof HOST_IMAGE;
    for (int k = 0; k < n; k++) bytes += strlen(headers[k]);
    char *whole = malloc(bytes + 1), *to = whole;
    to += sprintf(to, "%s", HOST_IMAGE);
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t      length = end ? (size_t)(end - text) + 1 : strlen(text);
        int         found = -1;
        for (int k = 0; k < n; k++) {
            char line[300];
            int  said = snprintf(line, sizeof line, "#include \"%s\"", names[k]);
            if (length > (size_t)said && strncmp(text, line, (size_t)said) == 0) found = k;
        }
        if (found >= 0)
            to += sprintf(to, "%s", headers[found]);
        else
            memcpy(to, text, length), to += length;
        text += length;
    }
    *to = 0;
    return whole;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *prog, const char *src, const char *name,
                               int numHeaders, const char *const *headers,
                               const char *const *includeNames)
{
    (void)name;
    *prog = calloc(1, sizeof **prog);
    (*prog)->text = with_headers(src, numHeaders, headers, includeNames);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram prog, int numOptions, const char *const *options)
{
    char path[1000];
    (void)numOptions, (void)options;
    free(prog->log);
    return host_compile(prog->text, path, sizeof path, &prog->log) ? NVRTC_SUCCESS
                                                                   : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram prog, size_t *bytes)
{
    *bytes = (prog->log ? strlen(prog->log) : 0) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram prog, char *log)
{
    strcpy(log, prog->log ? prog->log : "");
    return NVRTC_SUCCESS;
}

/* The text itself, zero byte and all: the driver finds what was compiled of it. */
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram prog, size_t *bytes)
{
    *bytes = strlen(prog->text) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram prog, char *cubin)
{
    strcpy(cubin, prog->text);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *prog)
{
    free((*prog)->text);
    free((*prog)->log);
    free(*prog);
    *prog = NULL;
    return NVRTC_SUCCESS;
}
