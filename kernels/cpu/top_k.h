/* top_k.h -- the k numbers of largest magnitude, NaN above all, ties to the lower place; compiled inside
 * every variant (variants.h), so it has no include guard.
 */

/* The bits of |x| order as the numbers do; all NaNs become one key above infinity. Signed, because
 * vectors compare signed integers. */
#if LH_REAL_BITS == 32
#define key_t int32_t
#define NAN_KEY INT32_C(0x7f800001)
#else
#define key_t int64_t
#define NAN_KEY INT64_C(0x7ff0000000000001)
#endif

static inline key_t NAME(key)(real x)
{
  const key_t key = (key_t)(NAME(to_bits)(x) & ~((real_bits)1 << (LH_REAL_BITS - 1)));
  return key < NAN_KEY ? key : NAN_KEY;
}

/* How many of n keys reach `trial` and the next two steps above it. */
static inline void NAME(count_keys)(const key_t *key, size_t n, key_t trial, key_t step,
                                    key_t reached[3])
{
  key_t one = 0, two = 0, three = 0;
  for (size_t i = 0; i < n; i++) {
    one += key[i] >= trial;
    two += key[i] >= trial + step;
    three += key[i] >= trial + 2 * step;
  }
  reached[0] = one;
  reached[1] = two;
  reached[2] = three;
}

/* A bound that exactly k of n keys reach; if ties forbid it, the k-th largest key. Two binary digits at a
 * time, the largest value that k keys reach; it is good enough as soon as no more than k do. */
static key_t NAME(kth_key)(const key_t *key, size_t n, size_t k)
{
  key_t kth = 0, reached[3];
  for (int bit = LH_REAL_BITS - 3; bit >= 1; bit -= 2) {
    const key_t step = (key_t)1 << bit;
    NAME(count_keys)(key, n, kth + step, step, reached);
    for (int digit = 2; digit >= 0; digit--)
      if ((size_t)reached[digit] >= k) {
        kth += step * (digit + 1);
        if ((size_t)reached[digit] == k)
          return kth;
        break;
      }
  }
  NAME(count_keys)(key, n, kth + 1, 1, reached);
  return kth + ((size_t)reached[0] >= k);
}

/* Keys of one chunk, and their maxima by groups, by which most of a chunk can be passed over. */
struct NAME(keys) {
  key_t *key, *few; /* (n); few is scratch */
  key_t *top;       /* (groups) */
  size_t n, groups, group;
};

static void NAME(keys_fill)(struct NAME(keys) * keys, const real *image, size_t row, size_t h,
                            size_t w)
{
  for (size_t b = 0; b < h; b++)
    for (size_t d = 0; d < w; d++)
      keys->key[b * w + d] = NAME(key)(image[b * row + d]);
  for (size_t g = 0; g < keys->groups; g++) {
    key_t most = 0;
    for (size_t i = g * keys->group; i < (g + 1) * keys->group; i++)
      most = keys->key[i] > most ? keys->key[i] : most;
    keys->top[g] = most;
  }
}

/* The k-th largest maximum of a group is not above the k-th largest key, so only keys that reach it
 * matter. Worth it when groups are many. */
static key_t NAME(keys_kth)(const struct NAME(keys) * keys, size_t k)
{
  if (keys->groups < 2 * k)
    return NAME(kth_key)(keys->key, keys->n, k);
  const key_t bound = NAME(kth_key)(keys->top, keys->groups, k);
  size_t count = 0;
  for (size_t g = 0; g < keys->groups; g++)
    if (keys->top[g] >= bound)
      for (size_t i = g * keys->group; i < (g + 1) * keys->group; i++) {
        keys->few[count] = keys->key[i];
        count += keys->key[i] >= bound;
      }
  /* A bound of the few is one of all keys only from where the few were cut. */
  const key_t kth = NAME(kth_key)(keys->few, count, k);
  return kth > bound ? kth : bound;
}

/* Writes the places of the k largest in ascending order: larger first, ties to the lower place. */
static void NAME(keys_emit)(const struct NAME(keys) * keys, size_t k, int32_t *index)
{
  const key_t kth = NAME(keys_kth)(keys, k), *key = keys->key;
  size_t above = 0, taken = 0;
  for (size_t i = 0; i < keys->n; i++)
    above += key[i] > kth;
  size_t ties = k - above;
  for (size_t g = 0; g < keys->groups; g++) {
    if (keys->top[g] < kth)
      continue;
    /* Without a branch: a place is written until an element stays in it. */
    for (size_t i = g * keys->group; i < (g + 1) * keys->group && taken < k; i++) {
      const size_t tie = key[i] == kth && ties > 0;
      index[taken] = (int32_t)i;
      ties -= tie;
      taken += tie + (key[i] > kth);
    }
  }
}
