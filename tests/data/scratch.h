/* Files that a test writes into a temporary folder. */
#ifndef TESTS_DATA_SCRATCH_H
#define TESTS_DATA_SCRATCH_H

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

#include "mtf_data.h"

#include "ground.h"

static char scratch_folder[] = "/tmp/mtf_data_XXXXXX";

static inline int scratch_make(void **state)
{
    (void)state;
    return mkdtemp(scratch_folder) ? 0 : -1;
}

static inline void scratch_clear(void)
{
    char           path[400];
    DIR           *d = opendir(scratch_folder);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof path, "%s/%s", scratch_folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
}

static inline int scratch_drop(void **state)
{
    (void)state;
    scratch_clear();
    return rmdir(scratch_folder);
}

/* One of four texts, used in turn. */
static inline const char *scratch_path(const char *name)
{
    static char paths[4][100];
    static int  k;
    char       *path = paths[k++ % 4];
    snprintf(path, 100, "%s/%s", scratch_folder, name);
    return path;
}

static inline const char *write_plain(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    FILE       *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline const char *write_text(const char *name, const char *text)
{
    return write_plain(name, text, strlen(text));
}

static inline const char *write_gzip(const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(name);
    gzFile      f = gzopen(path, "wb");
    assert_non_null(f);
    if (n) assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
    assert_int_equal(gzclose(f), Z_OK);
    return path;
}

static inline mtf_dataset *open_field(mtf_session *s, mtf_field f)
{
    return mtf_dataset_open(s, (mtf_field[]){f, {0}});
}

/* Opening, or else reading its only element as f64, fails with all of these words. */
static inline void refused(mtf_field f, const char *words)
{
    mtf_session *s = mtf_open_with(NULL);
    mtf_dataset *d = open_field(s, f);
    double       value[8];
    for (int64_t i = 0; d && i < mtf_dataset_size(d); i++)
        mtf_dataset_read(d, f.name, i, MTF_F64, f.length ? f.length : 1, value);
    assert_contains(mtf_error(s), words);
    assert_int_equal(mtf_close(s), 1);
}

#endif
