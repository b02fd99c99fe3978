/* faults.c -- nodes that are down and links that are slower for a while: read and checked here,
 * applied by the engine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/platform/parts.h"
#include "sim/platform/topology.h"

static lh_status period_read(lh_json node, lh_fault *fault)
{
  const lh_json from = lh_json_get(node, "from"), to = lh_json_get(node, "to");
  LH_TRY(lh_json_quantity(from, LH_UNIT_S, &fault->from_s));
  fault->to_s = INFINITY;
  if (!lh_json_present(to))
    return LH_OK;
  LH_TRY(lh_json_quantity(to, LH_UNIT_S, &fault->to_s));
  if (!(fault->to_s > fault->from_s))
    return lh_json_fail(to, "found \"%s\", allowed: later than from, which is \"%s\"",
                        to.node->valuestring, from.node->valuestring);
  return LH_OK;
}

static lh_status link_find(const lh_platform *platform, lh_json node, size_t *index)
{
  const char *name;
  LH_TRY(lh_json_string(node, &name));
  for (size_t i = 0; i < platform->links; i++)
    if (strcmp(platform->link[i].name, name) == 0) {
      *index = i;
      return LH_OK;
    }
  const char **names = calloc(platform->links + 1, sizeof *names);
  if (!names)
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu names", platform->links);
  for (size_t i = 0; i < platform->links; i++)
    names[i] = platform->link[i].name;
  const char *nearest = lh_nearest(name, names);
  free(names);
  return lh_json_fail(node, "found \"%s\", allowed: the name of a link, such as \"%s\"%s%s%s", name,
                      platform->links ? platform->link[0].name : "(there are none)",
                      nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                      nearest ? "\"?" : "");
}

static lh_status fault_read(const lh_platform *platform, lh_json node, lh_fault *fault)
{
  static const char *const node_keys[] = {"node", "from", "to", NULL};
  static const char *const link_keys[] = {"link", "from", "to", "bandwidth", NULL};
  static const char *const either[] = {"node", "link", "from", "to", "bandwidth", NULL};
  const lh_json link = lh_json_get(node, "link");
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(lh_json_check_keys(node, either));
  if (lh_json_present(link)) {
    LH_TRY(lh_json_check_keys(node, link_keys));
    fault->kind = LH_FAULT_LINK_BANDWIDTH;
    LH_TRY(link_find(platform, link, &fault->index));
    LH_TRY(lh_rate_read(lh_json_get(node, "bandwidth"), &fault->bandwidth_Bps));
  } else {
    LH_TRY(lh_json_check_keys(node, node_keys));
    fault->kind = LH_FAULT_NODE_DOWN;
    LH_TRY(lh_json_size_value(lh_json_get(node, "node"), 0, platform->nodes - 1, &fault->index));
  }
  return period_read(node, fault);
}

lh_status lh_faults_read(lh_platform *platform, lh_json node)
{
  if (!lh_json_present(node))
    return LH_OK;
  LH_TRY(lh_json_expect_array(node));
  const size_t n = lh_json_size(node);
  if (n == 0)
    return LH_OK;
  if (!(platform->fault = calloc(n, sizeof *platform->fault)))
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu faults", n);
  platform->faults = n;
  for (size_t i = 0; i < n; i++)
    LH_TRY(fault_read(platform, lh_json_at(node, i), &platform->fault[i]));
  return LH_OK;
}
