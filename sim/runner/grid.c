#include "sim/runner/grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sim/runner/sweep.h"

char *lh_cell_text(const cJSON *value)
{
  char number[40];
  if (!value || cJSON_IsNull(value))
    return lh_string_copy("");
  if (cJSON_IsString(value))
    return lh_string_copy(value->valuestring);
  if (cJSON_IsNumber(value))
    return lh_string_copy(lh_format_number(number, sizeof number, value->valuedouble));
  return lh_json_canonical(value);
}

/* ---- the first place that has several values ------------------------------------------------- */

struct place {
  cJSON *parent, *node; /* node: a sweep, or the top level's "methods" */
  char path[256];
};

/* Depth first, in the order of the file; false: the tree is a single scenario. */
static bool find_place(cJSON *tree, const char *path, struct place *place)
{
  size_t index = 0;
  for (cJSON *member = tree->child; member; member = member->next, index++) {
    char below[sizeof place->path], name[24];
    snprintf(name, sizeof name, "%zu", index);
    const int n = snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "",
                           cJSON_IsObject(tree) ? member->string : name);
    const bool methods = !*path && cJSON_IsObject(tree) && strcmp(member->string, "methods") == 0;
    if (methods || lh_is_sweep(member)) {
      place->parent = tree;
      place->node = member;
      memcpy(place->path, below, sizeof below);
      return true;
    }
    if (n < (int)sizeof below && find_place(member, below, place))
      return true;
  }
  return false;
}

/* Puts value where the place is; "methods" becomes "method". Takes the value over. */
static bool substitute(const struct place *place, cJSON *value)
{
  if (cJSON_IsArray(place->parent))
    return cJSON_ReplaceItemViaPointer(place->parent, place->node, value);
  cJSON *holder = cJSON_CreateObject(); /* gives the value its key, and the order is kept */
  const char *key = strcmp(place->path, "methods") == 0 ? "method" : place->node->string;
  if (!cJSON_AddItemToObject(holder, key, value)) {
    cJSON_Delete(holder);
    cJSON_Delete(value);
    return false;
  }
  cJSON_DetachItemViaPointer(holder, value);
  cJSON_Delete(holder);
  return cJSON_ReplaceItemViaPointer(place->parent, place->node, value);
}

/* ---- expansion ------------------------------------------------------------------------------- */

struct expansion {
  const char *file;
  lh_grid *grid;
  lh_key_cache *cache;
};

static char *label_of(const cJSON *tree, const cJSON *columns)
{
  lh_text label = {0};
  const cJSON *part = cJSON_GetObjectItemCaseSensitive(columns, "part");
  const cJSON *method = lh_json_find_path(tree, "method");
  if (cJSON_IsObject(method))
    method = lh_json_find_path(method, "name");
  lh_text_append(&label, "%s%s%s", part ? part->valuestring : "", part ? " " : "",
                 cJSON_IsString(method) ? method->valuestring : "?");
  for (const cJSON *column = columns->child; column; column = column->next) {
    if (column == part)
      continue;
    char *text = lh_cell_text(column);
    lh_text_append(&label, " %s=%s", column->string, text ? text : "");
    free(text);
  }
  return label.data;
}

static lh_status add_point(struct expansion *e, const cJSON *tree, const cJSON *columns)
{
  lh_grid *grid = e->grid;
  if (grid->points == LH_GRID_MOST_POINTS)
    return lh_fail(LH_EINVAL, "%s: the grid has more than %d scenarios", e->file,
                   LH_GRID_MOST_POINTS);
  if ((grid->points & (grid->points - 1)) == 0) { /* full at each power of two */
    lh_grid_point *larger =
        realloc(grid->point, (grid->points ? 2 * grid->points : 1) * sizeof *larger);
    if (!larger)
      return lh_fail(LH_ENOMEM, "%s: no memory for the grid", e->file);
    grid->point = larger;
  }
  lh_grid_point *point = &grid->point[grid->points];
  *point = (lh_grid_point){0};
  LH_TRY(lh_json_adopt(e->file, cJSON_Duplicate(tree, 1), &point->document));
  grid->points++; /* from here on lh_grid_fini frees it */
  point->columns = cJSON_Duplicate(columns, 1);
  point->label = label_of(tree, columns);
  if (!point->columns || !point->label)
    return lh_fail(LH_ENOMEM, "%s: no memory for the grid", e->file);
  return lh_scenario_key(lh_json_root(point->document), e->cache, point->key);
}

static lh_status expand(struct expansion *e, const cJSON *tree, const cJSON *columns);

/* One value of the first place: a copy of the tree with the value in it, expanded further. */
static lh_status expand_value(struct expansion *e, const cJSON *tree, const cJSON *columns,
                              const cJSON *value)
{
  struct place place;
  cJSON *copy = cJSON_Duplicate(tree, 1), *more = cJSON_Duplicate(columns, 1);
  lh_status status;
  if (!copy || !more || !find_place(copy, "", &place))
    status = lh_fail(LH_ENOMEM, "%s: no memory for the grid", e->file);
  else {
    if (strcmp(place.path, "methods") != 0)
      cJSON_AddItemToObject(more, place.path, cJSON_Duplicate(value, 1));
    status = substitute(&place, cJSON_Duplicate(value, 1))
                 ? expand(e, copy, more)
                 : lh_fail(LH_ENOMEM, "%s: no memory for the grid", e->file);
  }
  cJSON_Delete(copy);
  cJSON_Delete(more);
  return status;
}

/* The values at a place, with errors that name the experiment's file and path. */
static lh_status values_at(struct expansion *e, const cJSON *tree, const struct place *place,
                           cJSON **values)
{
  lh_json_document *document;
  LH_TRY(lh_json_adopt(e->file, cJSON_Duplicate(tree, 1), &document));
  struct place here;
  find_place((cJSON *)lh_json_root(document).node, "", &here);
  lh_json node = lh_json_root(document);
  node.node = here.node;
  lh_status status = LH_OK;
  if (strcmp(place->path, "methods") != 0)
    status = lh_sweep_values(node, values);
  else {
    status = lh_json_expect_array(node);
    if (status == LH_OK && !lh_json_size(node))
      status = lh_json_fail(node, "found an empty list, allowed: one method or more");
    if (status == LH_OK)
      *values = cJSON_Duplicate(node.node, 1);
  }
  lh_json_document_free(document);
  return status;
}

static lh_status expand(struct expansion *e, const cJSON *tree, const cJSON *columns)
{
  struct place place;
  if (!find_place((cJSON *)tree, "", &place)) /* only looked at */
    return add_point(e, tree, columns);
  cJSON *values = NULL;
  LH_TRY(values_at(e, tree, &place, &values));
  lh_status status = LH_OK;
  for (const cJSON *value = values->child; value && status == LH_OK; value = value->next)
    status = expand_value(e, tree, columns, value);
  cJSON_Delete(values);
  return status;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const char *const scenario_keys[] = {"platform", "workload", "methods", "method", "run"};

static bool is_scenario_key(const char *key)
{
  for (size_t i = 0; i < sizeof scenario_keys / sizeof *scenario_keys; i++)
    if (strcmp(key, scenario_keys[i]) == 0)
      return true;
  return false;
}

/* As lh_json_merge, but a sweep is one value and never mixes with what it meets. */
static bool merge_over(cJSON *base, const cJSON *over)
{
  for (const cJSON *member = over->child; member; member = member->next) {
    cJSON *present = cJSON_GetObjectItemCaseSensitive(base, member->string);
    if (cJSON_IsObject(present) && cJSON_IsObject(member) && !lh_is_sweep(present) &&
        !lh_is_sweep(member)) {
      if (!merge_over(present, member))
        return false;
      continue;
    }
    cJSON *copy = cJSON_Duplicate(member, 1);
    if (!(present ? cJSON_ReplaceItemInObjectCaseSensitive(base, member->string, copy)
                  : cJSON_AddItemToObject(base, member->string, copy)))
      return false;
  }
  return true;
}

static void drop_other_keys(cJSON *tree)
{
  for (cJSON *member = tree->child, *next; member; member = next) {
    next = member->next;
    if (!is_scenario_key(member->string))
      cJSON_Delete(cJSON_DetachItemViaPointer(tree, member));
  }
}

/* One part (absent: the whole file is one) as a grid of its own. */
static lh_status expand_part(struct expansion *e, lh_json root, lh_json part)
{
  cJSON *tree = cJSON_Duplicate(root.node, 1), *columns = cJSON_CreateObject();
  const char *name = NULL;
  lh_status status = LH_OK;
  if (!tree || !columns || (lh_json_present(part) && !merge_over(tree, part.node)))
    status = lh_fail(LH_ENOMEM, "%s: no memory for the grid", e->file);
  if (status == LH_OK && lh_json_present(part)) {
    status = lh_json_string(lh_json_get(part, "name"), &name);
    if (status == LH_OK)
      cJSON_AddStringToObject(columns, "part", name);
  }
  if (status == LH_OK) {
    drop_other_keys(tree);
    if (cJSON_HasObjectItem(tree, "methods") == cJSON_HasObjectItem(tree, "method"))
      status = lh_json_fail(lh_json_present(part) ? part : root,
                            "found %s, allowed: \"methods\": [{\"name\": ...}, ...]",
                            cJSON_HasObjectItem(tree, "methods") ? "\"methods\" and \"method\""
                                                                 : "no \"methods\"");
  }
  if (status == LH_OK)
    status = expand(e, tree, columns);
  cJSON_Delete(tree);
  cJSON_Delete(columns);
  return status != LH_OK && name ? lh_fail_within(status, "part \"%s\"", name) : status;
}

static lh_status check_parts(lh_json parts)
{
  static const char *const keys[] = {"name",    "title",  "platform", "workload",
                                     "methods", "method", "run",      NULL};
  LH_TRY(lh_json_expect_array(parts));
  if (!lh_json_size(parts))
    return lh_json_fail(parts, "found an empty list, allowed: one part or more");
  for (size_t i = 0; i < lh_json_size(parts); i++) {
    const char *name = "", *other = "";
    LH_TRY(lh_json_check_keys(lh_json_at(parts, i), keys));
    LH_TRY(lh_json_string(lh_json_get(lh_json_at(parts, i), "name"), &name));
    for (size_t j = 0; j < i; j++) {
      LH_TRY(lh_json_string(lh_json_get(lh_json_at(parts, j), "name"), &other));
      if (strcmp(name, other) == 0)
        return lh_json_fail(lh_json_at(parts, i), "found the name \"%s\" twice, allowed: once",
                            name);
    }
  }
  return LH_OK;
}

static lh_status expand_all(struct expansion *e, lh_json root)
{
  static const char *const keys[] = {"schema",  "title",  "description", "platform", "workload",
                                     "methods", "method", "run",         "parts",    NULL};
  LH_TRY(lh_json_check_keys(root, keys));
  LH_TRY(lh_json_check_schema(root, "experiment"));
  const char *title = "";
  LH_TRY(lh_json_string_or(lh_json_get(root, "title"), "", &title));
  e->grid->title = lh_string_copy(title);
  const lh_json parts = lh_json_get(root, "parts");
  if (!lh_json_present(parts))
    return expand_part(e, root, parts);
  LH_TRY(check_parts(parts));
  for (size_t i = 0; i < lh_json_size(parts); i++)
    LH_TRY(expand_part(e, root, lh_json_at(parts, i)));
  return LH_OK;
}

/* A scenario that stands twice in the grid would be one row under two labels. */
static int by_key(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lh_status refuse_twins(const lh_grid *grid, const char *file)
{
  const char **keys = malloc((grid->points + 1) * sizeof *keys);
  if (!keys)
    return lh_fail(LH_ENOMEM, "%s: no memory for the grid", file);
  for (size_t i = 0; i < grid->points; i++)
    keys[i] = grid->point[i].key;
  qsort(keys, grid->points, sizeof *keys, by_key);
  const char *twin = NULL;
  for (size_t i = 1; i < grid->points && !twin; i++)
    if (strcmp(keys[i - 1], keys[i]) == 0)
      twin = keys[i];
  free(keys);
  for (size_t i = 0; twin && i < grid->points; i++)
    if (strcmp(grid->point[i].key, twin) == 0)
      return lh_fail(LH_EINVAL, "%s: the scenario \"%s\" stands in the grid twice, allowed: once",
                     file, grid->point[i].label);
  return LH_OK;
}

lh_status lh_grid_read(const char *path, lh_grid *grid)
{
  *grid = (lh_grid){0};
  const size_t n = strlen(path);
  const bool is_file = n > 5 && strcmp(path + n - 5, ".json") == 0;
  char *file =
      is_file ? lh_string_copy(path)
              : lh_string_format("%s%sexperiment.json", path, n && path[n - 1] == '/' ? "" : "/");
  struct expansion e = {.file = file, .grid = grid, .cache = lh_key_cache_new()};
  lh_json_document *document = NULL;
  lh_status status =
      file && e.cache ? lh_json_read_file(file, &document) : lh_fail(LH_ENOMEM, "no memory");
  if (status == LH_OK) {
    grid->folder = lh_string_copy(lh_json_folder(lh_json_root(document)));
    status = expand_all(&e, lh_json_root(document));
  }
  if (status == LH_OK)
    status = refuse_twins(grid, file);
  lh_json_document_free(document);
  lh_key_cache_free(e.cache);
  free(file);
  return status;
}

void lh_grid_fini(lh_grid *grid)
{
  for (size_t i = 0; i < grid->points; i++) {
    lh_json_document_free(grid->point[i].document);
    cJSON_Delete(grid->point[i].columns);
    free(grid->point[i].label);
  }
  free(grid->point);
  free(grid->folder);
  free(grid->title);
  *grid = (lh_grid){0};
}
