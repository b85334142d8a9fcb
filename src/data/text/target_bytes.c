/* Counts the bytes of text of a dataset's targets. */
#include "data/text/target_bytes.h"

#include "data/text/vocabulary.h"

/* Of one row, segment by segment. */
static int64_t row_bytes(const mtf_vocabulary *v, const int32_t *ids, const int32_t *segments,
                         int64_t length)
{
    int64_t sum = 0;
    for (int64_t begin = 0, end; begin < length; begin = end) {
        for (end = begin; end < length && segments[end] == segments[begin];) end++;
        int64_t bytes = segments[begin] ? vocabulary_text_bytes(v, ids + begin, end - begin) : 0;
        if (bytes < 0) return -1;
        sum += bytes;
    }
    return sum;
}

int64_t target_bytes(mtf_session *s, mtf_dataset *d, const mtf_vocabulary *v, int64_t length)
{
    int32_t *ids = arena_array(&s->arena, int32_t, length);
    int32_t *segments = arena_array(&s->arena, int32_t, length);
    int64_t  sum = 0, rows = mtf_dataset_size(d);
    if (!ids || !segments) return -1;
    for (int64_t k = 0; k < rows; k++) {
        bool read = mtf_dataset_read(d, "targets", k, MTF_I32, length, ids) &&
                    mtf_dataset_read(d, "targets_segmentation", k, MTF_I32, length, segments);
        int64_t bytes = read ? row_bytes(v, ids, segments, length) : -1;
        if (bytes < 0) return -1;
        sum += bytes;
    }
    return sum;
}
