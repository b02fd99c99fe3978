/* plot.c -- the pictures of an experiment. */
#include "analysis/plot.h"

#include "sim/cli/command.h"

static lh_status run(const void *values, const lh_words *words)
{
  (void)values;
  lh_text paths = {0};
  const lh_status status = lh_plot_experiment(words->word[0], &paths);
  if (status == LH_OK)
    fputs(paths.data, stdout);
  lh_text_free(&paths);
  return status;
}

static const lh_flag flags[] = {{0}};

static const char *const examples[] = {"longhaul plot experiments/first-look",
                                       "Draw all pictures and print their paths", NULL};

const lh_command lh_command_plot = {
    .name = "plot",
    .arguments = "EXPERIMENT",
    .summary = "draw an experiment's results as SVG and PNG",
    .details = "Writes into EXPERIMENT/plots: loss against virtual time, wall-clock per step "
               "against nodes\n"
               "and against bandwidth; beside each picture its gnuplot script and data.",
    .least_words = 1,
    .most_words = 1,
    .flags = flags,
    .examples = examples,
    .run = run,
};
