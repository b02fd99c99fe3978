/* Measured and closed-form cases from public sources: shared/cases/NAME.json, whose facts are copied
 * here; each test names its file. tcp-window-and-streams is in test_tcp.c.
 */
#include "sim/net/bandwidth.h"
#include "tests/net/net_case.h"

static void within(const char *what, double got, double expected, double relative)
{
  CHECK_NEAR(got, expected, relative * expected, "%s", what);
}

typedef struct alone {
  const lh_platform *platform;
  lh_collective collective;
} alone;

static double alone_s(void *arg)
{
  const alone *a = arg;
  return net_time_s(a->platform, LH_FLOW_IDEAL, a->collective);
}

/* Exact time of an all-reduce over the first n ranks, or the given ones, in a simulation of its own.
 * Fluid must agree where it is offered, prediction too, and none may be below the bound. */
static double all_reduce_s(const lh_platform *platform, lh_algorithm algorithm, size_t n,
                           const size_t *ranks, double bytes)
{
  size_t *own = net_ranks(n);
  alone a = {.platform = platform,
             .collective = {.kind = LH_ALL_REDUCE,
                            .algorithm = algorithm,
                            .timing = LH_TIMING_EXACT,
                            .n = n,
                            .ranks = ranks ? ranks : own,
                            .bytes = bytes}};
  const double exact_s = net_fork_double(alone_s, &a);
  double predicted_s, least_s;
  REQUIRE_OK(lh_collective_predict_s(platform, &a.collective, &predicted_s));
  REQUIRE_OK(lh_collective_lower_bound_s(platform, &a.collective, &least_s));
  CHECK_NEAR(predicted_s, exact_s, 0.02 * exact_s, "prediction on %s", platform->name);
  CHECK(least_s <= exact_s, "%g s is less than the bound of %g s", exact_s, least_s);
  a.collective.timing = LH_TIMING_FLUID;
  if (lh_collective_check(platform, &a.collective) == LH_OK)
    within("fluid", net_fork_double(alone_s, &a), exact_s, 0.02);
  else
    CHECK(algorithm == LH_DIRECT, "no fluid timing on %s: %s", platform->name, lh_fail_text());
  free(own);
  return exact_s;
}

/* Phases one after another: 5.074 + 16.106 + 5.074 ms; measured 22.05 ms, so between fully
 * overlapped and not at all. A flat ring leaves a node through one of its eight interfaces. */
static void b200_four_nodes_hierarchical(void)
{
  const double S = 4294967296, inside = 0.875 * S / 740.64e9, between = 1.5 * S / 8 / 50e9;
  lh_platform *p =
      net_platform("{'name': 'b200', 'nodes': 4, 'accelerators_per_node': 8, "
                   "'network': {'topology': 'star', 'bandwidth': '50GB/s', 'latency': '0s'}, "
                   "'fabric': {'kind': 'switch', 'bandwidth': '740.64GB/s', 'latency': '0s'}, "
                   "'interfaces': {'count': 8, 'serves': 'accelerator'}}");
  const double hierarchical = all_reduce_s(p, LH_HIERARCHICAL, 32, NULL, S);
  within("b200 hierarchical", hierarchical, 26.254e-3, 0.01);
  within("b200 by the formula", hierarchical, 2 * inside + between, 1e-6);
  CHECK(hierarchical >= 16.1e-3 && hierarchical <= 26.3e-3, "b200: %g s", hierarchical);
  within("b200 flat ring", all_reduce_s(p, LH_RING, 32, NULL, S), 166.4e-3, 0.01);
  lh_platform_free(p);
}

/* 7/4 S over 450 GB/s, through one link or four that stripe, and 14 x 50 ns. */
static void dgx_parallel_links(void)
{
  static const char *const fabrics[] = {
      "'bandwidth': '3600Gbps'",
      "'switches': ['1000Gbps', '800Gbps', '800Gbps', '1000Gbps'], 'striping': true"};
  for (size_t i = 0; i < 2; i++) {
    lh_platform *p = net_platform("{'name': 'dgx', 'nodes': 1, 'accelerators_per_node': 8, "
                                  "'fabric': {'kind': 'switch', 'latency': '25ns', %s}}",
                                  fabrics[i]);
    within("dgx", all_reduce_s(p, LH_RING, 8, NULL, 1073741824), 4.1757e-3, 0.005);
    lh_platform_free(p);
  }
}

/* One edge of the ring crosses each interface and direction; four when neighbours alternate between
 * the nodes, by placement or by the order of the group. */
static void gcp_ring_placement(void)
{
#define GCP                                                                                        \
  "'nodes': 2, 'accelerators_per_node': 4, "                                                       \
  "'network': {'topology': 'star', 'bandwidth': '5.085GB/s', 'latency': '0s'}, "                   \
  "'fabric': {'kind': 'switch', 'bandwidth': '213.8GB/s', 'latency': '0s'}"
  static const size_t turns[] = {0, 4, 1, 5, 2, 6, 3, 7};
  lh_platform *blocks = net_platform("{'name': 'gcp', " GCP "}");
  lh_platform *dealt = net_platform("{'name': 'gcp', " GCP ", 'placement': 'round-robin'}");
  const double ring = all_reduce_s(blocks, LH_RING, 8, NULL, 2e9);
  within("gcp ring", ring, 0.68834, 0.02);
  within("gcp inside a node", all_reduce_s(blocks, LH_RING, 4, NULL, 2e9), 0.01403, 0.02);
  within("gcp by turns", all_reduce_s(blocks, LH_RING, 8, turns, 2e9), 4 * ring, 0.02);
  within("gcp dealt", all_reduce_s(dealt, LH_RING, 8, NULL, 2e9), 4 * ring, 0.02);
  lh_platform_free(blocks);
  lh_platform_free(dealt);
}

/* Each accelerator has its own way out, so more of them are faster. With one shared interface they
 * are not. */
static void h100_path_per_accelerator(void)
{
  static const double measured[] = {0.27, 0.13, 0.067}, formula[] = {0.270, 0.138, 0.072};
  for (size_t i = 0; i < 3; i++) {
    const size_t g = (size_t)1 << i;
    for (int shared = 0; shared < 2; shared++) {
      lh_platform *p =
          net_platform("{'name': 'h100', 'nodes': 2, 'accelerators_per_node': %zu, "
                       "'network': {'topology': 'star', 'bandwidth': '3.70GB/s', 'latency': '0s'}, "
                       "'fabric': {'kind': 'switch', 'bandwidth': '370GB/s', 'latency': '0s'}, "
                       "'interfaces': {'count': %zu, 'serves': '%s'}}",
                       g, shared ? 1 : g, shared ? "shared" : "accelerator");
      const double seconds = all_reduce_s(p, LH_HIERARCHICAL, 2 * g, NULL, 1e9);
      if (shared) {
        within("h100 shared", seconds, 0.27, 0.02);
      } else {
        within("h100 measured", seconds, measured[i], 0.10);
        within("h100 formula", seconds, formula[i], 0.01);
      }
      lh_platform_free(p);
    }
  }
}

/* n = 2 / (2 - bus / algorithm bandwidth). */
static void nccl_rows_and_rank_count(void)
{
  static const struct {
    double bytes, time_us, algorithm_GBps, bus_GBps, ranks;
  } rows[] = {{8589934592, 43980, 195.31, 386.56, 96},
              {8589934592, 20299, 423.16, 834.57, 72},
              {8589934592, 21493, 399.65, 793.06, 128}};
  for (size_t i = 0; i < 3; i++) {
    within("nccl row", rows[i].bytes / rows[i].time_us * 1e-3, rows[i].algorithm_GBps, 0.001);
    double ranks;
    REQUIRE_OK(lh_implied_ranks(LH_ALL_REDUCE, rows[i].algorithm_GBps, rows[i].bus_GBps, &ranks));
    CHECK_NEAR(ranks, rows[i].ranks, 1, "ranks of row %zu", i);
    within("factor", lh_bus_factor(LH_ALL_REDUCE, (size_t)lround(ranks)) * rows[i].algorithm_GBps,
           rows[i].bus_GBps, 0.001);
  }
  double ranks;
  CHECK(lh_implied_ranks(LH_ALL_REDUCE, 100, 200, &ranks) == LH_EINVAL, "a factor of 2");
  CHECK(lh_implied_ranks(LH_BROADCAST, 100, 100, &ranks) == LH_EINVAL, "a broadcast");
  within("all-gather", lh_bus_factor(LH_ALL_GATHER, 8), 0.875, 1e-15);
}

/* The slowest edge sets the ring: with the third rank 208 GB/s become 20. */
static void nvlink_bridge_pairs(void)
{
  const double S = 12884901888;
  lh_platform *p = net_platform(
      "{'name': 'bridges', 'nodes': 1, 'accelerators_per_node': 8, 'fabric': {'kind': 'pairs', "
      "'bandwidth': '20GB/s', 'latency': '0s', 'pairs': ["
      "{'between': [0, 1], 'bandwidth': '208GB/s'}, {'between': [2, 3], 'bandwidth': '208GB/s'}, "
      "{'between': [4, 5], 'bandwidth': '208GB/s'}, {'between': [6, 7], 'bandwidth': "
      "'208GB/s'}]}}");
  static const double bus_Bps[] = {208e9, 20e9};
  for (size_t n = 2; n <= 3; n++) {
    const double seconds = all_reduce_s(p, LH_RING, n, NULL, S);
    within("bridges", S / seconds * lh_bus_factor(LH_ALL_REDUCE, n), bus_Bps[n - 2], 0.05);
  }
  lh_platform_free(p);
}

/* Four f32 ranks with 500 Mbit/s each, or four uint8 ranks that share it: 96 s both. */
static void own_cap_or_shared_cap(void)
{
  lh_platform *own = net_platform("{'name': 'own', 'nodes': 4, 'network': {'topology': 'star', "
                                  "'bandwidth': '500Mbps', 'latency': '0s'}}");
  lh_platform *shared = net_platform(
      "{'name': 'shared', 'nodes': 4, 'network': {'topology': 'star', 'bandwidth': '100Gbps', "
      "'latency': '0s', 'backbone_bandwidth': '500Mbps'}}");
  const double a = all_reduce_s(own, LH_RING, 4, NULL, 4e9);
  const double b = all_reduce_s(shared, LH_RING, 4, NULL, 1e9);
  within("own cap, f32", a, 96.0, 0.005);
  within("shared cap, uint8", b, 96.0, 0.005);
  within("measured", a, 102, 0.1);
  within("own cap, uint8", all_reduce_s(own, LH_RING, 4, NULL, 1e9), 24.0, 0.005);
  within("two ranks", all_reduce_s(own, LH_RING, 2, NULL, 4e9), 64.0, 0.005);
  lh_platform_free(own);
  lh_platform_free(shared);
}

/* Per-call overhead + 2 (n - 1) hops: 631.4 us for 64 ranks, from constants fitted to 16 and 32. */
static void p3dn_ring_latency(void)
{
  static const double rows_us[][2] = {{16, 163.4}, {32, 319.4}, {64, 631.3}};
  for (size_t i = 0; i < 3; i++) {
    const size_t n = (size_t)rows_us[i][0];
    lh_platform *p = net_platform(
        "{'name': 'p3dn', 'nodes': %zu, 'accelerators_per_node': 8, "
        "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '2.4375us', "
        "'call_overhead': '17.15us'}, "
        "'fabric': {'kind': 'switch', 'bandwidth': '100GB/s', 'latency': '2.4375us'}}",
        n / 8);
    const double seconds = all_reduce_s(p, LH_RING, n, NULL, 8);
    within("p3dn measured", seconds, rows_us[i][1] * 1e-6, 0.02);
    within("p3dn formula", seconds, 17.15e-6 + 2 * (double)(n - 1) * 4.875e-6, 1e-4);
    lh_platform_free(p);
  }
}

/* Both send 7/8 of the buffer twice through each interface. */
static void switch_direct_equals_ring(void)
{
  lh_platform *p = net_star(8, 50e3, 0.01);
  within("ring", all_reduce_s(p, LH_RING, 8, NULL, 100e6), 3.5e-3, 0.001);
  within("direct", all_reduce_s(p, LH_DIRECT, 8, NULL, 100e6), 3.5e-3, 0.001);
  lh_platform_free(p);
}

/* 20 MB at 110 MB/s net of headers; at the nominal rate 160 ms is the bound. */
static void two_hosts_one_gigabit(void)
{
  lh_platform *net = net_star(2, 110, 0), *nominal = net_star(2, 125, 0);
  within("two hosts", all_reduce_s(net, LH_RING, 2, NULL, 20e6), 0.180, 0.03);
  within("nominal", all_reduce_s(nominal, LH_RING, 2, NULL, 20e6), 0.160, 1e-6);
  lh_platform_free(net);
  lh_platform_free(nominal);
}

/* The second order of the ring avoids the thin path between Ireland and Tokyo. */
static void wan_four_regions_ring_order(void)
{
  lh_platform *p = net_platform(
      "{'name': 'wan', 'nodes': 4, 'network': {'topology': 'regions', "
      "'regions': ['use', 'usw', 'euw', 'apn'], 'between': ["
      "{'from': 'use', 'to': 'usw', 'bandwidth': '4.352Gbps', 'bandwidth_back': '4.347Gbps', "
      "'round_trip': '70.183ms'}, "
      "{'from': 'use', 'to': 'euw', 'bandwidth': '4.318Gbps', 'bandwidth_back': '4.311Gbps', "
      "'round_trip': '84.083ms'}, "
      "{'from': 'use', 'to': 'apn', 'bandwidth': '3.653Gbps', 'bandwidth_back': '3.657Gbps', "
      "'round_trip': '168.935ms'}, "
      "{'from': 'usw', 'to': 'euw', 'bandwidth': '3.854Gbps', 'bandwidth_back': '3.872Gbps', "
      "'round_trip': '123.425ms'}, "
      "{'from': 'usw', 'to': 'apn', 'bandwidth': '4.073Gbps', 'bandwidth_back': '4.077Gbps', "
      "'round_trip': '97.116ms'}, "
      "{'from': 'euw', 'to': 'apn', 'bandwidth': '3.14Gbps', 'bandwidth_back': '3.125Gbps', "
      "'round_trip': '215.042ms'}]}}");
  static const size_t orders[][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
  static const double expected_s[] = {15.932, 13.632};
  for (size_t i = 0; i < 2; i++)
    within("wan", all_reduce_s(p, LH_RING, 4, orders[i], 4e9), expected_s[i], 0.01);
  lh_platform_free(p);
}

int main(void)
{
  b200_four_nodes_hierarchical();
  dgx_parallel_links();
  gcp_ring_placement();
  h100_path_per_accelerator();
  nccl_rows_and_rank_count();
  nvlink_bridge_pairs();
  own_cap_or_shared_cap();
  p3dn_ring_latency();
  switch_direct_equals_ring();
  two_hosts_one_gigabit();
  wan_four_regions_ring_order();
  return check_report("cases");
}
