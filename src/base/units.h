/* Numbers with units, short enough for a column. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

/* Steps of a thousand, as in the listings of programs: 205 kB, 12.3 M, 4.56 ms.  INT64_MAX, at
 * which counts saturate, is ">9.22 E". */
typedef struct unit_text {
    char s[24];
} unit_text;

unit_text unit_bytes(int64_t n);
unit_text unit_count(int64_t n);
unit_text unit_seconds(double s);
unit_text unit_rate(double rate); /* before the name of a unit: "30 G" of 30 Gflop/s */
unit_text unit_percent(double part, double whole);

#endif
