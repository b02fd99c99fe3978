#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"

struct operation {
  const char *name;
  bool counts_flop;
};

#define OPERATION_ROW(name, text, compute) {text, compute},
static const struct operation operations[LH_OPERATION_COUNT] = {LH_OPERATION_MAP(OPERATION_ROW)};

const char *lh_operation_name(lh_operation operation)
{
  return operations[operation].name;
}

bool lh_operation_counts_flop(lh_operation operation)
{
  return operations[operation].counts_flop;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static void curve_close(struct lh_cost_curve *curve)
{
  gsl_interp_free(curve->interpolation);
  gsl_interp_accel_free(curve->accel);
  free(curve->log_size);
  *curve = (struct lh_cost_curve){0};
}

static lh_status curve_open(const lh_efficiency_curve *from, struct lh_cost_curve *curve)
{
  *curve = (struct lh_cost_curve){.efficiency = from->efficiency, .points = from->points};
  curve->log_size = malloc(from->points * sizeof *curve->log_size);
  if (!curve->log_size)
    return lh_fail(LH_ENOMEM, "no memory for the curve of %s", from->operation);
  for (size_t i = 0; i < from->points; i++)
    curve->log_size[i] = log(from->size[i]);
  if (from->points < 2) /* a constant; GSL wants two points */
    return LH_OK;
  curve->interpolation = gsl_interp_alloc(gsl_interp_linear, from->points);
  curve->accel = gsl_interp_accel_alloc();
  if (!curve->interpolation || !curve->accel ||
      gsl_interp_init(curve->interpolation, curve->log_size, curve->efficiency, from->points) !=
          GSL_SUCCESS) {
    curve_close(curve);
    return lh_fail(LH_EINTERNAL, "the curve of %s can't be interpolated", from->operation);
  }
  return LH_OK;
}

static double curve_at(const struct lh_cost_curve *curve, double size)
{
  const size_t last = curve->points - 1;
  const double x = size > 0 ? log(size) : -INFINITY;
  if (x <= curve->log_size[0])
    return curve->efficiency[0];
  if (x >= curve->log_size[last])
    return curve->efficiency[last];
  return gsl_interp_eval(curve->interpolation, curve->log_size, curve->efficiency, x, curve->accel);
}

/* ---- costs ----------------------------------------------------------------------------------- */

void lh_cost_close(lh_cost *cost)
{
  for (int i = 0; i < LH_OPERATION_COUNT; i++)
    curve_close(&cost->curve[i]);
}

lh_status lh_cost_open(const lh_device_profile *profile, lh_cost *cost)
{
  *cost = (lh_cost){
      .launch_overhead_s = profile->launch_overhead_s,
      .seconds_per_byte = 1.0 / profile->memory_bandwidth_Bps,
      .compute_efficiency = profile->compute_efficiency,
      .memory_efficiency = profile->memory_efficiency,
  };
  for (int d = 0; d < LH_DTYPE_COUNT; d++) {
    const double peak = profile->peak_flop_per_s[d];
    cost->seconds_per_flop[d] = 1.0 / (peak > 0 ? peak : profile->peak_flop_per_s[LH_F32]);
  }
  for (size_t c = 0; c < profile->curves; c++)
    for (int i = 0; i < LH_OPERATION_COUNT; i++)
      if (strcmp(profile->curve[c].operation, operations[i].name) == 0)
        LH_TRY(curve_open(&profile->curve[c], &cost->curve[i]));
  return LH_OK;
}

double lh_cost_seconds(const lh_cost *cost, lh_operation operation, lh_dtype dtype, double flop,
                       double bytes)
{
  double compute = cost->compute_efficiency, memory = cost->memory_efficiency;
  const struct lh_cost_curve *curve = &cost->curve[operation];
  if (curve->log_size) {
    if (operations[operation].counts_flop)
      compute = curve_at(curve, flop);
    else
      memory = curve_at(curve, bytes);
  }
  const double compute_s = flop * cost->seconds_per_flop[dtype] / compute;
  const double memory_s = bytes * cost->seconds_per_byte / memory;
  return cost->launch_overhead_s + (compute_s > memory_s ? compute_s : memory_s);
}

double lh_device_profile_seconds(const lh_device_profile *profile, const char *operation,
                                 lh_dtype dtype, double flop, double bytes)
{
  lh_cost cost;
  double seconds = NAN;
  if (lh_cost_open(profile, &cost) == LH_OK)
    for (int i = 0; i < LH_OPERATION_COUNT; i++)
      if (strcmp(operation, operations[i].name) == 0)
        seconds = lh_cost_seconds(&cost, (lh_operation)i, dtype, flop, bytes);
  lh_cost_close(&cost);
  return seconds;
}
