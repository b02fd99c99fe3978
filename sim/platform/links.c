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

lh_cable_kind lh_bundle(const lh_platform *platform, size_t port, const lh_cable_kind *kind)
{
  lh_cable_kind bundle = *kind;
  bundle.forth_Bps *= (double)platform->interfaces->bundled[port];
  bundle.back_Bps *= (double)platform->interfaces->bundled[port];
  return bundle;
}

lh_status lh_cable_to_port(lh_platform *platform, const lh_cable_kind *kind, lh_port port,
                           lh_cable *cable)
{
  char stem[80];
  const lh_cable_kind bundle = lh_bundle(platform, port.port, kind);
  lh_port_name(platform, port.node, port.port, stem, sizeof stem);
  return lh_cable_add(platform, &bundle, stem, "up", "down", cable);
}

lh_status lh_cables_to_nodes(lh_platform *platform, const lh_cable_kind *kind, lh_cable **cables)
{
  const size_t ports = platform->interfaces->ports;
  *cables = calloc(platform->nodes * ports, sizeof **cables);
  if (!*cables)
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu nodes", platform->nodes);
  for (size_t i = 0; i < platform->nodes * ports; i++)
    LH_TRY(lh_cable_to_port(platform, kind, (lh_port){i / ports, i % ports}, &(*cables)[i]));
  return LH_OK;
}
