/* What op files share when they lower and declare. */
#ifndef OPS_LOWERING_H
#define OPS_LOWERING_H

#include "graph/node.h"
#include "ops/catalogue.h"
#include "program/emit.h"

#endif
