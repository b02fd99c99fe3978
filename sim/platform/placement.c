/* placement.c -- ranks on nodes, and how fast the nodes are. */
#include <math.h>
#include <stdlib.h>

#include "sim/platform/parts.h"

static void place_blocks(lh_platform *platform)
{
  for (size_t rank = 0; rank < platform->ranks; rank++) {
    platform->node_of_rank[rank] = rank / platform->accelerators_per_node;
    platform->slot_of_rank[rank] = rank % platform->accelerators_per_node;
  }
}

static void place_round_robin(lh_platform *platform)
{
  for (size_t rank = 0; rank < platform->ranks; rank++) {
    platform->node_of_rank[rank] = rank % platform->nodes;
    platform->slot_of_rank[rank] = rank / platform->nodes;
  }
}

/* taken (nodes) is zero at first. */
static lh_status place_list(lh_platform *platform, lh_json node, size_t *taken)
{
  if (lh_json_size(node) != platform->ranks)
    return lh_json_fail(node,
                        "found a list of %zu, allowed: the node of each of the %zu ranks (%zu "
                        "nodes of %zu)",
                        lh_json_size(node), platform->ranks, platform->nodes,
                        platform->accelerators_per_node);
  for (size_t rank = 0; rank < platform->ranks; rank++) {
    const lh_json entry = lh_json_at(node, rank);
    size_t *where = &platform->node_of_rank[rank];
    LH_TRY(lh_json_size_value(entry, 0, platform->nodes - 1, where));
    if (taken[*where] == platform->accelerators_per_node)
      return lh_json_fail(entry,
                          "found node %zu once more than its %zu accelerators, allowed: "
                          "each node as often as it has accelerators",
                          *where, platform->accelerators_per_node);
    platform->slot_of_rank[rank] = taken[*where]++;
  }
  return LH_OK;
}

lh_status lh_placement_read(lh_platform *platform, lh_json node)
{
  static const char *const names[] = {"block", "round-robin", NULL};
  platform->node_of_rank = calloc(platform->ranks, sizeof *platform->node_of_rank);
  platform->slot_of_rank = calloc(platform->ranks, sizeof *platform->slot_of_rank);
  if (!platform->node_of_rank || !platform->slot_of_rank)
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu ranks", platform->ranks);
  if (cJSON_IsArray(node.node)) {
    size_t *taken = calloc(platform->nodes, sizeof *taken);
    if (!taken)
      return lh_fail(LH_ENOMEM, "platform: no memory for %zu nodes", platform->nodes);
    const lh_status status = place_list(platform, node, taken);
    free(taken);
    return status;
  }
  size_t choice;
  LH_TRY(lh_json_choice_or(node, names, 0, &choice));
  (choice == 0 ? place_blocks : place_round_robin)(platform);
  return LH_OK;
}

static lh_status speed_read(lh_json node, double *speed)
{
  LH_TRY(lh_json_double(node, 0, INFINITY, speed));
  if (!(*speed > 0 && isfinite(*speed)))
    return lh_json_fail(node, "found %g, allowed: a number above zero", *speed);
  return LH_OK;
}

lh_status lh_node_speed_read(lh_platform *platform, lh_json node)
{
  platform->node_speed = calloc(platform->nodes, sizeof *platform->node_speed);
  if (!platform->node_speed)
    return lh_fail(LH_ENOMEM, "platform: no memory for %zu nodes", platform->nodes);
  const bool listed = cJSON_IsArray(node.node);
  if (listed && lh_json_size(node) != platform->nodes)
    return lh_json_fail(node,
                        "found a list of %zu, allowed: one number, or one for each of the "
                        "%zu nodes",
                        lh_json_size(node), platform->nodes);
  double speed = 1;
  if (lh_json_present(node) && !listed)
    LH_TRY(speed_read(node, &speed));
  for (size_t i = 0; i < platform->nodes; i++) {
    if (listed)
      LH_TRY(speed_read(lh_json_at(node, i), &speed));
    platform->node_speed[i] = speed;
  }
  return LH_OK;
}
