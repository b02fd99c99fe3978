#include "sim/training/options.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "kernels/tensor.h"

static void *field(void *values, const lh_option *option)
{
  return (char *)values + option->offset;
}

static size_t count_options(const lh_option *table)
{
  size_t n = 0;
  while (table && table[n].name)
    n++;
  return n;
}

/* ---- reading --------------------------------------------------------------------------------- */

static lh_status read_size(const lh_option *option, lh_json node, void *values)
{
  const size_t high = option->high > 0 && option->high < 0x1p63 ? (size_t)option->high : SIZE_MAX;
  return lh_json_size_value(node, (size_t)option->low, high, field(values, option));
}

static lh_status read_double(const lh_option *option, lh_json node, void *values)
{
  double *value = field(values, option);
  LH_TRY(lh_json_double(node, option->low, option->high, value));
  if ((option->open_low && *value <= option->low) || (option->open_high && *value >= option->high))
    return lh_json_fail(node, "found %g, allowed: a number %s %g and %s %g", *value,
                        option->open_low ? "above" : "from", option->low,
                        option->open_high ? "below" : "up to", option->high);
  return LH_OK;
}

static lh_status read_choice(const lh_option *option, lh_json node, void *values)
{
  size_t index;
  LH_TRY(lh_json_choice(node, option->choices, &index));
  if (option->type == LH_OPTION_DTYPE)
    return lh_dtype_find(option->choices[index], field(values, option));
  *(size_t *)field(values, option) = index;
  return LH_OK;
}

static lh_status read_part(const lh_option *option, lh_json node, void *values);

static lh_status read_value(const lh_option *option, lh_json node, void *values)
{
  switch (option->type) {
  case LH_OPTION_SIZE:
    return read_size(option, node, values);
  case LH_OPTION_DOUBLE:
    return read_double(option, node, values);
  case LH_OPTION_BOOL:
    return lh_json_bool(node, field(values, option));
  case LH_OPTION_CHOICE:
  case LH_OPTION_DTYPE:
    return read_choice(option, node, values);
  case LH_OPTION_QUANTITY:
    return lh_json_quantity(node, option->unit, field(values, option));
  case LH_OPTION_PART:
    return read_part(option, node, values);
  case LH_OPTION_RAW:
    *(lh_json *)field(values, option) = node;
    return LH_OK;
  }
  return lh_fail(LH_EINTERNAL, "option %s has no known type", option->name);
}

/* Everything is read from the default's text first, so that a default passes the same checks. */
static lh_status read_fallback(const lh_option *option, void *values)
{
  lh_json_document *document;
  LH_TRY(lh_json_read_text(option->name, option->fallback, &document));
  lh_status status = read_value(option, lh_json_root(document), values);
  lh_json_document_free(document);
  return status;
}

static lh_status set_defaults(const lh_option *table, void *values)
{
  for (const lh_option *option = table; option && option->name; option++) {
    if (option->type == LH_OPTION_RAW) {
      *(lh_json *)field(values, option) = (lh_json){0};
      continue;
    }
    if (option->type == LH_OPTION_PART)
      *(size_t *)field(values, option) = SIZE_MAX; /* nothing chosen yet */
    LH_TRY(read_fallback(option, values));
  }
  return LH_OK;
}

static lh_status read_members(const lh_option *table, lh_json object, void *values)
{
  for (const lh_option *option = table; option && option->name; option++) {
    lh_json node = lh_json_get(object, option->name);
    if (lh_json_present(node))
      LH_TRY(read_value(option, node, values));
  }
  return LH_OK;
}

#define MAX_KEYS 64

static lh_status check_keys(const lh_option *table, lh_json object, const char *const *also_allowed)
{
  const char *allowed[MAX_KEYS];
  size_t n = 0;
  for (; also_allowed && *also_allowed && n < MAX_KEYS - 1; also_allowed++)
    allowed[n++] = *also_allowed;
  for (; table && table->name && n < MAX_KEYS - 1; table++)
    allowed[n++] = table->name;
  allowed[n] = NULL;
  return lh_json_check_keys(object, allowed);
}

static lh_status find_part(const lh_option *option, lh_json name, size_t *index)
{
  const char *names[MAX_KEYS];
  size_t n = 0;
  for (; option->parts[n].name && n < MAX_KEYS - 1; n++)
    names[n] = option->parts[n].name;
  names[n] = NULL;
  return lh_json_choice(name, names, index);
}

static lh_status read_part(const lh_option *option, lh_json node, void *values)
{
  static const char *const name_key[] = {"name", NULL};
  size_t *chosen = field(values, option);
  const bool is_text = node.node && cJSON_IsString(node.node);
  lh_json name = is_text ? node : lh_json_get(node, "name");
  if (!is_text)
    LH_TRY(lh_json_expect_object(node));
  if (lh_json_present(name)) {
    const size_t before = *chosen;
    LH_TRY(find_part(option, name, chosen));
    if (*chosen != before)
      LH_TRY(set_defaults(option->parts[*chosen].options, chosen));
  }
  if (is_text)
    return LH_OK;
  LH_TRY(check_keys(option->parts[*chosen].options, node, name_key));
  return read_members(option->parts[*chosen].options, node, chosen);
}

lh_status lh_options_read(const lh_option *table, lh_json object, const char *const *also_allowed,
                          void *values)
{
  LH_TRY(lh_json_expect_object(object));
  LH_TRY(check_keys(table, object, also_allowed));
  LH_TRY(set_defaults(table, values));
  return read_members(table, object, values);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void append_names(lh_text *text, const char *const *names)
{
  for (size_t i = 0; names && names[i]; i++)
    lh_text_append(text, "%s%s", i ? " | " : "", names[i]);
}

static void append_range(lh_text *text, const lh_option *option)
{
  const bool bounded = isfinite(option->high) && option->high < 1e15;
  if (!bounded || option->open_low || option->open_high) {
    lh_text_append(text, option->open_low ? "above %g" : "at least %g", option->low);
    if (bounded)
      lh_text_append(text, option->open_high ? ", below %g" : ", at most %g", option->high);
    return;
  }
  lh_text_append(text, "%g..%g", option->low, option->high);
}

static void append_allowed(lh_text *text, const lh_option *option)
{
  switch (option->type) {
  case LH_OPTION_SIZE:
  case LH_OPTION_DOUBLE:
    append_range(text, option);
    break;
  case LH_OPTION_BOOL:
    lh_text_append(text, "true | false");
    break;
  case LH_OPTION_CHOICE:
  case LH_OPTION_DTYPE:
    append_names(text, option->choices);
    break;
  case LH_OPTION_QUANTITY:
    lh_text_append(text, "%s", lh_unit_allowed(option->unit));
    break;
  case LH_OPTION_PART:
    for (size_t i = 0; option->parts[i].name; i++)
      lh_text_append(text, "%s%s", i ? " | " : "", option->parts[i].name);
    break;
  case LH_OPTION_RAW:
    lh_text_append(text, "see help");
    break;
  }
}

static void print_rows(const lh_option *table, size_t indent, FILE *out)
{
  for (const lh_option *option = table; option && option->name; option++) {
    lh_text allowed = {0};
    append_allowed(&allowed, option);
    fprintf(out, "  %*s%-*s  %-14s  %-36s  %s\n", (int)indent, "", (int)(26 - indent), option->name,
            option->type == LH_OPTION_PART ? ""
            : option->fallback             ? option->fallback
                                           : "-",
            allowed.data ? allowed.data : "", option->help);
    lh_text_free(&allowed);
    for (const lh_option_part *part = option->parts; part && part->name; part++) {
      fprintf(out, "  %*s\"%s\": %s\n", (int)indent + 2, "", part->name, part->help);
      print_rows(part->options, indent + 4, out);
    }
  }
}

void lh_options_print(const lh_option *table, FILE *out)
{
  if (count_options(table) == 0)
    return;
  fprintf(out, "  %-26s  %-14s  %-36s  %s\n", "option", "default", "allowed", "meaning");
  print_rows(table, 0, out);
}

cJSON *lh_options_json(const lh_option *table)
{
  cJSON *array = cJSON_CreateArray();
  for (const lh_option *option = table; option && option->name; option++) {
    lh_text allowed = {0};
    append_allowed(&allowed, option);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", option->name);
    if (option->fallback)
      cJSON_AddItemToObject(row, "default", lh_json_parse_value(option->fallback));
    cJSON_AddStringToObject(row, "allowed", allowed.data ? allowed.data : "");
    cJSON_AddStringToObject(row, "help", option->help);
    if (option->parts) {
      cJSON *parts = cJSON_AddObjectToObject(row, "parts");
      for (const lh_option_part *part = option->parts; part->name; part++)
        cJSON_AddItemToObject(parts, part->name, lh_options_json(part->options));
    }
    cJSON_AddItemToArray(array, row);
    lh_text_free(&allowed);
  }
  return array;
}
