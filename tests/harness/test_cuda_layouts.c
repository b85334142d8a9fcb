/* Runs cases on cards, alone and as meshes, and compares with the CPU.
 *
 * Values and gradients of every case after several steps, so that recorded steps are played: on one
 * processor, and under layouts of several processors on one card.  On machines without a card an
 * emulated one takes a few cases, whose kernels take a second to compile; with MTF_TEST_CARD=real
 * the machine's own card takes all.
 *
 * Opening a card takes a third of a second, and each layout does: so each mesh has one layout of a
 * case, unless LIMIT says more, and several processes may share the cases, as 0/4, ..., 3/4.
 *
 * Usage: test_cuda_layouts [part of a path, or SHARE/SHARES] [LIMIT]
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness_mesh.h"

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";

/* The emulated card's libraries must be in the loader's path when the program starts. */
static void use_emulated_card(char **argv)
{
    const char *path = getenv("LD_LIBRARY_PATH");
    if (path && strstr(path, HOST_CUDA_FOLDER)) return;
    setenv("LD_LIBRARY_PATH", HOST_CUDA_FOLDER, 1);
    execv("/proc/self/exe", argv);
    perror("test_cuda_layouts");
    exit(1);
}

/* One of so many, and always the same. */
static bool is_chosen(const char *path, unsigned of)
{
    unsigned hash = 5381;
    for (const char *c = path; *c; c++) hash = hash * 33 + (unsigned char)*c;
    return hash % of == 0;
}

static void run_file(mesh_trials *t, const char *file, int nmeshes, const char *const *meshes)
{
    test_case c;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    t->c = &c;
    if (trials_begin(t))
        for (int i = 0; i < nmeshes; i++) trials_on(t, meshes[i]);
    trials_end(t);
    case_free(&c);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const meshes[] = {"x:2", "x:2,y:2", "x:3", "x:4"};
    const char              *card = getenv("MTF_TEST_CARD");
    bool                     real = card && strcmp(card, "real") == 0;
    if (!real) use_emulated_card(argv);
    int         share = 0, shares = 1;
    bool        shared = argc > 1 && sscanf(argv[1], "%d/%d", &share, &shares) == 2 && shares > 0;
    mesh_trials t = {.f64 = 1e-11,
                     .f32 = 4e-5,
                     .device = "cuda",
                     .more = 2,
                     .limit = argc > 2 ? atoi(argv[2]) : 1};
    glob_t      files;
    char        pattern[sizeof folder + 16];
    snprintf(pattern, sizeof pattern, "%s*/*.mtf", folder);
    if (glob(pattern, 0, NULL, &files)) return 1;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        const char *path = files.gl_pathv[i] + strlen(folder);
        bool        asked = argc > 1 && !shared && strstr(path, argv[1]);
        bool        mine = argc < 2 || (shared && (int)i % shares == share);
        if (asked || (mine && (real || is_chosen(path, 24))))
            run_file(&t, files.gl_pathv[i], real ? 4 : 2, meshes);
    }
    globfree(&files);
    printf("test_cuda_layouts: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
