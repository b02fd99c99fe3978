/* places.h -- where a group's members sit: node by node, slot by slot.
 *
 * Nodes are numbered in the order in which they first appear in the group, the members of a node in
 * the order of the group.
 */
#ifndef LH_SIM_PLACES_H
#define LH_SIM_PLACES_H

#include "sim/net/schedule.h"

/* Fills nodes, slots, node_of_member, slot_of_member and member_at of the schedule, which
 * lh_schedule_fini frees. LH_EUNSUPPORTED unless every node has the same number of members; LH_ENOMEM.
 */
lh_status lh_places_find(lh_schedule *schedule, const lh_platform *platform);

/* A ring of the members of one node, or of the same slot on all nodes. */
typedef struct lh_circle {
  size_t size, place;    /* of the member in it */
  size_t next, previous; /* members */
} lh_circle;

lh_circle lh_circle_inside(const lh_schedule *schedule, size_t member);
lh_circle lh_circle_between(const lh_schedule *schedule, size_t member);

#endif
