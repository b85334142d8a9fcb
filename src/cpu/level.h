/* The level that a file is compiled for. */
#ifndef CPU_LEVEL_H
#define CPU_LEVEL_H

#ifndef LEVEL
#define LEVEL plain
#endif

/* name_plain, name_avx2, ...: what a file of inner loops calls its tables; levels.h declares them. */
#define OF_LEVEL(name) OF_LEVEL_(name, LEVEL)
#define OF_LEVEL_(name, level) OF_LEVEL__(name, level)
#define OF_LEVEL__(name, level) name##_##level

#endif
