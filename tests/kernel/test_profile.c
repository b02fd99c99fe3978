/* Device profiles: reading, prices in closed form, curves, and one clear error per mistake. */
#include "kernel_case.h"

#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

static const char sample[] =
    "{\"schema\": \"longhaul/device/1\", \"name\": \"sample\", \"title\": \"A sample\","
    " \"peak\": {\"f32\": \"20TFLOPS\", \"bf16\": \"320TFLOPS\"}, \"memory_bandwidth\": "
    "\"2000GB/s\","
    " \"memory\": \"80GB\", \"launch_overhead\": \"4us\", \"compute_efficiency\": 0.5,"
    " \"memory_efficiency\": 0.8, \"power\": \"400W\", \"price\": \"1.8USD/h\","
    " \"curves\": [{\"operation\": \"gemm\", \"points\": [[1e6, 0.1], [1e8, 0.3], [1e12, 0.9]]},"
    "              {\"operation\": \"elementwise\", \"points\": [[1, 0.25]]},"
    "              {\"operation\": \"optimizer\", \"points\": [[1e6, 0.2], [1e8, 0.6]]}],"
    " \"source\": \"a data sheet\"}";

static lh_status read_profile(const char *text, lh_device_profile *profile)
{
  lh_json_document *document;
  REQUIRE_OK(lh_json_read_text("sample.json", text, &document));
  lh_status status = lh_device_profile_read(lh_json_root(document), profile);
  lh_json_document_free(document);
  return status;
}

static void seconds(const lh_device_profile *p, const char *operation, lh_dtype dtype, double flop,
                    double bytes, double want)
{
  CHECK_NEAR(lh_device_profile_seconds(p, operation, dtype, flop, bytes), want, 1e-12 * want,
             "%s of %g flop, %g bytes", operation, flop, bytes);
}

static void test_sample(void)
{
  lh_device_profile p;
  REQUIRE_OK(read_profile(sample, &p));
  CHECK(strcmp(p.name, "sample") == 0 && strcmp(p.title, "A sample") == 0, "%s", p.name);
  CHECK(p.peak_flop_per_s[LH_F32] == 20e12 && p.peak_flop_per_s[LH_BF16] == 320e12, "peaks");
  CHECK(p.memory_bytes == 80e9 && p.memory_bandwidth_Bps == 2000e9, "memory");
  CHECK(p.power_watt == 400 && fabs(p.price_usd_per_s - 1.8 / 3600) < 1e-15, "power and price");

  /* launch + max(flop / (peak efficiency), bytes / (bandwidth efficiency)) */
  seconds(&p, "norm", LH_F32, 1e6, 1e9, 4e-6 + 1e9 / (2000e9 * 0.8));
  seconds(&p, "attention", LH_F32, 1e12, 1e3, 4e-6 + 1e12 / (20e12 * 0.5));
  seconds(&p, "attention", LH_BF16, 1e12, 1e3, 4e-6 + 1e12 / (320e12 * 0.5));
  seconds(&p, "attention", LH_F16, 1e12, 1e3, 4e-6 + 1e12 / (20e12 * 0.5)); /* no f16: f32's */
  seconds(&p, "norm", LH_F32, 0, 0, 4e-6);
  /* The curve of gemm: 0.2 half way between 1e6 and 1e8 in the logarithm, constant outside. */
  seconds(&p, "gemm", LH_F32, 1e7, 0, 4e-6 + 1e7 / (20e12 * 0.2));
  seconds(&p, "gemm", LH_F32, 1e10, 0, 4e-6 + 1e10 / (20e12 * 0.6));
  seconds(&p, "gemm", LH_F32, 1e3, 0, 4e-6 + 1e3 / (20e12 * 0.1));
  seconds(&p, "gemm", LH_F32, 1e15, 0, 4e-6 + 1e15 / (20e12 * 0.9));
  seconds(&p, "gemm", LH_F32, 1, 1e9, 4e-6 + 1e9 / (2000e9 * 0.8)); /* memory keeps its own */
  seconds(&p, "elementwise", LH_F32, 1, 1e9, 4e-6 + 1e9 / (2000e9 * 0.25));
  seconds(&p, "optimizer", LH_F32, 1, 1e7, 4e-6 + 1e7 / (2000e9 * 0.4)); /* by bytes */
  CHECK(isnan(lh_device_profile_seconds(&p, "nonsense", LH_F32, 1, 1)), "an unknown operation");
  lh_device_profile_fini(&p);
}

static void test_defaults(void)
{
  lh_device_profile p;
  REQUIRE_OK(read_profile("{\"name\": \"n\", \"peak\": {\"f32\": \"1TFLOPS\"},"
                          " \"memory_bandwidth\": \"1GB/s\"}",
                          &p));
  CHECK(p.memory_bytes == 0 && p.launch_overhead_s == 0 && p.curves == 0, "defaults");
  CHECK(p.compute_efficiency == 1 && p.memory_efficiency == 1, "efficiencies default to 1");
  lh_device_profile_fini(&p);
  p = lh_device_profile_ideal();
  CHECK(lh_device_profile_seconds(&p, "gemm", LH_BF16, 1e18, 1e18) == 0, "ideal: no time");
  lh_device_profile_fini(&p);
  lh_device_profile_fini(&p); /* again: safe */
}

/* Each mistake names its place. */
static void test_mistakes(void)
{
#define MINIMAL "\"name\": \"n\", \"peak\": {\"f32\": \"1TFLOPS\"}, \"memory_bandwidth\": \"1GB/s\""
  static const char *const mistakes[][2] = {
      {"{\"peak\": {\"f32\": \"1TFLOPS\"}, \"memory_bandwidth\": \"1GB/s\"}", "name"},
      {"{\"name\": \"n\", \"peak\": {\"bf16\": \"1TFLOPS\"}, \"memory_bandwidth\": \"1GB/s\"}",
       "peak.f32"},
      {"{\"name\": \"n\", \"peak\": {\"f32\": 5}, \"memory_bandwidth\": \"1GB/s\"}", "peak.f32"},
      {"{\"name\": \"n\", \"peak\": {\"f32\": \"0TFLOPS\"}, \"memory_bandwidth\": \"1GB/s\"}",
       "above 0"},
      {"{\"name\": \"n\", \"peak\": {\"f33\": \"1TFLOPS\"}, \"memory_bandwidth\": \"1GB/s\"}",
       "f33"},
      {"{" MINIMAL ", \"memory\": \"80GB/s\"}", "memory"},
      {"{" MINIMAL ", \"compute_efficiency\": 1.5}", "compute_efficiency"},
      {"{" MINIMAL ", \"memory_efficiency\": 0}", "memory_efficiency"},
      {"{" MINIMAL ", \"lunch_overhead\": \"4us\"}", "launch_overhead"},
      {"{" MINIMAL ", \"schema\": \"longhaul/platform/1\"}", "schema"},
      {"{" MINIMAL ", \"curves\": [{\"operation\": \"gem\", \"points\": [[1, 1]]}]}", "gemm"},
      {"{" MINIMAL ", \"curves\": [{\"operation\": \"gemm\", \"points\": []}]}",
       "curves[0].points"},
      {"{" MINIMAL ", \"curves\": [{\"operation\": \"gemm\", \"points\": [[1, 1], [1, 0.5]]}]}",
       "ascending"},
      {"{" MINIMAL ", \"curves\": [{\"operation\": \"gemm\", \"points\": [[1, 1, 3]]}]}",
       "[size, efficiency]"},
      {"{" MINIMAL ", \"curves\": [{\"operation\": \"norm\", \"points\": [[1, 1]]},"
       " {\"operation\": \"norm\", \"points\": [[1, 1]]}]}",
       "second curve"},
  };
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    lh_device_profile p;
    CHECK(read_profile(mistakes[i][0], &p) == LH_EINVAL, "mistake %zu is accepted", i);
    CHECK(strstr(lh_fail_text(), mistakes[i][1]), "mistake %zu: \"%s\" does not name %s", i,
          lh_fail_text(), mistakes[i][1]);
    lh_device_profile_fini(&p);
  }
}

static void test_load(void)
{
  char folder[] = "/tmp/lh-profile-XXXXXX";
  CHECK(mkdtemp(folder) != NULL, "a temporary folder");
  char *devices = lh_string_format("%s/platforms/devices", folder);
  char *file = lh_string_format("%s/sample.json", devices);
  REQUIRE_OK(lh_folder_make(devices));
  REQUIRE_OK(lh_file_write_atomic(file, sample, strlen(sample)));
  lh_device_profile p;
  REQUIRE_OK(lh_device_profile_load(folder, "sample", &p));
  CHECK(p.curves == 3, "loaded with %zu curves", p.curves);
  lh_device_profile_fini(&p);
  CHECK(lh_device_profile_load(folder, "sampel", &p) == LH_EINVAL, "an unknown name");
  CHECK(strstr(lh_fail_text(), "did you mean \"sample\"?"), "%s", lh_fail_text());
  lh_device_profile_fini(&p);
  unlink(file), rmdir(devices);
  char *platforms = lh_string_format("%s/platforms", folder);
  rmdir(platforms), rmdir(folder);
  free(platforms), free(file), free(devices);
}

int main(void)
{
  test_sample();
  test_defaults();
  test_mistakes();
  test_load();
  return check_report("profile");
}
