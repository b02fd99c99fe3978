/* Data sources: which examples a micro-batch holds, and that nothing is shared or repeated. Files are
 * made here so that a token tells where it is from. */
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/random.h"
#include "base/text.h"
#include "models/data.h"
#include "tests/model/fixture.h"

static char folder[] = "/tmp/lh-test-data-XXXXXX";

static const char *in_folder(const char *name)
{
  static char path[8][256];
  static int next;
  char *p = path[next++ % 8];
  snprintf(p, sizeof path[0], "%s/%s", folder, name);
  return p;
}

static void write_file(const char *name, const void *bytes, size_t n)
{
  FILE *file = fopen(in_folder(name), "wb");
  CHECK(file && fwrite(bytes, 1, n, file) == n, "%s", name);
  fclose(file);
}

static void write_gz(const char *name, const void *bytes, size_t n)
{
  gzFile file = gzopen(in_folder(name), "wb");
  CHECK(file && gzwrite(file, bytes, (unsigned)n) == (int)n, "%s", name);
  gzclose(file);
}

struct source {
  lh_json_document *document;
  lh_data *data;
  lh_device_profile profile;
  lh_device *device;
  lh_batch batch;
};

static lh_status try_open(struct source *s, const char *format, const char *path)
{
  char text[512];
  snprintf(text, sizeof text, format, path);
  *s = (struct source){.profile = lh_device_profile_ideal()};
  return lh_data_new(fixture_json(&s->document, text), &s->data);
}

static void use_batch(struct source *s, size_t sequences, size_t t, size_t features)
{
  const size_t n = sequences * t;
  REQUIRE_OK(lh_device_open(&lh_backend_cpu, &s->profile, &s->device));
  s->batch = (lh_batch){.sequences = sequences, .sequence_tokens = t};
  REQUIRE_OK(lh_tensor_alloc_1d(s->device, &s->batch.targets, "batch", LH_I32, n));
  if (!features)
    REQUIRE_OK(lh_tensor_alloc_1d(s->device, &s->batch.tokens, "batch", LH_I32, n));
  else
    REQUIRE_OK(lh_tensor_alloc(s->device, &s->batch.features, "batch", LH_F32, 2,
                               (size_t[]){sequences, features}));
}

static void close_source(struct source *s)
{
  lh_batch_free(&s->batch);
  lh_device_close(s->device);
  lh_data_free(s->data);
  lh_json_document_free(s->document);
}

static const int32_t *numbers(const lh_tensor *t)
{
  return t->data;
}

/* ---- text ------------------------------------------------------------------------------------ */

enum { THIRD = 300, VALID = 100 };

/* Three shards of letters a, b, c, then V: the last tenth. */
static void check_shards(void)
{
  unsigned char bytes[3 * THIRD + VALID];
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = i < 3 * THIRD ? (unsigned char)('a' + i / THIRD) : 'V';
  write_file("shards.txt", bytes, sizeof bytes);
  struct source s;
  REQUIRE_OK(try_open(&s, "{\"kind\": \"text\", \"path\": \"%s\"}", in_folder("shards.txt")));
  use_batch(&s, 5, 40, 0);
  for (size_t rank = 0; rank < 3; rank++)
    for (size_t index = 0; index < 40; index++) {
      REQUIRE_OK(lh_data_fill(s.data, 1, rank, 3, index, &s.batch));
      for (size_t i = 0; i < 200; i++)
        CHECK(numbers(&s.batch.tokens)[i] == (int32_t)('a' + rank) &&
                  numbers(&s.batch.targets)[i] == (int32_t)('a' + rank),
              "rank %zu got %c", rank, numbers(&s.batch.tokens)[i]);
    }
  CHECK(lh_data_fill(s.data, 1, 0, 30, 0, &s.batch) == LH_EINVAL, "a window of 41 in 30 bytes");
  /* 100 bytes hold two windows of 40 and their last target, and no batch of five. */
  bool end = false;
  CHECK(lh_data_fill_validation(s.data, 0, &s.batch, &end) == LH_EINVAL, "a validation batch");
  close_source(&s);
}

/* Byte i is i mod 251: windows are contiguous, and with 3 places to start at each is drawn. */
static void check_windows(void)
{
  unsigned char bytes[500];
  size_t starts[3] = {0};
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(i % 251);
  write_gz("count.txt.gz", bytes, sizeof bytes);
  struct source s;
  REQUIRE_OK(try_open(&s, "{\"kind\": \"text\", \"path\": \"%s\", \"validation_fraction\": 0.5}",
                      in_folder("count.txt.gz")));
  use_batch(&s, 2, 122, 0); /* shards of 125: starts 0, 1, 2 */
  for (size_t index = 0; index < 300; index++) {
    REQUIRE_OK(lh_data_fill(s.data, 9, 1, 2, index, &s.batch));
    for (size_t i = 0; i < 244; i++) {
      const int32_t token = numbers(&s.batch.tokens)[i];
      CHECK(numbers(&s.batch.targets)[i] == (token + 1) % 251, "target after %d", token);
      if (i % 122 == 0 && token >= 125 && token < 128)
        starts[token - 125]++;
    }
  }
  /* 600 draws of a third: 200 +- 11.5; five deviations. */
  for (int i = 0; i < 3; i++)
    CHECK_NEAR((double)starts[i], 200, 58, "start %d", i);
  bool end = false;
  REQUIRE_OK(lh_data_fill_validation(s.data, 0, &s.batch, &end));
  CHECK(!end && numbers(&s.batch.tokens)[0] == 250 && numbers(&s.batch.tokens)[122] == 121,
        "validation windows follow one another from byte 250: %d, %d", numbers(&s.batch.tokens)[0],
        numbers(&s.batch.tokens)[122]);
  REQUIRE_OK(lh_data_fill_validation(s.data, 1, &s.batch, &end));
  CHECK(end, "a second validation batch");
  close_source(&s);
}

/* Name order; .gz unpacked; hidden, binary and doubled files passed over; folders ignored. */
static void check_folder(void)
{
  mkdir(in_folder("texts"), 0777);
  mkdir(in_folder("texts/inner"), 0777);
  write_gz("texts/b.gz", "22", 2);
  write_file("texts/a", "1", 1);
  write_file("texts/c", "333", 3);
  write_file("texts/.hidden", "hhh", 3);
  write_file("texts/z.dat", "x\0y", 3);
  CHECK(!symlink("a", in_folder("texts/a.u8")), "link");
  CHECK(!symlink("nowhere", in_folder("texts/dangling")), "link");
  struct source s;
  REQUIRE_OK(try_open(&s, "{\"kind\": \"text\", \"path\": \"%s\", \"validation_fraction\": 0}",
                      in_folder("texts")));
  use_batch(&s, 1, 5, 0); /* 122333 has one window of 5 + 1 */
  REQUIRE_OK(lh_data_fill(s.data, 1, 0, 1, 0, &s.batch));
  const char expected[] = "122333";
  for (int i = 0; i < 5; i++)
    CHECK(numbers(&s.batch.tokens)[i] == expected[i], "place %d: got %c", i,
          numbers(&s.batch.tokens)[i]);
  CHECK(numbers(&s.batch.targets)[4] == '3', "the last target");
  bool end = false;
  REQUIRE_OK(lh_data_fill_validation(s.data, 0, &s.batch, &end));
  CHECK(end, "no validation set was asked for");
  close_source(&s);

  REQUIRE_OK(try_open(&s,
                      "{\"kind\": \"text\", \"path\": \"%s\", \"files\": [\"c\", \"b.gz\"],"
                      "\"validation_fraction\": 0}",
                      in_folder("texts")));
  use_batch(&s, 1, 4, 0);
  REQUIRE_OK(lh_data_fill(s.data, 1, 0, 1, 0, &s.batch));
  CHECK(numbers(&s.batch.tokens)[0] == '3' && numbers(&s.batch.tokens)[3] == '2', "listed order");
  close_source(&s);
}

static void check_determinism(void)
{
  struct source s;
  int32_t first[64];
  REQUIRE_OK(try_open(&s, "{\"kind\": \"text\", \"path\": \"%s\"}", in_folder("count.txt.gz")));
  use_batch(&s, 2, 32, 0);
  REQUIRE_OK(lh_data_fill(s.data, 5, 1, 3, 17, &s.batch));
  memcpy(first, s.batch.tokens.data, sizeof first);
  REQUIRE_OK(lh_data_fill(s.data, 5, 0, 3, 3, &s.batch));
  REQUIRE_OK(lh_data_fill(s.data, 5, 1, 3, 17, &s.batch));
  CHECK(!memcmp(first, s.batch.tokens.data, sizeof first), "the same keys give the same bytes");
  REQUIRE_OK(lh_data_fill(s.data, 6, 1, 3, 17, &s.batch));
  CHECK(memcmp(first, s.batch.tokens.data, sizeof first), "another seed, the same windows");
  close_source(&s);
}

/* ---- images ---------------------------------------------------------------------------------- */

enum { IMAGES = 23, PIXELS = 6, TESTS = 7 };

static void write_idx(const char *name, unsigned char dims, size_t count, int offset)
{
  unsigned char bytes[16 + IMAGES * PIXELS] = {0, 0, 8, dims, 0, 0, 0, (unsigned char)count,
                                               0, 0, 0, 2,    0, 0, 0, 3};
  const size_t header = 4 + 4 * (size_t)dims, item = dims == 3 ? PIXELS : 1;
  for (size_t i = 0; i < count * item; i++)
    bytes[header + i] =
        (unsigned char)(dims == 3 ? (i % item ? i * 31 % 256 : 10 * (i / item) + (size_t)offset)
                                  : i % 5);
  if (dims == 3)
    write_gz(name, bytes, header + count * item);
  else
    write_file(name, bytes, header + count * item);
}

static void write_images(void)
{
  mkdir(in_folder("idx"), 0777);
  write_idx("idx/train-images-idx3-ubyte.gz", 3, IMAGES, 0);
  write_idx("idx/train-labels-idx1-ubyte", 1, IMAGES, 0);
  write_idx("idx/t10k-images-idx3-ubyte.gz", 3, TESTS, 5);
  write_idx("idx/t10k-labels-idx1-ubyte", 1, TESTS, 0);
}

/* The first pixel of training image i is 10 i. */
static size_t image_of(const lh_batch *batch, size_t row)
{
  return (size_t)lround(((const float *)batch->features.data)[row * PIXELS] * 255 / 10);
}

/* Four ranks, five images each and epoch, batches of three that straddle epochs. */
static void check_epochs(void)
{
  struct source s;
  size_t seen[2][IMAGES] = {{0}}, order[2][20];
  REQUIRE_OK(try_open(&s, "{\"kind\": \"images\", \"path\": \"%s\", \"scale\": \"unit\"}",
                      in_folder("idx")));
  use_batch(&s, 3, 1, PIXELS);
  for (size_t rank = 0; rank < 4; rank++)
    for (size_t turn = 0; turn < 10; turn++) {
      REQUIRE_OK(lh_data_fill(s.data, 3, rank, 4, turn / 3, &s.batch));
      const size_t image = image_of(&s.batch, turn % 3);
      CHECK(numbers(&s.batch.targets)[turn % 3] == (int32_t)(image % 5), "label of %zu", image);
      seen[turn / 5][image]++;
      order[turn / 5][turn % 5 * 4 + rank] = image;
    }
  for (size_t epoch = 0; epoch < 2; epoch++)
    for (size_t i = 0; i < IMAGES; i++)
      CHECK(seen[epoch][i] <= 1, "epoch %zu: image %zu came %zu times", epoch, i, seen[epoch][i]);
  CHECK(memcmp(order[0], order[1], sizeof order[0]), "both epochs have one order");
  close_source(&s);
}

static void check_scale(void)
{
  struct source s;
  double sum = 0, squares = 0;
  REQUIRE_OK(try_open(&s, "{\"kind\": \"images\", \"path\": \"%s\"}", in_folder("idx")));
  use_batch(&s, IMAGES, 1, PIXELS);
  REQUIRE_OK(lh_data_fill(s.data, 3, 0, 1, 0, &s.batch));
  const float *x = s.batch.features.data;
  for (size_t i = 0; i < IMAGES * PIXELS; i++) {
    sum += x[i];
    squares += (double)x[i] * x[i];
  }
  CHECK_NEAR(sum / (IMAGES * PIXELS), 0, 1e-6, "mean");
  CHECK_NEAR(squares / (IMAGES * PIXELS), 1, 1e-6, "deviation");
  lh_batch_free(&s.batch);
  lh_device_close(s.device);
  use_batch(&s, 3, 1, PIXELS);
  bool end = false;
  REQUIRE_OK(lh_data_fill_validation(s.data, 1, &s.batch, &end));
  CHECK(!end && numbers(&s.batch.targets)[0] == 3, "validation in order");
  REQUIRE_OK(lh_data_fill_validation(s.data, 2, &s.batch, &end));
  CHECK(end, "7 images are two batches of 3");
  close_source(&s);
}

/* ---- synthetic language ---------------------------------------------------------------------- */

/* Entropy of transitions counted in 480,000 tokens, which knows nothing of how they were made. Its
 * bias is (cells - rows) / 2N = 0.001, its deviation about 0.0015. */
static double counted_entropy(struct source *s, bool validation, size_t batches)
{
  static double count[32][32], total[32];
  memset(count, 0, sizeof count);
  memset(total, 0, sizeof total);
  double entropy = 0, all = 0;
  for (size_t b = 0; b < batches; b++) {
    bool end = false;
    REQUIRE_OK(validation ? lh_data_fill_validation(s->data, b, &s->batch, &end)
                          : lh_data_fill(s->data, 7, b % 3, 3, b / 3, &s->batch));
    for (size_t i = 0; i < lh_tensor_elements(&s->batch.tokens); i++) {
      const int32_t x = numbers(&s->batch.tokens)[i], y = numbers(&s->batch.targets)[i];
      CHECK(x >= 0 && x < 32 && y >= 0 && y < 32, "tokens %d, %d", x, y);
      count[x][y]++;
      total[x]++;
      all++;
    }
  }
  for (int x = 0; x < 32; x++)
    for (int y = 0; y < 32; y++)
      if (count[x][y] > 0)
        entropy -= count[x][y] / all * log(count[x][y] / total[x]);
  return entropy;
}

static void check_entropy(void)
{
  static const char *const bits[] = {"0.7", "2", "3.5"};
  for (int i = 0; i < 3; i++) {
    struct source s;
    REQUIRE_OK(try_open(&s, "{\"kind\": \"synthetic\", \"entropy_bits\": %s}", bits[i]));
    use_batch(&s, 100, 100, 0);
    const double stated = lh_data_entropy(s.data);
    CHECK_NEAR(stated, atof(bits[i]) * log(2), 1e-9, "%s bits", bits[i]);
    CHECK_NEAR(counted_entropy(&s, false, 48), stated, 0.01, "training, %s bits", bits[i]);
    CHECK_NEAR(counted_entropy(&s, true, 48), stated, 0.01, "validation, %s bits", bits[i]);
    close_source(&s);
  }
  struct source s;
  REQUIRE_OK(
      try_open(&s, "{\"kind\": \"synthetic\", \"states\": 5, \"entropy_bits\": 2.25}%s", ""));
  close_source(&s);
  CHECK(try_open(&s, "{\"kind\": \"synthetic\", \"states\": 4, \"entropy_bits\": 2.25}%s", "") ==
            LH_EINVAL,
        "more than log2(states)");
  close_source(&s);
}

/* ---- what may be wrong ----------------------------------------------------------------------- */

static void check_error(const char *format, const char *path, const char *expected)
{
  struct source s;
  const lh_status status = try_open(&s, format, path);
  CHECK(status == LH_EINVAL && strstr(lh_fail_text(), expected), "%s with %s: status %d, \"%s\"",
        format, path, status, status ? lh_fail_text() : "");
  close_source(&s);
}

static void check_errors(void)
{
  check_error("{\"kind\": \"text\", \"path\": \"%s\"}", "/nowhere", "\"/nowhere\"");
  check_error("{\"kind\": \"text\", \"path\": \"%s\"}", "/usr/share/games/fortunes/no",
              "package \"fortunes\"");
  check_error("{\"kind\": \"texts\", \"path\": \"%s\"}", "/", "did you mean \"text\"");
  check_error("{\"kind\": \"text\", \"paths\": \"%s\"}", "/", "did you mean \"path\"");
  check_error("{\"kind\": \"images\", \"path\": \"%s\"}", folder, "dataset-fashion-mnist");
  check_error("{\"kind\": \"text\", \"path\": \"%s\", \"validation_fraction\": 1}", folder, "0.9");
  write_file("empty", "", 0);
  check_error("{\"kind\": \"text\", \"path\": \"%s\"}", in_folder("empty"), "found no text");
  /* An IDX file cut short. */
  CHECK(!truncate(in_folder("idx/t10k-labels-idx1-ubyte"), 12), "truncate");
  check_error("{\"kind\": \"images\", \"path\": \"%s\"}", in_folder("idx"), "7 items");
  write_file("idx/t10k-labels-idx1-ubyte", "no IDX file", 11);
  check_error("{\"kind\": \"images\", \"path\": \"%s\"}", in_folder("idx"), "not an IDX file");
}

static void remove_folder(void)
{
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(!system(command), "%s", command);
}

int main(void)
{
  if (!mkdtemp(folder))
    return 1;
  check_shards();
  check_windows();
  check_folder();
  check_determinism();
  write_images();
  check_epochs();
  check_scale();
  check_entropy();
  check_errors();
  remove_folder();
  return check_report("data");
}
