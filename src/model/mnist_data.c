/* The handwritten digits as data for a model. */
#include "model/mnist_data.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/installed.h"
#include "base/textbuf.h"
#include "mtf_nn.h"

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool has_digits(void *context, const char *folder)
{
    enum { ROOM = PATH_MAX };
    return snprintf(context, ROOM, "%s/mnist", folder) < ROOM && is_folder(context);
}

/* Where the default is no folder here, the digits that came with mtf. */
static const char *digits_folder(const settings *v)
{
    const char *given = setting_text(v, "data-dir");
    char        found[PATH_MAX];
    bool        here = strcmp(given, MNIST_FOLDER) != 0 || is_folder(given);
    if (here || !installed_each("data", has_digits, found)) return given;
    return arena_text(&v->session->arena, found);
}

/* The files are published compressed, and often kept so. */
static const char *file_pattern(const settings *v, const char *part, const char *what)
{
    textbuf     t = {.arena = &v->session->arena};
    const char *folder = digits_folder(v);
    if (!folder) return NULL;
    text_add(&t, "%s/%s-%s-ubyte*", folder, part, what);
    return text_done(&t);
}

bool mnist_fields(const settings *v, bool training, mtf_field fields[MOST_FIELDS])
{
    const char *part = training ? "train" : "t10k";
    fields[0] = (mtf_field){.name = "images", .format = "idx", .scale = 1.0 / 255};
    fields[0].files = file_pattern(v, part, "images-idx3");
    fields[1] = (mtf_field){.name = "labels", .format = "idx"};
    fields[1].files = file_pattern(v, part, "labels-idx1");
    fields[2] = (mtf_field){.name = NULL};
    return fields[0].files && fields[1].files;
}

bool mnist_judge(mtf_tensor *logits, mtf_tensor *labels, mtf_dim classes, network *n)
{
    n->loss = mtf_name(mtf_reduce_mean(mtf_softmax_cross_entropy(logits, labels, classes), MTF_ALL),
                       "loss");
    n->right = mtf_name(mtf_cast(mtf_equal(mtf_argmax(logits, classes), labels), MTF_F32), "right");
    return n->loss && n->right;
}
