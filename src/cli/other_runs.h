/* Runs that a report draws beside its own: --report-beside. */
#ifndef CLI_OTHER_RUNS_H
#define CLI_OTHER_RUNS_H

#include "cli/options.h"
#include "page/train_report.h"

/* Adds what the options name to a report; pages are read in the first rank.  False after an error. */
bool other_runs(const options *o, mtf_session *s, train_report_opts *report);

#endif
