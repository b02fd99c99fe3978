/* methods.c -- the table of methods, and one of them in full. */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/table.h"
#include "base/text.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"
#include "sim/methods/method.h"

struct values {
  bool json;
};

static cJSON *method_json(const lh_method *method)
{
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", method->name);
  cJSON_AddStringToObject(object, "title", method->title);
  cJSON_AddStringToObject(object, "paper", method->paper);
  cJSON_AddStringToObject(object, "state", method->state_formula);
  cJSON_AddStringToObject(object, "wire", method->wire_formula);
  cJSON_AddItemToObject(object, "options", lh_options_json(method->options));
  return object;
}

static lh_status print_all(bool json)
{
  cJSON *all = cJSON_CreateArray();
  lh_table table = {.columns = 3};
  lh_table_add(&table, "method");
  lh_table_add(&table, "title");
  lh_table_add(&table, "paper");
  for (size_t i = 0; lh_methods[i]; i++) {
    cJSON_AddItemToArray(all, method_json(lh_methods[i]));
    lh_table_add(&table, lh_methods[i]->name);
    lh_table_add(&table, lh_methods[i]->title);
    lh_table_add(&table, lh_methods[i]->paper);
  }
  lh_status status = LH_OK;
  if (json)
    status = lh_print_own_json(all);
  else {
    cJSON_Delete(all);
    status = lh_table_print(&table, stdout);
    printf("\n\"longhaul methods NAME\" prints the options of one.\n");
  }
  lh_table_fini(&table);
  return status;
}

static lh_status find(const char *name, const lh_method **method)
{
  const char *names[64] = {NULL};
  for (size_t i = 0; lh_methods[i] && i < 63; i++)
    names[i] = lh_methods[i]->name;
  *method = lh_method_find(name);
  if (*method)
    return LH_OK;
  char hint[120];
  return lh_fail(LH_EINVAL, "methods: unknown method \"%s\"%s (\"longhaul methods\" lists them)",
                 name, lh_did_you_mean(name, names, hint, sizeof hint));
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  const lh_method *method = NULL;
  if (!words->n)
    return print_all(v->json);
  LH_TRY(find(words->word[0], &method));
  if (v->json)
    return lh_print_own_json(method_json(method));
  printf("%s: %s\n%s\n\nState per rank: %s\nSent per rank and step: %s\n\n", method->name,
         method->title, method->paper, method->state_formula, method->wire_formula);
  lh_options_print(method->options, stdout);
  return LH_OK;
}

static const lh_flag flags[] = {LH_FLAG_JSON(struct values), {0}};

static const char *const examples[] = {"longhaul methods", "All training methods",
                                       "longhaul methods diloco",
                                       "Options, state and bytes on the wire of one", NULL};

const lh_command lh_command_methods = {
    .name = "methods",
    .arguments = "[NAME]",
    .summary = "list the training methods, or one with its options",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
