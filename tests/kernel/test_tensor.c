/* Tensors: dtypes and their bytes, allocation, views, host copies. */
#include "kernel_case.h"

static void test_dtypes(void)
{
#define ROW(name, text, bits) {name, text, bits},
  static const struct {
    lh_dtype dtype;
    const char *text;
    size_t bits;
  } rows[] = {LH_DTYPE_MAP(ROW)};
  for (size_t i = 0; i < LH_DTYPE_COUNT; i++) {
    lh_dtype found;
    REQUIRE_OK(lh_dtype_find(rows[i].text, &found));
    CHECK(found == rows[i].dtype && lh_dtype_bits(found) == rows[i].bits, "%s", rows[i].text);
  }
  lh_dtype none;
  CHECK(lh_dtype_find("f31", &none) == LH_EINVAL && strstr(lh_fail_text(), "bf16"), "%s",
        lh_fail_text());
  CHECK(lh_dtype_bytes(LH_F32, 3) == 12 && lh_dtype_bytes(LH_BF16, 3) == 6, "bytes of whole bytes");
  CHECK(lh_dtype_bytes(LH_FP4, 3) == 2 && lh_dtype_bytes(LH_FP4, 4) == 2, "two to a byte");
  CHECK(lh_dtype_bytes(LH_BIT, 1) == 1 && lh_dtype_bytes(LH_BIT, 17) == 3, "eight to a byte");
  CHECK(lh_dtype_bytes(LH_F32, 0) == 0, "nothing");
}

static void test_every_dtype(lh_device *dev)
{
  for (int d = 0; d < LH_DTYPE_COUNT; d++) {
    lh_tensor t;
    double values[5], back[5] = {9, 9, 9, 9, 9};
    REQUIRE_OK(lh_tensor_alloc_1d(dev, &t, "test", (lh_dtype)d, 5));
    REQUIRE_OK(lh_tensor_get(&t, back, 5));
    for (size_t i = 0; i < 5; i++) {
      CHECK(back[i] == 0, "%s starts at 0, got %g", lh_dtype_name(d), back[i]);
      values[i] = (double)i * 3 + (d == LH_F64 ? 0.1 : 0);
    }
    CHECK((uintptr_t)t.data % 64 == 0, "%s: aligned to 64 bytes", lh_dtype_name(d));
    REQUIRE_OK(lh_tensor_set(&t, values, 5));
    REQUIRE_OK(lh_tensor_get(&t, back, 5));
    for (size_t i = 0; i < 5; i++)
      CHECK(back[i] == values[i], "%s element %zu: %.17g", lh_dtype_name(d), i, back[i]);
    CHECK(lh_tensor_set(&t, values, 4) == LH_EINTERNAL, "a wrong count is refused");
    lh_tensor_free(&t);
    CHECK(t.data == NULL && lh_tensor_get(&t, back, 0) == LH_EINTERNAL,
          "nothing to read after free");
  }
}

static void test_views(lh_device *dev)
{
  lh_tensor t;
  REQUIRE_OK(lh_tensor_alloc(dev, &t, "test", LH_F32, 3, (const size_t[]){2, 3, 4}));
  CHECK(lh_tensor_elements(&t) == 24 && lh_tensor_bytes(&t) == 96, "(2,3,4)");
  double values[24];
  for (size_t i = 0; i < 24; i++)
    values[i] = (double)i;
  REQUIRE_OK(lh_tensor_set(&t, values, 24));
  const lh_tensor row = lh_tensor_view_1d(&t, 8, 4), square = lh_tensor_view_2d(&t, 15, 3, 3);
  double back[9];
  REQUIRE_OK(lh_tensor_get(&row, back, 4));
  CHECK(back[0] == 8 && back[3] == 11, "row %g..%g", back[0], back[3]);
  REQUIRE_OK(lh_tensor_get(&square, back, 9));
  CHECK(back[0] == 15 && back[8] == 23 && square.shape[1] == 3, "square %g..%g", back[0], back[8]);
  lh_tensor_free(&t);

  lh_tensor empty;
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &empty, "test", LH_F32, 0)); /* an empty shard */
  REQUIRE_OK(lh_fill(dev, &empty, 1));
  REQUIRE_OK(lh_add(dev, &empty, &empty, &empty));
  lh_tensor_free(&empty);
  CHECK(lh_tensor_alloc(dev, &t, "test", LH_F32, 5, (const size_t[]){1, 1, 1, 1, 1}) ==
            LH_EINTERNAL,
        "five dimensions");
}

/* Recycled memory never overlaps what is in use; zero-filled is zero even if recycled. */
static void test_recycling(lh_device *dev)
{
  enum { TENSORS = 60 };
  lh_tensor t[TENSORS] = {{0}};
  for (size_t round = 0; round < 40; round++)
    for (size_t i = 0; i < TENSORS; i++) {
      if (lh_draw(3, LH_PURPOSE_SYNTHETIC, round, i) % 3 == 0)
        continue;
      if (t[i].device) {
        const size_t n = lh_tensor_elements(&t[i]);
        double *x = numbers(n);
        REQUIRE_OK(lh_tensor_get(&t[i], x, n));
        CHECK(x[0] == (double)i && x[n - 1] == (double)i, "tensor %zu was overwritten: %g %g", i,
              x[0], x[n - 1]);
        lh_tensor_free(&t[i]);
      }
      const size_t n = 1 + (size_t)(lh_draw(4, LH_PURPOSE_SYNTHETIC, round, i) % 5000);
      if (i % 2)
        REQUIRE_OK(lh_tensor_alloc_workspace(dev, &t[i], "test", LH_F32, 1, &n));
      else
        REQUIRE_OK(lh_tensor_alloc_1d(dev, &t[i], "test", LH_F32, n));
      double *x = numbers(n);
      if (i % 2 == 0) {
        REQUIRE_OK(lh_tensor_get(&t[i], x, n));
        for (size_t j = 0; j < n; j++)
          CHECK(x[j] == 0, "element %zu of a fresh tensor is %g", j, x[j]);
      }
      REQUIRE_OK(lh_fill(dev, &t[i], (double)i));
      forget_numbers();
    }
  for (size_t i = 0; i < TENSORS; i++)
    lh_tensor_free(&t[i]);
  CHECK(lh_device_allocated_bytes(dev) == 0, "%zu bytes are left", lh_device_allocated_bytes(dev));
}

int main(void)
{
  lh_device *dev = open_device(&lh_backend_cpu);
  test_dtypes();
  test_every_dtype(dev);
  test_views(dev);
  test_recycling(dev);
  lh_device_close(dev);
  return check_report("tensor");
}
