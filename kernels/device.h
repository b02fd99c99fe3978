/* device.h -- the accelerator that is simulated, and the backend that computes the numbers here.
 *
 * The two are kept apart: a backend (cpu, none, later cuda) is where numbers are computed on this
 * host; a profile is how fast the simulated accelerator is. Every operation of ops.h adds its
 * predicted duration to the device's pending time; whoever owns the virtual clock takes it.
 *
 * One lh_device per rank. Nothing here is global.
 */
#ifndef LH_KERNELS_DEVICE_H
#define LH_KERNELS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "base/status.h"
#include "kernels/tensor.h"

/* Efficiency of one operation as a function of its size, measured or assumed; piecewise linear in
 * log(size) by GSL, constant outside. */
typedef struct lh_efficiency_curve {
  char *operation; /* "gemm", "attention", ... as listed in ops.h */
  size_t points;
  double *size; /* FLOPs of one call for compute-bound, bytes for memory-bound ones; ascending */
  double *efficiency; /* share of the peak rate, 0..1 */
} lh_efficiency_curve;

typedef struct lh_device_profile {
  char *name; /* "a100-80gb" */
  char *title;
  double peak_flop_per_s[LH_DTYPE_COUNT]; /* 0 where the device has no such unit */
  double memory_bandwidth_Bps;
  double memory_bytes;       /* 0: unlimited */
  double launch_overhead_s;  /* per operation */
  double compute_efficiency; /* share of the peak of large matrix products, 0..1 */
  double memory_efficiency;  /* share of the bandwidth of long streams, 0..1 */
  double power_watt;
  double price_usd_per_s;
  size_t curves;
  lh_efficiency_curve *curve;
} lh_device_profile;

/* Reads a profile object ("schema": "longhaul/device/1"). The caller frees with ..._fini, also
 * after a failure. */
lh_status lh_device_profile_read(lh_json node, lh_device_profile *profile);
/* Reads platforms/devices/NAME.json below `folder`; the error lists what there is. */
lh_status lh_device_profile_load(const char *folder, const char *name, lh_device_profile *profile);
void lh_device_profile_fini(lh_device_profile *profile);
/* A device on which every operation takes no time and memory has no end: for tests. */
lh_device_profile lh_device_profile_ideal(void);

/* Seconds of one operation: launch overhead + max(flop / (peak of dtype * efficiency),
 * bytes / (bandwidth * efficiency)). A dtype without a peak uses f32's. */
double lh_device_profile_seconds(const lh_device_profile *profile, const char *operation,
                                 lh_dtype dtype, double flop, double bytes);

typedef struct lh_backend lh_backend; /* ops.h; a table of functions */
extern const lh_backend lh_backend_cpu;
extern const lh_backend lh_backend_phantom;
extern const lh_backend *const lh_backends[]; /* NULL-terminated, in the order of `auto` */
const char *lh_backend_name(const lh_backend *backend);
/* By name or "auto"; LH_EINVAL lists what there is and why others are missing. */
lh_status lh_backend_find(const char *name, const lh_backend **backend);

/* `profile` is borrowed and must outlive the device. */
lh_status lh_device_open(const lh_backend *backend, const lh_device_profile *profile,
                         lh_device **device);
/* A device of the same backend on which nothing takes time and memory has no end: for what is looked at
 * beside the simulation. */
lh_status lh_device_open_scratch(const lh_device *like, lh_device **device);
void lh_device_close(lh_device *device);
const lh_device_profile *lh_device_profile_of(const lh_device *device);
/* False on a backend that only counts: then there is nothing to read back. For code at the edge
 * (dumps, evaluation); a method never asks. */
bool lh_device_computes(const lh_device *device);

/* Pending virtual seconds since the last take; the take sets them to zero. */
double lh_device_take_charged_s(lh_device *device);
double lh_device_charged_s(const lh_device *device);
void lh_device_charge_s(lh_device *device, double seconds);
/* While paused (calls nest), operations charge nothing: evaluation, and workloads whose time is
 * given explicitly. lh_device_charge_s still counts. */
void lh_device_pause_charging(lh_device *device);
void lh_device_resume_charging(lh_device *device);

/* Totals of charged work, for utilisation and reports. */
double lh_device_total_flop(const lh_device *device);
double lh_device_total_bytes(const lh_device *device);

size_t lh_device_allocated_bytes(const lh_device *device);
size_t lh_device_peak_bytes(const lh_device *device);
/* Bytes now held under an owner's name. */
size_t lh_device_owner_bytes(const lh_device *device, const char *owner);
/* What each owner held at the peak; i below lh_device_owners, in the order of first claims. */
size_t lh_device_owners(const lh_device *device);
const char *lh_device_owner_at_peak(const lh_device *device, size_t i, size_t *bytes);
/* "parameters 12.0 GB, activations 3.1 GB, ..." at the peak, largest first; returns buffer. */
const char *lh_device_largest_owners(const lh_device *device, char *buffer, size_t size);

#endif
