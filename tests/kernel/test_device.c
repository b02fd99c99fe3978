/* Devices: pending time, memory and its owners, out of memory, and a phantom that costs what the CPU
 * does. Prices are closed forms of the profile. */
#include "every_operation.h"

static lh_device_profile priced(void)
{
  lh_device_profile p = lh_device_profile_ideal();
  p.peak_flop_per_s[LH_F32] = 1e12;
  p.peak_flop_per_s[LH_BF16] = 4e12;
  p.memory_bandwidth_Bps = 1e11;
  p.compute_efficiency = 0.5;
  p.memory_efficiency = 0.8;
  p.launch_overhead_s = 1e-6;
  return p;
}

static lh_device *open_priced(const lh_backend *backend, const lh_device_profile *p)
{
  lh_device *dev;
  REQUIRE_OK(lh_device_open(backend, p, &dev));
  return dev;
}

static void test_phantom_costs_the_same(lh_dtype dtype)
{
  const lh_device_profile p = priced();
  lh_device *cpu = open_priced(&lh_backend_cpu, &p),
            *phantom = open_priced(&lh_backend_phantom, &p);
  CHECK(lh_device_computes(cpu) && !lh_device_computes(phantom), "who computes");
  struct every a, b;
  every_init(&a, cpu, dtype);
  every_init(&b, phantom, dtype);
  CHECK(b.x.t.data == NULL && b.tokens.t.data == NULL, "a phantom has no data");
  for (size_t i = 0; i < EVERY_OPERATIONS; i++) {
    REQUIRE_OK(every_call(&a, i));
    REQUIRE_OK(every_call(&b, i));
    const double got = lh_device_take_charged_s(phantom), want = lh_device_take_charged_s(cpu);
    const bool free_of_charge = i == 27 || i == 33 || i == 34; /* as ops.h says */
    CHECK(got == want && (want > 0) == !free_of_charge,
          "operation %zu: %g s on the phantom, %g s on the CPU", i, got, want);
  }
  CHECK(lh_device_total_flop(cpu) == lh_device_total_flop(phantom), "flop");
  CHECK(lh_device_total_bytes(cpu) == lh_device_total_bytes(phantom), "bytes");
  CHECK(lh_device_peak_bytes(cpu) == lh_device_peak_bytes(phantom), "memory");
  CHECK(b.loss.loss_sum == 0 && b.loss.count == a.loss.count && b.sum == 0,
        "a phantom's numbers are 0");
  double *x = guarded_get(&a.x, "x"), read[EVERY_ROWS * EVERY_WIDTH];
  REQUIRE_OK(lh_tensor_get(&b.x.t, read, b.x.n));
  CHECK(read[3] == 0 && x[3] != 0, "reading a phantom gives zeros");
  every_fini(&a), every_fini(&b);
  CHECK(lh_device_allocated_bytes(cpu) == 0 && lh_device_allocated_bytes(phantom) == 0,
        "all is freed");
  lh_device_close(cpu), lh_device_close(phantom);
}

/* Charges in closed form: launch + max(flop / rate, bytes / rate), and the formulas at the declarations. */
static void expect_charge(lh_device *dev, const char *what, double launches, double flop,
                          double bytes, double seconds)
{
  static double flop_before, bytes_before;
  (void)launches;
  CHECK_NEAR(lh_device_take_charged_s(dev), seconds, 1e-12 * seconds, "%s: seconds", what);
  CHECK_NEAR(lh_device_total_flop(dev) - flop_before, flop, 1e-9 * flop, "%s: flop", what);
  CHECK_NEAR(lh_device_total_bytes(dev) - bytes_before, bytes, 1e-9 * bytes, "%s: bytes", what);
  flop_before = lh_device_total_flop(dev);
  bytes_before = lh_device_total_bytes(dev);
}

static void test_charges(void)
{
  const lh_device_profile p = priced();
  lh_device *dev = open_priced(&lh_backend_phantom, &p);
  const double launch = 1e-6, flops = 0.5e12, bytes = 0.8e11;
  lh_tensor a, b, c, wide, bias, x, m, v, g;
  REQUIRE_OK(lh_tensor_alloc(dev, &a, "test", LH_F32, 2, (const size_t[]){300, 200}));
  REQUIRE_OK(lh_tensor_alloc(dev, &b, "test", LH_F32, 2, (const size_t[]){200, 100}));
  REQUIRE_OK(lh_tensor_alloc(dev, &c, "test", LH_F32, 2, (const size_t[]){300, 100}));
  REQUIRE_OK(lh_tensor_alloc(dev, &wide, "test", LH_BF16, 2, (const size_t[]){300, 200}));
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &bias, "test", LH_F32, 100));
  const size_t n = 1000000;
  lh_tensor *vectors[] = {&x, &m, &v, &g};
  for (size_t i = 0; i < 4; i++)
    REQUIRE_OK(lh_tensor_alloc_1d(dev, vectors[i], "test", LH_F32, n));

  const double product = 2.0 * 300 * 200 * 100, sides = 4.0 * (300 * 200 + 200 * 100 + 300 * 100);
  REQUIRE_OK(lh_gemm(dev, false, false, 1, &a, &b, 0, &c));
  expect_charge(dev, "gemm", 1, product, sides, launch + product / flops);
  REQUIRE_OK(lh_gemm(dev, false, false, 1, &a, &b, 1, &c)); /* reads c too */
  expect_charge(dev, "gemm that adds", 1, product, sides + 4.0 * 300 * 100,
                launch + product / flops);
  REQUIRE_OK(lh_gemm(dev, false, false, 1, &wide, &b, 0, &c)); /* bf16 has a peak of its own */
  expect_charge(dev, "bf16 gemm", 1, product, sides - 2.0 * 300 * 200,
                launch + product / (4 * flops));

  lh_tensor weight = lh_tensor_view_2d(&b, 0, 100, 200), dweight = weight;
  REQUIRE_OK(lh_linear_backward(dev, &a, &dweight, &bias, &c, &a, &weight));
  expect_charge(dev, "linear backward", 3, 2 * product + 300 * 100,
                sides + (sides + 4.0 * 200 * 100) + 4.0 * (300 * 100 + 2 * 100),
                3 * launch + 2 * product / flops + 4.0 * (300 * 100 + 2 * 100) / bytes);

  const lh_adamw_config config = {.learning_rate = 1, .beta1 = .9, .beta2 = .99, .epsilon = 1e-8};
  REQUIRE_OK(lh_adamw(dev, &x, &m, &v, &g, &config, 1));
  expect_charge(dev, "adamw", 1, 14.0 * (double)n, 28.0 * (double)n,
                launch + 28.0 * (double)n / bytes);

  /* Attention: 4 b t^2 c / 2 flop forward, 2.5 times that backward. */
  lh_tensor qkv, out, lse;
  REQUIRE_OK(lh_tensor_alloc(dev, &qkv, "test", LH_F32, 2, (const size_t[]){4 * 256, 3 * 64}));
  REQUIRE_OK(lh_tensor_alloc(dev, &out, "test", LH_F32, 2, (const size_t[]){4 * 256, 64}));
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &lse, "test", LH_F32, 4 * 256 * 2));
  const double forward = 4.0 * 4 * 256 * 256 * 64 / 2, rows = 4 * 256;
  REQUIRE_OK(lh_attention_forward(dev, &out, &lse, &qkv, 4, 2));
  expect_charge(dev, "attention", 1, forward, 4 * rows * (192 + 64 + 2), launch + forward / flops);
  REQUIRE_OK(lh_attention_backward(dev, &qkv, &out, &out, &lse, &qkv, 4, 2));
  expect_charge(dev, "attention backward", 1, 2.5 * forward, 4 * rows * (2 * 192 + 2 * 64 + 2),
                launch + 2.5 * forward / flops);

  REQUIRE_OK(lh_axpby(dev, 2, &x, 3, &m)); /* reads both; without beta only x */
  expect_charge(dev, "axpby", 1, 3.0 * (double)n, 12.0 * (double)n,
                launch + 12.0 * (double)n / bytes);
  REQUIRE_OK(lh_axpby(dev, 2, &x, 0, &m));
  expect_charge(dev, "axpby alone", 1, (double)n, 8.0 * (double)n,
                launch + 8.0 * (double)n / bytes);

  /* DeMo, section "Communication": a transform is 2 (h + w) flop per element in 2-D, 2 c in 1-D. */
  for (int flat = 0; flat < 2; flat++) {
    lh_chunking chunking;
    lh_tensor index, value;
    const lh_tensor row = lh_tensor_view_1d(&a, 0, 300 * 200);
    REQUIRE_OK(lh_chunking_init(dev, &chunking, flat ? &row : &a, 64)); /* 60 x 50, or 1 x 60 */
    const double sum = flat ? 60 : 60 + 50, w = flat ? 60 : 50, h = flat ? 1 : 60;
    REQUIRE_OK(lh_tensor_alloc_1d(dev, &index, "test", LH_I32, chunking.blocks * 4));
    REQUIRE_OK(lh_tensor_alloc_1d(dev, &value, "test", LH_F32, chunking.blocks * 4));
    REQUIRE_OK(lh_dct_top_k(dev, &a, &chunking, 4, &index, &value));
    const double entries = 8.0 * 4 * (double)chunking.blocks, all = 4.0 * 300 * 200;
    const double transform = 2 * sum * 300 * 200, moved = 2 * all + 4 * (h * h + w * w);
    expect_charge(dev, "dct top-k", 2, transform + 300 * 200, moved + all + entries,
                  2 * launch + fmax(transform / flops, moved / bytes) + (all + entries) / bytes);
    lh_chunking_fini(&chunking);
    lh_tensor_free(&index), lh_tensor_free(&value);
  }

  lh_device_pause_charging(dev);
  lh_device_pause_charging(dev);
  lh_device_resume_charging(dev);
  REQUIRE_OK(lh_fill(dev, &x, 0));
  lh_device_charge_s(dev, 0.25); /* still counts */
  lh_device_resume_charging(dev);
  expect_charge(dev, "paused", 0, 0, 0, 0.25);
  REQUIRE_OK(lh_fill(dev, &x, 0));
  CHECK(lh_device_charged_s(dev) > 0 && lh_device_charged_s(dev) == lh_device_take_charged_s(dev),
        "looking does not take");
  CHECK(lh_device_take_charged_s(dev) == 0, "taking does");

  lh_tensor *const all[] = {&a, &b, &c, &wide, &bias, &x, &m, &v, &g, &qkv, &out, &lse};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    lh_tensor_free(all[i]);
  lh_device_close(dev);
}

static void test_memory(const lh_backend *backend)
{
  lh_device_profile p = lh_device_profile_ideal();
  p.memory_bytes = 10000;
  lh_device *dev = open_priced(backend, &p);
  lh_tensor parameters, activations, refused, half;
  char text[200];
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &parameters, "parameters", LH_F32, 1000));
  REQUIRE_OK(lh_tensor_alloc_workspace(dev, &activations, "activations", LH_BF16, 2,
                                       (const size_t[]){50, 59}));
  CHECK(lh_device_allocated_bytes(dev) == 4000 + 5900, "%zu bytes", lh_device_allocated_bytes(dev));
  CHECK(lh_device_owner_bytes(dev, "activations") == 5900, "bytes of activations");
  CHECK(lh_device_owner_bytes(dev, "nobody") == 0, "bytes of nobody");

  CHECK(lh_tensor_alloc_1d(dev, &refused, "moments", LH_F32, 26) == LH_EDEVICEMEM,
        "104 bytes do not fit");
  CHECK(strstr(lh_fail_text(), "moments") &&
            strstr(lh_fail_text(), "activations 5.90 kB, parameters 4.00 kB"),
        "the reason: %s", lh_fail_text());
  CHECK(refused.data == NULL && refused.device == NULL, "nothing is left of a refused tensor");
  lh_tensor_free(&refused);
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &half, "moments", LH_F32, 25)); /* exactly full */
  CHECK(lh_device_peak_bytes(dev) == 10000, "peak %zu", lh_device_peak_bytes(dev));
  lh_tensor_free(&half);
  lh_tensor_free(&half); /* again: safe */
  lh_tensor view = lh_tensor_view_1d(&parameters, 10, 20);
  lh_tensor_free(&view); /* owns nothing */
  CHECK(lh_device_allocated_bytes(dev) == 9900, "a view frees nothing: %zu",
        lh_device_allocated_bytes(dev));
  lh_tensor_free(&activations);
  lh_tensor_free(&parameters);
  CHECK(lh_device_allocated_bytes(dev) == 0 && lh_device_peak_bytes(dev) == 10000,
        "the peak stays");
  CHECK(strcmp(lh_device_largest_owners(dev, text, sizeof text),
               "activations 5.90 kB, parameters 4.00 kB, moments 100 B") == 0,
        "owners at the peak: %s", text);
  char small[30];
  CHECK(strcmp(lh_device_largest_owners(dev, small, sizeof small), "activations 5.90 kB") == 0,
        "only whole entries: %s", small);
  lh_device_close(dev);
}

/* A 70 billion parameter model costs a phantom nothing on the host. */
static void test_large_phantom(void)
{
  lh_device *dev = open_device(&lh_backend_phantom);
  lh_tensor t;
  REQUIRE_OK(lh_tensor_alloc_1d(dev, &t, "parameters", LH_BF16, (size_t)70e9));
  CHECK(lh_device_peak_bytes(dev) == (size_t)140e9, "%zu bytes", lh_device_peak_bytes(dev));
  lh_tensor_free(&t);
  lh_device_close(dev);
}

static void test_backends(void)
{
  const lh_backend *backend;
  REQUIRE_OK(lh_backend_find("auto", &backend));
  CHECK(backend == lh_backends[0], "auto is the first");
  for (size_t i = 0; lh_backends[i]; i++) {
    REQUIRE_OK(lh_backend_find(lh_backend_name(lh_backends[i]), &backend));
    CHECK(backend == lh_backends[i], "found %s", lh_backend_name(backend));
  }
  CHECK(lh_backend_find("gpu", &backend) == LH_EINVAL && strstr(lh_fail_text(), "cpu, phantom"),
        "the reason: %s", lh_fail_text());
}

int main(void)
{
  FOR_DTYPES(dtype)
  test_phantom_costs_the_same(dtype);
  forget_numbers();
  test_charges();
  test_memory(&lh_backend_cpu);
  test_memory(&lh_backend_phantom);
  test_large_phantom();
  test_backends();
  return check_report("device");
}
