#include "sim/runner/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct worker {
  pid_t child; /* 0: idle */
  size_t job;
  int report; /* memory file: the child's reason */
  int noise;  /* memory file: what the child wrote to standard error */
};

struct crew {
  const lh_pool *pool;
  lh_pool_state *state;
  size_t workers, next_job;
  struct worker *worker;
  sigset_t watched, before;
  double start_s;
};

size_t lh_pool_default_workers(void)
{
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return (size_t)CPU_COUNT(&set);
  return 1;
}

static double host_clock_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the child ------------------------------------------------------------------------------- */

static void run_child(const struct crew *crew, const struct worker *worker, pid_t parent)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(LH_EINTERRUPTED); /* it died before the line above */
  sigprocmask(SIG_SETMASK, &crew->before, NULL);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);
  dup2(worker->noise, STDERR_FILENO);
  const lh_status status = crew->pool->run(crew->pool->arg, worker->job);
  if (status != LH_OK)
    dprintf(worker->report, "%s", lh_fail_text());
  _exit(status);
}

static lh_status start_job(struct crew *crew, struct worker *worker)
{
  worker->job = crew->next_job;
  worker->report = memfd_create("report", MFD_CLOEXEC);
  worker->noise = memfd_create("noise", MFD_CLOEXEC);
  const pid_t parent = getpid();
  fflush(NULL); /* or the child would write our buffers again */
  const pid_t child = worker->report < 0 || worker->noise < 0 ? -1 : fork();
  if (child == 0)
    run_child(crew, worker, parent);
  if (child < 0) {
    close(worker->report);
    close(worker->noise);
    return lh_fail(LH_ENOMEM, "starting a process failed: %s", strerror(errno));
  }
  worker->child = child;
  crew->next_job++;
  crew->state->running++;
  return LH_OK;
}

/* ---- its end --------------------------------------------------------------------------------- */

/* The last non-empty line of a memory file; returns text. */
static const char *last_line(int fd, char *text, size_t size)
{
  const off_t end = lseek(fd, 0, SEEK_END);
  const off_t from = end > (off_t)size - 1 ? end - ((off_t)size - 1) : 0;
  const ssize_t n = pread(fd, text, size - 1, from);
  text[n > 0 ? n : 0] = '\0';
  size_t length = strlen(text);
  while (length && text[length - 1] == '\n')
    text[--length] = '\0';
  const char *line = strrchr(text, '\n');
  return line ? line + 1 : text;
}

static lh_status report_failure(struct crew *crew, const struct worker *worker, int how)
{
  char said[700], noise[700], reason[1024];
  lh_status status = LH_EINTERNAL;
  const char *const report = last_line(worker->report, said, sizeof said);
  const char *const last_words = last_line(worker->noise, noise, sizeof noise);
  const char *const colon = *last_words ? ": " : "";
  if (WIFEXITED(how) && WEXITSTATUS(how) < LH_STATUS_COUNT && *report) {
    status = (lh_status)WEXITSTATUS(how);
    snprintf(reason, sizeof reason, "%s", report);
  } else if (WIFSIGNALED(how))
    snprintf(reason, sizeof reason, "its process was ended by signal %d (%s)%s%s%s", WTERMSIG(how),
             strsignal(WTERMSIG(how)),
             WTERMSIG(how) == SIGKILL ? ", perhaps because the host ran out of memory" : "", colon,
             last_words);
  else
    snprintf(reason, sizeof reason, "its process ended with exit status %d%s%s", WEXITSTATUS(how),
             colon, last_words);
  return crew->pool->failed(crew->pool->arg, worker->job, status, reason);
}

static lh_status collect(struct crew *crew)
{
  int how;
  for (pid_t child; (child = waitpid(-1, &how, WNOHANG)) > 0;) {
    struct worker *worker = crew->worker;
    while (worker < crew->worker + crew->workers && worker->child != child)
      worker++;
    if (worker == crew->worker + crew->workers)
      continue; /* not one of ours */
    worker->child = 0;
    crew->state->running--;
    crew->state->done++;
    const bool failed = !(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    crew->state->failed += failed;
    const lh_status status = failed ? report_failure(crew, worker, how) : LH_OK;
    close(worker->report);
    close(worker->noise);
    LH_TRY(status);
  }
  return LH_OK;
}

static void stop_all(struct crew *crew)
{
  for (size_t i = 0; i < crew->workers; i++)
    if (crew->worker[i].child) {
      kill(crew->worker[i].child, SIGKILL); /* results are written whole or not at all */
      waitpid(crew->worker[i].child, NULL, 0);
      close(crew->worker[i].report);
      close(crew->worker[i].noise);
      crew->worker[i].child = 0;
      crew->state->running--;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void tell(struct crew *crew)
{
  crew->state->elapsed_s = host_clock_s() - crew->start_s;
  if (crew->pool->progress)
    crew->pool->progress(crew->pool->arg, crew->state);
}

static lh_status fill_workers(struct crew *crew)
{
  for (size_t i = 0; i < crew->workers && crew->next_job < crew->pool->jobs; i++)
    if (!crew->worker[i].child)
      LH_TRY(start_job(crew, &crew->worker[i]));
  return LH_OK;
}

static lh_status run_all(struct crew *crew)
{
  while (crew->state->done < crew->pool->jobs) {
    LH_TRY(fill_workers(crew));
    tell(crew);
    const struct timespec patience = {.tv_nsec = 250000000};
    const int signal = sigtimedwait(&crew->watched, NULL, &patience);
    if (signal > 0 && signal != SIGCHLD)
      return lh_fail(LH_EINTERRUPTED, "interrupted: %zu of %zu done, the rest is still to run",
                     crew->state->done, crew->pool->jobs);
    LH_TRY(collect(crew));
  }
  tell(crew);
  return LH_OK;
}

lh_status lh_pool_run(const lh_pool *pool, lh_pool_state *state)
{
  *state = (lh_pool_state){.jobs = pool->jobs};
  struct crew crew = {.pool = pool, .state = state, .start_s = host_clock_s()};
  crew.workers = pool->workers ? pool->workers : lh_pool_default_workers();
  if (crew.workers > pool->jobs)
    crew.workers = pool->jobs;
  if (!pool->jobs)
    return LH_OK;
  crew.worker = calloc(crew.workers, sizeof *crew.worker);
  if (!crew.worker)
    return lh_fail(LH_ENOMEM, "no memory for %zu workers", crew.workers);
  /* Signals are waited for, never handled: no handler, no global flag, no race. */
  sigemptyset(&crew.watched);
  sigaddset(&crew.watched, SIGCHLD);
  sigaddset(&crew.watched, SIGINT);
  sigaddset(&crew.watched, SIGTERM);
  sigaddset(&crew.watched, SIGHUP);
  sigprocmask(SIG_BLOCK, &crew.watched, &crew.before);
  const lh_status status = run_all(&crew);
  stop_all(&crew);
  sigprocmask(SIG_SETMASK, &crew.before, NULL);
  free(crew.worker);
  return status;
}
