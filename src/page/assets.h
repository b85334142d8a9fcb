/* The pages' style sheet and scripts, embedded by the build. */
#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char asset_css[], asset_js[], asset_plans[], asset_layouts[], asset_runs[];
extern const size_t        asset_css_bytes, asset_js_bytes, asset_plans_bytes, asset_layouts_bytes,
    asset_runs_bytes;

#endif
