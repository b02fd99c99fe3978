#include "sim/training/total.h"

lh_status lh_total_over(lh_trainer *t, lh_group *group, double *number)
{
  lh_tensor x;
  LH_TRY(lh_tensor_alloc_1d(t->device, &x, "norm", t->model->layout.dtype, 1));
  lh_status status = lh_tensor_set(&x, number, 1);
  if (status == LH_OK)
    status = lh_all_reduce(t->rank, group, &x, LH_SUM, LH_F32);
  if (status == LH_OK)
    status = lh_tensor_get(&x, number, 1);
  lh_tensor_free(&x);
  return status;
}
