/* platform.c -- a platform file from top to bottom, and the way from rank to rank. */
#include "sim/platform/platform.h"

#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "sim/platform/fabric.h"
#include "sim/platform/parts.h"
#include "sim/platform/source.h"

static const char *const keys[] = {"schema",     "file",       "name",
                                   "title",      "nodes",      "device",
                                   "node_speed", "network",    "accelerators_per_node",
                                   "fabric",     "interfaces", "placement",
                                   "variation",  "faults",     "source",
                                   NULL};

/* The regions may say how many nodes there are: then "nodes" may be missing. */
static lh_status nodes_read(lh_platform *platform, lh_json root)
{
  const lh_json node = lh_json_get(root, "nodes"),
                regions = lh_json_get(lh_json_get(root, "network"), "regions");
  if (lh_json_present(node) || !cJSON_IsArray(regions.node))
    return lh_json_size_value(node, 1, LH_MAX_NODES, &platform->nodes);
  for (size_t i = 0; i < lh_json_size(regions); i++) {
    size_t n;
    LH_TRY(lh_json_size_or(lh_json_get(lh_json_at(regions, i), "nodes"), 1, LH_MAX_NODES, 1, &n));
    platform->nodes += n;
  }
  if (platform->nodes < 1 || platform->nodes > LH_MAX_NODES)
    return lh_json_fail(regions, "found %zu nodes in all, allowed: 1 to %d", platform->nodes,
                        LH_MAX_NODES);
  return LH_OK;
}

static lh_status size_read(lh_platform *platform, lh_json root)
{
  LH_TRY(nodes_read(platform, root));
  LH_TRY(lh_json_size_or(lh_json_get(root, "accelerators_per_node"), 1, LH_MAX_ACCELERATORS, 1,
                         &platform->accelerators_per_node));
  platform->ranks = platform->nodes * platform->accelerators_per_node;
  return LH_OK;
}

static lh_status name_read(lh_platform *platform, lh_json root)
{
  const char *name;
  LH_TRY(lh_json_string_or(lh_json_get(root, "name"), "unnamed", &name));
  platform->name = lh_string_copy(name);
  return platform->name ? LH_OK : lh_fail(LH_ENOMEM, "platform: no memory");
}

static lh_status networks_read(lh_platform *platform, lh_json root)
{
  const lh_json network = lh_json_get(root, "network"), fabric = lh_json_get(root, "fabric"),
                interfaces = lh_json_get(root, "interfaces");
  platform->interfaces = calloc(1, sizeof *platform->interfaces);
  if (!platform->interfaces)
    return lh_fail(LH_ENOMEM, "platform: no memory");
  LH_TRY(lh_interfaces_read(interfaces, platform->accelerators_per_node, platform->interfaces));
  if (lh_json_present(network)) {
    LH_TRY(lh_network_read(platform, network));
  } else {
    if (platform->nodes > 1)
      return lh_json_fail(network,
                          "absent, allowed: the network between %zu nodes, such as "
                          "{\"topology\": \"star\", \"bandwidth\": \"10Gbps\", "
                          "\"latency\": \"10us\"}",
                          platform->nodes);
    if (!(platform->topology = lh_string_copy("none")))
      return lh_fail(LH_ENOMEM, "platform: no memory");
  }
  if (!lh_json_present(fabric)) {
    if (platform->accelerators_per_node > 1)
      return lh_json_fail(fabric,
                          "absent, allowed: what joins the %zu accelerators of a node, "
                          "such as {\"kind\": \"switch\", \"bandwidth\": \"300GB/s\", "
                          "\"latency\": \"1us\"}",
                          platform->accelerators_per_node);
  } else {
    if (!(platform->fabric = calloc(1, sizeof *platform->fabric)))
      return lh_fail(LH_ENOMEM, "platform: no memory");
    LH_TRY(lh_fabric_read(platform, fabric, platform->fabric));
  }
  if (platform->interfaces->through_fabric &&
      !(platform->fabric && platform->fabric->has_own_links))
    return lh_json_fail(lh_json_get(interfaces, "through_fabric"),
                        "found true, allowed: false, unless the fabric is a \"switch\" or "
                        "\"pairs\"");
  return LH_OK;
}

static lh_status variations_read(lh_platform *platform, lh_json node)
{
  static const char *const allowed[] = {"compute", "latency", NULL};
  if (!lh_json_present(node))
    return LH_OK;
  LH_TRY(lh_json_check_keys(node, allowed));
  LH_TRY(lh_variation_read(lh_json_get(node, "compute"), &platform->compute_variation));
  return lh_variation_read(lh_json_get(node, "latency"), &platform->latency_variation);
}

static lh_status read_complete(lh_json root, const char *device_folder, lh_platform *platform)
{
  LH_TRY(lh_json_expect_object(root));
  LH_TRY(lh_json_check_schema(root, "platform"));
  LH_TRY(lh_json_check_keys(root, keys));
  LH_TRY(name_read(platform, root));
  LH_TRY(size_read(platform, root));
  LH_TRY(lh_placement_read(platform, lh_json_get(root, "placement")));
  LH_TRY(networks_read(platform, root));
  LH_TRY(lh_node_speed_read(platform, lh_json_get(root, "node_speed")));
  LH_TRY(variations_read(platform, lh_json_get(root, "variation")));
  LH_TRY(lh_faults_read(platform, lh_json_get(root, "faults")));
  return lh_platform_device_read(platform, lh_json_get(root, "device"), device_folder);
}

lh_status lh_platform_read(lh_json node, const char *device_folder, lh_platform **platform)
{
  *platform = NULL;
  lh_json_document *document = NULL;
  LH_TRY(lh_json_expect_object(node));
  LH_TRY(lh_platform_source(node, device_folder, &document));
  lh_platform *made = calloc(1, sizeof *made);
  lh_status status = LH_OK;
  if (made) {
    made->network_cap_Bps = INFINITY;
    status = read_complete(document ? lh_json_root(document) : node, device_folder, made);
  } else {
    status = lh_fail(LH_ENOMEM, "platform: no memory");
  }
  lh_json_document_free(document);
  if (status == LH_OK)
    *platform = made;
  else
    lh_platform_free(made);
  return status;
}

void lh_platform_free(lh_platform *platform)
{
  if (!platform)
    return;
  if (platform->network)
    platform->network->free(platform->shape);
  for (size_t i = 0; i < platform->links; i++)
    free(platform->link[i].name);
  free(platform->link);
  free(platform->fabric);
  free(platform->interfaces);
  free(platform->node_of_rank);
  free(platform->slot_of_rank);
  free(platform->node_speed);
  free(platform->fault);
  free(platform->name);
  free(platform->topology);
  lh_device_profile_fini(&platform->device);
  free(platform);
}

/* Between nodes: the source's port, the topology's way, the destination's port. */
static void route_between_nodes(const lh_platform *platform, size_t src_rank, size_t dst_rank,
                                lh_route *route)
{
  const lh_interfaces *interfaces = platform->interfaces;
  const size_t src_slot = platform->slot_of_rank[src_rank],
               dst_slot = platform->slot_of_rank[dst_rank];
  const lh_port src = {platform->node_of_rank[src_rank], interfaces->port_of_slot[src_slot]},
                dst = {platform->node_of_rank[dst_rank], interfaces->port_of_slot[dst_slot]};
  route->cap_Bps = platform->network_cap_Bps;
  if (interfaces->through_fabric)
    lh_fabric_push_out(platform, src.node, src_slot, route);
  platform->network->route(platform, src, dst, route);
  if (interfaces->through_fabric)
    lh_fabric_push_in(platform, dst.node, dst_slot, route);
}

lh_status lh_platform_route(const lh_platform *platform, size_t src_rank, size_t dst_rank,
                            lh_route *route)
{
  if (src_rank >= platform->ranks || dst_rank >= platform->ranks || src_rank == dst_rank)
    return lh_fail(LH_EINVAL,
                   "platform %s: no route from rank %zu to rank %zu, allowed: two "
                   "different ranks of 0..%zu",
                   platform->name, src_rank, dst_rank, platform->ranks - 1);
  route->links = 0;
  route->latency_s = 0;
  const size_t node = platform->node_of_rank[src_rank];
  if (node != platform->node_of_rank[dst_rank]) {
    route_between_nodes(platform, src_rank, dst_rank, route);
  } else {
    route->cap_Bps = platform->fabric->cap_Bps;
    lh_fabric_route(platform, node, platform->slot_of_rank[src_rank],
                    platform->slot_of_rank[dst_rank], route);
  }
  return LH_OK;
}

bool lh_platform_same_node(const lh_platform *platform, size_t rank_a, size_t rank_b)
{
  return platform->node_of_rank[rank_a] == platform->node_of_rank[rank_b];
}
