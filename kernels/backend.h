/* backend.h -- inside of kernels/: what a backend offers, what a device is, and how work is priced.
 *
 * The front end (ops_*.c) is the only caller of a backend. It has checked devices, dtypes and shapes,
 * and it has charged the cost, so an operation of a backend only computes. A backend that computes
 * nothing leaves the tables empty and is never called.
 */
#ifndef LH_KERNELS_BACKEND_H
#define LH_KERNELS_BACKEND_H

#include <gsl/gsl_interp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/device.h"
#include "kernels/ops.h"
#include "kernels/tensor.h"

/* ---- what is priced -------------------------------------------------------------------------- */

/* name, its name in a device profile's curves, whether the curve's size counts flop (else bytes) */
#define LH_OPERATION_MAP(X)                                                                        \
  X(LH_OPERATION_GEMM, "gemm", true)                                                               \
  X(LH_OPERATION_ATTENTION, "attention", true)                                                     \
  X(LH_OPERATION_DCT, "dct", true)                                                                 \
  X(LH_OPERATION_TOP_K, "top-k", false)                                                            \
  X(LH_OPERATION_NORM, "norm", false)                                                              \
  X(LH_OPERATION_ACTIVATION, "activation", false)                                                  \
  X(LH_OPERATION_EMBEDDING, "embedding", false)                                                    \
  X(LH_OPERATION_CROSS_ENTROPY, "cross-entropy", false)                                            \
  X(LH_OPERATION_ELEMENTWISE, "elementwise", false)                                                \
  X(LH_OPERATION_REDUCTION, "reduction", false)                                                    \
  X(LH_OPERATION_OPTIMIZER, "optimizer", false)

#define LH_OPERATION_ENUM(name, text, compute) name,
typedef enum lh_operation { LH_OPERATION_MAP(LH_OPERATION_ENUM) LH_OPERATION_COUNT } lh_operation;
#undef LH_OPERATION_ENUM

/* A profile resolved for speed: no name is looked up and nothing is allocated per operation. */
typedef struct lh_cost {
  double launch_overhead_s;
  double seconds_per_flop[LH_DTYPE_COUNT]; /* at the peak; a dtype without one has f32's */
  double seconds_per_byte;                 /* at the full bandwidth */
  double compute_efficiency, memory_efficiency;
  struct lh_cost_curve {
    gsl_interp *interpolation; /* NULL: the profile has no curve for the operation */
    gsl_interp_accel *accel;
    double *log_size;
    const double *efficiency; /* the profile's */
    size_t points;
  } curve[LH_OPERATION_COUNT];
} lh_cost;

/* `profile` must outlive the cost. lh_cost_close is safe after a failure and on a zeroed struct. */
lh_status lh_cost_open(const lh_device_profile *profile, lh_cost *cost);
void lh_cost_close(lh_cost *cost);
double lh_cost_seconds(const lh_cost *cost, lh_operation operation, lh_dtype dtype, double flop,
                       double bytes);
const char *lh_operation_name(lh_operation operation);
bool lh_operation_counts_flop(lh_operation operation);

/* ---- operations ------------------------------------------------------------------------------ */

/* One table per storage of real numbers. Arguments are those of ops.h, already checked; what ops.h
 * allows to be NULL may be NULL here. */
typedef struct lh_operations {
  lh_status (*gemm)(lh_device *dev, bool transpose_a, bool transpose_b, double alpha,
                    const lh_tensor *a, const lh_tensor *b, double beta, lh_tensor *c);
  lh_status (*linear_forward)(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *w,
                              const lh_tensor *bias);
  lh_status (*linear_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dw, lh_tensor *dbias,
                               const lh_tensor *dy, const lh_tensor *x, const lh_tensor *w);

  lh_status (*layer_norm_forward)(lh_device *dev, lh_tensor *y, lh_tensor *mean, lh_tensor *rstd,
                                  const lh_tensor *x, const lh_tensor *gamma, const lh_tensor *beta,
                                  double epsilon);
  lh_status (*layer_norm_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                                   lh_tensor *dbeta, const lh_tensor *dy, const lh_tensor *x,
                                   const lh_tensor *gamma, const lh_tensor *mean,
                                   const lh_tensor *rstd);
  lh_status (*rms_norm_forward)(lh_device *dev, lh_tensor *y, lh_tensor *rstd, const lh_tensor *x,
                                const lh_tensor *gamma, double epsilon);
  lh_status (*rms_norm_backward)(lh_device *dev, lh_tensor *dx, lh_tensor *dgamma,
                                 const lh_tensor *dy, const lh_tensor *x, const lh_tensor *gamma,
                                 const lh_tensor *rstd);
  lh_status (*activation_forward)(lh_device *dev, lh_activation kind, lh_tensor *y,
                                  const lh_tensor *x);
  lh_status (*activation_backward)(lh_device *dev, lh_activation kind, lh_tensor *dx,
                                   const lh_tensor *dy, const lh_tensor *x);
  lh_status (*attention_forward)(lh_device *dev, lh_tensor *out, lh_tensor *row_lse,
                                 const lh_tensor *qkv, size_t batch, size_t heads);
  lh_status (*attention_backward)(lh_device *dev, lh_tensor *dqkv, const lh_tensor *dout,
                                  const lh_tensor *out, const lh_tensor *row_lse,
                                  const lh_tensor *qkv, size_t batch, size_t heads);
  lh_status (*embedding_forward)(lh_device *dev, lh_tensor *y, const lh_tensor *tokens,
                                 const lh_tensor *table, const lh_tensor *position);
  lh_status (*embedding_backward)(lh_device *dev, lh_tensor *dtable, lh_tensor *dposition,
                                  const lh_tensor *dy, const lh_tensor *tokens);
  lh_status (*cross_entropy)(lh_device *dev, lh_tensor *dlogits, const lh_tensor *logits,
                             const lh_tensor *targets, double scale, lh_loss *loss);

  lh_status (*fill)(lh_device *dev, lh_tensor *x, double value);
  lh_status (*axpby)(lh_device *dev, double alpha, const lh_tensor *x, double beta, lh_tensor *y);
  lh_status (*add)(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b);
  lh_status (*subtract)(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b);
  lh_status (*multiply)(lh_device *dev, lh_tensor *y, const lh_tensor *a, const lh_tensor *b);
  lh_status (*scale)(lh_device *dev, lh_tensor *x, double alpha);
  lh_status (*sign)(lh_device *dev, lh_tensor *y, const lh_tensor *x);
  lh_status (*sum_squares)(lh_device *dev, const lh_tensor *x, double *sum);
  lh_status (*fill_normal)(lh_device *dev, lh_tensor *x, double deviation, uint64_t seed,
                           uint64_t stream);

  lh_status (*adamw)(lh_device *dev, lh_tensor *param, lh_tensor *m, lh_tensor *v,
                     const lh_tensor *grad, const lh_adamw_config *config, uint64_t step);
  lh_status (*sgd)(lh_device *dev, lh_tensor *param, lh_tensor *buffer, const lh_tensor *grad,
                   const lh_sgd_config *config);
  lh_status (*gossip_momentum)(lh_device *dev, lh_tensor *delta, lh_tensor *phi,
                               const lh_tensor *mean_delta, const lh_tensor *mean_phi, double alpha,
                               double beta, double gamma);

  lh_status (*dct_top_k)(lh_device *dev, const lh_tensor *x, const lh_chunking *chunking, size_t k,
                         lh_tensor *index, lh_tensor *value);
  lh_status (*dct_merge_decode)(lh_device *dev, lh_tensor *y, const lh_chunking *chunking, size_t k,
                                size_t messages, lh_merge merge, const lh_tensor *index,
                                const lh_tensor *value);

  lh_status (*gather_rows)(lh_device *dev, lh_tensor *y, const lh_tensor *x, const lh_tensor *rows);
  lh_status (*scatter_rows)(lh_device *dev, lh_tensor *y, const lh_tensor *x,
                            const lh_tensor *rows);
  lh_status (*zero_rows)(lh_device *dev, lh_tensor *x, size_t row_elements, const lh_tensor *rows);
  lh_status (*draw_rows)(lh_device *dev, lh_tensor *rows, size_t n, uint64_t seed, uint64_t step);

  lh_status (*quantise_fp4)(lh_device *dev, lh_tensor *y, const lh_tensor *x);
  lh_status (*round_to_wire)(lh_device *dev, lh_tensor *x, lh_dtype wire);
  lh_status (*sum_in_order)(lh_device *dev, lh_tensor *out, const lh_tensor *const *in, size_t n,
                            bool mean, lh_dtype wire);
  lh_status (*quadratic)(lh_device *dev, lh_tensor *grad, const lh_tensor *x, const lh_tensor *a,
                         const lh_tensor *s, double scale, double *loss);
} lh_operations;

/* ---- backend --------------------------------------------------------------------------------- */

enum { LH_NARROW, LH_WIDE, LH_STORAGES }; /* reals stored as float, as double */

/* Members after `computes` are NULL on a backend that computes nothing. */
struct lh_backend {
  const char *name;
  const char *title;
  bool computes;
  /* Fills device->operations, and whatever it needs in device->state. */
  lh_status (*open)(lh_device *device);
  void (*close)(lh_device *device);
  /* Memory aligned to 64 bytes, contents undefined; NULL: there is none. */
  void *(*take)(lh_device *device, size_t bytes);
  void (*give)(lh_device *device, void *memory);
  void (*zero)(lh_device *device, void *memory, size_t bytes);
  /* Between device memory and host doubles, by dtype; n elements. */
  void (*upload)(lh_tensor *tensor, const double *values, size_t n);
  void (*download)(const lh_tensor *tensor, double *values, size_t n);
  /* Bytes from one tensor to another of the same storage, maybe of another device. */
  void (*copy)(lh_tensor *to, const lh_tensor *from);
};

struct lh_owner {
  const char *name;
  size_t bytes, bytes_at_peak;
};

struct lh_device {
  const lh_backend *backend;
  const lh_device_profile *profile;
  void *state; /* the backend's */
  lh_operations operations[LH_STORAGES];

  lh_cost cost;
  double charged_s, total_flop, total_bytes;
  int paused;

  size_t allocated_bytes, peak_bytes;
  size_t owners, owners_capacity;
  struct lh_owner *owner;
};

/* Host bytes of one element on a backend that stores numbers. */
size_t lh_dtype_storage_bytes(lh_dtype dtype);
/* F64, or one of the types that are stored as float. */
bool lh_dtype_is_real(lh_dtype dtype);

/* Counts `bytes` under `owner`, or LH_EDEVICEMEM with the largest owners. */
lh_status lh_device_claim(lh_device *device, const char *owner, size_t bytes);
void lh_device_release(lh_device *device, const char *owner, size_t bytes);

static inline void lh_charge(lh_device *dev, lh_operation operation, lh_dtype dtype, double flop,
                             double bytes)
{
  if (dev->paused)
    return;
  dev->charged_s += lh_cost_seconds(&dev->cost, operation, dtype, flop, bytes);
  dev->total_flop += flop;
  dev->total_bytes += bytes;
}

#endif
