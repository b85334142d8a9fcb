/* A field as one text, for command lines. */
#ifndef DATA_FIELD_TEXT_H
#define DATA_FIELD_TEXT_H

#include "base/session.h"
#include "mtf_data.h"

/* Reads NAME=FILES, then any of :format=F :part=P :scale=X :length=N :header :shift=N :range=A-B. A
 * colon belongs to the text before it unless one of these words follows; "\:" always does.  `flag`
 * is the option's name in messages; texts live in the session. */
bool field_parse(mtf_session *s, const char *flag, const char *text, mtf_field *f);

/* Those words, for the help of options. */
#define FIELD_WORDS ":format= :part= :scale= :length= :header :shift= :range="

#endif
