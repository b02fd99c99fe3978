/* What `auto` chooses, what is refused and how that is said; in-network reduction's formulas. */
#include "tests/net/net_case.h"

static lh_collective of(lh_collective_kind kind, lh_algorithm algorithm, lh_timing timing, size_t n,
                        const size_t *ranks, double bytes)
{
  return (lh_collective){.kind = kind,
                         .algorithm = algorithm,
                         .timing = timing,
                         .n = n,
                         .ranks = ranks,
                         .bytes = bytes};
}

static void expect_choice(const lh_platform *platform, lh_collective c, lh_algorithm algorithm,
                          lh_timing timing)
{
  lh_algorithm chosen;
  lh_timing timed;
  REQUIRE_OK(lh_collective_resolve(platform, &c, &chosen, &timed));
  CHECK(chosen == algorithm, "%s of %g bytes on %zu: %s, expected %s", lh_collective_names[c.kind],
        c.bytes, c.n, lh_algorithm_names[chosen], lh_algorithm_names[algorithm]);
  CHECK(timed == timing, "%s on %zu: %s, expected %s", lh_collective_names[c.kind], c.n,
        lh_timing_names[timed], lh_timing_names[timing]);
}

/* Nothing that is offered and not left out on purpose is predicted to be faster than the choice. */
static void expect_cheapest(const lh_platform *platform, lh_collective c)
{
  double chosen_s, s;
  c.algorithm = LH_ALGORITHM_AUTO;
  REQUIRE_OK(lh_collective_predict_s(platform, &c, &chosen_s));
  for (int a = LH_ALGORITHM_AUTO + 1; a < LH_ALGORITHM_COUNT; a++) {
    c.algorithm = (lh_algorithm)a;
    if (a == LH_DIRECT || lh_collective_check(platform, &c) != LH_OK)
      continue;
    REQUIRE_OK(lh_collective_predict_s(platform, &c, &s));
    CHECK(s >= chosen_s * (1 - 1e-9), "%s of %g bytes on %zu: %s takes %g s, the choice %g s",
          lh_collective_names[c.kind], c.bytes, c.n, lh_algorithm_names[a], s, chosen_s);
  }
}

static void choices_on_a_star(void)
{
  const lh_timing any = LH_TIMING_AUTO, exact = LH_TIMING_EXACT, fluid = LH_TIMING_FLUID;
  lh_platform *star = net_star(512, 125, 50);
  size_t *ranks = net_ranks(512);
  const lh_algorithm none = LH_ALGORITHM_AUTO;
  /* Few bytes: fewest rounds. Many bytes: fewest bytes, and of those the fewest rounds; without a
   * power of two the fold would send the vector twice more. */
  expect_choice(star, of(LH_ALL_REDUCE, none, any, 8, ranks, 8), LH_RECURSIVE_DOUBLING, exact);
  expect_choice(star, of(LH_ALL_REDUCE, none, any, 8, ranks, 1e8), LH_RECURSIVE_HALVING_DOUBLING,
                exact);
  expect_choice(star, of(LH_ALL_REDUCE, none, any, 7, ranks, 1e8), LH_RING, exact);
  expect_choice(star, of(LH_BROADCAST, none, any, 8, ranks, 8), LH_BINOMIAL_TREE, exact);
  expect_choice(star, of(LH_BROADCAST, none, any, 512, ranks, 1e9), LH_DOUBLE_BINARY_TREE, exact);
  expect_choice(star, of(LH_PAIRWISE_EXCHANGE, none, any, 2, ranks, 1e8), LH_DIRECT, exact);
  expect_choice(star, of(LH_BARRIER, none, any, 100, ranks, 0), LH_RECURSIVE_DOUBLING, exact);
  expect_choice(star, of(LH_ALL_TO_ALL, none, any, 8, ranks, 1e6), LH_DIRECT, exact);
  expect_choice(star, of(LH_ALL_REDUCE, none, any, 1, ranks, 1e6), LH_RING, exact);
  /* 523,264 messages are too many for auto, 4,512 are not; what is asked for is done. */
  expect_choice(star, of(LH_ALL_REDUCE, LH_RING, any, 512, ranks, 1e8), LH_RING, fluid);
  expect_choice(star, of(LH_ALL_REDUCE, LH_RING, any, 48, ranks, 1e8), LH_RING, exact);
  expect_choice(star, of(LH_ALL_REDUCE, LH_RING, exact, 512, ranks, 1e8), LH_RING, exact);
  expect_choice(star, of(LH_ALL_REDUCE, LH_RING, fluid, 3, ranks, 1e8), LH_RING, fluid);
  /* Asked for fluid, auto keeps to what is fluid. */
  expect_choice(star, of(LH_ALL_REDUCE, none, fluid, 8, ranks, 8), LH_RING, fluid);
  static const size_t sizes[] = {2, 3, 8, 13, 64};
  for (size_t i = 0; i < 5; i++)
    for (int kind = 0; kind < LH_COLLECTIVE_COUNT; kind++)
      for (double bytes = 1; bytes < 1e10; bytes *= 1000)
        expect_cheapest(star, of((lh_collective_kind)kind, none, any, sizes[i], ranks, bytes));
  free(ranks);
  lh_platform_free(star);
}

#define NODES                                                                                      \
  "'nodes': 4, 'accelerators_per_node': 8, "                                                       \
  "'network': {'topology': 'star', 'bandwidth': '12.5GB/s', 'latency': '5us'%s}, "                 \
  "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'%s}, "                     \
  "'interfaces': {'count': 8, 'serves': 'accelerator'}"

static void choices_on_nodes(void)
{
  size_t *ranks = net_ranks(32);
  lh_platform *plain = net_platform("{" NODES "}", "", "");
  lh_platform *reducing = net_platform("{" NODES "}", ", 'in_network_reduction': true",
                                       ", 'in_network_reduction': true");
  const lh_collective c = of(LH_ALL_REDUCE, LH_ALGORITHM_AUTO, LH_TIMING_AUTO, 32, ranks, 1e9);
  expect_choice(plain, c, LH_HIERARCHICAL, LH_TIMING_EXACT);
  expect_choice(reducing, c, LH_IN_NETWORK, LH_TIMING_EXACT);
  expect_cheapest(plain, c);
  expect_cheapest(reducing, c);
  free(ranks);
  lh_platform_free(plain);
  lh_platform_free(reducing);
}

/* ---- refusals ------------------------------------------------------------------------------------ */

static void expect_refusal(const lh_platform *platform, lh_collective c, lh_status status,
                           const char *text)
{
  const lh_status got = lh_collective_check(platform, &c);
  CHECK(got == status && strstr(lh_fail_text(), text), "%s: %s, expected \"%s\"",
        lh_status_text(got), lh_fail_text(), text);
}

static void refusals(void)
{
  const lh_timing exact = LH_TIMING_EXACT;
  lh_platform *plain = net_platform("{" NODES "}", "", "");
  static const size_t uneven[] = {0, 1, 2, 8, 9, 16}, beyond[] = {0, 32};
  expect_refusal(plain, of(LH_BROADCAST, LH_RING, exact, 6, uneven, 8), LH_EUNSUPPORTED,
                 "broadcast: no algorithm ring, allowed: binomial-tree, double-binary-tree, auto");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_HIERARCHICAL, exact, 6, uneven, 8), LH_EUNSUPPORTED,
                 "hierarchical: 6 members on 3 nodes, 3 on one of them, allowed: the same number");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_IN_NETWORK, exact, 4, uneven + 1, 8), LH_EUNSUPPORTED,
                 "in-network: the network");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_RING, exact, 2, beyond, 8), LH_EINVAL,
                 "rank 32, allowed: 0..31");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_RING, exact, 0, uneven, 8), LH_EINVAL, "0 members");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_RING, exact, 6, uneven, -1), LH_EINVAL, "-1 bytes");
  lh_collective c = of(LH_BROADCAST, LH_BINOMIAL_TREE, exact, 6, uneven, 8);
  c.root = 6;
  expect_refusal(plain, c, LH_EINVAL, "root 6, allowed: 0..5");
  expect_refusal(plain, of(LH_ALL_REDUCE, LH_RECURSIVE_DOUBLING, LH_TIMING_FLUID, 6, uneven, 8),
                 LH_EUNSUPPORTED, "no fluid timing, its rounds differ");
  /* auto goes round what does not fit. */
  c = of(LH_ALL_REDUCE, LH_ALGORITHM_AUTO, LH_TIMING_AUTO, 6, uneven, 1e9);
  CHECK(lh_collective_check(plain, &c) == LH_OK, "%s", lh_fail_text());
  lh_platform_free(plain);
}

/* Where latencies vary, 512 members are timed message by message. */
static void varying_latencies_are_exact(void)
{
  lh_platform *platform = net_platform(
      "{'nodes': 512, 'network': {'topology': 'star', 'bandwidth': '1Gbps', 'latency': '50us'}, "
      "'variation': {'latency': {'distribution': 'lognormal', 'sigma': 0.5}}}");
  size_t *ranks = net_ranks(512);
  expect_choice(platform, of(LH_ALL_REDUCE, LH_RING, LH_TIMING_AUTO, 512, ranks, 1e8), LH_RING,
                LH_TIMING_EXACT);
  free(ranks);
  lh_platform_free(platform);
}

/* ---- in-network ---------------------------------------------------------------------------------- */

typedef struct in_network_case {
  const char *network, *fabric; /* further keys */
  size_t n;
  double expected_s;
} in_network_case;

static void in_network(void *arg)
{
  const in_network_case *c = arg;
  lh_platform *platform = net_platform("{" NODES "}", c->network, c->fabric);
  size_t every_eighth[] = {0, 8, 16, 24}, *ranks = c->n == 4 ? every_eighth : net_ranks(c->n);
  const lh_collective all = of(LH_ALL_REDUCE, LH_IN_NETWORK, LH_TIMING_EXACT, c->n, ranks, 1e9);
  const double seconds = net_time_s(platform, LH_FLOW_IDEAL, all);
  CHECK_NEAR(seconds, c->expected_s, 1e-6 * c->expected_s, "in-network, %zu members", c->n);
}

int main(void)
{
  choices_on_a_star();
  choices_on_nodes();
  refusals();
  varying_latencies_are_exact();
  const char *const on = ", 'in_network_reduction': true";
  const double S = 1e9, B = 12.5e9, Bi = 300e9, a = 10e-6, ai = 2e-6;
  in_network_case cases[] = {
      {on, "", 4, a + S / B},                                  /* one member a node */
      {"", on, 8, ai + S / Bi},                                /* one node */
      {on, "", 32, 14 * (ai + S / 8 / Bi) + a + S / 8 / B},    /* rings inside */
      {on, on, 32, 2 * (ai + 0.875 * S / Bi) + a + S / 8 / B}, /* at once inside */
  };
  for (size_t i = 0; i < 4; i++)
    net_fork(in_network, &cases[i]);
  return check_report("auto");
}
