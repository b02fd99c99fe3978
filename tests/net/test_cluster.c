/* Ranks, groups and streams: what a collective does to numbers, when it ends, and whose waiting is whose.
 *
 * Numbers are compared with sums written out here; 16-bit rounding with a bit-wise one of its own; times
 * with the ring's closed form on a star of 1 MB/s and 1 ms from a node to the switch.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cluster/cluster.h"
#include "tests/net/net_case.h"

#define RANKS 3
#define LINK_S 1e-3
#define BYTES_PER_S 1e6

static double ring_s(size_t n, double bytes)
{
  return 2.0 * (double)(n - 1) * (2 * LINK_S + bytes / (double)n / BYTES_PER_S);
}

/* SimGrid runs once per process: every case is a child. */
static lh_status run_case(size_t nodes, size_t accelerators,
                          lh_status (*main)(void *arg, lh_rank *rank))
{
  lh_platform *platform = net_platform(
      "{'name': 'star', 'nodes': %zu, 'accelerators_per_node': %zu, 'device': 'ideal', "
      "'fabric': {'bandwidth': '100GB/s', 'latency': '0s'}, "
      "'network': {'topology': 'star', 'bandwidth': '1MB/s', 'latency': '1ms'}}",
      nodes, accelerators);
  lh_collective_settings settings = {.timing = LH_TIMING_EXACT};
  settings.algorithm[LH_ALL_REDUCE] = LH_RING;
  lh_cluster *cluster;
  REQUIRE_OK(lh_cluster_open(platform, &lh_backend_cpu, LH_FLOW_IDEAL, &settings, 1, &cluster));
  lh_status status = lh_cluster_run(cluster, main, NULL);
  lh_cluster_close(cluster);
  lh_platform_free(platform);
  return status;
}

static void in_child(const char *name, size_t nodes, size_t accelerators,
                     lh_status (*main)(void *arg, lh_rank *rank), lh_status expected,
                     const char *reason)
{
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    check_failures = 0;
    const lh_status status = run_case(nodes, accelerators, main);
    CHECK(status == expected, "%s: %s: %s", name, lh_status_text(status), lh_fail_text());
    CHECK(!reason || strstr(lh_fail_text(), reason), "%s: \"%s\"", name, lh_fail_text());
    _exit(check_failures ? 1 : 0);
  }
  int ended;
  waitpid(child, &ended, 0);
  CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 0, "%s", name);
}

static lh_tensor tensor(lh_rank *rank, size_t n, const double *values)
{
  lh_tensor x = {0};
  REQUIRE_OK(lh_tensor_alloc_1d(lh_rank_device(rank), &x, "test", LH_F32, n));
  REQUIRE_OK(lh_tensor_set(&x, values, n));
  return x;
}

static void expect(const lh_tensor *x, const double *expected, size_t n, const char *what)
{
  double got[16];
  REQUIRE_OK(lh_tensor_get(x, got, n));
  for (size_t i = 0; i < n; i++)
    CHECK(got[i] == expected[i], "%s[%zu]: %.9g, expected %.9g", what, i, got[i], expected[i]);
}

/* To nearest, ties to even, on the upper 16 bits. */
static float bf16(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t low = bits & 0xffff;
  bits &= 0xffff0000;
  if (low > 0x8000 || (low == 0x8000 && (bits & 0x10000)))
    bits += 0x10000;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static lh_status sums(void *arg, lh_rank *rank)
{
  (void)arg;
  /* 1e8 swallows the 4 of rank 1, and gives it back only if the order is another one. */
  static const double given[RANKS][2] = {{1e8, 1.0 / 3}, {4, 1.0 / 7}, {-1e8, 1.0 / 11}};
  const size_t i = lh_rank_index(rank);
  lh_tensor x = tensor(rank, 2, given[i]);
  LH_TRY(lh_all_reduce(rank, lh_world(rank), &x, LH_SUM, LH_F32));
  const float in_order = ((float)given[0][1] + (float)given[1][1]) + (float)given[2][1];
  const double first = (double)(((float)1e8 + 4.0f) + (float)-1e8);
  expect(&x, (double[]){first, (double)in_order}, 2, "sum");
  CHECK_NEAR(lh_now_s(rank), ring_s(RANKS, 8), 1e-9, "time of the sum");
  lh_tensor_free(&x);

  lh_tensor y = tensor(rank, 1, (double[]){given[i][1]});
  LH_TRY(lh_all_reduce(rank, lh_world(rank), &y, LH_MEAN, LH_BF16));
  float sum = bf16((float)given[0][1]);
  for (size_t j = 1; j < RANKS; j++)
    sum = bf16(sum + bf16((float)given[j][1]));
  double got;
  REQUIRE_OK(lh_tensor_get(&y, &got, 1));
  CHECK_NEAR(got, (double)sum / 3, fabs((double)sum / 3) / 256, "mean on a bf16 wire");
  lh_tensor_free(&y);
  return LH_OK;
}

static lh_status moves(void *arg, lh_rank *rank)
{
  (void)arg;
  const double i = (double)lh_rank_index(rank);
  lh_tensor six = tensor(rank, 6, (double[]){i, i + 10, i + 20, i + 30, i + 40, i + 50});
  lh_tensor two = tensor(rank, 2, (double[]){0, 0}),
            gathered = tensor(rank, 6, (double[]){0, 0, 0, 0, 0, 0});
  lh_pending *pending;
  LH_TRY(lh_reduce_scatter_start(rank, lh_world(rank), 0, &six, &two, LH_SUM, LH_F32, &pending));
  LH_TRY(lh_wait(rank, &pending));
  expect(&two, (double[]){3 + 60 * i, 3 + 60 * i + 30}, 2, "reduce-scatter");
  LH_TRY(lh_all_gather_start(rank, lh_world(rank), 0, &two, &gathered, LH_F32, &pending));
  LH_TRY(lh_wait(rank, &pending));
  expect(&gathered, (double[]){3, 33, 63, 93, 123, 153}, 6, "all-gather");
  LH_TRY(lh_broadcast_start(rank, lh_world(rank), 0, &six, 1, LH_F32, &pending));
  LH_TRY(lh_wait(rank, &pending));
  expect(&six, (double[]){1, 11, 21, 31, 41, 51}, 6, "broadcast");
  if (i < 2) {
    lh_tensor mine = tensor(rank, 1, (double[]){7 + i}), theirs = tensor(rank, 1, (double[]){0});
    LH_TRY(lh_exchange_start(rank, 1 - lh_rank_index(rank), 0, &mine, &theirs, LH_F32, &pending));
    LH_TRY(lh_wait(rank, &pending));
    expect(&theirs, (double[]){8 - i}, 1, "exchange");
    expect(&mine, (double[]){7 + i}, 1, "what was sent");
    lh_tensor_free(&mine);
    lh_tensor_free(&theirs);
  }
  lh_tensor_free(&six);
  lh_tensor_free(&two);
  lh_tensor_free(&gathered);
  return LH_OK;
}

/* Three addends whose sum loses its last bit when every partial sum is rounded to bf16, and keeps it when
 * only the result is: 256 + 1 + 1 = 258, but bf16(256 + 1) is 256. */
static lh_status rounded_once(void *arg, lh_rank *rank)
{
  (void)arg;
  const double own = lh_rank_index(rank) ? 1 : 256;
  lh_tensor x = tensor(rank, 3, (double[]){own, own, own}), part = tensor(rank, 1, (double[]){0});
  lh_pending *pending;
  LH_TRY(lh_reduce_scatter_start(rank, lh_world(rank), 0, &x, &part, LH_SUM_ROUNDED_ONCE, LH_BF16,
                                 &pending));
  LH_TRY(lh_wait(rank, &pending));
  expect(&part, (double[]){258}, 1, "reduce-scatter, rounded once");
  LH_TRY(lh_reduce_scatter_start(rank, lh_world(rank), 0, &x, &part, LH_SUM, LH_BF16, &pending));
  LH_TRY(lh_wait(rank, &pending));
  expect(&part, (double[]){256}, 1, "reduce-scatter, rounded on its way");
  LH_TRY(lh_all_reduce(rank, lh_world(rank), &x, LH_SUM_ROUNDED_ONCE, LH_BF16));
  expect(&x, (double[]){258, 258, 258}, 3, "all-reduce, rounded once");
  lh_tensor_free(&x);
  lh_tensor_free(&part);
  return LH_OK;
}

/* Rank 0 sends two to rank 2, and receives one from it on the same stream; rank 1 is not asked. */
static lh_status messages(void *arg, lh_rank *rank)
{
  (void)arg;
  const size_t i = lh_rank_index(rank);
  if (i == 1)
    return LH_OK;
  lh_tensor x = tensor(rank, 1, (double[]){i ? 0 : 1.0 / 3}),
            y = tensor(rank, 1, (double[]){5 + i});
  lh_tensor z = tensor(rank, 1, (double[]){(double)i});
  lh_pending *first, *second, *back;
  LH_TRY(lh_message_start(rank, 0, 2, 0, &x, LH_BF16, &first));
  LH_TRY(lh_message_start(rank, 0, 2, 0, &y, LH_F32, &second));
  LH_TRY(lh_message_start(rank, 2, 0, 0, &z, LH_F32, &back));
  LH_TRY(lh_wait(rank, &first));
  CHECK_NEAR(lh_now_s(rank), 2 * LINK_S + 2 / BYTES_PER_S, 1e-9, "one message of 2 bytes");
  LH_TRY(lh_wait(rank, &second));
  LH_TRY(lh_wait(rank, &back));
  expect(&x, (double[]){i ? (double)bf16((float)(1.0 / 3)) : (double)(float)(1.0 / 3)}, 1, "first");
  expect(&y, (double[]){5}, 1, "second");
  expect(&z, (double[]){2}, 1, "back");
  CHECK_NEAR(lh_rank_statistics_of(rank).inter_node_bytes, i ? 4 : 6, 1e-9, "bytes of rank %zu", i);
  lh_tensor_free(&x);
  lh_tensor_free(&y);
  lh_tensor_free(&z);
  return LH_OK;
}

static lh_status to_itself(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor x = tensor(rank, 1, (double[]){1});
  lh_pending *pending;
  const size_t i = lh_rank_index(rank);
  const lh_status status = lh_message_start(rank, i, i, 0, &x, LH_F32, &pending);
  lh_tensor_free(&x);
  return status;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Two collectives on one stream run one after the other; beside them the rank computes. */
static lh_status overlap(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor a = tensor(rank, 3, (double[]){1, 2, 3}), b = tensor(rank, 3, (double[]){4, 5, 6});
  lh_pending *first, *second;
  const double one_s = ring_s(RANKS, 12);
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &a, LH_SUM, LH_F32, &first));
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &b, LH_SUM, LH_F32, &second));
  lh_device_charge_s(lh_rank_device(rank), 1.5 * one_s);
  CHECK(lh_is_done(rank, first), "the first one is over after one and a half times its length");
  CHECK(!lh_is_done(rank, second), "the second one is not");
  LH_TRY(lh_wait(rank, &second));
  LH_TRY(lh_wait(rank, &first));
  CHECK_NEAR(lh_now_s(rank), 2 * one_s, 1e-9, "both");
  const lh_rank_statistics s = lh_rank_statistics_of(rank);
  CHECK_NEAR(s.compute_s, 1.5 * one_s, 1e-12, "compute");
  CHECK_NEAR(s.exposed_communication_s, 0.5 * one_s, 1e-9, "exposed");
  CHECK_NEAR(s.communication_s, 2 * one_s, 1e-9, "communication");
  CHECK_NEAR(s.straggler_wait_s, 0, 1e-12, "straggler");
  lh_tensor_free(&a);
  lh_tensor_free(&b);
  return LH_OK;
}

/* On streams of their own two collectives share the links: together they take as long as one of twice
 * the size, but pay the latency once. */
static lh_status two_streams(void *arg, lh_rank *rank)
{
  (void)arg;
  static const double zeros[3000];
  lh_tensor a = tensor(rank, 3000, zeros), b = tensor(rank, 3000, zeros);
  lh_pending *first, *second;
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &a, LH_SUM, LH_F32, &first));
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 1, &b, LH_SUM, LH_F32, &second));
  LH_TRY(lh_wait(rank, &first));
  LH_TRY(lh_wait(rank, &second));
  CHECK_NEAR(lh_now_s(rank), ring_s(RANKS, 24000), 1e-9, "two streams");
  lh_tensor_free(&a);
  lh_tensor_free(&b);
  return LH_OK;
}

struct doubling {
  lh_tensor *x;
  double takes_s;
};

static lh_status double_it(void *ctx)
{
  const struct doubling *d = ctx;
  lh_device_charge_s(d->x->device, d->takes_s);
  return lh_scale(d->x->device, d->x, 2);
}

/* sum, doubled on the stream, summed again: the rank computes through all of it, and only the stream's
 * time counts. Numbers show the order. */
static lh_status launches(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor x = tensor(rank, 3, (double[]){1, 2, 3});
  struct doubling twice = {.x = &x, .takes_s = 0.5};
  lh_pending *first, *launch, *last;
  const double one_s = ring_s(RANKS, 12);
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &x, LH_SUM, LH_F32, &first));
  LH_TRY(lh_launch_start(rank, 0, double_it, &twice, &launch));
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &x, LH_SUM, LH_F32, &last));
  lh_device_charge_s(lh_rank_device(rank), 0.25);
  CHECK(lh_is_done(rank, first) && !lh_is_done(rank, launch), "the launch is busy at 0.25 s");
  LH_TRY(lh_wait(rank, &launch));
  CHECK_NEAR(lh_now_s(rank), one_s + 0.5, 1e-9, "after the launch");
  LH_TRY(lh_wait(rank, &first));
  LH_TRY(lh_wait(rank, &last));
  CHECK_NEAR(lh_now_s(rank), 2 * one_s + 0.5, 1e-9, "after all");
  expect(&x, (double[]){18, 36, 54}, 3, "((1 * 3) * 2) * 3");
  const lh_rank_statistics s = lh_rank_statistics_of(rank);
  CHECK_NEAR(s.compute_s, 0.25, 1e-12, "compute is the rank's own");
  CHECK_NEAR(s.communication_s, 2 * one_s, 1e-9, "communication");
  CHECK_NEAR(s.exposed_communication_s, 2 * one_s + 0.25, 1e-9, "exposed");
  lh_tensor_free(&x);
  return LH_OK;
}

static lh_status fails(void *ctx)
{
  (void)ctx;
  return lh_fail(LH_EDIVERGED, "in a launch");
}

static lh_status failing_launch(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_pending *pending;
  LH_TRY(lh_launch_start(rank, 1, fails, NULL, &pending));
  return lh_wait(rank, &pending);
}

/* Stream 1 must wait for stream 0: the all-reduce of y reads what the one of x made, and both together
 * take the sum of their times. A second mark on a finished one holds nothing back. */
static lh_status streams_in_order(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor x = tensor(rank, 3, (double[]){1, 2, 3});
  lh_pending *first, *second, *third;
  const double one_s = ring_s(RANKS, 12);
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 0, &x, LH_SUM, LH_F32, &first));
  LH_TRY(lh_stream_after(rank, 1, first));
  LH_TRY(lh_stream_after(rank, 2, first));
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 1, &x, LH_SUM, LH_F32, &second));
  CHECK(lh_now_s(rank) == 0, "nothing blocks");
  LH_TRY(lh_wait(rank, &second));
  CHECK_NEAR(lh_now_s(rank), 2 * one_s, 1e-9, "one after the other");
  expect(&x, (double[]){9, 18, 27}, 3, "the second sums what the first has summed");
  LH_TRY(lh_stream_after(rank, 1, first));
  LH_TRY(lh_stream_after(rank, 1, NULL));
  LH_TRY(lh_all_reduce_start(rank, lh_world(rank), 1, &x, LH_SUM, LH_F32, &third));
  LH_TRY(lh_wait(rank, &third));
  CHECK_NEAR(lh_now_s(rank), 3 * one_s, 1e-9, "the third at once");
  LH_TRY(lh_wait(rank, &first));
  lh_tensor_free(&x);
  return LH_OK;
}

/* Rank r computes r seconds before: the others wait for the last one, then all communicate. */
static lh_status stragglers(void *arg, lh_rank *rank)
{
  (void)arg;
  const double late_s = (double)lh_rank_index(rank);
  lh_tensor a = tensor(rank, 3, (double[]){1, 2, 3});
  lh_device_charge_s(lh_rank_device(rank), late_s);
  LH_TRY(lh_all_reduce(rank, lh_world(rank), &a, LH_SUM, LH_F32));
  const lh_rank_statistics s = lh_rank_statistics_of(rank);
  CHECK_NEAR(s.straggler_wait_s, RANKS - 1 - late_s, 1e-9, "waiting for the last");
  CHECK_NEAR(s.exposed_communication_s, ring_s(RANKS, 12), 1e-9, "communicating");
  CHECK_NEAR(lh_now_s(rank), RANKS - 1 + ring_s(RANKS, 12), 1e-9, "end");
  lh_tensor_free(&a);
  return LH_OK;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static lh_status groups(void *arg, lh_rank *rank)
{
  (void)arg;
  const size_t i = lh_rank_index(rank);
  lh_group *shard, *replication;
  LH_TRY(lh_shard_group(rank, 2, &shard));
  LH_TRY(lh_replication_group(rank, 2, &replication));
  CHECK(lh_group_size(shard) == 2 && lh_group_position(shard, rank) == i % 2, "shard group of %zu",
        i);
  CHECK(lh_group_size(replication) == 4 && lh_group_position(replication, rank) == i / 2,
        "replication group of %zu", i);
  lh_tensor x = tensor(rank, 1, (double[]){(double)(1u << i)});
  LH_TRY(lh_all_reduce(rank, shard, &x, LH_SUM, LH_F32));
  expect(&x, (double[]){(double)(3u << (i - i % 2))}, 1, "shard sum");
  LH_TRY(lh_all_reduce(rank, replication, &x, LH_SUM, LH_F32));
  expect(&x, (double[]){255}, 1, "sum of all");
  lh_tensor_free(&x);
  return LH_OK;
}

static lh_status group_that_does_not_divide(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_group *group;
  return lh_shard_group(rank, 3, &group);
}

/* ---- faults of a method ---------------------------------------------------------------------- */

static lh_status one_stays_away(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor x = tensor(rank, 1, (double[]){1});
  lh_status status = LH_OK;
  if (lh_rank_index(rank) != 2)
    status = lh_all_reduce(rank, lh_world(rank), &x, LH_SUM, LH_F32);
  lh_tensor_free(&x);
  return status;
}

static lh_status different_sizes(void *arg, lh_rank *rank)
{
  (void)arg;
  lh_tensor x = tensor(rank, 1 + (lh_rank_index(rank) == 1), (double[]){1, 2});
  lh_status status = lh_all_reduce(rank, lh_world(rank), &x, LH_SUM, LH_F32);
  lh_tensor_free(&x);
  return status;
}

static lh_status one_fails(void *arg, lh_rank *rank)
{
  (void)arg;
  if (lh_rank_index(rank) == 1)
    return lh_fail(LH_EDIVERGED, "on purpose");
  return one_stays_away(arg, rank);
}

int main(void)
{
  in_child("sums", RANKS, 1, sums, LH_OK, NULL);
  in_child("moves", RANKS, 1, moves, LH_OK, NULL);
  in_child("rounded once", RANKS, 1, rounded_once, LH_OK, NULL);
  in_child("messages", RANKS, 1, messages, LH_OK, NULL);
  in_child("a message to itself", RANKS, 1, to_itself, LH_EINTERNAL, "sends a message to itself");
  in_child("launches", RANKS, 1, launches, LH_OK, NULL);
  in_child("a launch that fails", RANKS, 1, failing_launch, LH_EDIVERGED, "in a launch");
  in_child("streams in order", RANKS, 1, streams_in_order, LH_OK, NULL);
  in_child("overlap", RANKS, 1, overlap, LH_OK, NULL);
  in_child("two streams", RANKS, 1, two_streams, LH_OK, NULL);
  in_child("stragglers", RANKS, 1, stragglers, LH_OK, NULL);
  in_child("groups", 2, 4, groups, LH_OK, NULL);
  in_child("a group that does not divide", 1, 4, group_that_does_not_divide, LH_EINVAL,
           "found 3, allowed: a divisor of the 4 accelerators of a node");
  in_child("one stays away", RANKS, 1, one_stays_away, LH_EDEADLOCK, "2 ranks wait");
  in_child("different sizes", RANKS, 1, different_sizes, LH_EINTERNAL, "all-reduce of 2 f32");
  in_child("one fails", RANKS, 1, one_fails, LH_EDIVERGED, "on purpose");
  return check_report("cluster");
}
