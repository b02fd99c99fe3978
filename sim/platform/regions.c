/* regions.c -- groups of nodes: fast inside, thin and far between.
 *
 * Keys:
 *   "regions": ["use", "euw"] (nodes in equal blocks, earlier regions one more if need be), or
 *              [{"name": "use", "nodes": 2, and bandwidth, latency of its own}, ...] in order: the
 *              first nodes are in the first region;
 *   "bandwidth" ("bandwidth_up", "bandwidth_down"), "latency", "duplex": a node's cable to its
 *              region's switch, and so to the other regions too. May be missing where all regions
 *              have one node: then nothing is there, and a way is the link between regions alone;
 *   "between": [{"from", "to", "bandwidth", "bandwidth_back" (bandwidth), "latency" or "round_trip",
 *               "flow_cap", "one_way" (false)}, ...]: the link from one region to another and,
 *              unless one_way, the one back; all flows of that direction share it;
 *   "between_bandwidth", "between_latency" or "between_round_trip": for pairs that are not listed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/platform/topology.h"

#define MAX_REGIONS 128

typedef struct region {
  char *name;
  size_t nodes;
  bool has_cables;
  lh_cable_kind cable;
} region;

typedef struct crossing {
  bool present;
  size_t link;
  double cap_Bps;
} crossing;

struct regions {
  size_t n;
  region *region;         /* (n) */
  crossing *crossing;     /* (n * n) at [from][to] */
  size_t *region_of_node; /* (nodes) */
  lh_cable *node;         /* (nodes * ports), where the region has cables */
};

static const char *const keys[] = {
    "regions", "bandwidth",         "bandwidth_up",    "bandwidth_down",     "latency", "duplex",
    "between", "between_bandwidth", "between_latency", "between_round_trip", NULL};

/* ---- the regions and their nodes ------------------------------------------------------------- */

static bool states_cable(lh_json node)
{
  return lh_json_present(lh_json_get(node, "bandwidth")) ||
         lh_json_present(lh_json_get(node, "bandwidth_up")) ||
         lh_json_present(lh_json_get(node, "bandwidth_down"));
}

static lh_status cable_read(lh_json network, lh_json entry, region *region)
{
  if (cJSON_IsObject(entry.node) && states_cable(entry)) {
    region->has_cables = true;
    LH_TRY(lh_node_cable_kind_read(entry, &region->cable));
    if (lh_json_present(lh_json_get(entry, "latency")))
      return LH_OK;
    return lh_json_quantity_or(lh_json_get(network, "latency"), LH_UNIT_S, 0,
                               &region->cable.latency_s);
  }
  region->has_cables = states_cable(network);
  if (region->has_cables)
    return lh_node_cable_kind_read(network, &region->cable);
  const lh_json latency = lh_json_get(network, "latency");
  if (lh_json_present(latency))
    return lh_json_fail(latency, "found without a bandwidth, allowed: both, or neither");
  return LH_OK;
}

static lh_status region_read(lh_json network, lh_json entry, region *region)
{
  static const char *const region_keys[] = {"name",    "nodes",  "bandwidth",      "bandwidth_up",
                                            "latency", "duplex", "bandwidth_down", NULL};
  const bool named_only = cJSON_IsString(entry.node);
  const char *name;
  if (!named_only)
    LH_TRY(lh_json_check_keys(entry, region_keys));
  LH_TRY(lh_json_string(named_only ? entry : lh_json_get(entry, "name"), &name));
  if (!(region->name = lh_string_copy(name)))
    return lh_fail(LH_ENOMEM, "regions: no memory");
  LH_TRY(lh_json_size_or(lh_json_get(entry, "nodes"), 1, LH_MAX_NODES, 0, &region->nodes));
  return cable_read(network, entry, region);
}

/* All regions state their nodes, or none does and they get equal shares. */
static lh_status share_nodes(lh_json list, size_t nodes, struct regions *shape)
{
  size_t stated = 0, sum = 0;
  for (size_t i = 0; i < shape->n; i++) {
    stated += shape->region[i].nodes > 0;
    sum += shape->region[i].nodes;
  }
  if (stated != 0 && stated != shape->n)
    return lh_json_fail(list, "found nodes in %zu of %zu regions, allowed: in all or in none",
                        stated, shape->n);
  if (stated != 0 && sum != nodes)
    return lh_json_fail(list, "found %zu nodes in all regions, allowed: %zu, as nodes says", sum,
                        nodes);
  if (stated == 0 && nodes < shape->n)
    return lh_json_fail(list, "found %zu regions for %zu nodes, allowed: at most as many regions",
                        shape->n, nodes);
  for (size_t i = 0; stated == 0 && i < shape->n; i++)
    shape->region[i].nodes = nodes / shape->n + (i < nodes % shape->n);
  for (size_t i = 0; i < shape->n; i++)
    if (shape->region[i].nodes > 1 && !shape->region[i].has_cables)
      return lh_json_fail(lh_json_at(list, i),
                          "found %zu nodes in region %s and no bandwidth for their cables, "
                          "allowed: a bandwidth here or beside regions",
                          shape->region[i].nodes, shape->region[i].name);
  return LH_OK;
}

static lh_status regions_read(lh_json network, size_t nodes, struct regions *shape)
{
  const lh_json list = lh_json_get(network, "regions");
  LH_TRY(lh_json_expect_array(list));
  const size_t n = lh_json_size(list);
  if (n < 1 || n > MAX_REGIONS)
    return lh_json_fail(list, "found a list of %zu, allowed: 1 to %d regions", n, MAX_REGIONS);
  shape->region = calloc(n, sizeof *shape->region);
  shape->crossing = calloc(n * n, sizeof *shape->crossing);
  if (!shape->region || !shape->crossing)
    return lh_fail(LH_ENOMEM, "regions: no memory for %zu regions", n);
  shape->n = n;
  for (size_t i = 0; i < n; i++) {
    LH_TRY(region_read(network, lh_json_at(list, i), &shape->region[i]));
    for (size_t j = 0; j < i; j++)
      if (strcmp(shape->region[i].name, shape->region[j].name) == 0)
        return lh_json_fail(lh_json_at(list, i), "found region \"%s\" again, allowed: each once",
                            shape->region[i].name);
  }
  return share_nodes(list, nodes, shape);
}

/* ---- links between regions ------------------------------------------------------------------- */

static lh_status region_find(const struct regions *shape, lh_json node, size_t *index)
{
  const char *names[MAX_REGIONS + 1] = {0};
  for (size_t i = 0; i < shape->n; i++)
    names[i] = shape->region[i].name;
  return lh_json_choice(node, names, index);
}

/* A latency, or half of a round trip. */
static lh_status one_way_s(lh_json latency, lh_json round_trip, double *seconds)
{
  if (lh_json_present(latency) && lh_json_present(round_trip))
    return lh_json_fail(round_trip, "found beside a latency, allowed: one of the two");
  if (!lh_json_present(round_trip))
    return lh_json_quantity(latency, LH_UNIT_S, seconds);
  LH_TRY(lh_json_quantity(round_trip, LH_UNIT_S, seconds));
  *seconds /= 2;
  return LH_OK;
}

typedef struct crossing_kind {
  double bandwidth_Bps, latency_s, cap_Bps;
} crossing_kind;

static lh_status cross(lh_platform *platform, lh_json entry, size_t from, size_t to,
                       const crossing_kind *kind)
{
  struct regions *shape = platform->shape;
  crossing *crossing = &shape->crossing[from * shape->n + to];
  char name[160];
  if (crossing->present)
    return lh_json_fail(entry, "found the way from %s to %s again, allowed: each direction once",
                        shape->region[from].name, shape->region[to].name);
  snprintf(name, sizeof name, "region.%.60s-%.60s", shape->region[from].name,
           shape->region[to].name);
  crossing->present = true;
  crossing->cap_Bps = kind->cap_Bps;
  return lh_link_add(platform, name, kind->bandwidth_Bps, kind->latency_s, true, &crossing->link);
}

static lh_status entry_read(lh_platform *platform, lh_json entry)
{
  static const char *const entry_keys[] = {"from",           "to",         "bandwidth",
                                           "bandwidth_back", "round_trip", "flow_cap",
                                           "latency",        "one_way",    NULL};
  crossing_kind kind;
  size_t from, to;
  bool one_way;
  const lh_json back = lh_json_get(entry, "bandwidth_back");
  LH_TRY(lh_json_check_keys(entry, entry_keys));
  LH_TRY(region_find(platform->shape, lh_json_get(entry, "from"), &from));
  LH_TRY(region_find(platform->shape, lh_json_get(entry, "to"), &to));
  if (from == to)
    return lh_json_fail(entry, "found a way from a region to itself, allowed: two regions");
  LH_TRY(lh_rate_read(lh_json_get(entry, "bandwidth"), &kind.bandwidth_Bps));
  LH_TRY(
      one_way_s(lh_json_get(entry, "latency"), lh_json_get(entry, "round_trip"), &kind.latency_s));
  LH_TRY(lh_rate_read_or(lh_json_get(entry, "flow_cap"), INFINITY, &kind.cap_Bps));
  LH_TRY(lh_json_bool_or(lh_json_get(entry, "one_way"), false, &one_way));
  LH_TRY(cross(platform, entry, from, to, &kind));
  if (one_way && lh_json_present(back))
    return lh_json_fail(back, "found with one_way, allowed: one of the two");
  if (one_way)
    return LH_OK;
  LH_TRY(lh_rate_read_or(back, kind.bandwidth_Bps, &kind.bandwidth_Bps));
  return cross(platform, entry, to, from, &kind);
}

/* Pairs that are not listed get the default, or are an error. */
static lh_status fill_rest(lh_platform *platform, lh_json network)
{
  const struct regions *shape = platform->shape;
  const lh_json bandwidth = lh_json_get(network, "between_bandwidth"),
                latency = lh_json_get(network, "between_latency"),
                round_trip = lh_json_get(network, "between_round_trip");
  crossing_kind kind = {.cap_Bps = INFINITY};
  const bool has_default = lh_json_present(bandwidth);
  if (has_default) {
    LH_TRY(lh_rate_read(bandwidth, &kind.bandwidth_Bps));
    LH_TRY(one_way_s(latency, round_trip, &kind.latency_s));
  } else if (lh_json_present(latency) || lh_json_present(round_trip)) {
    return lh_json_fail(bandwidth, "absent, allowed: a rate, as its latency is given");
  }
  for (size_t from = 0; from < shape->n; from++)
    for (size_t to = 0; to < shape->n; to++) {
      if (from == to || shape->crossing[from * shape->n + to].present)
        continue;
      if (!has_default)
        return lh_json_fail(lh_json_get(network, "between"),
                            "found no way from region %s to %s, allowed: every pair, or "
                            "between_bandwidth for the rest",
                            shape->region[from].name, shape->region[to].name);
      LH_TRY(cross(platform, network, from, to, &kind));
    }
  return LH_OK;
}

static lh_status crossings_read(lh_platform *platform, lh_json network)
{
  const lh_json between = lh_json_get(network, "between");
  if (lh_json_present(between)) {
    LH_TRY(lh_json_expect_array(between));
    for (size_t i = 0; i < lh_json_size(between); i++)
      LH_TRY(entry_read(platform, lh_json_at(between, i)));
  }
  return fill_rest(platform, network);
}

/* ---- building and walking -------------------------------------------------------------------- */

static lh_status add_nodes(lh_platform *platform, struct regions *shape)
{
  const size_t ports = platform->interfaces->ports;
  shape->region_of_node = calloc(platform->nodes, sizeof *shape->region_of_node);
  shape->node = calloc(platform->nodes * ports, sizeof *shape->node);
  if (!shape->region_of_node || !shape->node)
    return lh_fail(LH_ENOMEM, "regions: no memory for %zu nodes", platform->nodes);
  size_t node = 0;
  for (size_t i = 0; i < shape->n; i++)
    for (size_t k = 0; k < shape->region[i].nodes; k++, node++) {
      shape->region_of_node[node] = i;
      for (size_t port = 0; shape->region[i].has_cables && port < ports; port++)
        LH_TRY(lh_cable_to_port(platform, &shape->region[i].cable, (lh_port){node, port},
                                &shape->node[node * ports + port]));
    }
  return LH_OK;
}

static lh_status regions_build(lh_platform *platform, lh_json network, void **shape)
{
  struct regions *regions = calloc(1, sizeof *regions);
  if (!(*shape = regions))
    return lh_fail(LH_ENOMEM, "regions: no memory");
  LH_TRY(regions_read(network, platform->nodes, regions));
  LH_TRY(add_nodes(platform, regions));
  return crossings_read(platform, network);
}

static void regions_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const struct regions *shape = platform->shape;
  const size_t from = shape->region_of_node[src.node], to = shape->region_of_node[dst.node];
  if (shape->region[from].has_cables)
    lh_route_push(platform, shape->node[lh_terminal(platform, src)].forth, route);
  if (from != to) {
    const crossing *crossing = &shape->crossing[from * shape->n + to];
    lh_route_push(platform, crossing->link, route);
    route->cap_Bps = fmin(route->cap_Bps, crossing->cap_Bps);
  }
  if (shape->region[to].has_cables)
    lh_route_push(platform, shape->node[lh_terminal(platform, dst)].back, route);
}

static void regions_free(void *shape)
{
  struct regions *regions = shape;
  if (regions) {
    for (size_t i = 0; i < regions->n; i++)
      free(regions->region[i].name);
    free(regions->region);
    free(regions->crossing);
    free(regions->region_of_node);
    free(regions->node);
  }
  free(regions);
}

static void regions_draw(const lh_platform *platform, FILE *out)
{
  const struct regions *shape = platform->shape;
  size_t node = 0;
  for (size_t i = 0; i < shape->n; node += shape->region[i].nodes, i++)
    fprintf(out, "    [%s: node-%zu%s%.0zu]%s\n", shape->region[i].name, node,
            shape->region[i].nodes > 1 ? " ... node-" : "",
            shape->region[i].nodes > 1 ? node + shape->region[i].nodes - 1 : 0,
            i + 1 < shape->n ? "\n       |  (every region to every other)" : "");
}

const lh_topology lh_regions = {.name = "regions",
                                .title = "groups of nodes, thin and far links between them",
                                .keys = keys,
                                .build = regions_build,
                                .route = regions_route,
                                .free = regions_free,
                                .draw = regions_draw};
