/* method.h -- a training algorithm: one file, one table entry.
 *
 * `train` is the loop a rank runs; read aloud it should be the paper. It sees ranks, groups,
 * collectives and kernels, and the trainer that does what all methods share.
 */
#ifndef LH_SIM_METHOD_H
#define LH_SIM_METHOD_H

#include "sim/cluster/cluster.h"
#include "sim/training/options.h"
#include "sim/training/trainer.h"

typedef struct lh_method {
  const char *name; /* as experiment files spell it */
  const char *title;
  const char *paper; /* authors, year, arXiv number */
  const lh_option *options;
  size_t options_size, state_size;
  /* Checks what a table cannot say (a group that does not divide, explicit pairs); `node` is the
   * method's object, for messages. NULL: nothing. */
  lh_status (*check)(const void *options, lh_json node, const lh_platform *platform,
                     const lh_workload *workload);
  /* Micro-batches of one rank in one optimizer step, at least; NULL: the workload's. */
  double (*micro_batches)(const void *options, const lh_workload *workload);
  /* `options` outlives the state. */
  lh_status (*create)(void *state, lh_trainer *trainer, const void *options);
  lh_status (*train)(void *state, lh_trainer *trainer);
  void (*destroy)(void *state); /* also after a failed create; state starts as zeros */
  const char *state_formula;    /* per parameter, in f32 */
  const char *wire_formula;     /* per rank and step */
  /* Optimizer and method state beside parameters and gradients, bytes per parameter in f32: for the
   * estimate of host memory. */
  double state_bytes_per_parameter;
} lh_method;

extern const lh_method *const lh_methods[];        /* NULL-terminated */
const lh_method *lh_method_find(const char *name); /* NULL: none */

#endif
