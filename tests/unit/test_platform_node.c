/* test_platform_node.c -- inside a node: fabrics, interfaces, placement, speeds. */
#include "sim/platform/interfaces.h"
#include "tests/unit/platform_case.h"

#define STAR "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}"

/* ---- fabrics --------------------------------------------------------------------------------- */

static void fabric_switch(void)
{
  lh_platform *p = case_platform("{'nodes': 2, 'accelerators_per_node': 3, " STAR ","
                                 "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s',"
                                 "'latency': '2us', 'flow_cap': '250GB/s',"
                                 "'in_network_reduction': true}}");
  CHECK_ROUTE(p, 0, 2, "node-0.slot-0.out node-0.slot-2.in");
  CHECK_ROUTE(p, 5, 4, "node-1.slot-2.out node-1.slot-1.in");
  CHECK_ROUTE(p, 2, 3, "node-0.up node-1.down"); /* other nodes are reached past the fabric */
  const lh_route inside = case_route(p, 0, 1), between = case_route(p, 0, 5);
  CHECK(inside.latency_s == 4e-6 && inside.cap_Bps == 250e9, "%g %g", inside.latency_s,
        inside.cap_Bps);
  CHECK(p->link[inside.link[0]].bandwidth_Bps == 300e9, "rate of a fabric link");
  CHECK(between.latency_s == 10e-6 && between.cap_Bps == INFINITY, "%g %g", between.latency_s,
        between.cap_Bps);
  CHECK(p->fabric_reduces && !p->network_reduces, "the switch reduces");
  lh_platform_free(p);

  p = case_platform("{'nodes': 1, 'accelerators_per_node': 2, 'fabric': {'kind': 'switch',"
                    "'bandwidth': '6.285GB/s', 'duplex': 'half', 'call_overhead': '22ms',"
                    "'message_overhead': '1us'}}");
  CHECK_ROUTE(p, 0, 1, "node-0.slot-0.link node-0.slot-1.link");
  CHECK(p->call_overhead_s == 22e-3 && p->message_overhead_s == 1e-6, "overheads without network");
  CHECK(strcmp(p->topology, "none") == 0, "%s", p->topology);
  lh_platform_free(p);
}

/* One 3600 Gbit/s link or four that add up: the same to one flow. Without striping a flow gets one
 * of the four. */
static void fabric_parallel_switches(void)
{
#define FOUR                                                                                       \
  "{'nodes': 1, 'accelerators_per_node': 8, 'fabric': {'kind': 'switch', 'latency': '25ns',"       \
  "'switches': ['1000Gbps', '800Gbps', '800Gbps', '1000Gbps']"
  lh_platform *one =
      case_platform("{'nodes': 1, 'accelerators_per_node': 8, 'fabric':"
                    "{'kind': 'switch', 'latency': '25ns', 'bandwidth': '3600Gbps'}}");
  lh_platform *striped = case_platform(FOUR ", 'striping': true}}");
  lh_platform *single = case_platform(FOUR "}}");
  for (size_t src = 0; src < 8; src++)
    for (size_t dst = 0; dst < 8; dst++) {
      if (src == dst)
        continue;
      const lh_route a = case_route(one, src, dst), b = case_route(striped, src, dst),
                     c = case_route(single, src, dst);
      static const double rates_Bps[] = {125e9, 100e9, 100e9, 125e9};
      CHECK(case_narrowest(one, &a) == 450e9, "one: %g", case_narrowest(one, &a));
      CHECK(case_narrowest(striped, &b) == 450e9, "striped: %g", case_narrowest(striped, &b));
      CHECK(case_narrowest(single, &c) == rates_Bps[src % 4], "single: %g",
            case_narrowest(single, &c));
      CHECK(a.latency_s == 50e-9 && b.latency_s == 50e-9 && c.latency_s == 50e-9, "latency");
    }
  CHECK_ROUTE(single, 6, 1, "node-0.switch-2.slot-6.out node-0.switch-2.slot-1.in");
  CHECK(single->links == 4 * 8 * 2, "%zu links", single->links);
  lh_platform_free(one);
  lh_platform_free(striped);
  lh_platform_free(single);
}

static void fabric_mesh_and_pairs(void)
{
  lh_platform *p = case_platform("{'nodes': 2, 'accelerators_per_node': 4, " STAR ","
                                 "'fabric': {'kind': 'full-mesh', 'bandwidth': '50GB/s',"
                                 "'latency': '700ns'}}");
  CHECK_ROUTE(p, 1, 3, "node-0.slot-1.slot-3.forth");
  CHECK_ROUTE(p, 7, 5, "node-1.slot-1.slot-3.back");
  CHECK(case_route(p, 2, 0).latency_s == 700e-9, "one link, one latency");
  CHECK(p->links == 4 + 2 * 4 * 3, "%zu links", p->links);
  lh_platform_free(p);

  /* NVLink bridges join 0-1, 2-3, 4-5, 6-7; everything else goes through the host. */
  p = case_platform("{'nodes': 1, 'accelerators_per_node': 8, 'fabric': {'kind': 'pairs',"
                    "'bandwidth': '20GB/s', 'latency': '3us', 'pairs': ["
                    "{'between': [0, 1], 'bandwidth': '208GB/s', 'latency': '1us'},"
                    "{'between': [3, 2], 'bandwidth': '208GB/s'},"
                    "{'between': [4, 5], 'bandwidth': '208GB/s'},"
                    "{'between': [6, 7], 'bandwidth': '208GB/s'}]}}");
  for (size_t src = 0; src < 8; src++)
    for (size_t dst = 0; dst < 8; dst++) {
      if (src == dst)
        continue;
      const lh_route route = case_route(p, src, dst);
      const bool bridged = src / 2 == dst / 2;
      CHECK(case_narrowest(p, &route) == (bridged ? 208e9 : 20e9), "%zu -> %zu: %g", src, dst,
            case_narrowest(p, &route));
      CHECK(route.links == (bridged ? 1 : 2), "%zu -> %zu: %zu links", src, dst, route.links);
    }
  CHECK(case_route(p, 1, 0).latency_s == 1e-6, "a bridge's own latency");
  CHECK(case_route(p, 2, 3).latency_s == 3e-6, "the latency of the others");
  CHECK(case_route(p, 1, 2).latency_s == 6e-6, "through the host");
  CHECK_ROUTE(p, 3, 2, "node-0.slot-2.slot-3.back");
  lh_platform_free(p);
}

/* ---- interfaces ------------------------------------------------------------------------------ */

#define EIGHT(interfaces)                                                                          \
  "{'nodes': 2, 'accelerators_per_node': 8, " STAR ", 'fabric': {'kind': 'switch',"                \
  "'bandwidth': '300GB/s', 'latency': '1us'}, 'interfaces': " interfaces "}"

/* expected (8): the link by which each accelerator of node 0 leaves. */
static void check_interfaces(const char *json, const char *const *expected, double rate_Bps)
{
  lh_platform *p = case_platform(json);
  for (size_t slot = 0; slot < 8; slot++) {
    const lh_route route = case_route(p, slot, 8 + 7 - slot),
                   back = case_route(p, 8 + 7 - slot, slot);
    const char *name = p->link[route.link[0]].name;
    char down[64];
    CHECK(strcmp(name, expected[slot]) == 0, "%s: accelerator %zu leaves by %s, expected %s", json,
          slot, name, expected[slot]);
    CHECK(p->link[route.link[0]].bandwidth_Bps == rate_Bps, "%s at %g", name,
          p->link[route.link[0]].bandwidth_Bps);
    snprintf(down, sizeof down, "%.*s.down", (int)(strlen(name) - 3), name);
    CHECK(strcmp(p->link[back.link[1]].name, down) == 0, "and is reached by %s, expected %s",
          p->link[back.link[1]].name, down);
    CHECK(p->link[back.link[1]].bandwidth_Bps == rate_Bps, "%s at %g", down,
          p->link[back.link[1]].bandwidth_Bps);
  }
  lh_platform_free(p);
}

static void interfaces(void)
{
#define UP(n) "node-0.nic-" #n ".up"
  static const char *const shared[] = {"node-0.up", "node-0.up", "node-0.up", "node-0.up",
                                       "node-0.up", "node-0.up", "node-0.up", "node-0.up"};
  static const char *const own[] = {UP(0), UP(1), UP(2), UP(3), UP(4), UP(5), UP(6), UP(7)};
  static const char *const blocks[] = {UP(0), UP(0), UP(1), UP(1), UP(2), UP(2), UP(3), UP(3)};
  static const char *const turns[] = {UP(0), UP(1), UP(2), UP(0), UP(1), UP(2), UP(0), UP(1)};
  static const char *const subsets[] = {UP(1), UP(0), UP(0), UP(0), UP(1), UP(1), UP(2), UP(2)};
  static const char *const halves[] = {UP(0), UP(0), UP(0), UP(0), UP(1), UP(1), UP(1), UP(1)};
  static const char *const doubled[] = {UP(0), UP(3), UP(4), UP(7), UP(8), UP(11), UP(12), UP(15)};

  check_interfaces(EIGHT("{}"), shared, 12.5e9);
  check_interfaces(EIGHT("{'serves': 'shared'}"), shared, 12.5e9);
  check_interfaces(EIGHT("{'serves': 'accelerator'}"), own, 12.5e9);
  check_interfaces(EIGHT("{'serves': 'accelerator', 'count': 4}"), blocks, 12.5e9);
  check_interfaces(EIGHT("{'count': 3}"), turns, 12.5e9);
  check_interfaces(EIGHT("{'count': 8, 'striping': true}"), shared, 100e9);
  check_interfaces(EIGHT("{'serves': [[1, 2, 3], [0, 4, 5], [6, 7]]}"), subsets, 12.5e9);
  check_interfaces(EIGHT("{'serves': [[0, 1, 2, 3], [3, 2, 1, 0], [4, 5, 6, 7], [4, 5, 6, 7]],"
                         "'striping': true}"),
                   halves, 25e9);
  check_interfaces(EIGHT("{'serves': 'accelerator', 'count': 16, 'striping': true}"), own, 25e9);
  check_interfaces(EIGHT("{'serves': 'accelerator', 'count': 16}"), doubled, 12.5e9);
}

static void through_the_fabric(void)
{
  lh_platform *p = case_platform(EIGHT("{'through_fabric': true}"));
  CHECK_ROUTE(p, 2, 15, "node-0.slot-2.out node-0.up node-1.down node-1.slot-7.in");
  CHECK_NEAR(case_route(p, 2, 15).latency_s, 12e-6, 1e-18, "fabric links count");
  CHECK_ROUTE(p, 2, 5, "node-0.slot-2.out node-0.slot-5.in");
  lh_platform_free(p);
}

/* ---- placement and speeds -------------------------------------------------------------------- */

static void check_placement(const char *json, const size_t *node, const size_t *slot)
{
  lh_platform *p = case_platform(json);
  for (size_t rank = 0; rank < p->ranks; rank++)
    CHECK(p->node_of_rank[rank] == node[rank] && p->slot_of_rank[rank] == slot[rank],
          "%s: rank %zu is on node %zu, accelerator %zu", json, rank, p->node_of_rank[rank],
          p->slot_of_rank[rank]);
  lh_platform_free(p);
}

static void placement(void)
{
#define SIX(placement)                                                                             \
  "{'nodes': 2, 'accelerators_per_node': 3, " STAR ", 'fabric': {'kind': 'switch',"                \
  "'bandwidth': '300GB/s'}" placement "}"
  check_placement(SIX(""), (size_t[]){0, 0, 0, 1, 1, 1}, (size_t[]){0, 1, 2, 0, 1, 2});
  check_placement(SIX(", 'placement': 'block'"), (size_t[]){0, 0, 0, 1, 1, 1},
                  (size_t[]){0, 1, 2, 0, 1, 2});
  check_placement(SIX(", 'placement': 'round-robin'"), (size_t[]){0, 1, 0, 1, 0, 1},
                  (size_t[]){0, 0, 1, 1, 2, 2});
  check_placement(SIX(", 'placement': [1, 0, 0, 1, 1, 0]"), (size_t[]){1, 0, 0, 1, 1, 0},
                  (size_t[]){0, 0, 1, 1, 2, 2});
  check_placement("{'nodes': 4, 'placement': [0, 2, 1, 3], " STAR "}", (size_t[]){0, 2, 1, 3},
                  (size_t[]){0, 0, 0, 0});
}

static void speeds(void)
{
  lh_platform *p = case_platform("{'nodes': 3, " STAR ", 'node_speed': [1, 0.5, 2.25]}");
  CHECK(p->node_speed[0] == 1 && p->node_speed[1] == 0.5 && p->node_speed[2] == 2.25, "list");
  lh_platform_free(p);
  p = case_platform("{'nodes': 3, " STAR ", 'node_speed': 0.75}");
  CHECK(p->node_speed[0] == 0.75 && p->node_speed[2] == 0.75, "one for all");
  lh_platform_free(p);
  p = case_platform("{'nodes': 3, " STAR "}");
  CHECK(p->node_speed[1] == 1, "default");
  lh_platform_free(p);
}

static void faults(void)
{
  lh_platform *p = case_platform("{'nodes': 3, " STAR ", 'faults': ["
                                 "{'node': 2, 'from': '10s', 'to': '1min'},"
                                 "{'link': 'node-1.down', 'from': '0s', 'bandwidth': '8Mbps'}]}");
  CHECK(p->faults == 2, "%zu", p->faults);
  CHECK(p->fault[0].kind == LH_FAULT_NODE_DOWN && p->fault[0].index == 2 &&
            p->fault[0].from_s == 10 && p->fault[0].to_s == 60,
        "node 2 from 10 s to 60 s");
  CHECK(p->fault[1].kind == LH_FAULT_LINK_BANDWIDTH && p->fault[1].bandwidth_Bps == 1e6 &&
            p->fault[1].from_s == 0 && p->fault[1].to_s == INFINITY,
        "a link for ever");
  CHECK(strcmp(p->link[p->fault[1].index].name, "node-1.down") == 0, "%s",
        p->link[p->fault[1].index].name);
  lh_platform_free(p);
}

int main(void)
{
  fabric_switch();
  fabric_parallel_switches();
  fabric_mesh_and_pairs();
  interfaces();
  through_the_fabric();
  placement();
  speeds();
  faults();
  return check_report("platform node");
}
