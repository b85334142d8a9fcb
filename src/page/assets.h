/* The pages' style sheet and script, embedded by the build. */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_css[], asset_js[];
extern const size_t        asset_css_bytes, asset_js_bytes;

#endif
