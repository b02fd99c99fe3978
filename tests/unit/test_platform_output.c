/* test_platform_output.c -- what is written about a platform, read back by others: the JSON by
 * cJSON, the XML by SimGrid's own engine, whose routes must have our latencies and rates. */
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/platform_case.h"

static char *written(const lh_platform *platform,
                     lh_status (*write)(const lh_platform *platform, FILE *out))
{
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  REQUIRE_OK(write(platform, out));
  fclose(out);
  return text;
}

static void text_for_people(void)
{
  static const char *const expected[] = {"platform    star\n",
                                         "8 of 1 accelerator: 8 ranks",
                                         "a100-80gb, 80.0 GB",
                                         "1.00 Gbps (125 MB/s)",
                                         "50.0 us",
                                         "switch",
                                         "node-0.up ... node-7.down",
                                         "node-0   node-1   ...   node-7",
                                         NULL};
  lh_platform *p = case_platform("{'file': 'star'}");
  char *text = written(p, lh_platform_print);
  for (const char *const *part = expected; *part; part++)
    CHECK(strstr(text, *part), "no \"%s\" in\n%s", *part, text);
  free(text);
  lh_platform_free(p);

  p = case_platform("{'nodes': 2, 'accelerators_per_node': 2, 'placement': 'round-robin',"
                    "'network': {'topology': 'ring', 'bandwidth': '10Gbps', 'flow_cap': '1Gbps',"
                    "'call_overhead': '17.15us', 'message_overhead': '2us'},"
                    "'fabric': {'bandwidth': '300GB/s', 'in_network_reduction': true},"
                    "'variation': {'compute': {'distribution': 'gamma', 'shape': 4}},"
                    "'node_speed': [1, 0.5], 'faults': [{'node': 1, 'from': '3s', 'to': '5s'},"
                    "{'link': 'node-0.ring.forth', 'from': '0s', 'bandwidth': '8Mbps'}]}");
  static const char *const all[] = {
      "none given",
      "nodes of the ranks: 0 1 0 1",
      "17.2 us for each collective",
      "at most 1.00 Gbps (125 MB/s) for one flow",
      "gamma (shape 4, scale 0.25): mean 1, standard deviation 0.5",
      "node 1: 0.5",
      "from 3.00 s to 5.00 s: node 1 is down",
      "from 0 s to the end: link node-0.ring.forth at 8.00 Mbps (1.00 MB/s)",
      "switch, reduces in the network",
      "links inside nodes (8,",
      NULL};
  text = written(p, lh_platform_print);
  for (const char *const *part = all; *part; part++)
    CHECK(strstr(text, *part), "no \"%s\" in\n%s", *part, text);
  free(text);
  lh_platform_free(p);
}

static double number(const cJSON *object, const char *key)
{
  return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static void json_for_programs(void)
{
  lh_platform *p = case_platform("{'file': 'regions', 'placement': 'round-robin'}");
  char *text = written(p, lh_platform_print_json);
  cJSON *root = cJSON_Parse(text);
  CHECK(root != NULL, "no JSON: %s", text);
  CHECK(number(root, "nodes") == 8 && number(root, "ranks") == 8, "sizes");
  const cJSON *links = cJSON_GetObjectItemCaseSensitive(root, "links");
  CHECK((size_t)cJSON_GetArraySize(links) == p->links, "%d links", cJSON_GetArraySize(links));
  for (size_t i = 0; i < p->links; i++) {
    const cJSON *link = cJSON_GetArrayItem(links, (int)i);
    CHECK(number(link, "bandwidth_Bps") == p->link[i].bandwidth_Bps, "rate of link %zu", i);
    CHECK(number(link, "latency_s") == p->link[i].latency_s, "latency of link %zu", i);
  }
  CHECK(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(root, "flow_cap_Bps")), "no cap is null");
  cJSON_Delete(root);
  free(text);
  lh_platform_free(p);
}

/* ---- SimGrid --------------------------------------------------------------------------------- */

static int compare(const lh_platform *p, const char *path)
{
  int argc = 2;
  char program[] = "platform", quiet[] = "--log=xbt_cfg.thres:warning";
  char *argv[] = {program, quiet, NULL};
  simgrid_init(&argc, argv);
  simgrid_load_platform(path);
  if (sg_host_count() != p->ranks)
    return 1;
  for (size_t src = 0; src < p->ranks; src++)
    for (size_t dst = 0; dst < p->ranks; dst++) {
      char a[32], b[32];
      snprintf(a, sizeof a, "rank-%zu", src);
      snprintf(b, sizeof b, "rank-%zu", dst);
      if (src == dst)
        continue;
      const lh_route route = case_route(p, src, dst);
      const sg_host_t from = sg_host_by_name(a), to = sg_host_by_name(b);
      CHECK_NEAR(sg_host_get_route_latency(from, to), route.latency_s,
                 1e-12 + 1e-9 * route.latency_s, "%s: %zu -> %zu", path, src, dst);
      CHECK_NEAR(sg_host_get_route_bandwidth(from, to), case_narrowest(p, &route),
                 1e-9 * case_narrowest(p, &route), "%s: %zu -> %zu", path, src, dst);
    }
  for (size_t i = 0; i < p->links; i++)
    CHECK(!sg_link_is_shared(sg_link_by_name(p->link[i].name)) == !p->link[i].shared, "%s",
          p->link[i].name);
  return check_failures > 0;
}

/* SimGrid's engine is one for a process. */
static void check_export(const char *json)
{
  lh_platform *p = case_platform(json);
  char path[] = "/tmp/lh-export-XXXXXX.xml";
  const int descriptor = mkstemps(path, 4);
  FILE *out = fdopen(descriptor, "w");
  REQUIRE_OK(lh_platform_export_xml(p, out));
  fclose(out);
  const pid_t child = fork();
  if (child == 0) {
    _exit(compare(p, path));
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "SimGrid on %s: status %d", json, status);
  unlink(path);
  lh_platform_free(p);
}

static void exports(void)
{
  check_export("{'file': 'star', 'network': {'flow_cap': '200Mbps'}}");
  check_export("{'file': 'full-mesh'}");
  check_export("{'file': 'ring', 'network': {'duplex': 'half'}}");
  check_export("{'file': 'torus', 'nodes': 12}");
  check_export("{'file': 'fat-tree', 'nodes': 20}");
  check_export("{'file': 'dragonfly', 'nodes': 30}");
  check_export("{'file': 'regions'}");
  check_export("{'file': 'four-regions'}");
  check_export("{'file': 'custom'}");
  check_export("{'file': 'dgx-h100', 'nodes': 3}");
  check_export("{'nodes': 2, 'network': {'topology': 'custom', 'bandwidth': '1Gbps', 'links': ["
               "{'from': 0, 'to': 1, 'name': 'a<b>&c', 'shared': false}]}}");
}

static void too_many_ranks(void)
{
  lh_platform *p = case_platform("{'file': 'star', 'nodes': 1025}");
  FILE *out = fopen("/dev/null", "w");
  CHECK(lh_platform_export_xml(p, out) == LH_EUNSUPPORTED, "%s", lh_fail_text());
  fclose(out);
  lh_platform_free(p);
}

static void a_full_disk(void)
{
  lh_platform *p = case_platform("{'file': 'star'}");
  lh_status (*const writers[])(const lh_platform *, FILE *) = {
      lh_platform_print, lh_platform_print_json, lh_platform_export_xml};
  for (size_t i = 0; i < 3; i++) {
    FILE *out = fopen("/dev/full", "w");
    CHECK(out && writers[i](p, out) == LH_EIO, "writer %zu", i);
    fclose(out);
  }
  lh_platform_free(p);
}

int main(void)
{
  text_for_people();
  json_for_programs();
  exports();
  too_many_ranks();
  a_full_disk();
  return check_report("platform output");
}
