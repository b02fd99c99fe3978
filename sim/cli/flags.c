#include "sim/cli/flags.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static lh_status add_word(lh_words *words, const char *word)
{
  const char **larger = realloc(words->word, (words->n + 1) * sizeof *larger);
  if (!larger)
    return lh_fail(LH_ENOMEM, "no memory for the arguments");
  words->word = larger;
  larger[words->n++] = word;
  return LH_OK;
}

/* The flag that `argument` ("--set" or "--set=x") names. */
static lh_status find_flag(const lh_command *command, const char *argument, const lh_flag **flag)
{
  const size_t n = strcspn(argument, "=");
  for (const lh_flag *f = command->flags; f->name; f++)
    if (strlen(f->name) == n && strncmp(f->name, argument, n) == 0) {
      *flag = f;
      return LH_OK;
    }
  const char *names[32] = {"--help"};
  for (size_t i = 0; command->flags[i].name && i < 30; i++)
    names[i + 1] = command->flags[i].name;
  char word[64], hint[120];
  snprintf(word, sizeof word, "%.*s", (int)n, argument);
  return lh_fail(LH_EINVAL, "%s: unknown flag \"%s\"%s (\"longhaul %s --help\" lists them)",
                 command->name, word, lh_did_you_mean(word, names, hint, sizeof hint),
                 command->name);
}

static lh_status read_size(const lh_flag *flag, const char *text, size_t *value)
{
  const unsigned least = flag->type == LH_FLAG_COUNT;
  errno = 0;
  const unsigned long long number = strtoull(text, NULL, 10);
  if (!*text || strspn(text, "0123456789") != strlen(text) || errno || number < least)
    return lh_fail(LH_EINVAL, "%s: found \"%s\", allowed: a whole number of %u or more", flag->name,
                   text, least);
  *value = (size_t)number;
  return LH_OK;
}

static lh_status read_number(const lh_flag *flag, const char *text, double *value)
{
  char *end;
  *value = strtod(text, &end);
  if (!*text || *end || !(*value >= 0) || isinf(*value))
    return lh_fail(LH_EINVAL, "%s: found \"%s\", allowed: a number of 0 or more", flag->name, text);
  return LH_OK;
}

static lh_status store(const lh_flag *flag, const char *text, void *values)
{
  void *const field = (char *)values + flag->offset;
  switch (flag->type) {
  case LH_FLAG_SWITCH:
    *(bool *)field = true;
    return LH_OK;
  case LH_FLAG_TEXT:
    *(const char **)field = text;
    return LH_OK;
  case LH_FLAG_SIZE:
  case LH_FLAG_COUNT:
    return read_size(flag, text, field);
  case LH_FLAG_NUMBER:
    return read_number(flag, text, field);
  case LH_FLAG_LIST:
    return add_word(field, text);
  }
  return LH_OK;
}

/* Reads the flag at argv[*i], and its value behind it. */
static lh_status read_flag(const lh_command *command, int argc, char **argv, int *i, void *values)
{
  const lh_flag *flag = NULL;
  LH_TRY(find_flag(command, argv[*i], &flag));
  const char *text = strchr(argv[*i], '=');
  if (flag->type == LH_FLAG_SWITCH)
    return text ? lh_fail(LH_EINVAL, "%s: %s takes no value", command->name, flag->name)
                : store(flag, NULL, values);
  if (text)
    return store(flag, text + 1, values);
  if (*i + 1 == argc)
    return lh_fail(LH_EINVAL, "%s: %s needs a value: %s %s", command->name, flag->name, flag->name,
                   flag->value);
  return store(flag, argv[++*i], values);
}

/* Output has one form. */
static lh_status check_forms(const lh_command *command, const void *values)
{
  const bool *form[2] = {NULL, NULL};
  for (const lh_flag *flag = command->flags; flag->name; flag++) {
    const bool *field = (const void *)((const char *)values + flag->offset);
    if (strcmp(flag->name, "--json") == 0)
      form[0] = field;
    if (strcmp(flag->name, "--csv") == 0)
      form[1] = field;
  }
  if (form[0] && form[1] && *form[0] && *form[1])
    return lh_fail(LH_EINVAL, "%s: found --json and --csv, allowed: one of them", command->name);
  return LH_OK;
}

static lh_status check_words(const lh_command *command, const lh_words *words)
{
  if (words->n > command->most_words)
    return lh_fail(LH_EINVAL, "%s: found \"%s\" too many, allowed: longhaul %s %s", command->name,
                   words->word[command->most_words], command->name, command->arguments);
  if (words->n < command->least_words)
    return lh_fail(LH_EINVAL, "%s: something is missing, allowed: longhaul %s %s", command->name,
                   command->name, command->arguments);
  return LH_OK;
}

lh_status lh_arguments_read(const lh_command *command, int argc, char **argv, void *values,
                            lh_words *words, bool *help)
{
  bool flags = true;
  *words = (lh_words){0};
  *help = false;
  for (int i = 0; i < argc; i++)
    *help = *help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
  if (*help)
    return LH_OK;
  for (int i = 0; i < argc; i++) {
    if (flags && strcmp(argv[i], "--") == 0)
      flags = false;
    else if (flags && argv[i][0] == '-' && argv[i][1])
      LH_TRY(read_flag(command, argc, argv, &i, values));
    else
      LH_TRY(add_word(words, argv[i]));
  }
  LH_TRY(check_forms(command, values));
  return check_words(command, words);
}

void lh_arguments_free(const lh_command *command, void *values, lh_words *words)
{
  for (const lh_flag *flag = command->flags; flag->name; flag++)
    if (flag->type == LH_FLAG_LIST)
      free(((lh_words *)((char *)values + flag->offset))->word);
  free(words->word);
}

lh_status lh_choose(const char *what, const char *text, const char *const *names, size_t *index)
{
  lh_text all = {0};
  char hint[120];
  for (*index = 0; names[*index]; ++*index) {
    if (strcmp(names[*index], text) == 0) {
      lh_text_free(&all);
      return LH_OK;
    }
    lh_text_append(&all, "%s%s", *index ? ", " : "", names[*index]);
  }
  const lh_status status =
      lh_fail(LH_EINVAL, "%s: found \"%s\", allowed: %s%s", what, text,
              all.data ? all.data : "nothing", lh_did_you_mean(text, names, hint, sizeof hint));
  lh_text_free(&all);
  return status;
}
