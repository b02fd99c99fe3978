/* custom.c -- links as a file lists them, and routes found or given.
 *
 * Keys:
 *   "links": [{"from": 0, "to": "switch-a", "bandwidth", "latency", "bandwidth_back" (bandwidth),
 *              "duplex", "one_way" (false), "shared" (true), "name"}, ...]
 *            An end is the number of a node or the name of a switch. "shared": false gives every
 *            flow the full rate. The links are called NAME.forth and NAME.back (NAME.link when half
 *            duplex, NAME when one way or without ends); the name is "FROM-TO" if none is given,
 *            node 0 being "node-0". A link without ends is only for routes, and has a name.
 *   "routes": [{"from": 0, "to": 1, "links": ["a.forth", "b.back"]}, ...]
 *            the links from node to node, one direction each, in place of what would be found.
 *   "bandwidth", "latency": for links that state none.
 *
 * Found routes have the fewest links; among those the least latency; among those the links that
 * come first in the file. They may pass through other nodes. Every pair needs a way.
 */
#include "sim/platform/custom.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *const keys[] = {"links", "routes", "bandwidth", "latency", NULL};

/* ---- ends and links -------------------------------------------------------------------------- */

static lh_status add_switch(lh_custom_shape *custom, const char *name, size_t *vertex)
{
  char **grown = realloc(custom->switch_name, (custom->switches + 1) * sizeof *grown);
  if (!grown)
    return lh_fail(LH_ENOMEM, "custom: no memory");
  custom->switch_name = grown;
  if (!(grown[custom->switches] = lh_string_copy(name)))
    return lh_fail(LH_ENOMEM, "custom: no memory");
  *vertex = custom->nodes + custom->switches++;
  return LH_OK;
}

/* Vertices: nodes first, then switches as they are met. */
static lh_status end_read(lh_json node, lh_custom_shape *custom, size_t *vertex)
{
  if (cJSON_IsNumber(node.node))
    return lh_json_size_value(node, 0, custom->nodes - 1, vertex);
  if (!cJSON_IsString(node.node))
    return lh_json_fail(node, "%s, allowed: a node of 0..%zu, or the name of a switch",
                        lh_json_present(node) ? "found something else" : "absent",
                        custom->nodes - 1);
  const char *name = node.node->valuestring;
  for (size_t i = 0; i < custom->switches; i++)
    if (strcmp(custom->switch_name[i], name) == 0) {
      *vertex = custom->nodes + i;
      return LH_OK;
    }
  if (custom->nodes + custom->switches == LH_CUSTOM_MAX_VERTICES)
    return lh_json_fail(node, "found one switch too many, allowed: %d nodes and switches",
                        LH_CUSTOM_MAX_VERTICES);
  return add_switch(custom, name, vertex);
}

static const char *end_name(const lh_custom_shape *custom, size_t vertex, char *buffer, size_t size)
{
  if (vertex < custom->nodes)
    snprintf(buffer, size, "node-%zu", vertex);
  else /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a vertex past the nodes is a switch */
    snprintf(buffer, size, "%.60s", custom->switch_name[vertex - custom->nodes]);
  return buffer;
}

typedef struct entry {
  bool has_ends, one_way, shared, half_duplex;
  size_t from, to;
  double forth_Bps, back_Bps, latency_s;
  char name[130];
} entry;

static lh_status entry_ends(lh_json node, lh_custom_shape *custom, entry *entry)
{
  const lh_json from = lh_json_get(node, "from"), to = lh_json_get(node, "to"),
                named = lh_json_get(node, "name");
  entry->has_ends = lh_json_present(from) || lh_json_present(to);
  if (entry->has_ends) {
    char near[64], far[64];
    LH_TRY(end_read(from, custom, &entry->from));
    LH_TRY(end_read(to, custom, &entry->to));
    if (entry->from == entry->to)
      return lh_json_fail(to, "found a link from an end to itself, allowed: two ends");
    snprintf(entry->name, sizeof entry->name, "%s-%s",
             end_name(custom, entry->from, near, sizeof near),
             end_name(custom, entry->to, far, sizeof far));
    if (!lh_json_present(named))
      return LH_OK;
  }
  const char *name;
  LH_TRY(lh_json_string(named, &name));
  snprintf(entry->name, sizeof entry->name, "%s", name);
  return LH_OK;
}

static lh_status entry_rates(lh_json network, lh_json node, entry *entry)
{
  const lh_json own_rate = lh_json_get(node, "bandwidth"),
                back = lh_json_get(node, "bandwidth_back"),
                own_latency = lh_json_get(node, "latency"),
                any_rate = lh_json_get(network, "bandwidth"),
                any_latency = lh_json_get(network, "latency");
  const bool take_any = !lh_json_present(own_rate) && lh_json_present(any_rate);
  LH_TRY(lh_rate_read(take_any ? any_rate : own_rate, &entry->forth_Bps));
  LH_TRY(lh_rate_read_or(back, entry->forth_Bps, &entry->back_Bps));
  LH_TRY(lh_json_quantity_or(lh_json_present(own_latency) ? own_latency : any_latency, LH_UNIT_S, 0,
                             &entry->latency_s));
  LH_TRY(lh_duplex_read(node, &entry->half_duplex));
  LH_TRY(lh_json_bool_or(lh_json_get(node, "one_way"), false, &entry->one_way));
  LH_TRY(lh_json_bool_or(lh_json_get(node, "shared"), true, &entry->shared));
  if (lh_json_present(back) && (entry->one_way || entry->half_duplex || !entry->has_ends))
    return lh_json_fail(back,
                        "found on a link of one rate, allowed: only where it has two ends, is "
                        "full duplex and not one way");
  return LH_OK;
}

/* A link that keeps its name unique, and, where it has ends, its arc in the graph. */
static lh_status add_direction(lh_platform *platform, lh_json node, const entry *entry,
                               const char *suffix, double rate_Bps, size_t *link)
{
  char name[160];
  snprintf(name, sizeof name, "%s%s", entry->name, suffix);
  for (size_t i = 0; i < platform->links; i++)
    if (strcmp(platform->link[i].name, name) == 0)
      return lh_json_fail(node, "found a second link \"%s\", allowed: a name of its own for each",
                          name);
  return lh_link_add(platform, name, rate_Bps, entry->latency_s, entry->shared, link);
}

static lh_status add_entry(lh_platform *platform, lh_json node, const entry *entry,
                           lh_custom_shape *custom)
{
  const bool one = entry->one_way || !entry->has_ends;
  size_t forth, back;
  LH_TRY(add_direction(platform, node, entry,
                       one                  ? ""
                       : entry->half_duplex ? ".link"
                                            : ".forth",
                       entry->forth_Bps, &forth));
  if (!entry->has_ends)
    return LH_OK;
  LH_TRY(lh_custom_add_arc(custom, entry->from, entry->to, forth));
  if (entry->one_way)
    return LH_OK;
  back = forth;
  if (!entry->half_duplex)
    LH_TRY(add_direction(platform, node, entry, ".back", entry->back_Bps, &back));
  return lh_custom_add_arc(custom, entry->to, entry->from, back);
}

static lh_status links_read(lh_platform *platform, lh_json network, lh_custom_shape *custom)
{
  static const char *const entry_keys[] = {"name",    "from",    "to",     "bandwidth",
                                           "latency", "one_way", "shared", "bandwidth_back",
                                           "duplex",  NULL};
  const lh_json links = lh_json_get(network, "links");
  LH_TRY(lh_json_expect_array(links));
  for (size_t i = 0; i < lh_json_size(links); i++) {
    const lh_json node = lh_json_at(links, i);
    entry entry = {0};
    LH_TRY(lh_json_check_keys(node, entry_keys));
    LH_TRY(entry_ends(node, custom, &entry));
    LH_TRY(entry_rates(network, node, &entry));
    LH_TRY(add_entry(platform, node, &entry, custom));
  }
  return LH_OK;
}

/* ---- given routes ---------------------------------------------------------------------------- */

static lh_status link_find(const lh_platform *platform, lh_json node, size_t *link)
{
  const char **names = calloc(platform->links + 1, sizeof *names);
  if (!names)
    return lh_fail(LH_ENOMEM, "custom: no memory");
  for (size_t i = 0; i < platform->links; i++)
    names[i] = platform->link[i].name;
  const lh_status status = lh_json_choice(node, names, link);
  free(names);
  return status;
}

static lh_status route_read(const lh_platform *platform, lh_json node, lh_custom_shape *custom)
{
  static const char *const route_keys[] = {"from", "to", "links", NULL};
  const lh_json links = lh_json_get(node, "links");
  const size_t n = lh_json_size(links);
  size_t from, to;
  LH_TRY(lh_json_check_keys(node, route_keys));
  LH_TRY(lh_json_size_value(lh_json_get(node, "from"), 0, custom->nodes - 1, &from));
  LH_TRY(lh_json_size_value(lh_json_get(node, "to"), 0, custom->nodes - 1, &to));
  LH_TRY(lh_json_expect_array(links));
  if (from == to)
    return lh_json_fail(node, "found a route from node %zu to itself, allowed: two nodes", from);
  if (n < 1 || n > LH_ROUTE_MAX_LINKS - 2)
    return lh_json_fail(links, "found %zu links, allowed: 1 to %d", n, LH_ROUTE_MAX_LINKS - 2);
  lh_custom_given *given = &custom->given[from * custom->nodes + to];
  if (given->link)
    return lh_json_fail(node, "found a second route from node %zu to node %zu, allowed: one", from,
                        to);
  if (!(given->link = calloc(n, sizeof *given->link)))
    return lh_fail(LH_ENOMEM, "custom: no memory");
  given->links = n;
  for (size_t i = 0; i < n; i++)
    LH_TRY(link_find(platform, lh_json_at(links, i), &given->link[i]));
  return LH_OK;
}

static lh_status routes_read(const lh_platform *platform, lh_json network, lh_custom_shape *custom)
{
  const lh_json routes = lh_json_get(network, "routes");
  if (!lh_json_present(routes))
    return LH_OK;
  LH_TRY(lh_json_expect_array(routes));
  custom->given = calloc(custom->nodes * custom->nodes, sizeof *custom->given);
  if (!custom->given)
    return lh_fail(LH_ENOMEM, "custom: no memory for the routes of %zu nodes", custom->nodes);
  for (size_t i = 0; i < lh_json_size(routes); i++)
    LH_TRY(route_read(platform, lh_json_at(routes, i), custom));
  return LH_OK;
}

/* ---- is everybody there? --------------------------------------------------------------------- */

static void append_ranks(const lh_platform *platform, size_t node, lh_text *text)
{
  bool first = true;
  for (size_t rank = 0; rank < platform->ranks; rank++)
    if (platform->node_of_rank[rank] == node) {
      lh_text_append(text, "%s%zu", first ? "" : ", ", rank);
      first = false;
    }
}

/* The nodes that `from` cannot reach, with their ranks. */
static lh_status fail_unreachable(const lh_platform *platform, lh_json network,
                                  const lh_custom_shape *custom, size_t from)
{
  lh_text text = {0};
  size_t found = 0;
  for (size_t to = 0; to < custom->nodes; to++) {
    if (lh_custom_connected(custom, from, to))
      continue;
    if (found++ < 8) {
      lh_text_append(&text, "%snode %zu (rank ", found > 1 ? ", " : "", to);
      append_ranks(platform, to, &text);
      lh_text_append(&text, ")");
    }
  }
  const lh_status status =
      lh_json_fail(lh_json_get(network, "links"),
                   "found no way from node %zu to %s%s, allowed: a way between every two nodes",
                   from, text.data ? text.data : "?", found > 8 ? " and others" : "");
  lh_text_free(&text);
  return status;
}

static lh_status check_ways(const lh_platform *platform, lh_json network,
                            const lh_custom_shape *custom)
{
  for (size_t from = 0; from < custom->nodes; from++)
    for (size_t to = 0; to < custom->nodes; to++) {
      if (!lh_custom_connected(custom, from, to))
        return fail_unreachable(platform, network, custom, from);
      if (from != to && lh_custom_route_links(custom, from, to) > LH_ROUTE_MAX_LINKS - 2)
        return lh_json_fail(lh_json_get(network, "links"),
                            "found a way of more than %d links, from node %zu to node %zu, "
                            "allowed: shorter ones",
                            LH_ROUTE_MAX_LINKS - 2, from, to);
    }
  return LH_OK;
}

static lh_status custom_build(lh_platform *platform, lh_json network, void **shape)
{
  lh_custom_shape *custom = calloc(1, sizeof *custom);
  if (!(*shape = custom))
    return lh_fail(LH_ENOMEM, "custom: no memory");
  custom->nodes = platform->nodes;
  if (platform->nodes > LH_CUSTOM_MAX_VERTICES)
    return lh_json_fail(network, "found a custom network of %zu nodes, allowed: at most %d",
                        platform->nodes, LH_CUSTOM_MAX_VERTICES);
  if (platform->interfaces->count > 1)
    return lh_json_fail(network,
                        "found a custom network of nodes with %zu interfaces, allowed: "
                        "one (it lists every link itself; parallel ones too)",
                        platform->interfaces->count);
  LH_TRY(links_read(platform, network, custom));
  LH_TRY(routes_read(platform, network, custom));
  LH_TRY(lh_custom_find_ways(platform, custom));
  return check_ways(platform, network, custom);
}

static void custom_draw(const lh_platform *platform, FILE *out)
{
  const lh_custom_shape *custom = platform->shape;
  for (size_t i = 0; i < custom->arcs && i < 24; i++) {
    char from[64], to[64];
    fprintf(out, "    %s -> %s   (%s)\n", end_name(custom, custom->arc[i].from, from, sizeof from),
            end_name(custom, custom->arc[i].to, to, sizeof to),
            platform->link[custom->arc[i].link].name);
  }
  if (custom->arcs > 24)
    fprintf(out, "    ... %zu more\n", custom->arcs - 24);
}

const lh_topology lh_custom = {.name = "custom",
                               .title = "links as listed, shortest ways or given routes",
                               .keys = keys,
                               .build = custom_build,
                               .route = lh_custom_route,
                               .free = lh_custom_free,
                               .draw = custom_draw};
