/* The subcommands of `mtf ckpt`. */
#ifndef CLI_CKPT_H
#define CLI_CKPT_H

#include "checkpoint/reading.h"
#include "cli/options.h"

/* A checkpoint, a safetensors file or a .npy file that is open for reading. */
typedef struct ckpt_source {
    mtf_session *session;
    contents     contents;
    reader       reader;
    bool         is_npy;
    void        *elements; /* of a .npy file */
} ckpt_source;

bool ckpt_open(ckpt_source *c, mtf_session *s, const char *path);
void ckpt_close(ckpt_source *c);
/* A tensor whose elements mtf can read, by name; NULL after an error. */
const kept_tensor *ckpt_find(const ckpt_source *c, const char *name);
bool        ckpt_get(ckpt_source *c, const kept_tensor *t, int64_t place, void *to, int64_t count);
const char *ckpt_type(const kept_tensor *t);
/* The text of the configuration in the folder of a checkpoint of mtf, or in the folder of checkpoints above, or
 * in that of a checkpoint of TensorFlow; NULL: there is none, or an error. */
const char *ckpt_config(mtf_session *s, const contents *c);

/* Each takes o->words after its name; false after an error in the session, or where two differ. */
bool ckpt_list(mtf_session *s, const options *o);
bool ckpt_verify(mtf_session *s, const options *o);
bool ckpt_show(mtf_session *s, const options *o);
bool ckpt_diff(mtf_session *s, const options *o);
bool ckpt_convert(mtf_session *s, const options *o);
bool ckpt_import(mtf_session *s, const options *o);
bool ckpt_export(mtf_session *s, const options *o);

#endif
