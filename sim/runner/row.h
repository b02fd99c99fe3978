/* row.h -- the result row and the curve of a scenario (design, section 7). */
#ifndef LH_SIM_ROW_H
#define LH_SIM_ROW_H

#include <cjson/cJSON.h>

#include "sim/cluster/cluster.h"
#include "sim/methods/method.h"
#include "sim/runner/settings.h"

typedef struct lh_row_inputs {
  const char *scenario; /* its name, may be "" */
  const lh_platform *platform;
  const lh_workload *workload;
  const lh_method *method;
  const lh_settings *settings;
  lh_cluster *cluster; /* NULL when it could not be opened */
  const lh_run *run;
  lh_status status;   /* LH_OK or LH_EDEVICEMEM */
  const char *reason; /* of a status that is not LH_OK */
} lh_row_inputs;

/* *row and *curve are the caller's. LH_EINTERNAL for a result that contradicts itself. */
lh_status lh_row_make(const lh_row_inputs *inputs, cJSON **row, cJSON **curve);

#endif
