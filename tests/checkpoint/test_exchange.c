/* Saves or loads the test's variables, as one process or as ranks: tests/shell/checkpoint.sh.
 *
 * Usage: test_exchange save|background|load FOLDER STEP MESH LAYOUT
 * Without arguments it saves and loads by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_model.h"

static void say(void *context, const char *text)
{
    (void)context;
    fputs(text, stderr);
}

static int act(const char *verb, const char *folder, int64_t step, const char *mesh,
               const char *layout)
{
    model m = model_open_with(&(mtf_session_opts){
        .threads = 1, .mesh = mesh, .layout = layout, .say = say, .patience = 20});
    int   wrong = 0;
    if (strcmp(verb, "load") == 0) {
        mtf_load(m.session, folder, &(mtf_load_opts){.step = step}, NULL);
        wrong = mtf_ok(m.session) ? model_wrong(&m, step) : 0;
    } else {
        model_fill(&m, step);
        bool background = strcmp(verb, "background") == 0;
        mtf_save(m.session, folder, &(mtf_save_opts){.step = step, .background = background});
        for (int i = 0; background && i < 3; i++) mtf_save_poll(m.session);
    }
    if (mtf_is_first(m.session) && mtf_ok(m.session)) printf("%s: %d wrong\n", verb, wrong);
    return mtf_close(m.session) || wrong;
}

int main(int argc, char **argv)
{
    if (argc == 6) return act(argv[1], argv[2], atoll(argv[3]), argv[4], argv[5]);
    int failed = act("save", in_folder("alone"), 4, "x:2,y:2", "a:x,c:y") +
                 act("load", in_folder("alone"), 4, "x:3", "b:x");
    drop_folder();
    printf("test_exchange: %d passed, %d failed\n", 2 - failed, failed);
    return failed != 0;
}
