/* Runs cases on GPUs, alone and as meshes, and compares with the CPU.
 *
 * Values and gradients of every case after several steps, so that captured steps are replayed: on one
 * processor, and under layouts of several processors on one GPU.  On machines without a GPU an
 * emulated one takes a few cases, whose kernels take a second to compile; with MTF_TEST_GPU=real
 * the machine's own GPU takes all.
 *
 * Opening a GPU takes a third of a second, and each layout does: so each mesh has one layout of a
 * case, unless LIMIT says more, and several processes may share the cases, as 0/4, ..., 3/4.
 *
 * Usage: test_cuda_layouts [part of a path, or SHARE/SHARES] [LIMIT]
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness_mesh.h"
#include "run/emulated_gpu.h"

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";

/* One of so many, and always the same. */
static bool is_chosen(const char *path, unsigned of)
{
    unsigned hash = 5381;
    for (const char *c = path; *c; c++) hash = hash * 33 + (unsigned char)*c;
    return hash % of == 0;
}

static void run_file(mesh_trials *t, const char *file)
{
    test_case c;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    t->c = &c;
    trials_on_gpu(t);
    case_free(&c);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool real = asked_real_gpu();
    use_emulated_gpu(argv);
    setenv("MTF_TEST_DEVICE", "cuda", 1);
    unsigned one_of = (unsigned)asked_much(36, 144);
    asked_hold_gpu();
    share       mine;
    bool        shared = share_read(argc > 1 ? argv[1] : NULL, &mine);
    mesh_trials t = {.f64 = 1e-11,
                     .f32 = 1e-5,
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
        bool        taken = (argc < 2 || shared) && share_has(mine, (int)i);
        if (asked || (taken && (real || is_chosen(path, one_of)))) run_file(&t, files.gl_pathv[i]);
    }
    globfree(&files);
    if (!real) printf("note: no GPU: an emulated one took 1 of %u cases\n", one_of);
    trials_print_farthest(&t);
    printf("test_cuda_layouts: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
