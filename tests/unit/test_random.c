/* splitmix64 against its published sequence; the draws against their stated composition and against
 * the moments of the distributions (bounds at 5 standard errors of fixed seeds: they can't flake). */
#include <stdbool.h>

#include "base/random.h"
#include "tests/check.h"

#define MANY 200000

/* First outputs of splitmix64 from seed 1234567, as published with its reference code. */
static void published(void)
{
  CHECK(lh_mix64(0) == 0xe220a8397b1dcdafu, "%llx", (unsigned long long)lh_mix64(0));
  CHECK(lh_mix64(42) == 0xbdd732262feb6e95u, "%llx", (unsigned long long)lh_mix64(42));
  static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                      9817491932198370423u, 4593380528125082431u,
                                      16408922859458223821u};
  for (uint64_t i = 0; i < 5; i++)
    CHECK(lh_mix64(1234567 + i * 0x9e3779b97f4a7c15u) == expected[i], "output %d", (int)i);
}

static void composition(void)
{
  const uint64_t inner = lh_mix64(lh_mix64(7) ^ LH_PURPOSE_PAIRING);
  CHECK(lh_draw(7, LH_PURPOSE_PAIRING, 3, 5) == lh_mix64(lh_mix64(inner ^ 3) ^ 5), "keys joined");
  /* seed + step must not matter as a sum, nor step + index */
  CHECK(lh_draw(7, LH_PURPOSE_DATA, 4, 5) != lh_draw(8, LH_PURPOSE_DATA, 3, 5), "seed and step");
  CHECK(lh_draw(7, LH_PURPOSE_DATA, 4, 5) != lh_draw(7, LH_PURPOSE_DATA, 5, 4), "step and index");
  CHECK(lh_draw(7, LH_PURPOSE_DATA, 4, 5) != lh_draw(7, LH_PURPOSE_PAIRING, 4, 5), "purposes");
}

static void moments(void)
{
  double sum = 0, normal[4] = {0};
  for (uint64_t i = 0; i < MANY; i++) {
    const double u = lh_draw_uniform(11, LH_PURPOSE_DATA, 2, i);
    CHECK(u >= 0 && u < 1, "%g", u);
    sum += u;
    double power = 1, z = lh_draw_normal(11, LH_PURPOSE_PARAMETERS, 2, i);
    for (int p = 0; p < 4; p++)
      normal[p] += power *= z;
  }
  const double error = 1 / sqrt(MANY);
  CHECK_NEAR(sum / MANY, 0.5, 5 * error * sqrt(1.0 / 12), "mean of uniform draws");
  CHECK_NEAR(normal[0] / MANY, 0, 5 * error, "mean of normal draws");
  CHECK_NEAR(normal[1] / MANY, 1, 5 * error * sqrt(2), "variance of normal draws");
  CHECK_NEAR(normal[2] / MANY, 0, 5 * error * sqrt(15), "third moment of normal draws");
  CHECK_NEAR(normal[3] / MANY, 3, 5 * error * sqrt(96), "fourth moment of normal draws");
}

/* All 24 orders of 4 things, each 1/24 of the time. */
static void permutations(void)
{
  size_t seen[256] = {0}, p[97];
  const size_t times = 24000;
  for (size_t step = 0; step < times; step++) {
    lh_draw_permutation(5, LH_PURPOSE_PAIRING, step, 4, p);
    seen[p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6]++;
  }
  size_t kinds = 0;
  for (size_t i = 0; i < 256; i++)
    if (seen[i]) {
      kinds++;
      CHECK_NEAR(seen[i], times / 24.0, 5 * sqrt(times / 24.0), "order %zu", i);
    }
  CHECK(kinds == 24, "%zu different orders", kinds);

  bool there[97] = {false};
  lh_draw_permutation(5, LH_PURPOSE_PAIRING, 1, 97, p);
  for (size_t i = 0; i < 97; i++)
    there[p[i]] = true;
  for (size_t i = 0; i < 97; i++)
    CHECK(there[i], "%zu is missing", i);
  p[0] = 97;
  lh_draw_permutation(5, LH_PURPOSE_PAIRING, 1, 0, p);
  CHECK(p[0] == 97, "nothing to permute, yet something was written");
}

/* The flexdemo page's rows; then against sorting by definition, and every row k/n of the time. */
static void row_sets(void)
{
  static const int32_t page[3][2] = {{0, 4}, {4, 5}, {1, 6}};
  int32_t rows[97];
  for (uint64_t step = 1; step <= 3; step++) {
    CHECK(lh_draw_row_set(42, step, 8, 2, rows), "no memory");
    CHECK(rows[0] == page[step - 1][0] && rows[1] == page[step - 1][1], "step %d: {%d, %d}",
          (int)step, rows[0], rows[1]);
  }
  size_t seen[97] = {0};
  const size_t times = 4000;
  for (size_t step = 0; step < times; step++) {
    const size_t n = 1 + step % 97, k = step % (n + 1);
    CHECK(lh_draw_row_set(7, step, n, k, rows), "no memory");
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
      const uint64_t own = lh_mix64(lh_mix64(7) ^ lh_mix64((step << 32) | i));
      size_t rank = 0; /* how many come before this row */
      for (size_t j = 0; j < n; j++) {
        const uint64_t other = lh_mix64(lh_mix64(7) ^ lh_mix64((step << 32) | j));
        rank += other < own || (other == own && j < i);
      }
      if (rank < k)
        CHECK(rows[place++] == (int32_t)i, "step %zu, n %zu, k %zu: row %zu", step, n, k, i);
    }
    CHECK(place == k, "step %zu: %zu rows, not %zu", step, place, k);
    CHECK(lh_draw_row_set(11, step, 97, 10, rows), "no memory");
    for (size_t q = 0; q < 10; q++)
      seen[rows[q]]++;
  }
  const double share = 10.0 / 97, deviation = sqrt((double)times * share * (1 - share));
  for (size_t i = 0; i < 97; i++)
    CHECK_NEAR(seen[i], (double)times * share, 5 * deviation, "row %zu is drawn", i);
}

static void generator(void)
{
  gsl_rng *a = lh_rng_new(3, LH_PURPOSE_LATENCY, 1, 2);
  gsl_rng *b = lh_rng_new(3, LH_PURPOSE_LATENCY, 1, 3);
  CHECK(a && b, "no generators");
  const uint64_t first = gsl_rng_get(a);
  CHECK(first == lh_mix64(lh_draw(3, LH_PURPOSE_LATENCY, 1, 2)), "first output");
  CHECK(gsl_rng_get(a) != first && gsl_rng_get(b) != first, "outputs repeat");
  lh_rng_reset(a, 3, LH_PURPOSE_LATENCY, 1, 2);
  CHECK(gsl_rng_get(a) == first, "reset does not return to the start");
  double sum = 0;
  for (int i = 0; i < MANY; i++)
    sum += gsl_rng_uniform(a);
  CHECK_NEAR(sum / MANY, 0.5, 5 * sqrt(1.0 / 12 / MANY), "mean of the generator");
  gsl_rng_free(a);
  gsl_rng_free(b);
}

int main(void)
{
  published();
  composition();
  moments();
  permutations();
  row_sets();
  generator();
  return check_report("random");
}
