/* What this machine's processor can do. */
#include "cpu/cpu_abilities.h"

enum { ROW = 8192 }; /* elements: it stays in the nearest caches */

abilities cpu_abilities(void)
{
    return (abilities){.products = 1u << MTF_BF16,
                       .never = 1u << MTF_F8E4M3 | 1u << MTF_F8E5M2,
                       .epilogues = EPILOGUE_INTO,
                       .longest_row = ROW,
                       .least_window = INT64_MAX};
}
