/* net_case.h -- what the network tests share: platforms from JSON text, collectives run to the end.
 *
 * SimGrid allows one simulation per process, so each case that needs its own platform runs in a
 * child; within one simulation collectives run one after another.
 */
#ifndef LH_TESTS_NET_CASE_H
#define LH_TESTS_NET_CASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/net/collective.h"
#include "tests/check.h"

static inline lh_platform *net_platform(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A platform from JSON text, with ' for "; the test ends when it is refused. */
static inline lh_platform *net_platform(const char *format, ...)
{
  static char text[65536];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  for (char *c = text; *c; c++)
    if (*c == '\'')
      *c = '"';
  lh_json_document *document;
  lh_platform *platform;
  REQUIRE_OK(lh_json_read_text("test", text, &document));
  REQUIRE_OK(
      lh_platform_read(lh_json_root(document), LH_SOURCE_DIR "/platforms/devices", &platform));
  lh_json_document_free(document);
  return platform;
}

/* n nodes of one accelerator at one switch; two are 2 * latency_us apart. */
static inline lh_platform *net_star(size_t nodes, double bandwidth_MBps, double latency_us)
{
  return net_platform("{'name': 'star', 'nodes': %zu, 'network': {'topology': 'star', "
                      "'bandwidth': '%.17gMB/s', 'latency': '%.17gus'}}",
                      nodes, bandwidth_MBps, latency_us);
}

/* One collective of a series. */
typedef struct net_run {
  lh_collective collective;
  double first_s, last_s; /* when its members ended, from its start */
  size_t finished;
} net_run;

typedef struct net_series {
  lh_engine *engine;
  size_t n;
  net_run *run; /* (n) */
  lh_gate *gate;
  net_run *now;
  double start_s;
} net_series;

static inline void net_member_done(void *arg, size_t member)
{
  net_series *series = arg;
  net_run *run = series->now;
  const double seconds = lh_engine_now_s(series->engine) - series->start_s;
  (void)member;
  if (run->finished++ == 0)
    run->first_s = seconds;
  run->last_s = seconds;
  if (run->finished == run->collective.n)
    lh_gate_open(series->gate);
}

static inline void net_actor(void *arg)
{
  net_series *series = arg;
  for (size_t i = 0; i < series->n; i++) {
    series->now = &series->run[i];
    series->start_s = lh_engine_now_s(series->engine);
    REQUIRE_OK(
        lh_collective_start(series->engine, &series->run[i].collective, net_member_done, series));
    lh_gate_wait(series->gate);
  }
}

/* Runs the collectives one after another in a new simulation (the only one of this process). The
 * engine is closed again unless `keep` is given. */
static inline void net_run_series(const lh_platform *platform, lh_flow_model model, net_run *run,
                                  size_t n, lh_engine **keep)
{
  net_series series = {.n = n, .run = run};
  REQUIRE_OK(lh_engine_open(platform, model, 1, &series.engine));
  series.gate = lh_gate_new(series.engine);
  REQUIRE_OK(lh_engine_spawn(series.engine, "series", net_actor, &series));
  REQUIRE_OK(lh_engine_run(series.engine));
  lh_gate_free(series.gate);
  if (keep)
    *keep = series.engine;
  else
    lh_engine_close(series.engine);
}

/* 0, 1, .. n - 1; the caller frees. */
static inline size_t *net_ranks(size_t n)
{
  size_t *ranks = malloc(n * sizeof *ranks);
  for (size_t i = 0; i < n; i++)
    ranks[i] = i;
  return ranks;
}

/* Runs the case in a child process; its failures count. */
static inline void net_fork(void (*test)(void *arg), void *arg)
{
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    check_failures = 0;
    test(arg);
    fflush(NULL);
    _exit(check_failures ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a case failed (wait status %d)", status);
}

/* What the function returns in a child process; NAN when it does not get there. */
static inline double net_fork_double(double (*measure)(void *arg), void *arg)
{
  int ends[2];
  double value = NAN;
  CHECK(pipe(ends) == 0, "pipe");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    check_failures = 0;
    value = measure(arg);
    const bool written = write(ends[1], &value, sizeof value) == sizeof value;
    fflush(NULL);
    _exit(written && !check_failures ? 0 : 1);
  }
  close(ends[1]);
  const bool got = read(ends[0], &value, sizeof value) == sizeof value;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(got && WIFEXITED(status) && WEXITSTATUS(status) == 0, "a case failed (wait status %d)",
        status);
  return value;
}

/* One collective alone on its platform, in this process: seconds until the last member ended. */
static inline double net_time_s(const lh_platform *platform, lh_flow_model model,
                                lh_collective collective)
{
  net_run run = {.collective = collective};
  net_run_series(platform, model, &run, 1, NULL);
  return run.last_s;
}

#endif
