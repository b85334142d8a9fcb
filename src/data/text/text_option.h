/* A dataset of text as one text, for command lines. */
#ifndef DATA_TEXT_TEXT_OPTION_H
#define DATA_TEXT_TEXT_OPTION_H

#include "base/session.h"
#include "mtf_text.h"

/* Reads FILES, then any of the words below, in any order.  A colon belongs to the text before it
 * unless one of these words follows; "\:" always does.  `flag` is the option's name in messages;
 * texts live in the session.  The vocabulary is an option of its own. */
bool text_option_parse(mtf_session *s, const char *flag, const char *text, mtf_text_opts *o);

/* Those words, for the help of options; not those of lengths, which a configuration gives. */
#define TEXT_WORDS                                                                                 \
    ":objective= :documents= :joined :split :pack :ends :format= :inputs= :targets= :seed= "       \
    ":noise= :span="

#endif
