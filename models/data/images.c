/* images.c -- labelled images in the IDX format of MNIST and Fashion-MNIST. An epoch is a
 * permutation of the training set, a function of (seed, epoch); rank r of W takes places r, r + W,
 * ... of it, floor(n / W) in all, so within an epoch no example comes twice.
 *
 * Source: the IDX format as described on the MNIST page: magic 0 0 type dimensions, then the sizes
 * (32 bits, big-endian), then the bytes.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/text.h"
#include "models/data/kinds.h"
#include "models/data/source.h"

#define DEFAULT_FOLDER "/usr/share/datasets/fashion-mnist"

struct set {
  size_t count, pixels;  /* pixels of one image */
  unsigned char *images; /* (count, pixels) */
  unsigned char *labels; /* (count) */
};

/* The permutation of an epoch, kept because neighbouring micro-batches need the same one. It is a
 * function of (seed, epoch), so who computed it and when makes no difference. Ranks may be an
 * epoch apart: two are kept, by parity. */
struct order {
  bool valid;
  uint64_t seed, epoch;
  size_t *place; /* (count) */
};

typedef struct images_source {
  struct set training, validation;
  size_t classes;
  double mean, deviation; /* features are (pixel - mean) / deviation */
  struct order *orders;   /* (2) */
} images_source;

static const char *const keys[] = {"path", "scale", NULL};
static const char *const scales[] = {"standard", "unit", NULL};

/* ---- IDX files ------------------------------------------------------------------------------- */

/* FOLDER/NAME or FOLDER/NAME.gz, whichever there is. */
static lh_status find_file(lh_json spec, const char *folder, const char *name, char **path)
{
  static const char *const endings[] = {"", ".gz"};
  for (int i = 0; i < 2; i++) {
    *path = lh_string_format("%s/%s%s", folder, name, endings[i]);
    if (!*path)
      return lh_fail(LH_ENOMEM, "images: no memory for a path");
    if (lh_file_exists(*path))
      return LH_OK;
    free(*path);
  }
  *path = NULL;
  return lh_json_fail(lh_json_get(spec, "path"),
                      "found no %s (or %s.gz) in \"%s\"; install the Debian package "
                      "\"dataset-fashion-mnist\", or give another \"path\"",
                      name, name, folder);
}

static size_t big_endian(const unsigned char *b)
{
  return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

/* Unpacks a file of unsigned bytes: *count items of *item bytes each, in *data (malloced). */
static lh_status read_idx(const char *path, int dims, unsigned char **data, size_t *count,
                          size_t *item)
{
  unsigned char *bytes = NULL;
  size_t size = 0;
  const size_t header = 4 + 4 * (size_t)dims;
  lh_status status = lh_source_read(path, &bytes, &size);
  if (status == LH_OK && (size < header || big_endian(bytes) != (0x800u | (unsigned)dims)))
    status = lh_fail(LH_EINVAL, "%s: not an IDX file of bytes in %d dimensions", path, dims);
  if (status == LH_OK) {
    *count = big_endian(bytes + 4);
    *item = dims == 1 ? 1 : big_endian(bytes + 8) * big_endian(bytes + 12);
    if (size != header + *count * *item || !*count)
      status = lh_fail(LH_EINVAL, "%s: found %zu bytes, but its header tells of %zu items of %zu",
                       path, size, *count, *item);
  }
  if (status == LH_OK)
    memmove(bytes, bytes + header, size - header);
  else
    free(bytes);
  *data = status == LH_OK ? bytes : NULL;
  return status;
}

static lh_status read_set(lh_json spec, const char *folder, const char *prefix, struct set *set)
{
  char name[64], *images = NULL, *labels = NULL;
  size_t count = 0, one = 0;
  lh_status status;
  snprintf(name, sizeof name, "%s-images-idx3-ubyte", prefix);
  LH_TRY_GOTO(status, find_file(spec, folder, name, &images));
  snprintf(name, sizeof name, "%s-labels-idx1-ubyte", prefix);
  LH_TRY_GOTO(status, find_file(spec, folder, name, &labels));
  LH_TRY_GOTO(status, read_idx(images, 3, &set->images, &set->count, &set->pixels));
  LH_TRY_GOTO(status, read_idx(labels, 1, &set->labels, &count, &one));
  if (count != set->count)
    status = lh_fail(LH_EINVAL, "%s: found %zu labels for %zu images", labels, count, set->count);
done:
  free(images);
  free(labels);
  return status;
}

/* ---- the kind -------------------------------------------------------------------------------- */

/* Exact sums: a byte squared times 2^37 images would be needed to overflow. */
static void measure(images_source *source)
{
  const struct set *set = &source->training;
  uint64_t sum = 0, squares = 0;
  const size_t n = set->count * set->pixels;
  for (size_t i = 0; i < n; i++) {
    sum += set->images[i];
    squares += (uint64_t)set->images[i] * set->images[i];
  }
  source->mean = (double)sum / (double)n;
  const double variance = (double)squares / (double)n - source->mean * source->mean;
  source->deviation = variance > 0 ? sqrt(variance) : 1;
}

static lh_status read_sets(images_source *source, lh_json spec)
{
  char *path = NULL;
  lh_status status;
  LH_TRY_GOTO(status, lh_source_path(spec, DEFAULT_FOLDER, &path));
  LH_TRY_GOTO(status, read_set(spec, path, "train", &source->training));
  LH_TRY_GOTO(status, read_set(spec, path, "t10k", &source->validation));
  if (source->training.pixels != source->validation.pixels)
    status = lh_fail(LH_EINVAL, "%s: found images of %zu and of %zu pixels", path,
                     source->training.pixels, source->validation.pixels);
done:
  free(path);
  return status;
}

static void count_classes(images_source *source)
{
  const struct set *const sets[] = {&source->training, &source->validation};
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < sets[s]->count; i++)
      if (sets[s]->labels[i] >= source->classes)
        source->classes = sets[s]->labels[i] + 1u;
}

static lh_status create(lh_json spec, void **self)
{
  images_source *source = calloc(1, sizeof *source);
  size_t scale = 0;
  if (!(*self = source))
    return lh_fail(LH_ENOMEM, "images: no memory");
  LH_TRY(lh_json_choice_or(lh_json_get(spec, "scale"), scales, 0, &scale));
  LH_TRY(read_sets(source, spec));
  count_classes(source);
  source->orders = calloc(2, sizeof *source->orders);
  for (int i = 0; source->orders && i < 2; i++)
    source->orders[i].place = malloc(source->training.count * sizeof(size_t));
  if (!source->orders || !source->orders[0].place || !source->orders[1].place)
    return lh_fail(LH_ENOMEM, "images: no memory for an order of %zu", source->training.count);
  source->deviation = 255;
  if (scale == 0)
    measure(source);
  return LH_OK;
}

static void destroy(void *self)
{
  images_source *source = self;
  for (int i = 0; source->orders && i < 2; i++)
    free(source->orders[i].place);
  free(source->orders);
  free(source->training.images);
  free(source->training.labels);
  free(source->validation.images);
  free(source->validation.labels);
  free(source);
}

static lh_batch_form form(const void *self)
{
  const images_source *source = self;
  return (lh_batch_form){.features = source->training.pixels, .targets = source->classes};
}

static lh_status put(const images_source *source, const struct set *set, const size_t *examples,
                     lh_batch *batch)
{
  const size_t n = batch->sequences, pixels = set->pixels;
  double *features = malloc(n * pixels * sizeof *features);
  int32_t *targets = malloc(n * sizeof *targets);
  lh_status status = LH_OK;
  if (!features || !targets)
    status = lh_fail(LH_ENOMEM, "images: no memory for a batch of %zu", n);
  for (size_t i = 0; status == LH_OK && i < n; i++) {
    const unsigned char *image = set->images + examples[i] * pixels;
    targets[i] = set->labels[examples[i]];
    for (size_t p = 0; p < pixels; p++)
      features[i * pixels + p] = (image[p] - source->mean) / source->deviation;
  }
  if (status == LH_OK)
    status = lh_tensor_set(&batch->features, features, n * pixels);
  if (status == LH_OK)
    status = lh_tensor_set_i32(&batch->targets, targets, n);
  free(features);
  free(targets);
  return status;
}

static const size_t *order_of(const images_source *source, uint64_t seed, uint64_t epoch)
{
  struct order *order = &source->orders[epoch & 1];
  if (!order->valid || order->seed != seed || order->epoch != epoch) {
    lh_draw_permutation(seed, LH_PURPOSE_DATA, epoch, source->training.count, order->place);
    order->valid = true;
    order->seed = seed;
    order->epoch = epoch;
  }
  return order->place;
}

static lh_status fill(const void *self, uint64_t seed, size_t rank, size_t world_size, size_t index,
                      lh_batch *batch)
{
  const images_source *source = self;
  const size_t share = source->training.count / world_size; /* of one rank in an epoch */
  if (!share)
    return lh_fail(LH_EINVAL, "data: %zu training images are too few for %zu ranks",
                   source->training.count, world_size);
  size_t *examples = malloc(batch->sequences * sizeof *examples);
  if (!examples)
    return lh_fail(LH_ENOMEM, "images: no memory for a batch");
  for (size_t i = 0; i < batch->sequences; i++) {
    const size_t turn = index * batch->sequences + i;
    examples[i] = order_of(source, seed, turn / share)[turn % share * world_size + rank];
  }
  const lh_status status = put(source, &source->training, examples, batch);
  free(examples);
  return status;
}

static lh_status fill_validation(const void *self, size_t index, lh_batch *batch, bool *end)
{
  const images_source *source = self;
  const size_t n = batch->sequences, first = index * n;
  if (first + n > source->validation.count) {
    *end = true;
    return index ? LH_OK
                 : lh_fail(LH_EINVAL, "data: %zu validation images are less than one batch of %zu",
                           source->validation.count, n);
  }
  size_t *examples = malloc(n * sizeof *examples);
  if (!examples)
    return lh_fail(LH_ENOMEM, "images: no memory for a batch");
  for (size_t i = 0; i < n; i++)
    examples[i] = first + i;
  const lh_status status = put(source, &source->validation, examples, batch);
  free(examples);
  return status;
}

const lh_data_kind lh_data_images = {.name = "images",
                                     .title = "Labelled images in IDX files",
                                     .keys = keys,
                                     .create = create,
                                     .destroy = destroy,
                                     .form = form,
                                     .fill = fill,
                                     .fill_validation = fill_validation};
