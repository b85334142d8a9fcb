/* What the data of a run keep in memory, for plans. */
#ifndef CLI_PLANNED_DATA_H
#define CLI_PLANNED_DATA_H

#include <cjson/cJSON.h>

#include "base/textbuf.h"
#include "cli/options.h"
#include "mtf.h"

/* Bytes, at most, of a process; all are 0 where the plan is not about training on data. */
typedef struct planned_data {
    int64_t batches; /* those that are lent and read ahead */
    int64_t files;   /* of examples: unpacked, or read */
    int64_t text;    /* sections of it */
} planned_data;

/* For the graph before its batch is divided.  False after an error. */
bool planned_data_find(const options *o, mtf_session *s, const mtf_graph *g, planned_data *to);
void planned_data_write(const planned_data *d, textbuf *t);
void planned_data_json(const planned_data *d, cJSON *to);

#endif
