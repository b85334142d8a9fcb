/* Convolutions in a trial, with few channels and with many. */
#include "measure/trial_windows.h"

#include <math.h>

#include "measure/timing.h"

enum { SIDE = 16, TAPS = 3 };

/* The number of images with about a million products; at least one. */
static int images_of(int channels)
{
    enum { PRODUCTS = 1 << 20 };
    int each = SIDE * SIDE * TAPS * TAPS * channels * channels;
    return each < PRODUCTS ? PRODUCTS / each : 1;
}

static bool time_window(const trial *t, int channels, double *flops, double *seconds)
{
    textbuf text = {.arena = &t->session->arena};
    int     p = mesh_size(&t->mesh), images = images_of(channels);
    text_add(&text,
             "image_%d: f32[p=%d, b=%d, h=%d, w=%d, c=%d] = variable(init=\"normal(0, 1)\")\n",
             channels, p, images, SIDE + TAPS - 1, SIDE + TAPS - 1, channels);
    text_add(&text, "filter_%d: f32[fh=%d, fw=%d, c=%d, o=%d] = variable(init=\"normal(0, 1)\")\n",
             channels, TAPS, TAPS, channels, channels);
    text_add(&text, "y = conv2d(image_%d, filter_%d, padding=valid)\n", channels, channels);
    *flops = 2.0 * images * SIDE * SIDE * TAPS * TAPS * channels * channels;
    const char *whole = text_done(&text);
    return whole && timing_single(t, whole, *flops / 10e9, seconds);
}

bool trial_windows(const trial *t, price_rates *r)
{
    static const int channels[] = {1, 4, 8, 16, 64};
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++) {
        double flops, seconds;
        TRY(time_window(t, channels[k], &flops, &seconds));
        rates_add_window(r, (window_rate){.type = MTF_F32,
                                          .channels = channels[k],
                                          .flops = flops / fmax(seconds - r->start, seconds / 2)});
    }
    return true;
}
