/* The page of mtf serve, as the build embeds it. */
#ifndef SERVE_SERVE_ASSETS_H
#define SERVE_SERVE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_serve_page[];
extern const size_t        asset_serve_page_bytes;

#endif
