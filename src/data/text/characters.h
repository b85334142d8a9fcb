/* Characters of Unicode: their classes, and their forms without case and accents. */
#ifndef DATA_TEXT_CHARACTERS_H
#define DATA_TEXT_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum character_class {
    CHARACTER_OTHER,
    CHARACTER_SPACE,       /* separates words: of the categories Z, or a tab or the end of a line */
    CHARACTER_MARK,        /* Mn, such as accents                                                */
    CHARACTER_PUNCTUATION, /* P, and all of ASCII that is neither letter nor digit               */
    CHARACTER_REMOVED      /* C: control characters and such; U+FFFD                             */
} character_class;

character_class character_class_of(uint32_t c);
/* An ideograph, as BERT has them: a word by itself. */
bool character_is_ideograph(uint32_t c);

/* In lower case, decomposed, without marks: writes up to CHARACTER_FOLDS characters, and returns how many. */
enum { CHARACTER_FOLDS = 3 };
int character_fold(uint32_t c, uint32_t *folded);
/* The small letter of a capital, accents and all; every other character as it is. */
uint32_t character_lower(uint32_t c);

#endif
