/* Prints the version of BLIS that the build found. */
#include <stdio.h>

#include "blis.h"

int main(void)
{
    printf("%s", bli_info_get_version_str());
    return 0;
}
