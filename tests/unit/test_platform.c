/* test_platform.c -- what holds on every topology: everybody is reachable, ways are simple,
 * as long one way as the other and stay in a node where they can; and the star, in full. Whether a
 * way leads where it should is in test_platform_ways.c. */
#include "sim/platform/topology.h"
#include "tests/unit/platform_case.h"

static const char *const networks[] = {
    "{'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'full-mesh', 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'ring', 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'torus', 'dimensions': 2, 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'torus', 'dimensions': 3, 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'fat-tree', 'arity': 4, 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'fat-tree', 'k': 16, 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'fat-tree', 'arity': 3, 'oversubscription': 2, 'bandwidth': '1Gbps'}",
    "{'topology': 'dragonfly', 'bandwidth': '1Gbps', 'latency': '50us'}",
    "{'topology': 'dragonfly', 'groups': 50, 'routers': 4, 'terminals': 4, 'bandwidth': '1Gbps'}",
    "{'topology': 'regions', 'regions': ['a'], 'bandwidth': '1Gbps', 'latency': '50us'}",
    NULL};

static void check_route(const lh_platform *p, size_t src, size_t dst)
{
  const lh_route there = case_route(p, src, dst), back = case_route(p, dst, src);
  const bool inside = p->node_of_rank[src] == p->node_of_rank[dst];
  CHECK(there.links >= 1 && there.links == back.links, "%s %zu -> %zu: %zu and %zu links",
        p->topology, src, dst, there.links, back.links);
  CHECK_NEAR(there.latency_s, back.latency_s, 1e-15, "%s %zu -> %zu", p->topology, src, dst);
  CHECK(lh_platform_same_node(p, src, dst) == inside, "%zu, %zu", src, dst);
  char near[40];
  snprintf(near, sizeof near, "node-%zu.", p->node_of_rank[src]);
  double latency_s = 0;
  for (size_t i = 0; i < there.links; i++) {
    CHECK(there.link[i] < p->links, "link %zu of %zu", there.link[i], p->links);
    const lh_link *link = &p->link[there.link[i]];
    latency_s += link->latency_s;
    if (inside) /* the way stays in the node */
      CHECK(strncmp(link->name, near, strlen(near)) == 0, "%s on a way inside node %zu", link->name,
            p->node_of_rank[src]);
    for (size_t j = 0; j < i; j++)
      CHECK(there.link[i] != there.link[j], "%zu -> %zu passes %s twice", src, dst, link->name);
    for (size_t j = 0; j < back.links; j++) /* full duplex: nothing is shared with the way back */
      CHECK(there.link[i] != back.link[j], "%s is on both ways %zu, %zu", link->name, src, dst);
  }
  CHECK_NEAR(there.latency_s, latency_s, 1e-15, "%zu -> %zu", src, dst);
}

/* Every pair of small platforms, a deterministic sample of large ones. */
static void check_pairs(const lh_platform *p)
{
  const size_t stride = p->ranks <= 60 ? 1 : p->ranks / 23;
  for (size_t src = 0; src < p->ranks; src += stride)
    for (size_t dst = 0; dst < p->ranks; dst++)
      if (src != dst)
        check_route(p, src, dst);
}

static void every_pair_is_reachable(void)
{
  static const size_t nodes[] = {1, 2, 3, 5, 6, 7, 12, 48, 100};
  static const size_t accelerators[] = {1, 2, 3, 8};
  static const char *const interfaces[] = {"{}", "{'serves': 'accelerator'}",
                                           "{'count': 2, 'striping': true}", "{'count': 3}"};
  for (const char *const *network = networks; *network; network++)
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
      for (size_t j = 0; j < sizeof accelerators / sizeof *accelerators; j++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{'nodes': %zu, 'accelerators_per_node': %zu, 'network': %s, 'interfaces': %s,"
                 "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'}}",
                 nodes[i], accelerators[j], *network, interfaces[(i + j) % 4]);
        lh_platform *p = case_platform(text);
        CHECK(p->ranks == nodes[i] * accelerators[j], "%zu ranks", p->ranks);
        check_pairs(p);
        lh_platform_free(p);
      }
}

static void star_is_as_stated(void)
{
  lh_platform *p = case_platform("{'name': 's', 'nodes': 12, 'network': {'topology': 'star',"
                                 "'bandwidth': '1Gbps', 'latency': '50us', 'flow_cap': '200Mbps',"
                                 "'call_overhead': '17.15us', 'message_overhead': '2us',"
                                 "'in_network_reduction': true}}");
  const lh_route route = case_route(p, 10, 2);
  CHECK_ROUTE(p, 10, 2, "node-10.up node-2.down");
  CHECK(route.latency_s == 2 * 50e-6, "two nodes are two latencies apart: %.17g", route.latency_s);
  CHECK(route.cap_Bps == 25e6, "cap %g", route.cap_Bps);
  for (size_t i = 0; i < p->links; i++)
    CHECK(p->link[i].bandwidth_Bps == 125e6 && p->link[i].shared, "%s", p->link[i].name);
  CHECK(p->links == 24, "%zu links", p->links);
  CHECK(p->call_overhead_s == 17.15e-6 && p->message_overhead_s == 2e-6, "overheads");
  CHECK(p->network_reduces && !p->fabric_reduces, "in-network reduction");
  CHECK(!p->device_given, "no device was given");
  lh_platform_free(p);
}

static void star_backbone_duplex_and_asymmetry(void)
{
  lh_platform *p =
      case_platform("{'nodes': 4, 'network': {'topology': 'star', 'bandwidth': '10Gbps',"
                    "'backbone_bandwidth': '500Mbps', 'backbone_latency': '3us',"
                    "'latency': '10us'}}");
  CHECK_ROUTE(p, 0, 3, "node-0.up backbone node-3.down");
  CHECK_ROUTE(p, 3, 0, "node-3.up backbone node-0.down");
  const lh_route route = case_route(p, 1, 2);
  CHECK_NEAR(route.latency_s, 23e-6, 1e-18, "both ends and the backbone");
  CHECK(case_narrowest(p, &route) == 62.5e6, "%g", case_narrowest(p, &route));
  lh_platform_free(p);

  p = case_platform("{'nodes': 3, 'network': {'topology': 'star', 'bandwidth': '1Gbps',"
                    "'duplex': 'half'}}");
  CHECK_ROUTE(p, 0, 2, "node-0.link node-2.link");
  CHECK_ROUTE(p, 2, 0, "node-2.link node-0.link");
  CHECK(p->links == 3, "%zu", p->links);
  lh_platform_free(p);

  p = case_platform("{'nodes': 3, 'network': {'topology': 'star', 'bandwidth_up': '50Mbps',"
                    "'bandwidth_down': '1Gbps', 'latency': '10ms'}}");
  const lh_route thin = case_route(p, 0, 1);
  CHECK(p->link[thin.link[0]].bandwidth_Bps == 6.25e6, "up");
  CHECK(p->link[thin.link[1]].bandwidth_Bps == 125e6, "down");
  lh_platform_free(p);

  /* bandwidth stands in for the direction that is not given. */
  p = case_platform("{'nodes': 3, 'network': {'topology': 'star', 'bandwidth': '1Gbps',"
                    "'bandwidth_up': '8Mbps'}}");
  const lh_route mixed = case_route(p, 0, 1);
  CHECK(p->link[mixed.link[0]].bandwidth_Bps == 1e6, "up");
  CHECK(p->link[mixed.link[1]].bandwidth_Bps == 125e6, "down");
  CHECK(mixed.latency_s == 0, "no latency is none");
  lh_platform_free(p);
}

static void routes_that_are_none(void)
{
  lh_platform *p =
      case_platform("{'nodes': 3, 'network': {'topology': 'star', 'bandwidth': '1Gbps'}}");
  lh_route route;
  CHECK(lh_platform_route(p, 1, 1, &route) == LH_EINVAL, "to itself");
  CHECK(lh_platform_route(p, 0, 3, &route) == LH_EINVAL, "to nobody");
  CHECK(strstr(lh_fail_text(), "rank 3"), "%s", lh_fail_text());
  lh_platform_free(p);
  lh_platform_free(NULL);
}

static void every_topology_is_tried(void)
{
  for (size_t i = 0; lh_topologies[i]; i++) {
    char quoted[64];
    size_t found = strcmp(lh_topologies[i]->name, "custom") == 0; /* test_platform_custom.c */
    snprintf(quoted, sizeof quoted, "'%s'", lh_topologies[i]->name);
    for (const char *const *network = networks; *network; network++)
      found += strstr(*network, quoted) != NULL;
    CHECK(found > 0, "topology %s has no case here", lh_topologies[i]->name);
  }
}

int main(void)
{
  every_topology_is_tried();
  every_pair_is_reachable();
  star_is_as_stated();
  star_backbone_duplex_and_asymmetry();
  routes_that_are_none();
  return check_report("platform");
}
