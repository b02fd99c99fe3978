/* test_platform_wide.c -- regions and custom networks. */
#include "tests/unit/platform_case.h"

/* ---- regions --------------------------------------------------------------------------------- */

/* Four regions of one node: a way is exactly its rate and half its round trip, each direction its
 * own. Figures: skyplane-project/skyplane, grids of January 2022. */
static void four_regions(void)
{
  static const double gbps[4][4] = {{0, 4.352, 4.318, 3.653},
                                    {4.347, 0, 3.854, 4.073},
                                    {4.311, 3.872, 0, 3.14},
                                    {3.657, 4.077, 3.125, 0}};
  static const double round_trip_ms[4][4] = {{0, 70.183, 84.083, 168.935},
                                             {70.183, 0, 123.425, 97.116},
                                             {84.083, 123.425, 0, 215.042},
                                             {168.935, 97.116, 215.042, 0}};
  lh_platform *p = case_platform("{'file': 'four-regions'}");
  CHECK(p->nodes == 4 && p->links == 12, "%zu nodes, %zu links", p->nodes, p->links);
  for (size_t src = 0; src < 4; src++)
    for (size_t dst = 0; dst < 4; dst++) {
      if (src == dst)
        continue;
      const lh_route route = case_route(p, src, dst);
      CHECK(route.links == 1, "%zu -> %zu: %zu links", src, dst, route.links);
      CHECK_NEAR(case_narrowest(p, &route), gbps[src][dst] * 1e9 / 8, 1e-3, "%zu -> %zu", src, dst);
      CHECK_NEAR(route.latency_s, round_trip_ms[src][dst] * 1e-3 / 2, 1e-15, "%zu -> %zu", src,
                 dst);
    }
  CHECK_ROUTE(p, 0, 1, "region.us-east-1-us-west-2");
  lh_platform_free(p);
}

static void regions_of_several_nodes(void)
{
  lh_platform *p = case_platform(
      "{'nodes': 5, 'network': {'topology': 'regions', 'regions': ['eu', 'us'],"
      "'bandwidth': '10Gbps', 'latency': '20us', 'flow_cap': '5Gbps', 'between': [{'from': 'eu',"
      "'to': 'us', 'bandwidth': '1Gbps', 'bandwidth_back': '500Mbps', 'round_trip': '80ms',"
      "'flow_cap': '100Mbps'}]}}");
  /* three nodes and two: earlier regions get the one that is left over */
  CHECK_ROUTE(p, 0, 2, "node-0.up node-2.down");
  CHECK_ROUTE(p, 2, 3, "node-2.up region.eu-us node-3.down");
  CHECK_ROUTE(p, 4, 0, "node-4.up region.us-eu node-0.down");
  const lh_route inside = case_route(p, 3, 4), there = case_route(p, 2, 3),
                 back = case_route(p, 3, 2);
  CHECK_NEAR(inside.latency_s, 40e-6, 1e-18, "inside");
  CHECK_NEAR(there.latency_s, 40e-3 + 40e-6, 1e-15, "across");
  CHECK(inside.cap_Bps == 625e6 && there.cap_Bps == 12.5e6 && back.cap_Bps == 12.5e6, "caps");
  CHECK(p->link[there.link[1]].bandwidth_Bps == 125e6, "there");
  CHECK(p->link[back.link[1]].bandwidth_Bps == 62.5e6, "back");
  lh_platform_free(p);

  p = case_platform(
      "{'network': {'topology': 'regions', 'regions': [{'name': 'home', 'nodes': 2,"
      "'bandwidth_up': '40Mbps', 'bandwidth_down': '200Mbps', 'latency': '8ms'},"
      "{'name': 'site', 'nodes': 3}, {'name': 'lone', 'nodes': 1}],"
      "'bandwidth': '1Gbps', 'latency': '1ms', 'between_bandwidth': '2Gbps',"
      "'between_latency': '15ms', 'between': [{'from': 'lone', 'to': 'home', 'one_way': true,"
      "'bandwidth': '3Gbps', 'latency': '1s'}]}}");
  CHECK(p->nodes == 6, "regions say how many nodes: %zu", p->nodes);
  const lh_route up = case_route(p, 0, 2), special = case_route(p, 5, 1);
  CHECK(p->link[up.link[0]].bandwidth_Bps == 5e6, "a home's way up");
  CHECK_NEAR(up.latency_s, 24e-3, 1e-15, "8 + 15 + 1 ms");
  CHECK_NEAR(special.latency_s, 1 + 9e-3, 1e-12, "the listed way");
  CHECK_NEAR(case_route(p, 1, 5).latency_s, 24e-3, 1e-15, "the way back is not listed");
  lh_platform_free(p);
}

/* A region that states its own rate takes the common latency, unless it has one. */
static void regions_with_rates_of_their_own(void)
{
  lh_platform *p = case_platform(
      "{'network': {'topology': 'regions', 'regions': [{'name': 'a', 'nodes': 2,"
      "'bandwidth': '40Mbps'}, {'name': 'b', 'nodes': 2}], 'bandwidth': '1Gbps', 'latency': '3ms',"
      "'between_bandwidth': '2Gbps', 'between_round_trip': '20ms'}}");
  CHECK_NEAR(case_route(p, 0, 1).latency_s, 6e-3, 1e-15, "inside a");
  CHECK_NEAR(case_route(p, 0, 2).latency_s, 16e-3, 1e-15, "a to b");
  lh_platform_free(p);
}

/* ---- custom ---------------------------------------------------------------------------------- */

static void custom_graph(void)
{
  /*  0 -- a -- b -- 1        and a slow short cut a -- 1; 2 hangs on b */
  lh_platform *p = case_platform(
      "{'nodes': 3, 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'latency': '1ms',"
      "'links': [{'from': 0, 'to': 'a'}, {'from': 'a', 'to': 'b', 'bandwidth': '10Gbps'},"
      "{'from': 'b', 'to': 1, 'latency': '2ms'}, {'from': 2, 'to': 'b', 'bandwidth_back': '8Mbps'},"
      "{'from': 'a', 'to': 1, 'name': 'short', 'latency': '7ms'}]}}");
  CHECK_ROUTE(p, 0, 1, "node-0-a.forth short.forth"); /* fewest links, whatever they cost */
  CHECK_ROUTE(p, 1, 0, "short.back node-0-a.back");
  CHECK_ROUTE(p, 0, 2, "node-0-a.forth a-b.forth node-2-b.back");
  const lh_route route = case_route(p, 0, 2);
  CHECK(case_narrowest(p, &route) == 1e6, "the rate back of node 2's link");
  CHECK_NEAR(route.latency_s, 3e-3, 1e-15, "three links of the common latency");
  lh_platform_free(p);

  /* Of ways with as many links, the one of least latency, then the first in the file. */
  p = case_platform(
      "{'nodes': 2, 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'links': ["
      "{'from': 0, 'to': 'slow', 'latency': '5ms'}, {'from': 'slow', 'to': 1},"
      "{'from': 0, 'to': 'fast', 'latency': '1ms'},"
      "{'from': 'fast', 'to': 1, 'latency': '1ms'}]}}");
  CHECK_ROUTE(p, 0, 1, "node-0-fast.forth fast-node-1.forth");
  CHECK_ROUTE(p, 1, 0, "fast-node-1.back node-0-fast.back");
  lh_platform_free(p);
  p = case_platform(
      "{'nodes': 2, 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'links': ["
      "{'from': 0, 'to': 1, 'name': 'b'}, {'from': 0, 'to': 1, 'name': 'a'}]}}");
  CHECK_ROUTE(p, 0, 1, "b.forth");
  lh_platform_free(p);
}

static void custom_kinds_of_links(void)
{
  lh_platform *p =
      case_platform("{'nodes': 2, 'network': {'topology': 'custom', 'links': ["
                    "{'from': 0, 'to': 's', 'bandwidth': '1Gbps', 'duplex': 'half'},"
                    "{'from': 1, 'to': 's', 'bandwidth': '1Gbps', 'one_way': true},"
                    "{'from': 's', 'to': 1, 'bandwidth': '2Gbps', 'one_way': true, 'shared': false,"
                    "'name': 'crossbar'}]}}");
  CHECK_ROUTE(p, 0, 1, "node-0-s.link crossbar");
  CHECK_ROUTE(p, 1, 0, "node-1-s node-0-s.link");
  const lh_route route = case_route(p, 0, 1);
  CHECK(!p->link[route.link[1]].shared && p->link[route.link[0]].shared, "shared");
  lh_platform_free(p);
}

static void custom_given_routes(void)
{
  lh_platform *p = case_platform(
      "{'nodes': 3, 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'latency': '1us',"
      "'links': [{'from': 0, 'to': 1}, {'from': 1, 'to': 2}, {'from': 2, 'to': 0}, {'name': "
      "'wire'}],"
      "'routes': [{'from': 0, 'to': 1, 'links': ['node-2-node-0.back', 'node-1-node-2.back']},"
      "{'from': 1, 'to': 2, 'links': ['wire']}]}}");
  CHECK_ROUTE(p, 0, 1, "node-2-node-0.back node-1-node-2.back");
  CHECK_ROUTE(p, 1, 0, "node-0-node-1.back");
  CHECK_ROUTE(p, 1, 2, "wire");
  lh_platform_free(p);

  p = case_platform(
      "{'nodes': 2, 'network': {'topology': 'custom', 'links': ["
      "{'name': 'w', 'bandwidth': '1Gbps'}], 'routes': ["
      "{'from': 0, 'to': 1, 'links': ['w']}, {'from': 1, 'to': 0, 'links': ['w']}]}}");
  CHECK_ROUTE(p, 1, 0, "w");
  lh_platform_free(p);
}

/* A grid of 10 x 10 nodes given as links: as far as in a search that knows it is a grid. */
static void custom_grid(void)
{
  lh_text text = {0};
  lh_text_append(&text, "{'nodes': 100, 'network': {'topology': 'custom', 'bandwidth': '1Gbps',"
                        "'latency': '1us', 'links': [{'from': 99, 'to': 98}");
  for (size_t i = 0; i < 99; i++) {
    if (i % 10 != 9 && i != 98)
      lh_text_append(&text, ", {'from': %zu, 'to': %zu}", i, i + 1);
    if (i + 10 < 100)
      lh_text_append(&text, ", {'from': %zu, 'to': %zu}", i + 10, i);
  }
  lh_text_append(&text, "]}}");
  lh_platform *p = case_platform(text.data);
  for (size_t a = 0; a < 100; a++)
    for (size_t b = 0; b < 100; b++) {
      if (a == b)
        continue;
      const size_t dx = a % 10 > b % 10 ? a % 10 - b % 10 : b % 10 - a % 10,
                   dy = a / 10 > b / 10 ? a / 10 - b / 10 : b / 10 - a / 10;
      CHECK(case_route(p, a, b).links == dx + dy, "%zu -> %zu: %zu links", a, b,
            case_route(p, a, b).links);
    }
  lh_platform_free(p);
  lh_text_free(&text);
}

int main(void)
{
  four_regions();
  regions_of_several_nodes();
  regions_with_rates_of_their_own();
  custom_graph();
  custom_kinds_of_links();
  custom_given_routes();
  custom_grid();
  return check_report("platform wide");
}
