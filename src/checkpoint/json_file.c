/* Configurations of models: the text of a JSON file. */
#include "checkpoint/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "checkpoint/opening.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool json_members_differ(mtf_session *s, const char *path, const cJSON *object)
{
    size_t       n = 0, count = (size_t)cJSON_GetArraySize(object);
    const char **names = arena_array(&s->arena, const char *, count + 1);
    TRY(names != NULL);
    for (const cJSON *i = object->child; i; i = i->next) names[n++] = i->string;
    qsort(names, n, sizeof *names, by_name);
    for (size_t k = 1; k < n; k++)
        if (strcmp(names[k - 1], names[k]) == 0)
            return fail(&s->fault, ERR_FILE, "\"%s\": \"%.200s\" is given twice", path, names[k]);
    return true;
}

const char *json_file_text(mtf_session *s, const char *path)
{
    enum { MOST = 1 << 24 };
    struct stat about;
    int         file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char       *text = NULL;
    if (file < 0 || fstat(file, &about) != 0) {
        fail(&s->fault, ERR_FILE, "\"%s\" cannot be opened: %s", path, strerror(errno));
    } else if (!S_ISREG(about.st_mode) || about.st_size > MOST) {
        fail(&s->fault, ERR_FILE, "\"%s\" is not a configuration of a model", path);
    } else {
        text = arena_alloc(&s->arena, (size_t)about.st_size + 1);
        if (text && !file_read(file, path, 0, text, about.st_size, &s->fault)) text = NULL;
    }
    if (file >= 0) close(file);
    return text;
}
