/* main.c -- finds the command, runs it, prints its error and ends. Only this file does either. */
#include <ctype.h>
#include <gsl/gsl_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sim/cli/flags.h"

const lh_command *const lh_commands[] = {&lh_command_run,
                                         &lh_command_predict,
                                         &lh_command_collective,
                                         &lh_command_plot,
                                         &lh_command_check,
                                         &lh_command_platform,
                                         &lh_command_methods,
                                         &lh_command_models,
                                         &lh_command_devices,
                                         &lh_command_collectives,
                                         NULL};

static void print_help(void)
{
  printf("longhaul %s: runs training methods on simulated clusters, and predicts wall-clock\n\n",
         LH_VERSION);
  for (size_t i = 0; lh_commands[i]; i++)
    printf("  longhaul %-12s %s\n", lh_commands[i]->name, lh_commands[i]->summary);
  printf("\n\"longhaul COMMAND --help\" explains a command, with examples. Results go to standard\n"
         "output, progress to standard error. Exit status: 0 done, 1 something failed while it\n"
         "ran, 2 the input is wrong, 130 interrupted.\n");
}

static void print_command_help(const lh_command *command)
{
  printf("longhaul %s %s\n\n%c%s.\n", command->name, command->arguments,
         toupper((unsigned char)command->summary[0]), command->summary + 1);
  if (command->details)
    printf("\n%s\n", command->details);
  printf("\n");
  for (const lh_flag *flag = command->flags; flag->name; flag++) {
    char name[64];
    snprintf(name, sizeof name, "%s %s", flag->name, flag->value ? flag->value : "");
    printf("  %-32s %s\n", name, flag->help);
  }
  printf("  %-32s %s\n", "--help", "print this");
  for (const char *const *example = command->examples; *example; example += 2)
    printf("\n%s:\n  %s\n", example[1], example[0]);
}

static lh_status find_command(const char *name, const lh_command **command)
{
  const char *names[32] = {NULL};
  for (size_t i = 0; lh_commands[i]; i++) {
    names[i] = lh_commands[i]->name;
    if (strcmp(name, names[i]) == 0) {
      *command = lh_commands[i];
      return LH_OK;
    }
  }
  char hint[120];
  return lh_fail(LH_EINVAL, "unknown command \"%s\"%s (\"longhaul --help\" lists them)", name,
                 lh_did_you_mean(name, names, hint, sizeof hint));
}

static lh_status run_command(const lh_command *command, int argc, char **argv)
{
  bool help = false;
  lh_words words = {0};
  void *values = calloc(1, command->values_size + 1);
  if (!values)
    return lh_fail(LH_ENOMEM, "no memory for the arguments");
  lh_status status = lh_arguments_read(command, argc, argv, values, &words, &help);
  if (help)
    print_command_help(command);
  else if (status == LH_OK)
    status = command->run(values, &words);
  lh_arguments_free(command, values, &words);
  free(values);
  return status;
}

static lh_status dispatch(int argc, char **argv)
{
  const lh_command *command = NULL;
  const char *name = argc > 1 ? argv[1] : "";
  if (strcmp(name, "--version") == 0) {
    printf("longhaul %s\n", LH_VERSION);
    return LH_OK;
  }
  const bool help =
      strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0;
  if (help && argc > 2) {
    LH_TRY(find_command(argv[2], &command));
    print_command_help(command);
    return LH_OK;
  }
  if (help) {
    print_help();
    return LH_OK;
  }
  if (!*name)
    return lh_fail(LH_EINVAL, "a command is missing; \"longhaul --help\" lists them");
  LH_TRY(find_command(name, &command));
  return run_command(command, argc - 2, argv + 2);
}

static void print_error(void)
{
  const bool colour = isatty(STDERR_FILENO) && !getenv("NO_COLOR");
  fprintf(stderr, "longhaul: %serror:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "",
          lh_fail_text());
}

int main(int argc, char **argv)
{
  gsl_set_error_handler_off(); /* the default one aborts; we look at what GSL returns */
  lh_status status = dispatch(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    const lh_status written =
        lh_fail(LH_EIO, "standard output: writing failed: the disk may be full");
    status = status == LH_OK ? written : status;
  }
  if (status != LH_OK)
    print_error();
  return lh_status_exit(status);
}
