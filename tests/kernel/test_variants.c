/* The instruction sets give the same bits: every operation in every one that this processor runs, on
 * both number types. GEMM is OpenBLAS's and the same code in all of them. */
#include "every_operation.h"
#include "kernels/cpu/cpu.h"

static bool same(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

static void test_set(lh_dtype dtype, const char *set)
{
  lh_device *dev = open_device(&lh_backend_cpu), *plain = open_device(&lh_backend_cpu);
  CHECK(lh_cpu_use_instruction_set(plain, "plain"), "plain code always runs");
  if (!lh_cpu_use_instruction_set(dev, set)) {
    printf("%s: not on this processor\n", set);
  } else {
    struct every a, b;
    every_init(&a, dev, dtype);
    every_init(&b, plain, dtype);
    for (size_t i = 0; i < EVERY_OPERATIONS; i++) {
      REQUIRE_OK(every_call(&a, i));
      REQUIRE_OK(every_call(&b, i));
      for (size_t t = 0; t < EVERY_REALS; t++) {
        const double *got = guarded_get(EVERY_REAL(&a)[t], "every"),
                     *want = guarded_get(EVERY_REAL(&b)[t], "every");
        size_t at = 0, n = EVERY_REAL(&a)[t]->n;
        while (at < n && same(got[at], want[at]))
          at++;
        CHECK(at == n, "%s, %s, operation %zu, tensor %zu, element %zu: %.17g, plain %.17g", set,
              lh_dtype_name(dtype), i, t, at, got[at], want[at]);
      }
      CHECK(same(a.sum, b.sum) && same(a.loss.loss_sum, b.loss.loss_sum) &&
                a.loss.correct == b.loss.correct,
            "%s, operation %zu: numbers for the host differ", set, i);
    }
    every_fini(&a), every_fini(&b);
  }
  lh_device_close(dev);
  lh_device_close(plain);
  forget_numbers();
}

int main(void)
{
  for (size_t s = 0; lh_cpu_instruction_set(s); s++)
    FOR_DTYPES(dtype)
  test_set(dtype, lh_cpu_instruction_set(s));
  return check_report("variants");
}
