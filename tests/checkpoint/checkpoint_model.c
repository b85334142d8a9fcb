/* Variables of all types whose values identify their positions. */
#include "checkpoint_model.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/session.h"
#include "checkpoint/opening.h"
#include "checkpoint/reading.h"

static const struct {
    const char *name;
    mtf_dtype   type;
    int         ndims;
    mtf_dim     dims[3];
} kinds[MODEL_VARIABLES] = {
    {"layer/w", MTF_F32, 2, {{"a", 7}, {"b", 5}}},
    {"layer/cube", MTF_F32, 3, {{"a", 7}, {"b", 5}, {"c", 3}}},
    {"turned", MTF_F64, 2, {{"b", 5}, {"a", 7}}},
    {"short", MTF_BF16, 2, {{"c", 3}, {"b", 5}}},
    {"half", MTF_F16, 1, {{"a", 7}}},
    {"count", MTF_I64, 0, {{0}}},
    {"index", MTF_I32, 1, {{"c", 3}}},
    {"mask", MTF_BOOL, 2, {{"b", 5}, {"c", 3}}},
};

model model_open_with(const mtf_session_opts *opts)
{
    model      m = {.session = mtf_open_with(opts)};
    mtf_graph *g = mtf_graph_new(m.session);
    for (int i = 0; i < MODEL_VARIABLES; i++) {
        m.w[i] = mtf_variable(g, kinds[i].name, mtf_shape_of(kinds[i].ndims, kinds[i].dims),
                              &(mtf_variable_opts){.type = kinds[i].type, .init = "zeros"});
        char unused[8 * MODEL_MOST];
        mtf_variable_get(m.w[i], unused); /* now the session has it */
    }
    return m;
}

model model_open(const char *mesh, const char *layout, const char *state)
{
    return model_open_with(&(mtf_session_opts){
        .threads = 1, .seed = 7, .mesh = mesh, .layout = layout, .state_layout = state});
}

static int64_t values(int i, int64_t salt, void *data)
{
    int64_t count = mtf_shape_size(mtf_shape_of(kinds[i].ndims, kinds[i].dims));
    for (int64_t k = 0; k < count; k++)
        dtype_store(kinds[i].type, data, k,
                    kinds[i].type == MTF_BOOL ? (double)((k * 7 + salt) % 3 == 0)
                                              : (double)((k * 13 + i * 5 + salt * 29) % 251));
    return count * (int64_t)mtf_dtype_bytes(kinds[i].type);
}

void model_fill(const model *m, int64_t salt)
{
    char data[8 * MODEL_MOST];
    for (int i = 0; i < MODEL_VARIABLES; i++) {
        values(i, salt, data);
        mtf_variable_set(m->w[i], data);
    }
}

int model_wrong(const model *m, int64_t salt)
{
    char want[8 * MODEL_MOST], got[8 * MODEL_MOST];
    int  wrong = 0;
    for (int i = 0; i < MODEL_VARIABLES; i++) {
        int64_t bytes = values(i, salt, want);
        wrong += !mtf_variable_get(m->w[i], got) || memcmp(want, got, (size_t)bytes) != 0;
    }
    return wrong;
}

/* ---- saving and loading ---- */

void model_save(const char *name)
{
    model m = model_open("x:2", "a:x", NULL);
    model_fill(&m, 3);
    if (!mtf_save(m.session, in_folder(name), &(mtf_save_opts){.step = 1})) abort();
    mtf_close(m.session);
}

const char *load_error(mtf_session *s, const char *name)
{
    static char text[1000];
    mtf_load(s, in_folder(name), NULL, NULL);
    snprintf(text, sizeof text, "%s", mtf_error(s));
    mtf_close(s);
    return text;
}

const char *verify_error(const char *name)
{
    static char  text[1000];
    mtf_session *s = mtf_open_with(NULL);
    contents     c = contents_make(&s->arena);
    reader       r;
    int          summed;
    if (checkpoint_open(&c, in_folder(name), NEWEST) &&
        reader_open(&r, &c, &s->allocator, (part_copier){0}, 1, &s->fault)) {
        reader_verify(&r, &summed);
        reader_close(&r);
    }
    snprintf(text, sizeof text, "%s", mtf_error(s));
    mtf_close(s);
    return text;
}

/* ---- the folder ---- */

static const char *folder(void)
{
    static char path[] = "/tmp/mtf_checkpoint_XXXXXX";
    static bool made;
    if (!made && !mkdtemp(path)) abort();
    made = true;
    return path;
}

const char *in_folder(const char *name)
{
    static char paths[4][300];
    static int  next;
    char       *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder(), name);
    return path;
}

static int drop(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

void drop_folder(void)
{
    nftw(folder(), drop, 8, FTW_DEPTH | FTW_PHYS);
}
