/* test_platform_files.c -- shipped files, files with overrides, device profiles. */
#include <dirent.h>
#include <unistd.h>

#include "tests/unit/platform_case.h"

static void every_shipped_platform_loads(void)
{
  DIR *folder = opendir(LH_SOURCE_DIR "/platforms");
  size_t found = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ".json") != 0)
      continue;
    char text[400];
    snprintf(text, sizeof text, "{'file': '%s'}", entry->d_name);
    lh_platform *p = case_platform(text);
    CHECK(strncmp(p->name, entry->d_name, strlen(p->name)) == 0, "%s is called %s", entry->d_name,
          p->name);
    for (size_t rank = 1; rank < p->ranks; rank++) {
      const lh_route route = case_route(p, 0, rank);
      CHECK(route.links > 0 && case_narrowest(p, &route) > 0, "%s: rank %zu", entry->d_name, rank);
    }
    lh_platform_free(p);
    found++;
  }
  closedir(folder);
  CHECK(found >= 8, "%zu platforms", found);
}

static void overrides(void)
{
  lh_platform *p = case_platform("{'file': 'star', 'nodes': 3, 'name': 'mine',"
                                 "'network': {'bandwidth': '8Mbps'}, 'device': 'l4'}");
  const lh_route route = case_route(p, 0, 2);
  CHECK(p->nodes == 3 && strcmp(p->name, "mine") == 0, "%zu nodes, %s", p->nodes, p->name);
  CHECK(case_narrowest(p, &route) == 1e6, "bandwidth is overridden");
  CHECK(route.latency_s == 100e-6, "latency stays");
  CHECK(strcmp(p->device.name, "l4") == 0 && p->device_given, "%s", p->device.name);
  lh_platform_free(p);

  /* A torus that is told its dimensions goes to any number of nodes, a fat tree too. */
  p = case_platform("{'file': 'torus', 'nodes': 512}");
  CHECK(case_route(p, 0, 511).links == 3, "8 x 8 x 8: one step back in each dimension");
  lh_platform_free(p);
  p = case_platform("{'file': 'fat-tree', 'nodes': 4096}");
  CHECK(p->ranks == 4096 && case_route(p, 0, 4095).links == 6, "three levels");
  lh_platform_free(p);
  p = case_platform("{'file': 'dragonfly.json', 'nodes': 512}");
  CHECK(case_route(p, 0, 511).links >= 3, "a larger dragonfly");
  lh_platform_free(p);
  p = case_platform("{'file': 'dgx-h100', 'nodes': 512}");
  CHECK(p->ranks == 4096, "%zu ranks", p->ranks);
  lh_platform_free(p);
}

static void write_file(const char *path, const char *single_quoted)
{
  char *text = case_text(single_quoted);
  REQUIRE_OK(lh_file_write_atomic(path, text, strlen(text)));
  free(text);
}

static lh_status read_at(const char *path, lh_platform **platform)
{
  lh_json_document *document;
  *platform = NULL;
  LH_TRY(lh_json_read_file(path, &document));
  const lh_status status = lh_platform_read(lh_json_root(document), DEVICES, platform);
  lh_json_document_free(document);
  return status;
}

/* A file is looked for beside the one that names it first; a file may name a file. */
static void files_beside_each_other(void)
{
  char folder[] = "/tmp/lh-platform-XXXXXX", path[200], inner[200];
  CHECK(mkdtemp(folder) != NULL, "no temporary folder");
  snprintf(inner, sizeof inner, "%s/star.json", folder);
  snprintf(path, sizeof path, "%s/outer.json", folder);
  write_file(inner, "{'file': 'thin', 'nodes': 5, 'network': {'latency': '3ms'}}");
  write_file(path, "{'file': 'star.json', 'network': {'bandwidth': '80Mbps'}}");
  lh_platform *p;
  REQUIRE_OK(read_at(path, &p));
  const lh_route route = case_route(p, 0, 4);
  CHECK(p->nodes == 5 && route.latency_s == 6e-3 && case_narrowest(p, &route) == 1e7,
        "%zu nodes, %g s, %g B/s", p->nodes, route.latency_s, case_narrowest(p, &route));
  lh_platform_free(p);

  write_file(inner, "{'file': 'outer.json'}"); /* a circle */
  CHECK(read_at(path, &p) == LH_EINVAL && strstr(lh_fail_text(), "circle"), "%s", lh_fail_text());
  write_file(inner, "{'nodes': ");
  CHECK(read_at(path, &p) == LH_EINVAL && strstr(lh_fail_text(), "star.json"), "%s",
        lh_fail_text());
  write_file(inner, "{'nodes': 0}"); /* blamed alone where nothing is overridden */
  write_file(path, "{'file': 'star.json'}");
  CHECK(read_at(path, &p) == LH_EINVAL && strstr(lh_fail_text(), "star.json: nodes"), "%s",
        lh_fail_text());
  write_file(inner, "[]");
  CHECK(read_at(path, &p) == LH_EINVAL && strstr(lh_fail_text(), "object"), "%s", lh_fail_text());
  unlink(inner);
  unlink(path);
  rmdir(folder);
}

static void devices(void)
{
  DIR *folder = opendir(DEVICES);
  size_t found = 0;
  for (const struct dirent *entry; (entry = readdir(folder));) {
    char text[400], name[200];
    const char *dot = strrchr(entry->d_name, '.');
    if (!dot || strcmp(dot, ".json") != 0)
      continue;
    snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
    snprintf(text, sizeof text, "{'file': 'star', 'device': '%s'}", name);
    lh_platform *p = case_platform(text);
    CHECK(strcmp(p->device.name, name) == 0, "%s is called %s", name, p->device.name);
    lh_platform_free(p);
    found++;
  }
  closedir(folder);
  CHECK(found >= 10, "%zu devices", found);

  lh_platform *p = case_platform("{'file': 'star', 'device': {'base': 'h100-sxm',"
                                 "'compute_efficiency': 0.5, 'peak': {'bf16': '1000TFLOPS'}}}");
  CHECK(p->device.compute_efficiency == 0.5, "%g", p->device.compute_efficiency);
  CHECK(p->device.peak_flop_per_s[LH_BF16] == 1e15, "bf16 is changed");
  CHECK(p->device.peak_flop_per_s[LH_F32] == 67e12, "f32 is not");
  lh_platform_free(p);

  p = case_platform("{'file': 'two-hosts', 'device': {'name': 'mine', 'peak': {'f32': '1TFLOPS'},"
                    "'memory_bandwidth': '100GB/s'}}");
  CHECK(strcmp(p->device.name, "mine") == 0 && p->device.peak_flop_per_s[LH_F32] == 1e12, "own");
  lh_platform_free(p);
}

int main(void)
{
  every_shipped_platform_loads();
  overrides();
  files_beside_each_other();
  devices();
  return check_report("platform files");
}
