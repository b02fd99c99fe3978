/* rank.c -- what a rank knows of itself, and its virtual time. */
#include "sim/cluster/internal.h"

lh_rank_statistics lh_rank_statistics_of(const lh_rank *rank)
{
  return rank->statistics;
}

double lh_rank_end_s(const lh_rank *rank)
{
  return rank->end_s;
}

size_t lh_rank_index(const lh_rank *self)
{
  return self->index;
}

size_t lh_world_size(const lh_rank *self)
{
  return self->cluster->ranks;
}

size_t lh_rank_node(const lh_rank *self)
{
  return self->cluster->platform->node_of_rank[self->index];
}

size_t lh_accelerators_per_node(const lh_rank *self)
{
  return self->cluster->platform->accelerators_per_node;
}

lh_device *lh_rank_device(lh_rank *self)
{
  return self->device;
}

void lh_rank_begin_step(lh_rank *self, uint64_t step)
{
  const lh_platform *platform = self->cluster->platform;
  const double speed = platform->node_speed ? platform->node_speed[lh_rank_node(self)] : 1.0;
  lh_rank_pay(self); /* what is pending belongs to the step before */
  self->compute_factor = lh_variation_draw(&platform->compute_variation, self->cluster->seed,
                                           LH_PURPOSE_COMPUTE_TIME, step, self->index) /
                         speed;
}

void lh_rank_settle(lh_rank *self)
{
  lh_rank_pay(self);
  lh_engine_sleep_s(self->cluster->engine, 0);
}

void lh_rank_pay(lh_rank *rank)
{
  const double seconds = lh_device_take_charged_s(rank->device) * rank->compute_factor;
  if (seconds <= 0)
    return;
  rank->statistics.compute_s += seconds;
  lh_engine_sleep_s(rank->cluster->engine, seconds);
}

double lh_now_s(lh_rank *self)
{
  lh_rank_pay(self);
  return lh_engine_now_s(self->cluster->engine);
}

double lh_peek_now_s(const lh_rank *self)
{
  return lh_engine_now_s(self->cluster->engine) +
         lh_device_charged_s(self->device) * self->compute_factor;
}
