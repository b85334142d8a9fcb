/* Tests IDX files, plain and gzip, sound and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "mtf_nn.h"

static char folder[] = "/tmp/mtf_idx_XXXXXX";
static char path[100];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/x", folder);
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_plain(const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_gzip(const void *bytes, size_t n)
{
    gzFile f = gzopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
    assert_int_equal(gzclose(f), Z_OK);
}

static size_t read_plain(unsigned char *bytes, size_t room)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, room, f);
    fclose(f);
    return n;
}

static void refused(const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_idx      a;
    assert_false(mtf_read_idx(s, path, &a));
    assert_null(a.data);
    if (!strstr(mtf_error(s), words) || !strstr(mtf_error(s), path))
        fail_msg("expected \"%s\", got: %s", words, mtf_error(s));
    assert_int_equal(mtf_close(s), 1);
}

/* 2 x 3 bytes: 1 2 3 / 4 5 6 */
static const unsigned char small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void read_small(void)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_idx      a;
    assert_true(mtf_read_idx(s, path, &a));
    assert_int_equal(a.ndims, 2);
    assert_int_equal(a.size[0], 2);
    assert_int_equal(a.size[1], 3);
    assert_memory_equal(a.data, small + 12, 6);
    mtf_idx_free(s, &a);
    assert_null(a.data);
    mtf_idx_free(s, &a);
    assert_int_equal(mtf_close(s), 0);
}

static void plain(void **state)
{
    (void)state;
    write_plain(small, sizeof small);
    read_small();
}

static void gzipped(void **state)
{
    (void)state;
    write_gzip(small, sizeof small);
    read_small();
}

static void four_dimensions(void **state)
{
    (void)state;
    static unsigned char file[20 + 16] = {0, 0, 8, 4, 0, 0, 0, 2, 0, 0, 0, 2,
                                          0, 0, 0, 2, 0, 0, 0, 2};
    write_gzip(file, sizeof file);
    mtf_session *s = mtf_open_with(NULL);
    mtf_idx      a;
    assert_true(mtf_read_idx(s, path, &a));
    assert_int_equal(a.ndims, 4);
    mtf_idx_free(s, &a);
    assert_int_equal(mtf_close(s), 0);
}

static void cut_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof small; n++) {
        write_plain(small, n);
        refused("cut short");
    }
    /* Of a gzip file shorter than its own header zlib makes a plain file: another sentence. */
    unsigned char gz[200];
    write_gzip(small, sizeof small);
    size_t n = read_plain(gz, sizeof gz);
    while (n-- > 0) {
        write_plain(gz, n);
        refused("");
    }
}

static void damaged(void **state)
{
    (void)state;
    unsigned char gz[200], bad[200];
    write_gzip(small, sizeof small);
    size_t n = read_plain(gz, sizeof gz);
    for (size_t at = n - 8; at < n; at++) { /* checksum and length */
        memcpy(bad, gz, n);
        bad[at] ^= 0x55;
        write_plain(bad, n);
        refused("is damaged");
    }
}

static void hostile_headers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *words;
        size_t      n;
    } cases[] = {
        {"\x50\x4b\x08\x01\0\0\0\x01\x07", "is no IDX file", 9},
        {"\0\0\x0d\x01\0\0\0\x01\x07", "type 0x0d", 9},
        {"\0\0\x08\0\x07", "0 dimensions", 5},
        {"\0\0\x08\x05\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\x07", "5 dimensions", 25},
        {"\0\0\x08\x01\0\0\0\0", "size 0", 8},
        {"\0\0\x08\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
         "more elements than it can hold", 20},
        {"\0\0\x08\x01\x7f\xff\xff\xff\x01", "more elements than it can hold", 9},
        {"\0\0\x08\x01\0\0\0\x02\x01\x02\x03", "more bytes", 11},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_plain(cases[i].bytes, cases[i].n);
        refused(cases[i].words);
        write_gzip(cases[i].bytes, cases[i].n);
        refused(cases[i].words);
    }
}

static void no_file(void **state)
{
    (void)state;
    unlink(path);
    refused("No such file or directory");
    mtf_session *s = mtf_open_with(NULL);
    mtf_idx      a;
    assert_false(mtf_read_idx(s, folder, &a));
    assert_non_null(strstr(mtf_error(s), "is a folder"));
    assert_int_equal(mtf_close(s), 1);
    assert_false(mtf_read_idx(NULL, path, &a)); /* no session: a harmless no-op */
    mtf_idx_free(NULL, &a);
}

static void *no_alloc(void *context, size_t bytes)
{
    return bytes == *(const size_t *)context ? NULL : malloc(bytes);
}

static void give(void *context, void *memory)
{
    (void)context;
    free(memory);
}

static void no_memory(void **state)
{
    (void)state;
    write_plain(small, sizeof small);
    size_t       block = 6 + 64 + sizeof(void *); /* what the elements ask for */
    mtf_session *s = mtf_open_with(&(mtf_session_opts){.allocator = {no_alloc, give, &block}});
    mtf_idx      a;
    assert_false(mtf_read_idx(s, path, &a));
    assert_null(a.data);
    assert_non_null(strstr(mtf_error(s), "memory: "));
    assert_int_equal(mtf_close(s), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),          cmocka_unit_test(gzipped),
        cmocka_unit_test(four_dimensions), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(damaged),        cmocka_unit_test(hostile_headers),
        cmocka_unit_test(no_memory),      cmocka_unit_test(no_file),
    };
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
