/* Runs every case under every legal layout of several meshes.
 *
 * Values and gradients must be those of one processor: integers bit for bit,
 * floats within what another order of summation may change.  Where a mesh has
 * more layouts than LIMIT, a fixed pseudo-random choice of them is taken.  Then
 * once more with inputs that are sums, of which each processor has a part.
 *
 * Usage: test_layouts [part of a path, or SHARE/SHARES] [LIMIT]
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "harness_mesh.h"
#include "harness_owed.h"

static const char folder[] = MTF_SOURCE_DIR "/tests/cases/";

enum { LIMIT = 40, FAST = 2, MESHES = 5 };

/* Every mesh where all is asked for; otherwise one, and the next case another. */
static void run_meshes(mesh_trials *t, int index)
{
    static const char *const meshes[MESHES] = {"x:2", "x:2,y:3", "x:3", "x:2,y:2", "x:4"};
    int                      many = asked_much(MESHES, 1);
    for (int k = 0; k < many; k++) trials_on(t, meshes[(index + k) % MESHES]);
}

static void run_file(mesh_trials *t, const char *file, int index)
{
    test_case c;
    char      error[ERROR_ROOM] = "";
    if (!case_read(&c, file, file + strlen(folder), error, ERROR_ROOM)) {
        t->failed++;
        printf("%s: %s\n", file, error);
        return;
    }
    t->c = &c;
    if (trials_begin(t)) run_meshes(t, index);
    trials_end(t);
    int limit = t->limit;
    t->limit = (limit + 9) / 10;
    int first = asked_much(0, index % 2);
    trials_owed(t, asked_much(2, 1), (const char *const[]){"x:2", "x:2,y:3"} + first);
    t->limit = limit;
    case_free(&c);
}

int main(int argc, char **argv)
{
    share       mine;
    const char *part = share_read(argc > 1 ? argv[1] : NULL, &mine) || argc < 2 ? "" : argv[1];
    mesh_trials t = {
        .f64 = 1e-11, .f32 = 4e-5, .limit = argc > 2 ? atoi(argv[2]) : asked_much(LIMIT, FAST)};
    glob_t files;
    char   pattern[sizeof folder + 16];
    snprintf(pattern, sizeof pattern, "%s*/*.mtf", folder);
    if (glob(pattern, 0, NULL, &files)) return 1;
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (share_has(mine, (int)i) && strstr(files.gl_pathv[i] + strlen(folder), part))
            run_file(&t, files.gl_pathv[i], (int)i);
    globfree(&files);
    printf("%d pairs of dimensions were illegal on one axis, as they should be\n", t.illegal);
    printf("test_layouts: %d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}
