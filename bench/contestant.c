/* Processes that take training steps when asked. */
#include "contestant.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

extern char **environ;

enum { MOST = 8, ROUNDS = 5 };
static const double measured_seconds = 0.3; /* short steps are measured many at a time */

/* Runs the command with these ends of pipes as its input and output.  Discards warnings of libraries,
 * which are visible when the command is run by hand. */
static bool spawn(contestant *c, int input, int output)
{
    posix_spawn_file_actions_t actions;
    char *const                words[] = {"sh", "-c", c->command, NULL};
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    bool ok = posix_spawnp(&c->process, "sh", &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

bool contestant_start(contestant *c)
{
    int  asks[2], answers[2];
    char line[100];
    c->seconds = 1e9;
    if (pipe2(asks, O_CLOEXEC) != 0) return false;
    if (pipe2(answers, O_CLOEXEC) != 0) {
        close(asks[0]);
        close(asks[1]);
        return false;
    }
    c->ask = fdopen(asks[1], "w");
    c->answer = fdopen(answers[0], "r");
    bool ok = c->ask && c->answer && spawn(c, asks[0], answers[1]);
    close(asks[0]);
    close(answers[1]);
    while (ok && fgets(line, sizeof line, c->answer))
        if (strcmp(line, "ready\n") == 0) return true;
    return false;
}

bool contestant_steps(contestant *c, int steps)
{
    char line[200];
    fprintf(c->ask, "%d\n", steps);
    fflush(c->ask);
    if (!fgets(line, sizeof line, c->answer)) return false;
    cJSON       *said = cJSON_Parse(line);
    const cJSON *seconds = cJSON_GetObjectItem(said, "seconds");
    const cJSON *peak = cJSON_GetObjectItem(said, "peak_bytes");
    bool         ok = cJSON_IsNumber(seconds) && cJSON_IsNumber(peak);
    if (ok && seconds->valuedouble < c->seconds) c->seconds = seconds->valuedouble;
    if (ok) c->peak_bytes = peak->valuedouble;
    cJSON_Delete(said);
    return ok;
}

void contestant_stop(contestant *c)
{
    if (c->ask) fclose(c->ask);
    if (c->answer) fclose(c->answer);
    if (c->process > 0) waitpid(c->process, NULL, 0);
    c->ask = c->answer = NULL;
    c->process = 0;
}

bool contestants_race(bench *b, contestant *all, int n)
{
    int steps[MOST];
    for (int i = 0; i < n; i++) {
        if (!contestant_start(&all[i]) || !contestant_steps(&all[i], 1)) {
            bench_error(b, "no training step comes from: %s", all[i].command);
            return false;
        }
        steps[i] = (int)(measured_seconds / all[i].seconds) + 1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++)
            if (!contestant_steps(&all[i], steps[i])) {
                bench_error(b, "it stopped training: %s", all[i].command);
                return false;
            }
    return true;
}

bool contestants_python(const char *peers, const char *environment)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/%s/bin/python", peers, environment);
    return access(path, X_OK) == 0;
}
