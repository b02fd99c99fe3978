/* Every schedule moves the right data: members hold, for each chunk, how often each member's
 * contribution is in it; the rounds are played as sends and receives of such tallies, and in the end
 * every member has what the collective promises, every contribution exactly once. Bytes are counted
 * beside it, message by message, in whole elements, and must equal lh_collective_sent_bytes.
 *
 * Only the steps of the schedules are used, none of their arithmetic.
 */
#include <stdint.h>

#include "sim/net/schedule.h"
#include "tests/net/net_case.h"

/* One member's chunk: tally[c] is how often member c's contribution is in it. */
typedef struct play {
  const lh_platform *platform;
  lh_schedule s;
  uint16_t *have;   /* (n, chunks, n) */
  uint16_t *before; /* the same at the start of the round */
  size_t elements;
  size_t *inter, *intra; /* (n) elements sent */
  const char *what;
} play;

static uint16_t *tally(const play *p, uint16_t *all, size_t member, size_t chunk)
{
  return all + (member * p->s.chunks + chunk) * p->s.n;
}

/* The element ranges of chunks, written down plainly: deal elements to chunks one by one. */
static size_t elements_of(size_t elements, size_t chunks, size_t chunk)
{
  return elements / chunks + (chunk < elements % chunks ? 1 : 0);
}

static bool same_step(const lh_step *a, const lh_step *b)
{
  return a->first == b->first && a->count == b->count && a->add == b->add;
}

/* The steps of a member that go to or come from a peer must be mirrored by the peer. */
static const lh_step *mirror(const lh_round *peer, size_t member, const lh_step *step)
{
  for (size_t i = 0; i < peer->n; i++)
    if (peer->step[i].peer == member && peer->step[i].send != step->send &&
        same_step(&peer->step[i], step))
      return &peer->step[i];
  return NULL;
}

static void deliver(play *p, size_t source, const lh_step *step)
{
  const size_t n = p->s.n;
  for (size_t i = 0; i < step->count; i++) {
    const size_t chunk = (step->first + i) % p->s.chunks;
    const uint16_t *from = tally(p, p->before, source, chunk);
    uint16_t *to = tally(p, p->have, step->peer, chunk);
    for (size_t c = 0; c < n; c++)
      to[c] = (uint16_t)(step->add ? to[c] + from[c] : from[c]);
    const size_t moved = p->s.kind == LH_BARRIER ? 0 : elements_of(p->elements, p->s.chunks, chunk);
    if (lh_platform_same_node(p->platform, p->s.ranks[source], p->s.ranks[step->peer]))
      p->intra[source] += moved;
    else
      p->inter[source] += moved;
  }
}

static void play_round(play *p, size_t round, lh_round *steps)
{
  const size_t n = p->s.n;
  memcpy(p->before, p->have, n * p->s.chunks * n * sizeof *p->have);
  for (size_t m = 0; m < n; m++) {
    steps[m].n = 0;
    p->s.entry->round(&p->s, m, round, &steps[m]);
    CHECK(steps[m].n <= p->s.most_steps, "%s: %zu steps in round %zu, at most %zu were announced",
          p->what, steps[m].n, round, p->s.most_steps);
  }
  for (size_t m = 0; m < n; m++)
    for (size_t i = 0; i < steps[m].n; i++) {
      const lh_step *step = &steps[m].step[i];
      CHECK(step->peer < n && step->peer != m, "%s: member %zu has peer %zu", p->what, m,
            step->peer);
      CHECK(mirror(&steps[step->peer], m, step),
            "%s, n = %zu, round %zu: step of member %zu with %zu has no other end", p->what, n,
            round, m, step->peer);
      if (step->send)
        deliver(p, m, step);
    }
}

/* How often member c's contribution must be in `chunk` at member m in the end; -1: does not matter. */
static int promised(const play *p, size_t m, size_t chunk, size_t c)
{
  const lh_schedule *s = &p->s;
  switch (s->kind) {
  case LH_ALL_REDUCE:
    return 1;
  case LH_BARRIER: /* heard of, however often */
    return tally(p, p->have, m, chunk)[c] ? -1 : 1;
  case LH_REDUCE_SCATTER:
    return chunk == lh_schedule_own_chunk(s, m) ? 1 : -1;
  case LH_ALL_GATHER:
    return chunk == lh_schedule_own_chunk(s, c) ? 1 : 0;
  case LH_BROADCAST:
    return c == s->root ? 1 : 0;
  case LH_REDUCE:
    return m == s->root ? 1 : -1;
  case LH_POINT_TO_POINT:
    return m == 1 ? c == 0 : c == m;
  case LH_PAIRWISE_EXCHANGE:
    return (m ^ 1) < s->n ? c == (m ^ 1) : c == m;
  default:
    return -1;
  }
}

/* What member m has at first of member m's own. */
static int given(const play *p, size_t m, size_t chunk)
{
  if (p->s.kind == LH_ALL_GATHER)
    return chunk == lh_schedule_own_chunk(&p->s, m);
  if (p->s.kind == LH_BROADCAST)
    return m == p->s.root;
  return 1;
}

/* All-to-all: the chunk for m comes to m from everybody else, straight and once. */
static void check_all_to_all(const play *p, lh_round *steps)
{
  const size_t n = p->s.n;
  uint8_t *seen = calloc(n * n, 1);
  for (size_t round = 0; round < p->s.rounds; round++)
    for (size_t m = 0; m < n; m++) {
      steps[0].n = 0;
      p->s.entry->round(&p->s, m, round, &steps[0]);
      for (size_t i = 0; i < steps[0].n; i++) {
        const lh_step *step = &steps[0].step[i];
        if (!step->send)
          continue;
        CHECK(step->first == step->peer && step->count == 1, "%s: wrong chunk", p->what);
        seen[m * n + step->peer]++;
      }
    }
  for (size_t m = 0; m < n; m++)
    for (size_t c = 0; c < n; c++)
      CHECK(seen[m * n + c] == (m != c), "%s: %zu to %zu %u times", p->what, m, c, seen[m * n + c]);
  free(seen);
}

static void check_end(const play *p)
{
  const size_t n = p->s.n;
  for (size_t m = 0; m < n; m++)
    for (size_t chunk = 0; chunk < p->s.chunks; chunk++)
      for (size_t c = 0; c < n; c++) {
        const int expected = promised(p, m, chunk, c);
        const uint16_t got = tally(p, p->have, m, chunk)[c];
        if (expected >= 0 && got != expected) {
          CHECK(false, "%s, n = %zu: chunk %zu of member %zu has member %zu %u times, expected %d",
                p->what, n, chunk, m, c, got, expected);
          return;
        }
      }
}

static void check_bytes(const play *p, const lh_collective *c)
{
  for (size_t m = 0; m < c->n; m++) {
    double inter, intra;
    REQUIRE_OK(lh_collective_sent_bytes(p->platform, c, p->elements, 32, m, &inter, &intra));
    CHECK(inter == 4.0 * (double)p->inter[m] && intra == 4.0 * (double)p->intra[m],
          "%s, n = %zu, %zu elements: member %zu sends %zu + %zu elements, told %g + %g bytes",
          p->what, c->n, p->elements, m, p->inter[m], p->intra[m], inter, intra);
  }
}

static void check(const lh_platform *platform, lh_collective c, size_t elements)
{
  char what[100];
  snprintf(what, sizeof what, "%s by %s on %s", lh_collective_names[c.kind],
           lh_algorithm_names[c.algorithm], platform->name);
  play p = {.platform = platform, .elements = elements, .what = what};
  REQUIRE_OK(lh_schedule_init(&p.s, platform, &c));
  const size_t n = c.n, size = n * p.s.chunks * n;
  p.have = calloc(size, sizeof *p.have);
  p.before = calloc(size, sizeof *p.before);
  p.inter = calloc(n, sizeof *p.inter);
  p.intra = calloc(n, sizeof *p.intra);
  lh_round *steps = calloc(n, sizeof *steps);
  for (size_t m = 0; m < n; m++) {
    steps[m] = lh_round_new(&p.s);
    for (size_t chunk = 0; chunk < p.s.chunks; chunk++)
      tally(&p, p.have, m, chunk)[m] = (uint16_t)given(&p, m, chunk);
  }
  for (size_t round = 0; round < p.s.rounds; round++)
    play_round(&p, round, steps);
  if (c.kind == LH_ALL_TO_ALL)
    check_all_to_all(&p, steps);
  else if (c.algorithm != LH_IN_NETWORK) /* there the switches add, not the members */
    check_end(&p);
  check_bytes(&p, &c);
  for (size_t m = 0; m < n; m++)
    free(steps[m].step);
  free(steps);
  free(p.have);
  free(p.before);
  free(p.inter);
  free(p.intra);
  lh_schedule_fini(&p.s);
}

/* Every algorithm of the table, for every kind that it offers. */
static void check_table(const lh_platform *platform, size_t n, const size_t *ranks)
{
  for (size_t i = 0; lh_algorithm_table[i]; i++)
    for (int kind = 0; kind < LH_COLLECTIVE_COUNT; kind++) {
      const lh_algorithm_entry *entry = lh_algorithm_table[i];
      if (!(entry->kinds & LH_KIND(kind)))
        continue;
      lh_collective c = {.kind = (lh_collective_kind)kind,
                         .algorithm = entry->algorithm,
                         .timing = LH_TIMING_EXACT,
                         .n = n,
                         .ranks = ranks,
                         .root = 2 * n / 3,
                         .bytes = 1e6};
      const lh_status status = lh_collective_check(platform, &c);
      if (status == LH_EUNSUPPORTED &&
          (c.algorithm == LH_IN_NETWORK || c.algorithm == LH_HIERARCHICAL))
        continue;
      REQUIRE_OK(status);
      const size_t sizes[] = {0, 1, n, 7 * n + 3};
      for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
        check(platform, c, sizes[j]);
    }
}

static void groups_on_a_star(void)
{
  for (size_t n = 1; n <= 33; n++) {
    lh_platform *platform = net_star(n, 125, 50);
    size_t *ranks = net_ranks(n);
    check_table(platform, n, ranks);
    free(ranks);
    lh_platform_free(platform);
  }
}

/* Nodes of several, ranks in other orders than node by node. */
static void groups_on_nodes(void)
{
  static const size_t shapes[][2] = {{1, 5}, {2, 2}, {2, 4}, {3, 2}, {4, 3}, {5, 4}, {3, 8}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const size_t k = shapes[i][0], g = shapes[i][1], n = k * g;
    lh_platform *platform =
        net_platform("{'name': 'nodes', 'nodes': %zu, 'accelerators_per_node': %zu, "
                     "'network': {'topology': 'star', 'bandwidth': '10Gbps', 'latency': '5us', "
                     "'in_network_reduction': %s}, "
                     "'fabric': {'kind': 'switch', 'bandwidth': '300GB/s', 'latency': '1us', "
                     "'in_network_reduction': %s}}",
                     k, g, i % 2 ? "true" : "false", i % 3 ? "true" : "false");
    size_t *ranks = net_ranks(n);
    check_table(platform, n, ranks);
    for (size_t j = 0; j < n; j++) /* by turns */
      ranks[j] = j % k * g + j / k;
    check_table(platform, n, ranks);
    for (size_t j = 0; j < n; j++) /* backwards */
      ranks[j] = n - 1 - j;
    check_table(platform, n, ranks);
    free(ranks);
    lh_platform_free(platform);
  }
}

/* 60 bytes of f32 round four members: hsdp-adamw, "in whole elements". */
static void chunks_of_fifteen(void)
{
  static const double expected[] = {88, 92, 92, 88};
  lh_platform *platform = net_star(4, 125, 50);
  size_t *ranks = net_ranks(4);
  const lh_collective c = {.kind = LH_ALL_REDUCE,
                           .algorithm = LH_RING,
                           .timing = LH_TIMING_EXACT,
                           .n = 4,
                           .ranks = ranks,
                           .bytes = 60};
  for (size_t m = 0; m < 4; m++) {
    double inter, intra;
    REQUIRE_OK(lh_collective_sent_bytes(platform, &c, 15, 32, m, &inter, &intra));
    CHECK(inter == expected[m] && intra == 0, "member %zu sends %g + %g bytes, expected %g", m,
          inter, intra, expected[m]);
  }
  free(ranks);
  lh_platform_free(platform);
}

int main(void)
{
  groups_on_a_star();
  groups_on_nodes();
  chunks_of_fifteen();
  return check_report("schedules");
}
