/* Growing strings, suggestions, hashes against published FNV-1a values, and files: above all that a
 * disk that fills up leaves the old file whole and nothing beside it. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/check.h"

static void growing(void)
{
  lh_text t = {0};
  for (int i = 0; i < 1000; i++)
    lh_text_append(&t, "%d,", i);
  lh_text_append_bytes(&t, "", 0);
  CHECK(t.length == 10 * 2 + 90 * 3 + 900 * 4 && strlen(t.data) == t.length, "length %zu",
        t.length);
  CHECK(strncmp(t.data, "0,1,2,", 6) == 0 && strcmp(t.data + t.length - 4, "999,") == 0, "ends");
  lh_text_free(&t);
  CHECK(!t.data && !t.length, "not emptied");
}

static void suggestions(void)
{
  static const char *const names[] = {"top_k", "bandwidth", "bandwidth_up", "ddp", "chunk",
                                      "ring",  NULL};
  const char *const rows[][2] = {{"topk", "top_k"},
                                 {"top-k", "top_k"},
                                 {"bandwith", "bandwidth"},
                                 {"bandwidht", "bandwidth"},
                                 {"DDP", "ddp"},
                                 {"ddp-adamw", "ddp"},
                                 {"rign", "ring"},
                                 {"latency", NULL},
                                 {"x", NULL},
                                 {"", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *got = lh_nearest(rows[i][0], names), *wanted = rows[i][1];
    CHECK(got == wanted || (got && wanted && strcmp(got, wanted) == 0), "%s: got %s, expected %s",
          rows[i][0], got ? got : "nothing", wanted ? wanted : "nothing");
  }
}

static void hashes(void)
{
  const char *const rows[][2] = {
      {"", "cbf29ce484222325"}, {"a", "af63dc4c8601ec8c"}, {"foobar", "85944171f73967e8"}};
  char hex[33];
  for (size_t i = 0; i < 3; i++) {
    lh_hash_hex(rows[i][0], strlen(rows[i][0]), hex);
    CHECK(strncmp(hex, rows[i][1], 16) == 0 && strlen(hex) == 32, "\"%s\": %s", rows[i][0], hex);
    CHECK(strncmp(hex, hex + 16, 16) != 0, "both halves agree: %s", hex);
  }
}

static int entries(const char *folder)
{
  DIR *open = opendir(folder);
  int n = -2; /* . and .. */
  while (open && readdir(open))
    n++;
  closedir(open);
  return n;
}

static void expect_contents(const char *path, const char *expected)
{
  char *data;
  size_t size;
  REQUIRE_OK(lh_file_read(path, &data, &size));
  CHECK(size == strlen(expected) && strcmp(data, expected) == 0, "%s holds %zu bytes: %.40s", path,
        size, data);
  free(data);
}

/* In a child, because a limit on file sizes can't be taken back for the other tests. Such a limit
 * acts as a full disk does: write() fails part of the way. */
/* The reason of a failure: one line that keeps its end, whatever the names in it are. */
static void reasons(void)
{
  static char name[5000];
  memset(name, 'n', sizeof name - 1);
  lh_fail_record("found \"%s\", allowed: %s", name, "ring");
  const char *text = lh_fail_text();
  CHECK(strncmp(text, "found \"nnn", 10) == 0 && strstr(text, "n\", allowed: ring"), "%s", text);
  CHECK(strlen(text) < 1024 && strstr(text, "n ... n"), "%zu characters", strlen(text));
  lh_fail_record("found \"%s\"", "a\nb\033[1m");
  CHECK(strcmp(lh_fail_text(), "found \"a b [1m\"") == 0, "%s", lh_fail_text());
  lh_fail_record_within("part \"%s\"", "p");
  CHECK(strcmp(lh_fail_text(), "part \"p\": found \"a b [1m\"") == 0, "%s", lh_fail_text());
}

static void full_disk(const char *path)
{
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 1000, .rlim_max = 1000});
    char large[5000];
    memset(large, 'x', sizeof large);
    const lh_status status = lh_file_write_atomic(path, large, sizeof large);
    _exit(status == LH_EIO && strstr(lh_fail_text(), path) ? 0 : 1);
  }
  int how;
  waitpid(child, &how, 0);
  CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0, "a full disk was not reported as LH_EIO");
}

/* A pipe stays a pipe and gets the bytes; a link stays a link and its file gets them. */
static void special_files(const char *folder)
{
  char pipe_path[300], link_path[300], file[300], got[8] = "";
  snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
  snprintf(link_path, sizeof link_path, "%s/link", folder);
  snprintf(file, sizeof file, "%s/linked", folder);
  struct stat found;
  CHECK(mkfifo(pipe_path, 0600) == 0, "no pipe");
  const int end = open(pipe_path, O_RDONLY | O_NONBLOCK);
  REQUIRE_OK(lh_file_write_atomic(pipe_path, "flow", 4));
  CHECK(read(end, got, sizeof got) == 4 && strcmp(got, "flow") == 0, "the pipe got \"%s\"", got);
  close(end);
  CHECK(lstat(pipe_path, &found) == 0 && S_ISFIFO(found.st_mode), "the pipe was replaced");
  REQUIRE_OK(lh_file_write_atomic(file, "old", 3));
  CHECK(symlink("linked", link_path) == 0, "no link");
  REQUIRE_OK(lh_file_write_atomic(link_path, "new", 3));
  expect_contents(file, "new");
  CHECK(lstat(link_path, &found) == 0 && S_ISLNK(found.st_mode), "the link was replaced");
  CHECK(lh_file_write_atomic(folder, "x", 1) == LH_EIO, "a folder was written to");
  unlink(pipe_path);
  unlink(link_path);
  unlink(file);
}

static void files(const char *folder)
{
  char deep[200], path[300];
  snprintf(deep, sizeof deep, "%s/a/b", folder);
  REQUIRE_OK(lh_folder_make(deep));
  REQUIRE_OK(lh_folder_make(deep));
  snprintf(path, sizeof path, "%s/file", deep);
  CHECK(!lh_file_exists(path), "there before it is written");
  REQUIRE_OK(lh_file_write_atomic(path, "old", 3));
  expect_contents(path, "old");
  full_disk(path);
  expect_contents(path, "old");
  CHECK(entries(deep) == 1, "%d entries left in the folder", entries(deep));
  REQUIRE_OK(lh_file_write_atomic(path, "new", 3));
  expect_contents(path, "new");

  char *data;
  size_t size;
  CHECK(lh_file_read(deep, &data, &size) == LH_EINVAL && strstr(lh_fail_text(), "folder"),
        "a folder was read as a file");
  CHECK(lh_folder_make(path) == LH_EIO, "a folder was made where a file is");
  unlink(path);
  CHECK(lh_file_read(path, &data, &size) == LH_EINVAL && strstr(lh_fail_text(), path), "missing");
  CHECK(lh_file_write_atomic("/nowhere/at/all", "x", 1) == LH_EIO, "written to nowhere");
  rmdir(deep);
  snprintf(deep, sizeof deep, "%s/a", folder);
  rmdir(deep);
}

int main(void)
{
  char folder[] = "/tmp/longhaul-text-XXXXXX";
  if (!mkdtemp(folder))
    return 1;
  growing();
  suggestions();
  hashes();
  reasons();
  files(folder);
  special_files(folder);
  CHECK(rmdir(folder) == 0, "%s is not empty", folder);
  return check_report("text");
}
