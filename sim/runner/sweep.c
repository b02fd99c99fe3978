#include "sim/runner/sweep.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool lh_is_sweep(const cJSON *node)
{
  if (!cJSON_IsObject(node) || !node->child)
    return false;
  if (cJSON_GetObjectItemCaseSensitive(node, "sweep"))
    return true;
  return !node->child->next && strcmp(node->child->string, "range") == 0;
}

/* ---- quantities in ranges -------------------------------------------------------------------- */

/* Units that follow each other by one factor, so that 1000Mbps is written 1Gbps. */
static const struct chain {
  double factor;
  const char *unit[8];
} chains[] = {
    {1e3, {"bps", "kbps", "Mbps", "Gbps", "Tbps", "Pbps"}},
    {1e3, {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s"}},
    {1e3, {"Bps", "kBps", "MBps", "GBps", "TBps", "PBps"}},
    {1e3, {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"}},
    {1024, {"KiB/s", "MiB/s", "GiB/s", "TiB/s"}},
    {1e3, {"B", "kB", "MB", "GB", "TB", "PB"}},
    {1024, {"KiB", "MiB", "GiB", "TiB"}},
    {1e3, {"ns", "us", "ms", "s"}},
    {1e3, {"FLOPS", "kFLOPS", "MFLOPS", "GFLOPS", "TFLOPS", "PFLOPS"}},
    {1e3, {"flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s", "Pflop/s"}},
    {1e3, {"W", "kW", "MW"}},
};

struct quantity {
  double value;              /* in the first unit of the chain */
  const struct chain *chain; /* NULL: a bare number */
};

static lh_status read_quantity(lh_json node, struct quantity *out)
{
  *out = (struct quantity){0};
  if (cJSON_IsNumber(node.node))
    return lh_json_double(node, -INFINITY, INFINITY, &out->value);
  const char *text = "";
  LH_TRY(lh_json_string(node, &text));
  char *unit;
  out->value = strtod(text, &unit);
  while (isspace((unsigned char)*unit))
    unit++;
  for (size_t i = 0; unit != text && i < sizeof chains / sizeof *chains; i++) {
    double times = 1;
    for (const char *const *u = chains[i].unit; *u; u++, times *= chains[i].factor)
      if (strcmp(unit, *u) == 0) {
        out->value *= times;
        out->chain = &chains[i];
        return LH_OK;
      }
  }
  return lh_json_fail(node, "found \"%s\", allowed: a number, or a quantity such as \"100Mbps\"",
                      text);
}

/* Sums and products of decimal fractions end in noise (0.30000000000000004); 12 digits are more
 * than anyone writes. */
static double without_noise(double value)
{
  char text[32];
  snprintf(text, sizeof text, "%.12g", value);
  return strtod(text, NULL);
}

static cJSON *written(double value, const struct chain *chain)
{
  if (!chain)
    return cJSON_CreateNumber(without_noise(value));
  size_t i = 0;
  while (chain->unit[i + 1] && value >= chain->factor * (1 - 1e-12)) {
    value /= chain->factor;
    i++;
  }
  char number[40], text[64];
  lh_format_number(number, sizeof number, without_noise(value));
  snprintf(text, sizeof text, "%s%s", number, chain->unit[i]);
  return cJSON_CreateString(text);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static lh_status read_stride(lh_json range, const struct chain *chain, double *factor, double *step)
{
  const lh_json given_factor = lh_json_get(range, "factor"),
                given_step = lh_json_get(range, "step");
  *factor = 1;
  *step = 0;
  if (lh_json_present(given_factor) == lh_json_present(given_step))
    return lh_json_fail(range, "found %s of \"factor\" and \"step\", allowed: one",
                        lh_json_present(given_step) ? "both" : "neither");
  if (lh_json_present(given_factor)) {
    LH_TRY(lh_json_double(given_factor, 0, INFINITY, factor));
    return *factor > 1 ? LH_OK
                       : lh_json_fail(given_factor, "found %g, allowed: more than 1", *factor);
  }
  struct quantity q;
  LH_TRY(read_quantity(given_step, &q));
  *step = q.value;
  if (q.chain != chain)
    return lh_json_fail(given_step, "allowed: the unit of \"from\" and \"to\"");
  return *step > 0 ? LH_OK : lh_json_fail(given_step, "found %g, allowed: more than 0", *step);
}

static lh_status range_values(lh_json range, cJSON **values)
{
  static const char *const keys[] = {"from", "to", "factor", "step", NULL};
  struct quantity from, to;
  double factor, step;
  LH_TRY(lh_json_check_keys(range, keys));
  LH_TRY(read_quantity(lh_json_get(range, "from"), &from));
  LH_TRY(read_quantity(lh_json_get(range, "to"), &to));
  if (from.chain != to.chain)
    return lh_json_fail(lh_json_get(range, "to"), "allowed: the kind of unit that \"from\" has");
  LH_TRY(read_stride(range, from.chain, &factor, &step));
  if (to.value < from.value || (factor > 1 && from.value <= 0))
    return lh_json_fail(range, "found from %g to %g, allowed: ascending%s", from.value, to.value,
                        factor > 1 ? ", from more than 0" : "");
  const double end = to.value + 1e-9 * fabs(to.value);
  *values = cJSON_CreateArray();
  double value = from.value;
  for (size_t i = 0; value <= end; i++) {
    if (i == LH_SWEEP_MOST_VALUES) {
      cJSON_Delete(*values);
      return lh_json_fail(range, "more than %d values", LH_SWEEP_MOST_VALUES);
    }
    cJSON_AddItemToArray(*values, written(value, from.chain));
    value = factor > 1 ? value * factor : from.value + (double)(i + 1) * step;
  }
  return LH_OK;
}

lh_status lh_sweep_values(lh_json sweep, cJSON **values)
{
  static const char *const keys[] = {"sweep", "range", NULL};
  *values = NULL;
  LH_TRY(lh_json_check_keys(sweep, keys));
  const lh_json list = lh_json_get(sweep, "sweep"), range = lh_json_get(sweep, "range");
  if (lh_json_present(list) && lh_json_present(range))
    return lh_json_fail(sweep, "found both \"sweep\" and \"range\", allowed: one");
  if (lh_json_present(range))
    return range_values(range, values);
  LH_TRY(lh_json_expect_array(list));
  if (!lh_json_size(list))
    return lh_json_fail(list, "found an empty list, allowed: one value or more");
  *values = cJSON_Duplicate(list.node, 1);
  return *values ? LH_OK : lh_fail(LH_ENOMEM, "%s: no memory for a sweep", lh_json_file(sweep));
}
