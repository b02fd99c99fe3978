/* links.c -- adding links and cables to a platform. */
#include <stdlib.h>

#include "base/text.h"
#include "sim/platform/topology.h"

lh_status lh_link_add(lh_platform *platform, const char *name, double bandwidth_Bps,
                      double latency_s, bool shared, size_t *index)
{
  const size_t n = platform->links;
  if ((n & (n - 1)) == 0) { /* the array holds a power of two */
    lh_link *grown = realloc(platform->link, (n ? 2 * n : 1) * sizeof *grown);
    if (!grown)
      return lh_fail(LH_ENOMEM, "platform: no memory for %zu links", 2 * n);
    platform->link = grown;
  }
  char *copy = lh_string_copy(name);
  if (!copy)
    return lh_fail(LH_ENOMEM, "platform: no memory for the name of link %zu", n);
  platform->link[n] = (lh_link){
      .name = copy, .bandwidth_Bps = bandwidth_Bps, .latency_s = latency_s, .shared = shared};
  platform->links++;
  *index = n;
  return LH_OK;
}

lh_status lh_cable_add(lh_platform *platform, const lh_cable_kind *kind, const char *stem,
                       const char *forth, const char *back, lh_cable *cable)
{
  char name[160];
  snprintf(name, sizeof name, "%s.%s", stem, kind->half_duplex ? "link" : forth);
  LH_TRY(lh_link_add(platform, name, kind->forth_Bps, kind->latency_s, true, &cable->forth));
  cable->back = cable->forth;
  if (kind->half_duplex)
    return LH_OK;
  snprintf(name, sizeof name, "%s.%s", stem, back);
  return lh_link_add(platform, name, kind->back_Bps, kind->latency_s, true, &cable->back);
}

const char *lh_port_name(const lh_platform *platform, size_t node, size_t port, char *buffer,
                         size_t size)
{
  if (platform->interfaces->ports == 1)
    snprintf(buffer, size, "node-%zu", node);
  else
    snprintf(buffer, size, "node-%zu.nic-%zu", node, port);
  return buffer;
}

lh_status lh_cables_to_nodes(lh_platform *platform, const lh_cable_kind *kind, lh_cable **cables)
{
  const lh_interfaces *interfaces = platform->interfaces;
  *cables = calloc(platform->nodes * interfaces->ports, sizeof **cables);
  if (!*cables)
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu nodes", platform->nodes);
  for (size_t node = 0; node < platform->nodes; node++)
    for (size_t port = 0; port < interfaces->ports; port++) {
      char stem[80];
      lh_cable_kind bundle = *kind;
      bundle.forth_Bps *= (double)interfaces->bundled[port];
      bundle.back_Bps *= (double)interfaces->bundled[port];
      LH_TRY(lh_cable_add(platform, &bundle, lh_port_name(platform, node, port, stem, sizeof stem),
                          "up", "down", &(*cables)[node * interfaces->ports + port]));
    }
  return LH_OK;
}
