/* CSV as RFC 4180 has it, written by the runner and read by analysis; tables for people; and which
 * method reaches its target first. Texts are compared whole: they are formats, not truths. */
#include <stdint.h>
#include <unistd.h>

#include "analysis/plot.h"
#include "analysis/results.h"
#include "analysis/table.h"
#include "base/text.h"
#include "sim/runner/store.h"
#include "tests/check.h"

static char folder[] = "/tmp/longhaul-analysis-XXXXXX";

static const char *put(const char *name, const char *text)
{
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  REQUIRE_OK(lh_file_write_atomic(path, text, strlen(text)));
  return path;
}

static void expect_cell(const lh_frame *frame, size_t row, const char *column, const char *expected)
{
  const char *got = lh_frame_text(frame, row, lh_frame_column(frame, column));
  CHECK(strcmp(got, expected) == 0, "row %zu, %s: got \"%s\", expected \"%s\"", row, column, got,
        expected);
}

static void reading(void)
{
  lh_frame f;
  REQUIRE_OK(lh_frame_read_csv(
      put("a.csv", "a,\"b,c\",d\r\n1,\"x \"\"y\"\"\nz\",\n-2.5e3,, 7\n\"\",\"\",\"end\""), &f));
  CHECK(f.columns == 3 && f.rows == 3, "%zu columns, %zu rows", f.columns, f.rows);
  expect_cell(&f, 0, "b,c", "x \"y\"\nz");
  expect_cell(&f, 0, "d", "");
  expect_cell(&f, 2, "d", "end");
  CHECK(lh_frame_column(&f, "e") == SIZE_MAX, "a column that is not there");
  CHECK(lh_frame_number(&f, 1, 0) == -2500, "%g", lh_frame_number(&f, 1, 0));
  CHECK(isnan(lh_frame_number(&f, 0, 1)) && isnan(lh_frame_number(&f, 0, 2)) &&
            isnan(lh_frame_number(&f, 1, 2)) && isnan(lh_frame_number(&f, 9, 0)),
        "words, nothing, spaces and rows beyond the end are no numbers");
  lh_frame_fini(&f);

  CHECK(lh_frame_read_csv(put("a.csv", "a,b\n1,2\n3\n"), &f) == LH_EINVAL &&
            strstr(lh_fail_text(), "line 3: found 1 cells, allowed: 2"),
        "%s", lh_fail_text());
  CHECK(lh_frame_read_csv(put("a.csv", "a,b\n1,\"2\n3\n"), &f) == LH_EINVAL &&
            strstr(lh_fail_text(), "does not end"),
        "%s", lh_fail_text());
  unlink(put("a.csv", ""));
  CHECK(lh_frame_read_csv("/nowhere.csv", &f) == LH_EINVAL, "a file that is not there");
}

/* What one side writes the other reads. */
static void writing(void)
{
  static const char *const columns[] = {"first", "a", NULL};
  const char *awkward = "comma, \"quotes\"\r\nand a line";
  cJSON *rows = cJSON_CreateArray(), *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "a", awkward);
  cJSON_AddNumberToObject(row, "x", 0.1);
  cJSON_AddItemToArray(rows, row);
  row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "a", "\"q\"");
  cJSON_AddItemToArray(rows, row);
  row = cJSON_CreateObject();
  cJSON_AddNullToObject(row, "x");
  cJSON_AddItemToObject(row, "list", cJSON_Parse("[1,{\"k\":\"v\"}]"));
  cJSON_AddItemToArray(rows, row);
  char *csv = lh_csv_of(rows, columns);
  CHECK(strncmp(csv, "first,a,x,list\n", 15) == 0, "%s", csv);
  CHECK(strstr(csv, "\n,\"\"\"q\"\"\",,\n"), "quotes are not doubled in quotes: %s", csv);
  lh_frame f;
  REQUIRE_OK(lh_frame_read_csv(put("b.csv", csv), &f));
  CHECK(f.columns == 4 && f.rows == 3, "%zu columns, %zu rows", f.columns, f.rows);
  expect_cell(&f, 0, "a", awkward);
  expect_cell(&f, 0, "first", "");
  expect_cell(&f, 2, "list", "[1,{\"k\":\"v\"}]");
  CHECK(lh_frame_number(&f, 0, 2) == 0.1 && isnan(lh_frame_number(&f, 2, 2)), "numbers");
  lh_frame_fini(&f);
  free(csv);
  cJSON_Delete(rows);
  unlink(put("b.csv", ""));
}

static void tables(void)
{
  const char *const cells[] = {"µ", "step_s", "never", "last", "µm", "1.4014",
                               "",  "x",      "demo",  "0.02", "",   "y"};
  lh_table t = {.columns = 4};
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
    if (i % 4 == 1 && i > 4)
      lh_table_add_value(&t, "step_s", cells[i]);
    else
      lh_table_add(&t, cells[i]);
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  REQUIRE_OK(lh_table_print(&t, out));
  fclose(out);
  const char *expected = "µ      step_s  last\nµm     1.40 s  x\ndemo  20.0 ms  y\n";
  CHECK(strcmp(text, expected) == 0, "got\n%sexpected\n%s", text, expected);
  free(text);
  lh_table_fini(&t);

  const char *const pretty[][3] = {{"wall_clock_s", "7200", "2.00 h"},
                                   {"inter_node_bytes_per_step_max", "12500000", "12.5 MB"},
                                   {"bus_bandwidth_Bps", "1.25e9", "1.25 GB/s"},
                                   {"utilisation", "0.0614", "6.1 %"},
                                   {"final_loss", "2.48765", "2.488"},
                                   {"seconds_to_target", "", ""},
                                   {"nodes", "512", "512"},
                                   {"method", "ddp", "ddp"}};
  for (size_t i = 0; i < sizeof pretty / sizeof *pretty; i++) {
    char buffer[64];
    lh_pretty(pretty[i][0], pretty[i][1], buffer, sizeof buffer);
    CHECK(strcmp(buffer, pretty[i][2]) == 0, "%s: got \"%s\", expected \"%s\"", pretty[i][0],
          buffer, pretty[i][2]);
  }
}

/* demo wins on 8 nodes; the next best method *there* is ddp, though diloco is faster on 2. */
static void fastest(void)
{
  char path[200];
  snprintf(path, sizeof path, "%s/results", folder);
  REQUIRE_OK(lh_folder_make(path));
  put("results/scenarios.csv", "scenario,method,platform,nodes,workload,seconds_to_target,part\n"
                               "1,ddp,star,8,gpt,20,train\n2,demo,star,8,gpt,2,train\n"
                               "3,diloco,star,2,gpt,3,train\n4,demo,star,2,gpt,2.5,train\n"
                               "5,ddp,star,8,mlp,,other\n6,ddp,star,8,mlp,1.5,third\n");
  put("results/curves.csv", "scenario,step\n");
  lh_text text = {0};
  REQUIRE_OK(lh_fastest_to_target(folder, &text));
  const char *expected =
      "train: demo is the fastest method to the target loss, 2.00 s of virtual time on 8 nodes; "
      "next there is ddp with 20.0 s.\n"
      "third: ddp is the fastest method to the target loss, 1.50 s of virtual time on 8 nodes.\n";
  CHECK(strcmp(text.data, expected) == 0, "got\n%sexpected\n%s", text.data, expected);
  lh_text_free(&text);
  unlink(put("results/scenarios.csv", ""));
  unlink(put("results/curves.csv", ""));
  rmdir(path);
}

int main(void)
{
  if (!mkdtemp(folder))
    return 1;
  reading();
  writing();
  tables();
  fastest();
  CHECK(rmdir(folder) == 0, "%s is not empty", folder);
  return check_report("analysis");
}
