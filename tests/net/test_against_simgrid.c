/* `ideal` against SimGrid's own plain flow model, CM02: the same flows over the same links, there as
 * mailbox messages between actors on the platform that lh_platform_export_xml writes. CM02 shares
 * links in inverse proportion to latency, so the links have none here; it counts whole bytes. All
 * its precisions are set to what doubles can hold.
 */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <simgrid/version.h>

#include "tests/net/random_flows.h"

typedef struct shared_case {
  uint64_t seed;
  random_flow flow[FLOWS];
  double capacity[LINKS];
  char xml[64];
} shared_case;

/* SimGrid's actors get text: the case's address and the flow's number. */
static random_flow *number(int argc, char **argv, const shared_case **c)
{
  void *address = NULL;
  CHECK(argc == 3 && sscanf(argv[1], "%p", &address) == 1, "arguments of an actor");
  *c = address;
  return &((shared_case *)address)->flow[strtoul(argv[2], NULL, 10)];
}

static void sender(int argc, char **argv)
{
  const shared_case *c;
  random_flow *f = number(argc, argv, &c);
  sg_actor_sleep_until(f->begin_s);
  sg_mailbox_put(sg_mailbox_by_name(argv[2]), f, (long)f->bytes);
}

static void receiver(int argc, char **argv)
{
  const shared_case *c;
  random_flow *f = number(argc, argv, &c);
  sg_mailbox_get(sg_mailbox_by_name(argv[2]));
  f->end_s = simgrid_get_clock();
}

static void add_actor(const char *side, size_t host, size_t flow, shared_case *c,
                      void (*code)(int argc, char **argv))
{
  char name[40], address[40], number_text[40];
  snprintf(name, sizeof name, "rank-%zu", host);
  snprintf(address, sizeof address, "%p", (void *)c);
  snprintf(number_text, sizeof number_text, "%zu", flow);
  char *argv[] = {(char *)side, address, number_text, NULL};
  sg_actor_create(name, sg_host_by_name(name), code, 3, argv);
}

/* In a child: SimGrid's dates, one double for each flow, through the pipe. */
static void run_simgrid(shared_case *c, int to)
{
  char *argv[] = {
    "simgrid",
    "--log=root.thresh:critical",
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:0",
    "--cfg=network/TCP-gamma:0",
#if SIMGRID_VERSION >= 33600
    "--cfg=precision/timing:1e-12",
#else
    "--cfg=surf/precision:1e-12",
    "--cfg=maxmin/precision:1e-12",
#endif
    NULL
  };
  int argc = (int)(sizeof argv / sizeof argv[0]) - 1;
  simgrid_init(&argc, argv);
  simgrid_load_platform(c->xml);
  for (size_t i = 0; i < FLOWS; i++) {
    add_actor("sender", 2 * i, i, c, sender);
    add_actor("receiver", 2 * i + 1, i, c, receiver);
  }
  simgrid_run();
  double end_s[FLOWS];
  for (size_t i = 0; i < FLOWS; i++)
    end_s[i] = c->flow[i].end_s;
  CHECK(write(to, end_s, sizeof end_s) == sizeof end_s, "pipe");
}

static void simgrid_dates(shared_case *c, double *end_s)
{
  int ends[2];
  CHECK(pipe(ends) == 0, "pipe");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    run_simgrid(c, ends[1]);
    _exit(check_failures ? 1 : 0);
  }
  close(ends[1]);
  CHECK(read(ends[0], end_s, FLOWS * sizeof *end_s) == FLOWS * (ssize_t)sizeof *end_s,
        "SimGrid did not come to its end");
  close(ends[0]);
  waitpid(child, NULL, 0);
}

static void compare(void *arg)
{
  static shared_case c;
  c.seed = *(const uint64_t *)arg;
  random_flows_make(c.seed, c.flow, c.capacity);
  for (size_t i = 0; i < FLOWS; i++) {
    c.flow[i].cap_Bps = INFINITY; /* mailboxes have no caps */
    c.flow[i].bytes = ceil(c.flow[i].bytes);
  }
  lh_platform *platform = random_platform(c.flow, c.capacity);
  strcpy(c.xml, "/tmp/lh-against-simgrid-XXXXXX");
  FILE *file = fdopen(mkstemp(c.xml), "w");
  REQUIRE_OK(lh_platform_export_xml(platform, file));
  fclose(file);
  double end_s[FLOWS];
  simgrid_dates(&c, end_s);
  remove(c.xml);
  message m[FLOWS];
  for (size_t i = 0; i < FLOWS; i++)
    m[i] =
        (message)MESSAGE(2 * i, 2 * i + 1, c.flow[i].bytes, c.flow[i].begin_s, INFINITY, end_s[i]);
  const lh_engine_options options = {.flow_model = LH_FLOW_IDEAL};
  expect_all("SimGrid", platform, &options, m, FLOWS, 1e-8);
}

int main(void)
{
  for (uint64_t seed = 101; seed <= 110; seed++)
    net_fork(compare, &seed);
  return check_report("against SimGrid");
}
