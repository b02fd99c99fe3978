/* The engine: time, gates, ends, and messages one by one. Expected dates are sums written out by
 * hand; max-min fairness is compared with a naive progressive filling that shares no code.
 */
#include "tests/net/random_flows.h"

typedef struct scene {
  lh_engine *engine;
  lh_gate *gate;
  double at_s[16];
  size_t n;
} scene;

static void note(void *arg)
{
  scene *s = arg;
  s->at_s[s->n++] = lh_engine_now_s(s->engine);
}

static scene *open_scene(const lh_platform *platform, lh_flow_model model, double window_bytes)
{
  static scene s;
  const lh_engine_options options = {
      .flow_model = model, .seed = 7, .tcp_window_bytes = window_bytes};
  REQUIRE_OK(lh_engine_open_with(platform, &options, &s.engine));
  s.gate = lh_gate_new(s.engine);
  return &s;
}

/* ---- time --------------------------------------------------------------------------------------- */

static void sleeper(void *arg)
{
  scene *s = arg;
  lh_engine_sleep_s(s->engine, 0.1);
  note(s); /* 0.1 */
  lh_engine_after_s(s->engine, 0.2, note, s);
  lh_engine_sleep_s(s->engine, 1e-9);
  note(s); /* 0.1 + 1e-9: nothing is rounded to microseconds */
  lh_gate_wait(s->gate);
  note(s);               /* when the other one opens it */
  lh_gate_wait(s->gate); /* opened before: at once */
  note(s);
  lh_engine_sleep_s(s->engine, 0.0);
  note(s);
}

static void opener(void *arg)
{
  scene *s = arg;
  lh_engine_sleep_s(s->engine, 0.5);
  lh_gate_open(s->gate);
  lh_gate_open(s->gate);
}

static void time_and_gates(void *arg)
{
  (void)arg;
  lh_platform *platform = net_star(2, 1, 1);
  scene *s = open_scene(platform, LH_FLOW_IDEAL, 0);
  REQUIRE_OK(lh_engine_spawn(s->engine, "sleeper", sleeper, s));
  REQUIRE_OK(lh_engine_spawn(s->engine, "opener", opener, s));
  REQUIRE_OK(lh_engine_run(s->engine));
  const double expected[] = {0.1, 0.1 + 1e-9, 0.1 + 0.2, 0.5, 0.5, 0.5};
  CHECK(s->n == 6, "%zu notes, expected 6", s->n);
  for (size_t i = 0; i < 6; i++)
    CHECK_NEAR(s->at_s[i], expected[i], 1e-15, "note %zu", i);
  lh_engine *second;
  CHECK(lh_engine_open(platform, LH_FLOW_IDEAL, 1, &second) == LH_EINTERNAL, "a second engine");
  lh_gate_free(s->gate);
  lh_engine_close(s->engine);
  lh_platform_free(platform);
}

/* What is due at the same date happens in the order in which it was asked for. */
typedef struct turn {
  size_t *next, number;
} turn;

static void take_turn(void *arg)
{
  turn *t = arg;
  CHECK(*t->next == t->number, "number %zu came when %zu was due", t->number, *t->next);
  ++*t->next;
}

static void same_date(void *arg)
{
  (void)arg;
  lh_platform *platform = net_star(2, 1, 1);
  scene *s = open_scene(platform, LH_FLOW_IDEAL, 0);
  static turn turns[100];
  size_t next = 0;
  for (size_t i = 0; i < 100; i++) {
    turns[i] = (turn){.next = &next, .number = i};
    lh_engine_after_s(s->engine, 1.0, take_turn, &turns[i]);
  }
  REQUIRE_OK(lh_engine_run(s->engine));
  CHECK(next == 100, "%zu of 100 came", next);
  lh_engine_close(s->engine);
}

/* ---- ends --------------------------------------------------------------------------------------- */

static void waiter(void *arg)
{
  scene *s = arg;
  lh_gate_wait(s->gate);
}

static void deadlock(void *arg)
{
  (void)arg;
  lh_platform *platform = net_star(2, 1, 1);
  scene *s = open_scene(platform, LH_FLOW_IDEAL, 0);
  for (int i = 0; i < 3; i++)
    REQUIRE_OK(lh_engine_spawn(s->engine, "waiter", waiter, s));
  REQUIRE_OK(lh_engine_spawn(s->engine, "opener", opener, s)); /* frees two of three */
  CHECK(lh_engine_run(s->engine) == LH_EDEADLOCK, "a deadlock is not told");
  CHECK(strstr(lh_fail_text(), "1 ranks wait"), "text: %s", lh_fail_text());
  lh_engine_close(s->engine);
}

static void quitter(void *arg)
{
  scene *s = arg;
  lh_engine_sleep_s(s->engine, 0.25);
  lh_engine_abort(s->engine, LH_EDIVERGED);
  lh_engine_abort(s->engine, LH_EIO); /* the first one counts */
}

static void aborting(void *arg)
{
  (void)arg;
  lh_platform *platform = net_star(2, 1, 1);
  scene *s = open_scene(platform, LH_FLOW_IDEAL, 0);
  REQUIRE_OK(lh_engine_spawn(s->engine, "waiter", waiter, s));
  REQUIRE_OK(lh_engine_spawn(s->engine, "quitter", quitter, s));
  lh_engine_after_s(s->engine, 0.5, note, s);
  CHECK(lh_engine_run(s->engine) == LH_EDIVERGED, "the status of the abort");
  CHECK(s->n == 0, "time went on after an abort");
  CHECK_NEAR(lh_engine_now_s(s->engine), 0.25, 1e-15, "date of the abort");
  lh_engine_close(s->engine);
}

/* ---- messages ------------------------------------------------------------------------------------ */

static const lh_engine_options ideal = {.flow_model = LH_FLOW_IDEAL, .seed = 7};
/* Nodes 0, 1, 3 are 1 ms from the switch, node 2 is 500 ms; 1 MB/s each way. */
#define NEAR_AND_FAR                                                                               \
  "{'nodes': 4, 'network': {'topology': 'custom', 'bandwidth': '1MB/s', 'latency': '1ms', "        \
  "'links': [{'from': 0, 'to': 's'}, {'from': 1, 'to': 's'}, "                                     \
  "{'from': 2, 'to': 's', 'latency': '500ms'}, {'from': 3, 'to': 's'}]}%s}"

static void alone(void *arg)
{
  (void)arg;
  message m[] = {
      MESSAGE(0, 1, 0, 0, INFINITY, 2e-3),                      /* nothing to carry: latency only */
      MESSAGE(0, 0, 5e6, 0.25, INFINITY, 0.25),                 /* to itself: the delay only */
      MESSAGE(2, 3, 1e6, 0, INFINITY, 0.501 + 1.0),             /* latency + bytes / bandwidth */
      MESSAGE(1, 0, 0.25, 0.5, INFINITY, 0.5 + 2e-3 + 0.25e-6), /* a part of a byte; overheads */
      MESSAGE(3, 1, 1e5, 0, 1e5, 2e-3 + 1.0),                   /* a cap of its own */
  };
  expect_all("alone", net_platform(NEAR_AND_FAR, ""), &ideal, m, COUNT(m), 1e-12);
}

/* Both into node 1. The near one begins at 2 ms, the far one at 501 ms; from then on each has half,
 * whatever its latency (SimGrid's CM02 would give the near one 250 times as much).
 * Near: 0.499 MB alone, the other 0.501 MB at half rate. Then the far one has the rest to itself. */
static void fair_whatever_the_latency(void *arg)
{
  (void)arg;
  message m[] = {MESSAGE(0, 1, 1e6, 0, INFINITY, 0.501 + 2 * 0.501),
                 MESSAGE(2, 1, 1e6, 0, INFINITY, 0.501 + 2 * 0.501 + 0.499)};
  expect_all("fair", net_platform(NEAR_AND_FAR, ""), &ideal, m, COUNT(m), 1e-12);
}

/* A capped flow leaves the rest to the others. Out of node 0: the first has its 0.2 MB/s until 0.502
 * s; the second 0.8 MB/s from the start; the third begins at 0.501 s, has 0.8 MB/s for the 1 ms that
 * the first still runs, and then all. */
static void caps_leave_the_rest(void *arg)
{
  (void)arg;
  message m[] = {MESSAGE(0, 1, 1e5, 0, 0.2e6, 2e-3 + 0.5),
                 MESSAGE(0, 3, 2e5, 0, INFINITY, 2e-3 + 0.2 / 0.8),
                 MESSAGE(0, 2, 4e5, 0, INFINITY, 0.502 + (0.4 - 0.8e-3))};
  expect_all("caps", net_platform(NEAR_AND_FAR, ""), &ideal, m, COUNT(m), 1e-12);
}

/* A cap of the route holds beside the message's own. */
static void caps_of_the_route(void *arg)
{
  (void)arg;
  message m[] = {MESSAGE(0, 1, 1e5, 0, INFINITY, 2e-3 + 0.5),
                 MESSAGE(1, 0, 1e5, 0, 0.1e6, 2e-3 + 1), MESSAGE(2, 3, 1e5, 0, 0.5e6, 2e-3 + 0.5)};
  lh_platform *platform = net_platform("{'nodes': 4, 'network': {'topology': 'star', 'bandwidth': "
                                       "'1MB/s', 'latency': '1ms', 'flow_cap': '0.2MB/s'}}");
  expect_all("route caps", platform, &ideal, m, COUNT(m), 1e-12);
}

/* ---- faults and variation ------------------------------------------------------------------------ */

/* Node 0's link at a tenth from 0.502 s to 1.502 s; node 3 down from 0 to 2 s. */
static void faults(void *arg)
{
  (void)arg;
  static const char text[] =
      ", 'faults': [{'link': 'node-0-s.forth', 'from': '502ms', 'to': '1502ms', "
      "'bandwidth': '0.1MB/s'}, {'node': 3, 'from': '0s', 'to': '2s'}]";
  message m[] = {
      MESSAGE(0, 1, 1e6, 0, INFINITY, 2e-3 + 0.5 + 1.0 + 0.4), /* 0.5 MB, 0.1 MB, 0.4 MB */
      MESSAGE(1, 3, 1e6, 0, INFINITY, 2.0 + 2e-3 + 1.0),       /* waits until node 3 is up */
      MESSAGE(2, 1, 1e5, 1.6, INFINITY, 1.6 + 0.501 + 0.1),
  };
  expect_all("faults", net_platform(NEAR_AND_FAR, text), &ideal, m, COUNT(m), 1e-12);
}

static void down_for_ever(void *arg)
{
  (void)arg;
  lh_platform *platform = net_platform(NEAR_AND_FAR, ", 'faults': [{'node': 3, 'from': '1s'}]");
  scene *s = open_scene(platform, LH_FLOW_IDEAL, 0);
  REQUIRE_OK(lh_engine_spawn(s->engine, "waiter", waiter, s));
  lh_engine_send(s->engine, 0, 1, 2e6, 0, INFINITY, note, s);
  REQUIRE_OK(lh_engine_spawn(s->engine, "opener", opener, s));
  CHECK(lh_engine_run(s->engine) == LH_OK, "nobody waits for node 3: %s", lh_fail_text());
  lh_engine_close(s->engine);
}

/* The latency's factor is drawn per message from the seed: the same twice, another with another
 * seed, and only the latency is touched. */
static void variation(void *arg)
{
  const uint64_t *seeds = arg;
  static const char text[] = ", 'variation': {'latency': {'distribution': 'lognormal', "
                             "'sigma': 0.5}}";
  lh_platform *platform = net_platform(NEAR_AND_FAR, text);
  message m[] = {MESSAGE(0, 1, 0, 0, INFINITY, 0), MESSAGE(0, 1, 0, 0, INFINITY, 0)};
  lh_engine_options options = ideal;
  options.seed = seeds[0];
  send_all(platform, &options, m, COUNT(m));
  for (size_t i = 0; i < COUNT(m); i++)
    m[i].expected_s =
        2e-3 * lh_variation_draw(&platform->latency_variation, seeds[1], LH_PURPOSE_LATENCY, i, 0);
  const bool same =
      fabs(m[0].end_s - m[0].expected_s) < 1e-15 && fabs(m[1].end_s - m[1].expected_s) < 1e-15;
  CHECK(same == (seeds[0] == seeds[1]), "seed %d: %g %g", (int)seeds[0], m[0].end_s, m[1].end_s);
  CHECK(m[0].end_s != m[1].end_s, "two messages, one draw");
}

/* ---- max-min against a naive reference ----------------------------------------------------------- */

/* All rates of running flows grow together in small exact steps to the next thing that stops one: a
 * full link or a cap. O(flows^2 links), on purpose. */
static void naive_rates(random_flow *f, const bool *running, const double *capacity)
{
  bool growing[FLOWS];
  for (size_t i = 0; i < FLOWS; i++) {
    growing[i] = running[i];
    f[i].rate = 0;
  }
  for (;;) {
    double step = INFINITY;
    for (size_t l = 0; l < LINKS; l++) {
      double used = 0, n = 0;
      for (size_t i = 0; i < FLOWS; i++)
        if (running[i] && crosses(&f[i], l)) {
          used += f[i].rate;
          n += growing[i];
        }
      if (n > 0)
        step = fmin(step, (capacity[l] - used) / n);
    }
    for (size_t i = 0; i < FLOWS; i++)
      if (growing[i])
        step = fmin(step, f[i].cap_Bps - f[i].rate);
    if (isinf(step))
      return;
    for (size_t i = 0; i < FLOWS; i++)
      if (growing[i])
        f[i].rate += step;
    for (size_t l = 0; l < LINKS; l++) {
      double used = 0;
      for (size_t i = 0; i < FLOWS; i++)
        if (running[i] && crosses(&f[i], l))
          used += f[i].rate;
      for (size_t i = 0; i < FLOWS; i++)
        if (growing[i] && crosses(&f[i], l) && used >= capacity[l] * (1 - 1e-12))
          growing[i] = false;
    }
    for (size_t i = 0; i < FLOWS; i++)
      if (growing[i] && f[i].rate >= f[i].cap_Bps * (1 - 1e-12))
        growing[i] = false;
  }
}

static void naive_simulation(random_flow *f, const double *capacity)
{
  bool running[FLOWS] = {false}, ended[FLOWS] = {false};
  double now = 0;
  for (size_t i = 0; i < FLOWS; i++)
    f[i].left = f[i].bytes;
  for (;;) {
    naive_rates(f, running, capacity);
    double next = INFINITY;
    for (size_t i = 0; i < FLOWS; i++)
      if (running[i])
        next = fmin(next, now + f[i].left / f[i].rate);
      else if (!ended[i])
        next = fmin(next, f[i].begin_s);
    if (isinf(next))
      return;
    for (size_t i = 0; i < FLOWS; i++) {
      if (running[i]) {
        f[i].left -= f[i].rate * (next - now);
        if (f[i].left <= 1e-9 * f[i].bytes) {
          running[i] = false;
          ended[i] = true;
          f[i].end_s = next;
        }
      } else if (!ended[i] && f[i].begin_s <= next)
        running[i] = true;
    }
    now = next;
  }
}

static void random_flows(void *arg)
{
  static random_flow f[FLOWS];
  double capacity[LINKS];
  random_flows_make(*(const uint64_t *)arg, f, capacity);
  naive_simulation(f, capacity);
  lh_platform *platform = random_platform(f, capacity);
  message m[FLOWS];
  for (size_t i = 0; i < FLOWS; i++)
    m[i] = (message){.src = 2 * i,
                     .dst = 2 * i + 1,
                     .bytes = f[i].bytes,
                     .delay_s = f[i].begin_s,
                     .cap_Bps = f[i].cap_Bps,
                     .expected_s = f[i].end_s};
  expect_all("max-min", platform, &ideal, m, FLOWS, 1e-9);
}

int main(void)
{
  net_fork(time_and_gates, NULL);
  net_fork(same_date, NULL);
  net_fork(deadlock, NULL);
  net_fork(aborting, NULL);
  net_fork(alone, NULL);
  net_fork(fair_whatever_the_latency, NULL);
  net_fork(caps_leave_the_rest, NULL);
  net_fork(caps_of_the_route, NULL);
  net_fork(faults, NULL);
  net_fork(down_for_ever, NULL);
  static uint64_t seeds[][2] = {{7, 7}, {8, 7}};
  net_fork(variation, seeds[0]);
  net_fork(variation, seeds[1]);
  for (uint64_t seed = 1; seed <= 40; seed++)
    net_fork(random_flows, &seed);
  return check_report("engine");
}
