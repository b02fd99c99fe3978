/* reading.c -- quantities as they stand in a network or a fabric. */
#include <math.h>

#include "sim/platform/topology.h"

static lh_status above_zero(lh_json node, double rate_Bps)
{
  if (!(rate_Bps > 0))
    return lh_json_fail(node, "found \"%s\", allowed: a rate above zero", node.node->valuestring);
  return LH_OK;
}

lh_status lh_rate_read(lh_json node, double *rate_Bps)
{
  LH_TRY(lh_json_quantity(node, LH_UNIT_BYTES_PER_S, rate_Bps));
  return above_zero(node, *rate_Bps);
}

lh_status lh_rate_read_or(lh_json node, double fallback_Bps, double *rate_Bps)
{
  *rate_Bps = fallback_Bps;
  return lh_json_present(node) ? lh_rate_read(node, rate_Bps) : LH_OK;
}

lh_status lh_duplex_read(lh_json object, bool *half_duplex)
{
  static const char *const names[] = {"full", "half", NULL};
  size_t choice;
  LH_TRY(lh_json_choice_or(lh_json_get(object, "duplex"), names, 0, &choice));
  *half_duplex = choice == 1;
  return LH_OK;
}

lh_status lh_cable_kind_read(lh_json object, lh_cable_kind *kind)
{
  LH_TRY(lh_rate_read(lh_json_get(object, "bandwidth"), &kind->forth_Bps));
  kind->back_Bps = kind->forth_Bps;
  LH_TRY(lh_json_quantity_or(lh_json_get(object, "latency"), LH_UNIT_S, 0, &kind->latency_s));
  return lh_duplex_read(object, &kind->half_duplex);
}

lh_status lh_node_cable_kind_read(lh_json object, lh_cable_kind *kind)
{
  const lh_json up = lh_json_get(object, "bandwidth_up"),
                down = lh_json_get(object, "bandwidth_down"),
                both = lh_json_get(object, "bandwidth");
  /* "bandwidth" stands in for the direction that is not given. */
  if (lh_json_present(both) || !lh_json_present(up) || !lh_json_present(down)) {
    LH_TRY(lh_cable_kind_read(object, kind));
  } else {
    LH_TRY(lh_json_quantity_or(lh_json_get(object, "latency"), LH_UNIT_S, 0, &kind->latency_s));
    LH_TRY(lh_duplex_read(object, &kind->half_duplex));
  }
  LH_TRY(lh_rate_read_or(up, kind->forth_Bps, &kind->forth_Bps));
  LH_TRY(lh_rate_read_or(down, kind->back_Bps, &kind->back_Bps));
  if (kind->half_duplex && (lh_json_present(up) || lh_json_present(down)))
    return lh_json_fail(lh_json_get(object, "duplex"),
                        "found \"half\" beside bandwidth_up or bandwidth_down, allowed: one "
                        "bandwidth for both directions, or \"full\"");
  return LH_OK;
}

lh_status lh_sizes_read(lh_json node, size_t low, size_t high, size_t n, size_t *values)
{
  if (!cJSON_IsArray(node.node)) {
    size_t value;
    LH_TRY(lh_json_size_value(node, low, high, &value));
    for (size_t i = 0; i < n; i++)
      values[i] = value;
    return LH_OK;
  }
  if (lh_json_size(node) != n)
    return lh_json_fail(node, "found a list of %zu, allowed: one whole number, or a list of %zu",
                        lh_json_size(node), n);
  for (size_t i = 0; i < n; i++)
    LH_TRY(lh_json_size_value(lh_json_at(node, i), low, high, &values[i]));
  return LH_OK;
}

const char *lh_rate_text(double rate_Bps, char *buffer, size_t size)
{
  char bits[64], bytes[64];
  snprintf(buffer, size, "%s (%s)", lh_format_bits_per_s(bits, sizeof bits, rate_Bps),
           lh_format_bytes_per_s(bytes, sizeof bytes, rate_Bps));
  return buffer;
}
