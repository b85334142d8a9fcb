/* A safetensors file or checkpoint, read whole, for tests. */
#include "tensor_file.h"

#include "base/session.h"
#include "checkpoint/opening.h"

#include "ground.h"

void tensor_file_open(tensor_file *t, const char *path)
{
    mtf_session *s = mtf_open_with(&(mtf_session_opts){0});
    *t = (tensor_file){.session = s};
    t->contents = contents_make(&t->session->arena);
    bool ok = checkpoint_open(&t->contents, path, NEWEST) &&
              reader_open(&t->reader, &t->contents, &t->session->allocator, (part_copier){0}, 1,
                          &t->session->fault);
    if (!ok) fail_msg("%s", mtf_error(t->session));
}

void tensor_file_close(tensor_file *t)
{
    reader_close(&t->reader);
    close_well(t->session);
}

static const kept_tensor *find(const tensor_file *t, const char *name)
{
    const kept_tensor *k = contents_find(&t->contents, name);
    if (!k) fail_msg("%s has no tensor %s", t->contents.path, name);
    return k;
}

const void *tensor_file_get(tensor_file *t, const char *name, mtf_dtype type, int64_t *count)
{
    const kept_tensor *k = find(t, name);
    assert_int_equal(k->type, type);
    *count = mtf_shape_size(k->shape);
    void *data = arena_alloc(&t->session->arena, (size_t)k->bytes + 1);
    assert_true(reader_get(&t->reader, k, 0, data, *count));
    return data;
}

int64_t tensor_file_size(const tensor_file *t, const char *name, int dim)
{
    return find(t, name)->shape.dims[dim].size;
}
