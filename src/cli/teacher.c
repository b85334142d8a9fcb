/* The weights of a teacher, from its checkpoint. */
#include "cli/teacher.h"

#include "mtf_train.h"

bool teacher_load(const config_setup *c, mtf_graph *g)
{
    static const char *const teacher[] = {"^teacher/", "", NULL};
    static const char *const student[] = {"^student/", "", NULL};
    const mtf_config_model  *m = &c->described;
    const char              *path = m->teacher_checkpoint;
    mtf_loaded               loaded;
    int64_t                  step = 0;
    if (!c->teacher || m->distill.fraction_soft < 0) return true;
    if (!path)
        return fail(&c->session->fault, ERR_VALUE,
                    "the teacher has no weights; bind StudentTeacher.teacher_checkpoint to its "
                    "checkpoint");
    mtf_load_opts how = {.only = "^teacher/", .rename = teacher, .convert = true};
    TRY(mtf_load(c->session, path, &how, &loaded));
    TRY(mtf_variable_get(mtf_global_step(g), &step));
    if (!m->student_starts_as_teacher || step > 0) return true;
    how =
        (mtf_load_opts){.only = "^student/", .rename = student, .trainable = true, .convert = true};
    return mtf_load(c->session, path, &how, &loaded);
}
