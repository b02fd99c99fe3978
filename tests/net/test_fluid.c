/* Fluid timing within 2 % of exact wherever it is offered: on every topology, for group orders that
 * are kind to it and others, for sizes that latency or bandwidth decide. Where it is refused nothing
 * is promised; that it is not refused where it matters is asked too.
 */
#include "tests/net/net_case.h"

typedef struct place {
  const char *name, *text;
  bool must_offer; /* rank order: at least for the ring and large messages */
} place;

static const place places[] = {
    {"star",
     "'nodes': 24, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us'}", true},
    {"asymmetric star",
     "'nodes': 12, 'network': {'topology': 'star', 'bandwidth_up': '20Mbps', "
     "'bandwidth_down': '100Mbps', 'latency': '10ms'}",
     true},
    {"half duplex",
     "'nodes': 12, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us', "
     "'duplex': 'half'}",
     true},
    {"backbone",
     "'nodes': 12, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us', "
     "'backbone_bandwidth': '2Gbps', 'backbone_latency': '10us'}",
     true},
    {"capped",
     "'nodes': 12, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us', "
     "'flow_cap': '300Mbps', 'message_overhead': '20us', 'call_overhead': '1ms'}",
     true},
    {"full mesh",
     "'nodes': 12, 'network': {'topology': 'full-mesh', 'bandwidth': '1Gbps', 'latency': '50us'}",
     true},
    {"ring",
     "'nodes': 12, 'network': {'topology': 'ring', 'bandwidth': '1Gbps', 'latency': '50us'}", true},
    {"fat tree",
     "'nodes': 64, 'network': {'topology': 'fat-tree', 'arity': [8, 8], 'bandwidth': '1Gbps', "
     "'latency': '5us'}",
     true},
    {"thin fat tree",
     "'nodes': 64, 'network': {'topology': 'fat-tree', 'arity': [8, 8], 'bandwidth': '1Gbps', "
     "'latency': '5us', 'oversubscription': 4}",
     true},
    {"torus",
     "'nodes': 36, 'network': {'topology': 'torus', 'dims': [6, 6], 'bandwidth': '1Gbps', "
     "'latency': '5us'}",
     true},
    {"dragonfly",
     "'nodes': 72, 'network': {'topology': 'dragonfly', 'bandwidth': '1Gbps', 'latency': '5us', "
     "'global_latency': '50us'}",
     true},
    {"regions",
     "'nodes': 12, 'network': {'topology': 'regions', 'regions': ['a', 'b', 'c'], "
     "'bandwidth': '10Gbps', 'latency': '50us', 'between_bandwidth': '300Mbps', "
     "'between_latency': '40ms'}",
     true},
    {"one shared interface",
     "'nodes': 4, 'accelerators_per_node': 8, "
     "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}, "
     "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'}",
     true},
    {"an interface each",
     "'nodes': 4, 'accelerators_per_node': 8, "
     "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}, "
     "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'}, "
     "'interfaces': {'count': 8, 'serves': 'accelerator'}",
     true},
    {"through the fabric",
     "'nodes': 3, 'accelerators_per_node': 4, "
     "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}, "
     "'fabric': {'kind': 'switch', 'bandwidth': '16GB/s', 'latency': '1us', 'duplex': 'half'}, "
     "'interfaces': {'count': 1, 'serves': 'shared', 'through_fabric': true}",
     false},
    {"bridged pairs",
     "'nodes': 2, 'accelerators_per_node': 4, "
     "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}, "
     "'fabric': {'kind': 'pairs', 'bandwidth': '20GB/s', 'latency': '3us', 'pairs': ["
     "{'between': [0, 1], 'bandwidth': '208GB/s'}, {'between': [2, 3], 'bandwidth': '208GB/s'}]}",
     true},
};
#define PLACES (sizeof places / sizeof places[0])

static const lh_collective_kind kinds[] = {LH_ALL_REDUCE, LH_REDUCE_SCATTER, LH_ALL_GATHER,
                                           LH_PAIRWISE_EXCHANGE};
static const lh_algorithm algorithms[] = {LH_RING, LH_HIERARCHICAL, LH_DIRECT};
static const double sizes[] = {0, 1e3, 1e6, 1e8};

#define ORDERS 9

/* The orders of the group: by rank, every second one first, dealt with a stride of 7, shuffled. */
static void fill_order(size_t *ranks, size_t n, int order)
{
  static const size_t strides[] = {1, 2, 7};
  if (order >= 3) {
    lh_draw_permutation(1, LH_PURPOSE_PAIRING, (uint64_t)order, n, ranks);
    return;
  }
  size_t next = 0;
  for (size_t first = 0; first < strides[order]; first++)
    for (size_t r = first; r < n; r += strides[order])
      ranks[next++] = r;
}

typedef struct counts {
  size_t offered, refused;
  double worst;
} counts;

/* All collectives of one place in one simulation, each exact and fluid. */
static void check_place(void *arg)
{
  const place *place = arg;
  lh_platform *platform = net_platform("{'name': '%s', %s}", place->name, place->text);
  const size_t n = platform->ranks;
  size_t *ranks[ORDERS];
  static net_run run[1000];
  size_t runs = 0;
  counts c = {0};
  for (int order = 0; order < ORDERS; order++) {
    ranks[order] = malloc(n * sizeof *ranks[order]);
    fill_order(ranks[order], n, order);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
      for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
          lh_algorithm_info info;
          if (!lh_collective_info(kinds[k], algorithms[a], &info) || !info.fluid)
            continue;
          lh_collective x = {.kind = kinds[k],
                             .algorithm = algorithms[a],
                             .timing = LH_TIMING_FLUID,
                             .n = n,
                             .ranks = ranks[order],
                             .bytes = sizes[i]};
          const lh_status status = lh_collective_check(platform, &x);
          if (status == LH_EUNSUPPORTED) {
            c.refused++;
            CHECK(!(place->must_offer && order == 0 && algorithms[a] == LH_RING && i == 3),
                  "%s: not offered: %s", place->name, lh_fail_text());
            continue;
          }
          REQUIRE_OK(status);
          c.offered++;
          run[runs++].collective = x;
          x.timing = LH_TIMING_EXACT;
          run[runs++].collective = x;
        }
  }
  net_run_series(platform, LH_FLOW_IDEAL, run, runs, NULL);
  for (size_t r = 0; r < runs; r += 2) {
    const lh_collective *x = &run[r].collective;
    const double fluid = run[r].last_s, exact = run[r + 1].last_s;
    c.worst = fmax(c.worst, fabs(fluid - exact) / exact);
    if (x->algorithm == LH_RING) /* one circle: its members end together */
      CHECK(run[r].first_s == fluid, "%s: members end at %g and %g s", place->name, run[r].first_s,
            fluid);
    CHECK_NEAR(fluid, exact, 0.02 * exact, "%s, %s by %s, %g bytes, ranks %zu %zu %zu ..",
               place->name, lh_collective_names[x->kind], lh_algorithm_names[x->algorithm],
               x->bytes, x->ranks[0], x->ranks[1], x->ranks[2]);
  }
  printf("%-22s offered %3zu, refused %3zu, worst %.2f %%\n", place->name, c.offered, c.refused,
         100 * c.worst);
  for (int order = 0; order < ORDERS; order++)
    free(ranks[order]);
  lh_platform_free(platform);
}

/* With latencies that vary every round waits for its slowest message: no fluid, and it says why. */
static void refused_where_latencies_vary(void)
{
  lh_platform *platform = net_platform(
      "{'nodes': 4, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us'}, "
      "'variation': {'latency': {'distribution': 'lognormal', 'sigma': 0.5}}}");
  static const size_t ranks[] = {0, 1, 2, 3};
  lh_collective x = {.kind = LH_ALL_REDUCE,
                     .algorithm = LH_RING,
                     .timing = LH_TIMING_FLUID,
                     .n = 4,
                     .ranks = ranks,
                     .bytes = 1e6};
  CHECK(lh_collective_check(platform, &x) == LH_EUNSUPPORTED &&
            strstr(lh_fail_text(), "latencies vary"),
        "%s", lh_fail_text());
  x.algorithm = LH_RECURSIVE_DOUBLING;
  CHECK(lh_collective_check(platform, &x) == LH_EUNSUPPORTED, "recursive doubling");
  lh_platform_free(platform);
}

/* Four edges of a ring by turns share each interface. They are all as slow, so they stay in step, and
 * fluid must be offered also where half the time is latency. */
static void offered_in_step(void)
{
  lh_platform *platform =
      net_platform("{'nodes': 2, 'accelerators_per_node': 4, "
                   "'network': {'topology': 'star', 'bandwidth': '100Gbps', 'latency': '5us'}, "
                   "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'}}");
  static const size_t turns[] = {0, 4, 1, 5, 2, 6, 3, 7};
  lh_collective x = {.kind = LH_ALL_REDUCE,
                     .algorithm = LH_RING,
                     .timing = LH_TIMING_FLUID,
                     .n = 8,
                     .ranks = turns,
                     .bytes = 8 * 10e-6 * 12.5e9 / 4};
  CHECK(lh_collective_check(platform, &x) == LH_OK, "%s", lh_fail_text());
  lh_platform_free(platform);
}

int main(void)
{
  for (size_t i = 0; i < PLACES; i++)
    net_fork(check_place, (void *)&places[i]);
  refused_where_latencies_vary();
  offered_in_step();
  return check_report("fluid");
}
