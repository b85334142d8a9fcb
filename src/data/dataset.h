/* A dataset: fields of examples, each in its files. */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "data/format.h"
#include "data/row_sections.h"

struct mtf_dataset {
    mtf_session *session;
    input_files  files;
    field       *fields;
    int          nfields;
    int64_t      size; /* examples; -1: in sections, not counted yet */
    /* NULL: examples are numbered from 0 on.  Else an example is given to fields as a row_of. */
    const row_sections *sections;
    section_start       near; /* where an example was found last, by its number among all */
    crc32c_tables       crc;
};

/* A dataset with room for `nfields` fields, and none yet. */
mtf_dataset *dataset_new(mtf_session *s, int nfields);
const field *dataset_field(const mtf_dataset *d, const char *name); /* NULL where absent */
void         field_expect(const field *f, int64_t example);         /* it will be read soon */
/* The wanted part of an example, of which the program takes `elements`.  Any thread may call it;
 * `why` receives the error. */
bool field_read(const field *f, int64_t example, int64_t elements, wanted *w, fault *why);

#endif
