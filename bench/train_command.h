/* `mtf train` as users type it. */
#ifndef BENCH_TRAIN_COMMAND_H
#define BENCH_TRAIN_COMMAND_H

/* Examples a second in the last line that the command prints, a mean over about the last five seconds;
 * 0: there is none. */
double train_command_speed(const char *command);

#endif
