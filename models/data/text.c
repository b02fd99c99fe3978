/* text.c -- bytes of files: the training part falls into one contiguous shard per rank, the rest is
 * for validation. A micro-batch's windows start at offsets drawn from (seed, micro-batch, rank and
 * sequence); validation windows follow one another. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/random.h"
#include "base/text.h"
#include "models/data/kinds.h"
#include "models/data/source.h"

typedef struct text_source {
  unsigned char *bytes;
  size_t size, training; /* bytes[training..size-1] are for validation */
} text_source;

static const char *const keys[] = {"path", "files", "validation_fraction", NULL};

/* Files of Debian's `fortunes` and its dependency `fortunes-min`: 1.5 MB of English. A list and not
 * the folder, because other packages put files there and results would depend on them. */
#define DEFAULT_FOLDER "/usr/share/games/fortunes"
#define DEFAULT_HINT "; install the Debian package \"fortunes\", or give another \"path\""
static const char *const default_files[] = {
    "art",    "computers", "cookie",     "definitions", "education", "food",    "humorists",
    "law",    "linux",     "literature", "people",      "politics",  "riddles", "science",
    "sports", "tao",       "wisdom",     "work",        NULL};

/* ---- gathering files ------------------------------------------------------------------------- */

/* Files already taken, so that a second name for one is passed over. */
struct gathering {
  lh_json spec; /* for messages */
  lh_text text;
  bool scanning; /* a folder: binary files are passed over. A file asked for by name is text */
  size_t files;
  struct {
    dev_t device;
    ino_t inode;
  } taken[4096];
};

static bool taken_before(struct gathering *g, const struct stat *info)
{
  for (size_t i = 0; i < g->files; i++)
    if (g->taken[i].device == info->st_dev && g->taken[i].inode == info->st_ino)
      return true;
  return false;
}

static lh_status append_file(struct gathering *g, const char *path, const struct stat *info)
{
  unsigned char *data = NULL;
  size_t size = 0;
  if (g->files == sizeof g->taken / sizeof *g->taken)
    return lh_fail(LH_EINVAL, "text: \"%s\" is one file too many, allowed: %zu", path, g->files);
  LH_TRY(lh_source_read(path, &data, &size));
  const bool binary = g->scanning && size && memchr(data, 0, size < 4096 ? size : 4096);
  if (!binary && size) {
    lh_text_append_bytes(&g->text, (char *)data, size);
    g->taken[g->files].device = info->st_dev;
    g->taken[g->files++].inode = info->st_ino;
  }
  free(data);
  return g->text.failed ? lh_fail(LH_ENOMEM, "text: no memory for \"%s\"", path) : LH_OK;
}

static lh_status missing(const struct gathering *g, const char *path)
{
  return lh_json_fail(lh_json_get(g->spec, "path"), "found \"%s\": %s%s", path, strerror(errno),
                      strncmp(path, DEFAULT_FOLDER, strlen(DEFAULT_FOLDER)) ? "" : DEFAULT_HINT);
}

static lh_status gather_named(struct gathering *g, const char *folder, const char *name)
{
  struct stat info;
  char *path = lh_string_format("%s/%s", folder, name);
  lh_status status = LH_OK;
  if (!path)
    return lh_fail(LH_ENOMEM, "text: no memory for a path");
  if (stat(path, &info))
    status = missing(g, path);
  else if (!S_ISREG(info.st_mode))
    status = lh_json_fail(lh_json_get(g->spec, "files"), "found \"%s\", allowed: files", path);
  else if (!taken_before(g, &info))
    status = append_file(g, path, &info);
  free(path);
  return status;
}

static int visible(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
  return strcmp((*a)->d_name, (*b)->d_name); /* no locale */
}

/* A name that cannot be read as a file (a folder, a dangling link) is passed over. */
static bool is_file(const char *folder, const char *name)
{
  struct stat info;
  char *path = lh_string_format("%s/%s", folder, name);
  const bool file = path && !stat(path, &info) && S_ISREG(info.st_mode);
  free(path);
  return file;
}

static lh_status gather_folder(struct gathering *g, const char *folder)
{
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, visible, by_bytes);
  if (count < 0)
    return missing(g, folder);
  lh_status status = LH_OK;
  g->scanning = true;
  for (int i = 0; i < count; i++) {
    if (status == LH_OK && is_file(folder, entries[i]->d_name))
      status = gather_named(g, folder, entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static lh_status gather_list(struct gathering *g, const char *folder, lh_json files)
{
  LH_TRY(lh_json_expect_array(files));
  for (size_t i = 0; i < lh_json_size(files); i++) {
    const char *name = NULL;
    LH_TRY(lh_json_string(lh_json_at(files, i), &name));
    LH_TRY(gather_named(g, folder, name));
  }
  return LH_OK;
}

static lh_status gather(struct gathering *g, const char *path, lh_json spec)
{
  const lh_json files = lh_json_get(spec, "files");
  struct stat info;
  if (stat(path, &info))
    return missing(g, path);
  if (lh_json_present(files))
    return gather_list(g, path, files);
  if (!lh_json_present(lh_json_get(spec, "path"))) {
    for (size_t i = 0; default_files[i]; i++)
      LH_TRY(gather_named(g, path, default_files[i]));
    return LH_OK;
  }
  return S_ISDIR(info.st_mode) ? gather_folder(g, path) : append_file(g, path, &info);
}

static lh_status read_bytes(text_source *source, lh_json spec)
{
  char *path = NULL;
  struct gathering *g = calloc(1, sizeof *g);
  if (!g)
    return lh_fail(LH_ENOMEM, "text: no memory");
  g->spec = spec;
  lh_status status = lh_source_path(spec, DEFAULT_FOLDER, &path);
  if (status == LH_OK)
    status = gather(g, path, spec);
  if (status == LH_OK && !g->text.length)
    status = lh_json_fail(lh_json_get(spec, "path"),
                          "found no text in \"%s\", allowed: a text file, "
                          "or a folder of them",
                          path);
  if (status == LH_OK) {
    source->bytes = (unsigned char *)g->text.data;
    source->size = g->text.length;
  } else {
    lh_text_free(&g->text);
  }
  free(path);
  free(g);
  return status;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static lh_status create(lh_json spec, void **self)
{
  text_source *source = calloc(1, sizeof *source);
  double fraction = 0;
  if (!(*self = source))
    return lh_fail(LH_ENOMEM, "text: no memory");
  LH_TRY(lh_json_double_or(lh_json_get(spec, "validation_fraction"), 0, 0.9, 0.1, &fraction));
  LH_TRY(read_bytes(source, spec));
  source->training = source->size - (size_t)(fraction * (double)source->size);
  return LH_OK;
}

static void destroy(void *self)
{
  free(((text_source *)self)->bytes);
  free(self);
}

static lh_batch_form form(const void *self)
{
  (void)self;
  return (lh_batch_form){.targets = 256};
}

static lh_status put(const text_source *source, const size_t *offsets, lh_batch *batch)
{
  const size_t window = batch->sequence_tokens + 1;
  unsigned char *windows = malloc(batch->sequences * window);
  if (!windows)
    return lh_fail(LH_ENOMEM, "text: no memory for a batch");
  for (size_t s = 0; s < batch->sequences; s++)
    memcpy(windows + s * window, source->bytes + offsets[s], window);
  const lh_status status = lh_source_put_windows(windows, batch);
  free(windows);
  return status;
}

static lh_status fill(const void *self, uint64_t seed, size_t rank, size_t world_size, size_t index,
                      lh_batch *batch)
{
  const text_source *source = self;
  const size_t first = lh_shard_begin(source->training, rank, world_size);
  const size_t length = lh_shard_begin(source->training, rank + 1, world_size) - first;
  const size_t t = batch->sequence_tokens;
  if (length < t + 1)
    return lh_fail(LH_EINVAL,
                   "data: a shard of %zu bytes (of %zu, for %zu ranks) holds no window "
                   "of sequence_tokens + 1 = %zu",
                   length, source->training, world_size, t + 1);
  size_t *offsets = malloc(batch->sequences * sizeof *offsets);
  if (!offsets)
    return lh_fail(LH_ENOMEM, "text: no memory for a batch");
  for (size_t s = 0; s < batch->sequences; s++) {
    const double u = lh_draw_uniform(seed, LH_PURPOSE_DATA, index, (uint64_t)rank << 32 | s);
    offsets[s] = first + (size_t)(u * (double)(length - t));
  }
  const lh_status status = put(source, offsets, batch);
  free(offsets);
  return status;
}

static lh_status fill_validation(const void *self, size_t index, lh_batch *batch, bool *end)
{
  const text_source *source = self;
  const size_t t = batch->sequence_tokens, begin = source->training + index * batch->sequences * t;
  const size_t last = begin + batch->sequences * t; /* one byte more for the last target */
  if (last >= source->size) {
    *end = true;
    return index || source->training == source->size
               ? LH_OK
               : lh_fail(LH_EINVAL,
                         "data.validation_fraction: %zu validation bytes are less than "
                         "one batch of %zu sequences of %zu",
                         source->size - source->training, batch->sequences, t);
  }
  size_t *offsets = malloc(batch->sequences * sizeof *offsets);
  if (!offsets)
    return lh_fail(LH_ENOMEM, "text: no memory for a batch");
  for (size_t s = 0; s < batch->sequences; s++)
    offsets[s] = begin + s * t;
  const lh_status status = put(source, offsets, batch);
  free(offsets);
  return status;
}

const lh_data_kind lh_data_text = {.name = "text",
                                   .title = "Bytes of text files",
                                   .keys = keys,
                                   .create = create,
                                   .destroy = destroy,
                                   .form = form,
                                   .fill = fill,
                                   .fill_validation = fill_validation};
