/* collective.c -- how long collectives take on a simulated cluster, size by size. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/text.h"
#include "sim/cli/cluster_flags.h"
#include "sim/cli/flags.h"
#include "sim/cli/output.h"
#include "sim/cli/sizes.h"
#include "sim/net/bandwidth.h"
#include "sim/runner/measure.h"
#include "sim/runner/pool.h"

struct values {
  lh_cluster_flags cluster;
  const char *algorithm, *bytes, *timing, *flow_model, *ranks;
  size_t root;
  bool json, csv;
};

struct job {
  lh_collective collective;
  double lower_bound_s;
};

struct work {
  const lh_platform *platform;
  lh_flow_model flow_model;
  size_t jobs;
  struct job *job;
  double *time_s; /* (jobs) in memory that the children share */
  lh_status status;
  char reason[1024]; /* of the first job that failed */
};

/* ---- jobs -------------------------------------------------------------------------------------- */

static lh_status run_job(void *arg, size_t index)
{
  const struct work *work = arg;
  double time_s = NAN;
  const struct job *job = &work->job[index];
  LH_TRY(lh_collective_measure_s(work->platform, work->flow_model, &job->collective, &time_s));
  LH_TRY(lh_collective_check_time(&job->collective, job->lower_bound_s, time_s));
  work->time_s[index] = time_s;
  return LH_OK;
}

static lh_status failed_job(void *arg, size_t index, lh_status status, const char *reason)
{
  struct work *work = arg;
  (void)index;
  if (work->status == LH_OK) {
    work->status = status;
    snprintf(work->reason, sizeof work->reason, "%s", reason);
  }
  return LH_OK;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void add_number(cJSON *row, const char *name, double value)
{
  if (isfinite(value))
    cJSON_AddNumberToObject(row, name, value);
  else
    cJSON_AddNullToObject(row, name);
}

static cJSON *make_row(const struct work *work, size_t index)
{
  const struct job *job = &work->job[index];
  const lh_collective *c = &job->collective;
  const double time_s = work->time_s[index];
  const double algorithm_Bps = time_s > 0 ? c->bytes / time_s : NAN;
  bool *seen = calloc(work->platform->nodes, sizeof *seen);
  size_t nodes = 0;
  for (size_t i = 0; seen && i < c->n; i++) {
    bool *here = &seen[work->platform->node_of_rank[c->ranks[i]]];
    nodes += !*here;
    *here = true;
  }
  free(seen);
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "kind", lh_collective_names[c->kind]);
  cJSON_AddStringToObject(row, "algorithm", lh_algorithm_names[c->algorithm]);
  cJSON_AddStringToObject(row, "timing", lh_timing_names[c->timing]);
  cJSON_AddNumberToObject(row, "nodes", (double)nodes);
  cJSON_AddNumberToObject(row, "ranks", (double)c->n);
  cJSON_AddNumberToObject(row, "bytes", c->bytes);
  add_number(row, "time_s", time_s);
  add_number(row, "lower_bound_s", job->lower_bound_s);
  add_number(row, "algorithm_bandwidth_Bps", algorithm_Bps);
  add_number(row, "bus_bandwidth_Bps", algorithm_Bps * lh_bus_factor(c->kind, c->n));
  return row;
}

static const lh_heading headings[] = {{"kind", "kind"},
                                      {"algorithm", "algorithm"},
                                      {"timing", "timing"},
                                      {"nodes", "nodes"},
                                      {"ranks", "ranks"},
                                      {"bytes", "bytes"},
                                      {"time_s", "time"},
                                      {"lower_bound_s", "lower bound"},
                                      {"algorithm_bandwidth_Bps", "algorithm bandwidth"},
                                      {"bus_bandwidth_Bps", "bus bandwidth"},
                                      {NULL, NULL}};

static lh_status print_rows(const struct work *work, const struct values *v)
{
  cJSON *rows = cJSON_CreateArray();
  for (size_t i = 0; i < work->jobs; i++)
    if (!isnan(work->time_s[i]))
      cJSON_AddItemToArray(rows, make_row(work, i));
  const lh_status status = lh_print_rows(rows, v->json, v->csv, NULL, headings);
  cJSON_Delete(rows);
  return status;
}

/* ---- reading the command line ------------------------------------------------------------------ */

/* The group: all ranks, or those listed, in that order. *ranks has platform->ranks places. */
static lh_status read_ranks(const char *text, const lh_platform *platform, size_t *ranks, size_t *n)
{
  for (*n = 0; !text && *n < platform->ranks; ++*n)
    ranks[*n] = *n;
  while (text && *text) {
    char *end;
    const unsigned long rank = strtoul(text, &end, 10);
    bool twice = false;
    for (size_t i = 0; i < *n; i++)
      twice = twice || ranks[i] == rank;
    if (end == text || (*end && *end != ',') || rank >= platform->ranks || twice)
      return lh_fail(LH_EINVAL, "--ranks: found \"%s\", allowed: different ranks in 0..%zu: 0,2,1",
                     text, platform->ranks - 1);
    ranks[(*n)++] = rank;
    text = *end ? end + 1 : end;
  }
  return LH_OK;
}

static lh_status prepare_job(const struct work *work, struct job *job)
{
  lh_collective *c = &job->collective;
  LH_TRY(lh_collective_check(work->platform, c));
  LH_TRY(lh_collective_resolve(work->platform, c, &c->algorithm, &c->timing));
  LH_TRY(lh_collective_lower_bound_s(work->platform, c, &job->lower_bound_s));
  return LH_OK;
}

/* What the words on the command line choose; members and bytes come later. */
static lh_status read_choices(const struct values *v, const lh_words *words, struct work *work,
                              lh_collective *c)
{
  size_t kind, algorithm, timing, flow_model;
  const char *const algorithm_text = v->algorithm ? v->algorithm : "auto";
  LH_TRY(lh_choose("collective", words->word[0], lh_collective_names, &kind));
  LH_TRY(lh_choose("--algorithm", algorithm_text, lh_algorithm_names, &algorithm));
  LH_TRY(lh_choose("--timing", v->timing ? v->timing : "auto", lh_timing_names, &timing));
  LH_TRY(lh_choose("--flow-model", v->flow_model ? v->flow_model : "ideal", lh_flow_model_names,
                   &flow_model));
  work->flow_model = (lh_flow_model)flow_model;
  *c = (lh_collective){.kind = (lh_collective_kind)kind,
                       .algorithm = (lh_algorithm)algorithm,
                       .timing = (lh_timing)timing,
                       .root = v->root};
  return LH_OK;
}

static lh_status prepare(const struct values *v, lh_collective c, struct work *work, size_t *ranks,
                         const double *bytes)
{
  c.ranks = ranks;
  LH_TRY(read_ranks(v->ranks, work->platform, ranks, &c.n));
  if (v->root >= c.n)
    return lh_fail(LH_EINVAL, "--root: found %zu, allowed: a member of the group, 0..%zu", v->root,
                   c.n - 1);
  for (size_t i = 0; i < work->jobs; i++) {
    c.bytes = bytes[i];
    work->job[i].collective = c;
    LH_TRY(prepare_job(work, &work->job[i]));
    work->time_s[i] = NAN;
  }
  return LH_OK;
}

/* ---- the command ------------------------------------------------------------------------------- */

static lh_status run_all(struct work *work, const struct values *v)
{
  lh_pool_state state;
  const lh_pool pool = {.jobs = work->jobs, .run = run_job, .failed = failed_job, .arg = work};
  LH_TRY(lh_pool_run(&pool, &state));
  LH_TRY(print_rows(work, v));
  return work->status == LH_OK ? LH_OK : lh_fail(work->status, "%s", work->reason);
}

static lh_status run_on(const struct values *v, const lh_collective *c, struct work *work,
                        const double *bytes)
{
  const size_t shared_bytes = work->jobs * sizeof(double);
  size_t *ranks = calloc(work->platform->ranks, sizeof *ranks);
  work->job = calloc(work->jobs, sizeof *work->job);
  work->time_s =
      mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  lh_status status = ranks && work->job && work->time_s != MAP_FAILED
                         ? prepare(v, *c, work, ranks, bytes)
                         : lh_fail(LH_ENOMEM, "no memory for %zu collectives", work->jobs);
  if (status == LH_OK)
    status = run_all(work, v);
  if (work->time_s != MAP_FAILED)
    munmap(work->time_s, shared_bytes);
  free(work->job);
  free(ranks);
  return status;
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  struct work work = {0};
  double *bytes = NULL;
  lh_platform *platform = NULL;
  lh_collective collective;
  LH_TRY(read_choices(v, words, &work, &collective));
  LH_TRY(lh_byte_sizes_read(v->bytes ? v->bytes : "1kB:1GB:x10", &bytes, &work.jobs));
  lh_status status = lh_cluster_flags_read(&v->cluster, NULL, &platform);
  work.platform = platform;
  if (status == LH_OK)
    status = run_on(v, &collective, &work, bytes);
  lh_platform_free(platform);
  free(bytes);
  return status;
}

static const lh_flag flags[] = {
    LH_CLUSTER_FLAGS(struct values, cluster),
    {"--algorithm", LH_FLAG_TEXT, offsetof(struct values, algorithm), "NAME",
     "ring, binomial-tree, ... (default: the cheapest by prediction)"},
    {"--bytes", LH_FLAG_TEXT, offsetof(struct values, bytes), "LIST",
     "100MB, 8,1kB,1MiB or 8:1GiB:x2 (default 1kB:1GB:x10)"},
    {"--timing", LH_FLAG_TEXT, offsetof(struct values, timing), "exact|fluid|auto",
     "every message a flow, or one flow per rank and hop"},
    {"--flow-model", LH_FLAG_TEXT, offsetof(struct values, flow_model), "ideal|tcp",
     "how flows share links (default ideal)"},
    {"--ranks", LH_FLAG_TEXT, offsetof(struct values, ranks), "LIST",
     "the group, in its order: 0,2,1,3 (default: all)"},
    {"--root", LH_FLAG_SIZE, offsetof(struct values, root), "N",
     "member of the group that broadcasts or receives (default 0)"},
    LH_FLAG_JSON(struct values),
    LH_FLAG_CSV(struct values),
    {0}};

static const char *const examples[] = {
    "longhaul collective all-reduce --nodes 8 --bandwidth 1Gbps --latency 50us "
    "--algorithm ring --timing exact --bytes 100MB",
    "A ring all-reduce on eight nodes at one switch: 1.4014 s",
    "longhaul collective all-reduce --platform star --bytes 8:1GiB:x2 --csv",
    "All sizes on a shipped platform, as a table for programs",
    "longhaul collective all-gather --nodes 4 --accelerators 8 --bandwidth 100Gbps "
    "--set platform.fabric.bandwidth=300GB/s --set platform.fabric.kind=switch",
    "Nodes of eight accelerators behind an inner switch",
    NULL};

const lh_command lh_command_collective = {
    .name = "collective",
    .arguments =
        "KIND [--platform P | --nodes N --bandwidth B --latency L] [--algorithm A] [--bytes LIST]",
    .summary = "time one collective over message sizes",
    .details = "Algorithm bandwidth is bytes over time; bus bandwidth is that times 2(n-1)/n for "
               "all-reduce\n"
               "and (n-1)/n for reduce-scatter, all-gather and all-to-all. \"longhaul "
               "collectives\" lists\n"
               "kinds and algorithms.",
    .least_words = 1,
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
