/* Runs small models under every legal layout of several meshes.
 *
 * tests/harness/models/ has the models: loss, gradients and updated variables
 * after two steps must be those of one processor, in f64 within 1e-9 of a
 * tensor's magnitude, in f32 within 1e-4.  Where a mesh has more layouts than
 * LIMIT, a fixed pseudo-random choice of them is taken.  With MTF_TEST_DEVICE=cuda meshes are on
 * GPUs, f32 within 1e-5 of the CPU, and a mesh has one layout.
 *
 * Usage: test_models [part of a name, or SHARE/SHARES] [LIMIT]
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "harness_mesh.h"

static const char folder[] = MTF_SOURCE_DIR "/tests/harness/models/";

enum { LIMIT = 400, FAST = 4 };

static const char *const meshes[] = {"x:2", "x:3", "x:4", "x:2,y:2", "x:2,y:3", "x:2,y:2,z:2"};
enum { MESHES = sizeof meshes / sizeof *meshes };

/* Shares are even where each mesh of a model counts by itself. */
typedef struct work {
    mesh_trials trials;
    share       mine;
    int         seen; /* meshes so far, those of other shares included */
} work;

static void run_on_cpu(work *w)
{
    bool begun = false;
    for (size_t i = 0; i < MESHES; i++) {
        if (!share_has(w->mine, w->seen++)) continue;
        if (!begun && !trials_begin(&w->trials)) break;
        begun = true;
        trials_on(&w->trials, meshes[i]);
    }
    if (begun) trials_end(&w->trials);
}

static void run_text(work *w, const test_case *c)
{
    w->trials.c = c;
    if (!w->trials.device)
        run_on_cpu(w);
    else if (share_has(w->mine, w->seen++))
        trials_on_gpu(&w->trials);
}

static void run_file(work *w, const char *file)
{
    test_case c;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        w->trials.failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    run_text(w, &c);
    char *single = c.text;
    c.text = case_in_f64(&c);
    if (c.text) run_text(w, &c);
    free(c.text);
    c.text = single;
    case_free(&c);
}

int main(int argc, char **argv)
{
    const char *device = asked_device();
    work        w = {.trials = {.f64 = 1e-9,
                                .f32 = device ? 1e-5 : 1e-4,
                                .limit = argc > 2 ? atoi(argv[2])
                                         : device ? 1
                                                  : asked_much(LIMIT, FAST),
                                .device = device,
                                .more = device ? 2 : 0}};
    const char *part = share_read(argc > 1 ? argv[1] : NULL, &w.mine) || argc < 2 ? "" : argv[1];
    glob_t      files;
    char        pattern[sizeof folder + 16];
    asked_hold_gpu();
    snprintf(pattern, sizeof pattern, "%s*.mtf", folder);
    if (glob(pattern, 0, NULL, &files)) return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (strstr(files.gl_pathv[i] + strlen(folder), part)) run_file(&w, files.gl_pathv[i]);
    globfree(&files);
    const mesh_trials *t = &w.trials;
    printf("%d pairs of dimensions were illegal on one axis, as they should be\n", t->illegal);
    if (device) trials_print_farthest(t);
    printf("test_models: %d passed, %d failed\n", t->passed, t->failed);
    return t->failed != 0;
}
