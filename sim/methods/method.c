#include "sim/methods/method.h"

#include <string.h>

extern const lh_method lh_method_ddp, lh_method_local_sgd, lh_method_diloco,
    lh_method_streaming_diloco, lh_method_noloco, lh_method_demo, lh_method_flexdemo,
    lh_method_acco, lh_method_zero1, lh_method_fsdp, lh_method_hsdp;

const lh_method *const lh_methods[] = {&lh_method_ddp,
                                       &lh_method_zero1,
                                       &lh_method_fsdp,
                                       &lh_method_hsdp,
                                       &lh_method_local_sgd,
                                       &lh_method_diloco,
                                       &lh_method_streaming_diloco,
                                       &lh_method_noloco,
                                       &lh_method_demo,
                                       &lh_method_flexdemo,
                                       &lh_method_acco,
                                       NULL};

const lh_method *lh_method_find(const char *name)
{
  for (const lh_method *const *method = lh_methods; *method; method++)
    if (strcmp((*method)->name, name) == 0)
      return *method;
  return NULL;
}
