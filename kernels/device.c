#include "kernels/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "kernels/backend.h"

/* ---- backends -------------------------------------------------------------------------------- */

/* A CUDA backend is one more line here, first; it is built only where CMake finds nvcc. */
const lh_backend *const lh_backends[] = {&lh_backend_cpu, &lh_backend_phantom, NULL};

const char *lh_backend_name(const lh_backend *backend)
{
  return backend->name;
}

lh_status lh_backend_find(const char *name, const lh_backend **backend)
{
  if (strcmp(name, "auto") == 0) {
    *backend = lh_backends[0];
    return LH_OK;
  }
  lh_text list = {0};
  for (size_t i = 0; lh_backends[i]; i++) {
    if (strcmp(lh_backends[i]->name, name) == 0) {
      *backend = lh_backends[i];
      lh_text_free(&list);
      return LH_OK;
    }
    lh_text_append(&list, ", %s", lh_backends[i]->name);
  }
  const char *missing = strcmp(name, "cuda") == 0 ? ": this program was built without CUDA" : "";
  lh_status status = lh_fail(LH_EINVAL, "backend is \"%s\", not one of auto%s%s", name,
                             list.data ? list.data : "", missing);
  lh_text_free(&list);
  return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

lh_status lh_device_open(const lh_backend *backend, const lh_device_profile *profile,
                         lh_device **device)
{
  *device = NULL;
  lh_device *made = calloc(1, sizeof *made);
  if (!made)
    return lh_fail(LH_ENOMEM, "no memory for a device");
  made->backend = backend;
  made->profile = profile;

  lh_status status = lh_cost_open(profile, &made->cost);
  if (status == LH_OK && backend->computes)
    status = backend->open(made);
  if (status != LH_OK) {
    lh_cost_close(&made->cost);
    free(made);
    return status;
  }
  *device = made;
  return LH_OK;
}

lh_status lh_device_open_scratch(const lh_device *like, lh_device **device)
{
  static const lh_device_profile ideal = {.compute_efficiency = 1, .memory_efficiency = 1};
  LH_TRY(lh_device_open(like->backend, &ideal, device));
  lh_device_pause_charging(*device);
  return LH_OK;
}

void lh_device_close(lh_device *device)
{
  if (!device)
    return;
  if (device->backend->computes)
    device->backend->close(device);
  lh_cost_close(&device->cost);
  free(device->owner);
  free(device);
}

const lh_device_profile *lh_device_profile_of(const lh_device *device)
{
  return device->profile;
}

bool lh_device_computes(const lh_device *device)
{
  return device->backend->computes;
}

/* ---- pending time ---------------------------------------------------------------------------- */

double lh_device_take_charged_s(lh_device *device)
{
  const double seconds = device->charged_s;
  device->charged_s = 0.0;
  return seconds;
}

double lh_device_charged_s(const lh_device *device)
{
  return device->charged_s;
}

void lh_device_charge_s(lh_device *device, double seconds)
{
  device->charged_s += seconds;
}

void lh_device_pause_charging(lh_device *device)
{
  device->paused++;
}

void lh_device_resume_charging(lh_device *device)
{
  device->paused--;
}

double lh_device_total_flop(const lh_device *device)
{
  return device->total_flop;
}

double lh_device_total_bytes(const lh_device *device)
{
  return device->total_bytes;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct lh_owner *owner_find(const lh_device *device, const char *name)
{
  for (size_t i = 0; i < device->owners; i++)
    if (device->owner[i].name == name || strcmp(device->owner[i].name, name) == 0)
      return &device->owner[i];
  return NULL;
}

static struct lh_owner *owner_find_or_add(lh_device *device, const char *name)
{
  struct lh_owner *owner = owner_find(device, name);
  if (owner)
    return owner;
  if (device->owners == device->owners_capacity) {
    const size_t capacity = device->owners_capacity ? 2 * device->owners_capacity : 8;
    struct lh_owner *grown = realloc(device->owner, capacity * sizeof *grown);
    if (!grown)
      return NULL;
    device->owner = grown;
    device->owners_capacity = capacity;
  }
  owner = &device->owner[device->owners++];
  *owner = (struct lh_owner){.name = name};
  return owner;
}

/* "12.0 GB" style list of owners, largest first, of the bytes now held or of those at the peak. */
static const char *list_owners(const lh_device *device, bool at_peak, char *buffer, size_t size)
{
  size_t last_bytes = SIZE_MAX, last = SIZE_MAX, used = 0;
  buffer[0] = '\0';
  for (;;) { /* each round finds the next in the order (bytes descending, index ascending) */
    size_t best = SIZE_MAX, best_bytes = 0;
    for (size_t i = 0; i < device->owners; i++) {
      const size_t bytes = at_peak ? device->owner[i].bytes_at_peak : device->owner[i].bytes;
      const bool after =
          bytes < last_bytes || (bytes == last_bytes && last != SIZE_MAX && i > last);
      if (bytes > best_bytes && after) {
        best = i;
        best_bytes = bytes;
      }
    }
    if (best == SIZE_MAX)
      return buffer;
    char amount[32];
    const int n =
        snprintf(buffer + used, size - used, "%s%s %s", used ? ", " : "", device->owner[best].name,
                 lh_format_bytes(amount, sizeof amount, (double)best_bytes));
    if (n < 0 || (size_t)n >= size - used) {
      buffer[used] = '\0'; /* a whole entry or none */
      return buffer;
    }
    used += (size_t)n;
    last = best;
    last_bytes = best_bytes;
  }
}

static lh_status device_full(const lh_device *device, const char *owner, size_t bytes)
{
  char wanted[32], memory[32], held[256];
  lh_format_bytes(wanted, sizeof wanted, (double)bytes);
  lh_format_bytes(memory, sizeof memory, device->profile->memory_bytes);
  list_owners(device, false, held, sizeof held);
  return lh_fail(LH_EDEVICEMEM, "%s more for %s does not fit into the %s of %s, which holds %s",
                 wanted, owner, memory,
                 device->profile->name ? device->profile->name : "the device",
                 held[0] ? held : "nothing");
}

lh_status lh_device_claim(lh_device *device, const char *owner, size_t bytes)
{
  const double memory_bytes = device->profile->memory_bytes;
  if (memory_bytes > 0 && (double)device->allocated_bytes + (double)bytes > memory_bytes)
    return device_full(device, owner, bytes);
  struct lh_owner *account = owner_find_or_add(device, owner);
  if (!account)
    return lh_fail(LH_ENOMEM, "no memory to count %s", owner);

  account->bytes += bytes;
  device->allocated_bytes += bytes;
  if (device->allocated_bytes > device->peak_bytes) {
    device->peak_bytes = device->allocated_bytes;
    for (size_t i = 0; i < device->owners; i++)
      device->owner[i].bytes_at_peak = device->owner[i].bytes;
  }
  return LH_OK;
}

void lh_device_release(lh_device *device, const char *owner, size_t bytes)
{
  owner_find(device, owner)->bytes -= bytes;
  device->allocated_bytes -= bytes;
}

size_t lh_device_allocated_bytes(const lh_device *device)
{
  return device->allocated_bytes;
}

size_t lh_device_peak_bytes(const lh_device *device)
{
  return device->peak_bytes;
}

size_t lh_device_owner_bytes(const lh_device *device, const char *owner)
{
  const struct lh_owner *account = owner_find(device, owner);
  return account ? account->bytes : 0;
}

size_t lh_device_owners(const lh_device *device)
{
  return device->owners;
}

const char *lh_device_owner_at_peak(const lh_device *device, size_t i, size_t *bytes)
{
  *bytes = device->owner[i].bytes_at_peak;
  return device->owner[i].name;
}

const char *lh_device_largest_owners(const lh_device *device, char *buffer, size_t size)
{
  return list_owners(device, true, buffer, size);
}
