/* Grids against products written out by hand: order, methods' own sweeps, ranges with units, parts;
 * keys against what must and must not change them; and each mistake against the words of its error. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/runner/grid.h"
#include "sim/runner/sweep.h"
#include "tests/check.h"

static char folder[] = "/tmp/longhaul-grid-XXXXXX";

static void put(const char *name, const char *text)
{
  char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  REQUIRE_OK(lh_file_write_atomic(path, text, strlen(text)));
}

static lh_status read_grid(const char *text, lh_grid *grid)
{
  put("experiment.json", text);
  return lh_grid_read(folder, grid);
}

/* The labels say everything about the order. */
static void expect_labels(const char *text, const char *const *labels)
{
  lh_grid grid;
  REQUIRE_OK(read_grid(text, &grid));
  size_t n = 0;
  for (; labels[n]; n++)
    CHECK(n < grid.points && strcmp(grid.point[n].label, labels[n]) == 0,
          "point %zu: got \"%s\", expected \"%s\"", n,
          n < grid.points ? grid.point[n].label : "nothing", labels[n]);
  CHECK(grid.points == n, "got %zu points, expected %zu", grid.points, n);
  lh_grid_fini(&grid);
}
#define LABELS(text, ...) expect_labels(text, (const char *const[]){__VA_ARGS__, NULL})

static void orders(void)
{
  LABELS("{\"platform\": {}, \"workload\": {}, \"method\": {\"name\": \"ddp\"}}", "ddp");
  LABELS(
      "{\"platform\": {\"nodes\": {\"sweep\": [2, 8]}, \"x\": {\"sweep\": [\"a\", \"b\"]}},"
      " \"methods\": [{\"name\": \"ddp\"}, {\"name\": \"demo\", \"top_k\": {\"sweep\": [1, 4]}}],"
      " \"run\": {\"seed\": 1}}",
      "ddp platform.nodes=2 platform.x=a", "demo platform.nodes=2 platform.x=a method.top_k=1",
      "demo platform.nodes=2 platform.x=a method.top_k=4", "ddp platform.nodes=2 platform.x=b",
      "demo platform.nodes=2 platform.x=b method.top_k=1",
      "demo platform.nodes=2 platform.x=b method.top_k=4", "ddp platform.nodes=8 platform.x=a",
      "demo platform.nodes=8 platform.x=a method.top_k=1",
      "demo platform.nodes=8 platform.x=a method.top_k=4", "ddp platform.nodes=8 platform.x=b",
      "demo platform.nodes=8 platform.x=b method.top_k=1",
      "demo platform.nodes=8 platform.x=b method.top_k=4");
  /* the file's own order rules, and a sweep may stand in an array or in another sweep */
  LABELS("{\"run\": {\"seed\": {\"sweep\": [1, 2]}}, \"methods\": [{\"name\": \"ddp\"}],"
         " \"platform\": {\"list\": [7, {\"sweep\": [0.5, {\"k\": {\"sweep\": [3, 4]}}]}]}}",
         "ddp run.seed=1 platform.list.1=0.5",
         "ddp run.seed=1 platform.list.1={\"k\":{\"sweep\":[3,4]}} platform.list.1.k=3",
         "ddp run.seed=1 platform.list.1={\"k\":{\"sweep\":[3,4]}} platform.list.1.k=4",
         "ddp run.seed=2 platform.list.1=0.5",
         "ddp run.seed=2 platform.list.1={\"k\":{\"sweep\":[3,4]}} platform.list.1.k=3",
         "ddp run.seed=2 platform.list.1={\"k\":{\"sweep\":[3,4]}} platform.list.1.k=4");
}

static void parts(void)
{
  LABELS("{\"platform\": {\"nodes\": {\"sweep\": [2, 8]}, \"network\": {\"latency\": \"1us\"}},"
         " \"methods\": [{\"name\": \"ddp\"}], \"run\": {\"mode\": \"cost\"},"
         " \"parts\": [{\"name\": \"train\", \"platform\": {\"nodes\": {\"range\": {\"from\": 2,"
         " \"to\": 4, \"step\": 1}}}, \"run\": {\"mode\": \"train\"}},"
         " {\"name\": \"predict\", \"methods\": [{\"name\": \"demo\"}]},"
         " {\"name\": \"one\", \"platform\": {\"nodes\": 5}}]}",
         "train ddp platform.nodes=2", "train ddp platform.nodes=3", "train ddp platform.nodes=4",
         "predict demo platform.nodes=2", "predict demo platform.nodes=8", "one ddp");
}

/* A sweep is one value: an object that meets it replaces it, and the other way round. */
static void parts_over_sweeps(void)
{
  LABELS(
      "{\"platform\": {\"x\": {\"sweep\": [1, 2]}, \"y\": {\"k\": 1}}, \"methods\": [{\"name\":"
      " \"ddp\"}], \"parts\": [{\"name\": \"a\", \"platform\": {\"x\": {\"k\": {\"sweep\": [3]}}}},"
      " {\"name\": \"b\", \"platform\": {\"x\": 4, \"y\": {\"sweep\": [5]}}}]}",
      "a ddp platform.x.k=3", "b ddp platform.y=5");
}

static void trees(void)
{
  lh_grid grid;
  REQUIRE_OK(
      read_grid("{\"schema\": \"longhaul/experiment/1\", \"title\": \"T\", \"platform\":"
                " {\"file\": \"p.json\", \"nodes\": {\"sweep\": [2, 3]}}, \"workload\": {\"model\":"
                " \"m\"}, \"methods\": [{\"name\": \"ddp\", \"bucket\": \"1MB\"}]}",
                &grid));
  CHECK(grid.points == 2 && strcmp(grid.title, "T") == 0, "%zu points", grid.points);
  char *text = lh_json_print(lh_json_root(grid.point[1].document).node);
  const char *expected =
      "{\"platform\":{\"file\":\"p.json\",\"nodes\":3},\"workload\":{\"model\":\"m\"},"
      "\"method\":{\"name\":\"ddp\",\"bucket\":\"1MB\"}}";
  CHECK(strcmp(text, expected) == 0, "got %s", text);
  free(text);
  text = lh_json_print(grid.point[1].columns);
  CHECK(strcmp(text, "{\"platform.nodes\":3}") == 0, "got %s", text);
  free(text);
  CHECK(strncmp(lh_json_folder(lh_json_root(grid.point[0].document)), folder, strlen(folder)) == 0,
        "relative files would start at %s", lh_json_folder(lh_json_root(grid.point[0].document)));
  lh_grid_fini(&grid);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void expect_range(const char *text, const char *expected)
{
  lh_json_document *document;
  cJSON *values = NULL;
  REQUIRE_OK(lh_json_read_text("t", text, &document));
  CHECK(lh_is_sweep(lh_json_root(document).node), "%s is no sweep", text);
  REQUIRE_OK(lh_sweep_values(lh_json_root(document), &values));
  char *got = lh_json_print(values);
  CHECK(strcmp(got, expected) == 0, "%s: got %s, expected %s", text, got, expected);
  free(got);
  cJSON_Delete(values);
  lh_json_document_free(document);
}

static void ranges(void)
{
  expect_range("{\"sweep\": [1, \"a\", null]}", "[1,\"a\",null]");
  expect_range("{\"range\": {\"from\": 2, \"to\": 512, \"factor\": 4}}", "[2,8,32,128,512]");
  expect_range("{\"range\": {\"from\": 2, \"to\": 511, \"factor\": 4}}", "[2,8,32,128]");
  expect_range("{\"range\": {\"from\": 0.1, \"to\": 0.5, \"step\": 0.1}}", "[0.1,0.2,0.3,0.4,0.5]");
  expect_range("{\"range\": {\"from\": -2, \"to\": 0, \"step\": 1}}", "[-2,-1,0]");
  expect_range("{\"range\": {\"from\": 7, \"to\": 7, \"factor\": 2}}", "[7]");
  expect_range("{\"range\": {\"from\": 0.001, \"to\": 1, \"factor\": 10}}", "[0.001,0.01,0.1,1]");
  expect_range("{\"range\": {\"from\": \"100Mbps\", \"to\": \"10Gbps\", \"factor\": 10}}",
               "[\"100Mbps\",\"1Gbps\",\"10Gbps\"]");
  expect_range("{\"range\": {\"from\": \"50us\", \"to\": \"50ms\", \"factor\": 10}}",
               "[\"50us\",\"500us\",\"5ms\",\"50ms\"]");
  expect_range("{\"range\": {\"from\": \"512KiB\", \"to\": \"2MiB\", \"factor\": 2}}",
               "[\"512KiB\",\"1MiB\",\"2MiB\"]");
  expect_range("{\"range\": {\"from\": \"1.5GB/s\", \"to\": \"2.5GB/s\", \"step\": \"500MB/s\"}}",
               "[\"1.5GB/s\",\"2GB/s\",\"2.5GB/s\"]");
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static void expect_refused(const char *text, const char *const *words)
{
  lh_grid grid;
  const lh_status status = read_grid(text, &grid);
  CHECK(status == LH_EINVAL, "%s: status %s", text, lh_status_text(status));
  CHECK(strstr(lh_fail_text(), "/experiment.json"), "no file in \"%s\"", lh_fail_text());
  for (; *words; words++)
    CHECK(strstr(lh_fail_text(), *words), "%s: \"%s\" does not say \"%s\"", text, lh_fail_text(),
          *words);
  lh_grid_fini(&grid);
}
#define REFUSED(text, ...) expect_refused(text, (const char *const[]){__VA_ARGS__, NULL})
#define WITH_NODES(sweep)                                                                          \
  "{\"platform\": {\"nodes\": " sweep "}, \"methods\": [{\"name\": \"ddp\"}]}"

static void mistakes(void)
{
  REFUSED("{\"platforms\": {}}", "unknown key \"platforms\"", "did you mean \"platform\"?");
  REFUSED("{\"platform\": {}}", "\"methods\"");
  REFUSED("{\"platform\": {}, \"methods\": []}", "methods: found an empty list");
  REFUSED("{\"platform\": {}, \"methods\": {\"name\": \"ddp\"}}", "methods: found an object");
  REFUSED("{\"schema\": \"longhaul/platform/1\", \"methods\": [{}]}", "longhaul/experiment/1");
  REFUSED("{\"platform\": {}, \"methods\": [{\"name\": \"ddp\"}, {\"name\": \"ddp\"}]}",
          "\"ddp\" stands in the grid twice");
  REFUSED(WITH_NODES("{\"sweep\": []}"), "platform.nodes.sweep: found an empty list");
  REFUSED(WITH_NODES("{\"sweep\": 3}"), "platform.nodes.sweep: found 3, allowed: an array");
  REFUSED(WITH_NODES("{\"sweep\": [2], \"extra\": 1}"), "platform.nodes: found unknown key");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 2, \"to\": 8}}"),
          "platform.nodes.range: found neither");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 2, \"to\": 8, \"factor\": 1}}"), "more than 1");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 8, \"to\": 2, \"factor\": 2}}"), "ascending");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 0, \"to\": 2, \"factor\": 2}}"), "from more than 0");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 1, \"to\": 2, \"step\": 0}}"), "more than 0");
  REFUSED(WITH_NODES("{\"range\": {\"from\": 1, \"to\": 1e9, \"step\": 1}}"), "more than 10000");
  REFUSED(WITH_NODES("{\"range\": {\"from\": \"1Gbps\", \"to\": \"2GB\", \"factor\": 2}}"),
          "kind of unit");
  REFUSED(WITH_NODES("{\"range\": {\"from\": \"1Gbit\", \"to\": \"2Gbit\", \"factor\": 2}}"),
          "1Gbit");
  REFUSED("{\"methods\": [{\"name\": \"ddp\"}], \"parts\": []}", "parts: found an empty list");
  REFUSED("{\"methods\": [{\"name\": \"ddp\"}], \"parts\": [{}]}", "parts[0].name: found nothing");
  REFUSED("{\"methods\": [{\"name\": \"ddp\"}], \"parts\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
          "\"a\" twice");
  REFUSED("{\"parts\": [{\"name\": \"a\"}]}", "part \"a\"", "\"methods\"");
  REFUSED("{\"methods\": [", "line 1, column 14", "not valid JSON");
  lh_grid grid;
  CHECK(lh_grid_read("/no/such/folder", &grid) == LH_EINVAL &&
            strstr(lh_fail_text(), "/no/such/folder/experiment.json: no such file"),
        "%s", lh_fail_text());
  lh_grid_fini(&grid);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void key_of(const char *text, char key[33])
{
  lh_grid grid;
  REQUIRE_OK(read_grid(text, &grid));
  strcpy(key, grid.point[0].key);
  CHECK(strlen(key) == 32, "%s", key);
  lh_grid_fini(&grid);
}

static void keys(void)
{
  const char *plain = "{\"platform\": {\"file\": \"p.json\", \"nodes\": 2}, \"method\": {\"name\": "
                      "\"ddp\"}, \"workload\": {\"data\": {\"path\": \"data\"}}}";
  char first[33], other[33], path[200];
  put("p.json", "{\"device\": \"d.json\"}");
  put("d.json", "{}");
  snprintf(path, sizeof path, "%s/data", folder);
  mkdir(path, 0777);
  put("data/a", "1");
  key_of(plain, first);
  key_of(
      "{\"title\": \"t\", \"workload\": {\"data\": {\"path\": \"data\"}}, \"method\": {\"name\": "
      "\"ddp\"}, \"platform\": {\"nodes\":2.0,\"file\":\"p.json\"}}",
      other);
  CHECK(strcmp(first, other) == 0, "the order of keys, a title and spaces changed the key");
  key_of("{\"platform\": {\"file\": \"p.json\", \"nodes\": 3}, \"method\": {\"name\": \"ddp\"},"
         " \"workload\": {\"data\": {\"path\": \"data\"}}}",
         other);
  CHECK(strcmp(first, other) != 0, "another value has the same key");
  put("p.json", "{\"device\": \"d.json\", \"x\": 1}");
  key_of(plain, other);
  CHECK(strcmp(first, other) != 0, "another platform file has the same key");
  put("p.json", "{\"device\": \"d.json\"}");
  key_of(plain, other);
  CHECK(strcmp(first, other) == 0, "the same contents have another key");
  put("d.json", "{\"x\": 1}");
  key_of(plain, other);
  CHECK(strcmp(first, other) != 0, "a file named by a named file does not count");
  put("d.json", "{}");
  put("data/a", "2");
  key_of(plain, other);
  CHECK(strcmp(first, other) != 0, "data in a named folder does not count");
  put("data/a", "1");
  put("data/b", "");
  key_of(plain, other);
  CHECK(strcmp(first, other) != 0, "a further file in a named folder does not count");
}

int main(void)
{
  if (!mkdtemp(folder))
    return 1;
  orders();
  parts();
  parts_over_sweeps();
  trees();
  ranges();
  mistakes();
  keys();
  const char *const names[] = {"experiment.json", "p.json", "d.json", "data/a",
                               "data/b",          "data",   ""};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    remove(path);
  }
  return check_report("grid");
}
