#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "kernels/backend.h"

static const char *const profile_keys[] = {"schema",
                                           "name",
                                           "title",
                                           "peak",
                                           "memory_bandwidth",
                                           "memory",
                                           "launch_overhead",
                                           "compute_efficiency",
                                           "memory_efficiency",
                                           "power",
                                           "price",
                                           "curves",
                                           "source",
                                           NULL};

static const char ideal_name[] = "ideal";

lh_device_profile lh_device_profile_ideal(void)
{
  lh_device_profile profile = {
      .name = (char *)(uintptr_t)ideal_name,
      .title = (char *)(uintptr_t)ideal_name,
      .memory_bandwidth_Bps = INFINITY,
      .compute_efficiency = 1.0,
      .memory_efficiency = 1.0,
  };
  profile.peak_flop_per_s[LH_F32] = INFINITY;
  return profile;
}

static void free_text(char *text)
{
  if (text != ideal_name)
    free(text);
}

void lh_device_profile_fini(lh_device_profile *profile)
{
  for (size_t i = 0; i < profile->curves; i++) {
    free(profile->curve[i].operation);
    free(profile->curve[i].size);
    free(profile->curve[i].efficiency);
  }
  free(profile->curve);
  free_text(profile->name);
  free_text(profile->title);
  *profile = (lh_device_profile){0};
}

/* ---- reading --------------------------------------------------------------------------------- */

static lh_status read_text(lh_json node, const char *fallback, char **out)
{
  const char *text;
  if (fallback)
    LH_TRY(lh_json_string_or(node, fallback, &text));
  else
    LH_TRY(lh_json_string(node, &text));
  *out = lh_string_copy(text);
  return *out ? LH_OK : lh_fail(LH_ENOMEM, "no memory for a device profile");
}

static lh_status read_positive(lh_json node, lh_unit unit, double *value)
{
  LH_TRY(lh_json_quantity(node, unit, value));
  return *value > 0 ? LH_OK
                    : lh_json_fail(node, "found 0, allowed: %s above 0", lh_unit_allowed(unit));
}

static lh_status read_ratio(lh_json node, double fallback, double *value)
{
  LH_TRY(lh_json_double_or(node, 0.0, 1.0, fallback, value));
  return *value > 0 ? LH_OK : lh_json_fail(node, "found 0, allowed: a share above 0 and up to 1");
}

static lh_status read_peaks(lh_json peak, lh_device_profile *profile)
{
  const char *names[LH_DTYPE_COUNT + 1] = {NULL};
  for (int d = 0; d < LH_DTYPE_COUNT; d++)
    names[d] = lh_dtype_name((lh_dtype)d);
  LH_TRY(lh_json_check_keys(peak, names));
  for (int d = 0; d < LH_DTYPE_COUNT; d++) {
    const lh_json node = lh_json_get(peak, names[d]);
    if (lh_json_present(node) ||
        d == LH_F32) /* f32 stands in for the others, so it must be there */
      LH_TRY(read_positive(node, LH_UNIT_FLOP_PER_S, &profile->peak_flop_per_s[d]));
  }
  return LH_OK;
}

static lh_status read_point(lh_json point, const lh_efficiency_curve *curve, size_t i)
{
  LH_TRY(lh_json_expect_array(point));
  if (lh_json_size(point) != 2)
    return lh_json_fail(point, "found %zu numbers, allowed: [size, efficiency]",
                        lh_json_size(point));
  LH_TRY(lh_json_double(lh_json_at(point, 0), 0.0, INFINITY, &curve->size[i]));
  LH_TRY(read_ratio(lh_json_at(point, 1), 1.0, &curve->efficiency[i]));
  const double before = i ? curve->size[i - 1] : 0.0;
  if (!(curve->size[i] > before))
    return lh_json_fail(point, "found size %g, allowed: sizes in ascending order, above %g",
                        curve->size[i], before);
  return LH_OK;
}

static lh_status read_curve(lh_json node, lh_efficiency_curve *curve)
{
  static const char *const keys[] = {"operation", "points", NULL};
  LH_TRY(lh_json_check_keys(node, keys));

  const char *names[LH_OPERATION_COUNT + 1] = {NULL};
  for (int i = 0; i < LH_OPERATION_COUNT; i++)
    names[i] = lh_operation_name((lh_operation)i);
  size_t operation;
  LH_TRY(lh_json_choice(lh_json_get(node, "operation"), names, &operation));
  curve->operation = lh_string_copy(names[operation]);

  const lh_json points = lh_json_get(node, "points");
  LH_TRY(lh_json_expect_array(points));
  curve->points = lh_json_size(points);
  if (curve->points == 0)
    return lh_json_fail(points, "found no points, allowed: one or more [size, efficiency]");
  curve->size = calloc(curve->points, sizeof *curve->size);
  curve->efficiency = calloc(curve->points, sizeof *curve->efficiency);
  if (!curve->operation || !curve->size || !curve->efficiency)
    return lh_fail(LH_ENOMEM, "no memory for a curve of %zu points", curve->points);
  for (size_t i = 0; i < curve->points; i++)
    LH_TRY(read_point(lh_json_at(points, i), curve, i));
  return LH_OK;
}

static lh_status read_curves(lh_json curves, lh_device_profile *profile)
{
  if (!lh_json_present(curves))
    return LH_OK;
  LH_TRY(lh_json_expect_array(curves));
  const size_t n = lh_json_size(curves);
  profile->curve = calloc(n + 1, sizeof *profile->curve);
  if (!profile->curve)
    return lh_fail(LH_ENOMEM, "no memory for %zu curves", n);
  for (size_t i = 0; i < n; i++) {
    profile->curves = i + 1; /* counted first: fini frees a half-read curve too */
    LH_TRY(read_curve(lh_json_at(curves, i), &profile->curve[i]));
    for (size_t j = 0; j < i; j++)
      if (strcmp(profile->curve[j].operation, profile->curve[i].operation) == 0)
        return lh_json_fail(lh_json_at(curves, i), "found a second curve for \"%s\", allowed: one",
                            profile->curve[i].operation);
  }
  return LH_OK;
}

lh_status lh_device_profile_read(lh_json node, lh_device_profile *profile)
{
  *profile = (lh_device_profile){0};
  LH_TRY(lh_json_check_keys(node, profile_keys));
  LH_TRY(lh_json_check_schema(node, "device"));
  LH_TRY(read_text(lh_json_get(node, "name"), NULL, &profile->name));
  LH_TRY(read_text(lh_json_get(node, "title"), profile->name, &profile->title));
  LH_TRY(read_peaks(lh_json_get(node, "peak"), profile));
  LH_TRY(read_positive(lh_json_get(node, "memory_bandwidth"), LH_UNIT_BYTES_PER_S,
                       &profile->memory_bandwidth_Bps));
  LH_TRY(
      lh_json_quantity_or(lh_json_get(node, "memory"), LH_UNIT_BYTES, 0.0, &profile->memory_bytes));
  LH_TRY(lh_json_quantity_or(lh_json_get(node, "launch_overhead"), LH_UNIT_S, 0.0,
                             &profile->launch_overhead_s));
  LH_TRY(read_ratio(lh_json_get(node, "compute_efficiency"), 1.0, &profile->compute_efficiency));
  LH_TRY(read_ratio(lh_json_get(node, "memory_efficiency"), 1.0, &profile->memory_efficiency));
  LH_TRY(lh_json_quantity_or(lh_json_get(node, "power"), LH_UNIT_WATT, 0.0, &profile->power_watt));
  LH_TRY(lh_json_quantity_or(lh_json_get(node, "price"), LH_UNIT_USD_PER_S, 0.0,
                             &profile->price_usd_per_s));
  const char *source;
  LH_TRY(lh_json_string_or(lh_json_get(node, "source"), "", &source));
  return read_curves(lh_json_get(node, "curves"), profile);
}

/* ---- loading by name ------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the .json files in a folder, sorted, NULL-terminated; empty if it can't be read. */
static char **profile_names(const char *folder)
{
  char **names = calloc(1, sizeof *names);
  size_t n = 0;
  DIR *dir = opendir(folder);
  for (struct dirent *entry; dir && names && (entry = readdir(dir));) {
    const size_t length = strlen(entry->d_name);
    if (length < 6 || strcmp(entry->d_name + length - 5, ".json") != 0)
      continue;
    char **grown = realloc(names, (n + 2) * sizeof *names);
    if (!grown)
      break;
    names = grown;
    names[n] = lh_string_format("%.*s", (int)(length - 5), entry->d_name);
    names[n + 1] = NULL;
    n += names[n] != NULL;
  }
  if (dir)
    closedir(dir);
  if (names)
    qsort(names, n, sizeof *names, compare_names);
  return names;
}

static lh_status unknown_profile(const char *folder, const char *name)
{
  lh_text list = {0};
  char **names = profile_names(folder);
  for (size_t i = 0; names && names[i]; i++)
    lh_text_append(&list, "%s%s", i ? ", " : "", names[i]);
  const char *near = names ? lh_nearest(name, (const char *const *)names) : NULL;
  lh_status status = lh_fail(LH_EINVAL, "device \"%s\" is not in %s, which has %s%s%s%s", name,
                             folder, list.length ? list.data : "no device profile",
                             near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
  for (size_t i = 0; names && names[i]; i++)
    free(names[i]);
  free(names);
  lh_text_free(&list);
  return status;
}

lh_status lh_device_profile_load(const char *folder, const char *name, lh_device_profile *profile)
{
  *profile = (lh_device_profile){0};
  lh_json_document *document = NULL;
  lh_status status;
  char *devices = lh_string_format("%s/platforms/devices", folder);
  char *path = lh_string_format("%s/platforms/devices/%s.json", folder, name);
  if (!devices || !path)
    status = lh_fail(LH_ENOMEM, "no memory for the path of device \"%s\"", name);
  else if (!lh_file_exists(path))
    status = unknown_profile(devices, name);
  else if ((status = lh_json_read_file(path, &document)) == LH_OK)
    status = lh_device_profile_read(lh_json_root(document), profile);
  lh_json_document_free(document);
  free(path);
  free(devices);
  return status;
}
