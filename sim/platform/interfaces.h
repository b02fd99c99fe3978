/* interfaces.h -- the network interfaces of a node and which accelerators they serve.
 *
 *   {"count": interfaces of a node,
 *    "serves": "shared"        every interface serves every accelerator (default; count 1)
 *              "accelerator"   one for each accelerator, or one for each block of consecutive ones
 *                              (count divides the accelerators), or several for each (a multiple)
 *              [[0, 1], [2, 3]]  the accelerators of each interface (count: the list's length)
 *    "striping": true          interfaces that serve the same accelerators carry one flow together,
 *                              as one link of their summed rate
 *                false         a flow takes one of its accelerator's interfaces, by the number of
 *                              the accelerator (slot modulo how many serve it)
 *    "through_fabric": true    traffic to other nodes also passes the accelerator's own fabric links
 *                              (a PCIe box, where the interface hangs on the same switch)}
 *
 * network.bandwidth and network.latency are one interface's. What topologies see are ports: one
 * interface, or a bundle that stripes.
 */
#ifndef LH_SIM_INTERFACES_H
#define LH_SIM_INTERFACES_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"

#define LH_MAX_INTERFACES 16

typedef struct lh_interfaces {
  size_t count; /* interfaces of a node */
  bool striping, through_fabric;
  size_t ports;                      /* 1..LH_MAX_INTERFACES */
  size_t bundled[LH_MAX_INTERFACES]; /* (ports) interfaces in the port: its rate is so many times */
  size_t port_of_slot[16];           /* (accelerators_per_node) */
} lh_interfaces;

/* An absent node gives one shared interface. */
lh_status lh_interfaces_read(lh_json node, size_t accelerators, lh_interfaces *interfaces);

#endif
