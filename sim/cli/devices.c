/* devices.c -- device profiles, and the backends that compute here. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/table.h"
#include "base/data_path.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "kernels/device.h"
#include "sim/cli/command.h"
#include "sim/cli/output.h"

struct values {
  bool json;
};

static cJSON *profile_json(const lh_device_profile *p)
{
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "name", p->name);
  cJSON_AddStringToObject(object, "title", p->title ? p->title : "");
  cJSON *peaks = cJSON_AddObjectToObject(object, "peak_flop_per_s");
  for (int i = 0; i < LH_DTYPE_COUNT; i++)
    if (p->peak_flop_per_s[i] > 0)
      cJSON_AddNumberToObject(peaks, lh_dtype_name((lh_dtype)i), p->peak_flop_per_s[i]);
  cJSON_AddNumberToObject(object, "memory_bandwidth_Bps", p->memory_bandwidth_Bps);
  cJSON_AddNumberToObject(object, "memory_bytes", p->memory_bytes);
  cJSON_AddNumberToObject(object, "launch_overhead_s", p->launch_overhead_s);
  cJSON_AddNumberToObject(object, "compute_efficiency", p->compute_efficiency);
  cJSON_AddNumberToObject(object, "memory_efficiency", p->memory_efficiency);
  cJSON_AddNumberToObject(object, "power_watt", p->power_watt);
  cJSON_AddNumberToObject(object, "price_usd_per_hour", 3600 * p->price_usd_per_s);
  return object;
}

/* TFLOPS; nothing where the device has no such unit. */
static const char *tera(char *buffer, size_t size, double rate)
{
  buffer[0] = '\0';
  if (rate > 1e24)
    snprintf(buffer, size, "any");
  else if (rate > 0)
    snprintf(buffer, size, "%.4g", rate / 1e12);
  return buffer;
}

static void add_profile(lh_table *table, const char *name, const lh_device_profile *p)
{
  char text[64];
  lh_table_add(table, name);
  lh_table_add(table, p->title ? p->title : "");
  lh_table_add(table, tera(text, sizeof text, p->peak_flop_per_s[LH_F32]));
  lh_table_add(table, tera(text, sizeof text, p->peak_flop_per_s[LH_BF16]));
  lh_table_add(table, p->memory_bandwidth_Bps < 1e18
                          ? lh_format_bytes_per_s(text, sizeof text, p->memory_bandwidth_Bps)
                          : "");
  lh_table_add(table,
               p->memory_bytes > 0 ? lh_format_bytes(text, sizeof text, p->memory_bytes) : "");
}

static int is_profile(const struct dirent *entry)
{
  const size_t n = strlen(entry->d_name);
  return n > 5 && strcmp(entry->d_name + n - 5, ".json") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name);
}

static lh_status add_all(const char *root, lh_table *table, cJSON *list)
{
  char folder[4300];
  struct dirent **entry;
  snprintf(folder, sizeof folder, "%s/platforms/devices", root);
  const int n = scandir(folder, &entry, is_profile, by_bytes);
  lh_status status = n < 0 ? lh_fail(LH_EINVAL, "%s: no such folder", folder) : LH_OK;
  for (int i = 0; i < n; i++) {
    lh_device_profile profile = {0};
    entry[i]->d_name[strlen(entry[i]->d_name) - 5] = '\0';
    if (status == LH_OK) {
      status = lh_device_profile_load(root, entry[i]->d_name, &profile);
      if (status == LH_OK) {
        add_profile(table, entry[i]->d_name, &profile);
        cJSON_AddItemToArray(list, profile_json(&profile));
      }
      lh_device_profile_fini(&profile);
    }
    free(entry[i]);
  }
  if (n >= 0)
    free(entry);
  return status;
}

static void print_backends(void)
{
  printf("\nBackends that compute here:");
  for (size_t i = 0; lh_backends[i]; i++)
    printf(" %s", lh_backend_name(lh_backends[i]));
  printf(". The CUDA backend is not part of this build.\n");
}

static lh_status print_all(const char *root, bool json)
{
  static const char *const headings[] = {"device",      "title",       "f32 TFLOPS",
                                         "bf16 TFLOPS", "memory rate", "memory"};
  lh_table table = {.columns = sizeof headings / sizeof *headings};
  cJSON *list = cJSON_CreateArray();
  for (size_t i = 0; i < table.columns; i++)
    lh_table_add(&table, headings[i]);
  lh_status status = add_all(root, &table, list);
  if (status == LH_OK && json)
    status = lh_print_own_json(list);
  else {
    cJSON_Delete(list);
    if (status == LH_OK)
      status = lh_table_print(&table, stdout);
    if (status == LH_OK)
      print_backends();
  }
  lh_table_fini(&table);
  return status;
}

static void print_profile(const lh_device_profile *p)
{
  cJSON *object = profile_json(p);
  for (const cJSON *member = object->child; member; member = member->next) {
    char text[64], pretty[64];
    if (cJSON_IsString(member))
      printf("%-22s %s\n", member->string, member->valuestring);
    else if (cJSON_IsNumber(member))
      printf("%-22s %s\n", member->string,
             lh_pretty(member->string, lh_format_number(text, sizeof text, member->valuedouble),
                       pretty, sizeof pretty));
    for (const cJSON *peak = cJSON_IsObject(member) ? member->child : NULL; peak; peak = peak->next)
      printf("peak %-17s %.4g TFLOPS\n", peak->string, peak->valuedouble / 1e12);
  }
  cJSON_Delete(object);
}

static lh_status run(const void *values, const lh_words *words)
{
  const struct values *v = values;
  char devices[4096], root[4200]; /* the profiles are looked up below the root of all data */
  snprintf(root, sizeof root, "%s", lh_data_path("platforms/devices", devices, sizeof devices));
  root[strlen(root) - strlen("/platforms/devices")] = '\0';
  if (!words->n)
    return print_all(root, v->json);
  lh_device_profile profile = {0};
  lh_status status = lh_device_profile_load(root, words->word[0], &profile);
  if (status == LH_OK && v->json)
    status = lh_print_own_json(profile_json(&profile));
  else if (status == LH_OK)
    print_profile(&profile);
  lh_device_profile_fini(&profile);
  return status;
}

static const lh_flag flags[] = {LH_FLAG_JSON(struct values), {0}};

static const char *const examples[] = {"longhaul devices",
                                       "All device profiles, and what computes here",
                                       "longhaul devices a100-80gb", "One profile", NULL};

const lh_command lh_command_devices = {
    .name = "devices",
    .arguments = "[NAME]",
    .summary = "list the device profiles and the backends of this build",
    .most_words = 1,
    .flags = flags,
    .values_size = sizeof(struct values),
    .examples = examples,
    .run = run,
};
