/* double_tree.c -- two binary trees, each with half of the payload, in pieces one after another.
 *
 * With v = member - root modulo n, member v = 0 stands above two trees over 1 .. m, m = n - 1. In
 * the first, position x has the height h(x) of its lowest set bit (leaves are odd): in order, like a
 * search tree, cut off at m. In the second the positions are mirrored (m even) or shifted by one (m
 * odd), so that whoever is inside one tree is a leaf of the other, and all links are used both ways.
 *
 * Half the payload, in K pieces, climbs each tree: position x hands piece k to its parent in round
 * k + h(x). What goes down reaches position x's children in round k + d + 1 + H - h(x), with H the
 * height of the top and d the rounds until the root has piece 0 (H + 1 in an all-reduce, else 0).
 *
 *     all-reduce:         (K + 2 H + 1) rounds, each at most a + 2 S/(K B)
 *     broadcast, reduce:  (K + H) rounds, each at most a + S/(K B)
 *
 * K is near the square root of (rounds besides K) x bytes' time / a, which makes that least, and 64
 * at most.
 *
 * Source: Sanders, Speck, Traeff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan", Parallel Computing 35(12). Differs: the two trees' pieces do not take turns on a link,
 * they share it.
 */
#include <math.h>

#include "sim/net/schedule.h"

typedef struct tree {
  size_t m;      /* positions 1 .. m */
  size_t top;    /* the largest power of two <= m */
  size_t height; /* of the top: H */
  bool second;
} tree;

static tree tree_of(const lh_schedule *s, bool second)
{
  tree t = {.m = s->n - 1, .top = 1, .second = second};
  while (2 * t.top <= t.m) {
    t.top *= 2;
    t.height++;
  }
  return t;
}

static size_t height_of(size_t x)
{
  size_t h = 0;
  while (!(x >> h & 1))
    h++;
  return h;
}

/* v of 1..m to its position in the tree, and back. */
static size_t position(const tree *t, size_t v)
{
  if (!t->second)
    return v;
  return t->m % 2 == 0 ? t->m + 1 - v : v % t->m + 1;
}

static size_t member_at(const lh_schedule *s, const tree *t, size_t x)
{
  size_t v = x;
  if (t->second)
    v = t->m % 2 == 0 ? t->m + 1 - x : (x + t->m - 2) % t->m + 1;
  return lh_ahead(v, s->root, s->n);
}

/* Not for the top. Positions beyond m are missing: what hangs below them hangs on the next above. */
static size_t parent_of(const tree *t, size_t x)
{
  do {
    const size_t bit = x & (~x + 1);
    x = (x ^ bit) | bit << 1;
  } while (x > t->m);
  return x;
}

/* Writes 0 to 2 children. */
static size_t children_of(const tree *t, size_t x, size_t child[2])
{
  size_t n = 0, bit = (x & (~x + 1)) >> 1;
  if (bit == 0)
    return 0;
  child[n++] = x - bit;
  while (bit && x + bit > t->m)
    bit >>= 1;
  if (bit)
    child[n++] = x + bit;
  return n;
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* The worse of two ways in the group stands for all. */
static lh_status choose_pieces(lh_schedule *s, const lh_platform *platform, double others,
                               double bytes)
{
  double a = 0.0, rate_Bps = INFINITY;
  const size_t far[] = {1, s->n - 1 > 1 ? s->n / 2 : 1};
  for (size_t i = 0; i < 2; i++) {
    lh_route route;
    LH_TRY(lh_platform_route(platform, s->ranks[0], s->ranks[far[i]], &route));
    a = fmax(a, route.latency_s + platform->message_overhead_s);
    rate_Bps = fmin(rate_Bps, route.cap_Bps);
    for (size_t l = 0; l < route.links; l++)
      rate_Bps = fmin(rate_Bps, platform->link[route.link[l]].bandwidth_Bps);
  }
  const double best = sqrt(others * bytes / rate_Bps / a); /* infinite for a = 0, NaN for 0 / 0 */
  /* Not so many that a large group could not be timed message by message. */
  const double most = fmax(4.0, fmin(64.0, LH_AFFORDABLE_MESSAGES / 4.0 / (double)s->n));
  s->pieces = best >= most ? (size_t)most : best > 1.0 ? (size_t)lround(best) : 1;
  return LH_OK;
}

static lh_status prepare(lh_schedule *s, const lh_platform *platform)
{
  const size_t H = tree_of(s, false).height;
  const bool both = s->kind == LH_ALL_REDUCE;
  const size_t others = both ? 2 * H + 1 : H;
  LH_TRY(choose_pieces(s, platform, (double)others, (both ? 2.0 : 1.0) * s->bytes));
  s->chunks = 2 * s->pieces;
  s->rounds = s->pieces + others;
  s->most_steps = 12;
  return LH_OK;
}

/* ---- rounds ------------------------------------------------------------------------------------- */

/* Is a piece due `delay` rounds after the first? Then *chunk is its chunk. */
static bool due(const lh_schedule *s, const tree *t, size_t round, size_t delay, size_t *chunk)
{
  if (round < delay || round - delay >= s->pieces)
    return false;
  *chunk = (t->second ? s->pieces : 0) + round - delay;
  return true;
}

static void up(const lh_schedule *s, const tree *t, size_t x, size_t round, lh_round *out)
{
  size_t child[2], chunk;
  const size_t children = x ? children_of(t, x, child) : 1;
  if (x == 0)
    child[0] = t->top;
  for (size_t i = 0; i < children; i++)
    if (due(s, t, round, height_of(child[i]), &chunk))
      lh_round_receive(out, member_at(s, t, child[i]), chunk, 1, true);
  if (x && due(s, t, round, height_of(x), &chunk))
    lh_round_send(out, x == t->top ? s->root : member_at(s, t, parent_of(t, x)), chunk, 1, true);
}

static void down(const lh_schedule *s, const tree *t, size_t x, size_t round, lh_round *out)
{
  const size_t first = s->kind == LH_ALL_REDUCE ? t->height + 1 : 0; /* the root sends piece 0 */
  size_t child[2], chunk;
  const size_t children = x ? children_of(t, x, child) : 1;
  if (x == 0)
    child[0] = t->top;
  const size_t delay = x ? first + 1 + t->height - height_of(x) : first;
  for (size_t i = 0; i < children; i++)
    if (due(s, t, round, delay, &chunk))
      lh_round_send(out, member_at(s, t, child[i]), chunk, 1, false);
  if (x == 0)
    return;
  const bool below_root = x == t->top;
  const size_t parent = below_root ? 0 : parent_of(t, x);
  const size_t sent = below_root ? first : first + 1 + t->height - height_of(parent);
  if (due(s, t, round, sent, &chunk))
    lh_round_receive(out, below_root ? s->root : member_at(s, t, parent), chunk, 1, false);
}

static void double_tree_round(const lh_schedule *s, size_t member, size_t round, lh_round *out)
{
  const size_t v = lh_back(member, s->root, s->n);
  for (int second = 0; second < 2; second++) {
    const tree t = tree_of(s, second);
    const size_t x = v ? position(&t, v) : 0;
    if (s->kind != LH_BROADCAST)
      up(s, &t, x, round, out);
    if (s->kind != LH_REDUCE)
      down(s, &t, x, round, out);
  }
}

static double messages(const lh_schedule *s)
{
  return (s->kind == LH_ALL_REDUCE ? 2.0 : 1.0) * (double)(s->n - 1) * (double)s->chunks;
}

const lh_algorithm_entry lh_double_tree_entry = {
    .algorithm = LH_DOUBLE_BINARY_TREE,
    .kinds = LH_KIND(LH_ALL_REDUCE) | LH_KIND(LH_BROADCAST) | LH_KIND(LH_REDUCE),
    .title = "two trees with half the payload each, in pieces one after another",
    .formula =
        "K pieces, H = log2(n-1): all-reduce at most (K + 2H + 1) (a + 2S/(K B)); broadcast, "
        "reduce at most (K + H) (a + S/(K B))",
    .prepare = prepare,
    .round = double_tree_round,
    .messages = messages};
