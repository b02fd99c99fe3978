#include "sim/runner/row.h"

#include <math.h>

/* What the ranks spent, as the row reports it. */
typedef struct totals {
  double wall_clock_s;
  double compute_s, exposed_s, hidden_s, straggler_s; /* means over ranks */
  double inter_bytes, intra_bytes, inter_bytes_max;   /* of the whole run */
  double peak_memory_bytes;                           /* largest rank */
  const lh_device *largest;                           /* the first with that peak */
} totals;

static totals sum_up(const lh_row_inputs *in)
{
  totals t = {0};
  const size_t ranks = in->platform->ranks;
  for (size_t i = 0; i < ranks; i++) {
    lh_rank *rank = lh_cluster_rank(in->cluster, i);
    const lh_rank_statistics s = lh_rank_statistics_of(rank);
    t.wall_clock_s = fmax(t.wall_clock_s, lh_rank_end_s(rank));
    t.compute_s += s.compute_s / (double)ranks;
    t.exposed_s += s.exposed_communication_s / (double)ranks;
    t.hidden_s += fmax(0.0, s.communication_s - s.exposed_communication_s) / (double)ranks;
    t.straggler_s += s.straggler_wait_s / (double)ranks;
    t.inter_bytes += s.inter_node_bytes / (double)ranks;
    t.intra_bytes += s.intra_node_bytes / (double)ranks;
    t.inter_bytes_max = fmax(t.inter_bytes_max, s.inter_node_bytes);
    const double peak_bytes = (double)lh_device_peak_bytes(lh_rank_device(rank));
    if (peak_bytes > t.peak_memory_bytes) {
      t.peak_memory_bytes = peak_bytes;
      t.largest = lh_rank_device(rank);
    }
  }
  return t;
}

/* JSON has no NaN: what is not known is null. */
static void add_number(cJSON *object, const char *name, double value)
{
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

static const char *status_text(const lh_row_inputs *in)
{
  if (in->status == LH_EDEVICEMEM)
    return "out-of-memory";
  return lh_run_diverged(in->run) ? "diverged" : "done";
}

static void add_identity(cJSON *row, const lh_row_inputs *in)
{
  cJSON_AddStringToObject(row, "scenario", in->scenario);
  cJSON_AddStringToObject(row, "method", in->method->name);
  cJSON_AddStringToObject(row, "platform", in->platform->name);
  add_number(row, "nodes", (double)in->platform->nodes);
  add_number(row, "ranks", (double)in->platform->ranks);
  cJSON_AddStringToObject(row, "workload", in->workload->name);
  add_number(row, "seed", (double)in->settings->run.seed);
  cJSON_AddStringToObject(row, "mode", in->settings->run.train ? "train" : "cost");
  cJSON_AddStringToObject(row, "flow_model", lh_flow_model_names[in->settings->flow_model]);
  cJSON_AddStringToObject(row, "collective_timing",
                          lh_timing_names[in->settings->collectives.timing]);
  cJSON_AddStringToObject(row, "status", status_text(in));
}

/* Of the rank with the largest peak: what it held then, by owner. */
static void add_memory(cJSON *row, const totals *t)
{
  add_number(row, "peak_memory_bytes", t->peak_memory_bytes);
  cJSON *owners = cJSON_AddObjectToObject(row, "peak_memory_by_owner_bytes");
  for (size_t i = 0; t->largest && i < lh_device_owners(t->largest); i++) {
    size_t bytes;
    const char *name = lh_device_owner_at_peak(t->largest, i, &bytes);
    if (bytes)
      add_number(owners, name, (double)bytes);
  }
}

static void add_times(cJSON *row, const lh_row_inputs *in, const totals *t)
{
  const double steps = (double)lh_run_steps_done(in->run);
  const double per_step = steps > 0 ? steps : NAN;
  const lh_device_profile *device = &in->platform->device;
  const double ranks = (double)in->platform->ranks;
  add_number(row, "steps", steps);
  add_number(row, "tokens", lh_run_tokens(in->run));
  add_number(row, "wall_clock_s", t->wall_clock_s);
  add_number(row, "step_s", t->wall_clock_s / per_step);
  add_number(row, "compute_s", t->compute_s);
  add_number(row, "exposed_communication_s", t->exposed_s);
  add_number(row, "hidden_communication_s", t->hidden_s);
  add_number(row, "straggler_wait_s", t->straggler_s);
  add_number(row, "utilisation", t->wall_clock_s > 0 ? t->compute_s / t->wall_clock_s : NAN);
  add_number(row, "inter_node_bytes_per_step", t->inter_bytes / per_step);
  add_number(row, "intra_node_bytes_per_step", t->intra_bytes / per_step);
  add_number(row, "inter_node_bytes_per_step_max", t->inter_bytes_max / per_step);
  add_memory(row, t);
  add_number(row, "energy_joule", device->power_watt * ranks * t->wall_clock_s);
  add_number(row, "price_usd", device->price_usd_per_s * ranks * t->wall_clock_s);
}

static void add_losses(cJSON *row, const lh_row_inputs *in)
{
  size_t points;
  const lh_curve_point *curve = lh_run_curve(in->run, &points);
  double best = NAN, validation = NAN, accuracy = NAN;
  for (size_t i = 0; i < points; i++) {
    best = fmin(best, curve[i].train_loss); /* fmin ignores a NAN */
    if (isnan(curve[i].validation_loss))
      continue;
    validation = curve[i].validation_loss;
    accuracy = curve[i].validation_accuracy;
  }
  add_number(row, "final_loss", points ? curve[points - 1].train_loss : NAN);
  add_number(row, "best_loss", best);
  add_number(row, "validation_loss", validation);
  add_number(row, "validation_accuracy", accuracy);
  add_number(row, "seconds_to_target", lh_run_seconds_to_target(in->run));
  add_number(row, "replica_spread", lh_run_replica_spread(in->run));
}

static cJSON *make_curve(const lh_run *run)
{
  size_t points;
  const lh_curve_point *point = lh_run_curve(run, &points);
  cJSON *curve = cJSON_CreateArray();
  for (size_t i = 0; i < points; i++, point++) {
    cJSON *item = cJSON_CreateObject();
    add_number(item, "step", (double)point->step);
    add_number(item, "tokens", point->tokens);
    add_number(item, "virtual_s", point->virtual_s);
    add_number(item, "train_loss", point->train_loss);
    add_number(item, "validation_loss", point->validation_loss);
    add_number(item, "inter_node_bytes", point->inter_node_bytes);
    cJSON_AddItemToArray(curve, item);
  }
  return curve;
}

static lh_status check_sense(const lh_row_inputs *in, const totals *t)
{
  if (in->status == LH_OK && t->wall_clock_s <= 0 && t->inter_bytes + t->intra_bytes > 0)
    return lh_fail(LH_EINTERNAL, "%.0f bytes were sent in no time",
                   t->inter_bytes + t->intra_bytes);
  if (in->status == LH_OK && lh_run_steps_done(in->run) == 0)
    return lh_fail(LH_EINTERNAL, "the run ended without a complete step");
  return LH_OK;
}

lh_status lh_row_make(const lh_row_inputs *in, cJSON **row, cJSON **curve)
{
  const totals t = in->cluster ? sum_up(in) : (totals){0};
  LH_TRY(check_sense(in, &t));
  *row = cJSON_CreateObject();
  add_identity(*row, in);
  add_times(*row, in, &t);
  add_losses(*row, in);
  if (in->reason)
    cJSON_AddStringToObject(*row, "reason", in->reason);
  *curve = make_curve(in->run);
  return *row && *curve ? LH_OK : lh_fail(LH_ENOMEM, "no memory for the result row");
}
