/* synthetic.c -- a first-order Markov chain over `states` bytes, so that the loss floor is known.
 *
 * Row i of the transition matrix P holds the probabilities p_k = z q^k (k = 0 .. states - 1), with q
 * such that -sum p log2 p is the wanted entropy, in an order drawn for the row. All entries are
 * above 0, so there is one stationary distribution pi = pi P, found by repeated application. The
 * entropy rate is
 *
 *     H = -sum_i pi_i sum_j P_ij ln P_ij        nats per token
 *
 * (Shannon 1948; Cover and Thomas, theorem 4.2.4): no predictor's mean loss is lower, and one that
 * has learned P reaches it. A text starts from pi.
 */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "models/data/kinds.h"
#include "models/data/source.h"

#define VALIDATION_BATCHES 64

typedef struct synthetic_source {
  size_t states;
  uint64_t seed;
  double entropy;     /* nats per token */
  double *transition; /* (states, states) */
  double *sums;       /* (states + 1, states): running sums of each row, and last of pi */
} synthetic_source;

static const char *const keys[] = {"states", "entropy_bits", "seed", NULL};

/* ---- the chain ------------------------------------------------------------------------------- */

/* p_k = q^k, normalised; returns the entropy in bits. */
static double geometric(double q, size_t n, double *p)
{
  double sum = 0, entropy = 0, power = 1;
  for (size_t k = 0; k < n; k++, power *= q)
    sum += p[k] = power;
  for (size_t k = 0; k < n; k++) {
    p[k] /= sum;
    if (p[k] > 0)
      entropy -= p[k] * log2(p[k]);
  }
  return entropy;
}

/* Entropy grows with q from 0 to log2(n): bisection. */
static void solve(double bits, size_t n, double *p)
{
  double low = 0, high = 1;
  for (int i = 0; i < 200; i++) {
    const double middle = (low + high) / 2;
    if (geometric(middle, n, p) < bits)
      low = middle;
    else
      high = middle;
  }
  geometric(high, n, p);
}

static lh_status build_transition(synthetic_source *source, double bits)
{
  const size_t n = source->states;
  double *p = malloc(n * sizeof *p);
  size_t *order = malloc(n * sizeof *order);
  lh_status status = LH_OK;
  if (p && order) {
    solve(bits, n, p);
    for (size_t i = 0; i < n; i++) {
      lh_draw_permutation(source->seed, LH_PURPOSE_SYNTHETIC, i, n, order);
      for (size_t k = 0; k < n; k++)
        source->transition[i * n + order[k]] = p[k];
    }
  } else {
    status = lh_fail(LH_ENOMEM, "synthetic: no memory for %zu states", n);
  }
  free(p);
  free(order);
  return status;
}

/* pi <- (pi + pi P) / 2 until it stands still; the half step keeps a cyclic chain from swinging. */
static void find_stationary(const synthetic_source *source, double *pi, double *next)
{
  const size_t n = source->states;
  double change = 1;
  for (size_t i = 0; i < n; i++)
    pi[i] = 1.0 / (double)n;
  for (int round = 0; round < 100000 && change > 1e-15; round++) {
    change = 0;
    for (size_t j = 0; j < n; j++) {
      next[j] = 0.5 * pi[j];
      for (size_t i = 0; i < n; i++)
        next[j] += 0.5 * pi[i] * source->transition[i * n + j];
      change = fmax(change, fabs(next[j] - pi[j]));
    }
    for (size_t j = 0; j < n; j++)
      pi[j] = next[j];
  }
}

static double entropy_rate(const synthetic_source *source, const double *pi)
{
  const size_t n = source->states;
  double entropy = 0;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      const double p = source->transition[i * n + j];
      if (p > 0)
        entropy -= pi[i] * p * log(p);
    }
  return entropy;
}

static void sum_up(const double *p, size_t n, double *sums)
{
  double sum = 0;
  for (size_t j = 0; j < n; j++)
    sums[j] = sum += p[j];
}

static lh_status build(synthetic_source *source, double bits)
{
  const size_t n = source->states;
  double *pi = malloc(2 * n * sizeof *pi);
  source->transition = calloc(n * n, sizeof *source->transition);
  source->sums = calloc((n + 1) * n, sizeof *source->sums);
  lh_status status = LH_OK;
  if (!pi || !source->transition || !source->sums)
    status = lh_fail(LH_ENOMEM, "synthetic: no memory for %zu states", n);
  if (status == LH_OK)
    status = build_transition(source, bits);
  if (status == LH_OK) {
    find_stationary(source, pi, pi + n);
    source->entropy = entropy_rate(source, pi);
    for (size_t i = 0; i < n; i++)
      sum_up(source->transition + i * n, n, source->sums + i * n);
    sum_up(pi, n, source->sums + n * n);
  }
  free(pi);
  return status;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static lh_status create(lh_json spec, void **self)
{
  synthetic_source *source = calloc(1, sizeof *source);
  double bits = 0;
  if (!(*self = source))
    return lh_fail(LH_ENOMEM, "synthetic: no memory");
  LH_TRY(lh_json_size_or(lh_json_get(spec, "states"), 2, 256, 32, &source->states));
  const double most = log2((double)source->states);
  LH_TRY(lh_json_double_or(lh_json_get(spec, "entropy_bits"), 0.01, most, fmin(2.0, most), &bits));
  LH_TRY(lh_json_uint64_or(lh_json_get(spec, "seed"), 1, &source->seed));
  return build(source, bits);
}

static void destroy(void *self)
{
  synthetic_source *source = self;
  free(source->transition);
  free(source->sums);
  free(source);
}

static lh_batch_form form(const void *self)
{
  return (lh_batch_form){.targets = ((const synthetic_source *)self)->states};
}

/* The first state whose running sum is above u; rounding may leave the last sum below 1. */
static size_t draw_state(const double *sums, size_t n, double u)
{
  size_t low = 0, high = n - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (u < sums[middle])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Texts are numbered by `stream`; draws at (seed, stream, position). */
static lh_status put(const synthetic_source *source, uint64_t seed, const uint64_t *streams,
                     lh_batch *batch)
{
  const size_t n = source->states, window = batch->sequence_tokens + 1;
  unsigned char *windows = malloc(batch->sequences * window);
  if (!windows)
    return lh_fail(LH_ENOMEM, "synthetic: no memory for a batch");
  for (size_t s = 0; s < batch->sequences; s++) {
    size_t state = n; /* the row of pi */
    for (size_t i = 0; i < window; i++) {
      const double u = lh_draw_uniform(seed, LH_PURPOSE_SYNTHETIC, streams[s], i);
      state = draw_state(source->sums + state * n, n, u);
      windows[s * window + i] = (unsigned char)state;
    }
  }
  const lh_status status = lh_source_put_windows(windows, batch);
  free(windows);
  return status;
}

/* Distinct for every sequence of every rank, and set apart from the validation texts (number 1) and
 * from the draws of the matrix (number 0). */
static lh_status put_numbered(const synthetic_source *source, uint64_t seed, uint64_t rank,
                              uint64_t first, lh_batch *batch)
{
  uint64_t *streams = malloc(batch->sequences * sizeof *streams);
  if (!streams)
    return lh_fail(LH_ENOMEM, "synthetic: no memory for a batch");
  for (size_t s = 0; s < batch->sequences; s++)
    streams[s] = rank << 40 | (first + s);
  const lh_status status = put(source, seed, streams, batch);
  free(streams);
  return status;
}

static lh_status fill(const void *self, uint64_t seed, size_t rank, size_t world_size, size_t index,
                      lh_batch *batch)
{
  (void)world_size;
  return put_numbered(self, seed, 2 + rank, index * batch->sequences, batch);
}

static lh_status fill_validation(const void *self, size_t index, lh_batch *batch, bool *end)
{
  const synthetic_source *source = self;
  *end = index >= VALIDATION_BATCHES;
  return *end ? LH_OK : put_numbered(source, source->seed, 1, index * batch->sequences, batch);
}

static double entropy(const void *self)
{
  return ((const synthetic_source *)self)->entropy;
}

const lh_data_kind lh_data_synthetic = {.name = "synthetic",
                                        .title = "Markov chain whose entropy rate is known",
                                        .keys = keys,
                                        .create = create,
                                        .destroy = destroy,
                                        .form = form,
                                        .fill = fill,
                                        .fill_validation = fill_validation,
                                        .entropy = entropy};
