/* The `tcp` flow model: SimGrid's LV08, whose one-flow formula is 13.01 x latency + S / rate, rate
 * the smaller of 0.97 x bandwidth and window / round trip. */
#include <math.h>

#include "tests/net/net_message.h"

static const double MB = 1e6;

/* Two nodes 40 ms apart, each way. */
static lh_platform *far_apart(double bandwidth_Mbps)
{
  return net_platform("{'nodes': 2, 'network': {'topology': 'star', 'bandwidth': '%.17gMbps', "
                      "'latency': '20ms'}}",
                      bandwidth_Mbps);
}

static void one_flow(void *arg)
{
  (void)arg;
  const lh_engine_options options = {.flow_model = LH_FLOW_TCP};
  message m[] = {
      MESSAGE(0, 1, 10 * MB, 0.5, INFINITY, 0.5 + 13.01 * 0.04 + 10 * MB / (0.97 * 1.25e6))};
  expect_all("one flow", far_apart(10), &options, m, COUNT(m), 1e-6);
}

/* A byte at least: nothing still pays the latency. A cap holds beside the link (and, as the link's
 * own rate, loses 3 % to headers). */
static void nothing_and_caps(void *arg)
{
  (void)arg;
  const lh_engine_options options = {.flow_model = LH_FLOW_TCP};
  message m[] = {MESSAGE(0, 1, 0, 0, INFINITY, 13.01 * 0.04 + 1 / (0.97 * 1.25e6)),
                 MESSAGE(1, 0, MB, 2, 0.1e6, 2 + 13.01 * 0.04 + MB / (0.97 * 0.1e6)),
                 MESSAGE(0, 0, MB, 0.25, INFINITY, 0.25)};
  expect_all("nothing and caps", far_apart(10), &options, m, COUNT(m), 1e-6);
}

static void faults(void *arg)
{
  (void)arg;
  lh_platform *platform = net_platform(
      "{'nodes': 2, 'network': {'topology': 'star', 'bandwidth': '10Mbps', 'latency': '0s'}, "
      "'faults': [{'link': 'node-0.up', 'from': '1s', 'to': '3s', 'bandwidth': '1Mbps'}]}");
  const lh_engine_options options = {.flow_model = LH_FLOW_TCP};
  /* 1 s at full rate, 2 s at a tenth: 1.2 s' worth; then the rest. */
  message m[] = {MESSAGE(0, 1, 2 * 0.97 * 1.25e6, 0, INFINITY, 3.8)};
  expect_all("faults", platform, &options, m, COUNT(m), 1e-6);
}

/* ---- shared/cases/tcp-window-and-streams.json ---------------------------------------------------- */

typedef struct stream_case {
  lh_flow_model model;
  double bandwidth_Mbps, window_bytes, bytes;
  size_t flows;
} stream_case;

static double streams_s(void *arg)
{
  const stream_case *c = arg;
  const lh_engine_options options = {.flow_model = c->model, .tcp_window_bytes = c->window_bytes};
  message m[3];
  for (size_t i = 0; i < c->flows; i++)
    m[i] = (message)MESSAGE(0, 1, c->bytes, 0, INFINITY, 0);
  send_all(far_apart(c->bandwidth_Mbps), &options, m, c->flows);
  return m[0].end_s;
}

/* The rate of all flows together once they run: what 100 MB more of each cost. */
static double rate_Mbps(lh_flow_model model, double bandwidth_Mbps, double window_bytes,
                        size_t flows)
{
  stream_case c = {model, bandwidth_Mbps, window_bytes, 100 * MB, flows};
  const double once_s = net_fork_double(streams_s, &c);
  c.bytes *= 2;
  const double twice_s = net_fork_double(streams_s, &c);
  return (double)flows * 100 * MB * 8e-6 / (twice_s - once_s);
}

/* a: a 64 KiB window over 80 ms carries 6.5536 Mbit/s of a 1 Gbit/s link. Only tcp has windows. */
static void window(void)
{
  const double tcp = rate_Mbps(LH_FLOW_TCP, 1000, 65536, 1);
  CHECK_NEAR(tcp, 6.5536, 0.001 * 6.5536, "window over round trip");
  const double full = rate_Mbps(LH_FLOW_IDEAL, 1000, 65536, 1);
  CHECK_NEAR(full, 1000, 1e-6 * 1000, "ideal knows no window");
}

/* b: 1, 2 and 3 streams of 350 Mbit/s each on a line with 940 usable: 350, 600 and 789 measured. The
 * window is what gives one stream its 350; LV08's 3 % are added to the line, as 940 is net. */
static void streams(void)
{
  static const double measured_Mbps[] = {350, 600, 789};
  const double window_bytes = 350e6 / 8 * 0.08, line_Mbps = 940 / 0.97;
  for (size_t k = 1; k <= 3; k++) {
    const double got = rate_Mbps(LH_FLOW_TCP, line_Mbps, window_bytes, k);
    CHECK_NEAR(got, fmin(350.0 * (double)k, 940), 0.001 * got, "%zu streams by the formula", k);
    CHECK_NEAR(got, measured_Mbps[k - 1], 0.25 * measured_Mbps[k - 1], "%zu streams measured", k);
  }
}

/* A ring under tcp: 13.01 latencies a round, 97 % of the links; the 5 % that LV08 gives to the
 * acknowledgements flow against the payload on the same links. Fluid must say the same. */
static void ring(void *arg)
{
  const lh_timing *timing = arg;
  lh_platform *platform = net_star(8, 125, 50);
  size_t *ranks = net_ranks(8);
  const double seconds = net_time_s(platform, LH_FLOW_TCP,
                                    (lh_collective){.kind = LH_ALL_REDUCE,
                                                    .algorithm = LH_RING,
                                                    .timing = *timing,
                                                    .n = 8,
                                                    .ranks = ranks,
                                                    .bytes = 100e6});
  /* Each link carries a flow and 5 % of the next one's against it. */
  const double expected = 14 * (13.01 * 100e-6 + 12.5e6 / (0.97 * 125e6 / 1.05));
  CHECK_NEAR(seconds, expected, 0.005 * expected, "%s", lh_timing_names[*timing]);
}

int main(void)
{
  net_fork(one_flow, NULL);
  net_fork(nothing_and_caps, NULL);
  net_fork(faults, NULL);
  window();
  streams();
  static lh_timing timings[] = {LH_TIMING_EXACT, LH_TIMING_FLUID};
  net_fork(ring, &timings[0]);
  net_fork(ring, &timings[1]);
  return check_report("tcp");
}
