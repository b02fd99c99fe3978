/* fat_tree.c -- a tree of switches that gets no thinner (or as thin as said) towards the top.
 *
 * Keys: "bandwidth" ("bandwidth_up", "bandwidth_down"), "latency" and "duplex" of a node's cable;
 *   "k": 4               a k-ary tree of three levels, for k^3/4 ports at most, or
 *   "arity": 16          places below a switch, or [16, 8] for each level from the leaves up;
 *   "levels": 2          of switches (as many as the nodes need; the list's length);
 *   "oversubscription"   (1) rate below a switch over rate above it, or one for each level but the
 *                        top one;
 *   "uplinks"            (arity over oversubscription, rounded up) cables up from a switch, alike;
 *                        their sum is the rate below over the oversubscription; 1 stands for ideal
 *                        balancing over the real ones;
 *   "uplink_latency"     (latency) of a cable between switches;
 *   "rails": true        port p of all nodes in leaf switches of its own, as in rail-optimised
 *                        clusters; needs interfaces.
 *
 * An extended generalised fat tree XGFT(h; m_1..m_h; 1, w_2..w_h) (Oehring, Ibel, Das, Kumar 1995).
 * Below a switch of level l are M_l = m_1...m_l terminals, and each such subtree has W_l =
 * w_1...w_l copies of its switch. Copy c of subtree t is joined to the copies c + W_l u (u <
 * w_{l+1}) of the subtree above. Routes go up to the lowest common subtree by d-mod-k: they pass
 * copy d mod W_l at level l for destination terminal d, and so spread evenly over destinations and
 * never depend on what else flows.
 */
#include <math.h>
#include <stdlib.h>

#include "sim/platform/topology.h"

#define MAX_LEVELS 8
#define MAX_CABLES 4000000

struct fat_tree {
  size_t levels, terminals;
  size_t m[MAX_LEVELS + 1], w[MAX_LEVELS + 1]; /* [1..levels]: places below, copies of the parent */
  size_t M[MAX_LEVELS + 1], W[MAX_LEVELS + 1]; /* their products; [0] is 1 */
  double oversubscription[MAX_LEVELS + 1];     /* [1..levels-1] */
  bool rails;
  size_t rail_stride;           /* terminals kept for one rail */
  lh_cable *node;               /* (nodes * ports) */
  lh_cable *up[MAX_LEVELS + 1]; /* [l]: (T_l * W_l * w_{l+1}) cables from level l to l + 1 */
};

static const char *const keys[] = {
    "bandwidth", "bandwidth_up", "bandwidth_down", "latency", "duplex",         "k",
    "arity",     "levels",       "uplinks",        "rails",   "uplink_latency", "oversubscription",
    NULL};

/* ---- size ------------------------------------------------------------------------------------ */

static lh_status k_read(lh_json network, struct fat_tree *tree)
{
  static const char *const excluded[] = {"arity", "levels", "uplinks", "oversubscription", NULL};
  const lh_json node = lh_json_get(network, "k");
  for (const char *const *key = excluded; *key; key++)
    if (lh_json_present(lh_json_get(network, *key)))
      return lh_json_fail(lh_json_get(network, *key), "found beside k, allowed: one of the two");
  size_t k;
  LH_TRY(lh_json_size_value(node, 2, 512, &k));
  if (k % 2 != 0)
    return lh_json_fail(node, "found %zu, allowed: an even number", k);
  tree->levels = 3;
  tree->m[1] = tree->m[2] = tree->w[2] = tree->w[3] = k / 2;
  tree->m[3] = k;
  return LH_OK;
}

/* One arity for all levels: as many as the terminals need. A list: its length. */
static lh_status arity_read(lh_json network, struct fat_tree *tree)
{
  const lh_json arity = lh_json_get(network, "arity"), levels = lh_json_get(network, "levels");
  if (!lh_json_present(arity))
    return lh_json_fail(arity, "absent, allowed: places below a switch, such as 16, or k in its "
                               "place");
  if (lh_json_present(levels)) {
    LH_TRY(lh_json_size_value(levels, 1, MAX_LEVELS, &tree->levels));
  } else if (cJSON_IsArray(arity.node)) {
    tree->levels = lh_json_size(arity);
    if (tree->levels < 1 || tree->levels > MAX_LEVELS)
      return lh_json_fail(arity, "found a list of %zu, allowed: 1 to %d levels", tree->levels,
                          MAX_LEVELS);
  } else {
    size_t m;
    LH_TRY(lh_json_size_value(arity, 2, 4096, &m));
    for (size_t below = m; below < tree->terminals; below *= m)
      tree->levels++;
    tree->levels++;
    if (tree->levels > MAX_LEVELS)
      return lh_json_fail(arity, "found %zu, allowed: enough for %zu ports in %d levels", m,
                          tree->terminals, MAX_LEVELS);
  }
  return lh_sizes_read(arity, 1, 4096, tree->levels, &tree->m[1]);
}

static lh_status oversubscription_read(lh_json node, struct fat_tree *tree)
{
  const size_t n = tree->levels - 1;
  const bool listed = cJSON_IsArray(node.node);
  if (listed && lh_json_size(node) != n)
    return lh_json_fail(node,
                        "found a list of %zu, allowed: one number, or %zu, one for each level "
                        "but the top one",
                        lh_json_size(node), n);
  for (size_t l = 1; l <= n; l++) {
    const lh_json entry = listed ? lh_json_at(node, l - 1) : node;
    LH_TRY(lh_json_double_or(entry, 0, 1e6, 1, &tree->oversubscription[l]));
    if (!(tree->oversubscription[l] > 0))
      return lh_json_fail(entry, "found %g, allowed: a number above zero",
                          tree->oversubscription[l]);
  }
  return LH_OK;
}

static lh_status uplinks_read(lh_json network, struct fat_tree *tree)
{
  const lh_json uplinks = lh_json_get(network, "uplinks");
  LH_TRY(oversubscription_read(lh_json_get(network, "oversubscription"), tree));
  if (lh_json_present(uplinks))
    return lh_sizes_read(uplinks, 1, 4096, tree->levels - 1, &tree->w[2]);
  for (size_t l = 1; l < tree->levels; l++)
    tree->w[l + 1] = (size_t)fmax(1, ceil((double)tree->m[l] / tree->oversubscription[l]));
  return LH_OK;
}

static lh_status rails_read(const lh_platform *platform, lh_json network, struct fat_tree *tree)
{
  const size_t ports = platform->interfaces->ports, nodes = platform->nodes;
  const size_t leaf = tree->m[1];
  if (!tree->rails)
    return LH_OK;
  if (ports < 2)
    return lh_json_fail(lh_json_get(network, "rails"),
                        "found true on nodes with one way out, allowed: nodes with several "
                        "interfaces");
  tree->rail_stride = (nodes + leaf - 1) / leaf * leaf;
  tree->terminals = ports * tree->rail_stride;
  return LH_OK;
}

static lh_status size_read(const lh_platform *platform, lh_json network, struct fat_tree *tree)
{
  const size_t ports = platform->interfaces->ports;
  const bool k_given = lh_json_present(lh_json_get(network, "k"));
  tree->terminals = platform->nodes * ports;
  for (size_t l = 1; l < MAX_LEVELS; l++)
    tree->oversubscription[l] = 1;
  LH_TRY(lh_json_bool_or(lh_json_get(network, "rails"), false, &tree->rails));
  LH_TRY(k_given ? k_read(network, tree) : arity_read(network, tree));
  LH_TRY(rails_read(platform, network, tree));
  if (tree->rails && !k_given) { /* rails leave places empty: more levels may be needed */
    tree->levels = 0;
    LH_TRY(arity_read(network, tree));
  }
  if (!k_given)
    LH_TRY(uplinks_read(network, tree));
  tree->w[1] = tree->M[0] = tree->W[0] = 1;
  for (size_t l = 1; l <= tree->levels; l++) {
    tree->M[l] = tree->M[l - 1] * tree->m[l];
    tree->W[l] = tree->W[l - 1] * tree->w[l];
  }
  if (tree->M[tree->levels] < tree->terminals)
    return lh_json_fail(lh_json_get(network, k_given ? "k" : "arity"),
                        "found a tree for %zu ports, allowed: at least %zu%s",
                        tree->M[tree->levels], tree->terminals,
                        tree->rails ? ", as each rail fills leaf switches of its own" : "");
  return LH_OK;
}

/* ---- building and walking -------------------------------------------------------------------- */

static lh_status add_level(lh_platform *platform, const lh_cable_kind *kind, size_t l,
                           struct fat_tree *tree)
{
  const size_t subtrees = (tree->terminals + tree->M[l] - 1) / tree->M[l];
  const size_t switches = subtrees * tree->W[l], uplinks = tree->w[l + 1];
  if (!(tree->up[l] = calloc(switches * uplinks, sizeof *tree->up[l])))
    return lh_fail(LH_ENOMEM, "fat-tree: no memory for %zu cables", switches * uplinks);
  for (size_t i = 0; i < switches; i++)
    for (size_t u = 0; u < uplinks; u++) {
      char stem[120];
      snprintf(stem, sizeof stem, "level-%zu.switch-%zu.port-%zu", l, i, u);
      LH_TRY(lh_cable_add(platform, kind, stem, "up", "down", &tree->up[l][i * uplinks + u]));
    }
  return LH_OK;
}

static lh_status check_cables(lh_json network, const struct fat_tree *tree)
{
  double cables = 0;
  for (size_t l = 1; l < tree->levels; l++)
    cables += ceil((double)tree->terminals / (double)tree->M[l]) * (double)tree->W[l] *
              (double)tree->w[l + 1];
  if (cables > MAX_CABLES)
    return lh_json_fail(network, "found a fat tree of %.0f cables, allowed: at most %d", cables,
                        MAX_CABLES);
  return LH_OK;
}

static lh_status fat_tree_build(lh_platform *platform, lh_json network, void **shape)
{
  struct fat_tree *tree = calloc(1, sizeof *tree);
  if (!(*shape = tree))
    return lh_fail(LH_ENOMEM, "fat-tree: no memory");
  lh_cable_kind kind;
  LH_TRY(lh_node_cable_kind_read(network, &kind));
  LH_TRY(size_read(platform, network, tree));
  LH_TRY(check_cables(network, tree));
  LH_TRY(lh_cables_to_nodes(platform, &kind, &tree->node));
  LH_TRY(lh_json_quantity_or(lh_json_get(network, "uplink_latency"), LH_UNIT_S, kind.latency_s,
                             &kind.latency_s));
  /* A port bundles as many interfaces on average; above, only sums count. */
  const lh_interfaces *interfaces = platform->interfaces;
  double scale = (double)interfaces->count / (double)interfaces->ports;
  for (size_t l = 1; l < tree->levels; l++) {
    scale *= (double)tree->m[l] / (tree->oversubscription[l] * (double)tree->w[l + 1]);
    const lh_cable_kind trunk = {kind.forth_Bps * scale, kind.back_Bps * scale, kind.latency_s,
                                 kind.half_duplex};
    LH_TRY(add_level(platform, &trunk, l, tree));
  }
  return LH_OK;
}

static size_t terminal_of(const lh_platform *platform, const struct fat_tree *tree, lh_port port)
{
  return tree->rails ? port.port * tree->rail_stride + port.node : lh_terminal(platform, port);
}

/* The cable that leaves terminal t's subtree of level l on the way to or from terminal d. */
static const lh_cable *trunk(const struct fat_tree *tree, size_t l, size_t t, size_t d)
{
  const size_t copy = d % tree->W[l], port = d / tree->W[l] % tree->w[l + 1];
  return &tree->up[l][(t / tree->M[l] * tree->W[l] + copy) * tree->w[l + 1] + port];
}

static void fat_tree_route(const lh_platform *platform, lh_port src, lh_port dst, lh_route *route)
{
  const struct fat_tree *tree = platform->shape;
  const size_t s = terminal_of(platform, tree, src), d = terminal_of(platform, tree, dst);
  size_t top = 1; /* the level where the ways meet */
  while (s / tree->M[top] != d / tree->M[top])
    top++;
  lh_route_push(platform, tree->node[lh_terminal(platform, src)].forth, route);
  for (size_t l = 1; l < top; l++)
    lh_route_push(platform, trunk(tree, l, s, d)->forth, route);
  for (size_t l = top - 1; l >= 1; l--)
    lh_route_push(platform, trunk(tree, l, d, d)->back, route);
  lh_route_push(platform, tree->node[lh_terminal(platform, dst)].back, route);
}

static void fat_tree_free(void *shape)
{
  struct fat_tree *tree = shape;
  if (tree) {
    free(tree->node);
    for (size_t l = 0; l <= MAX_LEVELS; l++)
      free(tree->up[l]);
  }
  free(tree);
}

static void fat_tree_draw(const lh_platform *platform, FILE *out)
{
  const struct fat_tree *tree = platform->shape;
  for (size_t l = tree->levels; l >= 1; l--) {
    const size_t subtrees = (tree->terminals + tree->M[l] - 1) / tree->M[l];
    fprintf(out, "    level %zu: %zu switches, %zu places below each", l, subtrees * tree->W[l],
            tree->m[l]);
    if (l < tree->levels) {
      char rate[80];
      fprintf(out, ", %zu uplinks of %s", tree->w[l + 1],
              lh_rate_text(platform->link[tree->up[l][0].forth].bandwidth_Bps, rate, sizeof rate));
    }
    fprintf(out, "\n        /|\\\n");
  }
  fprintf(out, "    node-0 ... node-%zu%s\n", platform->nodes - 1,
          tree->rails ? ", each interface number in leaf switches of its own" : "");
}

const lh_topology lh_fat_tree = {.name = "fat-tree",
                                 .title = "a tree of switches, d-mod-k routing",
                                 .keys = keys,
                                 .build = fat_tree_build,
                                 .route = fat_tree_route,
                                 .free = fat_tree_free,
                                 .draw = fat_tree_draw};
