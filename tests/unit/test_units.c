/* Quantities against hand-computed values in base units, wrong ones against the words of the error,
 * and printing at the points where digits or prefixes change. */
#include "base/units.h"
#include "tests/check.h"

struct good {
  const char *text;
  lh_unit unit;
  double value;
};

static const struct good good[] = {
    {"10Gbps", LH_UNIT_BYTES_PER_S, 1.25e9},
    {"1.25GB/s", LH_UNIT_BYTES_PER_S, 1.25e9},
    {"1.25 GBps", LH_UNIT_BYTES_PER_S, 1.25e9},
    {"100 Mbps", LH_UNIT_BYTES_PER_S, 12.5e6},
    {"1Gbit/s", LH_UNIT_BYTES_PER_S, 125e6},
    {"8bps", LH_UNIT_BYTES_PER_S, 1},
    {"56kbps", LH_UNIT_BYTES_PER_S, 7000},
    {"3GiB/s", LH_UNIT_BYTES_PER_S, 3221225472.0},
    {"0Mbps", LH_UNIT_BYTES_PER_S, 0},
    {"16GiB", LH_UNIT_BYTES, 17179869184.0},
    {"25MB", LH_UNIT_BYTES, 25e6},
    {"25MiB", LH_UNIT_BYTES, 26214400},
    {"7 B", LH_UNIT_BYTES, 7},
    {".5kB", LH_UNIT_BYTES, 500},
    {"50us", LH_UNIT_S, 5e-5}, /* exactly the double nearest to 5e-5 */
    {"20ms", LH_UNIT_S, 0.02},
    {"3ns", LH_UNIT_S, 3e-9},
    {"1.5min", LH_UNIT_S, 90},
    {"2h", LH_UNIT_S, 7200},
    {"1d", LH_UNIT_S, 86400},
    {"1e-3s", LH_UNIT_S, 1e-3},
    {" 7s ", LH_UNIT_S, 7},
    {"312TFLOPS", LH_UNIT_FLOP_PER_S, 312e12},
    {"1Eflop/s", LH_UNIT_FLOP_PER_S, 1e18},
    {"19.5 TFLOP/s", LH_UNIT_FLOP_PER_S, 19.5e12},
    {"400W", LH_UNIT_WATT, 400},
    {"0.4kW", LH_UNIT_WATT, 400},
    {"3.6USD/h", LH_UNIT_USD_PER_S, 0.001},
};

struct bad {
  const char *text;
  lh_unit unit;
  const char *said; /* the reason contains this */
};

static const struct bad bad[] = {
    {"10", LH_UNIT_BYTES_PER_S, "without a unit"},
    {"10GB", LH_UNIT_BYTES_PER_S, "\"GB\" is no such unit"},
    {"10ms", LH_UNIT_BYTES, "a size such as"},
    {"10Gbps", LH_UNIT_S, "a time such as"},
    {"1KB", LH_UNIT_BYTES, "did you mean \"kB\"?"},
    {"10gbps", LH_UNIT_BYTES_PER_S, "\"Gbps\" or \"GBps\"?"},
    {"-1Gbps", LH_UNIT_BYTES_PER_S, "not negative"},
    {"nan s", LH_UNIT_S, "allowed"},
    {"infs", LH_UNIT_S, "allowed"},
    {"0x10B", LH_UNIT_BYTES, "allowed"},
    {"", LH_UNIT_S, "allowed"},
    {"fast", LH_UNIT_BYTES_PER_S, "allowed"},
    {"1 2s", LH_UNIT_S, "no such unit"},
    {"1s later", LH_UNIT_S, "no such unit"},
    {"1e999s", LH_UNIT_S, "too large"},
    {"1e300s", LH_UNIT_S, "too large"},
    {"1e-320bps", LH_UNIT_BYTES_PER_S, "too small"},
};

static void parsing(void)
{
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    double value = -1;
    const lh_status status = lh_quantity_parse(good[i].text, good[i].unit, &value);
    CHECK(status == LH_OK, "%s: %s", good[i].text, lh_fail_text());
    CHECK(value == good[i].value, "%s: got %.17g, expected %.17g", good[i].text, value,
          good[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    double value = -1;
    CHECK(lh_quantity_parse(bad[i].text, bad[i].unit, &value) == LH_EINVAL, "\"%s\" was read as %g",
          bad[i].text, value);
    CHECK(strstr(lh_fail_text(), bad[i].said), "\"%s\": \"%s\" does not say \"%s\"", bad[i].text,
          lh_fail_text(), bad[i].said);
  }
}

typedef const char *format(char *, size_t, double);

static void printing(void)
{
  const struct {
    format *print;
    double value;
    const char *text;
  } rows[] = {
      {lh_format_s, 1.4014, "1.40 s"},
      {lh_format_s, 0, "0 s"},
      {lh_format_s, 50e-6, "50.0 us"},
      {lh_format_s, 2.387e-9, "2.39 ns"},
      {lh_format_s, 0.9999, "1.00 s"},
      {lh_format_s, 119, "119 s"},
      {lh_format_s, 120, "2.00 min"},
      {lh_format_s, 7200, "2.00 h"},
      {lh_format_s, 3 * 86400.0, "3.00 d"},
      {lh_format_s, NAN, "-"},
      {lh_format_bytes, 12.5e6, "12.5 MB"},
      {lh_format_bytes, 100e6, "100 MB"},
      {lh_format_bytes, 512, "512 B"},
      {lh_format_bytes, 0, "0 B"},
      {lh_format_bytes, 999, "999 B"},
      {lh_format_bytes, 999.6e3, "1.00 MB"},
      {lh_format_bytes_per_s, 1.25e9, "1.25 GB/s"},
      {lh_format_bits_per_s, 12.5e6, "100 Mbps"},
      {lh_format_bits_per_s, 1.25e9, "10.0 Gbps"},
      {lh_format_count, 124439808, "124M"},
      {lh_format_count, 1.5e9, "1.5B"},
      {lh_format_count, 97, "97"},
      {lh_format_number, 0.1, "0.1"},
      {lh_format_number, 97, "97"},
      {lh_format_number, -0.0, "0"},
      {lh_format_number, 1.0 / 3.0, "0.3333333333333333"},
      {lh_format_number, 5e-324, "5e-324"},
      {lh_format_number, 1e300, "1e+300"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char buffer[40];
    rows[i].print(buffer, sizeof buffer, rows[i].value);
    CHECK(strcmp(buffer, rows[i].text) == 0, "%.17g: got \"%s\", expected \"%s\"", rows[i].value,
          buffer, rows[i].text);
  }
}

int main(void)
{
  parsing();
  printing();
  return check_report("units");
}
