/* What the engine carries is what lh_collective_sent_bytes says, for every algorithm, kind, timing
 * and member, inside nodes and between them; and the members' clocks: who ends when.
 */
#include "sim/net/schedule.h"
#include "tests/net/net_case.h"

/* Divisible by all the chunk counts below, so that S / chunks is whole. */
#define ELEMENTS ((size_t)(27720 * 64))

typedef struct one {
  const lh_platform *platform;
  lh_collective collective;
} one;

static void check_one(void *arg)
{
  const one *o = arg;
  const lh_collective *c = &o->collective;
  lh_schedule schedule;
  REQUIRE_OK(lh_schedule_init(&schedule, o->platform, c));
  const bool whole = ELEMENTS % schedule.chunks == 0;
  lh_schedule_fini(&schedule);
  net_run run = {.collective = *c};
  lh_engine *engine;
  net_run_series(o->platform, LH_FLOW_IDEAL, &run, 1, &engine);
  CHECK(run.first_s <= run.last_s && run.finished == c->n, "%zu of %zu members ended", run.finished,
        c->n);
  for (size_t m = 0; m < c->n; m++) {
    double inter, intra, told_inter, told_intra;
    lh_engine_sent_bytes(engine, c->ranks[m], &inter, &intra);
    REQUIRE_OK(lh_collective_sent_bytes(o->platform, c, ELEMENTS, 32, m, &told_inter, &told_intra));
    const double bound = whole ? 1e-9 * c->bytes : 4.0 * 200;
    CHECK_NEAR(inter, told_inter, bound, "%s by %s, %s, to other nodes, member %zu",
               lh_collective_names[c->kind], lh_algorithm_names[c->algorithm],
               lh_timing_names[c->timing], m);
    CHECK_NEAR(intra, told_intra, bound, "%s by %s, %s, inside, member %zu",
               lh_collective_names[c->kind], lh_algorithm_names[c->algorithm],
               lh_timing_names[c->timing], m);
  }
  lh_engine_close(engine);
}

static void check_platform(const lh_platform *platform, const size_t *ranks, size_t *checked)
{
  for (size_t i = 0; lh_algorithm_table[i]; i++)
    for (int kind = 0; kind < LH_COLLECTIVE_COUNT; kind++)
      for (int timing = LH_TIMING_EXACT; timing <= LH_TIMING_FLUID; timing++) {
        if (!(lh_algorithm_table[i]->kinds & LH_KIND(kind)))
          continue;
        one o = {.platform = platform,
                 .collective = {.kind = (lh_collective_kind)kind,
                                .algorithm = lh_algorithm_table[i]->algorithm,
                                .timing = (lh_timing)timing,
                                .n = platform->ranks,
                                .ranks = ranks,
                                .root = 1,
                                .bytes = kind == LH_BARRIER ? 0.0 : 4.0 * ELEMENTS}};
        if (lh_collective_check(platform, &o.collective) != LH_OK)
          continue;
        net_fork(check_one, &o);
        ++*checked;
      }
}

int main(void)
{
  static const size_t shapes[][2] = {{6, 1}, {8, 1}, {2, 4}, {3, 2}};
  size_t checked = 0;
  for (size_t i = 0; i < 4; i++) {
    const size_t k = shapes[i][0], g = shapes[i][1], n = k * g;
    lh_platform *platform = net_platform(
        "{'nodes': %zu, 'accelerators_per_node': %zu, 'network': {'topology': 'star', "
        "'bandwidth': '10Gbps', 'latency': '5us', 'in_network_reduction': true}%s}",
        k, g,
        g > 1 ? ", 'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us'}" : "");
    size_t *ranks = net_ranks(n);
    check_platform(platform, ranks, &checked);
    for (size_t j = 0; j < n; j++) /* by turns over the nodes */
      ranks[j] = j % k * g + j / k;
    if (g > 1)
      check_platform(platform, ranks, &checked);
    free(ranks);
    lh_platform_free(platform);
  }
  CHECK(checked > 150, "only %zu combinations", checked);
  return check_report("sent bytes");
}
