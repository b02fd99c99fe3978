/* The pool, the store and the experiment runner around a scenario that this file makes up, so that it
 * can fail, crash, hang or fill the disk at will. What must hold: the tables' bytes depend on the grid
 * alone; nothing finished is run again or lost; one bad scenario does not take others with it. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/runner/experiment.h"
#include "sim/runner/scenario.h"
#include "sim/runner/store.h"
#include "tests/check.h"

static char folder[] = "/tmp/longhaul-experiment-XXXXXX";

/* ---- the made-up scenario: these take the place of scenario.c's ------------------------------- */

static const char *behaviour(lh_json scenario)
{
  const char *text = "";
  if (lh_json_string(lh_json_get(lh_json_get(scenario, "workload"), "behaviour"), &text) != LH_OK)
    return "";
  return text;
}

lh_status lh_scenario_check(lh_json scenario)
{
  return strcmp(behaviour(scenario), "wrong") == 0
             ? lh_json_fail(lh_json_get(scenario, "workload"), "found nonsense")
             : LH_OK;
}

/* Each run leaves a mark, so that the test can count how often something was run. */
static void leave_mark(double x)
{
  char path[200];
  snprintf(path, sizeof path, "%s/marks-%g", folder, x);
  FILE *marks = fopen(path, "a");
  fputc('x', marks);
  fclose(marks);
}

lh_status lh_scenario_run(lh_json scenario, const lh_scenario_output *output, cJSON **row,
                          cJSON **curve)
{
  (void)output;
  double x = 0;
  const char *what = behaviour(scenario);
  LH_TRY(lh_json_double(lh_json_get(lh_json_get(scenario, "run"), "x"), 0, 1000, &x));
  leave_mark(x);
  const bool odd = x == 3;
  if (odd && strcmp(what, "fail") == 0)
    return lh_fail(LH_EDEADLOCK, "rank 1 waits, and \"nothing\", comes");
  if (odd && strcmp(what, "crash") == 0)
    abort();
  if (odd && strcmp(what, "vanish") == 0) {
    fprintf(stderr, "first words\nlast words\n");
    _exit(97);
  }
  if (strcmp(what, "slow") == 0)
    nanosleep(&(struct timespec){.tv_sec = x == 0 ? 0 : 30}, NULL);
  /* the later ones end first, so that the order of ending is not the order of the grid */
  nanosleep(&(struct timespec){.tv_nsec = x < 6 ? (long)(6 - x) * 4000000 : 0}, NULL);
  *row = cJSON_CreateObject();
  *curve = cJSON_CreateArray();
  cJSON_AddStringToObject(*row, "scenario", "");
  cJSON_AddStringToObject(*row, "method", "ddp");
  cJSON_AddStringToObject(*row, "status", "done");
  cJSON_AddNumberToObject(*row, "wall_clock_s", x / 3);
  cJSON_AddNullToObject(*row, "final_loss");
  for (int step = 1; step <= 2; step++) {
    cJSON *record = cJSON_CreateObject();
    cJSON_AddNumberToObject(record, "step", step);
    cJSON_AddNumberToObject(record, "train_loss", x + 0.1 * step);
    cJSON_AddItemToArray(*curve, record);
  }
  return LH_OK;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static void make_experiment(const char *what)
{
  char path[200], text[400];
  snprintf(path, sizeof path, "%s/experiment.json", folder);
  snprintf(text, sizeof text,
           "{\"workload\": {\"behaviour\": \"%s\"}, \"methods\": [{\"name\": \"ddp\"}],"
           " \"run\": {\"x\": {\"sweep\": [0, 1, 2, 3, 4, 5]}}}",
           what);
  REQUIRE_OK(lh_file_write_atomic(path, text, strlen(text)));
}

static void clear_results(void)
{
  char command[200];
  snprintf(command, sizeof command, "rm -rf %s/results %s/marks-*", folder, folder);
  CHECK(system(command) == 0, "%s", command);
}

static lh_status run(size_t workers, const char *only, size_t limit, lh_experiment_result *result)
{
  lh_grid grid;
  REQUIRE_OK(lh_grid_read(folder, &grid));
  const lh_experiment_options options = {.workers = workers, .only = only, .limit = limit};
  const lh_status status = lh_experiment_run(&grid, &options, result);
  lh_grid_fini(&grid);
  return status;
}

static char *contents(const char *name)
{
  char path[200], *data;
  size_t size;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return lh_file_read(path, &data, &size) == LH_OK ? data : lh_string_copy("");
}

static void expect_contents(const char *name, const char *expected, const char *when)
{
  char *got = contents(name);
  CHECK(strcmp(got, expected) == 0, "%s, %s: got\n%s\nexpected\n%s", name, when, got, expected);
  free(got);
}

static size_t marks(double x)
{
  char name[32];
  snprintf(name, sizeof name, "marks-%g", x);
  char *text = contents(name);
  const size_t n = strlen(text);
  free(text);
  return n;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static char *whole_scenarios, *whole_curves; /* of an undisturbed run with one worker */

static void undisturbed(void)
{
  lh_experiment_result r;
  make_experiment("plain");
  clear_results();
  REQUIRE_OK(run(1, NULL, SIZE_MAX, &r));
  CHECK(r.selected == 6 && r.run == 6 && !r.failed && !r.left && !r.finished_before, "counts");
  whole_scenarios = contents("results/scenarios.csv");
  whole_curves = contents("results/curves.csv");
  const char *line = strstr(whole_scenarios, "\n");
  size_t lines = 0;
  for (const char *c = whole_scenarios; *c; c++)
    lines += *c == '\n';
  CHECK(lines == 7, "%zu lines", lines);
  CHECK(strncmp(whole_scenarios, "scenario,method,platform,nodes,", 31) == 0, "first columns");
  CHECK(line && line - 6 > whole_scenarios && strncmp(line - 6, ",run.x", 6) == 0,
        "the swept path is the last column");
  CHECK(strstr(whole_scenarios, ",0.3333333333333333,"), "1/3 in full");
  CHECK(strncmp(whole_curves, "scenario,step,tokens,virtual_s,train_loss,", 42) == 0, "curve");
  CHECK(strstr(whole_curves, ",2,,,5.2,"), "the last record");

  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.finished_before == 6 && r.run == 0, "finished ones were run again");
  expect_contents("results/scenarios.csv", whole_scenarios, "run again");
  for (double x = 0; x < 6; x++)
    CHECK(marks(x) == 1, "%g was run %zu times", x, marks(x));
}

static void workers_and_pieces(void)
{
  lh_experiment_result r;
  clear_results();
  REQUIRE_OK(run(4, NULL, SIZE_MAX, &r));
  expect_contents("results/scenarios.csv", whole_scenarios, "4 workers");
  expect_contents("results/curves.csv", whole_curves, "4 workers");

  clear_results();
  REQUIRE_OK(run(2, "x=4", SIZE_MAX, &r));
  CHECK(r.selected == 1 && r.run == 1, "--only took %zu", r.selected);
  REQUIRE_OK(run(2, "*x=[35]", SIZE_MAX, &r));
  CHECK(r.selected == 2 && r.run == 2, "--only with a pattern took %zu", r.selected);
  REQUIRE_OK(run(2, NULL, 2, &r));
  CHECK(r.selected == 6 && r.finished_before == 3 && r.run == 2 && r.left == 1, "--limit");
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.run == 1, "%zu were left", r.run);
  expect_contents("results/scenarios.csv", whole_scenarios, "in pieces");
  expect_contents("results/curves.csv", whole_curves, "in pieces");

  char path[200]; /* a row that is no row (a disk error) is run again */
  lh_grid grid;
  REQUIRE_OK(lh_grid_read(folder, &grid));
  snprintf(path, sizeof path, "%s/results/rows/%s.json", folder, grid.point[2].key);
  REQUIRE_OK(lh_file_write_atomic(path, "{\"row\":", 7));
  lh_grid_fini(&grid);
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.run == 1 && marks(2) == 2, "%zu run", r.run);
  expect_contents("results/scenarios.csv", whole_scenarios, "after a damaged row");
}

/* One fails in this way, five go on; the next run tries the one again. */
static void one_bad(const char *what, const char *reason)
{
  lh_experiment_result r;
  make_experiment(what);
  clear_results();
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.run == 6 && r.failed == 1 && r.left == 1, "%s: %zu run, %zu failed, %zu left", what,
        r.run, r.failed, r.left);
  CHECK(strstr(r.first_failure, "ddp run.x=3: ") && strstr(r.first_failure, reason), "%s: \"%s\"",
        what, r.first_failure);
  char *table = contents("results/scenarios.csv");
  CHECK(strstr(table, ",failed,") && strstr(table, reason), "%s: no failed row in\n%s", what,
        table);
  free(table);
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.finished_before == 5 && r.failed == 1 && marks(3) == 2 && marks(2) == 1, "%s: again",
        what);
}

static void bad_input(void)
{
  lh_experiment_result r;
  make_experiment("wrong");
  clear_results();
  CHECK(run(2, NULL, SIZE_MAX, &r) == LH_EINVAL, "bad input was run");
  CHECK(strstr(lh_fail_text(), "scenario \"ddp run.x=0\"") && strstr(lh_fail_text(), "nonsense"),
        "%s", lh_fail_text());
  CHECK(marks(0) + marks(5) == 0, "something had started");
}

/* In a child that is interrupted while the second scenario hangs: the first is kept. */
static void interrupted(int signal)
{
  make_experiment("slow");
  clear_results();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    lh_experiment_result r;
    const bool right = run(2, NULL, SIZE_MAX, &r) == LH_EINTERRUPTED && r.left == 5;
    _exit(right && waitpid(-1, NULL, WNOHANG) == -1 ? 7 : 1); /* no child is left either */
  }
  while (marks(0) + marks(1) + marks(2) < 3)
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  lh_experiment_result r;
  CHECK(run(1, NULL, SIZE_MAX, &r) == LH_EIO && strstr(lh_fail_text(), "another run"),
        "two at once: %s", lh_fail_text());
  kill(child, signal);
  int how;
  waitpid(child, &how, 0);
  /* What it had started ends with it, and gives the lock back: those jobs would last 30 s. */
  lh_status status = LH_EIO;
  for (int i = 0; i < 200 && status == LH_EIO; i++) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    status = run(1, "x=0", SIZE_MAX, &r);
  }
  CHECK(status == LH_OK && r.finished_before == 1, "children live on: %s", lh_fail_text());
  if (signal == SIGKILL)
    CHECK(WIFSIGNALED(how), "still alive");
  else
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 7, "status %x", how);
  make_experiment("plain");
  clear_results();
}

/* The same scenarios, killed half-way and taken up again. */
static void killed_and_resumed(void)
{
  lh_experiment_result r;
  make_experiment("plain");
  clear_results();
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    run(1, NULL, SIZE_MAX, &r);
    _exit(0);
  }
  while (marks(2) == 0)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* its children end after it */
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.finished_before >= 2 && r.finished_before < 6, "%zu were kept", r.finished_before);
  expect_contents("results/scenarios.csv", whole_scenarios, "killed and resumed");
  expect_contents("results/curves.csv", whole_curves, "killed and resumed");
}

/* With files limited to fewer bytes than a result has, as on a full disk. */
static void full_disk(void)
{
  lh_experiment_result r;
  make_experiment("plain");
  clear_results();
  REQUIRE_OK(run(1, NULL, 2, &r));
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 60, .rlim_max = 60});
    const bool right = run(2, NULL, SIZE_MAX, &r) == LH_EIO && strstr(lh_fail_text(), "rows/") &&
                       strstr(lh_fail_text(), "writing failed");
    _exit(right ? 0 : 1);
  }
  int how;
  waitpid(child, &how, 0);
  CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0, "a full disk was not reported");
  REQUIRE_OK(run(2, NULL, SIZE_MAX, &r));
  CHECK(r.finished_before == 2, "%zu were kept", r.finished_before);
  expect_contents("results/scenarios.csv", whole_scenarios, "after a full disk");
}

int main(void)
{
  if (!mkdtemp(folder))
    return 1;
  undisturbed();
  workers_and_pieces();
  one_bad("fail", "rank 1 waits");
  one_bad("crash", "signal 6");
  one_bad("vanish", "exit status 97: last words");
  bad_input();
  interrupted(SIGINT);
  interrupted(SIGTERM);
  interrupted(SIGKILL);
  killed_and_resumed();
  full_disk();
  free(whole_scenarios);
  free(whole_curves);
  clear_results();
  char path[200];
  snprintf(path, sizeof path, "%s/experiment.json", folder);
  unlink(path);
  CHECK(rmdir(folder) == 0, "%s is not empty", folder);
  return check_report("experiment");
}
