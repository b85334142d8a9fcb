/* A device that catches mistakes: poison, guards, the first NaN. */
#ifndef MACHINE_DEVICE_CHECK_H
#define MACHINE_DEVICE_CHECK_H

#include "machine/device.h"

bool device_is_checked(const mtf_session *s); /* does the session's device check what runs on it? */
device *device_check_open(mtf_session *s, device *inner); /* closing it closes `inner` too */
/* A context of the check device that uses an open context of the inner device, which stays open. */
device_context *device_check_over(device *check, device_context *inner);
/* Of a context of the check device: the first tensor of the last step with an infinity; NULL: none. */
const mtf_tensor *device_check_infinite(const device_context *c);

#endif
