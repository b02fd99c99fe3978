#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Factors are a product and a quotient of whole numbers, so that "50us" is 50 / 1e6: the double
 * nearest to 5e-5, which 50 * 1e-6 is not. */
struct prefix {
  const char *text;
  double times;
};

static const struct prefix si_prefixes[] = {{"", 1},     {"k", 1e3},  {"M", 1e6},  {"G", 1e9},
                                            {"T", 1e12}, {"P", 1e15}, {"E", 1e18}, {NULL, 0}};
static const struct prefix binary_prefixes[] = {
    {"", 1},        {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12}, {"P", 1e15},
    {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {NULL, 0}};
static const struct prefix no_prefix[] = {{"", 1}, {NULL, 0}};

struct spelling {
  lh_unit unit;
  const char *text;
  const struct prefix *prefixes;
  double times, over;
};

static const struct spelling spellings[] = {
    {LH_UNIT_BYTES_PER_S, "bps", si_prefixes, 1, 8},
    {LH_UNIT_BYTES_PER_S, "bit/s", si_prefixes, 1, 8},
    {LH_UNIT_BYTES_PER_S, "Bps", binary_prefixes, 1, 1},
    {LH_UNIT_BYTES_PER_S, "B/s", binary_prefixes, 1, 1},
    {LH_UNIT_BYTES, "B", binary_prefixes, 1, 1},
    {LH_UNIT_S, "ns", no_prefix, 1, 1e9},
    {LH_UNIT_S, "us", no_prefix, 1, 1e6},
    {LH_UNIT_S, "ms", no_prefix, 1, 1e3},
    {LH_UNIT_S, "s", no_prefix, 1, 1},
    {LH_UNIT_S, "min", no_prefix, 60, 1},
    {LH_UNIT_S, "h", no_prefix, 3600, 1},
    {LH_UNIT_S, "d", no_prefix, 86400, 1},
    {LH_UNIT_FLOP_PER_S, "FLOPS", si_prefixes, 1, 1},
    {LH_UNIT_FLOP_PER_S, "FLOP/s", si_prefixes, 1, 1},
    {LH_UNIT_FLOP_PER_S, "flop/s", si_prefixes, 1, 1},
    {LH_UNIT_WATT, "W", si_prefixes, 1, 1},
    {LH_UNIT_USD_PER_S, "USD/h", no_prefix, 1, 3600},
    {LH_UNIT_USD_PER_S, "USD/s", no_prefix, 1, 1},
};

static const char *const allowed_texts[LH_UNIT_COUNT] = {
    [LH_UNIT_BYTES_PER_S] = "a rate such as \"10Gbps\" (bits) or \"1.25GB/s\" (bytes)",
    [LH_UNIT_BYTES] = "a size such as \"25MB\" or \"16GiB\"",
    [LH_UNIT_S] = "a time such as \"50us\", \"20ms\" or \"1.5s\"",
    [LH_UNIT_FLOP_PER_S] = "a rate such as \"312TFLOPS\"",
    [LH_UNIT_WATT] = "a power such as \"400W\"",
    [LH_UNIT_USD_PER_S] = "a price such as \"2.5USD/h\"",
};

const char *lh_unit_allowed(lh_unit unit)
{
  return allowed_texts[unit];
}

/* Compares prefix + spelling with text; `same` is strcmp or strcasecmp. */
static bool spelt(const struct prefix *prefix, const struct spelling *spelling, const char *text,
                  int (*same)(const char *, const char *))
{
  char whole[16];
  snprintf(whole, sizeof whole, "%s%s", prefix->text, spelling->text);
  return same(whole, text) == 0;
}

static bool find_unit(const char *text, lh_unit unit, double *times, double *over)
{
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    for (const struct prefix *p = spellings[i].prefixes; p->text && spellings[i].unit == unit; p++)
      if (spelt(p, &spellings[i], text, strcmp)) {
        *times = p->times * spellings[i].times;
        *over = spellings[i].over;
        return true;
      }
  return false;
}

/* A suggestion where only the case is wrong: "KB" -> "kB"; "GBPS" could be two things. */
static void suggest_unit(const char *text, lh_unit unit, char *out, size_t size)
{
  size_t found = 0;
  out[0] = '\0';
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    for (const struct prefix *p = spellings[i].prefixes; p->text && spellings[i].unit == unit; p++)
      if (spelt(p, &spellings[i], text, strcasecmp) && found < 2) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, found++ ? " or \"%s%s\"" : "; did you mean \"%s%s\"",
                 p->text, spellings[i].text);
      }
  if (found)
    strncat(out, "?", size - strlen(out) - 1);
}

/* Beyond these a sum of times is infinite, or a step of virtual time is lost in it. */
#define MOST_S 1e15
#define LEAST 1e-30

lh_status lh_quantity_parse(const char *text, lh_unit unit, double *value)
{
  const char *start = text;
  while (isspace((unsigned char)*start))
    start++;
  /* strtod also reads "inf", "nan" and hexadecimal, which nobody means here. */
  const char *digits = *start == '-' || *start == '+' ? start + 1 : start;
  if (!isdigit((unsigned char)*digits) && !(*digits == '.' && isdigit((unsigned char)digits[1])))
    return lh_fail(LH_EINVAL, "found \"%s\", allowed: %s", text, allowed_texts[unit]);
  if (digits[0] == '0' && tolower((unsigned char)digits[1]) == 'x')
    return lh_fail(LH_EINVAL, "found \"%s\", allowed: %s", text, allowed_texts[unit]);
  char *rest;
  const double number = strtod(start, &rest);

  char name[24];
  while (isspace((unsigned char)*rest))
    rest++;
  size_t n = strlen(rest);
  while (n && isspace((unsigned char)rest[n - 1]))
    n--;
  snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), rest);
  if (!name[0])
    return lh_fail(LH_EINVAL, "found \"%s\", a number without a unit, allowed: %s", text,
                   allowed_texts[unit]);
  double times, over;
  if (!find_unit(name, unit, &times, &over)) {
    char hint[64];
    suggest_unit(name, unit, hint, sizeof hint);
    return lh_fail(LH_EINVAL, "found \"%s\", and \"%s\" is no such unit, allowed: %s%s", text, name,
                   allowed_texts[unit], hint);
  }
  if (number < 0)
    return lh_fail(LH_EINVAL, "found \"%s\", allowed: %s, not negative", text, allowed_texts[unit]);
  *value = number * times / over;
  const bool large = !isfinite(*value) || (unit == LH_UNIT_S && *value > MOST_S);
  const bool small = *value != 0 && *value < LEAST;
  if (large || small)
    return lh_fail(LH_EINVAL, "found \"%s\", which is too %s, allowed: %s", text,
                   large ? "large" : "small", allowed_texts[unit]);
  return LH_OK;
}

/* ---- printing -------------------------------------------------------------------------------- */

struct scale {
  double unit;
  double from; /* used for values from here on */
  const char *text;
};

#define SCALE(unit, text)                                                                          \
  {                                                                                                \
    unit, 0.9995 * (unit), text                                                                    \
  } /* 999.6 kB reads "1.00 MB" */

static int decimals_of_three_digits(double value)
{
  const double a = fabs(value);
  return a < 9.995 ? 2 : a < 99.95 ? 1 : 0;
}

/* Three significant digits in the last scale that the value reaches; scales ascend. Whole numbers
 * in the smallest one stay whole ("512 B"). */
static const char *format_scaled(char *buffer, size_t size, double value,
                                 const struct scale *scales)
{
  if (!isfinite(value)) {
    snprintf(buffer, size, "%s", isnan(value) ? "-" : value < 0 ? "-inf" : "inf");
    return buffer;
  }
  const struct scale *best = scales;
  for (const struct scale *s = scales + 1; s->text; s++)
    if (fabs(value) >= s->from)
      best = s;
  const double scaled = value / best->unit;
  if (best == scales && (scaled == floor(scaled) || fabs(scaled) < 0.9995))
    snprintf(buffer, size, "%.3g%s", scaled, best->text);
  else
    snprintf(buffer, size, "%.*f%s", decimals_of_three_digits(scaled), scaled, best->text);
  return buffer;
}

const char *lh_format_s(char *buffer, size_t size, double seconds)
{
  static const struct scale scales[] = {
      SCALE(1e-9, " ns"), SCALE(1e-6, " us"), SCALE(1e-3, " ms"),    SCALE(1, " s"),
      {60, 120, " min"},  {3600, 7200, " h"}, {86400, 172800, " d"}, {0, 0, NULL}};
  return seconds == 0 ? snprintf(buffer, size, "0 s"),
         buffer       : format_scaled(buffer, size, seconds, scales);
}

const char *lh_format_bytes(char *buffer, size_t size, double bytes)
{
  static const struct scale scales[] = {SCALE(1, " B"),    SCALE(1e3, " kB"),  SCALE(1e6, " MB"),
                                        SCALE(1e9, " GB"), SCALE(1e12, " TB"), SCALE(1e15, " PB"),
                                        {0, 0, NULL}};
  return format_scaled(buffer, size, bytes, scales);
}

const char *lh_format_bytes_per_s(char *buffer, size_t size, double rate)
{
  static const struct scale scales[] = {
      SCALE(1, " B/s"),     SCALE(1e3, " kB/s"),  SCALE(1e6, " MB/s"), SCALE(1e9, " GB/s"),
      SCALE(1e12, " TB/s"), SCALE(1e15, " PB/s"), {0, 0, NULL}};
  return format_scaled(buffer, size, rate, scales);
}

const char *lh_format_bits_per_s(char *buffer, size_t size, double bytes_per_s)
{
  static const struct scale scales[] = {
      SCALE(1, " bps"),     SCALE(1e3, " kbps"),  SCALE(1e6, " Mbps"), SCALE(1e9, " Gbps"),
      SCALE(1e12, " Tbps"), SCALE(1e15, " Pbps"), {0, 0, NULL}};
  return format_scaled(buffer, size, 8 * bytes_per_s, scales);
}

const char *lh_format_count(char *buffer, size_t size, double count)
{
  static const struct scale scales[] = {SCALE(1, ""),    SCALE(1e3, "k"),  SCALE(1e6, "M"),
                                        SCALE(1e9, "B"), SCALE(1e12, "T"), {0, 0, NULL}};
  if (!isfinite(count) || fabs(count) < 999.5)
    return format_scaled(buffer, size, count, scales);
  const struct scale *best = scales;
  for (const struct scale *s = scales; s->text && fabs(count) >= s->from; s++)
    best = s;
  snprintf(buffer, size, "%.*g%s", 3, count / best->unit, best->text); /* 1.5B, not 1.50B */
  return buffer;
}

const char *lh_format_number(char *buffer, size_t size, double value)
{
  char text[32] = "";
  if (value == floor(value) && fabs(value) < 0x1p53)
    snprintf(text, sizeof text, "%.0f", value == 0 ? 0.0 : value); /* no "-0" */
  else
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, value);
      if (strtod(text, NULL) == value)
        break;
    }
  snprintf(buffer, size, "%s", text);
  return buffer;
}
