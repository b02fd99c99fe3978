/* sweep.h -- {"sweep": [...]} and {"range": {...}}: the values that one place of a grid takes. */
#ifndef LH_SIM_SWEEP_H
#define LH_SIM_SWEEP_H

#include "base/json.h"

#define LH_SWEEP_MOST_VALUES 10000

/* Is this node an object with a member "sweep", or with "range" alone? */
bool lh_is_sweep(const cJSON *node);

/* The values as an array, which the caller owns. A sweep lists them. A range has "from", "to"
 * (inclusive) and either "factor" > 1 or "step" > 0; "from" and "to" are numbers, or quantities of
 * one unit ("100Mbps" to "10Gbps"), whose values are written in the prefix that reads best.
 * LH_EINVAL for anything else. */
lh_status lh_sweep_values(lh_json sweep, cJSON **values);

#endif
