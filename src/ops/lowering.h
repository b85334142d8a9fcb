/* What op files share when they lower and declare. */
#ifndef OPS_LOWERING_H
#define OPS_LOWERING_H

#include "graph/node.h"
#include "ops/catalogue.h"
#include "program/emit.h"

double round_to_type(double value, mtf_dtype type); /* as storing and loading would */

#endif
