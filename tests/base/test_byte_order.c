/* Tests readers and writers of files for big-endian machines.
 *
 * They are compiled a second time here, under other names, for such a machine.
 */
#include "base/byte_order.h"
#undef HOST_IS_LITTLE_ENDIAN
#define HOST_IS_LITTLE_ENDIAN false

#define npy_header_parse npy_header_parse_elsewhere
#define npy_header_print npy_header_print_elsewhere
#include "base/npy_header.c"

#define broken broken_safetensors
#define take_names take_dimension_names
#define safetensors_header_bytes safetensors_header_bytes_elsewhere
#define safetensors_parse safetensors_parse_elsewhere
#define safetensors_print safetensors_print_elsewhere
#include "checkpoint/safetensors.c"

#include "ground.h"

static void assert_refused(mtf_session *s, const char *name)
{
    char sentence[300];
    snprintf(sentence, sizeof sentence,
             "file: \"%s\": its elements are little-endian, and this machine is big-endian: mtf "
             "reads and writes such files on little-endian machines only",
             name);
    close_with(s, sentence);
}

static void test_npy(void **state)
{
    static const mtf_dtype types[] = {MTF_F32, MTF_BF16, MTF_F16, MTF_F64, MTF_I32, MTF_I64};
    (void)state;
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        char         text[NPY_HEADER_ROOM];
        size_t       n = npy_header_print(types[k], 1, (int64_t[]){3}, text);
        mtf_session *s = mtf_open_with(NULL);
        npy_header   h;
        const void  *bytes = text;
        assert_false(npy_header_parse(s, "x.npy", bytes, n, false, &h));
        assert_refused(s, "x.npy");
    }
}

/* Single bytes have no order. */
static void test_npy_of_bytes(void **state)
{
    (void)state;
    char         text[NPY_HEADER_ROOM];
    size_t       n = npy_header_print(MTF_BOOL, 1, (int64_t[]){3}, text);
    mtf_session *s = mtf_open_with(NULL);
    npy_header   h;
    assert_true(npy_header_parse(s, "x.npy", (const void *)text, n, false, &h));
    close_well(s);
}

static void test_safetensors_read(void **state)
{
    (void)state;
    static const unsigned char head[SAFETENSORS_START] = {2};
    mtf_session               *s = mtf_open_with(NULL);
    assert_int_equal(safetensors_header_bytes("x.safetensors", head, 10, &s->fault), 0);
    assert_refused(s, "x.safetensors");
}

static void test_safetensors_written(void **state)
{
    (void)state;
    mtf_session *s = mtf_open_with(NULL);
    contents     c = contents_make(&s->arena);
    kept_file    file = {.name = "weights.safetensors"};
    int64_t      bytes;
    c.files = &file, c.nfiles = 1;
    assert_null(safetensors_print(&c, 0, &bytes));
    assert_refused(s, "weights.safetensors");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),
        cmocka_unit_test(test_npy_of_bytes),
        cmocka_unit_test(test_safetensors_read),
        cmocka_unit_test(test_safetensors_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
