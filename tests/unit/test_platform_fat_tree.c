/* test_platform_fat_tree.c -- what makes a fat tree fat: rates above add up to rates below, and a
 * shift of all nodes by any distance meets no link twice when nothing is oversubscribed. */
#include "tests/unit/platform_case.h"

static lh_platform *tree_of(size_t nodes, const char *how)
{
  char text[400];
  snprintf(text, sizeof text,
           "{'nodes': %zu, 'network': {'topology': 'fat-tree', 'bandwidth': '10Gbps',"
           "'latency': '2us', %s}}",
           nodes, how);
  return case_platform(text);
}

/* Flows on the busiest link when every node sends to the one `shift` further on, weighted by the
 * time that link then takes: flows * node rate / link rate. */
static double worst_load(const lh_platform *p, size_t shift)
{
  double *load = calloc(p->links, sizeof *load), worst = 0;
  for (size_t src = 0; src < p->ranks; src++) {
    const lh_route route = case_route(p, src, (src + shift) % p->ranks);
    for (size_t i = 0; i < route.links; i++)
      load[route.link[i]] += 1.25e9 / p->link[route.link[i]].bandwidth_Bps;
  }
  for (size_t l = 0; l < p->links; l++)
    worst = fmax(worst, load[l]);
  free(load);
  return worst;
}

static void check_shifts(size_t nodes, const char *how, double bound)
{
  lh_platform *p = tree_of(nodes, how);
  for (size_t shift = 1; shift < nodes; shift++)
    CHECK(worst_load(p, shift) <= bound * (1 + 1e-12), "%zu nodes, %s: shift %zu loads a link %g",
          nodes, how, shift, worst_load(p, shift));
  lh_platform_free(p);
}

/* Sum of the rates of all links up from a level. */
static double level_rate_Bps(const lh_platform *p, size_t level)
{
  char prefix[40];
  double sum = 0;
  snprintf(prefix, sizeof prefix, "level-%zu.", level);
  for (size_t l = 0; l < p->links; l++)
    if (strncmp(p->link[l].name, prefix, strlen(prefix)) == 0 && strstr(p->link[l].name, ".up"))
      sum += p->link[l].bandwidth_Bps;
  return sum;
}

static void rates_add_up(void)
{
  lh_platform *p = tree_of(64, "'arity': 4");
  CHECK_NEAR(level_rate_Bps(p, 1), 64 * 1.25e9, 1, "level 1");
  CHECK_NEAR(level_rate_Bps(p, 2), 64 * 1.25e9, 1, "level 2");
  CHECK(level_rate_Bps(p, 3) == 0, "three levels are enough for 64 nodes");
  lh_platform_free(p);

  p = tree_of(64, "'arity': [8, 8], 'oversubscription': 4");
  CHECK_NEAR(level_rate_Bps(p, 1), 64 * 1.25e9 / 4, 1, "a quarter");
  lh_platform_free(p);

  p = tree_of(64, "'arity': [4, 4, 4], 'oversubscription': [2, 1.5]");
  CHECK_NEAR(level_rate_Bps(p, 1), 64 * 1.25e9 / 2, 1, "a half");
  CHECK_NEAR(level_rate_Bps(p, 2), 64 * 1.25e9 / 3, 1, "a third");
  lh_platform_free(p);

  p = tree_of(64, "'arity': 8, 'uplinks': 1");
  CHECK_NEAR(level_rate_Bps(p, 1), 64 * 1.25e9, 1, "one fat cable per leaf");
  lh_platform_free(p);

  p = tree_of(16, "'k': 4"); /* 4 pods of 2 + 2 switches and 4 cores: 16 cables a level */
  CHECK(p->links == 2 * (16 + 16 + 16), "%zu links", p->links);
  lh_platform_free(p);
}

static void latencies(void)
{
  lh_platform *p = tree_of(64, "'arity': 4, 'uplink_latency': '500ns'");
  CHECK_NEAR(case_route(p, 0, 3).latency_s, 4e-6, 1e-18, "one switch");
  CHECK_NEAR(case_route(p, 0, 4).latency_s, 5e-6, 1e-18, "two levels");
  CHECK_NEAR(case_route(p, 0, 63).latency_s, 6e-6, 1e-18, "three levels");
  lh_platform_free(p);
}

/* Rails: accelerator s of every node hangs on leaf switches of its own, so equal accelerators of
 * nodes below one leaf are one switch apart, and unlike ones never are. */
static void rails(void)
{
  lh_platform *p = case_platform("{'nodes': 6, 'accelerators_per_node': 4, 'network': {"
                                 "'topology': 'fat-tree', 'arity': [8, 8], 'rails': true,"
                                 "'bandwidth': '400Gbps', 'latency': '1us'},"
                                 "'interfaces': {'serves': 'accelerator'},"
                                 "'fabric': {'kind': 'switch', 'bandwidth': '450GB/s'}}");
  for (size_t src = 0; src < p->ranks; src++)
    for (size_t dst = 0; dst < p->ranks; dst++) {
      if (lh_platform_same_node(p, src, dst))
        continue;
      const size_t expected = src % 4 == dst % 4 ? 2 : 4;
      CHECK(case_route(p, src, dst).links == expected, "%zu -> %zu: %zu links", src, dst,
            case_route(p, src, dst).links);
    }
  lh_platform_free(p);

  /* Nine nodes do not fit one leaf of eight: two leaves for each rail. */
  p = case_platform("{'nodes': 9, 'accelerators_per_node': 2, 'network': {"
                    "'topology': 'fat-tree', 'arity': 8, 'rails': true,"
                    "'bandwidth': '400Gbps', 'latency': '1us'},"
                    "'interfaces': {'serves': 'accelerator'},"
                    "'fabric': {'kind': 'switch', 'bandwidth': '450GB/s'}}");
  CHECK(case_route(p, 0, 14).links == 2, "nodes 0 and 7");
  CHECK(case_route(p, 0, 16).links == 4, "nodes 0 and 8");
  lh_platform_free(p);
}

int main(void)
{
  check_shifts(16, "'arity': 4", 1);
  check_shifts(64, "'arity': 4", 1);
  check_shifts(27, "'arity': 3", 1);
  check_shifts(54, "'k': 6", 1);
  check_shifts(64, "'arity': 8, 'uplinks': 1", 1);
  check_shifts(64, "'arity': [8, 8], 'oversubscription': 2", 2);
  /* The bound is reached: half the nodes cross the middle at half the rate. */
  lh_platform *p = tree_of(64, "'arity': [8, 8], 'oversubscription': 2");
  CHECK_NEAR(worst_load(p, 32), 2, 1e-12, "bisection at half the rate");
  lh_platform_free(p);
  rates_add_up();
  latencies();
  rails();
  return check_report("platform fat tree");
}
