/* The description of a GPU that holds by default, embedded. */
#ifndef PRICE_MACHINE_ASSETS_H
#define PRICE_MACHINE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_h200[]; /* share/machines/h200.machine */
extern const size_t        asset_h200_bytes;

#endif
