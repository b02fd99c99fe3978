/* topology.c -- the table of topologies, and what "network" says whatever the topology. */
#include "sim/platform/topology.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

const lh_topology *const lh_topologies[] = {&lh_star,     &lh_full_mesh, &lh_ring,
                                            &lh_fat_tree, &lh_torus,     &lh_dragonfly,
                                            &lh_regions,  &lh_custom,    NULL};

static const char *const common_keys[] = {
    "topology", "flow_cap", "call_overhead", "message_overhead", "in_network_reduction", NULL};

#define MAX_TOPOLOGIES 16
#define MAX_KEYS 32

static lh_status find(lh_json node, const lh_topology **topology)
{
  const char *names[MAX_TOPOLOGIES + 1] = {0};
  for (size_t i = 0; lh_topologies[i]; i++)
    names[i] = lh_topologies[i]->name;
  size_t choice;
  LH_TRY(lh_json_choice(node, names, &choice));
  *topology = lh_topologies[choice];
  return LH_OK;
}

static lh_status check_keys(lh_json network, const lh_topology *topology)
{
  const char *keys[MAX_KEYS + 1];
  size_t n = 0;
  for (const char *const *key = common_keys; *key; key++)
    keys[n++] = *key;
  for (const char *const *key = topology->keys; *key; key++) {
    assert(n < MAX_KEYS);
    keys[n++] = *key;
  }
  keys[n] = NULL;
  return lh_json_check_keys(network, keys);
}

lh_status lh_network_read(lh_platform *platform, lh_json network)
{
  LH_TRY(lh_json_expect_object(network));
  const lh_topology *topology;
  LH_TRY(find(lh_json_get(network, "topology"), &topology));
  LH_TRY(check_keys(network, topology));
  LH_TRY(lh_rate_read_or(lh_json_get(network, "flow_cap"), INFINITY, &platform->network_cap_Bps));
  LH_TRY(lh_json_quantity_or(lh_json_get(network, "call_overhead"), LH_UNIT_S, 0,
                             &platform->call_overhead_s));
  LH_TRY(lh_json_quantity_or(lh_json_get(network, "message_overhead"), LH_UNIT_S, 0,
                             &platform->message_overhead_s));
  LH_TRY(lh_json_bool_or(lh_json_get(network, "in_network_reduction"), false,
                         &platform->network_reduces));
  platform->network = topology;
  platform->topology = lh_string_copy(topology->name);
  if (!platform->topology)
    return lh_fail(LH_ENOMEM, "platform: no memory");
  return topology->build(platform, network, &platform->shape);
}
